//! What is asked, and of which texts.

use super::dates::Days;
use crate::policy::Classes;
use crate::text;
use crate::vector::{Effort, VectorView};
use crate::view::{Index, ItemsView, LexicalView, Row, Scope};
use roaring::RoaringBitmap;

/// What is asked, taken apart.
#[derive(Debug, Clone, Default)]
pub struct Question<'a> {
    /// Its words, stemmed, each once, in order.
    pub words: Vec<String>,
    /// Runs of words that were quoted, stemmed.
    pub phrases: Vec<Vec<String>>,
    /// The rows that hold all of them; none if nothing was quoted.
    pub quoting: Option<RoaringBitmap>,
    /// What it means.
    pub vector: Option<&'a [f32]>,
    /// The days that it names, in one reading or several.
    pub days: Vec<Days>,
}

impl Question<'_> {
    /// The words and the quoted phrases of a query.
    #[must_use]
    pub fn of(query: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in text::words(query) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        // Every second part of a text that is split at quotes is a quotation, if another quote ends it.
        let parts: Vec<&str> = query.split('"').collect();
        let closed = parts.len().saturating_sub(1);
        let quoted = parts.iter().take(closed).skip(1).step_by(2);
        let phrases = quoted.map(|phrase| text::words(phrase)).filter(|phrase| !phrase.is_empty()).collect();
        Self { words, phrases, ..Self::default() }
    }

    /// Finds the rows that hold what was quoted, as far as they are not redacted.
    pub fn find_quoting(&mut self, lexical: &LexicalView, redacted: Classes) {
        self.quoting = self
            .phrases
            .iter()
            .map(|phrase| lexical.with_phrase(phrase, redacted).into_iter().collect::<RoaringBitmap>())
            .reduce(|all, holding| all & holding);
    }
}

/// The texts that are asked, as one caller may see them at one moment.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Items and versions.
    pub items: &'a ItemsView,
    /// Words and sessions.
    pub index: &'a Index,
    /// Meanings, where there are any.
    pub vectors: Option<&'a VectorView>,
    /// What may be found.
    pub scope: &'a Scope<'a>,
    /// The rows among which all that may be found is.
    pub rows: &'a RoaringBitmap,
    /// Whether approximation is welcome.
    pub effort: Effort,
    /// The root of how far each row is trusted (CAL-35).
    pub roots: &'a [f32],
}

impl Places<'_> {
    /// Whether a row may be found.
    pub(super) fn admits(&self, row: Row) -> bool {
        self.rows.contains(row) && self.scope.admits_row(self.items, row)
    }
}

/// A text, and how well it answers, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relevant {
    /// The version.
    pub row: Row,
    /// How well.
    pub relevance: f64,
}

/// The best `k`, ties to the newer.
pub(super) fn best(mut found: Vec<Relevant>, k: usize) -> Vec<Relevant> {
    let order =
        |a: &Relevant, b: &Relevant| b.relevance.total_cmp(&a.relevance).then_with(|| b.row.cmp(&a.row));
    if k == 0 {
        return Vec::new();
    }
    if found.len() > k {
        found.select_nth_unstable_by(k - 1, order);
    }
    found.truncate(k);
    found.sort_unstable_by(order);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_phrases_and_an_open_quote_is_none() {
        let question = Question::of("who said \"to be or\" and \"not\" to be \"open");
        let phrases: Vec<String> = question.phrases.iter().map(|words| words.join(" ")).collect();
        assert_eq!(phrases, ["to be or", "not"]);
        assert_eq!(question.words.iter().filter(|word| *word == "be").count(), 1);
        assert!(Question::of("a \"\" b").phrases.is_empty());
    }

    #[test]
    fn the_best_are_in_order_and_ties_go_to_the_newer() {
        let found = |row: Row, relevance: f64| Relevant { row, relevance };
        let all = vec![found(1, 0.5), found(2, 0.5), found(3, 0.9), found(4, 0.1)];
        let rows = |k| best(all.clone(), k).iter().map(|one| one.row).collect::<Vec<_>>();
        assert_eq!(rows(3), [3, 2, 1]);
        assert_eq!(rows(9), [3, 2, 1, 4]);
        assert!(rows(0).is_empty());
    }
}
