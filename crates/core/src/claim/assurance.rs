//! Words before a statement that only assure that it is so. Whoever says "It is a fact that the door is open" claims that the
//! door is open, no more and no less.

use super::words::Word;

/// What a sentence may begin with, word by word, each of them one of several.
const ASSURANCES: [&[&[&str]]; 10] = [
    &[IT, &["is"], SURE, &["that"]],
    &[IT, &["is"], HOW, SURE, &["that"]],
    &[&["the"], &["fact", "truth"], &["is"], &["that"]],
    &[ALL, &["knows", "agrees"], &["that"]],
    &[&["as"], ALL, &["knows", "agrees"]],
    &[&["we"], &["all"], &["know", "agree"], &["that"]],
    &[&["note", "remember"], &["that"]],
    &[&["please"], &["note", "remember"], &["that"]],
    &[&["in"], &["fact", "truth"]],
    &[&["for"], &["the"], &["record"]],
];
const IT: &[&str] = &["it"];
const ALL: &[&str] = &["everybody", "everyone"];
const HOW: &[&str] =
    &["a", "an", "the", "well", "widely", "generally", "commonly", "absolutely", "also", "now"];
const SURE: &[&str] = &[
    "fact",
    "known",
    "true",
    "truth",
    "certain",
    "clear",
    "confirmed",
    "established",
    "undisputed",
    "agreed",
];
/// Fewer words are no statement of their own.
const LEFT_MIN: usize = 2;

/// Takes them away, however many there are.
pub(super) fn take_away(words: &mut Vec<Word>) {
    while let Some(count) = ASSURANCES.iter().find(|one| begins(words, one)).map(|one| one.len()) {
        if words.len() < count + LEFT_MIN {
            return;
        }
        words.drain(..count);
    }
}

fn begins(words: &[Word], assurance: &[&[&str]]) -> bool {
    let is = |(word, any): (&Word, &&[&str])| !word.quoted && any.contains(&word.text.as_str());
    words.len() >= assurance.len() && words.iter().zip(assurance).all(is)
}

#[cfg(test)]
mod tests {
    use super::super::words::sentences;

    fn left(text: &str) -> String {
        let all = sentences(text);
        let words: Vec<&str> = all.iter().flat_map(|one| &one.words).map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    #[test]
    fn what_only_assures_is_left_out() {
        for before in [
            "It is a fact that",
            "it's well known that",
            "The truth is that",
            "As everybody knows,",
            "Note that it is true that",
            "In fact,",
            "We all know that, for the record,",
        ] {
            assert_eq!(left(&format!("{before} the door is open")), "the door is open", "{before}");
        }
    }

    #[test]
    fn what_doubts_or_denies_stays() {
        for text in [
            "it is not a fact that the door is open",
            "it is said that the door is open",
            "everyone agrees with bob",
            "it is true",
        ] {
            assert_eq!(left(text), text);
        }
    }
}
