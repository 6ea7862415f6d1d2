//! What single words mean to the comparison: which say nothing, which deny, which are opposites, which are the same.
//!
//! The tables are written for statements as people and agents note them in English. A word that is in no table is a
//! content word and stands for itself.

mod tables;

use crate::text;
use std::collections::HashMap;
use std::sync::LazyLock;
use tables::{
    AXES, BE_PAST, BE_PRESENT, CONJUNCTIONS, DATED, EVENTS, FILLERS, FUNCTIONAL, FUNCTIONS, HEDGES,
    IRREGULAR, LIMITS, LINKS, MEASURED, MODALS, NAMED, NEGATORS, NOT_PAST, NUMBERED, ONCE, ORDERS, PARTIALS,
    PERIODIC, PHRASES, PREPOSITIONS, PRONOUNS, QUALIFIERS, RESERVES, SAME, SLOTS, SPEECH, STATES, UN_WORDS,
    WHICH,
};

/// What a word does in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Says nothing of its own.
    Function,
    /// Says nothing at all, not even to a topic.
    Filler,
    /// Denies.
    Negator,
    /// "No" before a noun: none of it.
    No,
    /// Makes a statement a guess, a wish or a condition.
    Hedge,
    /// Makes the verb after it a guess.
    Modal,
    /// A form of "be", by tense.
    Be(Tense),
    /// "has", "had", "does", "will": gives the tense and little else.
    Aux(Tense),
    /// "have" as a verb or as an auxiliary.
    Have(Tense),
    /// One side of a pair of opposites.
    Axis { axis: u16, side: u8 },
    /// One of several states that exclude each other.
    State { set: u16, side: u8 },
    /// The start or the end of something.
    Order { family: u16, end: bool },
    /// Some, several, many: says nothing of the others.
    Partial,
    /// Bounds the number after it.
    Bound(Bound),
    /// A preposition that tells two statements apart.
    Preposition,
    /// A preposition or conjunction that ends a phrase and says little.
    Link,
    /// "and", "or", "which": ends a phrase.
    Conjunction,
    /// Stands for a person.
    Pronoun,
}

/// When, as far as a verb shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Present,
    Past,
    Perfect,
    Future,
}

/// How a number is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast,
    Below,
    AtMost,
    About,
}

/// What a verb or noun opens: a place for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// A verb and the prepositions after which its one value stands.
    After(&'static [&'static str]),
    /// A noun that has one value, whatever it is.
    Any,
    /// A noun whose one value is a name.
    Name,
}

/// The tables, by word and by stem.
pub(super) struct Lexicon {
    surface: HashMap<&'static str, Role>,
    stems: HashMap<String, Role>,
    same: HashMap<String, String>,
    irregular: HashMap<&'static str, (&'static str, bool)>,
    phrases: HashMap<&'static str, Vec<(Vec<&'static str>, &'static str)>>,
    events: HashMap<String, ()>,
    dated: HashMap<String, ()>,
    speech: HashMap<String, ()>,
    opens: HashMap<String, Opens>,
    nouns: HashMap<&'static str, Opens>,
    un_words: HashMap<&'static str, ()>,
    numbered: HashMap<String, ()>,
    periodic: HashMap<&'static str, ()>,
    which: HashMap<&'static str, ()>,
    once: HashMap<String, ()>,
    measured: HashMap<String, ()>,
    limits: HashMap<String, ()>,
    qualifiers: HashMap<&'static str, ()>,
    reserves: HashMap<&'static str, ()>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::build);

/// The one lexicon.
pub(super) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

/// The token hash of the opposites that a word belongs to; 0 if it belongs to none.
pub(super) fn axis_of(word: &str) -> u32 {
    match lexicon().of_stem(&stem(word)) {
        Some(Role::Axis { axis, .. }) => super::hash24(&format!("axis{axis}")),
        _ => 0,
    }
}

/// The token hash of the start and the end that a word is one of; 0 if it is none.
pub(super) fn order_of(word: &str) -> u32 {
    match lexicon().of_stem(&stem(word)) {
        Some(Role::Order { family, .. }) => super::hash24(&format!("order{family}")),
        _ => 0,
    }
}

pub(super) fn stem(word: &str) -> String {
    // Marked words and words with dashes are their own stem.
    if word.starts_with('+') || word.contains(['-', '_']) {
        return word.to_owned();
    }
    text::words(word).into_iter().next().unwrap_or_else(|| word.to_owned())
}

fn stem_set(words: &'static str) -> HashMap<String, ()> {
    words.split_whitespace().map(|word| (stem(word), ())).collect()
}

impl Lexicon {
    fn build() -> Self {
        let mut lexicon = Self {
            surface: surface(),
            stems: HashMap::new(),
            same: HashMap::new(),
            irregular: irregular(),
            phrases: HashMap::new(),
            events: stem_set(EVENTS),
            dated: stem_set(DATED),
            speech: stem_set(SPEECH),
            opens: opens(),
            nouns: nouns(),
            un_words: UN_WORDS.split_whitespace().map(|word| (word, ())).collect(),
            numbered: stem_set(NUMBERED),
            periodic: PERIODIC.split_whitespace().map(|word| (word, ())).collect(),
            once: stem_set(ONCE),
            measured: stem_set(MEASURED),
            limits: stem_set(LIMITS),
            qualifiers: QUALIFIERS.split_whitespace().map(|word| (word, ())).collect(),
            reserves: RESERVES.split_whitespace().map(|word| (word, ())).collect(),
            which: WHICH.split_whitespace().map(|word| (word, ())).collect(),
        };
        lexicon.add_same();
        lexicon.add_opposites();
        for (phrase, word) in PHRASES {
            let mut words = phrase.split_whitespace();
            if let Some(first) = words.next() {
                lexicon.phrases.entry(first).or_default().push((words.collect(), word));
            }
        }
        lexicon
            .phrases
            .values_mut()
            .for_each(|known| known.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len())));
        lexicon
    }

    fn add_same(&mut self) {
        for group in SAME {
            let mut words = group.split_whitespace();
            let first = words.next().map(stem).unwrap_or_default();
            for word in words {
                self.same.entry(stem(word)).or_insert_with(|| first.clone());
            }
        }
    }

    fn add_opposites(&mut self) {
        for (axis, sides) in (0u16..).zip(AXES) {
            self.add_sides(sides, |side| Role::Axis { axis, side });
        }
        for (set, sides) in (0u16..).zip(STATES) {
            self.add_sides(sides, |side| Role::State { set, side });
        }
        for (family, sides) in (0u16..).zip(ORDERS) {
            self.add_sides(sides, |side| Role::Order { family, end: side == 1 });
        }
    }

    /// What stands earlier in a table wins: a word has one meaning here.
    fn add_sides(&mut self, sides: &'static str, role: impl Fn(u8) -> Role) {
        for (side, words) in (0u8..).zip(sides.split('|')) {
            for word in words.split_whitespace() {
                if word.starts_with('+') {
                    self.surface.insert(word, role(side));
                } else {
                    self.stems.entry(stem(word)).or_insert_with(|| role(side));
                }
            }
        }
    }

    /// The role of a word as it is written, if a table knows it.
    pub(super) fn surface(&self, word: &str) -> Option<Role> {
        self.surface.get(word).copied()
    }

    /// The role of a stem, if a table knows it.
    pub(super) fn of_stem(&self, stem: &str) -> Option<Role> {
        self.stems.get(stem).copied()
    }

    /// The stem that stands for all that mean the same.
    pub(super) fn same<'a>(&'a self, stem: &'a str) -> &'a str {
        self.same.get(stem).map_or(stem, String::as_str)
    }

    /// The plain form of an irregular one, and whether it is a past.
    pub(super) fn irregular(&self, word: &str) -> Option<(&'static str, bool)> {
        self.irregular.get(word).copied()
    }

    /// The word that stands for the phrase that begins here, and how many words the phrase has.
    pub(super) fn phrase(
        &self,
        first: &str,
        mut at: impl FnMut(usize) -> Option<String>,
    ) -> Option<(&'static str, usize)> {
        let known = self.phrases.get(first)?;
        let matches = |rest: &Vec<&str>, at: &mut dyn FnMut(usize) -> Option<String>| {
            rest.iter().enumerate().all(|(i, word)| at(i + 1).as_deref() == Some(*word))
        };
        known.iter().find(|(rest, _)| matches(rest, &mut at)).map(|(rest, word)| (*word, rest.len() + 1))
    }

    pub(super) fn is_event(&self, stem: &str) -> bool {
        self.events.contains_key(stem)
    }

    pub(super) fn is_dated(&self, stem: &str) -> bool {
        self.dated.contains_key(stem)
    }

    pub(super) fn is_speech(&self, stem: &str) -> bool {
        self.speech.contains_key(stem)
    }

    /// Whether a word is of something that happens once and stays so.
    pub(super) fn is_once(&self, stem: &str) -> bool {
        self.once.contains_key(stem)
    }

    /// Whether a word names something that is measured and changes by itself.
    pub(super) fn is_measured(&self, stem: &str) -> bool {
        self.measured.contains_key(stem)
    }

    /// Whether a word names a limit or a target.
    pub(super) fn is_limit(&self, stem: &str) -> bool {
        self.limits.contains_key(stem)
    }

    /// Whether a word before a noun tells another one of the kind.
    pub(super) fn qualifies(&self, word: &str) -> bool {
        self.qualifiers.contains_key(word)
    }

    /// Whether a word behind a noun names what it is limited to.
    pub(super) fn reserves(&self, word: &str) -> bool {
        self.reserves.contains_key(word)
    }

    pub(super) fn is_numbered(&self, stem: &str) -> bool {
        self.numbered.contains_key(stem)
    }

    pub(super) fn is_periodic(&self, word: &str) -> bool {
        self.periodic.contains_key(word)
    }

    pub(super) fn tells_which(&self, word: &str) -> bool {
        self.which.contains_key(word)
    }

    /// What a verb opens, by its stem.
    pub(super) fn opens(&self, stem: &str) -> Option<Opens> {
        self.opens.get(stem).copied()
    }

    /// What a noun opens, as it is written: "review" and "reviewer" share a stem and no more.
    pub(super) fn noun(&self, word: &str) -> Option<Opens> {
        self.nouns.get(word).copied()
    }

    /// The rest of a word that un- denies.
    pub(super) fn denied<'a>(&self, word: &'a str) -> Option<&'a str> {
        let rest = word.strip_prefix("un").or_else(|| word.strip_prefix("non-"))?;
        (rest.len() >= 4 && !self.un_words.contains_key(word)).then_some(rest)
    }
}

fn surface() -> HashMap<&'static str, Role> {
    let mut map = HashMap::new();
    let lists = [
        (FILLERS, Role::Filler),
        (LINKS, Role::Link),
        (PREPOSITIONS, Role::Preposition),
        (CONJUNCTIONS, Role::Conjunction),
        (FUNCTIONS, Role::Function),
        (PRONOUNS, Role::Pronoun),
        (NEGATORS, Role::Negator),
        (HEDGES, Role::Hedge),
        (MODALS, Role::Modal),
        (PARTIALS, Role::Partial),
        (BE_PRESENT, Role::Be(Tense::Present)),
        (BE_PAST, Role::Be(Tense::Past)),
        ("been", Role::Be(Tense::Perfect)),
        ("has have", Role::Have(Tense::Present)),
        ("had", Role::Have(Tense::Past)),
        ("did formerly previously +past", Role::Aux(Tense::Past)),
        ("do does", Role::Aux(Tense::Present)),
        ("will shall", Role::Aux(Tense::Future)),
        ("no +no", Role::No),
        ("+hedge", Role::Hedge),
        ("+least over exceeding", Role::Bound(Bound::AtLeast)),
        ("+below", Role::Bound(Bound::Below)),
        ("+most", Role::Bound(Bound::AtMost)),
        ("approximately roughly nearly almost approx circa ~", Role::Bound(Bound::About)),
        ("without lacks lacking", Role::No),
    ];
    for (words, role) in lists {
        map.extend(words.split_whitespace().map(|word| (word, role)));
    }
    map
}

fn irregular() -> HashMap<&'static str, (&'static str, bool)> {
    let not_past: Vec<&str> = NOT_PAST.split_whitespace().collect();
    let pairs = IRREGULAR.split_whitespace().filter_map(|pair| pair.split_once(':'));
    pairs.map(|(form, plain)| (form, (plain, !not_past.contains(&form)))).collect()
}

fn opens() -> HashMap<String, Opens> {
    SLOTS.iter().map(|(verb, after)| (stem(verb), Opens::After(after))).collect()
}

fn nouns() -> HashMap<&'static str, Opens> {
    let named = NAMED.split_whitespace().map(|word| (word, Opens::Name));
    named.chain(FUNCTIONAL.split_whitespace().map(|word| (word, Opens::Any))).collect()
}
