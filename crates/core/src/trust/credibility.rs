//! How far an auditor's probes count (CAL-29).
//!
//! A weight falls with each invalid probe and recovers with each valid one, so that in the long run it is the share of valid
//! ones. What a probe says of a write never moves it: an auditor who is answered otherwise than before has done nothing
//! wrong.

use super::Profile;

/// The least and the most that a weight moves, as a share of its way.
const STEP: (f64, f64) = (0.3, 0.5);
/// As published, before any round has said how many are invalid.
const STEP_FIRST: f64 = 0.1;

/// How far a weight moves, from the share of invalid probes: among the *other* auditors as shipped, so that nobody sets their
/// own pace; in the whole round as published. A share that is not a number is one that nobody knows yet.
#[must_use]
pub const fn step(profile: Profile, others_invalid: f64) -> f64 {
    match profile {
        Profile::Ref if others_invalid.is_nan() => STEP_FIRST,
        Profile::Ref => others_invalid.clamp(0.0, 1.0),
        Profile::Ship if others_invalid.is_nan() => STEP.0,
        Profile::Ship => others_invalid.clamp(STEP.0, STEP.1),
    }
}

/// The weight after a probe.
#[must_use]
pub const fn moved(weight: f64, valid: bool, step: f64) -> f64 {
    let weight = bounded(weight);
    if valid { bounded(weight + step * (1.0 - weight)) } else { bounded(weight * (1.0 - step)) }
}

/// Between 0 and 1; what is not a number counts nothing.
pub(super) const fn bounded(weight: f64) -> f64 {
    if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Draw;
    use proptest::prelude::*;

    /// CAL-29: alone among honest others, an auditor whose probes are invalid one time in `p` has the weight 1 - p on average.
    #[test]
    fn in_the_long_run_a_weight_is_the_share_of_valid_probes() {
        for rate in [0.1, 0.3, 0.5] {
            let mut draw = Draw::new(&[7; 32], 1, &[0; 32]);
            let (mut weight, mut sum) = (1.0, 0.0);
            for _ in 0..5_000 {
                let valid = draw.below(1_000) as f64 >= rate * 1_000.0;
                weight = moved(weight, valid, step(Profile::Ship, 0.0));
                sum += weight;
            }
            assert!((sum / 5_000.0 - (1.0 - rate)).abs() < 0.02, "{rate}: {}", sum / 5_000.0);
        }
    }

    fn rounds(profile: Profile, others_invalid: f64, count: usize, valid: bool, from: f64) -> f64 {
        (0..count).fold(from, |weight, _| moved(weight, valid, step(profile, others_invalid)))
    }

    /// CAL-29: always invalid is muted at the seventh audited round and not before, at the fourth where half of the others are
    /// invalid too.
    #[test]
    fn who_is_always_invalid_is_muted() {
        assert!(rounds(Profile::Ship, 0.0, 6, false, 1.0) >= 0.1);
        assert!(rounds(Profile::Ship, 0.0, 7, false, 1.0) < 0.1);
        assert!(rounds(Profile::Ship, 0.9, 3, false, 1.0) >= 0.1);
        assert!(rounds(Profile::Ship, 0.9, 4, false, 1.0) < 0.1);
    }

    /// CAL-29: one slip is made good within six clean rounds; CAL-45 (d): as published it never is.
    #[test]
    fn a_slip_is_made_good() {
        let slipped = rounds(Profile::Ship, 0.0, 1, false, 1.0);
        assert!(rounds(Profile::Ship, 0.0, 6, true, slipped) >= 0.95);
        let slipped = rounds(Profile::Ref, 0.2, 1, false, 1.0);
        assert_eq!(rounds(Profile::Ref, 0.0, 100, true, slipped), slipped);
    }

    #[test]
    fn a_share_that_nobody_knows_moves_little() {
        assert_eq!(step(Profile::Ref, f64::NAN), 0.1);
        assert_eq!(step(Profile::Ship, f64::NAN), 0.3);
    }

    proptest! {
        /// CAL-29: a weight stays between 0 and 1 and moves the right way, whatever comes in.
        #[test]
        fn a_weight_is_a_share(weight in prop::num::f64::ANY, share in prop::num::f64::ANY) {
            for profile in Profile::ALL {
                let step = step(*profile, share);
                let (up, down) = (moved(weight, true, step), moved(weight, false, step));
                prop_assert!((0.0..=1.0).contains(&down) && (0.0..=1.0).contains(&up));
                prop_assert!(down <= bounded(weight) && bounded(weight) <= up);
            }
        }
    }
}
