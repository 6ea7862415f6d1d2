//! Which trust a write needs to be committed (CAL-30): a fence below what was committed lately.
//!
//! A median of committed scores would be a ratchet: each round leaves out the lower half, and in the end nothing passes. The
//! fence stands well below the median, so that a usual write passes and an unusual one does not.

use super::{ENOUGH, Profile, median};
use std::collections::{BTreeMap, BTreeSet};

/// A gate looks back on so many commits at least. With half as many the fence wanders more: what it keeps out for a while narrows what
/// it is made of. In simulation this keeps fewer true writes apart; it does not keep more lies out.
const WINDOW_MIN: usize = 60;
/// No fence stands lower.
const LOWEST: f64 = 0.35;
/// The threshold while too few were committed.
const COLD: f64 = 0.5;
/// How many spreads below the median the fence stands.
const SPREADS: f64 = 2.0;
/// The least and the most that counts as a spread.
const SPREAD: (f64, f64) = (0.02, 0.08);
/// What makes a median deviation comparable to a standard deviation.
const NORMAL: f64 = 1.4826;

/// What became of a write, and whose it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Past {
    /// The party of the contributor (CAL-1).
    pub party: u64,
    /// Its trust at the commit; nothing if it was kept apart.
    pub rho: Option<f64>,
}

/// What a write has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// The least trust that is committed.
    pub threshold: f64,
    /// Too few were committed to know what is usual.
    pub cold: bool,
    /// How many commits the threshold is made of.
    pub counted: usize,
}

/// How many commits a gate looks back on in a memory of this size: the root of it, and at least 60.
#[must_use]
pub fn window_len(memory: u64) -> usize {
    let root = memory.isqrt();
    let root = if root * root < memory { root + 1 } else { root };
    usize::try_from(root).unwrap_or(usize::MAX).max(WINDOW_MIN)
}

/// The gate after these writes, oldest first, in a memory of this size with so many parties. One party fills a third of what
/// is looked at, or its even share if that is more; what it committed beyond that is passed over. One of several alone says nothing
/// of what is usual, and nor does who was kept apart more often than let in of late: what one gets in by trying often is not usual.
#[must_use]
pub fn gate(profile: Profile, past: &[Past], memory: u64, parties: usize) -> Gate {
    let window = window_len(memory);
    let most = window.div_ceil(3).max(window.div_ceil(parties.max(1)));
    let passed_over = if profile == Profile::Ship { mostly_kept_apart(past, most) } else { BTreeSet::new() };
    let mut scores = recent(past, window, most, &passed_over);
    let committed: BTreeSet<u64> = past.iter().filter(|one| one.rho.is_some()).map(|one| one.party).collect();
    let counted = scores.len();
    let too_few = counted < ENOUGH || committed.len() < parties.min(2);
    let middle = if too_few { None } else { median(&mut scores) };
    let threshold = match (profile, middle) {
        (Profile::Ref, middle) => middle.unwrap_or(0.0),
        (Profile::Ship, None) => COLD,
        (Profile::Ship, Some(middle)) => below(middle, &mut scores),
    };
    Gate { threshold, cold: middle.is_none(), counted }
}

/// The parties of whose latest writes, this many at most, more were kept apart than let in.
fn mostly_kept_apart(past: &[Past], most: usize) -> BTreeSet<u64> {
    let mut latest: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for one in past.iter().rev() {
        let (let_in, kept_apart) = latest.entry(one.party).or_default();
        if *let_in + *kept_apart < most {
            *(if one.rho.is_some() { let_in } else { kept_apart }) += 1;
        }
    }
    latest
        .into_iter()
        .filter(|(_, (let_in, kept_apart))| kept_apart > let_in)
        .map(|(party, _)| party)
        .collect()
}

/// The scores that are looked at, the newest first.
fn recent(past: &[Past], window: usize, most: usize, passed_over: &BTreeSet<u64>) -> Vec<f64> {
    let mut held: BTreeMap<u64, usize> = BTreeMap::new();
    let mut has_room = |party| {
        let held = held.entry(party).or_default();
        *held += 1;
        *held <= most
    };
    let scores = past.iter().rev().filter(|one| !passed_over.contains(&one.party));
    let scores = scores.filter_map(|one| Some((one.party, one.rho.filter(|rho| rho.is_finite())?)));
    scores.filter(|(party, _)| has_room(*party)).map(|(_, rho)| rho).take(window).collect()
}

/// The fence below a median. Takes the scores apart.
fn below(middle: f64, scores: &mut [f64]) -> f64 {
    for score in &mut *scores {
        *score = (*score - middle).abs();
    }
    let spread = NORMAL * median(scores).unwrap_or(0.0);
    (middle - SPREADS * spread.clamp(SPREAD.0, SPREAD.1)).max(LOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Draw;
    use proptest::prelude::*;

    /// Normal enough: twelve uniform numbers.
    fn normal(draw: &mut Draw, mean: f64, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| draw.below(1 << 32) as f64 / f64::from(1_u32 << 31) / 2.0).sum();
        mean + deviation * (sum - 6.0)
    }

    /// Whether each of 3,000 honest writes is committed.
    fn honest(profile: Profile) -> Vec<bool> {
        let mut draw = Draw::new(&[9; 32], 4, &[1; 32]);
        let (mut past, mut admitted) = (Vec::new(), Vec::new());
        for round in 0..3_000_u64 {
            let rho = normal(&mut draw, 0.67, 0.08);
            let passes = rho >= gate(profile, &past, 300 + round, 6).threshold;
            admitted.push(passes);
            if passes {
                past.push(Past { party: round % 6, rho: Some(rho) });
            }
        }
        admitted
    }

    fn share(admitted: &[bool]) -> f64 {
        admitted.iter().filter(|yes| **yes).count() as f64 / admitted.len() as f64
    }

    /// CAL-30: honest writes go on passing.
    #[test]
    fn the_fence_does_not_creep_up() {
        let admitted = honest(Profile::Ship);
        assert!(share(&admitted) >= 0.90, "{}", share(&admitted));
        for part in admitted.chunks(300) {
            assert!(share(part) >= 0.75, "{}", share(part));
        }
    }

    /// CAL-45 (b): a median of what was committed ends by committing nothing.
    #[test]
    fn the_published_median_is_a_ratchet() {
        let admitted = honest(Profile::Ref);
        assert!(share(&admitted[2_700..]) < 0.05, "{}", share(&admitted[2_700..]));
    }

    fn repeated(party: u64, rho: f64, count: usize) -> Vec<Past> {
        vec![Past { party, rho: Some(rho) }; count]
    }

    /// CAL-30: with fewer than 30 commits the threshold is a half, and as published everything passes.
    #[test]
    fn a_cold_gate_knows_nothing() {
        let past = repeated(1, 0.9, 29);
        assert_eq!(gate(Profile::Ship, &past, 0, 1), Gate { threshold: 0.5, cold: true, counted: 29 });
        assert_eq!(gate(Profile::Ref, &past, 0, 1), Gate { threshold: 0.0, cold: true, counted: 29 });
        let warm = gate(Profile::Ship, &repeated(1, 0.9, 30), 0, 1);
        assert!(!warm.cold && (warm.threshold - 0.86).abs() < 1e-9);
        assert_eq!(gate(Profile::Ship, &repeated(1, 0.2, 30), 0, 1).threshold, 0.35);
    }

    /// CAL-30: the root of the memory, rounded up, and no fewer than 60.
    #[test]
    fn a_larger_memory_looks_further_back() {
        let check = |memory, expected| assert_eq!(window_len(memory), expected);
        check(0, 60);
        check(3_600, 60);
        check(3_601, 61);
        check(10_000, 100);
        check(10_001, 101);
        assert!(window_len(u64::MAX) > 4_000_000_000);
    }

    /// CAL-30: one party among many fills a third and no more, however much it commits; the newest count.
    #[test]
    fn one_party_does_not_make_the_gate() {
        let mut past = repeated(1, 0.6, 30);
        past.extend(repeated(2, 0.6, 30));
        past.extend(repeated(3, 0.95, 500));
        let found = gate(Profile::Ship, &past, 0, 3);
        assert!(found.counted == 60 && found.threshold < 0.6);
        // One of several alone does not make it warm, however large the memory is.
        let alone = |memory, parties| gate(Profile::Ship, &repeated(3, 0.9, 500), memory, parties).cold;
        assert!(alone(0, 2) && alone(1_000_000, 3) && !alone(0, 1));
        assert_eq!(gate(Profile::Ship, &repeated(3, 0.9, 500), 0, 0).counted, 60);
    }

    fn kept_apart(party: u64, count: usize) -> Vec<Past> {
        vec![Past { party, rho: None }; count]
    }

    /// CAL-30: what a flood gets in between what is kept apart of it does not move the gate; who is let in as often as not counts, and
    /// a flood among two does not make the gate cold.
    #[test]
    fn what_is_got_in_by_trying_often_does_not_count() {
        let honest = || (0..60).map(|at| Past { party: at % 3, rho: Some(0.55 + 0.005 * (at % 30) as f64) });
        let after = |tries: usize| {
            let one = [kept_apart(9, tries), repeated(9, 0.5, 1)].concat();
            let past: Vec<Past> = honest().chain(one.repeat(30)).collect();
            gate(Profile::Ship, &past, 0, 4)
        };
        let before = gate(Profile::Ship, &honest().collect::<Vec<_>>(), 0, 4);
        assert_eq!((after(2), after(500)), (before, before));
        assert!(after(0).threshold < before.threshold - 0.02, "{:?} {before:?}", after(0));
        assert_eq!(after(1), after(0));
        let two = [repeated(1, 0.7, 30), repeated(2, 0.7, 30), kept_apart(2, 500)].concat();
        assert!(!gate(Profile::Ship, &two, 0, 2).cold);
        assert_eq!(gate(Profile::Ref, &two, 0, 2).counted, 60);
    }

    #[test]
    fn scores_that_are_no_numbers_are_passed_over() {
        let mut past = repeated(1, 0.7, 30);
        past.extend(repeated(1, f64::NAN, 30));
        assert!((gate(Profile::Ship, &past, 0, 1).threshold - 0.66).abs() < 1e-9);
    }

    proptest! {
        /// CAL-30: a fence stands between its floor and the median, and rises when every score does.
        #[test]
        fn a_fence_follows_its_scores(scores in prop::collection::vec(0.3..0.9, 30..80), more in 0.0..0.1) {
            let past = |more: f64| -> Vec<Past> {
                scores.iter().enumerate().map(|(at, rho)| Past { party: at as u64, rho: Some(rho + more) }).collect()
            };
            let threshold = |profile, more| gate(profile, &past(more), 2_000, 80).threshold;
            let (low, high) = (threshold(Profile::Ship, 0.0), threshold(Profile::Ship, more));
            prop_assert!(low >= LOWEST && low <= high + 1e-9);
            prop_assert!(low <= threshold(Profile::Ref, 0.0).max(LOWEST));
        }
    }
}
