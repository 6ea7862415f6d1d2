//! Numbers and letters that only name their noun: customer 12, step 4, port 8080 in "port 8080 is open", room B.
//!
//! A label tells which thing a statement is about. Two statements with different labels are about two things, so a label is
//! kept as a word, never as a value.

use super::lexicon::{Role, lexicon};
use super::quantity::{COUNT, ORDINAL, VERSION, Value};
use super::words::Word;

/// Where a number stands in its sentence.
pub(super) struct Place<'a> {
    /// The word before it, as written, and its stem.
    pub(super) before: Option<(&'a str, &'a str)>,
    /// The words after it.
    pub(super) after: &'a [Word],
    /// A verb was read before it.
    pub(super) after_verb: bool,
    /// The word before it ends its phrase, as a comma does.
    pub(super) apart: bool,
}

/// Whether a number only names the noun beside it.
pub(super) fn is_label(value: &Value, place: &Place<'_>) -> bool {
    match value.dim {
        COUNT => names_noun(place, true),
        VERSION => names_noun(place, false),
        // "the 2nd attempt", ahead of the verb: which attempt it is.
        ORDINAL => !place.after_verb && place.after.first().is_some_and(|next| !is_verb_like(next)),
        _ => false,
    }
}

fn names_noun(place: &Place<'_>, counted: bool) -> bool {
    let Some((written, stem)) = place.before.filter(|_| !place.apart) else { return false };
    if counted && lexicon().is_numbered(stem) {
        return true;
    }
    let labels = matches!(place.after, [colon, _, ..] if colon.text == ":");
    if counted && labels && !place.after_verb && lexicon().surface(written).is_none() {
        return true;
    }
    // Ahead of the verb and right behind a noun: "port 8080 is open", "release 2.1 supports ARM".
    let noun = lexicon().surface(written).is_none() && !written.ends_with("ed") && !written.ends_with("ly");
    !place.after_verb && noun && place.after.first().is_some_and(is_verb_like)
}

/// Whether a word can be the verb right after the subject.
fn is_verb_like(word: &Word) -> bool {
    let text = word.text.as_str();
    match lexicon().surface(text) {
        Some(Role::Be(_) | Role::Have(_) | Role::Aux(_) | Role::Modal | Role::Negator) => text != ":",
        Some(Role::Function) => matches!(text, "can" | "must" | "should" | "shall"),
        Some(_) => false,
        None => {
            let third = text.ends_with('s') && !text.ends_with("ss") && text.len() > 3;
            third || text.ends_with("ed") || lexicon().irregular(text).is_some_and(|(_, past)| past)
        }
    }
}

/// Whether a letter by itself is a label: "room B", "plan A".
pub(super) fn is_letter_label(word: &Word, before: Option<&str>) -> bool {
    let noun = before.is_some_and(|before| lexicon().surface(before).is_none());
    word.capital && word.text.len() == 1 && word.text != "i" && noun
}
