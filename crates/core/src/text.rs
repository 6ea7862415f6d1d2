//! Words as search sees them: Unicode words, folded to lower case and stemmed.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::BTreeMap;
use unicode_segmentation::UnicodeSegmentation;

/// A longer word is noise (a hash, a base64 blob) and is cut.
const TERM_BYTES_MAX: usize = 64;

/// The words of a text with how often each occurs, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// Each word once, in order, with its count.
    pub counts: Vec<(String, u32)>,
    /// All words.
    pub length: u32,
}

/// The words of a text.
#[must_use]
pub fn terms(text: &str) -> Terms {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut length = 0u32;
    for word in text.unicode_words() {
        let lower = word.to_lowercase();
        let stem = stemmer.stem(cut(&lower));
        match counts.get_mut(stem.as_ref()) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                counts.insert(stem.into_owned(), 1);
            }
        }
        length = length.saturating_add(1);
    }
    Terms { counts: counts.into_iter().collect(), length }
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
        let words: Vec<_> = found.counts.iter().map(|(word, n)| (word.as_str(), *n)).collect();
        assert!(words.contains(&("run", 2)), "{words:?}");
        assert!(words.contains(&("8080", 1)), "{words:?}");
        assert!(words.contains(&("café", 1)), "{words:?}");
        assert_eq!(terms("").length, 0);
        assert_eq!(terms(&"é".repeat(1000)).counts[0].0.len(), TERM_BYTES_MAX);
    }
}
