//! The rows that a caller may see, in the form that answers for a single row soonest.

use crate::view::Row;
use roaring::RoaringBitmap;

/// A set with fewer of its range than one in this many is slow to ask: parts of it are sorted runs, not bits.
const SPARSE: u64 = 16;

pub(super) enum Visible<'a> {
    All,
    Set(&'a RoaringBitmap),
    Bits(Vec<u64>),
}

impl<'a> Visible<'a> {
    pub(super) fn new(rows: Option<&'a RoaringBitmap>) -> Self {
        match rows {
            None => Self::All,
            Some(rows) if rows.len() * SPARSE < u64::from(rows.max().unwrap_or(0)) => Self::bits(rows),
            Some(rows) => Self::Set(rows),
        }
    }

    fn bits(rows: &RoaringBitmap) -> Self {
        let mut bits = vec![0; rows.max().map_or(0, |last| last as usize / 64 + 1)];
        for row in rows {
            if let Some(word) = bits.get_mut(row as usize / 64) {
                *word |= 1_u64 << (row % 64);
            }
        }
        Self::Bits(bits)
    }

    #[inline(always)]
    pub(super) fn holds(&self, row: Row) -> bool {
        match self {
            Self::All => true,
            Self::Set(rows) => rows.contains(row),
            Self::Bits(bits) => bits.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1),
        }
    }
}
