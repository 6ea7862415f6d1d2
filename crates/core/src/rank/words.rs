//! The words of a question, each with the texts that hold it.

use super::Corpus;
use super::question::{Places, Question};
use super::stop::is_stop;
use crate::view::{Held, Row};

/// A corpus of so many texts has words enough: those that a quarter of the texts hold are left out.
const COMMON_TEXTS_MIN: u64 = 1_000;
const COMMON_SHARE: u64 = 4;

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
}

/// The words that say what a question is about; all of them if that would leave none.
pub(super) fn telling<'a>(question: &'a Question<'_>, is_name: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    let all = || question.words.iter().map(String::as_str);
    let telling: Vec<&str> = all().filter(|word| !is_stop(word) && !is_name(word)).collect();
    if telling.is_empty() { all().collect() } else { telling }
}

/// These words, with the texts in the scope that hold them.
pub(super) fn found(places: &Places<'_>, words: &[&str]) -> Vec<Word> {
    let (lexical, redacted) = (&places.index.lexical, places.scope.redacted);
    let corpus = lexical.corpus(places.scope.predicate, redacted);
    let mut held: Vec<Vec<Held>> =
        words.iter().map(|word| lexical.texts_with(word, places.rows, redacted)).collect();
    held.retain(|texts| !texts.is_empty());
    let is_common = |texts: &Vec<Held>| {
        corpus.texts >= COMMON_TEXTS_MIN && texts.len() as u64 > corpus.texts / COMMON_SHARE
    };
    if !held.iter().all(is_common) {
        held.retain(|texts| !is_common(texts));
    }
    let words = held.into_iter().map(|texts| word(places, corpus, texts));
    words.filter(|word| !word.texts.is_empty()).collect()
}

fn word(places: &Places<'_>, corpus: Corpus, mut texts: Vec<Held>) -> Word {
    texts.retain(|text| places.scope.admits_row(places.items, text.row));
    let corpus = Corpus { texts: corpus.texts.max(texts.len() as u64), ..corpus };
    let strength = |text: &Held| (text.row, corpus.bm25(1.0, text.count, text.length));
    Word { weight: corpus.word_weight(texts.len() as u64), texts: texts.iter().map(strength).collect() }
}

/// Every text that holds one of the words, in order of rows, with the sum of what they count there.
pub(super) fn sums(words: &[Word]) -> Vec<(Row, f64)> {
    let mut sums: Vec<(Row, f64)> = Vec::new();
    for word in words {
        let mut next = word.texts.iter().peekable();
        let mut merged = Vec::with_capacity(sums.len() + word.texts.len());
        for (row, sum) in sums {
            while let Some((before, strength)) = next.next_if(|(other, _)| *other < row) {
                merged.push((*before, word.weight * strength));
            }
            let here = next.next_if(|(other, _)| *other == row).map_or(0.0, |(_, strength)| *strength);
            merged.push((row, sum + word.weight * here));
        }
        merged.extend(next.map(|(row, strength)| (*row, word.weight * strength)));
        sums = merged;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn sums_are_those_of_a_map() {
        let word = |weight: f64, rows: &[Row]| Word {
            weight,
            texts: rows.iter().map(|row| (*row, f64::from(*row) + 1.0)).collect(),
        };
        let words = [word(1.0, &[1, 4, 9]), word(0.5, &[0, 4, 7, 10]), word(2.0, &[]), word(3.0, &[4])];
        let mut expected: BTreeMap<Row, f64> = BTreeMap::new();
        for word in &words {
            for (row, strength) in &word.texts {
                *expected.entry(*row).or_default() += word.weight * strength;
            }
        }
        assert_eq!(sums(&words), expected.into_iter().collect::<Vec<_>>());
    }
}
