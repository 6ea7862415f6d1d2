//! How candidates are ordered.
//!
//! First relevance: how well a text answers the question, from its words, its meaning and what stands around it. Then
//! utility: relevance weighed with how far the text can be relied on.

mod dates;
mod hybrid;
mod question;
mod related;
mod stop;
pub(crate) use stop::is_stop;
mod words;

pub use dates::{Days, day, days_named, days_off};
pub use hybrid::{Knob, dense, depth, dot, hybrid, lexical, nearest};
pub use question::{Places, Question, Relevant};
pub use related::related;

use crate::item::Layer;
use crate::time::Period;

/// BM25's saturation of a repeated word.
const K1: f64 = 0.9;
/// BM25's weight of the length of a text.
const B: f64 = 0.4;

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

/// What is known of how far a version can be relied on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// What the writer claimed, 0 to 1.
    pub confidence: f64,
    /// How well its evidence supports it, 0 to 1.
    pub fact: f64,
    /// The mean authority of its evidence, 0 to 1.
    pub authority: f64,
    /// The highest authority of its evidence, 0 to 1.
    pub authority_max: f64,
    /// Whether a person approved it.
    pub approved: bool,
}

impl Standing {
    /// Confidence as the evidence bears it out (GOV-4.4).
    #[must_use]
    pub fn adjusted_confidence(&self) -> f64 {
        let approved = if self.approved { 1.0 } else { 0.0 };
        0.15 * self.confidence + 0.30 * self.fact + 0.25 * self.authority + 0.30 * approved
    }

    /// What results are ordered by (GOV-4.6).
    #[must_use]
    pub fn utility(&self, relevance: f64, freshness: f64) -> f64 {
        0.55 * relevance + 0.20 * self.adjusted_confidence() + 0.15 * freshness + 0.10 * self.authority_max
    }
}

/// How fresh something of this age is, 1 when new. Each layer forgets at its own pace (GOV-7.2).
#[must_use]
pub fn freshness(layer: Layer, age: Period) -> f64 {
    let days = age.as_micros() as f64 / 86_400e6;
    let pace = match layer {
        Layer::Working => 0.0,
        Layer::Session => 0.5 * 24.0,
        Layer::Episodic => 0.01,
        Layer::Semantic => 0.001,
        Layer::Procedural => 0.0005,
    };
    (-pace * days).exp()
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

    fn standing(approved: bool) -> Standing {
        Standing { confidence: 0.8, fact: 0.95, authority: 0.95, authority_max: 0.95, approved }
    }

    /// GOV-4.4: the figures of its acceptance.
    #[test]
    fn adjusted_confidence_has_the_figures_of_the_table() {
        assert!((standing(false).adjusted_confidence() - 0.6425).abs() < 1e-12);
        assert!((standing(true).adjusted_confidence() - 0.9425).abs() < 1e-12);
    }

    /// GOV-4.6: the four parts with their weights; each of them can decide between equals.
    #[test]
    fn utility_weighs_relevance_confidence_freshness_and_authority() {
        let plain = standing(false);
        assert!((plain.utility(1.0, 1.0) - (0.55 + 0.2 * 0.6425 + 0.15 + 0.095)).abs() < 1e-12);
        assert!(plain.utility(0.5, 0.5) < plain.utility(0.6, 0.5));
        assert!(plain.utility(0.5, 0.5) < plain.utility(0.5, 0.6));
        assert!(plain.utility(0.5, 0.5) < standing(true).utility(0.5, 0.5));
        let cited = Standing { authority_max: 1.0, ..plain };
        assert!(plain.utility(0.5, 0.5) < cited.utility(0.5, 0.5));
    }

    #[test]
    fn what_is_newer_is_fresher_and_layers_keep_their_pace() {
        let (day, year) = (Period::from_days(1), Period::from_days(365));
        assert!(freshness(Layer::Episodic, day) > freshness(Layer::Episodic, year));
        assert!(freshness(Layer::Procedural, year) > freshness(Layer::Semantic, year));
        assert!((freshness(Layer::Episodic, Period::from_secs(0)) - 1.0).abs() < 1e-12);
    }
}
