//! What liars write: a fact that is changed, a text that fits every question, the same lie in other words.
//!
//! Everything is made of the conversation itself and of words that any text in English may have.

use super::super::conversation::Observation;
use crate::commands::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};

/// A way to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub(super) enum Sort {
    /// A known fact, changed
    Lies,
    /// A broad statement that fits many questions
    Magnets,
    /// A text made of questions
    Questions,
    /// A changed fact in three wordings, by as many liars as there are
    Copies,
}

impl Sort {
    pub(super) const ALL: [Self; 4] = [Self::Lies, Self::Magnets, Self::Questions, Self::Copies];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Lies => "lies",
            Self::Magnets => "magnets",
            Self::Questions => "questions",
            Self::Copies => "copies",
        }
    }
}

/// Wordings of a copied lie.
pub(super) const WORDINGS: usize = 3;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const ORDINALS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
const AUXILIARIES: [&str; 12] =
    ["is", "was", "are", "were", "has", "have", "had", "will", "can", "could", "would", "should"];
/// What tells nothing, because every text has it.
const PLAIN: [&str; 40] = [
    "about", "after", "also", "because", "been", "being", "both", "could", "during", "each", "feel", "find",
    "from", "gave", "given", "have", "having", "into", "it's", "just", "like", "made", "make", "more",
    "most", "other", "over", "recently", "such", "than", "that", "their", "them", "they", "this", "through",
    "when", "which", "with", "would",
];
/// A word of its own has so many letters.
const LETTERS_MIN: usize = 4;
/// What anybody asks of anybody.
const ASKED: [(&str, &str); 8] = [
    ("What", "do"),
    ("When", "go"),
    ("What", "like"),
    ("Where", "go"),
    ("Who", "meet"),
    ("Why", "do it"),
    ("How", "feel"),
    ("What", "plan"),
];
/// Of the words of a conversation, those that magnets are about, and how many of them each names.
const FREQUENT: usize = 60;
const NAMED: usize = 12;

/// What lies are made of.
pub(super) struct Sayings {
    speakers: Vec<String>,
    /// Words that begin with a capital within a sentence: places, names, works.
    names: Vec<String>,
    /// Words that tell something, the most frequent first.
    words: Vec<String>,
}

impl Sayings {
    pub(super) fn of(observations: &[Observation]) -> Self {
        let speakers: BTreeSet<String> = observations.iter().map(|one| one.speaker.clone()).collect();
        let (mut names, mut counts) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
        for word in observations.iter().flat_map(|one| one.text.split(' ').skip(1)) {
            let core = core(word);
            if is_name(core) && !speakers.contains(core) {
                names.insert(core.to_owned());
            } else if tells(core) {
                *counts.entry(core.to_lowercase()).or_default() += 1;
            }
        }
        let mut words: Vec<(usize, String)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
        words.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Self {
            speakers: speakers.into_iter().collect(),
            names: names.into_iter().collect(),
            words: words.into_iter().map(|(_, word)| word).collect(),
        }
    }

    /// A known fact with something else in it: another time, number, name or place, or the opposite.
    pub(super) fn lie(&self, known: &Observation, chance: &mut Chance) -> String {
        let twisted: Vec<String> =
            [times, numbers, denied].iter().filter_map(|twist| twist(known, chance)).collect();
        let renamed = [self.other_speaker(known), self.other_name(known, chance)];
        let all: Vec<String> = twisted.into_iter().chain(renamed.into_iter().flatten()).collect();
        match all.get(below(chance, all.len())) {
            Some(lie) => lie.clone(),
            None => self.other_word(known, chance),
        }
    }

    /// A statement about everybody and everything: whatever is asked, some of its words are in it.
    pub(super) fn magnet(&self, chance: &mut Chance) -> String {
        let mut frequent = self.frequent().to_vec();
        let named: Vec<String> = (0..NAMED.min(frequent.len()))
            .map(|_| frequent.swap_remove(below(chance, frequent.len())))
            .collect();
        format!("{} talk about {}.", self.speakers.join(" and "), named.join(", "))
    }

    fn frequent(&self) -> &[String] {
        self.words.get(..FREQUENT.min(self.words.len())).unwrap_or_default()
    }

    /// A text about somebody in the form of questions: whoever asks anything of them comes near it.
    pub(super) fn question(&self, chance: &mut Chance) -> String {
        let whom = pick(&self.speakers, chance).unwrap_or("everybody");
        let first = below(chance, ASKED.len());
        let second = (first + 1 + below(chance, ASKED.len() - 1)) % ASKED.len();
        let asked = [first, second].map(|place| ASKED.get(place).copied().unwrap_or_default());
        let [one, other] = asked.map(|(asks, does)| format!("{asks} did {whom} {does}?"));
        format!("{one} {other} All about the {} of {whom}.", pick(self.frequent(), chance).unwrap_or("life"))
    }

    fn other_speaker(&self, known: &Observation) -> Option<String> {
        let other = self.speakers.iter().find(|name| **name != known.speaker)?;
        let spoken = known.text.contains(&known.speaker) && !known.text.contains(other);
        spoken.then(|| known.text.replace(&known.speaker, other))
    }

    fn other_name(&self, known: &Observation, chance: &mut Chance) -> Option<String> {
        let place = known.text.split(' ').skip(1).position(|word| {
            let core = core(word);
            is_name(core) && !self.speakers.iter().any(|name| name == core)
        })?;
        let name = pick(&self.names, chance)?.to_owned();
        replaced(&known.text, place + 1, |core| (core != name).then(|| name.clone()))
    }

    /// Where there is nothing else to change: the last word that tells something.
    fn other_word(&self, known: &Observation, chance: &mut Chance) -> String {
        let words: Vec<&str> = known.text.split(' ').collect();
        let last = words.iter().rposition(|word| tells(core(word))).unwrap_or(words.len().saturating_sub(1));
        let other = pick(&self.words, chance).unwrap_or("nothing").to_owned();
        replaced(&known.text, last, |_| Some(other)).unwrap_or_else(|| known.text.clone())
    }
}

/// A lie in other words.
pub(super) fn worded(lie: &str, wording: usize) -> String {
    match wording % WORDINGS {
        0 => lie.to_owned(),
        1 => format!("It is a fact that {lie}"),
        _ => format!("{lie} Everybody agrees on that."),
    }
}

fn below(chance: &mut Chance, n: usize) -> usize {
    (chance.next() % n.max(1) as u64) as usize
}

fn pick<'a>(all: &'a [String], chance: &mut Chance) -> Option<&'a str> {
    all.get(below(chance, all.len())).map(String::as_str)
}

fn core(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s").unwrap_or(word)
}

fn is_name(core: &str) -> bool {
    core.chars().count() > 1
        && core.starts_with(char::is_uppercase)
        && !MONTHS.contains(&core)
        && !WEEKDAYS.contains(&core)
}

fn tells(core: &str) -> bool {
    core.chars().count() >= LETTERS_MIN
        && core.starts_with(char::is_lowercase)
        && !PLAIN.contains(&core)
        && !AUXILIARIES.contains(&core)
}

/// The text with another core in this place.
fn replaced(text: &str, place: usize, other: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let word = words.get_mut(place)?;
    let old = core(word).to_owned();
    let new = other(&old).filter(|_| !old.is_empty())?;
    *word = word.replacen(&old, &new, 1);
    Some(words.join(" "))
}

/// The text with another word of the same list in place of the first that is in it.
fn swapped(text: &str, list: &[&str], chance: &mut Chance) -> Option<String> {
    let at = |word: &str| list.iter().position(|one| *one == core(word));
    let place = text.split(' ').position(|word| at(word).is_some())?;
    let step = 1 + below(chance, list.len() - 1);
    replaced(text, place, |old| {
        let known = list.iter().position(|one| *one == old)?;
        list.get((known + step) % list.len()).map(|word| (*word).to_owned())
    })
}

fn times(known: &Observation, chance: &mut Chance) -> Option<String> {
    swapped(&known.text, &MONTHS, chance).or_else(|| swapped(&known.text, &WEEKDAYS, chance))
}

fn numbers(known: &Observation, chance: &mut Chance) -> Option<String> {
    let digits = known.text.split(' ').position(|word| core(word).parse::<u32>().is_ok());
    let more = 1 + below(chance, 8) as u32;
    let counted = digits.and_then(|place| {
        replaced(&known.text, place, |old| Some((old.parse::<u32>().ok()?.saturating_add(more)).to_string()))
    });
    let counted = counted.or_else(|| swapped(&known.text, &NUMBERS, chance));
    counted.or_else(|| swapped(&known.text, &ORDINALS, chance))
}

/// The opposite.
fn denied(known: &Observation, _: &mut Chance) -> Option<String> {
    let text = &known.text;
    for no in [" not ", " never "] {
        if text.contains(no) {
            return Some(text.replacen(no, " ", 1));
        }
    }
    let place = text.split(' ').position(|word| AUXILIARIES.contains(&word));
    match place {
        Some(place) => replaced(text, place, |old| Some(format!("{old} not"))),
        None => {
            let rest = text.strip_prefix(&known.speaker)?.strip_prefix(' ')?;
            Some(format!("{} never {rest}", known.speaker))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Observation {
        Observation { speaker: "Ada".into(), text: text.into(), turns: BTreeSet::new() }
    }

    #[test]
    fn a_lie_is_a_fact_with_something_else_in_it() {
        let known = [
            said("Ada has two kites from Oslo."),
            said("Ada flew to Lima on 5 May."),
            Observation { speaker: "Bo".into(), ..said("Bo sings") },
        ];
        let sayings = Sayings::of(&known);
        assert_eq!(sayings.names, ["Lima", "Oslo"]);
        let mut chance = Chance::new(1);
        let lies: BTreeSet<String> =
            (0..200).map(|number| sayings.lie(&known[number % 2], &mut chance)).collect();
        for lie in [
            "Ada has not two kites from Oslo.",
            "Bo has two kites from Oslo.",
            "Ada has two kites from Lima.",
        ] {
            assert!(lies.contains(lie), "{lie}: {lies:?}");
        }
        assert!(lies.iter().any(|lie| lie.starts_with("Ada has nine kites")), "{lies:?}");
        assert!(
            lies.contains("Ada flew to Lima on 5 June.") && lies.contains("Ada never flew to Lima on 5 May.")
        );
        assert!(lies.iter().all(|lie| known.iter().all(|known| known.text != *lie)), "{lies:?}");
    }

    #[test]
    fn broad_texts_are_about_everything() {
        let known: Vec<Observation> = (0..9).map(|_| said("Ada paints quiet harbours often")).collect();
        let sayings = Sayings::of(&known);
        let (magnet, question) = (sayings.magnet(&mut Chance::new(1)), sayings.question(&mut Chance::new(1)));
        let words = ["paints", "quiet", "harbours", "often"];
        assert!(
            magnet.starts_with("Ada talk about ") && words.iter().all(|word| magnet.contains(word)),
            "{magnet}"
        );
        assert!(question.contains(" did Ada ") && question.contains("? All about the "), "{question}");
        assert!(words.iter().any(|word| question.contains(word)), "{question}");
    }

    #[test]
    fn wordings_differ() {
        let all: BTreeSet<String> = (0..WORDINGS).map(|wording| worded("Ada sings.", wording)).collect();
        assert_eq!(all.len(), WORDINGS);
    }
}
