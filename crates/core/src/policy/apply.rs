//! What a composition does to one item: keeps it back, or changes its texts, in the order of SHARE-17.

use super::anonymise::anonymise;
use super::compose::Composed;
use super::limit::shorten;
use super::model::first_sentence;
use super::names::Names;
use super::paraphrase::paraphrase;
use super::pseudonymise::pseudonymise;
use crate::canonical::{hex, sha256};
use crate::gate::KEY_CHARS_MAX;
use crate::item::{Content, Triple, words};
use crate::provenance::Evidence;
use crate::seal::Secret;
use serde_json::Value;

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
    pub labels: &'a [String],
}

impl<'a> From<&'a Content> for Subject<'a> {
    fn from(content: &'a Content) -> Self {
        Self { key: content.key.as_deref(), text: &content.text, kind: &content.kind, labels: &content.tags }
    }
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
        self.changed(text, ground, self.chain.paraphrase)
    }

    /// A text as a model may be shown it: what comes before a paraphrase has been done to it (SHARE-17, SHARE-18).
    #[must_use]
    pub fn for_model(&self, text: &str, ground: &Ground<'_>) -> String {
        self.changed(text, ground, false)
    }

    fn changed(&self, text: &str, ground: &Ground<'_>, is_paraphrased: bool) -> String {
        let (chain, stand_ins) = (&self.chain, self.chain.redact.stand_ins());
        let redacted = chain.redact.redact(text);
        let mut changed = redacted.clone();
        if chain.anonymise {
            changed = anonymise(&changed, ground.names, &stand_ins);
        }
        if chain.pseudonymise {
            changed = pseudonymise(&changed, ground.names, &stand_ins, ground.key);
        }
        if is_paraphrased {
            changed = paraphrase(&changed, ground.names, &stand_ins, self.kept());
        }
        if changed == redacted { changed } else { chain.redact.redact(&changed) }
    }

    /// Everything that a content says, as it may be shown. Its kind, and the names of its fields, stay.
    #[must_use]
    pub fn content(&self, content: &Content, ground: &Ground<'_>) -> Content {
        if self.is_verbatim() {
            return content.clone();
        }
        let text = |text: &String| self.transform(text, ground);
        let found = || if self.chain.extract { first_sentence(&content.text) } else { None };
        let key = match &content.key {
            Some(key) => Some(text(key)),
            None => found().map(|key| text(&key)).filter(|key| !key.is_empty()),
        };
        Content {
            kind: content.kind.clone(),
            key: key.map(|key| shorten(&key, KEY_CHARS_MAX as u64).to_owned()),
            text: text(&content.text),
            triple: content.triple.as_ref().map(|triple| Triple {
                subject: text(&triple.subject),
                predicate: text(&triple.predicate),
                object: text(&triple.object),
            }),
            fields: content
                .fields
                .iter()
                .map(|(name, one)| (name.clone(), self.value(one, ground)))
                .collect(),
            tags: content.tags.iter().map(text).collect(),
            secrecy: content.secrecy.clone(),
        }
    }

    /// What a statement rests on, as it may be shown.
    #[must_use]
    pub fn evidence(&self, evidence: &Evidence, ground: &Ground<'_>) -> Evidence {
        if self.is_verbatim() {
            return evidence.clone();
        }
        let excerpt = evidence.excerpt.as_ref().map(|excerpt| self.transform(excerpt, ground));
        let excerpt_hash = match &excerpt {
            Some(excerpt) if evidence.excerpt_hash.is_some() => Some(hex(&sha256(excerpt.as_bytes()))),
            _ => evidence.excerpt_hash.clone(),
        };
        let source_uri = self.transform(&evidence.source_uri, ground);
        Evidence { excerpt, excerpt_hash, source_uri, ..evidence.clone() }
    }

    fn value(&self, value: &Value, ground: &Ground<'_>) -> Value {
        match value {
            Value::String(text) => Value::String(self.transform(text, ground)),
            Value::Array(values) => values.iter().map(|one| self.value(one, ground)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, one)| (name.clone(), self.value(one, ground))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}
