//! How far is a write trusted, and may it enter shared memory?
//!
//! A write is held against the memory that it would enter, and against what other agents really asked of that memory. Two
//! numbers come of it: how it lies among what is stored (`detect`), and how little it disturbs what the others are answered
//! (`align`). Their geometric mean is its trust. No agent is believed: votes, stated confidence and comments are not among
//! the facts (CAL-2).
//!
//! Invariants: every function here is pure, and none answers NaN. What divides, multiplies or takes a root first brings its
//! input into `[1e-6, 1 - 1e-6]`.
//!
//! What was decided where the rules leave room:
//! - Fewer than 30 memories of a kind say nothing about a further one: `detect` is one half, and no probe counts as
//!   evidence.
//! - Outside of declared rounds a score weighs, and keeps out magnets alone. A round in which nobody else takes part is such a
//!   place. A round whose auditors have no valid probe between them while the gate is cold keeps nothing out: there is nothing to
//!   compare with, and a write at low trust is better than a lost one.
//! - The weight that counts in a round is the one from before it; what the round says of an auditor counts from the next.
//! - An auditor who abstains stands in no share: neither among the valid nor among the invalid.
//! - Who belongs to one model family is counted among the auditors who were heard; an unknown family is like no other.
//! - Staging an odd relation (CAL-30) is part of the gate, so `ref` does not do it while it accepts everything.
//!
//! It refuses to know where vectors, relations and probes come from; `engine` gathers them. Nothing here establishes what is
//! true (CAL-46): a write that looks like an honest one is trusted like it.

pub mod graph;

mod agreement;
mod calibrate;
mod context;
mod credibility;
mod density;
mod draw;
mod fence;
mod stored;

pub use agreement::{Distance, distance};
pub use calibrate::{
    Auditor, CalFacts, Calibrated, Delta, Gating, ItemFacts, Probing, RelationFacts, Scored, calibrate,
};
pub use context::{Context, POINTS_MAX, QUERIES_MAX, Ring, in_context, threshold};
pub use credibility::{moved, step};
pub use density::{crowding, detect, is_magnet, median, ratio};
pub use draw::{Draw, namespace_key, order_key};
pub use fence::{Gate, Past, gate, window_len};
pub use stored::{Band, Evidence, Stored, Waiting, demotes, promotes};

use crate::item::words;

/// The least that a score is held to be; the most is as far from 1.
const LEAST: f64 = 1e-6;
/// What a score is where nothing is known.
const NEUTRAL: f64 = 0.5;
/// Below this, what is stored is too odd to be let in with its delta, or on the word of others.
const ODD: f64 = 0.2;
/// Memories that it takes before a score says anything, and scores that it takes before a gate does.
pub const ENOUGH: usize = 30;
/// How much less each further rank of a list counts.
const PERSISTENCE: f64 = 0.9;

words! {
    /// Which formulas score a write.
    #[derive(Default)]
    Profile {
        /// The formulas as published; for evaluation alone.
        0 Ref = "ref",
        /// What the server does.
        #[default]
        1 Ship = "ship",
    }
}

words! {
    /// Who sees what is written in a declared round.
    #[derive(Default)]
    RoundVisibility {
        /// Who may invoke every agent that takes part: it counts as the work of all of them.
        #[default]
        0 All = "all",
        /// Who would see it without the round: it carries what its writer's own work carries.
        1 Own = "own",
    }
}

/// Which parts of calibration take part, to measure what each is worth. One that is left out counts neither for a write
/// nor against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// How a write lies in memory. Without it trust is `align`, and no relation is staged for being odd.
    pub detect: bool,
    /// What auditors are answered. Without it trust is `detect`. Without either it is one half.
    pub align: bool,
    /// Credibility. Without it every auditor counts fully, and no weight moves.
    pub weights: bool,
    /// The neighbourhood of a relation. Without it a relation is judged by its paths.
    pub local: bool,
    /// The paths between a relation's ends. Without them it is judged by its neighbourhood; without either at one half.
    pub path: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self { detect: true, align: true, weights: true, local: true, path: true }
    }
}

/// A score brought into `[1e-6, 1 - 1e-6]`; what is not a number is the least.
#[must_use]
pub const fn clamp(x: f64) -> f64 {
    if x.is_nan() { LEAST } else { x.clamp(LEAST, 1.0 - LEAST) }
}

/// Trust: the geometric mean of the two scores (CAL-3).
#[must_use]
pub fn rho(detect: f64, align: f64) -> f64 {
    clamp((clamp(detect) * clamp(align)).sqrt())
}

/// The mean, if there is anything to take it of.
fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.into_iter().fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CAL-3: the published cases.
    #[test]
    fn trust_is_the_geometric_mean() {
        let check = |detect, align, expected: f64| assert!((rho(detect, align) - expected).abs() < 1e-3);
        check(0.31, 0.18, 0.236);
        check(0.05, 0.21, 0.102);
        check(0.61, 0.26, 0.398);
        check(0.72, 0.68, 0.700);
    }

    #[test]
    fn a_profile_has_its_word() {
        assert_eq!(Profile::default(), Profile::Ship);
        assert_eq!(Profile::from_word("ref"), Some(Profile::Ref));
        assert_eq!(Profile::words(), "ref, ship");
    }

    proptest! {
        /// CAL-3: whatever comes in, what comes out is a score.
        #[test]
        fn a_score_is_a_number(detect in prop::num::f64::ANY, align in prop::num::f64::ANY) {
            for score in [clamp(detect), clamp(align), rho(detect, align)] {
                prop_assert!((LEAST..=1.0 - LEAST).contains(&score));
            }
        }

        /// CAL-3: better in one respect is never worse on the whole.
        #[test]
        fn trust_grows_with_its_parts(low in 0.0..1.0, more in 0.0..1.0, other in 0.0..1.0) {
            prop_assert!(rho(low, other) <= rho(low + more, other));
            prop_assert!(rho(other, low) <= rho(other, low + more));
        }
    }
}
