//! What steps put in place of what they take out, and where it stands in a text.
//!
//! Only the exact words count: brackets around anything else protect nothing.

use super::detect::Class;
use super::words::is_unspaced;
use std::collections::BTreeSet;
use std::ops::Range;

const OPEN: &str = "[REDACTED:";
const CLOSE: &str = "]";
/// The longest class name.
pub(super) const CLASS_BYTES_MAX: usize = 32;

/// What names become when nobody is to be told apart.
pub(super) const ANYBODY: &str = "a user";
/// What a pseudonym begins with.
pub(super) const PERSON: &str = "Person-";
/// Base32 digits of a pseudonym.
pub(super) const PERSON_DIGITS: usize = 6;

/// The stand-ins of a chain of steps: built-in classes, and the classes of its own patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandIns {
    custom: BTreeSet<String>,
}

impl StandIns {
    /// Also these classes.
    #[must_use]
    pub fn with<S: Into<String>>(classes: impl IntoIterator<Item = S>) -> Self {
        Self { custom: classes.into_iter().map(Into::into).collect() }
    }

    /// The stand-in of a class.
    pub(super) fn token(class: &str) -> String {
        format!("{OPEN}{class}{CLOSE}")
    }

    /// Where redactions stand, in order.
    pub(super) fn tokens(&self, text: &str) -> Vec<Range<usize>> {
        text.match_indices(OPEN).filter_map(|(start, _)| self.token_at(text, start)).collect()
    }

    fn token_at(&self, text: &str, start: usize) -> Option<Range<usize>> {
        let rest = text.get(start + OPEN.len()..)?;
        let length = rest.bytes().take(CLASS_BYTES_MAX + 1).position(|byte| byte == b']')?;
        let class = rest.get(..length)?;
        let known = Class::from_word(class).is_some() || self.custom.contains(class);
        known.then(|| start..start + OPEN.len() + length + CLOSE.len())
    }

    /// Where anything that stands for a name or a redaction stands, in order.
    pub(super) fn all(&self, text: &str) -> Vec<Range<usize>> {
        let anybody = text
            .match_indices(ANYBODY)
            .map(|(start, found)| start..start + found.len())
            .filter(|range| stands_alone(text, range));
        let mut places = self.tokens(text);
        places.extend(anybody);
        places.extend(pseudonyms(text));
        places.sort_by_key(|place| place.start);
        places
    }
}

/// Where pseudonyms stand, in order.
pub(super) fn pseudonyms(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(PERSON).filter_map(|(start, _)| {
        let range = start..start + PERSON.len() + PERSON_DIGITS;
        let digits = text.get(start + PERSON.len()..range.end)?;
        let valid = digits.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
        (valid && stands_alone(text, &range)).then_some(range)
    })
}

/// Whether no letter or digit touches it.
pub(super) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|left| left.chars().next_back());
    let after = text.get(range.end..).and_then(|right| right.chars().next());
    !before.is_some_and(joins) && !after.is_some_and(joins)
}

/// Whether a character makes one word with a letter beside it.
pub(super) fn joins(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-17: a redaction is recognised by its exact words, so that nothing hides in brackets.
    #[test]
    fn only_known_classes_are_stand_ins() {
        let stand_ins = StandIns::with(["ticket"]);
        let count = |text: &str| stand_ins.tokens(text).len();
        assert_eq!(count("[REDACTED:email] and [REDACTED:ticket]"), 2);
        for text in
            ["[REDACTED:4111111111111111]", "[REDACTED:", "[REDACTED:]", "[redacted:email]", "[REDACTED:é]"]
        {
            assert_eq!(count(text), 0, "{text}");
        }
        assert_eq!(StandIns::default().tokens("[REDACTED:ticket]").len(), 0);
    }

    #[test]
    fn pseudonyms_and_anybody_stand_alone() {
        let places = |text: &str| StandIns::default().all(text).len();
        assert_eq!(places("Person-ABC234 met a user."), 2);
        assert_eq!(places("Person-ABC2345, Person-ABC189, area users, a users"), 0);
    }
}
