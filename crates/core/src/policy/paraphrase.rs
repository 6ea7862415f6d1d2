//! The step `paraphrase` without a model: sentences about people are dropped, and only the first few others kept.

use super::names::{Names, named};
use super::stand_in::StandIns;
use super::words::words;
use unicode_segmentation::UnicodeSegmentation;

/// Sentences that are kept unless a policy says fewer.
pub const SENTENCES_KEPT: usize = 5;

/// Pronouns of the first and second person.
const PRONOUNS: [&str; 19] = [
    "i",
    "me",
    "my",
    "mine",
    "myself",
    "we",
    "us",
    "our",
    "ours",
    "ourselves",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
    "thou",
    "thee",
    "thy",
    "thine",
];

/// The first sentences of a text that speak of nobody in the room or in the directory.
///
/// What an earlier step put in for a name counts as the name, so that hiding a name shows no further sentence.
#[must_use]
pub fn paraphrase(text: &str, names: &[&Names], stand_ins: &StandIns, keep: usize) -> String {
    let impersonal = |sentence: &&str| !is_personal(sentence, names, stand_ins);
    let sentences = text.split_sentence_bounds().map(str::trim).filter(|sentence| !sentence.is_empty());
    sentences.filter(impersonal).take(keep).collect::<Vec<_>>().join(" ")
}

fn is_personal(sentence: &str, names: &[&Names], stand_ins: &StandIns) -> bool {
    let tokens = stand_ins.tokens(sentence).len();
    stand_ins.all(sentence).len() > tokens
        || words(sentence).iter().any(|word| PRONOUNS.contains(&word.folded.as_str()))
        || !named(sentence, names, stand_ins).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{NameClass, Person};

    /// SHARE-17: sentences with first- or second-person pronouns or directory names go, five others stay.
    #[test]
    fn sentences_about_people_are_dropped() {
        let jane = Person { class: NameClass::User, name: "Jane".to_owned(), aliases: Vec::new() };
        let names = Names::of(&[jane]);
        let check = |text: &str, expected: &str| {
            assert_eq!(paraphrase(text, &[&names], &StandIns::default(), SENTENCES_KEPT), expected, "{text}");
        };
        check("I like tea. Tea is hot. Your cup is blue. Jane left.", "Tea is hot.");
        check("We'll see. It rains.\nMY word! Done.", "It rains. Done.");
        check("A. B. C. D. E. F. G.", "A. B. C. D. E.");
        check(
            "Person-ABC234 left. The door is [REDACTED:secret]. It is a user.",
            "The door is [REDACTED:secret].",
        );
        check("", "");
        check("you", "");
    }
}
