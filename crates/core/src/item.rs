//! What is remembered: items, their content, and the words that class them.
//!
//! An item keeps its id for life; what it says is in its versions. This module knows nothing of who may see it.

#[macro_use]
mod layer;
mod relation;
mod secrecy;
mod tier;
mod version;

pub use layer::Layer;
pub(crate) use layer::words;
pub use relation::{NODE_CHARS_MAX, RELATION, TYPE_CHARS_MAX, node_item, node_key, tidy_name, type_key};
pub use secrecy::{Classification, Secrecy};
pub use tier::{Tier, TierWish};
pub use version::{Operation, Status};

use crate::policy::Classes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a version says: the part that is hashed, compared and indexed.
///
/// Kept forever, as canonical JSON; a field may be added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// A word for what sort of thing this is.
    pub kind: String,
    /// The topic or question that it answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The statement itself, complete on its own.
    pub text: String,
    /// The same statement as subject, predicate, object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub triple: Option<Triple>,
    /// Named values.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub fields: Map<String, Value>,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tags: Vec<String>,
    /// How secret it is, and its domains.
    #[serde(skip_serializing_if = "Secrecy::is_plain", default)]
    pub secrecy: Secrecy,
}

/// A statement in three parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triple {
    /// What it is about.
    pub subject: String,
    /// Which property.
    pub predicate: String,
    /// Its value.
    pub object: String,
}

impl Content {
    /// A statement of a kind, and nothing more.
    #[must_use]
    pub fn plain(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            key: None,
            text: text.into(),
            triple: None,
            fields: Map::new(),
            tags: Vec::new(),
            secrecy: Secrecy::default(),
        }
    }

    /// The canonical bytes of this content.
    ///
    /// # Errors
    /// When a number in `fields` cannot be written as JSON.
    pub fn canonical(&self) -> Result<Vec<u8>, crate::canonical::NotCanonical> {
        crate::canonical::canonical(self)
    }

    /// What is turned into a vector: key and text together, after who said it, without what any detector finds. A vector is
    /// one for all who see the text, so it is made of what each of them may see (SHARE-21).
    #[must_use]
    pub fn embedded_text(&self) -> String {
        let masked = |text: &str| Classes::all().redact(text);
        let said = match &self.key {
            Some(key) => format!("{}\n{}", masked(key), masked(&self.text)),
            None => masked(&self.text),
        };
        match self.fields.get("speaker") {
            Some(Value::String(speaker)) => format!("{}: {said}", masked(speaker)),
            _ => said,
        }
    }

    /// What search indexes: key and text together.
    #[must_use]
    pub fn indexed_text(&self) -> String {
        match &self.key {
            Some(key) => format!("{key}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// What a tag begins with that labels a version for policies.
const LABEL: &str = "label:";

/// The label that a tag is, if it is one: `label:restricted` is the label `restricted`.
#[must_use]
pub fn label_of(tag: &str) -> Option<&str> {
    tag.strip_prefix(LABEL)
}
