//! How candidates are ordered.

/// BM25's saturation of a repeated word.
const K1: f64 = 1.2;
/// BM25's weight of the length of a text.
const B: f64 = 0.75;

/// What BM25 must know of a corpus; taken from what the caller may see, so a rank tells nothing of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corpus {
    /// Visible texts.
    pub texts: u64,
    /// Words in all of them.
    pub words: u64,
}

impl Corpus {
    /// How much a word counts that `with_word` visible texts hold.
    #[must_use]
    pub fn word_weight(&self, with_word: u64) -> f64 {
        let (n, df) = (self.texts as f64, with_word as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    /// What one word adds to the score of a text.
    #[must_use]
    pub fn bm25(&self, word_weight: f64, count: u32, length: u32) -> f64 {
        let mean = if self.texts == 0 { 1.0 } else { (self.words as f64 / self.texts as f64).max(1.0) };
        let count = f64::from(count);
        word_weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * f64::from(length) / mean))
    }
}

/// A score without upper bound brought into 0 to 1, order kept.
#[must_use]
pub fn relevance(score: f64) -> f64 {
    score / (score + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_words_count_more_and_shorter_texts_win() {
        let corpus = Corpus { texts: 100, words: 1000 };
        assert!(corpus.word_weight(1) > corpus.word_weight(50));
        assert!(corpus.word_weight(100) > 0.0);
        assert!(corpus.bm25(1.0, 1, 5) > corpus.bm25(1.0, 1, 50));
        assert!(corpus.bm25(1.0, 3, 10) > corpus.bm25(1.0, 1, 10));
        assert!(relevance(1.0) < relevance(2.0) && relevance(1e9) <= 1.0);
    }
}
