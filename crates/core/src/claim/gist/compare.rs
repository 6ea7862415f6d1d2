//! Whether two gists can both hold.

use super::relations::{ANY, Relation, UNIT, USE, is_attribute, names_unit, same_thing, takes_anybody};
use super::{
    ADDS_TO, AGAIN, ALL, ALL_PAST, Amount, CHANGE, DENIED, ENDED, FIRST_PERSON, Gist, HEDGE, KIND, LIMIT,
    MEASURED, MOMENT, NAME, ON_A_DAY, ONE_OF, ORDER, SCOPE, SOME, SUBJECT, Side, TIME, TOPICAL, Term, WEAK,
};
use crate::claim::places::is_wide;
use crate::claim::quantity::{CLOCK, COUNT, DAY, DURATION, MARK_MOST, MASS, Value};

/// How two gists contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::claim) enum Conflict {
    /// What the one says is ended by the other.
    Ended,
    /// What the one says is denied by the other.
    Denied,
    /// They say opposites of the same.
    Opposite,
    /// They give different amounts.
    Amount,
    /// They give different times.
    Time,
    /// They put different ones in the same place.
    Place,
}

/// How the new gist contradicts the known one, if it does.
pub(in crate::claim) fn conflict(known: &Gist, new: &Gist) -> Option<Conflict> {
    if known.has(ALL_PAST) || (known.cues | new.cues) & (HEDGE | MOMENT) != 0 {
        return None;
    }
    let pair = Pair::of(known, new);
    if pair.strong.is_empty() {
        return pair.may_differ_by_attribute().then_some(Conflict::Opposite);
    }
    if pair.ended() {
        return Some(Conflict::Ended);
    }
    if pair.denied(known, new) || pair.denied(new, known) {
        return Some(Conflict::Denied);
    }
    let told = new.has(ALL_PAST) && !new.has(CHANGE);
    if new.has(ADDS_TO) || told {
        return None;
    }
    if pair.opposite() || pair.attribute_differs() {
        return Some(Conflict::Opposite);
    }
    if let Some(found) = pair.amount() {
        return Some(found);
    }
    if pair.schedule() {
        return Some(Conflict::Time);
    }
    if pair.place() || pair.has_changed() || pair.attribute_moved() {
        return Some(Conflict::Place);
    }
    None
}

/// What is taken at a time weighs less.
const DOSE_MAX_KILOGRAMS: f64 = 0.01;
/// The axes of the table of this module are below it.
const OWN_AXES: u32 = 1_000;

/// Two gists and what they share.
pub(super) struct Pair<'a> {
    pub(super) known: &'a Gist,
    pub(super) new: &'a Gist,
    /// Words of both that say which thing is meant.
    pub(super) strong: Vec<u32>,
    /// Words of both that only tell parts apart or say little.
    pub(super) weak: Vec<u32>,
    /// They name different parts of a thing.
    pub(super) scopes_differ: bool,
    /// Each names a name that the other does not.
    pub(super) names_differ: bool,
}

pub(super) fn holds(terms: &[Term], hash: u32) -> bool {
    terms.iter().any(|term| term.hash() == hash)
}

/// What the one is about has a name that the other does not know.
fn subject_lacks(a: &Gist, b: &Gist) -> bool {
    a.terms.iter().any(|term| term.is(NAME) && term.is(SUBJECT) && !holds(&b.terms, term.hash()))
}

/// Each is limited to something else at its beginning.
pub(super) fn leads_differ(known: &Gist, new: &Gist) -> bool {
    let lead = |gist: &Gist| {
        let (from, to) = gist.lead.unwrap_or_default();
        gist.terms.get(usize::from(from)..usize::from(to)).unwrap_or_default().to_vec()
    };
    let (a, b) = (lead(known), lead(new));
    let lacks = |some: &[Term], all: &[Term]| some.iter().any(|term| !holds(all, term.hash()));
    lacks(&a, &new.terms) && lacks(&b, &known.terms)
}

impl<'a> Pair<'a> {
    pub(super) fn of(known: &'a Gist, new: &'a Gist) -> Self {
        let (mut strong, mut weak) = (Vec::new(), Vec::new());
        for term in &known.terms {
            if term.is(KIND) {
                continue;
            }
            if let Some(other) = new.terms.iter().find(|other| other.hash() == term.hash()) {
                let list = if term.is(WEAK | SCOPE) || other.is(SCOPE) { &mut weak } else { &mut strong };
                if !list.contains(&term.hash()) {
                    list.push(term.hash());
                }
            }
        }
        let lacks = |a: &Gist, b: &Gist, marks: u8| {
            a.terms.iter().any(|term| term.is(marks) && !holds(&b.terms, term.hash()))
        };
        Self {
            known,
            new,
            strong,
            weak,
            scopes_differ: (lacks(known, new, SCOPE) && lacks(new, known, SCOPE)) || leads_differ(known, new),
            names_differ: subject_lacks(known, new) && subject_lacks(new, known),
        }
    }

    /// Words of both that are not among these.
    fn beside(&self, but: &[u32]) -> usize {
        self.strong.iter().filter(|hash| !but.contains(hash)).count()
    }

    /// "no longer V", "V was cancelled", where V is what is known.
    pub(super) fn ended(&self) -> bool {
        // Who left may well do what else is known of them.
        let in_place =
            |hash: u32| self.known.relations.iter().any(|one| holds(one.value(&self.known.terms), hash));
        let person = |term: &Term| {
            term.is(NAME)
                && term.is(SUBJECT)
                && !self.known.identifiers.contains(&term.hash())
                && !in_place(term.hash())
        };
        let stands = |hash: u32| {
            let holds = |term: &Term| term.hash() == hash && !term.is(DENIED | ENDED | WEAK | SCOPE | KIND);
            self.known.terms.iter().any(|term| holds(term) && !person(term))
        };
        let all: Vec<&Term> =
            self.new.terms.iter().filter(|term| term.is(ENDED) && !term.is(WEAK | SCOPE | KIND)).collect();
        let mut ended: Vec<u32> = all.iter().map(|term| term.hash()).filter(|hash| stands(*hash)).collect();
        ended.sort_unstable();
        ended.dedup();
        let named = all.iter().any(|term| term.is(NAME) && ended.contains(&term.hash()));
        let first = all.first().is_some_and(|term| ended.contains(&term.hash()));
        let most = ended.len() * 2 >= all.len() || named || first;
        let content = self.known.terms.iter().filter(|term| !term.is(WEAK | SCOPE | KIND)).count();
        let context = self.beside(&ended) >= 1
            || ended.len() >= 2
            || (named && (self.same_person() || self.adds_no_subject()))
            || content == ended.len();
        !ended.is_empty() && most && !self.identifiers_differ() && !self.scopes_differ && context
    }

    /// The new one is about nothing that is not in the known one.
    fn adds_no_subject(&self) -> bool {
        let own = |term: &Term| {
            term.is(SUBJECT) && !term.is(WEAK | ENDED) && !holds(&self.known.terms, term.hash())
        };
        !self.new.terms.iter().any(own)
    }

    /// Each has an identifier that the other has not.
    pub(super) fn identifiers_differ(&self) -> bool {
        let lacks = |a: &Gist, b: &Gist| a.identifiers.iter().any(|one| !b.identifiers.contains(one));
        lacks(self.known, self.new) && lacks(self.new, self.known)
    }

    /// One denies what the other says.
    pub(super) fn denied(&self, says: &Gist, denies: &Gist) -> bool {
        let other = self.scopes_differ || self.names_differ || self.other_days();
        let some = (says.has(SOME) || denies.has(SOME))
            && !(says.has(ALL) && denies.has(SOME) && self.is_mostly_the_same());
        let told = says.has(ALL_PAST) || (denies.has(ALL_PAST) && !denies.has(CHANGE));
        if other || some || told || (says.cues | denies.cues) & ADDS_TO != 0 {
            return false;
        }
        denies.denials.iter().any(|(from, to)| {
            let reached = denies.terms.get(usize::from(*from)..usize::from(*to)).unwrap_or_default();
            self.denies(says, reached)
        })
    }

    fn denies(&self, says: &Gist, reached: &[Term]) -> bool {
        let said = |term: &Term| {
            says.terms.iter().any(|other| other.hash() == term.hash() && !other.is(DENIED | ENDED))
        };
        let denied =
            |term: &Term| says.terms.iter().any(|other| other.hash() == term.hash() && other.is(DENIED));
        let counts = |term: &&Term| !term.is(WEAK);
        // A kind stands for the word beside it.
        let kinds: Vec<u32> =
            reached.iter().filter(|term| term.is(KIND) && said(term)).map(|term| term.hash()).collect();
        let words: Vec<&Term> = reached.iter().filter(counts).filter(|term| !term.is(KIND)).collect();
        if reached.iter().any(denied) {
            return false;
        }
        let shared: Vec<u32> = words.iter().filter(|term| said(term)).map(|term| term.hash()).collect();
        let missing = words.len() - shared.len();
        let first = words.first().is_some_and(|term| shared.contains(&term.hash()));
        let all_said = missing == 0 && shared.len() >= 2;
        let near = missing == 0
            || (words.len() >= 3 && missing == 1 && first)
            || (!kinds.is_empty() && missing <= 1);
        let only_kinds = kinds.is_empty();
        let all: Vec<u32> = shared.into_iter().chain(kinds).collect();
        let person = missing == 0 && self.same_person();
        let within =
            if words.len() >= 3 || !only_kinds || all_said { all.len().saturating_sub(1) } else { 0 };
        let context = self.beside(&all) + within + usize::from(person);
        !all.is_empty()
            && near
            && context >= 1
            && (self.same_subject() || (all_said && (says.has(ALL) || !self.are_two_things())))
    }

    /// One opposite differs, of the same thing.
    pub(super) fn opposite(&self) -> bool {
        let other = self.scopes_differ || self.names_differ || self.other_days() || self.are_two_things();
        if other || (self.known.cues | self.new.cues) & (MEASURED | SOME) != 0 || self.sides_apart(true) > 0 {
            return false;
        }
        let own = self.known.sides.iter().any(|side| {
            side.axis < OWN_AXES
                && self.new.sides.iter().any(|other| other.axis == side.axis && other.side != side.side)
        });
        let subject = self.same_subject() || (own && self.meets_subject());
        self.sides_apart(false) == 1
            && self.near(2, self.topical())
            && (own || self.is_mostly_the_same())
            && subject
    }

    /// An opposite differs that says by itself what it is about.
    pub(super) fn topical(&self) -> bool {
        self.known.sides.iter().any(|side| {
            (TOPICAL..OWN_AXES).contains(&side.axis)
                && self.new.sides.iter().any(|other| other.axis == side.axis && other.side != side.side)
        })
    }

    /// Both are about the user, or about whoever says it.
    pub(super) fn same_person(&self) -> bool {
        let user = |gist: &Gist, hash: u32| {
            gist.terms.iter().any(|term| term.hash() == hash && term.is(WEAK) && term.is(SUBJECT))
        };
        let shared =
            self.known.terms.iter().any(|term| user(self.known, term.hash()) && user(self.new, term.hash()));
        shared || (self.known.has(FIRST_PERSON) && self.new.has(FIRST_PERSON))
    }

    /// How many opposites differ; with `order`, how many starts stand against ends.
    pub(super) fn sides_apart(&self, order: bool) -> usize {
        let on = |side: &&Side, other: &&Side| side.axis == other.axis;
        let mut apart: Vec<u32> = Vec::new();
        let both = |gist: &Gist, axis: u32| {
            let mut on = gist.sides.iter().filter(|side| side.axis == axis);
            let first = on.next().map(|side| side.side);
            on.any(|side| Some(side.side) != first)
        };
        let clear = |side: &&Side| !both(self.known, side.axis) && !both(self.new, side.axis);
        for side in self.known.sides.iter().filter(|side| (side.axis & ORDER != 0) == order).filter(clear) {
            let others: Vec<&Side> = self.new.sides.iter().filter(|other| on(&side, other)).collect();
            if others.iter().any(|other| (other.side == side.side) == (other.denied == side.denied)) {
                continue;
            }
            if !others.is_empty() && !apart.contains(&side.axis) {
                apart.push(side.axis);
            }
        }
        apart.len()
    }

    /// Both name days, and others, and not the one day on which something ends.
    pub(super) fn other_days(&self) -> bool {
        let days = |gist: &'a Gist| gist.amounts.iter().filter(|one| one.value.family() == DAY);
        let apart = days(self.known).any(|one| days(self.new).any(|other| one.value.is_apart(&other.value)));
        apart && !(self.known.has(ON_A_DAY) && self.new.has(ON_A_DAY))
    }

    /// The same words but for one that tells two things apart: "starts work", "starts lunch".
    pub(super) fn are_two_things(&self) -> bool {
        self.are_told_apart(false)
    }

    /// The same, but a word that differs behind the verb is no other thing: it may be the value.
    pub(super) fn are_two_subjects(&self) -> bool {
        self.are_told_apart(true)
    }

    fn are_told_apart(&self, by_subject: bool) -> bool {
        let own = |gist: &Gist, other: &Gist, but: u8| -> Vec<u32> {
            let says_side = |hash: u32| gist.sides.iter().any(|side| side.word == hash);
            let sides = |term: &&Term| {
                !term.is(KIND | TIME | but) && !holds(&other.terms, term.hash()) && !says_side(term.hash())
            };
            gist.terms.iter().filter(sides).map(|term| term.hash()).collect()
        };
        let (a, b) = (own(self.known, self.new, WEAK), own(self.new, self.known, WEAK));
        let (all, others) = (own(self.known, self.new, 0), own(self.new, self.known, 0));
        let place = |gist: &Gist, hash: u32| {
            let says_side = |hash: u32| gist.sides.iter().any(|side| side.word == hash);
            let mut words = gist.terms.iter().filter(|term| !term.is(KIND | WEAK) && !says_side(term.hash()));
            words.position(|term| term.hash() == hash)
        };
        let is_subject =
            |gist: &Gist, hash: u32| gist.terms.iter().any(|term| term.hash() == hash && term.is(SUBJECT));
        let alike = matches!((a.as_slice(), b.as_slice()), ([one], [other]) if place(self.known, *one) == place(self.new, *other) && (!by_subject || is_subject(self.known, *one) || is_subject(self.new, *other)));
        let subject = |gist: &Gist, but: &[u32]| {
            gist.terms.iter().any(|term| term.is(SUBJECT) && but.contains(&term.hash()))
        };
        let shared = self.known.terms.iter().any(|term| {
            term.is(SUBJECT)
                && !term.is(SCOPE | WEAK)
                && self.new.terms.iter().any(|other| other.hash() == term.hash() && other.is(SUBJECT))
        });
        let dated = self.known.has(ON_A_DAY) && self.new.has(ON_A_DAY);
        let turned = {
            let names = |gist: &Gist| {
                gist.terms.iter().filter(|term| term.is(NAME)).map(|term| term.hash()).collect::<Vec<_>>()
            };
            let (mut a, mut b) = (names(self.known), names(self.new));
            let order = a == b;
            a.sort_unstable();
            b.sort_unstable();
            a == b && !order
        };
        alike || turned || (!dated && shared && subject(self.known, &all) && subject(self.new, &others))
    }

    /// More than half of the words of each are words of the other.
    pub(super) fn is_mostly_the_same(&self) -> bool {
        let most = |gist: &Gist| {
            gist.terms.iter().filter(|term| !term.is(WEAK | KIND | TIME)).count() <= self.strong.len() * 2 + 1
        };
        most(self.known) && most(self.new)
    }

    /// Enough words of both, for their length. What both say in other ways may count as one more.
    pub(super) fn near(&self, least: usize, more: bool) -> bool {
        let count = |gist: &Gist| {
            let mut words: Vec<u32> = gist
                .terms
                .iter()
                .filter(|term| !term.is(WEAK | KIND | TIME))
                .map(|term| term.hash())
                .collect();
            words.sort_unstable();
            words.dedup();
            words.len()
        };
        let fewer = count(self.known).min(count(self.new)).max(1);
        let named = self.strong.iter().any(|hash| self.known.identifiers.contains(hash));
        let part = self
            .known
            .terms
            .iter()
            .any(|term| term.is(SCOPE) && !term.is(WEAK) && self.weak.contains(&term.hash()));
        let shared = self.strong.len() + usize::from(named) + usize::from(more) + usize::from(part);
        shared >= least && shared * 5 >= fewer * 2
    }

    /// What the one is about is a word of the other.
    pub(super) fn same_subject(&self) -> bool {
        let subject = |gist: &Gist| -> Vec<u32> {
            gist.terms
                .iter()
                .filter(|term| term.is(SUBJECT) && !term.is(WEAK))
                .map(|term| term.hash())
                .take(3)
                .collect()
        };
        let (a, b) = (subject(self.known), subject(self.new));
        let meets =
            |some: &[u32], gist: &Gist| some.is_empty() || some.iter().any(|hash| holds(&gist.terms, *hash));
        meets(&a, self.new) && meets(&b, self.known)
    }

    /// What one is about has a name that the other does not know.
    pub(super) fn has_other_name(&self) -> bool {
        subject_lacks(self.known, self.new) || subject_lacks(self.new, self.known)
    }

    /// What one of the two is about is a word of the other.
    pub(super) fn meets_subject(&self) -> bool {
        let meets = |gist: &Gist, other: &Gist| {
            gist.terms
                .iter()
                .any(|term| term.is(SUBJECT) && !term.is(WEAK | SCOPE) && holds(&other.terms, term.hash()))
        };
        meets(self.known, self.new) || meets(self.new, self.known)
    }

    /// One amount differs, of the same sort and of the same thing.
    pub(super) fn amount(&self) -> Option<Conflict> {
        let other =
            self.scopes_differ || self.names_differ || self.are_two_things() || self.sides_apart(true) > 0;
        let part = |a: &Gist, b: &Gist| {
            let limits = a.has(LIMIT) && b.amounts.len() == 1;
            !limits
                && a.terms.iter().any(|term| {
                    term.is(SCOPE) && term.is(SUBJECT) && !term.is(TIME) && !holds(&b.terms, term.hash())
                })
        };
        let other = other || part(self.known, self.new) || part(self.new, self.known);
        if other || (self.known.cues | self.new.cues) & (MEASURED | ONE_OF) != 0 {
            return None;
        }
        let limit =
            |gist: &Gist| gist.has(LIMIT) || gist.amounts.iter().any(|one| one.value.mark & MARK_MOST != 0);
        let limits = limit(self.known) && limit(self.new);
        let attribute = self.strong.iter().any(|hash| is_attribute(Term::new(*hash, 0)));
        let bare = limits || attribute;
        let like = |a: &Amount, b: &Amount| {
            a.value.family() == b.value.family()
                && (a.value.dim != COUNT || (a.of == b.of && (a.of != 0 || bare)))
        };
        let (a, b) = (&self.known.amounts, &self.new.amounts);
        let (mut apart, mut time) = (0, false);
        for one in a {
            let others: Vec<&Amount> = b.iter().filter(|other| like(one, other)).collect();
            let [other] = others.as_slice() else { continue };
            let alone = |all: &[Amount]| all.iter().filter(|same| like(one, same)).count() == 1;
            if alone(a) && alone(b) && self.apart(one.value, other.value) && self.may_differ(&one.value) {
                apart += 1;
                time |= one.value.is_time();
            }
        }
        let times = |amounts: &[Amount]| {
            amounts.iter().filter(|one| one.value.is_time() && one.value.dim != CLOCK).count()
        };
        let other_times = times(a) != times(b);
        let days = |amounts: &[Amount]| amounts.iter().any(|one| one.value.family() == DAY);
        let dates = self.ends_on_a_day() && days(a) && days(b);
        let other_days = days(a) && days(b) && !dates && self.other_days();
        let once = |gist: &Gist| gist.terms.iter().any(|term| term.is(TIME)) && !gist.has(AGAIN);
        let differ = (apart == 1 || (apart == 2 && dates && self.new.has(CHANGE)))
            && !other_times
            && !other_days
            && !once(self.known)
            && !once(self.new)
            && self.near(2, limits || dates || self.same_dose())
            && (dates || self.same_head() || self.same_attribute())
            && !(self.has_price() && !time && self.durations_differ());
        differ.then_some(if time { Conflict::Time } else { Conflict::Amount })
    }

    /// An attribute with one value is told of the same name: "the budget of Lark".
    fn same_attribute(&self) -> bool {
        let attribute = self.strong.iter().any(|hash| is_attribute(Term::new(*hash, 0)));
        let named = |hash: &u32| self.known.terms.iter().any(|term| term.hash() == *hash && term.is(NAME));
        attribute && self.strong.iter().any(named)
    }

    /// Both give so much of a thing that is taken, and both are about the same person.
    fn same_dose(&self) -> bool {
        let dose = |gist: &Gist| {
            gist.amounts.iter().any(|one| one.value.dim == MASS && one.value.high < DOSE_MAX_KILOGRAMS)
        };
        dose(self.known) && dose(self.new)
    }

    /// One names a price.
    fn has_price(&self) -> bool {
        self.known.amounts.iter().chain(&self.new.amounts).any(|one| one.value.is_price())
    }

    /// "A 60-minute lesson", "a 90-minute lesson": two things.
    fn durations_differ(&self) -> bool {
        let of = |gist: &'a Gist| gist.amounts.iter().filter(|one| one.value.dim == DURATION);
        of(self.known).any(|one| of(self.new).any(|other| one.value.is_apart(&other.value)))
    }

    /// What the one is about first is a word of the other.
    fn same_head(&self) -> bool {
        let head = |gist: &Gist| {
            gist.terms.iter().find(|term| !term.is(WEAK | SCOPE | KIND)).map(|term| term.hash())
        };
        let meets = |head: Option<u32>, gist: &Gist| head.is_none_or(|hash| holds(&gist.terms, hash));
        (meets(head(self.known), self.new) || meets(head(self.new), self.known))
            && (self.same_subject() || (self.meets_subject() && !self.has_other_name()))
    }

    /// Where a limit is meant, "up to 25 MB" is 25 MB.
    fn apart(&self, mut a: Value, mut b: Value) -> bool {
        let most = a.mark & b.mark & MARK_MOST != 0;
        if most || (self.known.cues | self.new.cues) & LIMIT != 0 {
            a.mark &= !MARK_MOST;
            b.mark &= !MARK_MOST;
        }
        a.is_apart(&b)
    }

    fn may_differ(&self, value: &Value) -> bool {
        let dates = value.family() == DAY;
        !dates || self.ends_on_a_day()
    }

    /// Both are about something that is on one day, or the new one says that it was moved to another.
    fn ends_on_a_day(&self) -> bool {
        (self.known.has(ON_A_DAY) && self.new.has(ON_A_DAY))
            || (self.new.has(CHANGE) && self.strong.len() >= 2)
    }

    /// What happens again and again does so on other days.
    pub(super) fn schedule(&self) -> bool {
        let days = |gist: &Gist| -> Vec<u32> {
            gist.terms.iter().filter(|term| term.is(TIME)).map(|term| term.hash()).collect()
        };
        let (a, b) = (days(self.known), days(self.new));
        let parts = |a: &Gist, b: &Gist| {
            a.terms.iter().any(|term| term.is(SCOPE) && !term.is(TIME) && !holds(&b.terms, term.hash()))
        };
        let other = (parts(self.known, self.new) && parts(self.new, self.known)) || self.names_differ;
        let named = |hash: &u32| {
            self.known.terms.iter().any(|term| term.hash() == *hash && term.is(NAME) && !term.is(SUBJECT))
        };
        let noun = self.strong.iter().any(|hash| !named(hash) && self.is_no_name(*hash));
        let subject = |gist: &Gist, other: &Gist| {
            let mut all =
                gist.terms.iter().filter(|term| term.is(SUBJECT) && !term.is(WEAK | SCOPE | KIND)).peekable();
            all.peek().is_some() && all.all(|term| holds(&other.terms, term.hash()))
        };
        let denied = self.denies_shared(self.known) || self.denies_shared(self.new);
        !a.is_empty()
            && !b.is_empty()
            && !denied
            && !self.clocks_differ()
            && !a.iter().any(|day| b.contains(day))
            && self.known.has(AGAIN)
            && (self.new.has(AGAIN) || self.new.has(CHANGE))
            && !other
            && noun
            && (subject(self.known, self.new)
                || subject(self.new, self.known)
                || (self.strong.len() >= 2 && !self.are_two_things()))
    }

    fn denies_shared(&self, gist: &Gist) -> bool {
        gist.terms.iter().any(|term| term.is(DENIED) && (term.is(TIME) || self.strong.contains(&term.hash())))
    }

    /// Both name a time of day, and another one.
    fn clocks_differ(&self) -> bool {
        let clocks = |gist: &'a Gist| gist.amounts.iter().filter(|one| one.value.dim == CLOCK);
        clocks(self.known).any(|one| clocks(self.new).any(|other| one.value.is_apart(&other.value)))
    }

    /// A word that begins with a small letter wherever that can be seen.
    pub(super) fn is_no_name(&self, hash: u32) -> bool {
        let plain = |gist: &Gist| gist.terms.iter().any(|term| term.hash() == hash && !term.is(NAME));
        plain(self.known) || plain(self.new)
    }

    /// Another one stands in the same place.
    pub(super) fn place(&self) -> bool {
        if (self.known.cues | self.new.cues) & ONE_OF != 0 {
            return false;
        }
        let (mine, theirs) = (&self.known.relations, &self.new.relations);
        mine.iter().any(|one| theirs.iter().any(|other| self.relations_differ(*one, *other)))
    }

    fn relations_differ(&self, known: Relation, new: Relation) -> bool {
        let same_class = known.class == new.class && (new.class != USE || new.changed);
        let changed = new.changed && new.class == ANY;
        if !(same_class || changed) {
            return false;
        }
        let (a, b) = (known.value(&self.known.terms), new.value(&self.new.terms));
        let (thing, other) = (known.thing(&self.known.terms), new.thing(&self.new.terms));
        let counts = |terms: &[Term]| terms.iter().filter(|term| !term.is(WEAK | SCOPE)).count();
        let shares = a.iter().any(|term| !term.is(WEAK) && holds(b, term.hash()));
        let denied = a.iter().chain(b).chain(thing).chain(other).any(|term| term.is(DENIED | ENDED));
        let named = |terms: &[Term]| terms.iter().any(|term| term.is(NAME));
        let wide = |terms: &[Term]| terms.iter().any(|term| is_wide(term.hash()));
        let in_known = b.iter().any(|term| !term.is(WEAK) && holds(&self.known.terms, term.hash()));
        !shares
            && !in_known
            && !denied
            && counts(a) > 0
            && counts(b) > 0
            && (known.class != UNIT || (a.iter().any(names_unit) && b.iter().any(names_unit)))
            && wide(a) == wide(b)
            && (named(a) == named(b) || takes_anybody(known.class))
            && same_thing(known.class, thing, other)
            && !self.scopes_differ
    }
}
