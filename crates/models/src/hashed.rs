//! What can be said of a text without any model? Which words it has, and which pieces of words.
//!
//! For tests, and for machines without a model: texts that share words or parts of words lie close, others do not. It
//! understands nothing. The same text gives the same vector on every machine, and always will under this name.
//!
//! # The form, version 1
//!
//! Words are those of search: lower case, stemmed. A word is a feature `w:` + word. With `<` before and `>` behind it,
//! each run of 3, 4 or 5 of its characters is a feature `p:` + run. A word that occurs n times weighs the square root of
//! n, a fifth of that if it is one of `COMMON_WORDS`; its pieces weigh the same each, and together, by the sum of their
//! squares, as much as the word. A text of no words is taken as one word, a blank one is `w:` alone.
//!
//! The hash of a feature is FNV-1a with 64 bits over its UTF-8 bytes, then the finish of splitmix64. Modulo 384 it is the
//! place in the vector; its highest bit set, the weight is taken off there, else added. The sum is brought to unit length.

use crate::{text, vector};
use tabellion_core::text::terms;
use tabellion_engine::ports::{EmbedError, Embedder};

/// How long the vectors are.
const DIMENSIONS: usize = 384;
/// A call of so many texts is still short.
const TEXTS_MAX: usize = 256;
/// How long the pieces of words are, in characters.
const PIECES: [usize; 3] = [3, 4, 5];
/// The weight of a word that says little.
const COMMON_WEIGHT: f32 = 0.2;

/// Words that say little, as search stems them, in order.
const COMMON_WORDS: [&str; 40] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "do", "for", "from", "had", "has",
    "have", "he", "her", "his", "i", "in", "is", "it", "my", "not", "of", "on", "or", "our", "she", "that",
    "the", "they", "this", "to", "was", "we", "were", "with", "you",
];

/// The embedder without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hashed;

impl Embedder for Hashed {
    fn model(&self) -> &str {
        "hashed-ngrams@1"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch_texts_max(&self) -> usize {
        TEXTS_MAX
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector_of(text::beginning(text))).collect())
    }
}

fn vector_of(text: &str) -> Vec<f32> {
    let mut sums = vec![0.0; DIMENSIONS];
    let words = terms(text).words;
    for (word, places) in &words {
        let common = if COMMON_WORDS.binary_search(&word.as_str()).is_ok() { COMMON_WEIGHT } else { 1.0 };
        add_word(&mut sums, word, (places.len() as f32).sqrt() * common);
    }
    if words.is_empty() {
        add_word(&mut sums, text.trim(), 1.0);
    }
    if !vector::to_unit_length(&mut sums) {
        // The features took each other off, to the last one. No text is known that does this.
        sums.iter_mut().take(1).for_each(|first| *first = 1.0);
    }
    sums
}

fn add_word(sums: &mut [f32], word: &str, weight: f32) {
    add_feature(sums, Fnv::of(b"w:").then(word.as_bytes()), weight);
    if word.is_empty() {
        return;
    }
    let marked = format!("<{word}>");
    let starts: Vec<usize> = marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
    let pieces = PIECES.iter().flat_map(|length| {
        starts.iter().zip(starts.iter().skip(*length)).filter_map(|(from, to)| marked.get(*from..*to))
    });
    let count: usize = PIECES.iter().map(|length| starts.len().saturating_sub(*length)).sum();
    let share = weight / (count.max(1) as f32).sqrt();
    for piece in pieces {
        add_feature(sums, Fnv::of(b"p:").then(piece.as_bytes()), share);
    }
}

fn add_feature(sums: &mut [f32], hash: Fnv, weight: f32) {
    let hash = hash.finish();
    let signed = if hash >> 63 == 1 { -weight } else { weight };
    let place = usize::try_from(hash % DIMENSIONS as u64).ok().and_then(|place| sums.get_mut(place));
    place.into_iter().for_each(|sum| *sum += signed);
}

/// FNV-1a with 64 bits.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    fn of(bytes: &[u8]) -> Self {
        Self(0xcbf2_9ce4_8422_2325).then(bytes)
    }

    fn then(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// FNV's low and high bits are not independent; splitmix64's finish makes them so.
    fn finish(self) -> u64 {
        let hash = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f32 {
        vector_of(a).iter().zip(vector_of(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(Fnv::of(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv::of(b"foobar").0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn vectors_have_unit_length_whatever_the_text() {
        for text in ["", " \n", "a", "!!", "🦀", "東京タワー", &"word ".repeat(10_000), "\u{0}"] {
            let found = vector_of(text);
            let length: f32 = found.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-5 && found.len() == DIMENSIONS, "{text:?}: {length}");
        }
        assert_eq!(vector_of(""), vector_of(" \t\n"));
        assert_ne!(vector_of("🦀"), vector_of("🐍"));
    }

    #[test]
    fn shared_words_and_pieces_bring_texts_together() {
        let same = likeness("the deployment window is Tuesday", "deployments happen in a window on Tuesday");
        let related = likeness("postgresql timeouts", "postgres timed out");
        let other = likeness("the deployment window is Tuesday", "my cat likes warm milk");
        assert!(same > 0.6 && related > 0.15 && other.abs() < 0.1, "{same} {related} {other}");
    }

    #[test]
    fn common_words_are_in_order() {
        assert!(COMMON_WORDS.is_sorted());
    }
}
