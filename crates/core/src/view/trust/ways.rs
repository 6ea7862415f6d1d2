//! The ways that were found between the ends of relations: what is usual among those that were committed, and how far such ways
//! are followed (CAL-21, CAL-23).

use crate::log::{Lsn, Ways};

/// Supports of committed relations that say what is usual.
const SUPPORTS_MAX: usize = 512;
/// Relations whose ways are counted.
const COUNTS_MAX: usize = 1_024;

/// What was found in one space, or in several together.
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Travelled {
    /// How far ways support relations that were committed, oldest first.
    #[n(0)]
    supports: Vec<(Lsn, f64)>,
    /// How many ways relations had, oldest first.
    #[n(1)]
    counts: Vec<(Lsn, u32)>,
    /// How far ways were followed last: the adjustment, and the rounds since that was looked at.
    #[n(2)]
    last: Option<(Lsn, i32, u32)>,
}

/// What is known of ways, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaysKnown {
    /// How far each supports its relation, of those that were committed.
    pub supports: Vec<f64>,
    /// How many each relation had, of those whose ends were known.
    pub counts: Vec<usize>,
    /// How much further than the size of the graph says they are followed, and the rounds since that was looked at.
    pub depth: (i32, u32),
}

impl Travelled {
    /// Takes in what was found for one relation. A relation that waits counts for how many there are, not for what is usual.
    pub(super) fn note(&mut self, ways: &Ways, lsn: Lsn, committed: bool) {
        if let Some(supports) = &ways.supports {
            self.counts.push((lsn, supports.len() as u32));
            if committed {
                self.supports.extend(supports.iter().map(|support| (lsn, *support)));
            }
        }
        self.last = Some((lsn, ways.adjust, ways.rounds));
        self.cut();
    }

    fn cut(&mut self) {
        self.supports.drain(..self.supports.len().saturating_sub(SUPPORTS_MAX));
        self.counts.drain(..self.counts.len().saturating_sub(COUNTS_MAX));
    }

    /// Takes in what was found in another space.
    pub(super) fn join(&mut self, other: &Self) {
        self.supports.extend(&other.supports);
        self.counts.extend(&other.counts);
        let later = other.last.map(|(lsn, ..)| lsn) > self.last.map(|(lsn, ..)| lsn);
        self.last = if later { other.last } else { self.last };
    }

    /// In the order of the log.
    pub(super) fn known(mut self) -> WaysKnown {
        self.supports.sort_by_key(|(lsn, _)| *lsn);
        self.counts.sort_by_key(|(lsn, _)| *lsn);
        self.cut();
        WaysKnown {
            supports: self.supports.into_iter().map(|(_, support)| support).collect(),
            counts: self.counts.into_iter().map(|(_, count)| count as usize).collect(),
            depth: self.last.map_or((0, 0), |(_, adjust, rounds)| (adjust, rounds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(supports: Option<&[f64]>, adjust: i32) -> Ways {
        Ways { supports: supports.map(<[f64]>::to_vec), adjust, rounds: 3 }
    }

    /// CAL-21, CAL-23: what is usual follows from what was committed, how far to go from all that was looked at; a relation with
    /// a new end says neither.
    #[test]
    fn only_what_is_committed_is_usual() {
        let mut found = Travelled::default();
        found.note(&ways(Some(&[0.7, 0.5]), 0), Lsn::new(1), true);
        found.note(&ways(Some(&[0.1]), 1), Lsn::new(3), false);
        found.note(&ways(None, 1), Lsn::new(5), true);
        let mut other = Travelled::default();
        other.note(&ways(Some(&[0.6]), -1), Lsn::new(2), true);
        found.join(&other);
        let known = found.known();
        assert_eq!(known.supports, [0.7, 0.5, 0.6]);
        assert_eq!((known.counts, known.depth), (vec![2, 1, 1], (1, 3)));
    }

    #[test]
    fn no_more_is_kept_than_counts() {
        let mut found = Travelled::default();
        for lsn in 1..2_000 {
            found.note(&ways(Some(&[0.5]), 0), Lsn::new(lsn), true);
        }
        assert_eq!((found.supports.len(), found.counts.len()), (SUPPORTS_MAX, COUNTS_MAX));
        assert_eq!(found.supports.last(), Some(&(Lsn::new(1_999), 0.5)));
    }
}
