//! Whether two statements can both hold.
//!
//! They contradict only when they speak of the same in the same words but for one thing: a denial, an opposite, a value.
//! What differs anywhere else makes them two statements.

use super::lexicon::{axis_of, order_of};
use super::places::level;
use super::quantity::{CLOCK, DAY, MARK_ANCHOR, MARK_END, MARK_SINCE, MARK_START, Value};
use super::statement::{
    DATED, DEFINITE, DENIED, DENIED_SIDE, EVENT, FUTURE, HAS_DENIAL, Kind, NO_CLAIM, NONE, PARTIAL, PAST,
    PERFECT, PERIODIC, RANKS, SIDE_OF_NOUN, SIDE_WHICH, SLOT_BY, SLOT_CHOICE, SLOT_NAME, SLOT_PLACE,
    SLOT_WHERE, Statement, Token,
};
use super::{Method, distinct, hash64};
use std::sync::LazyLock;

/// An event told with this many words in common is the same event.
const SAME_EVENT_TOKENS: usize = 8;
/// Something may run past midnight, so an end this many minutes before its start is the most that is an error.
const MINUTES_BACK_MAX: f64 = 240.0;

/// The bits of a side that say which.
const SIDE_MASK: u8 = 7;

/// How the two contradict, if they do.
pub(super) fn judge(known: &Statement, new: &Statement) -> Option<Method> {
    if known.is(NO_CLAIM) || new.is(NO_CLAIM) || known.form == new.form {
        return None;
    }
    if out_of_order(known, new) {
        return Some(Method::Order);
    }
    if distinct::are_two(known, new) {
        return None;
    }
    if same_bag(known.tokens.iter(), new.tokens.iter()) {
        return same_words(known, new);
    }
    other_fill(known, new).then_some(Method::Predicate)
}

/// One number for a bag of words, whatever their order.
fn bag<'a>(tokens: impl Iterator<Item = &'a Token>) -> u64 {
    tokens.fold(0, |sum: u64, token| sum.wrapping_add(hash64(1, &token.hash().to_le_bytes())))
}

fn same_bag<'a>(a: impl Iterator<Item = &'a Token>, b: impl Iterator<Item = &'a Token>) -> bool {
    bag(a) == bag(b)
}

fn names(statement: &Statement) -> impl Iterator<Item = u32> + '_ {
    statement.tokens.iter().filter(|token| token.kind() == Kind::Name).map(|token| token.hash())
}

/// The same content words: a denial, an opposite or a value may differ.
fn same_words(known: &Statement, new: &Statement) -> Option<Method> {
    if known.tokens.is_empty() {
        return None;
    }
    if ranked_otherwise(known, new) {
        return Some(Method::Predicate);
    }
    if let Some(found) = around_an_order(known, new) {
        return found;
    }
    if !names(known).eq(names(new)) {
        return None;
    }
    let values = Values::of(known, new);
    let sides = Sides::of(known, new);
    let denial = known.is(DENIED) != new.is(DENIED);
    if values.unlike {
        return none_against_some(known, new, denial && !sides.differ);
    }
    if values.apart.is_none() && !values.moved {
        return opposed(known, new, &sides, denial, &values);
    }
    if denial || sides.differ || known.is(HAS_DENIAL) {
        return None;
    }
    value_method(known, new, &values)
}

/// What the opposites of two statements with the same words say.
struct Sides {
    /// An opposite that tells which thing is meant differs.
    which: bool,
    /// Only opposites before nouns differ.
    of_nouns: bool,
    /// Any opposite differs.
    differ: bool,
    /// One opposite differs, and no more: what differs in two is two things.
    axis: bool,
    /// One of several states differs, and no more.
    state: bool,
}

impl Sides {
    fn of(known: &Statement, new: &Statement) -> Self {
        let sides = |statement: &Statement, kind: Kind| {
            let of_kind = statement.tokens.iter().filter(|token| token.kind() == kind);
            let mut sides: Vec<(u32, u8)> = of_kind.map(|token| (token.hash(), token.side())).collect();
            sides.sort_unstable();
            sides
        };
        let mut found = Self { which: false, of_nouns: true, differ: false, axis: false, state: false };
        let mut apart = |kind: Kind| {
            let (a, b) = (sides(known, kind), sides(new, kind));
            let apart = a.iter().zip(&b).filter(|(a, b)| a.1 & SIDE_MASK != b.1 & SIDE_MASK);
            for (a, b) in apart.clone() {
                found.which |= (a.1 | b.1) & SIDE_WHICH != 0;
                found.of_nouns &= a.1 & b.1 & SIDE_OF_NOUN != 0;
            }
            apart.count()
        };
        let (axes, states, orders) = (apart(Kind::Axis), apart(Kind::State), apart(Kind::Order));
        found.differ = axes + states + orders > 0;
        found.axis = axes == 1 && states + orders == 0;
        found.state = states == 1 && axes + orders == 0;
        found
    }
}

fn opposed(
    known: &Statement,
    new: &Statement,
    sides: &Sides,
    denial: bool,
    values: &Values,
) -> Option<Method> {
    if !same_time(known, new) || values.one_sided_time {
        return None;
    }
    let partial = known.is(PARTIAL) && new.is(PARTIAL);
    if !sides.differ {
        return (denial && !partial).then_some(Method::Negation);
    }
    if partial || denial || sides.which || (sides.of_nouns && may_be_another(known)) {
        return None;
    }
    // What is neither the one nor the other is possible.
    let denied = known.is(DENIED_SIDE) || new.is(DENIED_SIDE);
    ((sides.axis || sides.state) && !denied).then_some(Method::Antonym)
}

/// "has no children" against "has two children".
fn none_against_some(known: &Statement, new: &Statement, denial: bool) -> Option<Method> {
    let (none, some) = if known.is(NONE) { (known, new) } else { (new, known) };
    let counts = |value: &Value| !value.is_time() && value.low > 0.0;
    let only = none.values.is_empty() && some.values.len() == 1 && some.values.iter().all(counts);
    (denial && none.is(NONE) && only && same_time(known, new)).then_some(Method::Negation)
}

/// Tells of something that can happen again, in too few words to be surely the same.
fn may_be_another(statement: &Statement) -> bool {
    let past = statement.flags & (PAST | PERFECT) != 0;
    let again = statement.is(PERIODIC | PARTIAL) || statement.tokens.len() < SAME_EVENT_TOKENS;
    statement.is(EVENT) && past && again
}

/// Whether the verbs speak of the same time.
fn same_time(known: &Statement, new: &Statement) -> bool {
    let tense = |statement: &Statement| statement.flags & (PAST | PERFECT | FUTURE);
    let (a, b) = (tense(known), tense(new));
    // "won't start" denies that it starts.
    let willing = (a | b) == FUTURE && (known.is(HAS_DENIAL) || new.is(HAS_DENIAL));
    a == b
        || willing
        || (a | b) == PAST | PERFECT
        || ((a | b) == PERFECT && (known.is(HAS_DENIAL) || new.is(HAS_DENIAL)))
}

/// The values of two statements, set side by side.
struct Values {
    /// Different sorts or numbers of values: nothing to compare.
    unlike: bool,
    /// The first pair that cannot both hold, not a time unless only times differ.
    apart: Option<Value>,
    /// Relative times differ.
    moved: bool,
    /// Times are apart.
    times_apart: bool,
    /// Only one of the two names a time.
    one_sided_time: bool,
    /// How many are apart and no times: where more than one is, they are two things.
    count: usize,
}

impl Values {
    fn of(known: &Statement, new: &Statement) -> Self {
        let mut found = Self {
            unlike: false,
            apart: None,
            moved: false,
            times_apart: false,
            one_sided_time: false,
            count: 0,
        };
        let (a, b) = (sorted(&known.values), sorted(&new.values));
        let mut families: Vec<u8> = a.iter().chain(&b).map(Value::family).collect();
        families.dedup();
        families.sort_unstable();
        families.dedup();
        for family in families {
            let of = |values: &[Value]| -> Vec<Value> {
                values.iter().filter(|value| value.family() == family).copied().collect()
            };
            found.compare(&of(&a), &of(&b));
        }
        found
    }

    fn compare(&mut self, a: &[Value], b: &[Value]) {
        let time = a.iter().chain(b).any(Value::is_time);
        if a.len() != b.len() {
            if time && (a.is_empty() || b.is_empty()) {
                self.one_sided_time |= !a.iter().chain(b).all(|value| value.mark & MARK_SINCE != 0);
            } else {
                self.unlike = true;
            }
            return;
        }
        for (a, b) in a.iter().zip(b) {
            if a.is_relative() {
                self.moved |= !a.is_same(b);
            } else if a.is_apart(b) {
                self.moved |= (a.mark | b.mark) & MARK_ANCHOR != 0;
                self.times_apart |= time;
                self.count += usize::from(!time);
                if self.apart.is_none_or(|known| known.is_time()) {
                    self.apart = Some(*a);
                }
            }
        }
    }
}

fn sorted(values: &[Value]) -> Vec<Value> {
    let mut values = values.to_vec();
    values.sort_by_key(|value| (value.family(), value.mark & (MARK_START | MARK_END)));
    values
}

/// What a differing value says of two statements with the same words.
fn value_method(known: &Statement, new: &Statement, values: &Values) -> Option<Method> {
    let apart = values.apart?;
    let since = apart.mark & MARK_SINCE != 0;
    let dated = (known.is(DATED) && new.is(DATED)) || since;
    if apart.is_time() {
        return (dated && !values.moved).then_some(Method::Date);
    }
    // Another time is another fact.
    if values.times_apart || values.moved || values.one_sided_time {
        return None;
    }
    let tense = |statement: &Statement| statement.flags & (PAST | PERFECT);
    (tense(known) == tense(new) && !may_be_another(known) && values.count == 1).then_some(Method::Number)
}

/// The same statement but for what fills its one place.
fn other_fill(known: &Statement, new: &Statement) -> bool {
    let (a, b) = (known.slot, new.slot);
    if a.sort == 0
        || a.sort != b.sort
        || (known.is(PARTIAL) && new.is(PARTIAL))
        || known.is(HAS_DENIAL)
        || new.is(HAS_DENIAL)
    {
        return false;
    }
    let values = Values::of(known, new);
    let timeless = !values.unlike && values.apart.is_none() && !values.moved && !values.one_sided_time;
    timeless && same_bag(rest(known), rest(new)) && state_time(known, new) && fills_exclude(known, new)
}

fn rest(statement: &Statement) -> impl Iterator<Item = &Token> {
    let (start, end) = (usize::from(statement.slot.start), usize::from(statement.slot.end));
    let outside = move |(at, _): &(usize, &Token)| *at < start || *at >= end;
    statement.tokens.iter().enumerate().filter(outside).map(|(_, token)| token)
}

/// What was once may have changed; what happens once has not.
fn state_time(known: &Statement, new: &Statement) -> bool {
    let tense = |statement: &Statement| statement.flags & (PAST | PERFECT | FUTURE);
    let once = known.is(DATED) && new.is(DATED);
    tense(known) == tense(new) && (tense(known) == 0 || once || known.slot.sort == SLOT_BY)
}

fn fills_exclude(known: &Statement, new: &Statement) -> bool {
    let (a, b) = (known.fill(), new.fill());
    let holds = |all: &[Token], some: &[Token]| {
        some.iter().all(|token| all.iter().any(|other| other.hash() == token.hash()))
    };
    if a.is_empty() || b.is_empty() || holds(a, b) || holds(b, a) || rest(known).next().is_none() {
        return false;
    }
    let named = |statement: &Statement| {
        statement.slot.start == 0 || statement.fill().iter().any(|token| token.kind() == Kind::Name)
    };
    match known.slot.sort {
        SLOT_NAME => named(known) && named(new),
        SLOT_PLACE | SLOT_BY => named(known) == named(new) && level(a) == level(b),
        SLOT_WHERE => {
            let definite = known.is(DEFINITE) && new.is(DEFINITE);
            named(known) == named(new) && level(a) == level(b) && (named(known) || definite)
        }
        SLOT_CHOICE => named(known) == named(new) && distinct::are_alternatives(a, b),
        _ => named(known) == named(new),
    }
}

/// "prefers tea over coffee" against "prefers coffee over tea".
fn ranked_otherwise(known: &Statement, new: &Statement) -> bool {
    let same_order =
        known.fill().iter().map(|token| token.hash()).eq(new.fill().iter().map(|token| token.hash()));
    let denied = known.is(HAS_DENIAL) || new.is(HAS_DENIAL);
    known.is(RANKS)
        && new.is(RANKS)
        && !denied
        && !same_order
        && known.values.is_empty()
        && new.values.is_empty()
}

/// "X before Y" against "X after Y" or "Y before X"; `Some(None)` when the two agree.
fn around_an_order(known: &Statement, new: &Statement) -> Option<Option<Method>> {
    let (a, b) = (pivot(known)?, pivot(new)?);
    fn split(statement: &Statement, at: usize) -> (&[Token], &[Token]) {
        let (left, right) = statement.tokens.split_at_checked(at).unwrap_or_default();
        (left, right.get(1..).unwrap_or_default())
    }
    if !known.values.is_empty() || !new.values.is_empty() {
        return None;
    }
    let ((left, right), (other_left, other_right)) = (split(known, a.0), split(new, b.0));
    if known.is(DENIED) != new.is(DENIED) || known.is(HAS_DENIAL) {
        return None;
    }
    let holds = |all: &[Token], some: &[Token]| {
        some.iter().all(|token| all.iter().any(|other| other.hash() == token.hash()))
    };
    let apart = bag(right.iter()) != bag(other_right.iter()) && !right.is_empty() && !other_right.is_empty();
    let turned = apart && holds(other_left, right) && holds(left, other_right);
    match (turned, a.1 == b.1) {
        (true, true) => Some(Some(Method::Order)),
        (true, false) => Some(None),
        (false, _) => None,
    }
}

/// "check-in" and "check-out", as a token has them.
static CHECK_IN: LazyLock<u32> = LazyLock::new(|| order_of("check-in"));
/// "before" and "after", as a token has them.
static BEFORE: LazyLock<u32> = LazyLock::new(|| axis_of("before"));

fn pivot(statement: &Statement) -> Option<(usize, u8)> {
    let pivot = |token: &Token| token.kind() == Kind::Axis && token.hash() == *BEFORE;
    let mut found = statement.tokens.iter().enumerate().filter(|(_, token)| pivot(token));
    let (at, token) = found.next()?;
    found.next().is_none().then(|| (at, token.side()))
}

/// An end that lies before the start of the same thing.
fn out_of_order(known: &Statement, new: &Statement) -> bool {
    reversed(known, new) || reversed(new, known)
}

fn reversed(starting: &Statement, ending: &Statement) -> bool {
    let marked = |statement: &Statement, mark: u8| {
        statement
            .values
            .iter()
            .find(|value| value.mark & mark != 0 && matches!(value.dim, DAY | CLOCK))
            .copied()
    };
    let (Some(start), Some(end)) = (marked(starting, MARK_START), marked(ending, MARK_END)) else {
        return false;
    };
    let back = start.low - end.high;
    let too_early = start.dim == end.dim && back > 0.0 && (start.dim == DAY || back <= MINUTES_BACK_MAX);
    // Who checks in does not check out on that day.
    let overnight = start.dim == CLOCK && starting.tokens.iter().any(|token| token.hash() == *CHECK_IN);
    let too_early = too_early && !overnight;
    let denied = starting.is(HAS_DENIAL) || ending.is(HAS_DENIAL);
    too_early && !denied && same_bag(starting.tokens.iter(), ending.tokens.iter()) && has_order(starting)
}

fn has_order(statement: &Statement) -> bool {
    statement.tokens.iter().any(|token| token.kind() == Kind::Order)
}
