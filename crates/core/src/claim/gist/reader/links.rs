//! Which words of a text stand behind a preposition, and which stand side by side.

use super::Reader;
use crate::claim::gist::clause::is_verb;
use crate::claim::lexicon::{Role, lexicon};
use crate::claim::words::Word;

/// The bits of a link that say which kind of preposition a term stands behind.
pub(in crate::claim::gist) const LINKS: u8 = 15;
/// The first kind: where something is. The others follow it, in the order of `link_of`.
pub(in crate::claim::gist) const PLACED: u8 = 1;
/// Marks a term whose word directly follows that of the term before.
pub(in crate::claim::gist) const BESIDE: u8 = 16;

/// The kind of preposition that a word is, 0 if it ends the reach of one; none if that goes on.
fn link_of(words: &[Word], at: usize) -> Option<u8> {
    let text = words.get(at).map_or("", |word| word.text.as_str());
    Some(match text {
        "in" | "on" | "at" | "inside" | "outside" | "near" | "behind" | "under" | "above" | "into"
        | "within" | "along" | "onto" | "across" => PLACED,
        "for" | "towards" => PLACED + 1,
        "with" | "without" | "via" | "using" => PLACED + 2,
        "of" => PLACED + 3,
        "when" | "if" | "during" | "while" | "before" | "after" | "until" | "unless" | "whenever" | "as"
        | "since" => PLACED + 4,
        "to" | "from" | "by" | "than" | "over" => PLACED + 5,
        "the" | "a" | "an" | "my" | "our" | "his" | "her" | "their" | "its" => return None,
        _ if is_verb(words, at) => 0,
        _ => match lexicon().surface(text) {
            Some(
                Role::Pronoun
                | Role::Conjunction
                | Role::Link
                | Role::Modal
                | Role::Be(_)
                | Role::Have(_)
                | Role::Aux(_),
            ) => 0,
            _ => return None,
        },
    })
}

impl Reader<'_> {
    /// Notes which kind of preposition each term stands behind, and which terms stand side by side.
    pub(super) fn links(&mut self, words: &[Word], first: usize, places: &[usize]) {
        let mut behind = Vec::with_capacity(words.len());
        let mut link = 0;
        for (at, word) in words.iter().enumerate() {
            link = link_of(words, at).unwrap_or(link);
            behind.push(link);
            if word.stop {
                link = 0;
            }
        }
        self.gist.links.resize(first, 0);
        let mut before: Option<usize> = None;
        for place in places {
            let apart = place.checked_sub(1).and_then(|at| words.get(at)).is_none_or(|word| word.stop);
            let beside = before.is_some_and(|before| before + 1 == *place) && !apart;
            let link = behind.get(*place).copied().unwrap_or_default();
            self.gist.links.push(link | if beside { BESIDE } else { 0 });
            before = Some(*place);
        }
    }
}
