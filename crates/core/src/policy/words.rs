//! Whole words of a text, folded so that case and spelling variants of one letter do not matter, and phrases of them.
//!
//! A word is a run of letters, digits and marks. Scripts that put no spaces between words have one word a character,
//! so that a name is found wherever it stands.

use super::fold::is_invisible;
use std::collections::HashMap;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words of a phrase that count.
pub(super) const PHRASE_WORDS_MAX: usize = 16;
/// A longer word is compared by its beginning, in bytes.
const WORD_BYTES_MAX: usize = 128;
/// How far apart two words of a phrase may stand, in bytes.
const GAP_BYTES_MAX: usize = 3;
/// What stands between the words of a phrase as it is kept.
const JOIN: char = ' ';

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) range: Range<usize>,
    pub(super) folded: String,
}

/// The words of a text, in order.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let unspaced = is_unspaced(c);
        let inside = c.is_alphanumeric() || is_combining_mark(c) || (start.is_some() && is_invisible(c));
        if (!inside || unspaced)
            && let Some(begun) = start.take()
        {
            words.push(word(text, begun..at));
        }
        if unspaced {
            words.push(word(text, at..at + c.len_utf8()));
        } else if inside && start.is_none() {
            start = Some(at);
        }
    }
    words.extend(start.map(|begun| word(text, begun..text.len())));
    words
}

fn word(text: &str, range: Range<usize>) -> Word {
    let folded = fold(text.get(range.clone()).unwrap_or_default());
    Word { range, folded }
}

/// One letter, one form: compatibility forms, case and invisible characters do not matter.
fn fold(word: &str) -> String {
    let end = (WORD_BYTES_MAX.min(word.len())..=word.len()).find(|end| word.is_char_boundary(*end));
    let word = word.get(..end.unwrap_or(word.len())).unwrap_or(word);
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let seen = word.chars().filter(|c| !is_invisible(*c)).nfkc();
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// Whether it is a letter of a script without spaces between words: Han, kana, Thai, Lao, Khmer, Myanmar.
pub(super) const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e2e}' | '\u{e81}'..='\u{eae}' | '\u{1000}'..='\u{102a}' | '\u{1780}'..='\u{17b3}'
        | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// A phrase as it is compared: its folded words, or nothing if it has none or too many.
pub(super) fn phrase(text: &str) -> Option<String> {
    let words: Vec<String> = words(text).into_iter().map(|word| word.folded).collect();
    let counted = (1..=PHRASE_WORDS_MAX).contains(&words.len());
    counted.then(|| words.join(&JOIN.to_string()))
}

/// Phrases, each with something known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrases<T> {
    known: HashMap<String, T>,
    /// How many words the longest phrase with a first word has.
    first: HashMap<String, usize>,
}

impl<T> Default for Phrases<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), first: HashMap::new() }
    }
}

impl<T> Phrases<T> {
    /// Adds a phrase as `phrase` made it; what was known of it comes back.
    pub(super) fn insert(&mut self, phrase: String, value: T) -> Option<T> {
        let first = phrase.split(JOIN).next().unwrap_or_default().to_owned();
        let longest = self.first.entry(first).or_default();
        *longest = (*longest).max(phrase.split(JOIN).count());
        self.known.insert(phrase, value)
    }

    pub(super) fn get(&self, phrase: &str) -> Option<&T> {
        self.known.get(phrase)
    }

    /// The longest phrase that begins with the first of these words: how many words it has and what is known of it.
    pub(super) fn at(&self, words: &[Word]) -> Option<(usize, &T)> {
        let longest = *self.first.get(&words.first()?.folded)?;
        let mut joined = String::new();
        let mut found = None;
        let mut end = None;
        for (count, word) in words.iter().take(longest).enumerate() {
            if end.is_some_and(|end: usize| word.range.start - end > GAP_BYTES_MAX) {
                break;
            }
            if count > 0 {
                joined.push(JOIN);
            }
            joined.push_str(&word.folded);
            end = Some(word.range.end);
            found = self.known.get(&joined).map(|value| (count + 1, value)).or(found);
        }
        found
    }

    /// Whether any phrase stands among these words.
    pub(super) fn stand_in(&self, words: &[Word]) -> bool {
        (0..words.len()).any(|start| words.get(start..).is_some_and(|rest| self.at(rest).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: &str, text: &str, expected: bool) {
        let mut phrases = Phrases::default();
        phrases.insert(phrase(known).unwrap(), ());
        assert_eq!(phrases.stand_in(&words(text)), expected, "{known} in {text}");
    }

    /// SHARE-17: whole words, whatever their case, form or invisible characters.
    #[test]
    fn words_are_whole_and_folded() {
        check("rust", "RUST!", true);
        check("rust", "trust", false);
        check("rust", "rusty", false);
        check("Straße", "STRASSE", true);
        check("Οδυσσεύς", "ΟΔΥΣΣΕΎΣ", true);
        check("José", "Jose\u{301}", true);
        check("jane", "ja\u{200b}ne", true);
        check("jane", "Jane's", true);
        check("ｊａｎｅ", "jane", true);
    }

    /// SHARE-17: phrases stand however their words are joined, and in scripts without spaces.
    #[test]
    fn phrases_are_words_close_together() {
        check("Jane Doe", "jane.doe", true);
        check("Jane Doe", "Jane \u{2013}Doe", false);
        check("Jane Doe", "JANE-DOE,", true);
        check("Jane Doe", "jane and doe", false);
        check("usr_ab12", "by usr_ab12.", true);
        check("田中", "田中さんは", true);
        check("田中", "田村と中川", false);
        assert_eq!(phrase(" -- "), None);
    }
}
