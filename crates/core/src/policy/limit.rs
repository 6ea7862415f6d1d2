//! The step `limit`: how many, how long, how near and how old.
//!
//! Which ones are shown is decided before the transformations. Texts are shortened after them: half a number would be
//! found by no detector.

use crate::time::{Period, Timestamp};

/// The limits that hold, each one only where a policy sets it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Most results.
    pub count: Option<u64>,
    /// Most characters of one text.
    pub chars: Option<u64>,
    /// Most characters of all texts together.
    pub total_chars: Option<u64>,
    /// Least similarity to the question.
    pub min_similarity: Option<f64>,
    /// Greatest age.
    pub max_age: Option<Period>,
}

/// What the limits look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Similarity to the question, where there is one.
    pub similarity: Option<f64>,
    /// When it was written.
    pub created_at: Timestamp,
    /// Its characters.
    pub chars: u64,
}

/// A candidate that is shown, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Its place among the candidates.
    pub index: usize,
    /// Characters of it that are shown; nothing for all.
    pub chars: Option<u64>,
}

impl Limits {
    /// Whether a candidate is near and new enough, whatever the others are.
    #[must_use]
    pub fn admits(&self, candidate: &Candidate, now: Timestamp) -> bool {
        let near = match (self.min_similarity, candidate.similarity) {
            (Some(least), Some(similarity)) => similarity >= least,
            _ => true,
        };
        near && self.max_age.is_none_or(|most| now.since(candidate.created_at) <= most)
    }

    /// Which of the candidates are shown, in their order, and how much of each.
    #[must_use]
    pub fn choose(&self, candidates: &[Candidate], now: Timestamp) -> Vec<Allowance> {
        let most = self.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
        let mut left = self.total_chars;
        let mut shown = Vec::new();
        let admitted = candidates.iter().enumerate().filter(|(_, candidate)| self.admits(candidate, now));
        for (index, candidate) in admitted.take(most) {
            if left == Some(0) {
                break;
            }
            let chars = [self.chars, left].into_iter().flatten().min();
            let taken = chars.map_or(candidate.chars, |most| most.min(candidate.chars));
            left = left.map(|left| left.saturating_sub(taken));
            shown.push(Allowance { index, chars });
        }
        shown
    }
}

/// The first characters of a text; a redaction is never cut in two.
#[must_use]
pub fn shorten(text: &str, chars: u64) -> &str {
    let most = usize::try_from(chars).unwrap_or(usize::MAX);
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let kept = text.get(..end).unwrap_or_default();
    let open = kept.rfind('[').filter(|open| !kept.get(*open..).is_some_and(|tail| tail.contains(']')));
    let in_two = open.filter(|open| text.get(*open..).is_some_and(|tail| tail.starts_with("[REDACTED:")));
    in_two.and_then(|open| kept.get(..open)).unwrap_or(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(similarity: f64, day: u64, chars: u64) -> Candidate {
        Candidate {
            similarity: Some(similarity),
            created_at: Timestamp::default().plus(Period::from_days(day)),
            chars,
        }
    }

    /// SHARE-17: count, characters, characters in all, similarity and age all bound what is shown.
    #[test]
    fn every_limit_bounds() {
        let now = Timestamp::default().plus(Period::from_days(10));
        let all =
            [candidate(0.9, 9, 100), candidate(0.2, 9, 50), candidate(0.8, 1, 80), candidate(0.7, 10, 30)];
        let check = |limits: Limits, expected: &[(usize, Option<u64>)]| {
            let chosen: Vec<_> = limits.choose(&all, now).iter().map(|one| (one.index, one.chars)).collect();
            assert_eq!(chosen, expected, "{limits:?}");
        };
        let none = Limits::default();
        check(none, &[(0, None), (1, None), (2, None), (3, None)]);
        check(Limits { count: Some(2), ..none }, &[(0, None), (1, None)]);
        check(Limits { count: Some(0), ..none }, &[]);
        check(Limits { min_similarity: Some(0.5), count: Some(2), ..none }, &[(0, None), (2, None)]);
        check(Limits { max_age: Some(Period::from_days(1)), ..none }, &[(0, None), (1, None), (3, None)]);
        check(Limits { chars: Some(60), total_chars: Some(110), ..none }, &[(0, Some(60)), (1, Some(50))]);
        check(Limits { total_chars: Some(120), ..none }, &[(0, Some(120)), (1, Some(20))]);
    }

    #[test]
    fn texts_are_cut_between_characters_and_redactions() {
        assert_eq!(shorten("héllo", 2), "hé");
        assert_eq!(shorten("hé", 5), "hé");
        assert_eq!(shorten("to [REDACTED:email] now", 10), "to ");
        assert_eq!(shorten("to [REDACTED:email] now", 20), "to [REDACTED:email] ");
        assert_eq!(shorten("a [b c", 4), "a [b");
        assert_eq!(shorten("abc", 0), "");
    }
}
