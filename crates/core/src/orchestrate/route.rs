//! Who is asked, and does a text answer, where no model says so?

use crate::rank::is_stop;
use crate::text::words;
use std::collections::BTreeSet;

/// An agent whose specialisation is less like a question is not asked.
const LIKENESS_MIN: f64 = 0.15;
/// Nor is one that is less like it than this share of the nearest.
const SHARE_OF_BEST: f64 = 0.5;

/// The words of a text that say something, each once.
pub(super) fn telling(text: &str) -> BTreeSet<String> {
    words(text).into_iter().filter(|word| !is_stop(word)).collect()
}

/// How alike two texts are by their words, 0 to 1: the cosine of the words that say something, where no vector does.
#[must_use]
pub fn likeness(one: &str, other: &str) -> f64 {
    let (one, other) = (telling(one), telling(other));
    let common = one.intersection(&other).count() as f64;
    if common == 0.0 { 0.0 } else { common / (one.len() as f64 * other.len() as f64).sqrt() }
}

/// Whether every word of a question that says something stands in a text. A question of none is covered by nothing: what is
/// like another question is not yet its answer.
#[must_use]
pub fn covers(text: &str, question: &str) -> bool {
    let asked = telling(question);
    let said: BTreeSet<String> = words(text).into_iter().collect();
    !asked.is_empty() && asked.is_subset(&said)
}

/// Whom to ask, by how like the question each one's specialisation is: nearest first, equal ones in the order given, and no
/// one who is too far off.
#[must_use]
pub fn ordered(likenesses: &[f64]) -> Vec<usize> {
    let sound = |likeness: f64| if likeness.is_finite() { likeness } else { 0.0 };
    let best = likenesses.iter().copied().map(sound).fold(0.0, f64::max);
    let floor = LIKENESS_MIN.max(best * SHARE_OF_BEST);
    let mut places: Vec<(usize, f64)> = likenesses
        .iter()
        .copied()
        .map(sound)
        .enumerate()
        .filter(|(_, likeness)| *likeness >= floor)
        .collect();
    places.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    places.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SHARE-24: by likeness, nearest first; who is far off, or far behind the nearest, is not asked.
    #[test]
    fn the_nearest_is_asked_first() {
        assert_eq!(ordered(&[0.2, 0.6, 0.31, 0.14]), [1, 2]);
        assert_eq!(ordered(&[0.2, 0.2, 0.16]), [0, 1, 2]);
        assert_eq!(ordered(&[0.1, f64::NAN]), Vec::<usize>::new());
        assert_eq!(ordered(&[]), Vec::<usize>::new());
    }

    #[test]
    fn words_that_say_nothing_are_not_compared() {
        assert!(likeness("What is the price of steel?", "steel prices and the market") > 0.5);
        assert_eq!(likeness("what is the", "what is the"), 0.0);
    }

    /// SHARE-24: another metal's price is no answer, however alike the two questions are.
    #[test]
    fn a_text_answers_only_what_it_names() {
        assert!(covers("Price of steel: steel costs 5 EUR in May", "What is the price of steel?"));
        assert!(!covers("Price of copper: copper costs 9 EUR", "What is the price of steel?"));
        assert!(!covers("anything", "what is it?"));
    }

    proptest! {
        /// Nobody twice, nobody who is not there, and everybody in order.
        #[test]
        fn each_is_asked_once_at_most(likenesses in proptest::collection::vec(-1.0..1.0f64, 0..20)) {
            let places = ordered(&likenesses);
            let once: BTreeSet<usize> = places.iter().copied().collect();
            prop_assert_eq!(once.len(), places.len());
            prop_assert!(places.iter().all(|place| likenesses[*place] >= LIKENESS_MIN));
            prop_assert!(places.windows(2).all(|two| likenesses[two[0]] >= likenesses[two[1]]));
        }
    }
}
