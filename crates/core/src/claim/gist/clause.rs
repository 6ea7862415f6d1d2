//! Where clauses begin and end, and what single words do in them.

use super::relations;
use super::tables::{BASE_VERBS, NOTES, PEOPLE, REPORTS};
use super::vocabulary::{WORDS, stem_of};
use crate::claim::lexicon::{Role, lexicon};
use crate::claim::words::Word;

/// Words of a report that stands before what is reported.
const REPORT_MAX: usize = 8;
/// Words before the colon of a label.
const LABEL_MAX: usize = 7;

/// "A friend of mine", "a customer": one of many.
pub(super) fn is_person(words: &[Word]) -> bool {
    let person = |word: &Word| PEOPLE.split_whitespace().any(|one| one == word.text);
    words.get(1).is_some_and(person) || words.iter().take(5).any(|word| word.text == "mine")
}

/// Whether a sentence seems to open with a name: one word that is no plural, before a verb or as an owner.
pub(super) fn opens_with_name(words: &[Word]) -> bool {
    let Some(first) = words.first() else { return false };
    let singular = words.get(1).is_some_and(|next| {
        let third = next.text.ends_with('s') && !next.text.ends_with("ss") && next.text.len() > 3;
        third || matches!(next.text.as_str(), "is" | "has" | "does" | "was")
    });
    let plural = first.text.ends_with('s') && !first.owner && !singular;
    let verb = words.get(1).is_some_and(|next| {
        let third =
            next.text.ends_with('s') && !next.text.ends_with("ss") && next.text.len() > 3 && !next.capital;
        is_verb(words, 1) && next.text != ":"
            || (third && lexicon().surface(&next.text).is_none())
            || next.text == "and" && words.get(2).is_some_and(|word| word.capital)
    });
    let full = words.get(1).is_some_and(|next| next.capital) && !first.stop;
    let called = matches!(
        first.text.as_str(),
        "grandma" | "grandpa" | "uncle" | "aunt" | "dad" | "mum" | "mom" | "papa"
    );
    let known =
        lexicon().surface(&first.text).is_some() || WORDS.light.contains(&stem_of(&first.text)) || called;
    !known && ((!plural && verb) || first.owner || full)
}

/// The parts of a word with dashes, unless it is an identifier.
pub(super) fn parts(word: &str) -> impl Iterator<Item = &str> {
    let free = word.ends_with("-free");
    let plain = !free && word.split('-').all(|part| part.len() > 2 && part.chars().all(char::is_alphabetic));
    word.split(move |c: char| plain && c == '-').filter(|part| !part.is_empty())
}

pub(super) fn phrase_is(words: &[Word], at: usize, phrase: &[&str]) -> bool {
    phrase.iter().zip(at..).all(|(word, at)| words.get(at).is_some_and(|found| found.text == *word))
}

/// What "impassable" and "inaccessible" deny.
pub(super) fn denied_adjective(word: &str) -> Option<&str> {
    let rest = ["im", "in", "ir", "dis"].iter().find_map(|prefix| word.strip_prefix(prefix))?;
    (rest.len() >= 6 && ["able", "ible", "ective"].iter().any(|end| rest.ends_with(end))).then_some(rest)
}

/// "cut his leave short", "gave swimming up", "switched the sync off".
pub(super) fn ends_apart(words: &[Word], at: usize) -> bool {
    let last: &[&str] = match words.get(at).map_or("", |word| word.text.as_str()) {
        "cut" => &["short", "loose", "off"],
        "gave" | "given" => &["up"],
        "turned" | "switched" | "called" | "took" | "taken" | "broke" | "laid" => &["off"],
        "shut" | "closed" => &["down"],
        "phased" | "ruled" => &["out"],
        "threw" | "put" => &["away"],
        _ => return false,
    };
    words
        .iter()
        .skip(at + 1)
        .take(4)
        .take_while(|word| !word.stop || last.contains(&word.text.as_str()))
        .any(|word| last.contains(&word.text.as_str()))
}

/// Whether a denial is said of something that need not be so: "when there are no seats", "encourages him not to give up".
pub(super) fn is_aside(words: &[Word], at: usize) -> bool {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let back = |back: usize| at.checked_sub(back).map_or("", text);
    let condition = |word: &str| {
        matches!(word, "when" | "if" | "while" | "whenever" | "despite" | "unless" | "until" | "where")
    };
    let aux = matches!(
        lexicon().surface(back(1)),
        Some(Role::Be(_) | Role::Have(_) | Role::Aux(_) | Role::Modal | Role::Function)
    );
    let asked = (1..=3).any(|step| matches!(back(step), "asked" | "asks" | "told" | "prefers" | "wants"));
    (1..=3).any(|step| condition(back(step)))
        || (text(at + 1) == "to" && !asked)
        || back(1) == "did"
        || (text(at + 1).ends_with("ing") && !aux && text(at) == "not")
}

/// Where the clause of a word ends: the place after its last word.
pub(super) fn clause_end(words: &[Word], at: usize) -> usize {
    let ends = |place: &usize| {
        let stop = words.get(*place).is_some_and(|word| word.stop);
        let next = words.get(place + 1).map(|word| word.text.as_str());
        stop || next.is_none_or(|next| {
            matches!(
                next,
                "but"
                    | "so"
                    | "because"
                    | "and"
                    | "since"
                    | "which"
                    | "who"
                    | "that"
                    | "as"
                    | "until"
                    | "unless"
                    | "except"
                    | "before"
                    | "if"
                    | "when"
            ) && *place >= at
        })
    };
    (at..words.len()).find(ends).map_or(words.len(), |place| place + 1)
}

/// Where the clause of a word begins.
pub(super) fn clause_start(words: &[Word], at: usize) -> usize {
    let starts = |place: &usize| {
        let before = place.checked_sub(1).and_then(|before| words.get(before));
        let stop = before.is_none_or(|before| before.stop);
        stop || words
            .get(*place)
            .is_some_and(|word| matches!(word.text.as_str(), "but" | "so" | "because" | "and" | "since"))
    };
    (0..=at).rev().find(starts).unwrap_or(0)
}

/// "The signed contract": the participle tells which one.
pub(super) fn is_attributive(words: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |word| word.text.as_str());
    matches!(
        before,
        "the" | "a" | "an" | "my" | "our" | "their" | "his" | "her" | "this" | "all" | "every" | "each"
    )
}

/// "Asked for a ribeye": the one it is about is left out.
pub(super) fn opens_with_verb(words: &[Word]) -> bool {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    text(0).ends_with("ed")
        && matches!(
            text(1),
            "for"
                | "to"
                | "us"
                | "me"
                | "the"
                | "that"
                | "his"
                | "her"
                | "their"
                | "if"
                | "up"
                | "out"
                | "off"
                | "from"
        )
}

/// Whether a verb must come before this word.
fn is_auxiliary(text: &str) -> bool {
    matches!(
        text,
        "may"
            | "must"
            | "can"
            | "should"
            | "shall"
            | "have"
            | "are"
            | "need"
            | "get"
            | "do"
            | "were"
            | "will"
            | "cannot"
    )
}

/// Where the words begin that tell what a sentence is about: behind "for dinner bookings:", "on flights", "the tests show that".
pub(super) fn subject_start(words: &[Word], verb: usize) -> usize {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let reported = (1..words.len().min(REPORT_MAX)).find(|at| {
        text(*at) == "that"
            && text(at - 1) != "so"
            && words.get(..*at).is_some_and(|front| {
                front.iter().any(|word| REPORTS.split_whitespace().any(|verb| verb == word.text))
            })
    });
    if let Some(that) = reported {
        return that + 1;
    }
    let behind_label =
        |at: usize| words.get(at + 1..).is_some_and(|rest| (0..rest.len()).any(|place| is_verb(rest, place)));
    let label = (0..words.len().min(LABEL_MAX)).find(|at| text(*at) == ":");
    let preposition = |word: &str| {
        matches!(
            word,
            "for"
                | "when"
                | "on"
                | "in"
                | "during"
                | "at"
                | "while"
                | "whenever"
                | "with"
                | "after"
                | "before"
                | "since"
                | "as"
                | "per"
                | "by"
                | "until"
                | "from"
        )
    };
    if let Some(label) = label.filter(|at| {
        *at <= verb
            && behind_label(*at)
            && (preposition(text(0))
                || (0..*at).any(|place| NOTES.split_whitespace().any(|note| note == text(place))))
    }) {
        return label + 1;
    }
    if !preposition(text(0)) {
        return 0;
    }
    let opens = |at: &usize| {
        words.get(at - 1).is_some_and(|before| before.stop)
            || (*at > 1
                && matches!(
                    text(*at),
                    "the"
                        | "a"
                        | "an"
                        | "my"
                        | "our"
                        | "his"
                        | "her"
                        | "their"
                        | "we"
                        | "i"
                        | "he"
                        | "she"
                        | "they"
                        | "it"
                        | "user"
                )
                && !preposition(text(at - 1)))
    };
    (2..verb.min(words.len())).find(opens).unwrap_or(0)
}

/// Whether the verb of a clause may stand here.
pub(in crate::claim) fn is_verb(words: &[Word], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let text = word.text.as_str();
    let adverb = |word: &&Word| {
        matches!(
            word.text.as_str(),
            "always" | "usually" | "often" | "now" | "still" | "never" | "generally" | "normally" | "mostly"
        )
    };
    let before = words
        .get(..at)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(3)
        .find(|word| !adverb(word))
        .map_or("", |word| word.text.as_str());
    let next = words.get(at + 1).map_or("", |word| word.text.as_str());
    // "Team leads may": a noun, for the verb is still to come.
    let noun = lexicon().surface(text).is_none() && is_auxiliary(next) && text.ends_with('s');
    if noun || (word.capital && at > 0 && relations::is_verb(text)) {
        return false;
    }
    let person = matches!(before, "i" | "we" | "you" | "they" | "he" | "she")
        && !matches!(lexicon().surface(text), Some(Role::Filler));
    if person && !word.stop {
        return true;
    }
    let after_user =
        at <= 3 && matches!(before, "user" | "client" | "customer" | "patient" | "team" | "guest");
    if after_user && text.ends_with('s') && !text.ends_with("ss") && lexicon().surface(text).is_none() {
        return true;
    }
    let plural = before.ends_with('s')
        && !word.stop
        && at > 0
        && BASE_VERBS.split_whitespace().any(|verb| verb == text);
    if plural {
        return true;
    }
    match lexicon().surface(text) {
        Some(Role::Be(_) | Role::Have(_) | Role::Aux(_) | Role::Modal) => true,
        Some(Role::Function) => matches!(text, "can" | "must" | "should" | "shall"),
        Some(_) => false,
        None if text == "may" => !word.capital && at > 0,
        None => {
            relations::is_verb(text)
                || (at > 0 && !word.capital && lexicon().irregular(text).is_some_and(|(_, past)| past))
        }
    }
}
