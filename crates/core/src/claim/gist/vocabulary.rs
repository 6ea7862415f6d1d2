//! The tables of words, by how they are written or by their stems.

use super::TOPICAL;
use super::tables::{
    ABSTAINS, ADDS, ATTRIBUTES, CHANGES, DUE, ENDS_AFTER, ENDS_BEFORE, HEDGED, KINDS, LIGHT, OPPOSITES, SAME,
    SCOPES, WEAK_CHANGES,
};
use crate::claim::hash24;
use crate::claim::words::Word;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The words of the tables, by how they are written or by their stems.
pub(super) struct Words {
    pub(super) light: HashSet<String>,
    pub(super) scopes: HashSet<&'static str>,
    pub(super) hedged: Phrases,
    pub(super) adds: Phrases,
    pub(super) kinds: HashMap<&'static str, Vec<u32>>,
    pub(super) abstains: HashMap<&'static str, Vec<u32>>,
    pub(super) same: HashMap<String, String>,
    pub(super) attributes: HashSet<String>,
    pub(super) due: HashSet<String>,
    pub(super) opposites: HashMap<&'static str, (u32, u8)>,
    pub(super) ends_after: Phrases,
    pub(super) ends_before: Phrases,
    pub(super) changes: Phrases,
    pub(super) weak_changes: HashSet<&'static str>,
}

/// Phrases by their first word.
pub(super) type Phrases = HashMap<&'static str, Vec<Vec<&'static str>>>;

pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let stems = |list: &'static str| list.split_whitespace().map(stem_of).collect();
    let mut same = HashMap::new();
    for group in SAME {
        let first = group.split_whitespace().next().map(stem_of).unwrap_or_default();
        same.extend(group.split_whitespace().map(|word| (stem_of(word), first.clone())));
    }
    let mut opposites = HashMap::new();
    for (number, sides) in (1u32..).zip(OPPOSITES) {
        for (side, words) in (0u8..).zip(sides.split('|')) {
            let number = if sides.starts_with('!') { number + TOPICAL } else { number };
            for word in words.trim_start_matches('!').split_whitespace() {
                opposites.entry(word).or_insert((number, side));
            }
        }
    }
    let mut kinds: HashMap<&'static str, Vec<u32>> = HashMap::new();
    for (name, words) in KINDS {
        for word in words.split_whitespace() {
            kinds.entry(word).or_default().push(kind(name));
        }
    }
    Words {
        opposites,
        light: stems(LIGHT),
        scopes: SCOPES.split_whitespace().collect(),
        hedged: phrases(HEDGED),
        adds: phrases(ADDS),
        kinds,
        abstains: ABSTAINS
            .iter()
            .map(|(word, kinds)| (*word, kinds.split_whitespace().map(kind).collect()))
            .collect(),
        same,
        attributes: stems(ATTRIBUTES),
        due: stems(DUE),
        ends_after: phrases(ENDS_AFTER),
        ends_before: phrases(ENDS_BEFORE),
        changes: phrases(CHANGES),
        weak_changes: WEAK_CHANGES.split_whitespace().collect(),
    }
});

/// The hash of a kind of thing.
pub(super) fn kind(name: &str) -> u32 {
    hash24(&format!("kind {name}"))
}

pub(super) fn stem_of(word: &str) -> String {
    if word.contains(['-', '_']) {
        return word.to_owned();
    }
    crate::text::words(word).into_iter().next().unwrap_or_else(|| word.to_owned())
}

pub(super) fn phrases(list: &'static str) -> Phrases {
    let mut found = Phrases::new();
    for phrase in list.split('|') {
        let words: Vec<&str> = phrase.split_whitespace().collect();
        if let Some(first) = words.first() {
            found.entry(first).or_default().push(words);
        }
    }
    found.values_mut().for_each(|all| all.sort_by_key(|words| std::cmp::Reverse(words.len())));
    found
}

/// How many words of a phrase of the table stand here; 0 if none does.
pub(super) fn phrase_at(table: &Phrases, words: &[Word], at: usize) -> usize {
    let Some(first) = words.get(at) else { return 0 };
    let known = table
        .get(first.text.as_str())
        .or_else(|| table.get("was").filter(|_| is_form_of(&first.text, "was")));
    let Some(known) = known else { return 0 };
    let here = |phrase: &&Vec<&str>| {
        phrase
            .iter()
            .zip(at..)
            .all(|(word, at)| words.get(at).is_some_and(|found| is_form_of(&found.text, word)))
    };
    known.iter().find(here).map_or(0, Vec::len)
}

/// Whether a word is the one of a phrase; "was" stands for all forms of "be".
pub(super) fn is_form_of(text: &str, word: &str) -> bool {
    text == word
        || (word == "was" && matches!(text, "is" | "are" | "were" | "been" | "got" | "gets" | "being"))
}
