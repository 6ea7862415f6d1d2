//! Whether two gists give values of one attribute that exclude each other, of the same person or thing.

use super::compare::{Pair, holds, leads_differ};
use super::facet_tables::{RELATIVES, SEASONS, USED_AS_PARTS};
use super::facets::{Facet, Holder};
use super::relations::is_attribute;
use super::vocabulary::stem_of;
use super::{
    ADDS_TO, ALL_PAST, CHANGE, FIRST_PERSON, Gist, KIND, NAME, ONE_OF, REPLACES, SCOPE, SOME, SUBJECT, TIME,
    Term, WEAK,
};
use crate::claim::hash24;
use std::collections::HashSet;
use std::sync::LazyLock;

static RELATIVE: LazyLock<HashSet<u32>> = LazyLock::new(|| hashes(RELATIVES));
/// Words that tell a cadence and stand among those that tell parts apart.
static CADENCE: LazyLock<HashSet<u32>> = LazyLock::new(|| hashes(USED_AS_PARTS));

/// Times of a year at which something may have changed.
static SEASON: LazyLock<HashSet<u32>> = LazyLock::new(|| hashes(SEASONS));

fn hashes(words: &'static str) -> HashSet<u32> {
    words.split_whitespace().map(|word| hash24(&stem_of(word))).collect()
}

impl Pair<'_> {
    /// The same for two that share no other word.
    pub(super) fn may_differ_by_attribute(&self) -> bool {
        let told = self.new.has(ALL_PAST) && !self.new.has(CHANGE);
        !told && !self.new.has(ADDS_TO) && self.attribute_differs()
    }

    /// One attribute of the same has values that exclude each other.
    pub(super) fn attribute_differs(&self) -> bool {
        let (a, b) = (&self.known.facets, &self.new.facets);
        if a.is_empty() || b.is_empty() || (self.known.cues | self.new.cues) & (ONE_OF | SOME) != 0 {
            return false;
        }
        a.iter().enumerate().any(|(at, one)| {
            let first = !a.iter().take(at).any(|before| before.class == one.class);
            first && differs(a, b, *one) && !self.aims_differ() && self.is_same_holder(*one)
        })
    }

    fn is_same_holder(&self, facet: Facet) -> bool {
        match facet.holder() {
            Holder::Person if facet.is_attitude() => self.is_same_person() && !self.parts_differ(false),
            Holder::Person => self.is_same_person() && !self.parts_differ(false) && !self.other_days(),
            Holder::Thing if facet.is_version() => {
                self.is_same_thing_whatever_its_names()
                    && !self.have_other_subjects()
                    && !self.parts_differ(false)
            }
            Holder::Thing => self.is_same_thing() && !self.parts_differ(false) && !self.other_days(),
            Holder::Duty => self.is_same_act() && !self.parts_differ(false) && !self.other_days(),
            Holder::Recurring => self.is_same_thing() && !self.parts_differ(true),
            Holder::Choice => {
                let same = self.is_same_thing()
                    || (self.new.has(CHANGE) && self.is_same_person() && self.shares_owner());
                same && !self.parts_differ(false)
            }
        }
    }

    /// Both say "we" or "I", or are about the user.
    fn shares_owner(&self) -> bool {
        let plain = |gist: &Gist| !gist.terms.iter().any(|term| term.is(SUBJECT) && !term.is(WEAK | KIND));
        (self.known.has(FIRST_PERSON) && self.new.has(FIRST_PERSON))
            || self.same_person()
            || (plain(self.known) && plain(self.new))
            || self.strong.iter().any(|hash| self.is_subject_of_both(*hash) && !self.is_no_name(*hash))
    }

    /// What is said of the one is said of the same person by the other, as far as it can be seen.
    pub(super) fn is_same_person(&self) -> bool {
        if self.names_differ || self.relatives_differ() {
            return false;
        }
        let names = |gist: &Gist| -> Vec<u32> {
            gist.terms
                .iter()
                .filter(|term| term.is(NAME) && term.is(SUBJECT))
                .map(|term| term.hash())
                .collect()
        };
        let (a, b) = (names(self.known), names(self.new));
        let told = |names: &[u32], gist: &Gist| names.iter().any(|hash| holds(&gist.terms, *hash));
        match (a.is_empty(), b.is_empty()) {
            (false, false) => told(&a, self.new) || told(&b, self.known),
            (false, true) => told(&a, self.new),
            (true, false) => told(&b, self.known),
            (true, true) => self.same_subject(),
        }
    }

    /// One is about somebody's relative, the other is not.
    pub(super) fn relatives_differ(&self) -> bool {
        let of = |gist: &Gist| -> Vec<u32> {
            let mut found: Vec<u32> = gist
                .terms
                .iter()
                .filter(|term| term.is(SUBJECT) && RELATIVE.contains(&term.hash()))
                .map(|term| term.hash())
                .collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let (a, b) = (of(self.known), of(self.new));
        a.iter().any(|one| !holds(&self.new.terms, *one))
            || b.iter().any(|one| !holds(&self.known.terms, *one))
    }

    /// The same thing: what one is about is a word of the other, and no other word tells two things apart.
    pub(super) fn is_same_thing(&self) -> bool {
        !self.identifiers_differ() && self.is_same_thing_whatever_its_names()
    }

    fn is_same_thing_whatever_its_names(&self) -> bool {
        let noun = self.strong.iter().any(|hash| {
            self.is_no_name(*hash) || self.known.identifiers.contains(hash) || self.is_subject_of_both(*hash)
        });
        noun && !self.names_differ
            && !self.relatives_differ()
            && self.near(2, true)
            && self.same_subject()
            && (self.meets_subject() || self.has_no_subject())
            && !(if self.strong.len() >= 3 { self.are_two_subjects() } else { self.are_two_things() })
            && !self.is_part_of_the_other()
    }

    /// What is known says something that the new one does not repeat.
    fn leaves_something_out(&self) -> bool {
        self.known
            .terms
            .iter()
            .any(|term| !term.is(WEAK | KIND | SCOPE) && !holds(&self.new.terms, term.hash()))
    }

    /// Each is about something that the other does not name: "metrics of the mailer", "metrics of the importer".
    fn have_other_subjects(&self) -> bool {
        let lacks = |a: &Gist, b: &Gist| {
            let own = |term: &&Term| !term.is(WEAK | KIND | TIME) && !a.identifiers.contains(&term.hash());
            a.terms.iter().filter(own).any(|term| !holds(&b.terms, term.hash()))
        };
        lacks(self.known, self.new) && lacks(self.new, self.known)
    }

    /// One of the two is about nothing that has a name or a noun: "please answer in German".
    pub(super) fn has_no_subject(&self) -> bool {
        let none =
            |gist: &Gist| !gist.terms.iter().any(|term| term.is(SUBJECT) && !term.is(WEAK | KIND | SCOPE));
        none(self.known) || none(self.new)
    }

    /// The new one says that something of what is known is different now.
    pub(super) fn has_changed(&self) -> bool {
        self.new.has(REPLACES)
            && !self.new.has(ALL_PAST)
            && self.strong.len() >= 2
            && (self.known.cues | self.new.cues) & (ONE_OF | SOME) == 0
            && self.is_same_thing()
            && self.near(2, false)
            && self.leaves_something_out()
            && !self.are_two_things()
            && !self.parts_differ(false)
            && !self.other_days()
    }

    /// An attribute with one value, told of the same: names and numbers in one that the other does not know.
    pub(super) fn attribute_moved(&self) -> bool {
        let attribute = self.strong.iter().any(|hash| is_attribute(Term::new(*hash, 0)));
        let value = |a: &Gist, b: &Gist| {
            a.terms.iter().any(|term| term.is(NAME) && !term.is(SCOPE) && !holds(&b.terms, term.hash()))
        };
        attribute
            && self.strong.len() >= 2
            && value(self.known, self.new)
            && value(self.new, self.known)
            && (self.known.cues | self.new.cues) & (ONE_OF | SOME) == 0
            && !self.are_two_things()
            && self.is_same_thing()
            && !self.parts_differ(false)
            && !self.other_days()
    }

    /// "The gym" and "the gym's sauna": one is about a part of the other.
    pub(super) fn is_part_of_the_other(&self) -> bool {
        let subject = |gist: &Gist| -> Vec<u32> {
            let mut all: Vec<u32> = gist
                .terms
                .iter()
                .filter(|term| term.is(SUBJECT) && !term.is(WEAK | SCOPE | KIND | TIME))
                .map(|term| term.hash())
                .collect();
            all.dedup();
            all
        };
        let (a, b) = (subject(self.known), subject(self.new));
        let part = |whole: &[u32], part: &[u32], gist: &Gist| {
            !whole.is_empty()
                && whole.len() + 1 == part.len()
                && whole.iter().all(|one| part.contains(one))
                && part.last().is_some_and(|head| !holds(&gist.terms, *head))
        };
        part(&a, &b, self.known) || part(&b, &a, self.new)
    }

    /// Each says what it is for, and for something else.
    pub(super) fn aims_differ(&self) -> bool {
        let lacks = |a: &Gist, b: &Gist| {
            let aim = a
                .aim
                .and_then(|(from, to)| a.terms.get(usize::from(from)..usize::from(to)))
                .unwrap_or_default();
            let mut aim = aim.iter().filter(|term| !term.is(WEAK)).peekable();
            aim.peek().is_some() && aim.all(|term| !holds(&b.terms, term.hash()))
        };
        lacks(self.known, self.new) && lacks(self.new, self.known)
    }

    /// The same act: enough words of both, whoever it is said of.
    fn is_same_act(&self) -> bool {
        !self.names_differ
            && !self.identifiers_differ()
            && self.strong.len() >= 2
            && self.is_mostly_shared()
            && (self.same_subject() || self.strong.len() >= 3)
            && !self.are_two_things()
    }

    /// Half of the words of the shorter are words of the other.
    fn is_mostly_shared(&self) -> bool {
        let count =
            |gist: &Gist| gist.terms.iter().filter(|term| !term.is(WEAK | KIND | TIME | SCOPE)).count();
        self.strong.len() * 2 >= count(self.known).min(count(self.new))
    }

    fn is_subject_of_both(&self, hash: u32) -> bool {
        let subject = |gist: &Gist| gist.terms.iter().any(|term| term.hash() == hash && term.is(SUBJECT));
        subject(self.known) && subject(self.new)
    }

    /// Each is limited to a part that the other does not name.
    pub(super) fn parts_differ(&self, recurring: bool) -> bool {
        let part = |term: &&Term| {
            let cadence = recurring && CADENCE.contains(&term.hash());
            term.is(SCOPE) && !term.is(TIME) && !SEASON.contains(&term.hash()) && !cadence
        };
        let lacks =
            |a: &Gist, b: &Gist| a.terms.iter().filter(part).any(|term| !holds(&b.terms, term.hash()));
        leads_differ(self.known, self.new) || (lacks(self.known, self.new) && lacks(self.new, self.known))
    }
}

pub(super) fn differs(known: &[Facet], new: &[Facet], facet: Facet) -> bool {
    match facet.holder() {
        Holder::Duty => duties_differ(known, new, facet.class),
        Holder::Person | Holder::Thing | Holder::Choice | Holder::Recurring => {
            exclude_each_other(known, new, facet.class)
        }
    }
}

/// What must be need not be and must not be; what may be must not be. The first word of each counts.
fn duties_differ(known: &[Facet], new: &[Facet], class: u32) -> bool {
    let first = |facets: &[Facet]| facets.iter().find(|one| one.class == class).map(|one| one.value);
    let (Some(a), Some(b)) = (first(known), first(new)) else { return false };
    matches!((a.min(b), a.max(b)), (0, 1 | 2) | (2, 3))
}

/// Whether what the two say of a class cannot both be.
fn exclude_each_other(known: &[Facet], new: &[Facet], class: u32) -> bool {
    let of = |facets: &[Facet], denied: bool| -> Vec<u32> {
        facets.iter().filter(|one| one.class == class && one.denied == denied).map(|one| one.value).collect()
    };
    let meant = known.iter().chain(new).any(|one| one.class == class && one.meant);
    let (said, other) = (of(known, false), of(new, false));
    let (left, given_up) = (of(known, true), of(new, true));
    let meets = |a: &[u32], b: &[u32]| a.iter().any(|one| b.contains(one));
    // What is named first is meant; the rest may be what it is told from.
    let first = |values: &[u32]| values.first().copied();
    let apart = match (said.as_slice(), first(&other)) {
        ([one], Some(new)) => *one != new,
        _ => !said.is_empty() && !other.is_empty() && !meets(&said, &other),
    };
    let denied =
        (meets(&said, &given_up) && !meets(&said, &other)) || (meets(&left, &other) && !meets(&said, &other));
    meant && (apart || denied)
}
