//! What the parties of a round gain, and how far the memory could be led astray (CAL-4 to 7). It is reported, and decides
//! nothing.

use super::{PERSISTENCE, clamp, mean};

/// How much of what the last probes are answered a delta would hold: for each probe the ranks that it takes, counted from 1,
/// in lists of `k`.
#[must_use]
pub fn impact(ranks: &[Vec<usize>], k: usize) -> f64 {
    let weight = |rank: usize| PERSISTENCE.powi(i32::try_from(rank.saturating_sub(1)).unwrap_or(i32::MAX));
    let whole: f64 = (1..=k).map(weight).sum();
    let held = |ranks: &Vec<usize>| {
        let held: f64 = ranks.iter().filter(|rank| (1..=k).contains(*rank)).map(|rank| weight(*rank)).sum();
        held / whole
    };
    if k == 0 { 0.0 } else { mean(ranks.iter().map(held)).unwrap_or(0.0) }
}

/// The same of relations: the share of the last walks whose best paths would use them.
#[must_use]
pub fn impact_on_walks(used: &[bool]) -> f64 {
    mean(used.iter().map(|used| f64::from(u8::from(*used)))).unwrap_or(0.0)
}

/// What a contributor gains: its impact if it is committed, less the distrust that it met.
#[must_use]
pub fn contributor_utility(admitted: f64, impact: f64, rho: f64) -> f64 {
    admitted * impact - (1.0 - rho)
}

/// Trust from -1 to 1.
#[must_use]
pub const fn alignment(rho: f64) -> f64 {
    2.0 * rho - 1.0
}

/// What an auditor gains: a memory that fits, less what its probe cost if one was taken.
#[must_use]
pub const fn auditor_utility(rho: f64, effort: f64, probed: bool) -> f64 {
    alignment(rho) - if probed { effort } else { 0.0 }
}

/// How far what is committed stays behind the best of it.
#[must_use]
pub fn integrity_gap(committed: &[f64]) -> f64 {
    let best = committed.iter().copied().map(alignment).fold(f64::NEG_INFINITY, f64::max);
    mean(committed.iter().copied().map(alignment)).map_or(0.0, |mean| best - mean)
}

/// How much fewer auditors could be wrong about.
#[must_use]
pub fn attestation_gap(auditors: usize) -> f64 {
    1.0 / (auditors.max(1) as f64).sqrt()
}

/// A scored write of which it is known whether it was poison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled {
    /// Its trust.
    pub rho: f64,
    /// Whether it was committed.
    pub committed: bool,
    /// Whether it was poison.
    pub poison: bool,
}

/// What labels say of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaps {
    /// Poison's share of the trust that was committed.
    pub manipulation: f64,
    /// How far the threshold lies from the best one; none where there is only one kind.
    pub threshold: Option<f64>,
    /// How well distrust tells poison, from -1 to 1; none where nothing varies.
    pub correlation: Option<f64>,
}

/// What the labels of a run say, at a threshold.
#[must_use]
pub fn gaps(writes: &[Labelled], threshold: f64) -> Gaps {
    let committed = |poison: Option<bool>| -> f64 {
        let of =
            writes.iter().filter(|one| one.committed && poison.is_none_or(|poison| one.poison == poison));
        of.map(|one| clamp(one.rho)).sum()
    };
    let all = committed(None);
    Gaps {
        manipulation: if all > 0.0 { committed(Some(true)) / all } else { 0.0 },
        threshold: best_threshold(writes).map(|best| (threshold - best).abs()),
        correlation: correlation(writes),
    }
}

/// The threshold at which the share of honest writes that pass exceeds the share of poison that does by most (Youden); the
/// lowest of several.
#[must_use]
pub fn best_threshold(writes: &[Labelled]) -> Option<f64> {
    let mut sorted: Vec<&Labelled> = writes.iter().collect();
    sorted.sort_by(|a, b| b.rho.total_cmp(&a.rho));
    let poison = writes.iter().filter(|one| one.poison).count();
    let honest = writes.len() - poison;
    if poison == 0 || honest == 0 {
        return None;
    }
    let (mut best, mut gain) = ((0.0, f64::NEG_INFINITY), 0.0);
    for (at, one) in sorted.iter().enumerate() {
        gain += if one.poison { -1.0 / poison as f64 } else { 1.0 / honest as f64 };
        // Writes of one trust pass together.
        let last_of_its_trust = sorted.get(at + 1).is_none_or(|next| next.rho < one.rho);
        if last_of_its_trust && gain >= best.1 {
            best = (one.rho, gain);
        }
    }
    Some(best.0)
}

/// The correlation of distrust with being poison.
fn correlation(writes: &[Labelled]) -> Option<f64> {
    let distrust = |one: &Labelled| 1.0 - one.rho;
    let label = |one: &Labelled| f64::from(u8::from(one.poison));
    let (x_mean, y_mean) = (mean(writes.iter().map(distrust))?, mean(writes.iter().map(label))?);
    let sums = writes.iter().fold((0.0, 0.0, 0.0), |(xy, xx, yy), one| {
        let (x, y) = (distrust(one) - x_mean, label(one) - y_mean);
        (xy + x * y, xx + x * x, yy + y * y)
    });
    let scale = (sums.1 * sums.2).sqrt();
    (scale > 0.0).then(|| (sums.0 / scale).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }

    /// CAL-4: what stands on top of every list holds most; what stands nowhere holds nothing.
    #[test]
    fn impact_is_the_share_of_ranks() {
        close(impact(&[], 5), 0.0);
        close(impact(&[vec![], vec![6]], 5), 0.0);
        close(impact(&[vec![1, 2, 3, 4, 5]], 5), 1.0);
        close(impact(&[vec![1], vec![]], 5), 0.5 / 4.0951);
        close(impact(&[vec![1]], 0), 0.0);
        close(impact_on_walks(&[true, false, false, true]), 0.5);
        close(impact_on_walks(&[]), 0.0);
    }

    /// CAL-4, 5: utilities.
    #[test]
    fn utilities_follow_from_trust() {
        close(contributor_utility(1.0, 0.3, 0.8), 0.1);
        close(contributor_utility(0.0, 0.3, 0.8), -0.2);
        close(auditor_utility(0.8, 0.1, true), 0.5);
        close(auditor_utility(0.8, 0.1, false), 0.6);
    }

    /// CAL-7: what was committed against the best of it.
    #[test]
    fn a_gap_is_from_the_best() {
        close(integrity_gap(&[]), 0.0);
        close(integrity_gap(&[0.7, 0.7]), 0.0);
        close(integrity_gap(&[0.9, 0.5]), 0.4);
        close(attestation_gap(4), 0.5);
        close(attestation_gap(0), 1.0);
    }

    fn write(rho: f64, committed: bool, poison: bool) -> Labelled {
        Labelled { rho, committed, poison }
    }

    /// CAL-7: with labels, what poison holds, where the threshold should stand, and whether distrust tells.
    #[test]
    fn labels_say_more() {
        let run = [
            write(0.8, true, false),
            write(0.7, true, false),
            write(0.5, true, true),
            write(0.2, false, true),
        ];
        let found = gaps(&run, 0.45);
        close(found.manipulation, 0.25);
        close(found.threshold.unwrap(), 0.25);
        assert!(found.correlation.unwrap() > 0.8);
        let honest = gaps(&run[..1], 0.45);
        assert_eq!((honest.manipulation, honest.threshold, honest.correlation), (0.0, None, None));
        assert_eq!(gaps(&[], 0.5), Gaps { manipulation: 0.0, threshold: None, correlation: None });
    }

    #[test]
    fn equal_trust_is_on_one_side() {
        let run = [write(0.6, true, false), write(0.6, true, true), write(0.4, true, false)];
        close(best_threshold(&run).unwrap(), 0.4);
    }
}
