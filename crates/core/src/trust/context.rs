//! Whether a query belongs to what a round is about (CAL-40).
//!
//! A context is a ring of points, each with the place in the log from which on it counts. What a query out of context was
//! answered never becomes a point, so that drifting away does not move the context along.
//!
//! It refuses to know vectors: who asks measures the cosines.

use super::density::percentile;
use crate::log::Lsn;
use std::collections::VecDeque;

/// A context keeps this many points; the oldest makes room.
pub const POINTS_MAX: usize = 64;
/// The cosines of this many logged queries say how near is usual.
pub const QUERIES_MAX: usize = 512;
/// Fewer points than this are no context, where none was declared.
const POINTS_MIN: usize = 4;
/// Fewer queries than this say nothing.
const QUERIES_MIN: usize = 30;
/// All but this share of the queries are in context.
const SHARE_OUT: f64 = 0.02;
/// The threshold lies between these, and starts here.
const THRESHOLD: (f64, f64) = (0.10, 0.35);
const THRESHOLD_COLD: f64 = 0.25;

/// What a round is about: points, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ring<P> {
    points: VecDeque<(Lsn, P)>,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Self { points: VecDeque::new() }
    }
}

impl<P> Ring<P> {
    /// A further point, known from this place in the log on.
    pub fn add(&mut self, since: Lsn, point: P) {
        if self.points.len() >= POINTS_MAX {
            self.points.pop_front();
        }
        self.points.push_back((since, point));
    }

    /// The points that were known before this place.
    pub fn before(&self, place: Lsn) -> impl Iterator<Item = &P> {
        self.points.iter().filter(move |(since, _)| *since < place).map(|(_, point)| point)
    }

    /// How many points there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// How near to its context a query has to be: nearer than the farthest fiftieth of the logged queries were, of which the last
/// 512 count. The cosines are each query's best, oldest first.
#[must_use]
pub fn threshold(cosines: &[f64]) -> f64 {
    let from = cosines.len().saturating_sub(QUERIES_MAX);
    let mut recent: Vec<f64> =
        cosines.iter().skip(from).copied().filter(|cosine| cosine.is_finite()).collect();
    if recent.len() < QUERIES_MIN {
        return THRESHOLD_COLD;
    }
    percentile(&mut recent, SHARE_OUT).unwrap_or(THRESHOLD_COLD).clamp(THRESHOLD.0, THRESHOLD.1)
}

/// Whether a probe belongs to its context. What follows from `Out` is the caller's: in a declared round the probe is invalid,
/// elsewhere its auditor abstains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// It does.
    In,
    /// It does not.
    Out,
    /// Nobody can say; its auditor abstains.
    TooFew,
}

/// Whether a query whose nearest earlier point has this cosine belongs to a context of so many points.
#[must_use]
pub fn in_context(best: f64, threshold: f64, points: usize, declared: bool) -> Context {
    if points < POINTS_MIN && !declared {
        return Context::TooFew;
    }
    if points > 0 && best >= threshold { Context::In } else { Context::Out }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAL-40: a ring forgets the oldest, and a point counts only for what came after it.
    #[test]
    fn a_ring_holds_the_last_points() {
        let mut ring = Ring::default();
        assert!(ring.is_empty());
        for at in 1..=100_u64 {
            ring.add(Lsn::new(at), at);
        }
        assert_eq!(ring.len(), POINTS_MAX);
        assert_eq!(ring.before(Lsn::new(40)).copied().collect::<Vec<_>>(), [37, 38, 39]);
        assert_eq!(ring.before(Lsn::new(37)).count(), 0);
    }

    /// CAL-40: the second percentile of the last 512, within bounds; a quarter while little is known.
    #[test]
    fn nearness_is_learnt() {
        let check = |cosines: &[f64], expected: f64| {
            let found = threshold(cosines);
            assert!((found - expected).abs() < 1e-9, "{found}");
        };
        check(&[], 0.25);
        check(&[0.9; 29], 0.25);
        check(&[0.9; 30], 0.35);
        check(&[0.0; 30], 0.10);
        let spread: Vec<f64> = (0..=100).map(|at| 0.1 + f64::from(at) / 100.0).collect();
        check(&spread, 0.12);
        let mut old = vec![0.0; 500];
        old.extend([0.3; 512]);
        check(&old, 0.3);
        check(&[f64::NAN; 40], 0.25);
    }

    /// CAL-40: too few points are no context, unless it was declared.
    #[test]
    fn a_context_needs_points() {
        let check = |best, points, declared, expected| {
            assert_eq!(in_context(best, 0.25, points, declared), expected);
        };
        check(0.25, 4, false, Context::In);
        check(0.24, 4, false, Context::Out);
        check(0.9, 3, false, Context::TooFew);
        check(0.9, 1, true, Context::In);
        check(0.1, 1, true, Context::Out);
        check(0.9, 0, true, Context::Out);
        check(f64::NAN, 9, true, Context::Out);
    }
}
