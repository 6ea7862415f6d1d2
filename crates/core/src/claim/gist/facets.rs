//! Attributes whose values exclude one another, read from a broad table: who smokes does not abstain, what is weekly is not
//! monthly, who uses one tracker has left the other. Unlike opposites they need not stand in the same words.

use super::choice_tables::{CHOICES, VERSIONED};
use super::clause::clause_start;
use super::facet_tables::{CADENCES, CLASSES, DUTIES, KEEPS_FROM, TAKES_TO};
use super::vocabulary::{Phrases, phrase_at, phrases};
use crate::claim::hash24;
use crate::claim::lexicon::{Role, lexicon};
use crate::claim::words::Word;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Facets of a gist.
pub(super) const FACETS_MAX: usize = 24;
/// Words of a sentence that are looked at.
const WORDS_READ_MAX: usize = 256;
/// Words before a value that may deny it.
const DENIAL_REACH: usize = 4;
/// Words of an object that are looked at.
const OBJECT_REACH: usize = 6;
/// From this class on, classes are hashes: of a product whose version is told, of a thing that is liked or not.
const HASHED: u32 = 1 << 16;
const VERSION_SALT: u32 = 0x0055_aa11;

/// Who has an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// A person: the same person is enough.
    Person,
    /// A thing, which must be the same.
    Thing,
    /// Whoever uses one of several: the use must be the same, or the other one given up.
    Choice,
    /// Whatever recurs.
    Recurring,
    /// What has to, need not, must not or may be done.
    Duty,
}

/// One value of a class of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(in crate::claim) struct Facet {
    #[n(0)]
    pub(super) class: u32,
    #[n(1)]
    pub(super) value: u32,
    /// Said not to be so, or no longer.
    #[n(2)]
    pub(super) denied: bool,
    /// The text says by other words that this class is meant.
    #[n(3)]
    pub(super) meant: bool,
}

impl Facet {
    pub(super) fn holder(self) -> Holder {
        if self.class >= HASHED {
            return if self.class & VERSION_BIT != 0 { Holder::Thing } else { Holder::Person };
        }
        TABLES.holders.get(self.class as usize).copied().unwrap_or(Holder::Thing)
    }

    /// Whether it tells a version, a port or a region.
    pub(super) fn is_version(self) -> bool {
        self.class & VERSION_BIT != 0
    }

    /// Whether it tells what somebody likes, eats or does, or leaves be.
    pub(super) fn is_attitude(self) -> bool {
        self.class >= HASHED && self.class & VERSION_BIT == 0
    }
}

const VERSION_BIT: u32 = 1 << 30;
const ATTITUDE_BIT: u32 = 1 << 29;

/// Values by the first word of their phrases.
type Values = HashMap<&'static str, Vec<(Vec<&'static str>, u32, u32)>>;

struct Tables {
    values: Values,
    holders: Vec<Holder>,
    /// The words by which each class is meant; none where it speaks for itself.
    needs: Vec<HashSet<&'static str>>,
    versioned: HashSet<&'static str>,
    takes_to: Phrases,
    keeps_from: Phrases,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables {
        values: Values::new(),
        holders: Vec::new(),
        needs: Vec::new(),
        versioned: VERSIONED.split_whitespace().collect(),
        takes_to: phrases(TAKES_TO),
        keeps_from: phrases(KEEPS_FROM),
    };
    for (holder, needs, values) in CLASSES {
        tables.add(*holder, needs, values);
    }
    tables.add(Holder::Recurring, "", CADENCES);
    tables.add(Holder::Duty, "", DUTIES);
    for values in CHOICES {
        tables.add(Holder::Choice, "", values);
    }
    tables.values.values_mut().for_each(|all| all.sort_by_key(|(words, ..)| std::cmp::Reverse(words.len())));
    tables
});

impl Tables {
    fn add(&mut self, holder: Holder, needs: &'static str, values: &'static str) {
        let class = self.holders.len() as u32;
        self.holders.push(holder);
        self.needs.push(needs.split_whitespace().collect());
        for (value, list) in (0u32..).zip(values.split('|')) {
            for phrase in list.split(',') {
                let words: Vec<&str> = phrase.split_whitespace().collect();
                if let Some(first) = words.first() {
                    self.values.entry(first).or_default().push((words, class, value));
                }
            }
        }
    }
}

/// Adds the facets of a sentence; `stem` gives the stem by which words are compared.
pub(super) fn read(words: &[Word], found: &mut Vec<Facet>, mut stem: impl FnMut(&str) -> Option<u32>) {
    // Long sentences are looked at as far as a reader would follow them: the cost grows with the square of the words.
    let words = words.get(..words.len().min(WORDS_READ_MAX)).unwrap_or_default();
    for at in 0..words.len() {
        if found.len() >= FACETS_MAX {
            return;
        }
        listed(words, at, found);
        versioned(words, at, found);
        ports(words, at, found);
        region(words, at, found);
        attitudes(words, at, found, &mut stem);
    }
}

fn push(found: &mut Vec<Facet>, facet: Facet) {
    if found.len() < FACETS_MAX && !found.contains(&facet) {
        found.push(facet);
    }
}

fn listed(words: &[Word], at: usize, found: &mut Vec<Facet>) {
    let Some(known) = words.get(at).and_then(|word| TABLES.values.get(word.text.as_str())) else { return };
    let stands = |phrase: &[&str]| {
        phrase.iter().zip(at..).all(|(word, at)| words.get(at).is_some_and(|found| found.text == *word))
    };
    for (phrase, class, value) in known.iter().filter(|(phrase, ..)| stands(phrase)) {
        // "not accepting" is no "accepting": the longer phrase has begun before.
        let inner = (1..=2).any(|back| {
            at.checked_sub(back).is_some_and(|from| covers(words, from, at + phrase.len(), *class))
        });
        let longer =
            known.iter().any(|(other, own, _)| own == class && other.len() > phrase.len() && stands(other));
        if inner || longer {
            continue;
        }
        let needs = TABLES.needs.get(*class as usize);
        let meant = needs.is_none_or(|needs| {
            needs.is_empty()
                || words.iter().enumerate().any(|(place, word)| {
                    (place < at || place >= at + phrase.len()) && needs.contains(word.text.as_str())
                })
        });
        if phrase.len() == 1
            && TABLES.holders.get(*class as usize) == Some(&Holder::Recurring)
            && names_next(words, at)
        {
            continue;
        }
        let duty = TABLES.holders.get(*class as usize) == Some(&Holder::Duty);
        let denied = !duty && is_denied(words, at, at + phrase.len());
        push(found, Facet { class: *class, value: *value, denied, meant });
    }
}

/// "The weekly export": which one, not how often.
fn names_next(words: &[Word], at: usize) -> bool {
    let ends = |next: &Word| {
        let role = lexicon().surface(&next.text);
        matches!(role, Some(Role::Preposition | Role::Link | Role::Conjunction | Role::Filler | Role::Be(_)))
    };
    let here = words.get(at).is_some_and(|word| word.stop);
    !here && words.get(at + 1).is_some_and(|next| !ends(next))
}

/// Whether a phrase of the class that begins at `from` reaches to `end`.
fn covers(words: &[Word], from: usize, end: usize, class: u32) -> bool {
    let Some(known) = words.get(from).and_then(|word| TABLES.values.get(word.text.as_str())) else {
        return false;
    };
    known.iter().any(|(phrase, own, _)| {
        *own == class
            && from + phrase.len() >= end
            && phrase
                .iter()
                .zip(from..)
                .all(|(word, at)| words.get(at).is_some_and(|found| found.text == *word))
    })
}

/// Whether what stands from `at` to `end` is denied, given up or a thing of the past.
fn is_denied(words: &[Word], at: usize, end: usize) -> bool {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let start = clause_start(words, at).max(at.saturating_sub(DENIAL_REACH));
    let before = (start..at).any(|place| {
        let negates = matches!(lexicon().surface(text(place)), Some(Role::Negator | Role::No));
        let softened = matches!(text(place + 1), "only" | "just" | "but");
        let gives_up = matches!(
            text(place),
            "stopped"
                | "quit"
                | "former"
                | "formerly"
                | "ex"
                | "dropped"
                | "ditched"
                | "left"
                | "replaced"
                | "sold"
                | "cancelled"
                | "canceled"
                | "abandoned"
                | "uninstalled"
                | "ended"
                | "replaces"
                | "retired"
                | "scrapped"
                | "removed"
                | "outgrew"
                | "closed"
                | "deleted"
        );
        let leaves = matches!(
            (text(place), text(place + 1)),
            ("used", "to")
                | ("instead", "of")
                | ("rather", "than")
                | ("moved", "off" | "from")
                | ("switched", "from")
                | ("gave", "up")
                | ("given", "up")
                | ("away", "from")
                | ("migrated", "from" | "off")
                | ("went", "from")
                | ("rid", "of")
                | ("got", "rid")
                | ("over", "from")
        );
        let here = place + 1 < at || !matches!(text(place), "left");
        (negates && !softened) || (gives_up && here) || leaves
    });
    let after = (end..(end + 3).min(words.len())).any(|place| {
        matches!((text(place), text(place + 1)), ("no", "longer") | ("any", "more") | ("any", "longer"))
            || matches!(
                text(place),
                "anymore"
                    | "retired"
                    | "gone"
                    | "cancelled"
                    | "canceled"
                    | "deleted"
                    | "annoy"
                    | "annoys"
                    | "history"
                    | "dropped"
                    | "scrapped"
                    | "decommissioned"
                    | "ditched"
                    | "dissolved"
            )
    }) && !words.get(at..end).unwrap_or_default().iter().any(|word| word.stop);
    before || after
}

/// "Node 20", "runs Postgres 16".
fn versioned(words: &[Word], at: usize, found: &mut Vec<Facet>) {
    let Some(product) =
        words.get(at).filter(|word| TABLES.versioned.contains(word.text.as_str()) && !word.stop)
    else {
        return;
    };
    let next = words.get(at + 1).map_or("", |word| word.text.as_str());
    let version = next.strip_prefix('v').unwrap_or(next);
    if version.starts_with(|c: char| c.is_ascii_digit()) && version.len() <= 8 {
        let class = VERSION_BIT | (hash24(&product.text) ^ VERSION_SALT) & 0x00ff_ffff | HASHED;
        push(
            found,
            Facet { class, value: hash24(version), denied: is_denied(words, at, at + 2), meant: true },
        );
    }
}

/// "hosted in eu-central-1": a region that something is in, not one that is told of.
fn region(words: &[Word], at: usize, found: &mut Vec<Facet>) {
    let Some(name) = words.get(at).map(|word| word.text.as_str()) else { return };
    let mut parts = name.split('-');
    let area = parts.next().is_some_and(|part| {
        matches!(part, "us" | "eu" | "ap" | "ca" | "sa" | "af" | "me" | "uk" | "asia" | "europe")
    });
    let side = parts.next().is_some_and(|part| {
        part.len() > 3 && part.chars().all(char::is_alphabetic) || matches!(part, "west1" | "east1")
    });
    let number = parts.next().is_some_and(|part| part.len() == 1 && part.chars().all(|c| c.is_ascii_digit()));
    let within = at
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .is_some_and(|word| matches!(word.text.as_str(), "in" | "of" | "from" | "to" | "on" | ":"));
    if area && side && number && within && at > 2 {
        let class = VERSION_BIT | hash24("region") & 0x00ff_ffff | HASHED;
        push(found, Facet { class, value: hash24(name), denied: is_denied(words, at, at + 1), meant: true });
    }
}

/// "listens on 8081", "bound to port 8443".
fn ports(words: &[Word], at: usize, found: &mut Vec<Facet>) {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let opens = matches!(
        text(at),
        "listens"
            | "listen"
            | "listening"
            | "bound"
            | "binds"
            | "port"
            | "exposed"
            | "served"
            | "reachable"
            | "answers"
    );
    let number = (at + 1..=at + 3).map(text).take_while(|word| {
        matches!(*word, "on" | "to" | "port" | "is" | ":" | "at" | "now")
            || word.starts_with(|c: char| c.is_ascii_digit())
    });
    let number = number
        .filter(|word| (2..=5).contains(&word.len()) && word.chars().all(|c| c.is_ascii_digit()))
        .last();
    if let Some(number) = number.filter(|_| opens) {
        let class = VERSION_BIT | hash24("port") & 0x00ff_ffff | HASHED;
        push(
            found,
            Facet { class, value: hash24(number), denied: is_denied(words, at, at + 2), meant: true },
        );
    }
}

/// "hates horror films", "allergic to nuts", "eats prawns".
fn attitudes(words: &[Word], at: usize, found: &mut Vec<Facet>, stem: &mut impl FnMut(&str) -> Option<u32>) {
    let keeps = phrase_at(&TABLES.keeps_from, words, at);
    let takes = phrase_at(&TABLES.takes_to, words, at);
    let length = keeps.max(takes);
    if length == 0 || (keeps == 0 && at == 0) {
        return;
    }
    let denied = keeps == 0 && is_denied(words, at, at + length);
    // What denies the verb was read as a phrase of its own.
    if keeps == 0
        && denied
        && at.checked_sub(1).is_some_and(|before| phrase_at(&TABLES.keeps_from, words, before) > 0)
    {
        return;
    }
    let leaves_be = keeps > 0 || denied;
    let from = at + length;
    for place in from..(from + OBJECT_REACH).min(words.len()) {
        let Some(word) = words.get(place) else { break };
        if matches!(
            word.text.as_str(),
            "but"
                | "because"
                | "since"
                | "when"
                | "over"
                | "rather"
                | "instead"
                | "with"
                | "after"
                | "before"
                | "from"
                | "until"
                | "if"
                | "without"
                | "except"
                | "unless"
                | "than"
                | "while"
                | "for"
                | "at"
                | "on"
        ) {
            break;
        }
        for object in objects(&word.text, stem) {
            let class = ATTITUDE_BIT | HASHED | (object & 0x0000_ffff) | ((object & 0x00ff_0000) << 1);
            push(found, Facet { class, value: u32::from(leaves_be), denied: false, meant: true });
        }
        if word.stop {
            break;
        }
    }
}

/// The hashes of an object and of the sorts of things that it is one of.
fn objects(text: &str, stem: &mut impl FnMut(&str) -> Option<u32>) -> Vec<u32> {
    let kinds = super::vocabulary::WORDS.kinds.get(text).into_iter().flatten().copied();
    stem(text).into_iter().chain(kinds).collect()
}
