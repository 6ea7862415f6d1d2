//! The sides of opposites that a text takes: open or shut, on or off, in which language.

use super::Reader;
use crate::claim::gist::clause::is_verb;
use crate::claim::gist::tables::LANGUAGES;
use crate::claim::gist::vocabulary::{WORDS, stem_of};
use crate::claim::gist::{LANGUAGE, ORDER, SCOPE, Side, TOPICAL};
use crate::claim::hash24;
use crate::claim::lexicon::{Role, lexicon};
use crate::claim::words::Word;

impl Reader<'_> {
    pub(super) fn opposites(&mut self, words: &[Word], subject_end: usize) {
        let mut denied = false;
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            let role = lexicon().surface(text);
            if matches!(role, Some(Role::Negator | Role::No)) {
                denied = true;
                continue;
            }
            let language = LANGUAGES.split_whitespace().position(|one| one == text);
            let within =
                at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|before| before.text == "in");
            if let (Some(number), true) = (language, within) {
                self.gist.sides.push(Side {
                    axis: LANGUAGE,
                    side: number as u8,
                    denied,
                    word: hash24(&stem_of(text)),
                });
                continue;
            }
            let next = words.get(at + 1).map(|next| next.text.as_str());
            let switch = at > 0 && matches!(text, "on" | "off" | "up" | "down");
            let ended = word.stop
                || next.is_none_or(|next| {
                    matches!(next, "for" | "in" | "everywhere" | "since" | "now" | "by" | "and" | "at")
                });
            let verb = at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|before| {
                matches!(
                    before.text.as_str(),
                    "is" | "are"
                        | "turned"
                        | "switched"
                        | "stays"
                        | "remains"
                        | "now"
                        | "currently"
                        | "back"
                        | "kept"
                        | "left"
                )
            });
            let plain_switch = !matches!(text, "on" | "off" | "up" | "down") || (switch && verb && ended);
            let own = WORDS.opposites.get(text).filter(|_| plain_switch && !(word.capital && at > 0));
            // Turned round, the same order.
            if matches!(text, "before" | "after") {
                continue;
            }
            let known = match lexicon().of_stem(&stem_of(text)) {
                Some(Role::Axis { axis, side }) if plain_switch => {
                    Some((hash24(&format!("axis{axis}")), side))
                }
                Some(Role::State { set, side }) => Some((hash24(&format!("state{set}")), side)),
                Some(Role::Order { family, end }) => Some((ORDER | u32::from(family), u8::from(end))),
                _ => None,
            };
            let Some((axis, _)) = own.copied().or(known) else {
                denied &= !word.stop;
                continue;
            };
            // "the small pizza": which one, not what it is like.
            let noun = words.get(at + 1).is_some_and(|next| {
                !next.capital && lexicon().surface(&next.text).is_none() && next.text != "may"
            });
            let topical = (TOPICAL..TOPICAL * 2).contains(&axis);
            if at < subject_end
                && noun
                && !topical
                && !is_verb(words, at + 1)
                && !word.stop
                && axis & ORDER == 0
            {
                let hash = hash24(&self.stem(text));
                for term in self.gist.terms.iter_mut().filter(|term| term.hash() == hash) {
                    term.mark(SCOPE);
                }
                continue;
            }
            // A colour may be a signal as well.
            let known = known.filter(|(axis, _)| own.is_none() || *axis == hash24("state2"));
            let said = hash24(&self.stem(text));
            self.gist.sides.extend(own.copied().into_iter().chain(known).map(|(axis, side)| Side {
                axis,
                side,
                denied,
                word: said,
            }));
            denied &= !word.stop;
        }
    }
}
