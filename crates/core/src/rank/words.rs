//! The words of a question, each with the texts that hold it.

use super::question::{Places, Question};
use super::stop::is_stop;
use crate::view::Row;

/// A word of a question and the texts in the scope that hold it.
pub(super) struct Word {
    /// How much it counts.
    pub(super) weight: f64,
    /// Rows in order, each with how strongly it holds the word.
    texts: Vec<(Row, f64)>,
}

impl Word {
    /// How strongly a text holds the word, 0 if not at all.
    pub(super) fn strength(&self, row: Row) -> f64 {
        let found = self.texts.binary_search_by_key(&row, |(known, _)| *known);
        found.ok().and_then(|at| self.texts.get(at)).map_or(0.0, |(_, strength)| *strength)
    }

    /// Every text that holds it.
    pub(super) fn texts(&self) -> &[(Row, f64)] {
        &self.texts
    }
}

/// The words that say what a question is about; all of them if that would leave none.
pub(super) fn telling<'a>(question: &'a Question<'_>, is_name: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    let all = || question.words.iter().map(String::as_str);
    let telling: Vec<&str> = all().filter(|word| !is_stop(word) && !is_name(word)).collect();
    if telling.is_empty() { all().collect() } else { telling }
}

/// These words, with the texts in the scope that hold them.
pub(super) fn found(places: &Places<'_>, words: &[&str]) -> Vec<Word> {
    let corpus = places.index.lexical.corpus(places.scope.predicate);
    let word = |word: &&str| {
        let texts = places.index.lexical.texts_with(word, &|row| places.admits(row));
        let corpus = super::Corpus { texts: corpus.texts.max(texts.len() as u64), ..corpus };
        let weight = corpus.word_weight(texts.len() as u64);
        let strength = |(row, count, length)| (row, corpus.bm25(1.0, count, length));
        Word { weight, texts: texts.into_iter().map(strength).collect() }
    };
    words.iter().map(word).filter(|word| !word.texts.is_empty()).collect()
}
