//! Words as search sees them: Unicode words, folded to lower case and stemmed.

use crate::rank::is_stop;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A longer word is noise (a hash, a base64 blob) and is cut.
const TERM_BYTES_MAX: usize = 64;
/// Words whose stem an analyser remembers.
const KNOWN_MAX: usize = 32_768;

/// What a text must be to be kept, as refusals say it behind its length.
pub const LEGIBLE: &str = "with a visible character and without NUL";

/// Whether a person can read something in a text: it has a character that is neither blank nor invisible, and no NUL, which
/// other programs take for its end.
#[must_use]
pub fn is_legible(text: &str) -> bool {
    !text.contains('\0') && text.chars().any(is_visible)
}

/// A text without the characters that leave no mark and part no words: what is read there.
#[must_use]
pub fn as_read(text: &str) -> String {
    text.chars().filter(|c| is_visible(*c) || c.is_whitespace() || c.is_control()).collect()
}

/// The stemmed words of a text that say what it is about, one after the other.
#[must_use]
pub fn content_words(text: &str) -> Vec<String> {
    let mut words = words(text);
    words.retain(|word| !is_stop(word));
    words
}

/// Whether a character leaves a mark where it stands. Fillers and selectors of other scripts count as invisible.
fn is_visible(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    !(invisible || c.is_whitespace() || c.is_control())
}

/// The words of a text, and where each stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// Each word once, in order, with its places in the text, in order.
    pub words: Vec<(String, Vec<u32>)>,
    /// All words.
    pub length: u32,
}

impl Terms {
    /// Words with their places, in no order.
    pub(crate) fn of(mut stems: BTreeMap<String, Vec<u32>>) -> Self {
        stems.values_mut().for_each(|places| places.sort_unstable());
        let length = stems.values().map(|places| places.len() as u32).sum();
        Self { words: stems.into_iter().collect(), length }
    }

    /// How often a word occurs.
    #[must_use]
    pub fn count(&self, word: &str) -> u32 {
        let found = self.words.binary_search_by(|(known, _)| known.as_str().cmp(word));
        found.ok().and_then(|at| self.words.get(at)).map_or(0, |(_, places)| places.len() as u32)
    }
}

impl Terms {
    /// Whether these words stand in the text one after the other.
    #[must_use]
    pub fn hold(&self, phrase: &[String]) -> bool {
        let places = |word: &String| {
            let found = self.words.binary_search_by(|(known, _)| known.cmp(word)).ok();
            found.and_then(|at| self.words.get(at)).map_or(&[] as &[u32], |(_, places)| places.as_slice())
        };
        let Some((first, rest)) = phrase.split_first() else { return true };
        let goes_on = |start: &u32| {
            rest.iter().zip(start + 1..).all(|(word, place)| places(word).binary_search(&place).is_ok())
        };
        places(first).iter().any(goes_on)
    }
}

/// The words of a text.
#[must_use]
pub fn terms(text: &str) -> Terms {
    Analyser::default().terms(text)
}

/// The stemmed words of a text, one after the other.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut analyser = Analyser::default();
    text.unicode_words().map(|word| analyser.stem(word).to_owned()).collect()
}

/// Finds words in text after text, and remembers the stems of those it has met: most words come again.
pub struct Analyser {
    stemmer: Stemmer,
    known: HashMap<String, String>,
}

impl Default for Analyser {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Analyser {
    /// The words of a text.
    #[must_use]
    pub fn terms(&mut self, text: &str) -> Terms {
        self.terms_by(text, |_| ()).remove(&()).unwrap_or_default()
    }

    /// The words of a text, sorted into fields by where each stands in bytes. Places are those of the whole text.
    #[must_use]
    pub fn terms_by<F: Ord + Copy>(
        &mut self,
        text: &str,
        field_of: impl Fn(Range<usize>) -> F,
    ) -> BTreeMap<F, Terms> {
        let mut words: BTreeMap<(F, &str), Vec<u32>> = BTreeMap::new();
        for ((start, word), place) in text.unicode_word_indices().zip(0..) {
            words.entry((field_of(start..start + word.len()), word)).or_default().push(place);
        }
        let mut fields: BTreeMap<F, BTreeMap<String, Vec<u32>>> = BTreeMap::new();
        for ((field, word), places) in words {
            let stems = fields.entry(field).or_default();
            let stem = self.stem(word);
            match stems.get_mut(stem) {
                Some(known) => known.extend(places),
                None => drop(stems.insert(stem.to_owned(), places)),
            }
        }
        fields.into_iter().map(|(field, stems)| (field, Terms::of(stems))).collect()
    }

    fn stem(&mut self, word: &str) -> &str {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let stemmer = &self.stemmer;
        self.known.entry(word.to_owned()).or_insert_with(|| {
            let lower = word.to_lowercase();
            stemmer.stem(cut(&lower)).into_owned()
        })
    }
}

fn cut(word: &str) -> &str {
    let mut end = word.len().min(TERM_BYTES_MAX);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    word.get(..end).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_stemmed() {
        let found = terms("Running runs; the API's Port-8080, Ünï café");
        assert_eq!(found.count("run"), 2, "{found:?}");
        assert_eq!(found.count("8080"), 1, "{found:?}");
        assert_eq!(found.count("café"), 1, "{found:?}");
        assert_eq!(found.count("nowhere"), 0);
        assert_eq!(terms("").length, 0);
        assert_eq!(terms(&"é".repeat(1000)).words[0].0.len(), TERM_BYTES_MAX);
    }

    #[test]
    fn places_are_those_of_the_text() {
        let found = terms("to be or not to be");
        let be = found.words.iter().find(|(word, _)| word == "be").expect("it is there");
        assert_eq!(be.1, [1, 5]);
        assert_eq!(words("Not to be"), ["not", "to", "be"]);
        for (phrase, held) in
            [("to be or", true), ("be to", false), ("to be", true), ("be be", false), ("", true)]
        {
            assert_eq!(found.hold(&words(phrase)), held, "{phrase}");
        }
    }

    /// What an analyser remembers changes nothing.
    #[test]
    fn a_used_analyser_answers_as_a_new_one() {
        let mut used = Analyser::default();
        for text in ["Running runs", "RUNNING Runs run", "ran", "Running runs"] {
            assert_eq!(used.terms(text), terms(text));
        }
    }
}
