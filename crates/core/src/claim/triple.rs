//! Statements in three parts: the fingerprint of what they say, and properties that have one value.

use super::lexicon::lexicon;
use super::quantity::{self, Value};
use super::words::{Word, sentences};
use super::{hash24, hash64};
use crate::canonical::{Hash, framed_sha256};
use crate::item::{Triple, node_key, type_key};
use crate::text;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Verbs of properties with one value.
const ONE: &str = "born die live reside work employed located based headquartered married belong report expire age \
    begin start end due founded lead manage owned hosted assigned price count total quantity listen bind spouse \
    parent timeout limit threshold date year length width depth duration temperature percentage ratio balance";
/// Properties that may have many, whatever else they hold.
const MANY: &str = "like love enjoy visit know friend child kid member speak own use tag alias hobby skill interest \
    contain include related see mention depend former previous past sibling sister brother daughter son pet";
/// Words in -s that are one.
const SINGULAR: &str =
    "status address species headquarters os gps dns business class process access canvas bus";

static ONE_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| text::words(ONE).into_iter().collect());
static MANY_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| text::words(MANY).into_iter().collect());

/// A triple, so that two can be compared.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Said {
    /// Of subject and predicate, when the property has one value; 0 otherwise.
    #[n(0)]
    slot: u64,
    /// The words of the object, in order of their hashes.
    #[n(1)]
    object: Vec<u32>,
    /// The object as a value, if it is nothing else.
    #[n(2)]
    value: Option<Value>,
    /// Of all three parts.
    #[n(3)]
    pub(super) whole: u64,
    /// Its subject is whoever stores it.
    #[n(4)]
    pub(super) of_self: bool,
}

impl Said {
    pub(super) fn of(triple: &Triple) -> Self {
        let (subject, predicate) = (plain(&triple.subject), predicate(&triple.predicate));
        let object = plain(&triple.object);
        let slot = hash64(hash64(0, subject.as_bytes()), predicate.as_bytes());
        let mut words: Vec<u32> = text::words(&object).iter().map(|word| hash24(word)).collect();
        words.sort_unstable();
        words.dedup();
        Self {
            slot: if is_functional(&triple.predicate) { slot } else { 0 },
            object: words,
            value: value_of(&triple.object),
            whole: hash64(slot, normal_object(&triple.object).as_bytes()),
            of_self: matches!(subject.as_str(), "user" | "i" | "me" | "myself"),
        }
    }

    /// Subject and property, where the property has one value.
    pub(super) fn slot(&self) -> Option<u64> {
        (self.slot != 0).then_some(self.slot)
    }

    /// Another value of a property that has one.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        if self.slot == 0 || self.slot != other.slot || self.whole == other.whole {
            return false;
        }
        if let (Some(mine), Some(theirs)) = (self.value, other.value)
            && mine.family() == theirs.family()
        {
            return mine.is_apart(&theirs);
        }
        // What says more of the same is no other value.
        let holds = |all: &[u32], some: &[u32]| some.iter().all(|word| all.binary_search(word).is_ok());
        !holds(&self.object, &other.object) && !holds(&other.object, &self.object)
    }
}

/// GOV-3.3: the fingerprint of subject, predicate and normalised object.
pub(super) fn fingerprint(triple: &Triple) -> Hash {
    let (subject, predicate) = (plain(&triple.subject), predicate(&triple.predicate));
    framed_sha256(&[subject.as_bytes(), predicate.as_bytes(), normal_object(&triple.object).as_bytes()])
}

/// The fingerprint of a relation: its type and its two nodes, as the graph knows them.
pub(super) fn relation_fingerprint(triple: &Triple) -> Hash {
    let parts = [node_key(&triple.subject), type_key(&triple.predicate), node_key(&triple.object)];
    let [subject, kind, object] = parts.each_ref().map(String::as_bytes);
    framed_sha256(&[b"relation", subject, kind, object])
}

/// Lower-case words one blank apart, articles gone, words that mean the same made one.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().map(str::to_lowercase);
    joined(words.filter(|word| !matches!(word.as_str(), "a" | "an" | "the")))
}

fn joined(words: impl Iterator<Item = String>) -> String {
    let lexicon = lexicon();
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        let stem = text::words(&word).into_iter().next().unwrap_or_default();
        let same = lexicon.same(&stem);
        out.push_str(if same == stem { &word } else { same });
    }
    out
}

fn normal_object(object: &str) -> String {
    // 3.10 may be a version, 5/7 a day: they are what is written.
    match value_of(object).filter(|_| !object.contains(['.', '/'])) {
        Some(value) => format!("{:?}", value.bits()),
        None => plain(object),
    }
}

/// The value that a text is, if it is nothing else.
fn value_of(text: &str) -> Option<Value> {
    let sentences = sentences(text);
    let [sentence] = sentences.as_slice() else { return None };
    // A year standing alone is a year here or there: it is compared as a number.
    let (value, taken) = quantity::value(&sentence.words, None)?;
    (taken == sentence.words.len()).then_some(value)
}

fn predicate_words(predicate: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(predicate.len() + 8);
    let mut lower = false;
    for c in predicate.chars() {
        if c.is_uppercase() && lower {
            spaced.push(' ');
        }
        lower = c.is_lowercase();
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let says =
        |word: &String| !matches!(word.as_str(), "is" | "has" | "was" | "are" | "have" | "the" | "a" | "an");
    spaced.to_lowercase().split_whitespace().map(str::to_owned).filter(says).collect()
}

fn predicate(predicate: &str) -> String {
    joined(predicate_words(predicate).into_iter())
}

/// Whether a property has one value at a time.
pub(super) fn is_functional(predicate: &str) -> bool {
    let words = predicate_words(predicate);
    let many = |word: &str| {
        word.ends_with('s') && !word.ends_with("ss") && !SINGULAR.split(' ').any(|one| one == word)
    };
    let verb = |word: &str| text::words(word).into_iter().next().unwrap_or_default();
    let stems: Vec<String> = words.iter().map(|word| verb(word)).collect();
    if stems.iter().any(|stem| MANY_STEMS.contains(stem)) {
        return false;
    }
    let noun = |word: &str| lexicon().noun(word).is_some();
    let one = |(word, stem): (&String, &String)| ONE_STEMS.contains(stem) || (noun(word) && !many(word));
    words.iter().zip(&stems).any(one)
}

/// The words of a field as one fill.
pub(super) fn value_of_words(words: &[Word]) -> Option<Value> {
    let (value, taken) = quantity::value(words, None)?;
    (taken == words.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triple(subject: &str, predicate: &str, object: &str) -> Triple {
        Triple { subject: subject.into(), predicate: predicate.into(), object: object.into() }
    }

    /// GOV-3.3: case, blanks and harmless synonyms are absorbed, other facts are not.
    #[test]
    fn fingerprints_absorb_how_it_is_written() {
        let same = |a: Triple, b: Triple| fingerprint(&a) == fingerprint(&b);
        assert!(same(triple("API", "has_port", "8080"), triple(" api ", "Port", "8,080")));
        assert!(same(triple("the  Trail", "length", "5 km"), triple("trail", "LENGTH", "5000 m")));
        assert!(same(triple("Bob", "drives", "automobile"), triple("bob", "drives", "a car")));
        assert!(same(triple("Bob", "worksAt", "Acme"), triple("Bob", "works at", "acme")));
        assert!(!same(triple("A", "owns", "B"), triple("A", "owned_by", "B")));
        assert!(!same(triple("A", "owns", "B"), triple("B", "owns", "A")));
        assert!(!same(triple("A", "version", "3.10"), triple("A", "version", "3.1")));
        assert!(!same(triple("A", "id", "12345678901"), triple("A", "id", "12345678902")));
        assert!(!same(triple("A", "code", "007"), triple("A", "code", "7")));
        assert!(!same(triple("API", "port", "8080"), triple("API", "port", "8081")));
    }

    #[test]
    fn properties_with_one_value_are_known() {
        for predicate in
            ["capital_of", "born_on", "port", "email", "isLocatedIn", "works_at", "favourite colour"]
        {
            assert!(is_functional(predicate), "{predicate}");
        }
        for predicate in
            ["likes", "has_child", "visited", "languages", "speaks_language", "uses", "friend_of"]
        {
            assert!(!is_functional(predicate), "{predicate}");
        }
    }
}
