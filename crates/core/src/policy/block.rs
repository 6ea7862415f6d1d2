//! The step `block`: what bears a label, is of a kind or matches an expression is not shown at all.

use super::apply::Subject;
use super::pattern::Pattern;
use crate::item::label_of;
use std::collections::BTreeSet;

/// What is kept back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Whatever bears one of these labels.
    pub labels: BTreeSet<String>,
    /// Whatever is of one of these kinds.
    pub kinds: BTreeSet<String>,
    /// Whatever one of these matches.
    pub patterns: BTreeSet<Pattern>,
}

impl Block {
    /// Whether it keeps this back.
    #[must_use]
    pub fn denies(&self, subject: &Subject<'_>) -> bool {
        self.kinds.contains(subject.kind)
            || subject.labels.iter().any(|tag| self.bears(tag))
            || self.patterns.iter().any(|pattern| subject.texts().any(|text| pattern.is_in(text)))
    }

    /// Whether a tag is one of the labels, as it stands or as `label:` says (SHARE-31).
    fn bears(&self, tag: &str) -> bool {
        self.labels.contains(tag) || label_of(tag).is_some_and(|label| self.labels.contains(label))
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.labels.extend(other.labels.iter().cloned());
        self.kinds.extend(other.kinds.iter().cloned());
        self.patterns.extend(other.patterns.iter().cloned());
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        other.labels.is_subset(&self.labels)
            && other.kinds.is_subset(&self.kinds)
            && other.patterns.is_subset(&self.patterns)
    }
}
