//! The texts that hold one word, and where in them, packed: most numbers fit in a byte.

use crate::view::Row;

/// The texts that hold a word, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Postings {
    /// For each text: rows since the last, how often, and the steps from place to place.
    #[cbor(n(0), with = "minicbor::bytes")]
    packed: Vec<u8>,
    /// The row after the last one.
    #[n(1)]
    next: Row,
}

/// One text that holds a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting<'a> {
    pub(super) row: Row,
    pub(super) count: u32,
    places: &'a [u8],
}

impl Posting<'_> {
    /// Where the word stands in the text.
    pub(super) fn places(&self) -> Vec<u32> {
        let (mut bytes, mut place) = (self.places, 0u32);
        let mut places = Vec::with_capacity(self.count as usize);
        while let Some(step) = take(&mut bytes) {
            place = place.saturating_add(step);
            places.push(place);
        }
        places
    }
}

impl Postings {
    /// Adds a text; rows come in order.
    pub(super) fn push(&mut self, row: Row, places: &[u32]) {
        put(&mut self.packed, row.saturating_sub(self.next));
        put(&mut self.packed, places.len() as u32);
        let mut last = 0;
        for place in places {
            put(&mut self.packed, place.saturating_sub(last));
            last = *place;
        }
        self.next = row.saturating_add(1);
    }

    /// Every text that holds the word.
    pub(super) fn iter(&self) -> impl Iterator<Item = Posting<'_>> {
        let (mut bytes, mut next) = (self.packed.as_slice(), 0u32);
        std::iter::from_fn(move || {
            let row = next.saturating_add(take(&mut bytes)?);
            let count = take(&mut bytes)?;
            let whole = bytes;
            for _ in 0..count {
                take(&mut bytes)?;
            }
            next = row.saturating_add(1);
            let places = whole.get(..whole.len() - bytes.len())?;
            Some(Posting { row, count, places })
        })
    }

    pub(super) fn shrink(&mut self) {
        self.packed.shrink_to_fit();
    }
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What was packed comes out again.
        #[test]
        fn unpacked_equals_packed(texts in proptest::collection::btree_map(any::<u32>().prop_map(|row| row / 2),
            proptest::collection::btree_set(any::<u32>(), 1..5), 0..20)) {
            let mut postings = Postings::default();
            for (row, places) in &texts {
                postings.push(*row, &places.iter().copied().collect::<Vec<_>>());
            }
            let unpacked: Vec<(u32, Vec<u32>)> = postings.iter().map(|one| (one.row, one.places())).collect();
            let packed: Vec<(u32, Vec<u32>)> =
                texts.into_iter().map(|(row, places)| (row, places.into_iter().collect())).collect();
            prop_assert_eq!(unpacked, packed);
        }

        /// Damaged bytes end the walk; they do not break it.
        #[test]
        fn any_bytes_can_be_walked(packed in proptest::collection::vec(any::<u8>(), 0..64)) {
            let postings = Postings { packed, next: 0 };
            prop_assert!(postings.iter().count() <= 64);
        }
    }
}
