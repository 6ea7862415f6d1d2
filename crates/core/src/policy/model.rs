//! What a policy asks of a model (SHARE-18), and what of its answer counts.
//!
//! Invariant (an answer is a text): what a model says takes the place of a key and a text and of nothing else, and every step
//! of the policy is done to it as if it had been written so. A policy that asks a model is therefore never laxer than the
//! same policy that asks none.

use super::limit::shorten;
use crate::gate::{KEY_CHARS_MAX, TEXT_BYTES_MAX};
use crate::item::Content;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Memories that one write can be taken apart into.
const NOTES_MAX: usize = 8;

/// What the steps of a policy leave to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Model {
    paraphrase: bool,
    extract: bool,
    required: bool,
}

/// What a model is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Say it anew.
    Paraphrase,
    /// Say what of it is worth remembering.
    Extract,
}

/// What a model is asked, and whether it must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// What it is to do.
    pub task: Task,
    /// Whether nothing is shared that it did not write.
    pub required: bool,
}

impl Model {
    pub(super) const fn paraphrasing(asks: bool, required: bool) -> Self {
        Self { paraphrase: asks || required, extract: false, required }
    }

    pub(super) const fn extracting(asks: bool, required: bool) -> Self {
        Self { paraphrase: false, extract: asks || required, required }
    }

    pub(super) const fn join(&mut self, other: Self) {
        self.paraphrase |= other.paraphrase;
        self.extract |= other.extract;
        self.required |= other.required;
    }

    pub(super) const fn covers(self, other: Self) -> bool {
        self.paraphrase as u8 >= other.paraphrase as u8
            && self.extract as u8 >= other.extract as u8
            && self.required as u8 >= other.required as u8
    }

    /// Extracting says everything anew, so that it stands for a paraphrase as well.
    pub(super) const fn asks(self) -> Option<Asks> {
        match (self.extract, self.paraphrase) {
            (true, _) => Some(Asks { task: Task::Extract, required: self.required }),
            (false, true) => Some(Asks { task: Task::Paraphrase, required: self.required }),
            (false, false) => None,
        }
    }
}

/// One memory in a model's words; made by `Note::of` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    key: Option<String>,
    text: String,
}

impl Note {
    /// A memory that could have been written so; nothing if one could not.
    #[must_use]
    pub fn of(key: Option<&str>, text: &str) -> Option<Self> {
        let plain = |text: &str| text.trim().nfc().collect::<String>();
        let (key, text) = (key.map(plain), plain(text));
        let is_key = |key: &String| {
            (1..=KEY_CHARS_MAX).contains(&key.chars().count()) && !key.chars().any(char::is_control)
        };
        let fits = key.as_ref().is_none_or(is_key) && (1..=TEXT_BYTES_MAX).contains(&text.len());
        fits.then_some(Self { key, text })
    }

    /// What it is about, if it says so.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// What it says.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What a model made of one write; made by `Notes::of` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// So many memories, none or up to eight; nothing if they are more, or together longer than a text may be.
    #[must_use]
    pub fn of(notes: Vec<Note>) -> Option<Self> {
        let notes = Self(notes);
        let fits = notes.0.len() <= NOTES_MAX && notes.text().len() <= TEXT_BYTES_MAX;
        fits.then_some(notes)
    }

    /// Each of them.
    #[must_use]
    pub fn all(&self) -> &[Note] {
        &self.0
    }

    /// Whether the model found nothing worth remembering.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A content that says this in place of what it said; its kind, fields, triple and tags stay.
    #[must_use]
    pub fn content(&self, content: &Content) -> Content {
        let key = self.0.iter().find_map(|note| note.key.clone());
        Content { key: key.or_else(|| content.key.clone()), text: self.text(), ..content.clone() }
    }

    /// One memory as it is; of several, each behind what it is about.
    fn text(&self) -> String {
        let paragraph = |note: &Note| match &note.key {
            Some(key) if self.0.len() > 1 => format!("{key}: {}", note.text),
            _ => note.text.clone(),
        };
        self.0.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
    }
}

/// The first sentence of a text, no longer than a key.
pub(super) fn first_sentence(text: &str) -> Option<String> {
    let first = text.split_sentence_bounds().map(str::trim).find(|sentence| !sentence.is_empty())?;
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(shorten(&line, KEY_CHARS_MAX as u64).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-18: what could not have been written is no answer.
    #[test]
    fn an_answer_is_bounded() {
        let check = |key: Option<&str>, text: &str, expected: bool| {
            assert_eq!(Note::of(key, text).is_some(), expected, "{key:?} {text:.20}");
        };
        check(None, "tea is hot", true);
        check(Some("tea"), " tea is hot\n", true);
        check(Some(" "), "tea is hot", false);
        check(Some("a\nb"), "tea is hot", false);
        check(Some(&"k".repeat(256)), "x", true);
        check(Some(&"k".repeat(257)), "x", false);
        check(None, " \n", false);
        check(None, &"x".repeat(TEXT_BYTES_MAX), true);
        check(None, &"x".repeat(TEXT_BYTES_MAX + 1), false);
        let note = |size: usize| Note::of(Some("k"), &"x".repeat(size)).unwrap();
        assert!(Notes::of(vec![note(1); NOTES_MAX]).is_some() && Notes::of(Vec::new()).is_some());
        assert!(Notes::of(vec![note(1); NOTES_MAX + 1]).is_none());
        assert!(Notes::of(vec![note(TEXT_BYTES_MAX / 2), note(TEXT_BYTES_MAX / 2)]).is_none());
    }

    /// SHARE-18: key and text are replaced and nothing else, so that labels stay what they were.
    #[test]
    fn several_memories_are_one_text() {
        let content =
            Content { tags: vec!["label:restricted".to_owned()], ..Content::plain("note", "as sent") };
        let note = |key: &str, text: &str| Note::of(Some(key), text).unwrap();
        let one = Notes::of(vec![note("tea", "it is hot")]).unwrap().content(&content);
        assert_eq!(
            (one.key.as_deref(), one.text.as_str(), &one.tags),
            (Some("tea"), "it is hot", &content.tags)
        );
        let two = Notes::of(vec![note("tea", "it is hot"), note("ice", "it is cold")]).unwrap();
        assert_eq!(two.content(&content).text, "tea: it is hot\n\nice: it is cold");
    }

    /// SHARE-19: without a model the key is the first sentence, within the length of a key.
    #[test]
    fn the_first_sentence_is_a_key() {
        assert_eq!(first_sentence("  Tea is  hot. Ice is cold.").as_deref(), Some("Tea is hot."));
        assert_eq!(first_sentence(" \n"), None);
        assert_eq!(first_sentence(&"x".repeat(300)).unwrap().chars().count(), 256);
    }
}
