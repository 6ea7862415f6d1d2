//! Who or what stands in which place: "X lives in V", "V owns X", "the password of X is V".
//!
//! Only relations in which a thing has one other at a time are read, and those that say that the other was changed.

use super::clause::{self, clause_end, clause_start};
use super::vocabulary::{WORDS, phrase_at, phrases, stem_of};
use super::{KIND, RELATIONS_MAX, SCOPE, Term, WEAK};
use crate::claim::hash24;
use crate::claim::words::Word;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Content words of each end of a relation.
const END_MAX: usize = 6;

/// Where something is, lives, runs or is kept.
const PLACE: u32 = 1;
/// Whom somebody works for.
const EMPLOYER: u32 = 2;
/// What is used for something: only a change of it tells.
pub(super) const USE: u32 = 3;
/// Who owns something.
const OWNER: u32 = 4;
/// Who leads.
const LEAD: u32 = 5;
/// Who manages or handles.
const KEEPER: u32 = 6;
/// Whom it is assigned to.
const ASSIGNED: u32 = 7;
/// Who teaches.
const TEACHER: u32 = 8;
/// What something is called.
const NAMED: u32 = 10;
/// The unit of an organisation that somebody is in.
pub(super) const UNIT: u32 = 9;
/// What is called so.
const UNITS: [&str; 9] =
    ["team", "unit", "group", "squad", "department", "division", "crew", "branch", "tribe"];
/// Any of them: "switched to V", "V took over X".
pub(super) const ANY: u32 = 0;

/// Phrases after which the one stands: what stands before is the thing.
const FORWARD: &[(u32, &str)] = &[
    (
        PLACE,
        "lives in|live in|lives at|live at|resides in|based in|settled in|living in|headquartered in|headquarters in|\
        home is in|flat is in|house is in|apartment is in|office is in|place in|flat in|house in|home in|apartment in|place is in|located in|stored in|stores its data in|kept in|\
        hosted on|hosted at|hosted by|hosted in|served from|deployed to|deployed on|runs on|run on|running on|sits on|\
        saved in|archived in|lives on|live on|written to|backed by|held in|held at|held on|takes place in|takes place at|meets in|meets at|\
        parked in|parked at|stays at|stays in|staying at|booked at|booked into|its headquarters in|keeps its data in|\
        stored on|kept on|kept at|stored at|settled into|writes to|land on|lands on|land in|lands in|saved to|sent to|pushed to|uploaded to|published to|ends up in|goes to|go to|lands at|reside in|resides at",
    ),
    (
        EMPLOYER,
        "works at|works for|work at|work for|employed by|employed at|job at|working for|working at|hired by|an engineer at",
    ),
    (
        UNIT,
        "belongs to the|is in the|is assigned to the|is part of the|is on the|works in the|sits in the|are in the",
    ),
    (
        USE,
        "uses|use|using|works with|written in|built with|built on|built in|rewritten in|coding in|codes in|relies on|\
        tracked in|tracked with|tracks its work in|track bugs in|goes with|drives|rides|commutes by|travels by|pays with|subscribes to|\
        runs on|run on|deploys with|tested with|sent via|sent with|goes out via|go through",
    ),
    (OWNER, "owned by|belongs to|belong to|maintained by|sits with|lies with|responsibility of"),
    (LEAD, "led by|headed by|run by|chaired by"),
    (
        KEEPER,
        "reports to|report to|managed by|handled by|looked after by|done by|covered by|reviewed by|approved by|checked by|supervised by|operated by|cleaned by|supplied by|provided by|organised by|organized by",
    ),
    (ASSIGNED, "assigned to"),
    (NAMED, "is called|is named|are called"),
    (TEACHER, "taught by|coached by"),
];
/// Phrases before which the one stands: what stands after is the thing.
const BACKWARD: &[(u32, &str)] = &[
    (OWNER, "owns|own|maintains|now owns"),
    (LEAD, "leads|lead|heads|chairs|runs the|is the head of|is head of|is leading"),
    (KEEPER, "manages|handles|looks after|takes care of|is responsible for|are responsible for|in charge of"),
    (TEACHER, "teaches|coaches"),
    (ANY, "took over|takes over|taken over|now leads|now runs|now manages|now handles"),
];
/// Phrases that say that what follows took the place of another.
const CHANGED: &[(u32, &str)] = &[(
    ANY,
    "moved to|switched to|migrated to|gone over to|went over to|changed to|moved over to|relocated to|moved into|\
        replaced by|replaced with|swapped for|transferred to|handed to|handed over to|passed to|reassigned to|now uses|now use|\
        now lives in|now works at|now works for|now runs on|now based in|now hosted on|now stored in|now owned by|now led by|\
        rewritten in|ported to|converted to|joined|switched over to|moved across to|goes to|now belongs to|now with|now at|\
        settled into|renamed to|is now called|downgraded to|upgraded to|now tracks its work in|are now in|is now in|is now on|are now on|now live in",
)];
/// Verbs that end the subject of a sentence.
const VERBS: &str = "hates loves enjoys dislikes loathes trains sleeps rejects accepts blocks allows forbids lands goes eats cooks lives live works work uses use owns own leads lead prefers prefer likes like moved switched stopped quit \
    runs run belongs belong needs need takes take goes go gets get gave gives pays drives speaks eats drinks plays wants \
    reports meets starts ends opens closes costs supports requires depends keeps stores serves handles manages maintains \
    teaches studies allows accepts returns sends receives holds left joined became replaced dropped cancelled migrated \
    relocated changed ships pages fires expires listens reads writes calls comes makes limits caps charges";

/// One thing and the one that stands in a place beside it, as ranges of the terms of a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(in crate::claim) struct Relation {
    /// Which sort, or the hash of the noun that has one value.
    #[n(0)]
    pub(super) class: u32,
    /// It says that the value is a new one.
    #[n(1)]
    pub(super) changed: bool,
    #[n(2)]
    pub(super) thing: (u8, u8),
    #[n(3)]
    pub(super) value: (u8, u8),
}

impl Relation {
    pub(super) fn thing(self, terms: &[Term]) -> &[Term] {
        terms.get(usize::from(self.thing.0)..usize::from(self.thing.1)).unwrap_or_default()
    }

    pub(super) fn value(self, terms: &[Term]) -> &[Term] {
        terms.get(usize::from(self.value.0)..usize::from(self.value.1)).unwrap_or_default()
    }
}

type Table = HashMap<&'static str, Vec<Vec<&'static str>>>;

struct Tables {
    forward: Vec<(u32, Table)>,
    backward: Vec<(u32, Table)>,
    changed: Vec<(u32, Table)>,
    verbs: HashSet<&'static str>,
    attributes: HashSet<u32>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let all =
        |list: &[(u32, &'static str)]| list.iter().map(|(class, words)| (*class, phrases(words))).collect();
    Tables {
        forward: all(FORWARD),
        backward: all(BACKWARD),
        changed: all(CHANGED),
        verbs: VERBS.split_whitespace().collect(),
        attributes: WORDS
            .attributes
            .iter()
            .map(|stem| hash24(WORDS.same.get(stem).unwrap_or(stem)))
            .collect(),
    }
});

/// Whether a word is one of the verbs that end a subject.
pub(super) fn is_verb(text: &str) -> bool {
    TABLES.verbs.contains(text)
}

/// Whether a term is a noun that has one value.
pub(super) fn is_attribute(term: Term) -> bool {
    TABLES.attributes.contains(&term.hash())
}

/// The relations of a sentence, whose content words begin at `first` in the terms and stand at `places`.
pub(super) fn relations(words: &[Word], first: usize, places: &[usize], terms: &[Term]) -> Vec<Relation> {
    let mut found = Vec::new();
    let range = |from: usize, to: usize| {
        let start = places.iter().take_while(|place| **place < from).count();
        let end = places.iter().take_while(|place| **place < to).count();
        (start + first, end + first)
    };
    let relation = |class: u32, changed: bool, thing: (usize, usize), value: (usize, usize)| {
        let short = |(from, to): (usize, usize)| to > from && to - from <= END_MAX;
        let byte = |(from, to): (usize, usize)| (from as u8, to as u8);
        (short(thing) && short(value)).then(|| Relation {
            class,
            changed,
            thing: byte(thing),
            value: byte(value),
        })
    };
    let mut lead = (first, first);
    for at in 0..words.len() {
        if found.len() >= RELATIONS_MAX {
            break;
        }
        let (mut start, end) = (clause_start(words, at), clause_end(words, at));
        // "Marta and the kids live in V": both are the subject.
        let no_clause =
            |place: usize| words.get(place).is_some_and(|word| !word.stop) && !clause::is_verb(words, place);
        if (0..start).all(no_clause) {
            start = 0;
        }
        let mut before = range(start, at);
        // ", lives in V" is said of what the sentence began with.
        if before.0 == before.1 {
            before = lead;
        } else if lead.0 == lead.1 {
            lead = before;
        }
        let tables = [
            (&TABLES.changed, true, false),
            (&TABLES.forward, false, false),
            (&TABLES.backward, false, true),
        ];
        for (table, changed, turned) in tables {
            let far =
                works_at(words, at, end).filter(|_| !changed && !turned).map(|length| (EMPLOYER, length));
            let hit = far.or_else(|| {
                table.iter().find_map(|(class, phrases)| match phrase_at(phrases, words, at) {
                    0 => None,
                    length => Some((*class, length)),
                })
            });
            let Some((class, length)) = hit else { continue };
            let after = range(at + length, end.max(at + length));
            let (thing, value) = if turned { (after, before) } else { (before, after) };
            found.extend(relation(class, changed || (class == 0), thing, value));
            break;
        }
        // "moved the fair to V", "rewrote the tool in V".
        if let Some(to) = moves_object(words, at, end) {
            found.extend(relation(ANY, true, range(at + 1, to), range(to + 1, end)));
        }
        let copula = words.get(at).is_some_and(|word| matches!(word.text.as_str(), "is" | "are" | ":"));
        if copula {
            let after = range(at + 1, end);
            found.extend(attribute(terms, before, after).and_then(|(class, thing, value)| {
                let changed = words.get(at + 1).is_some_and(|word| word.text == "now");
                relation(class, changed, thing, value)
            }));
        }
    }
    found
}

/// "works nights as a baker at V": how many words come before V.
fn works_at(words: &[Word], at: usize, end: usize) -> Option<usize> {
    let works = words
        .get(at)
        .is_some_and(|word| matches!(word.text.as_str(), "works" | "work" | "working" | "employed"));
    let at_place = |word: &Word| word.text == "at";
    words.get(at..end).filter(|_| works)?.iter().position(at_place).map(|place| place + 1)
}

/// Where the preposition stands in "moved X to V", if that is said here.
fn moves_object(words: &[Word], at: usize, end: usize) -> Option<usize> {
    const MOVES: [&str; 13] = [
        "moved",
        "migrated",
        "switched",
        "ported",
        "rewrote",
        "rewritten",
        "transferred",
        "converted",
        "changed",
        "relocated",
        "renamed",
        "upgraded",
        "swapped",
    ];
    let moves = words.get(at).is_some_and(|word| MOVES.contains(&word.text.as_str()));
    let to = |word: &Word| matches!(word.text.as_str(), "to" | "in" | "into" | "for");
    let found = words.get(at + 1..end).filter(|_| moves)?.iter().position(to)?;
    (found > 0).then_some(at + 1 + found)
}

type Range = (usize, usize);

/// "The password of X is V": the noun with one value, X and V.
fn attribute(terms: &[Term], before: Range, after: Range) -> Option<(u32, Range, Range)> {
    let noun = |range: Range| terms.get(range.0..range.1)?.iter().find(|term| is_attribute(**term)).copied();
    if let Some(noun) = noun(before) {
        return Some((class_of(noun), before, after));
    }
    // "V is the lead of X".
    let noun = noun(after)?;
    Some((class_of(noun), after, before))
}

/// Whether every word that counts of one of the two is a word of the other, and there is one.
pub(super) fn same_thing(class: u32, a: &[Term], b: &[Term]) -> bool {
    let is_class = |term: &Term| is_attribute(*term) && term.hash() == class_noun(class);
    let counts = |term: &&Term| !term.is(WEAK | KIND) && !is_class(term);
    let holds = |all: &[Term], some: &[Term]| {
        let mut some = some.iter().filter(counts).peekable();
        some.peek().is_some() && some.all(|term| all.iter().any(|other| other.hash() == term.hash()))
    };
    let scopes = |terms: &[Term]| {
        terms.iter().filter(|term| term.is(SCOPE)).map(|term| term.hash()).collect::<Vec<_>>()
    };
    let plain = |terms: &[Term]| !terms.iter().any(|term| counts(&term));
    let same =
        |a: &[Term], b: &[Term]| a.iter().all(|term| b.iter().any(|other| other.hash() == term.hash()));
    let bare = plain(a) && plain(b) && a.len() > 1 && (same(a, b) || same(b, a));
    (holds(a, b) || holds(b, a) || bare) && scopes(a) == scopes(b)
}

/// The relation that a noun stands for: "the owner of X" is who owns X.
fn class_of(noun: Term) -> u32 {
    NOUNS.iter().find(|(stem, _)| hash24(stem) == noun.hash()).map_or(noun.hash(), |(_, class)| *class)
}

/// Whether a person or a part of an organisation may stand there, whatever stands in the other's place.
pub(super) fn takes_anybody(class: u32) -> bool {
    matches!(class, EMPLOYER | OWNER | LEAD | KEEPER | TEACHER)
}

/// Whether a word is what a part of an organisation is called.
pub(super) fn names_unit(term: &Term) -> bool {
    UNITS.iter().any(|unit| hash24(&stem_of(unit)) == term.hash())
}

/// Nouns that stand for a relation that verbs have as well.
const NOUNS: [(&str, u32); 4] = [("own", OWNER), ("lead", LEAD), ("manag", KEEPER), ("teach", TEACHER)];

/// The hash of the noun that stands for a relation: what has the relation is not that.
fn class_noun(class: u32) -> u32 {
    NOUNS.iter().find(|(_, known)| *known == class).map_or(class, |(stem, _)| hash24(stem))
}
