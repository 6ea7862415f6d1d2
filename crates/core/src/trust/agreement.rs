//! How much a ranked list changes (CAL-13): rank-biased overlap, the top counting most.

use super::PERSISTENCE;

/// How far apart two lists are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// 0 if they are alike, 1 if they share nothing.
    pub value: f64,
    /// Neither list holds anything, so that their likeness says nothing.
    pub vacuous: bool,
}

/// The distance of the first `k` ranks. A list that names something twice counts it once.
#[must_use]
pub fn distance<T: PartialEq>(before: &[T], after: &[T], k: usize) -> Distance {
    let depth = k.min(before.len().max(after.len()));
    if depth == 0 {
        return Distance { value: 0.0, vacuous: true };
    }
    let (mut shared, mut weight, mut overlap, mut whole) = (0_u32, 1.0, 0.0, 0.0);
    for (rank, ranks) in (0..depth).zip(1_u32..) {
        shared += joined(before, after, rank);
        overlap += weight * f64::from(shared) / f64::from(ranks);
        whole += weight;
        weight *= PERSISTENCE;
    }
    Distance { value: (1.0 - overlap / whole).clamp(0.0, 1.0), vacuous: false }
}

/// How many more the lists share once both are read to `rank`.
fn joined<T: PartialEq>(before: &[T], after: &[T], rank: usize) -> u32 {
    let news = |list: &[T], other: &[T], other_read: usize| {
        let (read, next) = (list.iter().take(rank), list.get(rank));
        next.is_some_and(|next| {
            !read.into_iter().any(|known| known == next)
                && other.iter().take(other_read).any(|seen| seen == next)
        })
    };
    // The second list is read one rank behind in its turn, so that one thing new to both counts once.
    u32::from(news(before, after, rank.saturating_add(1))) + u32::from(news(after, before, rank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(before: &str, after: &str, expected: f64) {
        let (before, after): (Vec<char>, Vec<char>) = (before.chars().collect(), after.chars().collect());
        let found = distance(&before, &after, 5);
        assert!((found.value - expected).abs() < 1e-4, "{before:?} {after:?}: {}", found.value);
        assert!(!found.vacuous);
    }

    /// CAL-13: the table of what one or more new items change.
    #[test]
    fn the_top_counts_most() {
        check("abcde", "abcde", 0.0);
        check("abcde", "vwxyz", 1.0);
        check("ab", "ab", 0.0);
        check("abcde", "xabcd", 0.4966);
        check("abcde", "axbcd", 0.2524);
        check("abcde", "abxcd", 0.1425);
        check("abcde", "abcxd", 0.0765);
        check("abcde", "abcdx", 0.0320);
        check("abcde", "xyabc", 0.7489);
        check("abcde", "xyzab", 0.8914);
        check("abcde", "wxyza", 0.9680);
        check("", "x", 1.0);
    }

    /// CAL-13: two empty lists are alike, and that says nothing.
    #[test]
    fn empty_lists_say_nothing() {
        let empty: [char; 0] = [];
        assert_eq!(distance(&empty, &empty, 5), Distance { value: 0.0, vacuous: true });
        assert_eq!(distance(&['a'], &['b'], 0), Distance { value: 0.0, vacuous: true });
    }

    fn by_sets(before: &[u8], after: &[u8], k: usize) -> f64 {
        let depth = k.min(before.len().max(after.len()));
        let sum = |f: &dyn Fn(usize) -> f64| {
            (1..=depth).map(|j| PERSISTENCE.powi(j as i32 - 1) * f(j)).sum::<f64>()
        };
        let set =
            |list: &[u8], j: usize| list.iter().take(j).copied().collect::<std::collections::BTreeSet<u8>>();
        let shared = |j: usize| set(before, j).intersection(&set(after, j)).count() as f64 / j as f64;
        if depth == 0 { 0.0 } else { 1.0 - sum(&shared) / sum(&|_| 1.0) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// CAL-13: symmetric over 10,000 pairs, between 0 and 1, and what the formula says, also of lists that repeat
        /// themselves.
        #[test]
        fn distance_is_symmetric(
            before in prop::collection::vec(0_u8..12, 0..7), after in prop::collection::vec(0_u8..12, 0..7), k in 0..7_usize,
        ) {
            let there = distance(&before, &after, k);
            prop_assert_eq!(there, distance(&after, &before, k));
            prop_assert!((0.0..=1.0).contains(&there.value));
            prop_assert!((there.value - by_sets(&before, &after, k)).abs() < 1e-9);
        }
    }
}
