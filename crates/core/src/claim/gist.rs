//! The gist of a text: what it is about, what it denies or ends, its values, and who or what stands in which place.
//!
//! People do not repeat the words of a statement when they change it: "Jonas works at Siemens" is answered by "Jonas left
//! Siemens in May". So texts that differ in more than one word are compared by subject and attribute. Such a comparison
//! claims little: without the same subject, or with a word that tells two parts of a thing apart, nothing is found.

mod choice_tables;
mod clause;
mod compare;
mod facet_rules;
mod facet_tables;
mod facets;
mod likelihood;
mod reader;
mod relations;
mod signals;
mod tables;
mod vocabulary;

pub(super) use clause::is_verb;
pub(super) use compare::Conflict;
pub(super) use likelihood::weigh;
pub(in crate::claim) use signals::Signals;

use super::quantity::Value;
use super::words::{Sentence, Word};
use crate::text::Analyser;
use facets::Facet;
use reader::read;
use relations::Relation;

/// Content words of a gist.
const WORDS_MAX: usize = 48;
/// Values of a gist.
const VALUES_MAX: usize = 6;
/// Relations of a gist.
const RELATIONS_MAX: usize = 6;
/// Content words that a denial or an ending reaches.
const REACH: usize = 4;
/// Sentences that are read as one; a longer text is taken apart.
const TOGETHER_MAX: usize = 3;
/// Content words of what a sentence is limited to at its beginning: "for city breaks".
const LEAD_MAX: usize = 3;
/// Content words of a note without a verb that say what it is about.
const NOTE_SUBJECT: usize = 3;
/// Gists of one text.
const GISTS_MAX: usize = 12;

/// Begins with a capital inside a sentence, or is an identifier.
pub(super) const NAME: u8 = 1;
/// Is denied.
pub(super) const DENIED: u8 = 2;
/// Is ended or replaced.
pub(super) const ENDED: u8 = 4;
/// Tells a part from another part.
pub(super) const SCOPE: u8 = 8;
/// Says little about what is meant.
pub(super) const WEAK: u8 = 16;
/// Stands before the verb of its clause.
pub(super) const SUBJECT: u8 = 32;
/// Is no word of the text, but the kind of thing that one is.
pub(super) const KIND: u8 = 64;
/// Is a day of the week or a month.
pub(super) const TIME: u8 = 128;

/// Planned, supposed, or said by somebody.
pub(super) const HEDGE: u16 = 1;
/// Adds to another statement or makes an exception.
pub(super) const ADDS_TO: u16 = 2;
/// Says that something is different from before.
pub(super) const CHANGE: u16 = 4;
/// Tells of a single moment.
pub(super) const MOMENT: u16 = 8;
/// Is about something that is measured and changes by itself.
pub(super) const MEASURED: u16 = 16;
/// Is about something that ends on one day.
pub(super) const ON_A_DAY: u16 = 32;
/// Is told in the past tense throughout.
pub(super) const ALL_PAST: u16 = 64;
/// Speaks of all.
pub(super) const ALL: u16 = 128;
/// Happens again and again.
pub(super) const AGAIN: u16 = 1024;
/// Is about one of several: "a friend of mine".
pub(super) const ONE_OF: u16 = 2048;
/// Says "I", "we" or "our".
pub(super) const FIRST_PERSON: u16 = 4096;
/// Says "I" or begins with "the user": it is about whoever stores it.
pub(super) const OF_SELF: u16 = 8192;
/// Says in so many words that something took the place of another, or ended.
pub(super) const REPLACES: u16 = 16_384;
/// Says that there is nothing else: "only", "nobody else".
pub(super) const ONLY: u16 = 32_768;
/// Names a limit.
pub(super) const LIMIT: u16 = 512;
/// Speaks of some, or of one.
pub(super) const SOME: u16 = 256;

/// A content word: 24 bits of hash, 8 of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub(super) struct Term(#[n(0)] u32);

impl Term {
    fn new(hash: u32, marks: u8) -> Self {
        Self((hash & 0x00ff_ffff) << 8 | u32::from(marks))
    }

    pub(super) fn hash(self) -> u32 {
        self.0 >> 8
    }

    pub(super) fn is(self, marks: u8) -> bool {
        self.0 as u8 & marks != 0
    }

    fn mark(&mut self, marks: u8) {
        self.0 |= u32::from(marks);
    }
}

/// A value and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Amount {
    #[n(0)]
    pub(super) value: Value,
    /// The word after a bare number; 0 without.
    #[n(1)]
    pub(super) of: u32,
}

/// The axis of languages.
const LANGUAGE: u32 = 400;
/// Added to the axes that say by themselves what they are about.
pub(super) const TOPICAL: u32 = 500;
/// Marks a side that is a start or an end, which are two things.
pub(super) const ORDER: u32 = 1 << 31;

/// One side of an opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Side {
    #[n(0)]
    pub(super) axis: u32,
    #[n(1)]
    pub(super) side: u8,
    #[n(2)]
    pub(super) denied: bool,
    /// The hash of the word that says it.
    #[n(3)]
    pub(super) word: u32,
}

/// What a text, or a sentence of a long one, says.
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Gist {
    #[n(0)]
    pub(super) terms: Vec<Term>,
    #[n(1)]
    pub(super) amounts: Vec<Amount>,
    #[n(2)]
    pub(super) sides: Vec<Side>,
    #[n(3)]
    pub(super) relations: Vec<Relation>,
    #[n(4)]
    pub(super) cues: u16,
    /// Which terms a denial reaches, each as a range.
    #[n(5)]
    pub(super) denials: Vec<(u8, u8)>,
    /// What the first sentence is limited to at its beginning, as a range of terms.
    #[n(6)]
    pub(super) lead: Option<(u8, u8)>,
    /// Terms that are identifiers: with a digit, an underscore or the like.
    #[n(7)]
    pub(super) identifiers: Vec<u32>,
    /// Attributes whose values exclude one another.
    #[n(8)]
    pub(super) facets: Vec<Facet>,
    /// What it says it is for, as a range of terms: "for contracts", "when travelling".
    #[n(9)]
    pub(super) aim: Option<(u8, u8)>,
    /// What each term stands behind, and whether the term before it is the word before it.
    #[n(10)]
    pub(super) links: Vec<u8>,
}

impl Gist {
    pub(super) fn has(&self, cue: u16) -> bool {
        self.cues & cue != 0
    }

    /// What the term at a place stands behind or beside.
    fn link(&self, at: usize) -> u8 {
        self.links.get(at).copied().unwrap_or_default()
    }
}

/// The gists of a text: one of a short one, one of each sentence of a long one.
pub(super) fn gists(sentences: &[Sentence], analyser: &mut Analyser) -> Vec<Gist> {
    chunks(sentences).map(|chunk| read(chunk, analyser)).collect()
}

/// The sentences of each gist of a text.
pub(super) fn chunks(sentences: &[Sentence]) -> impl Iterator<Item = &[Sentence]> {
    let step = if sentences.len() <= TOGETHER_MAX { TOGETHER_MAX } else { 1 };
    sentences.chunks(step).take(GISTS_MAX)
}

/// How many parts of a sentence have a verb of their own; a part ends behind a comma, or before a word that begins a clause.
pub(super) fn verbs_apart(words: &[Word], begins_clause: impl Fn(&Word) -> bool) -> usize {
    let (mut count, mut counted) = (0, false);
    for (at, word) in words.iter().enumerate() {
        let after_comma = at > 0 && words.get(at - 1).is_some_and(|before| before.stop);
        counted &= !begins_clause(word) && !after_comma;
        if !counted && clause::is_verb(words, at) {
            (count, counted) = (count + 1, true);
        }
    }
    count
}
