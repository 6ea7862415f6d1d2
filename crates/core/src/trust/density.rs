//! How a vector lies among the stored ones (CAL-9 to 11).
//!
//! A vector that has many more neighbours within the median radius than a stored one has on average would be retrieved for
//! everything: a magnet. One that has as many is typical; one that has none stands alone.

use super::{Profile, clamp};

/// What keeps a division from failing in an empty memory.
const EPSILON: f64 = 1e-9;
/// From so many standard deviations on.
const MAGNET: f64 = 3.25;
/// The least deviation that counts, as a cosine: where stored vectors are all but the same, what tells them apart is rounding, and
/// one that lies a little nearer to all crowds out nothing.
const DEVIATION_MIN: f64 = 0.01;

/// The median; between two values in the middle, half way. Sorts partly, and takes O(n).
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| even).map_or(upper, |lower| f64::midpoint(lower, upper)))
}

/// The value below which this share of the others lies; between two ranks, in proportion.
pub(super) fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * values.len().saturating_sub(1) as f64;
    let (lower, upper) = (values.get(place.floor() as usize)?, values.get(place.ceil() as usize)?);
    Some(lower + (upper - lower) * place.fract())
}

/// How many times as many neighbours a vector has inside the radius as a stored one has on average.
#[must_use]
pub fn ratio(inside: f64, mean: f64) -> f64 {
    inside.max(0.0) / (mean.max(0.0) + EPSILON)
}

/// What such a ratio says of one vector. Shipped: a typical one has a half, a lone one all, a magnet from twice the mean on
/// nothing. As published, what is typical has nothing already.
#[must_use]
pub fn detect(profile: Profile, ratio: f64) -> f64 {
    clamp(match profile {
        Profile::Ref => 1.0 - ratio,
        Profile::Ship => 1.0 - ratio / 2.0,
    })
}

/// How much nearer a vector lies to everything than stored ones do on average, in their standard deviations.
#[must_use]
pub fn crowding(nearness: f64, mean: f64, deviation: f64) -> f64 {
    (nearness - mean) / deviation.max(DEVIATION_MIN)
}

/// Whether something lies so much nearer to everything than what is stored that it would be among the answers to much of what is asked.
#[must_use]
pub fn is_magnet(crowding: f64) -> bool {
    crowding >= MAGNET
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_median_stands_in_the_middle() {
        let check = |values: &[f64], expected| assert_eq!(median(&mut values.to_vec()), expected);
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 5.0], Some(5.0));
        check(&[4.0, 1.0, 3.0, 2.0], Some(2.5));
    }

    /// CAL-11: typical, alone, magnet; CAL-45 (a): as published a typical item has nothing.
    #[test]
    fn a_magnet_has_nothing() {
        let check = |profile, ratio, expected: f64| {
            assert!((detect(profile, ratio) - expected).abs() < 1e-5, "{ratio}")
        };
        check(Profile::Ship, 1.0, 0.5);
        check(Profile::Ship, 0.0, 1.0);
        check(Profile::Ship, 1.42, 0.29);
        check(Profile::Ref, 0.25, 0.75);
        assert_eq!(detect(Profile::Ship, 3.0), 1e-6);
        assert_eq!(detect(Profile::Ship, 2.0), 1e-6);
        assert_eq!(detect(Profile::Ref, 1.0), 1e-6);
    }

    /// AM-11: what lies further in the middle than stored ones ever do is a magnet.
    #[test]
    fn a_magnet_lies_nearest_to_everything() {
        let of = |nearness| is_magnet(crowding(nearness, 0.2, 0.04));
        assert!(!of(-0.5) && !of(0.2) && !of(0.32) && of(0.34) && of(1.0));
        assert!(!is_magnet(crowding(f64::NAN, 0.2, 0.04)));
        // Where all stored ones lie alike, what lies as they do is none.
        assert!(!is_magnet(crowding(0.2, 0.2, 0.0)));
        assert!(!is_magnet(crowding(0.999_2, 0.999_1, 0.000_01)));
    }

    proptest! {
        /// CAL-11: never NaN, never negative, and more neighbours never help.
        #[test]
        fn crowding_never_helps(inside in prop::num::f64::ANY, mean in prop::num::f64::ANY, more in 0.0..10.0) {
            for profile in Profile::ALL {
                let score = detect(*profile, ratio(inside, mean));
                prop_assert!(score > 0.0 && score < 1.0);
                prop_assert!(detect(*profile, 1.0 + more) <= detect(*profile, 1.0));
            }
        }

        #[test]
        fn a_median_is_that_of_a_sort(mut values in prop::collection::vec(-1.0..1.0, 1..40)) {
            let found = median(&mut values).unwrap();
            values.sort_by(f64::total_cmp);
            let half = values.len() / 2;
            let expected = if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) };
            prop_assert_eq!(found, expected);
        }
    }
}
