//! The step `keyword`: what has a denied word, or none of the allowed ones, is not shown at all.

use super::apply::Subject;
use super::words::{Phrases, Word, phrase, words};
use std::collections::BTreeSet;

/// Words that decide; each policy's list of allowed words is a condition of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyword {
    deny: BTreeSet<String>,
    allow: BTreeSet<BTreeSet<String>>,
}

impl Keyword {
    /// Denied and allowed words, or phrases. An empty list of allowed words allows all.
    #[must_use]
    pub fn of<S: AsRef<str>>(deny: &[S], allow: &[S]) -> Self {
        let folded = |list: &[S]| list.iter().filter_map(|one| phrase(one.as_ref())).collect::<BTreeSet<_>>();
        let allow = (!allow.is_empty()).then(|| folded(allow));
        Self { deny: folded(deny), allow: allow.into_iter().collect() }
    }

    /// Whether it keeps this back.
    #[must_use]
    pub fn denies(&self, subject: &Subject<'_>) -> bool {
        if self.deny.is_empty() && self.allow.is_empty() {
            return false;
        }
        let texts: Vec<Vec<Word>> = subject.texts().map(words).collect();
        stands_in(&self.deny, &texts) || self.allow.iter().any(|list| !stands_in(list, &texts))
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.deny.extend(other.deny.iter().cloned());
        self.allow.extend(other.allow.iter().cloned());
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        other.deny.is_subset(&self.deny) && other.allow.is_subset(&self.allow)
    }
}

fn stands_in(list: &BTreeSet<String>, texts: &[Vec<Word>]) -> bool {
    let mut phrases = Phrases::default();
    for one in list {
        phrases.insert(one.clone(), ());
    }
    texts.iter().any(|words| phrases.stand_in(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-17: denied words keep back, allowed words are needed, both as whole words in any case.
    #[test]
    fn denied_words_keep_back_and_allowed_ones_are_needed() {
        let check = |deny: &[&str], allow: &[&str], text: &str, expected: bool| {
            let subject = Subject { key: None, text, kind: "note", labels: &[] };
            assert_eq!(Keyword::of(deny, allow).denies(&subject), expected, "{deny:?} {allow:?} {text}");
        };
        check(&["salary"], &[], "The SALARY is secret", true);
        check(&["salary"], &[], "salaryman", false);
        check(&["project x"], &[], "about Project-X", true);
        check(&[], &["rust", "go"], "Go is fine", false);
        check(&[], &["rust", "go"], "Python is fine", true);
        check(&["fine"], &["rust"], "rust is fine", true);
        check(&[], &[], "", false);
    }

    /// SHARE-15: two lists of allowed words are two conditions.
    #[test]
    fn lists_of_allowed_words_both_count() {
        let mut both = Keyword::of(&[], &["rust"]);
        both.join(&Keyword::of(&[], &["memory"]));
        let denies = |text| both.denies(&Subject { key: Some("topic"), text, kind: "note", labels: &[] });
        assert!(denies("rust") && denies("memory") && !denies("rust and memory"));
    }
}
