//! Expressions that people write into policies: matched in time linear in the text, compiled within a size.

use regex::{Regex, RegexBuilder};
use std::cmp::Ordering;
use std::ops::Range;

/// The longest expression, in characters.
pub const PATTERN_CHARS_MAX: usize = 256;
/// The largest compiled form, in bytes.
const COMPILED_BYTES_MAX: usize = 131_072;
/// The matcher's own memory while it runs, in bytes.
const MATCHER_BYTES_MAX: usize = 262_144;
/// How far past the end of the shortest match a longer one is looked for, in bytes.
const SLACK_BYTES: usize = 256;
/// Bytes looked at for each byte of the text, before the rest of it counts as one match.
const STEPS_PER_BYTE: usize = 1_024;

/// A compiled expression; equal to and ordered as its source.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAPattern {
    /// Longer than the limit.
    #[error("a regular expression of at most {PATTERN_CHARS_MAX} characters")]
    TooLong,
    /// Not an expression, or one that needs more than linear time or more memory than the limit.
    #[error("a regular expression without look-around and references back, and smaller when compiled")]
    NotLinear,
    /// Matches nothing at all, and so everywhere.
    #[error("a regular expression that does not match the empty text")]
    MatchesNothing,
}

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// When it is too long, not linear, too large when compiled, or matches the empty text.
    pub fn compile(source: &str) -> Result<Self, NotAPattern> {
        if source.chars().nth(PATTERN_CHARS_MAX).is_some() {
            return Err(NotAPattern::TooLong);
        }
        let regex = RegexBuilder::new(source)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(MATCHER_BYTES_MAX)
            .build()
            .map_err(|_| NotAPattern::NotLinear)?;
        if regex.is_match("") {
            return Err(NotAPattern::MatchesNothing);
        }
        Ok(Self { source: source.to_owned(), regex })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it stands anywhere in the text.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Every match that is not empty, in order.
    ///
    /// Looking for the longest match from every start can take quadratic time. Here the end of the shortest match is
    /// found first and only so much text after it is looked at. Where even that takes too many steps, the rest of the
    /// text is one match: nothing is shown that was not looked at.
    pub(super) fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut steps = STEPS_PER_BYTE.saturating_mul(text.len().saturating_add(SLACK_BYTES));
        let mut start = 0;
        while let Some(shortest) = self.shortest_end(text, start) {
            let Some(range) = self.longest(text, start, shortest, &mut steps) else {
                found.push(start..text.len());
                return found;
            };
            start = if range.is_empty() { next_boundary(text, range.end + 1) } else { range.end };
            if !range.is_empty() {
                found.push(range);
            }
            if start >= text.len() {
                break;
            }
        }
        found
    }

    fn shortest_end(&self, text: &str, start: usize) -> Option<usize> {
        (start <= text.len()).then(|| self.regex.shortest_match_at(text, start)).flatten()
    }

    /// The match from `start` on, or nothing when there are no steps left.
    fn longest(&self, text: &str, start: usize, shortest: usize, steps: &mut usize) -> Option<Range<usize>> {
        let mut slack = SLACK_BYTES;
        loop {
            let end = next_boundary(text, shortest.saturating_add(slack));
            *steps = steps.checked_sub(end - start)?;
            let found = text.get(..end).and_then(|seen| self.regex.find_at(seen, start));
            match found {
                Some(found) if end == text.len() || found.end() < end => return Some(found.range()),
                None if end == text.len() => return Some(shortest..shortest),
                _ => slack = slack.saturating_mul(4),
            }
        }
    }
}

/// The first character boundary at or after `index`, at most the end.
fn next_boundary(text: &str, index: usize) -> usize {
    (index.min(text.len())..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.source.cmp(&other.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, text: &str, expected: &[&str]) {
        let found = Pattern::compile(source).unwrap().matches(text);
        let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{source} in {text}");
    }

    /// SHARE-17: custom expressions find what the expression means.
    #[test]
    fn matches_are_the_leftmost_and_longest_preferred() {
        check(r"\d+", "a 12 b 345", &["12", "345"]);
        check(r"foo.*", "foo bar\nfoo", &["foo bar", "foo"]);
        check(r"T-\d{3}", "T-123 T-12 T-1234", &["T-123", "T-123"]);
        check(r"\bé\b", "é né", &["é"]);
        check(r"(?s)BEGIN.*?END", "x BEGIN a\nb END BEGIN", &["BEGIN a\nb END"]);
        check(r"\b", "a b", &[]);
        let long = format!("BEGIN{}END", "é".repeat(20_000));
        check(r"BEGIN.*END", &long, &[&long]);
        check(r"BEGIN.*?END", &long, &[&long]);
    }

    /// SHARE-14: an expression is bounded in length, in size and in time.
    #[test]
    fn what_is_not_linear_or_too_large_is_refused() {
        let refused = |source: &str| Pattern::compile(source).unwrap_err();
        assert_eq!(refused(&"a".repeat(257)), NotAPattern::TooLong);
        for source in ["(?=a)", r"(a)\1", "(", r"\p{L}{4000}", "a{1000}{1000}"] {
            assert_eq!(refused(source), NotAPattern::NotLinear, "{source}");
        }
        for source in ["", "a*", "(b|)", "^"] {
            assert_eq!(refused(source), NotAPattern::MatchesNothing, "{source}");
        }
        assert!(Pattern::compile(&"é".repeat(256)).is_ok());
        assert!(Pattern::compile(r"\w+\s\w+").is_ok());
    }

    /// SHARE-17: an expression made to be slow costs text, not time.
    #[test]
    fn hostile_expressions_take_linear_time() {
        let text = format!("{}a", "Z".repeat(65_535));
        for source in [r"(?s).*Z$|.", r".*[^A-Z]|[A-Z]", "Z", r"Z.*b|Z", r"[A-Z]+$|Z"] {
            let found = Pattern::compile(source).unwrap().matches(&text);
            assert!(!found.is_empty(), "{source}");
        }
    }
}
