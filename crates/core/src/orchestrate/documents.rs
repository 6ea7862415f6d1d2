//! Documents that can be searched, as a resource: what is in them, and which are about a question (SHARE-26, `kb_search`).
//!
//! Knows nothing of files; whoever reads one hands in its bytes.

use super::route::telling;
use crate::error::{Code, Fault};
use crate::text::words;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

/// Documents of one resource.
const DOCUMENTS_MAX: usize = 50_000;
/// The characters of one.
const TEXT_CHARS_MAX: usize = 16_384;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// What it is called; its place in the file unless given.
    #[serde(default)]
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub title: Option<String>,
    /// What it says.
    pub text: String,
}

/// Why bytes hold no documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("document {place}: {why}")]
pub struct NotDocuments {
    /// Which, from one on.
    pub place: usize,
    /// What is wrong with it.
    pub why: String,
}

/// A document that was found, and how much of the question it holds, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage<'a> {
    /// The document.
    pub document: &'a Document,
    /// The share of the question's words in it, rare ones counting more.
    pub share: f64,
}

/// Documents by their words.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    documents: Vec<Document>,
    holding: HashMap<String, Vec<u32>>,
}

impl Documents {
    /// Reads a JSON array of documents, or one a line; blank lines are skipped.
    ///
    /// # Errors
    /// When something else is there, or too much.
    pub fn read(bytes: &[u8]) -> Result<Self, NotDocuments> {
        let mut all = Self::default();
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            let read: Vec<Document> =
                serde_json::from_slice(bytes).map_err(|error| not(1, misfit(&error)))?;
            for (place, document) in read.into_iter().enumerate() {
                all.take(place, document)?;
            }
            return Ok(all);
        }
        for (place, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if !line.iter().all(u8::is_ascii_whitespace) {
                let document =
                    serde_json::from_slice(line).map_err(|error| not(place + 1, misfit(&error)))?;
                all.take(place, document)?;
            }
        }
        Ok(all)
    }

    fn take(&mut self, place: usize, mut document: Document) -> Result<(), NotDocuments> {
        let row = self.documents.len();
        if row >= DOCUMENTS_MAX {
            return Err(not(place + 1, format!("more than {DOCUMENTS_MAX} documents")));
        }
        if document.text.trim().is_empty() || document.text.chars().count() > TEXT_CHARS_MAX {
            return Err(not(place + 1, format!("`text` must have 1 to {TEXT_CHARS_MAX} characters")));
        }
        if document.id.is_empty() {
            document.id = (place + 1).to_string();
        }
        let said = format!("{} {}", document.title.as_deref().unwrap_or_default(), document.text);
        let row_number = u32::try_from(row).unwrap_or(u32::MAX);
        for word in words(&said).into_iter().collect::<BTreeSet<_>>() {
            self.holding.entry(word).or_default().push(row_number);
        }
        self.documents.push(document);
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The documents that hold most of a question's words, rare ones counting more; equal ones in the order of the file.
    #[must_use]
    pub fn about(&self, question: &str, count: usize) -> Vec<Passage<'_>> {
        let mut weights: HashMap<u32, f64> = HashMap::new();
        let mut whole = 0.0;
        for word in telling(question) {
            let holding = self.holding.get(&word).map_or(&[] as &[u32], Vec::as_slice);
            let weight = (1.0 + self.len() as f64 / (1.0 + holding.len() as f64)).ln();
            whole += weight;
            for row in holding {
                *weights.entry(*row).or_default() += weight;
            }
        }
        let mut found: Vec<(u32, f64)> = weights.into_iter().collect();
        found.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
        found.truncate(count);
        let passage = |(row, weight): (u32, f64)| {
            Some(Passage { document: self.documents.get(row as usize)?, share: (weight / whole).min(1.0) })
        };
        found.into_iter().filter_map(passage).collect()
    }
}

/// Says what stands where a document should, without the types of the reader.
fn misfit(error: &serde_json::Error) -> String {
    let fault = Fault::of_misfit("", &error.to_string());
    let found = fault.actual.map(|found| format!(", got {found}")).unwrap_or_default();
    let place = fault.path.strip_prefix('/').map(|name| format!("`{name}`: ")).unwrap_or_default();
    if fault.code == Code::UnknownField {
        format!("{place}no such field; a document has id, title and text")
    } else if error.is_data() {
        format!("{place}expected {}{found}", fault.expected.unwrap_or_default())
    } else {
        error.to_string()
    }
}

const fn not(place: usize, why: String) -> NotDocuments {
    NotDocuments { place, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: &str = r#"{"id":"a","title":"Steel","text":"Steel costs 5 EUR"}

{"text":"Copper costs 9 EUR"}"#;

    fn ids(documents: &Documents, question: &str) -> Vec<String> {
        documents.about(question, 5).into_iter().map(|passage| passage.document.id.clone()).collect()
    }

    /// SHARE-26: an array and lines say the same; the document with most of the words comes first.
    #[test]
    fn documents_are_found_by_their_words() {
        let lines = Documents::read(LINES.as_bytes()).unwrap();
        assert_eq!(ids(&lines, "What does copper cost?"), ["3", "a"]);
        let best = lines.about("cost of steel", 1);
        assert_eq!((best[0].document.id.as_str(), best[0].share), ("a", 1.0));
        assert!(ids(&lines, "what is the weather").is_empty() && ids(&lines, "the").is_empty());
        let array = Documents::read(br#" [{"text":"Steel costs 5 EUR"}]"#).unwrap();
        assert_eq!((array.len(), ids(&array, "steel")), (1, vec!["1".to_owned()]));
        assert!(Documents::read(b"").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_document_is_named_by_its_place() {
        for (bytes, place) in [
            ("{}", 1),
            ("{\"text\":\"a\"}\nx", 2),
            ("[{\"text\":\" \"}]", 1),
            ("{\"text\":\"a\",\"x\":1}", 1),
        ] {
            assert_eq!(Documents::read(bytes.as_bytes()).unwrap_err().place, place, "{bytes}");
        }
    }

    proptest! {
        /// A share is one, and no more are given than are asked for.
        #[test]
        fn any_question_is_answered_within_bounds(question in ".{0,60}", count in 0..4usize) {
            let documents = Documents::read(LINES.as_bytes()).unwrap();
            let found = documents.about(&question, count);
            prop_assert!(found.len() <= count && found.iter().all(|one| (0.0..=1.0).contains(&one.share)));
        }
    }
}
