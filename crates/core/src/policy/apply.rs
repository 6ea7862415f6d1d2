//! What a composition does to one item: keeps it back, or changes its texts, in the order of SHARE-17.

use super::anonymise::anonymise;
use super::compose::Composed;
use super::names::Names;
use super::paraphrase::paraphrase;
use super::pseudonymise::pseudonymise;
use crate::item::words;
use crate::seal::Secret;

/// What is judged and changed.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its key, if it has one.
    pub key: Option<&'a str>,
    /// What it says.
    pub text: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its labels.
    pub labels: &'a [&'a str],
}

/// What the steps need to know beside the text.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Names of the directory and of the contributors.
    pub names: &'a [&'a Names],
    /// The tenant's key for pseudonyms, used for nothing else.
    pub key: &'a Secret,
}

words! {
    /// The step that keeps something back.
    Denied {
        /// By label, kind or expression.
        0 Block = "block",
        /// By words.
        1 Keyword = "keyword",
    }
}

impl<'a> Subject<'a> {
    /// Its texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.key.into_iter().chain([self.text])
    }
}

impl Composed {
    /// The step that keeps this back, if any does.
    #[must_use]
    pub fn denies(&self, subject: &Subject<'_>) -> Option<Denied> {
        if self.chain.block.denies(subject) {
            return Some(Denied::Block);
        }
        self.chain.keyword.denies(subject).then_some(Denied::Keyword)
    }

    /// A text as it may be shown: redacted, then without names, then without what is said of people.
    ///
    /// What the later steps put together is looked at once more, so that nothing which is to be redacted comes out.
    #[must_use]
    pub fn transform(&self, text: &str, ground: &Ground<'_>) -> String {
        let (chain, stand_ins) = (&self.chain, self.chain.redact.stand_ins());
        let redacted = chain.redact.redact(text);
        let mut changed = redacted.clone();
        if chain.anonymise {
            changed = anonymise(&changed, ground.names, &stand_ins);
        }
        if chain.pseudonymise {
            changed = pseudonymise(&changed, ground.names, &stand_ins, ground.key);
        }
        if chain.paraphrase {
            changed = paraphrase(&changed, ground.names, &stand_ins, self.kept());
        }
        if changed == redacted { changed } else { chain.redact.redact(&changed) }
    }
}
