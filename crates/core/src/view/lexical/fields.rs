//! The words of a text in two fields: the open ones, and those inside what a detector finds (SHARE-21).
//!
//! Invariant (a masked word has one field): it stands under all the classes that find it, and in no other field. Who is
//! bound by one of those classes is searched as if the word were not in the text: it neither matches nor counts.

use super::in_order;
use super::postings::{Posting, Postings};
use crate::id::UserId;
use crate::item::Content;
use crate::policy::{Classes, Marks};
use crate::text::{Analyser, Terms};
use crate::view::Row;
use std::collections::{BTreeMap, HashMap};

/// The words of one text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    /// What everybody who sees the text may find it by.
    pub(super) open: Terms,
    /// What only those may who are not bound by these classes.
    pub(super) masked: BTreeMap<Classes, Terms>,
    classes: Classes,
}

impl Fields {
    /// The words of a content's key and text.
    #[must_use]
    pub fn of(content: &Content, analyser: &mut Analyser) -> Self {
        let (text, marks) = (content.indexed_text(), Marks::of_indexed(content));
        let mut masked = analyser.terms_by(&text, |word| marks.at(word));
        Self { open: masked.remove(&Classes::NONE).unwrap_or_default(), masked, classes: marks.all() }
    }

    /// What detectors find in the text.
    #[must_use]
    pub const fn classes(&self) -> Classes {
        self.classes
    }

    /// All words.
    pub(super) fn length(&self) -> u32 {
        self.masked.values().fold(self.open.length, |sum, terms| sum.saturating_add(terms.length))
    }

    /// What may be found by whoever these classes are redacted for.
    #[must_use]
    pub fn shown(self, redacted: Classes) -> Terms {
        let mut words: BTreeMap<String, Vec<u32>> = self.open.words.into_iter().collect();
        let masked = self.masked.into_iter().filter(|(classes, _)| !classes.meets(redacted));
        for (word, places) in masked.flat_map(|(_, terms)| terms.words) {
            words.entry(word).or_default().extend(places);
        }
        Terms::of(words)
    }
}

/// The masked words that the same classes find.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Field {
    #[cbor(n(0), with = "in_order")]
    postings: HashMap<String, Postings>,
    /// Words in each version that has any.
    #[n(1)]
    lengths: BTreeMap<Row, u32>,
    /// Words in active texts, by corpus.
    #[n(2)]
    words: BTreeMap<(Option<UserId>, u32), u64>,
}

/// Every masked word of a tenant's texts, by the classes that find it.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub(super) struct MaskedWords(#[n(0)] BTreeMap<Classes, Field>);

impl MaskedWords {
    /// Takes in the masked words of a row.
    pub(super) fn write(&mut self, row: Row, masked: &BTreeMap<Classes, Terms>) {
        for (classes, terms) in masked {
            let field = self.0.entry(*classes).or_default();
            field.lengths.insert(row, terms.length);
            for (word, places) in &terms.words {
                field.postings.entry(word.clone()).or_default().push(row, places);
            }
        }
    }

    /// Counts a row in or out of a corpus.
    pub(super) fn count(&mut self, row: Row, corpus: (Option<UserId>, u32), added: bool) {
        for field in self.0.values_mut() {
            let Some(length) = field.lengths.get(&row).map(|length| u64::from(*length)) else { continue };
            let words = field.words.entry(corpus).or_default();
            *words = if added { *words + length } else { words.saturating_sub(length) };
        }
    }

    /// The texts that hold a word where it may be found, field by field.
    pub(super) fn postings<'a>(
        &'a self,
        word: &'a str,
        redacted: Classes,
    ) -> impl Iterator<Item = Posting<'a>> {
        let open = self.0.iter().filter(move |(classes, _)| !classes.meets(redacted));
        open.filter_map(move |(_, field)| field.postings.get(word)).flat_map(Postings::iter)
    }

    /// The words of a row that may not be found.
    pub(super) fn hidden(&self, row: Row, redacted: Classes) -> u32 {
        self.closed(redacted).filter_map(|field| field.lengths.get(&row)).sum()
    }

    /// The words that may not be found, in those corpora that are `seen`.
    pub(super) fn hidden_in(&self, redacted: Classes, seen: impl Fn(Option<UserId>, u32) -> bool) -> u64 {
        let words = self.closed(redacted).flat_map(|field| &field.words);
        words.filter(|((owner, class), _)| seen(*owner, *class)).map(|(_, words)| *words).sum()
    }

    fn closed(&self, redacted: Classes) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(move |(classes, _)| classes.meets(redacted)).map(|(_, field)| field)
    }

    pub(super) fn shrink(&mut self) {
        let fields = self.0.values_mut();
        fields.flat_map(|field| field.postings.values_mut()).for_each(Postings::shrink);
    }
}
