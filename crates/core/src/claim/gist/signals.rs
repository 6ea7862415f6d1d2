//! What speaks for a contradiction between two gists, and what against it, as named numbers.
//!
//! A signal only says what is there: whether a rule finds something, which words both have and where the others stand. What it
//! is worth is decided in `likelihood`. "Known" and "new" say which of the two it is read from.

use super::compare::{Conflict, Pair, conflict, holds, leads_differ};
use super::facet_rules::differs;
use super::facets::{Facet, Holder};
use super::reader::{BESIDE, LINKS, PLACED};
use super::{
    ADDS_TO, AGAIN, ALL, ALL_PAST, Amount, CHANGE, DENIED, ENDED, FIRST_PERSON, Gist, HEDGE, KIND, LIMIT,
    MEASURED, MOMENT, NAME, ON_A_DAY, ONE_OF, ONLY, REPLACES, SCOPE, SOME, SUBJECT, TIME, Term, WEAK,
};
use crate::claim::quantity::{CLOCK, COUNT, DAY, MARK_LEAST, MARK_MOST};

/// The signals of two gists by name.
pub(in crate::claim) struct Signals(Vec<(&'static str, f32)>);

impl Signals {
    /// Reads them. The cost grows with the product of the content words of the two, of which each has a limited number.
    pub(in crate::claim) fn of(known: &Gist, new: &Gist, similarity: f64) -> Self {
        let mut found = Self(Vec::with_capacity(192));
        let pair = Pair::of(known, new);
        found.rules(&pair);
        found.polarity(&pair);
        found.facets(&pair);
        found.amounts(&pair);
        found.cues(&pair);
        found.overlap(&pair, similarity);
        found.own_words(&pair);
        found.links(&pair);
        found.neighbours(&pair);
        found.vetoes(&pair);
        found
    }

    pub(in crate::claim) fn iter(&self) -> impl Iterator<Item = (&'static str, f32)> + '_ {
        self.0.iter().copied()
    }

    /// The value of a signal; 0 if there is none of this name.
    pub(in crate::claim) fn get(&self, name: &str) -> f32 {
        self.iter().find(|(one, _)| *one == name).map_or(0.0, |(_, value)| value)
    }

    pub(in crate::claim) fn values(&self) -> Vec<f32> {
        self.iter().map(|(_, value)| value).collect()
    }

    fn flag(&mut self, name: &'static str, is_there: bool) {
        self.0.push((name, f32::from(u8::from(is_there))));
    }

    fn count(&mut self, name: &'static str, count: usize, most: usize) {
        self.0.push((name, count.min(most) as f32));
    }

    /// Counts of the two, and whether both have any.
    fn sides(&mut self, [known, new, both]: [&'static str; 3], (a, b): (usize, usize), most: usize) {
        self.count(known, a, most);
        self.count(new, b, most);
        self.flag(both, a > 0 && b > 0);
    }

    /// What the rules find.
    fn rules(&mut self, pair: &Pair<'_>) {
        let back = Pair::of(pair.new, pair.known);
        let (there, here) = (conflict(pair.known, pair.new), conflict(pair.new, pair.known));
        let is = |kind: Conflict| there == Some(kind) || here == Some(kind);
        self.flag("rule", there.is_some() || here.is_some());
        self.flag("rule both ways", there.is_some() && here.is_some());
        self.flag("rule forward", there.is_some());
        self.flag("rule ended", is(Conflict::Ended));
        self.flag("rule denied", is(Conflict::Denied));
        self.flag("rule opposite", is(Conflict::Opposite));
        self.flag("rule amount", is(Conflict::Amount));
        self.flag("rule time", is(Conflict::Time));
        self.flag("rule place", is(Conflict::Place));
        self.flag("attribute differs", pair.attribute_differs() || back.attribute_differs());
        self.flag("has changed", pair.has_changed());
        self.flag("attribute moved", pair.attribute_moved());
        self.flag("opposite", pair.opposite());
        self.flag("place", pair.place() || back.place());
    }

    /// Denials, endings and opposites, whatever they are about.
    fn polarity(&mut self, pair: &Pair<'_>) {
        let (known, new) = (pair.known, pair.new);
        let held = |a: &Gist, b: &Gist, mark: u8| {
            let counts = |term: &&Term| term.is(mark) && !term.is(WEAK | SCOPE | KIND);
            let other = |term: &&Term| b.terms.iter().any(|one| one.hash() == term.hash() && !one.is(mark));
            a.terms.iter().filter(counts).filter(other).count()
        };
        self.count("ended by new", held(new, known, ENDED), 2);
        self.count("ended by known", held(known, new, ENDED), 2);
        self.count("denied by new", held(new, known, DENIED), 2);
        self.count("denied by known", held(known, new, DENIED), 2);
        let denied = |term: &&Term| {
            term.is(DENIED) && new.terms.iter().any(|other| other.hash() == term.hash() && other.is(DENIED))
        };
        self.count("denied by both", known.terms.iter().filter(denied).count(), 2);
        self.flag("one denies", known.denials.is_empty() != new.denials.is_empty());
        self.count("denials known", known.denials.len(), 3);
        self.count("denials new", new.denials.len(), 3);
        self.flag("both deny", !known.denials.is_empty() && !new.denials.is_empty());
        self.count("opposites", pair.sides_apart(false), 2);
        self.count("starts and ends", pair.sides_apart(true), 2);
        let same = |one: &&super::Side| {
            new.sides
                .iter()
                .any(|other| (other.axis, other.side, other.denied) == (one.axis, one.side, one.denied))
        };
        self.count("same sides", known.sides.iter().filter(same).count(), 2);
        let kinds = |term: &&Term| term.is(KIND) && holds(&new.terms, term.hash());
        self.count("same kinds", known.terms.iter().filter(kinds).count(), 2);
    }

    /// Attributes with values that exclude one another.
    fn facets(&mut self, pair: &Pair<'_>) {
        let (known, new) = (&pair.known.facets, &pair.new.facets);
        let apart: Vec<&Facet> = known.iter().filter(|one| differs(known, new, **one)).collect();
        let has = |is: &dyn Fn(&Facet) -> bool| apart.iter().any(|one| is(one));
        let thing = |one: &Facet, holder: Holder| one.holder() == holder;
        self.flag("attitude differs", has(&|one| one.is_attitude()));
        self.flag("person differs", has(&|one| thing(one, Holder::Person) && !one.is_attitude()));
        self.flag("version differs", has(&|one| thing(one, Holder::Thing) && one.is_version()));
        self.flag("thing differs", has(&|one| thing(one, Holder::Thing) && !one.is_version()));
        self.flag("choice differs", has(&|one| thing(one, Holder::Choice)));
        self.flag("cadence differs", has(&|one| thing(one, Holder::Recurring)));
        self.flag("duty differs", has(&|one| thing(one, Holder::Duty)));
        self.flag("facet differs", !apart.is_empty());
        self.count("same facets", known.iter().filter(|one| new.contains(one)).count(), 2);
    }

    /// Values, times and days.
    fn amounts(&mut self, pair: &Pair<'_>) {
        let (known, new) = (&pair.known.amounts, &pair.new.amounts);
        let like = |a: &Amount, b: &Amount| a.value.family() == b.value.family();
        let same_unit = |a: &Amount, b: &Amount| like(a, b) && (a.value.dim != COUNT || a.of == b.of);
        let apart = |a: &Amount, b: &Amount| like(a, b) && a.value.is_apart(&b.value);
        let count = |is: &dyn Fn(&Amount, &Amount) -> bool| {
            known.iter().filter(|a| new.iter().any(|b| is(a, b))).count()
        };
        let bound = |all: &[Amount], mark: u8| all.iter().any(|one| one.value.mark & mark != 0);
        self.count("amounts differ", count(&|a, b| same_unit(a, b) && a.value.is_apart(&b.value)), 2);
        self.count("amounts of a sort differ", count(&apart), 2);
        self.count("same amounts", count(&|a, b| like(a, b) && !a.value.is_apart(&b.value)), 2);
        self.flag("clocks differ", count(&|a, b| a.value.dim == CLOCK && apart(a, b)) > 0);
        self.flag("days differ", count(&|a, b| a.value.family() == DAY && apart(a, b)) > 0);
        self.flag("times differ", count(&|a, b| a.value.is_time() && apart(a, b)) > 0);
        self.count("amounts known", known.len(), 3);
        self.count("amounts new", new.len(), 3);
        self.flag("one amount each", known.len() == 1 && new.len() == 1);
        self.flag("amounts of other sorts", !known.is_empty() && !new.is_empty() && count(&like) == 0);
        let against = |a: &[Amount], b: &[Amount]| bound(a, MARK_LEAST) && bound(b, MARK_MOST);
        self.flag("least against most", against(known, new) || against(new, known));
        let dated = |all: &[Amount]| all.iter().any(|one| one.value.family() == DAY);
        self.flag("date known alone", dated(known) && !dated(new));
        self.flag("date new alone", dated(new) && !dated(known));
        let days = |gist: &Gist| -> Vec<u32> {
            gist.terms.iter().filter(|term| term.is(TIME)).map(|term| term.hash()).collect()
        };
        let (a, b) = (days(pair.known), days(pair.new));
        let meet = a.iter().any(|day| b.contains(day));
        self.flag("other weekdays", !a.is_empty() && !b.is_empty() && !meet);
        self.flag("same weekdays", meet);
        self.flag("one names weekdays", a.is_empty() != b.is_empty());
    }

    /// How the two are told.
    fn cues(&mut self, pair: &Pair<'_>) {
        const CUES: [(u16, &str, &str); 15] = [
            (HEDGE, "hedged known", "hedged new"),
            (ADDS_TO, "adds known", "adds new"),
            (CHANGE, "change known", "change new"),
            (MOMENT, "moment known", "moment new"),
            (MEASURED, "measured known", "measured new"),
            (ON_A_DAY, "on a day known", "on a day new"),
            (ALL_PAST, "past known", "past new"),
            (ALL, "all known", "all new"),
            (AGAIN, "again known", "again new"),
            (ONE_OF, "one of known", "one of new"),
            (FIRST_PERSON, "first person known", "first person new"),
            (REPLACES, "replaces known", "replaces new"),
            (LIMIT, "limit known", "limit new"),
            (SOME, "some known", "some new"),
            (ONLY, "only known", "only new"),
        ];
        for (cue, known, new) in CUES {
            self.flag(known, pair.known.has(cue));
            self.flag(new, pair.new.has(cue));
        }
        let both = |cue: u16| pair.known.has(cue) && pair.new.has(cue);
        self.flag("first person both", both(FIRST_PERSON));
        self.flag("again both", both(AGAIN));
        self.flag("limit both", both(LIMIT));
        let (a, b) = (&pair.known.relations, &pair.new.relations);
        let meets = |one: &super::Relation, other: &super::Relation| {
            let value = other.value(&pair.new.terms);
            one.value(&pair.known.terms).iter().any(|term| !term.is(WEAK) && holds(value, term.hash()))
        };
        let relation = |same: bool| {
            a.iter().any(|one| b.iter().any(|other| one.class == other.class && meets(one, other) == same))
        };
        self.flag("relation differs", relation(false));
        self.flag("relation same", relation(true));
        self.flag("relation changed", b.iter().any(|one| one.changed));
    }

    /// What both have.
    fn overlap(&mut self, pair: &Pair<'_>, similarity: f64) {
        let (known, new) = (pair.known, pair.new);
        let shared = pair.strong.len();
        let (a, b) = (content_words(known), content_words(new));
        let share = |of: usize| (shared as f32 / of.max(1) as f32).min(1.0);
        self.flag("nothing shared", shared == 0);
        self.flag("one shared", shared == 1);
        self.flag("two shared", shared == 2);
        self.count("shared", shared, 5);
        self.0.push(("shared of the shorter", share(a.min(b))));
        self.0.push(("shared of the longer", share(a.max(b))));
        self.count("words known", a, 12);
        self.count("words new", b, 12);
        self.count("weak words shared", pair.weak.len(), 3);
        self.0.push(("similarity", similarity as f32));
        let named = |term: &&Term| term.is(NAME) && holds(&new.terms, term.hash());
        self.count("names shared", known.terms.iter().filter(named).count(), 2);
        let ids = known.identifiers.iter().filter(|one| new.identifiers.contains(one)).count();
        self.count("identifiers shared", ids, 2);
        let subject = |term: &&Term| {
            let same = |other: &Term| other.hash() == term.hash() && other.is(SUBJECT);
            term.is(SUBJECT) && !term.is(WEAK) && new.terms.iter().any(same)
        };
        self.count("subjects shared", known.terms.iter().filter(subject).count(), 2);
    }

    /// What only one of them has.
    fn own_words(&mut self, pair: &Pair<'_>) {
        let (known, new) = (pair.known, pair.new);
        let own = |a: &Gist, b: &Gist| {
            let lacks = |term: &&Term| !term.is(WEAK | KIND | TIME) && !holds(&b.terms, term.hash());
            a.terms.iter().filter(lacks).count()
        };
        self.sides(
            ["own words known", "own words new", "own words both"],
            (own(known, new), own(new, known)),
            6,
        );
        let marked = |a: &Gist, b: &Gist, mark: u8| {
            let lacks =
                |term: &&Term| term.is(mark) && !term.is(WEAK | KIND) && !holds(&b.terms, term.hash());
            let mut found: Vec<u32> = a.terms.iter().filter(lacks).map(|term| term.hash()).collect();
            found.sort_unstable();
            found.dedup();
            found.len()
        };
        for (names, mark) in [
            (["own names known", "own names new", "own names both"], NAME),
            (["own scopes known", "own scopes new", "own scopes both"], SCOPE),
            (["own subjects known", "own subjects new", "own subjects both"], SUBJECT),
        ] {
            self.sides(names, (marked(known, new, mark), marked(new, known, mark)), 3);
        }
    }

    /// Own words behind prepositions: where, for whom, with what, when.
    fn links(&mut self, pair: &Pair<'_>) {
        const NAMES: [[&str; 3]; 6] = [
            ["own place known", "own place new", "own place both"],
            ["own purpose known", "own purpose new", "own purpose both"],
            ["own means known", "own means new", "own means both"],
            ["own whole known", "own whole new", "own whole both"],
            ["own condition known", "own condition new", "own condition both"],
            ["own source known", "own source new", "own source both"],
        ];
        let own = |a: &Gist, b: &Gist, link: u8| {
            let counts = |term: &Term| !term.is(WEAK | KIND | TIME) && !holds(&b.terms, term.hash());
            let behind = |(at, term): &(usize, &Term)| a.link(*at) & LINKS == link && counts(term);
            a.terms.iter().enumerate().filter(behind).count()
        };
        let (mut known, mut new) = (0, 0);
        for (names, link) in NAMES.into_iter().zip(PLACED..) {
            let (a, b) = (own(pair.known, pair.new, link), own(pair.new, pair.known, link));
            (known, new) = (known + a, new + b);
            self.sides(names, (a, b), 2);
        }
        self.sides(["own links known", "own links new", "own links both"], (known, new), 3);
    }

    /// Own words directly before or after a shared one: "raw carrots", "mail drafts".
    fn neighbours(&mut self, pair: &Pair<'_>) {
        let shared = |hash: u32| pair.strong.contains(&hash) || pair.weak.contains(&hash);
        let own = |term: Option<&Term>, other: &Gist| {
            term.is_some_and(|term| !term.is(WEAK | KIND) && !holds(&other.terms, term.hash()))
        };
        let before = |a: &Gist, b: &Gist| -> Vec<u32> {
            let has = |(at, term): &(usize, &Term)| {
                let previous = at.checked_sub(1).and_then(|at| a.terms.get(at));
                shared(term.hash()) && a.link(*at) & BESIDE != 0 && own(previous, b)
            };
            a.terms.iter().enumerate().filter(has).map(|(_, term)| term.hash()).collect()
        };
        let after = |a: &Gist, b: &Gist| -> Vec<u32> {
            let has = |(at, term): &(usize, &Term)| {
                shared(term.hash()) && a.link(at + 1) & BESIDE != 0 && own(a.terms.get(at + 1), b)
            };
            a.terms.iter().enumerate().filter(has).map(|(_, term)| term.hash()).collect()
        };
        let meet = |a: &[u32], b: &[u32]| a.iter().any(|one| b.contains(one));
        let (a, b) = (before(pair.known, pair.new), before(pair.new, pair.known));
        self.count("word before known", a.len(), 2);
        self.count("word before new", b.len(), 2);
        self.flag("other words before", meet(&a, &b));
        let (a, b) = (after(pair.known, pair.new), after(pair.new, pair.known));
        self.count("word after known", a.len(), 2);
        self.count("word after new", b.len(), 2);
        self.flag("other words after", meet(&a, &b));
    }

    /// What tells two things apart, and what shows that they are one.
    fn vetoes(&mut self, pair: &Pair<'_>) {
        self.flag("scopes differ", pair.scopes_differ);
        self.flag("names differ", pair.names_differ);
        self.flag("identifiers differ", pair.identifiers_differ());
        self.flag("other days", pair.other_days());
        self.flag("two things", pair.are_two_things());
        self.flag("two subjects", pair.are_two_subjects());
        self.flag("parts differ", pair.parts_differ(false));
        self.flag("aims differ", pair.aims_differ());
        self.flag("leads differ", leads_differ(pair.known, pair.new));
        self.flag("relatives differ", pair.relatives_differ());
        self.flag("part of the other", pair.is_part_of_the_other());
        self.flag("same person", pair.same_person());
        self.flag("same subject", pair.same_subject());
        self.flag("meets subject", pair.meets_subject());
        self.flag("no subject", pair.has_no_subject());
        self.flag("other name", pair.has_other_name());
        self.flag("near", pair.near(2, false));
        self.flag("mostly the same", pair.is_mostly_the_same());
    }
}

/// How many different content words a gist has.
fn content_words(gist: &Gist) -> usize {
    let counts = |term: &&Term| !term.is(WEAK | KIND | TIME);
    let mut words: Vec<u32> = gist.terms.iter().filter(counts).map(|term| term.hash()).collect();
    words.sort_unstable();
    words.dedup();
    words.len()
}
