//! Words that stand for each other in every statement, and words that add nothing.
//!
//! By form, not by stem: "has a cat" and "has cats" are two facts. A pair that differs in any common use is not here.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Say nothing before another word.
const LIGHT: [&str; 11] =
    ["a", "an", "the", "also", "just", "really", "very", "quite", "actually", "indeed", "simply"];

/// The first of each group stands for all.
const ALIKE: &[&str] = &[
    "0 zero",
    "2 two",
    "3 three",
    "4 four",
    "5 five",
    "6 six",
    "7 seven",
    "8 eight",
    "9 nine",
    "10 ten",
    "11 eleven",
    "12 twelve",
    "allow permit",
    "allows permits",
    "allowed permitted",
    "analyze analyse",
    "analyzed analysed",
    "assist help",
    "assists helps",
    "assisted helped",
    "begin start commence",
    "begins starts commences",
    "began started commenced",
    "behavior behaviour",
    "big large",
    "bigger larger",
    "biggest largest",
    "buy purchase",
    "buys purchases",
    "bought purchased",
    "buying purchasing",
    "car automobile",
    "cars automobiles",
    "center centre",
    "centers centres",
    "color colour",
    "colors colours",
    "colored coloured",
    "display show",
    "displays shows",
    "displayed showed",
    "doctor physician",
    "doctors physicians",
    "fast quick rapid",
    "faster quicker",
    "fastest quickest",
    "quickly rapidly",
    "favor favour",
    "favorite favourite",
    "favorites favourites",
    "flavor flavour",
    "frequently often",
    "currently presently",
    "gray grey",
    "film movie",
    "films movies",
    "live reside",
    "lives resides",
    "lived resided",
    "honor honour",
    "immediately instantly",
    "labor labour",
    "mandatory obligatory",
    "neighbor neighbour",
    "neighbors neighbours",
    "organization organisation",
    "organizations organisations",
    "organize organise",
    "organizes organises",
    "organized organised",
    "phone telephone",
    "phones telephones",
    "photo photograph",
    "photos photographs",
    "roughly approximately",
    "select choose",
    "selects chooses",
    "selected chose",
    "television tv",
    "theater theatre",
    "use utilize utilise",
    "uses utilizes utilises",
    "used utilized utilised",
    "using utilizing utilising",
    "whole entire",
];

/// "every night" as one word.
const PERIODS: [(&str, &str); 7] = [
    ("hour", "hourly"),
    ("day", "daily"),
    ("night", "nightly"),
    ("week", "weekly"),
    ("month", "monthly"),
    ("quarter", "quarterly"),
    ("year", "yearly"),
];

static STANDS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let group = |group: &&'static str| {
        let first = group.split(' ').next().unwrap_or_default();
        group.split(' ').map(move |word| (word, first)).collect::<Vec<_>>()
    };
    ALIKE.iter().flat_map(group).collect()
});

/// The word that stands for this one; itself, if there is none.
pub(super) fn stands_for(word: &str) -> &str {
    STANDS.get(word).copied().unwrap_or(word)
}

/// Whether a word adds nothing to the one after it.
pub(super) fn is_light(word: &str) -> bool {
    LIGHT.contains(&word)
}

/// The one word for "every" and a period.
pub(super) fn every(first: &str, second: &str) -> Option<&'static str> {
    let each = matches!(first, "every" | "each");
    PERIODS.iter().find(|(period, _)| each && *period == second).map(|(_, word)| *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-3.4: a word stands in one group, so that standing for each other is an equivalence.
    #[test]
    fn a_word_is_in_one_group() {
        let words: Vec<&str> = ALIKE.iter().flat_map(|group| group.split(' ')).collect();
        assert_eq!(words.len(), STANDS.len());
        assert!(ALIKE.iter().all(|group| group.split(' ').count() > 1));
        assert!(
            words
                .iter()
                .all(|word| !LIGHT.contains(word) && stands_for(stands_for(word)) == stands_for(word))
        );
    }
}
