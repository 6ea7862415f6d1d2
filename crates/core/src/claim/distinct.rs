//! Whether two statements are about two things of a kind, the two ends of a thing, or two occasions.
//!
//! Both hold then, however alike they are told: "my sister" and "my other sister", "opens at 8" and "closes at 17", "a call at
//! 10" and "a call at 16". What is read here only ever keeps a contradiction from being found.

use super::gist::Conflict;
use super::hash24;
use super::lexicon::{Role, lexicon, stem};
use super::quantity::{CLOCK, COUNT, DAY, MARK_MOST, MARK_SINCE, Value, WEEKDAY};
use super::statement::{
    AT_HOUR, DATED, DENIED, HAS_DENIAL, Kind, LIMITS, NUMBERS, QUALIFIES, RECORD, SEVERAL, Statement, Token,
    WEEKLY,
};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Minutes of an hour.
const HOUR: f64 = 60.0;
/// Tokens behind a qualifier among which its noun is.
const NOUN_WITHIN: usize = 2;

/// The two ends of a thing, which have a time or an amount each.
const ENDS: &str = "open|close begin|end begin|finish depart|arrive check-in|check-out minimum|maximum pickup|drop-off pick-up|drop-off \
    boarding|landing upper|lower earliest|latest entry|exit entrance|exit floor|ceiling";

/// Values of one sort, of which somebody prefers one at a time.
const ALTERNATIVES: &[&str] = &[
    "email phone call text sms letter post mail chat slack whatsapp signal fax telegram",
    "tea coffee water juice beer wine cocoa milk soda",
    "aisle window middle",
    "train plane car bus bike flight ferry taxi",
    "morning afternoon evening night noon",
    "cash card transfer invoice cheque paypal",
    "metric imperial",
    "tabs spaces",
    "meat fish vegetarian vegan",
    "python rust java go typescript javascript kotlin ruby php scala swift",
    "english german french spanish italian dutch portuguese polish",
    "monday tuesday wednesday thursday friday saturday sunday",
    "cats dogs",
    "summer winter spring autumn",
    "vim emacs vscode neovim helix",
    "dark light",
];

/// The pairs of ends that a token belongs to, and its side of each, by its hash and its side among opposites.
static SIDES: LazyLock<HashMap<(u32, Option<u8>), Vec<(usize, usize)>>> = LazyLock::new(|| {
    let pairs = ENDS.split_whitespace().enumerate();
    let sides = |(pair, ends): (usize, &'static str)| {
        ends.split('|').enumerate().map(move |(side, word)| (token_of(word), (pair, side)))
    };
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for (token, side) in pairs.flat_map(sides) {
        found.entry(token).or_default().push(side);
    }
    found
});

static GROUPS: LazyLock<HashMap<u32, usize>> = LazyLock::new(|| {
    let groups = ALTERNATIVES.iter().enumerate();
    groups
        .flat_map(|(group, words)| words.split_whitespace().map(move |word| (token_of(word).0, group)))
        .collect()
});

/// The hash that the token of a word has, and its side if it is one of opposites.
fn token_of(word: &str) -> (u32, Option<u8>) {
    let stem = stem(word);
    match lexicon().of_stem(&stem) {
        Some(Role::Axis { axis, side }) => (hash24(&format!("axis{axis}")), Some(side)),
        Some(Role::State { set, side }) => (hash24(&format!("state{set}")), Some(side)),
        Some(Role::Order { family, end }) => (hash24(&format!("order{family}")), Some(u8::from(end))),
        _ => (hash24(lexicon().same(&stem)), None),
    }
}

/// Whether the two are about two things or two occasions.
pub(super) fn are_two(known: &Statement, new: &Statement) -> bool {
    names_another(known, new)
        || are_two_limits(known, new)
        || are_two_ends(known, new)
        || are_two_occasions(known, new)
        || denies_another(known, new)
        || is_of_another_time(known, new)
}

/// Whether what was found of the two in other words fails, because they are about two things or two occasions.
///
/// Who says that something is replaced speaks of the same thing.
pub(super) fn are_two_for(found: Conflict, known: &Statement, new: &Statement, replaces: bool) -> bool {
    let (occasion, ends) = (|| are_two_occasions(known, new), || are_two_ends(known, new));
    let other_value = || match found {
        Conflict::Ended => false,
        Conflict::Denied => denies_another(known, new),
        Conflict::Opposite => denies_another(known, new) || ends(),
        Conflict::Amount => {
            are_two_limits(known, new) || ends() || occasion() || is_of_another_time(known, new)
        }
        Conflict::Time => ends() || occasion(),
        Conflict::Place => is_of_another_time(known, new),
    };
    (found != Conflict::Ended && names_another(known, new)) || (!replaces && other_value())
}

/// Whether two things that somebody prefers are of one sort, so that the later one takes the place of the earlier one.
pub(super) fn are_alternatives(a: &[Token], b: &[Token]) -> bool {
    let shares = a.iter().any(|token| b.iter().any(|other| other.hash() == token.hash()));
    let group = |fill: &[Token]| match fill {
        [only] => GROUPS.get(&only.hash()).copied(),
        _ => None,
    };
    shares || group(a).is_some_and(|of| group(b) == Some(of))
}

fn holds(statement: &Statement, token: &Token) -> bool {
    statement.tokens.iter().any(|known| known.hash() == token.hash())
}

/// Whether a word is marked as one that tells its noun from others of the kind.
fn is_marked(token: &Token, mark: u8) -> bool {
    matches!(token.kind(), Kind::Plain | Kind::Other | Kind::Name) && token.side() == mark
}

/// "the deputy manager", where the other says "the manager".
fn names_another(known: &Statement, new: &Statement) -> bool {
    let another = |one: &Statement, other: &Statement| {
        let qualifies = |(at, token): (usize, &Token)| {
            let mut noun = one.tokens.iter().skip(at + 1).take(NOUN_WITHIN);
            is_marked(token, QUALIFIES) && !holds(other, token) && noun.any(|noun| holds(other, noun))
        };
        one.tokens.iter().enumerate().any(qualifies)
    };
    let denied = known.is(HAS_DENIAL) || new.is(HAS_DENIAL);
    !denied && (another(known, new) || another(new, known))
}

/// "the memory limit of a pod", where the other says "the memory of a pod".
fn are_two_limits(known: &Statement, new: &Statement) -> bool {
    let another = |one: &Statement, other: &Statement| {
        let limit = |(at, token): (usize, &Token)| {
            let noun = at.checked_sub(1).and_then(|at| one.tokens.get(at));
            is_marked(token, LIMITS) && noun.is_some_and(|noun| holds(other, noun))
        };
        let limited = other.tokens.iter().any(|token| LIMIT_STEMS.contains(&token.hash()))
            || other.values.iter().any(|value| value.mark & MARK_MOST != 0);
        !limited
            && one.tokens.iter().enumerate().any(limit)
            && other.tokens.iter().all(|token| holds(one, token))
    };
    another(known, new) || another(new, known)
}

/// Stems of words that name a limit.
static LIMIT_STEMS: LazyLock<HashSet<u32>> = LazyLock::new(|| {
    let words = "limit quota request reservation target budget threshold cap ceiling maximum allowance";
    words.split_whitespace().map(|word| token_of(word).0).collect()
});

/// "opens at 8", "closes at 17".
fn are_two_ends(known: &Statement, new: &Statement) -> bool {
    let ends = |statement: &Statement| -> Vec<(usize, usize)> {
        let side = |token: &Token| match token.kind() {
            Kind::Axis | Kind::State | Kind::Order => Some(token.side() & 7),
            Kind::Plain | Kind::Name | Kind::Other => None,
        };
        statement
            .tokens
            .iter()
            .filter_map(|token| SIDES.get(&(token.hash(), side(token))))
            .flatten()
            .copied()
            .collect()
    };
    let (a, b) = (ends(known), ends(new));
    let opposite = |(pair, side): &(usize, usize)| {
        b.iter().any(|(other, end)| other == pair && end != side) && !b.contains(&(*pair, *side))
    };
    a.iter().any(opposite) && values_differ(known, new)
}

/// A meeting at 10 and a meeting at 15; the standup on Mondays and the one on Fridays.
fn are_two_occasions(known: &Statement, new: &Statement) -> bool {
    let both = |flag: u32| known.is(flag) && new.is(flag);
    let weekdays = |statement: &Statement| -> Vec<i64> {
        statement.values.iter().filter(|value| value.dim == WEEKDAY).map(|value| value.low as i64).collect()
    };
    let (a, b) = (weekdays(known), weekdays(new));
    let (dates, others) = (of_family(known, DAY), of_family(new, DAY));
    let shares_day = !dates.is_empty() && !others.is_empty() && !none_in_common(&dates, &others);
    let apart = !(a.is_empty() && b.is_empty()) && !a.iter().any(|day| b.contains(day));
    if !hours_differ(known, new) {
        // "a meeting on Monday", "a meeting on Tuesday"; what is so every week may move.
        let single = both(SEVERAL) && !known.is(WEEKLY) && !new.is(WEEKLY);
        return (both(RECORD) || single) && apart && !a.is_empty() && !b.is_empty();
    }
    (both(SEVERAL) && !shares_day)
        || (both(RECORD) && both(AT_HOUR))
        || (apart && (known.is(WEEKLY) || new.is(WEEKLY)))
}

/// Both name times of day, and none in common.
fn hours_differ(known: &Statement, new: &Statement) -> bool {
    let hours = |statement: &Statement| -> Vec<f64> {
        let minutes = |value: &Value| match value.dim {
            CLOCK => Some(value.low),
            COUNT if statement.is(AT_HOUR) && value.low <= 24.0 => Some(value.low * HOUR),
            _ => None,
        };
        statement.values.iter().filter_map(minutes).collect()
    };
    let (a, b) = (hours(known), hours(new));
    let same = |one: &f64| b.iter().any(|other| (one - other).abs() < 1.0);
    !a.is_empty() && !b.is_empty() && !a.iter().any(same)
}

/// What the one denies has another value than what the other says: "supports Node 20", "does not support Node 16".
fn denies_another(known: &Statement, new: &Statement) -> bool {
    let counts = |token: &&Token| token.kind() != Kind::Other && !is_marked(token, NUMBERS);
    let within = |one: &Statement, other: &Statement| {
        one.tokens.iter().filter(counts).all(|token| holds(other, token))
    };
    let lacks = |one: &Statement, other: &Statement| {
        one.tokens.iter().any(|token| is_marked(token, NUMBERS) && !holds(other, token))
    };
    let numbers_differ = lacks(known, new) && lacks(new, known);
    known.is(DENIED) != new.is(DENIED)
        && within(known, new)
        && within(new, known)
        && (numbers_differ || values_differ(known, new))
}

/// Values of two years or days, each of its own: "in 2041: 18 m", "in 2043: 9 m".
fn is_of_another_time(known: &Statement, new: &Statement) -> bool {
    let rest = |statement: &Statement| -> Vec<Value> {
        statement.values.iter().filter(|value| !value.is_time()).copied().collect()
    };
    !known.is(DATED)
        && !new.is(DATED)
        && none_in_common(&of_family(known, DAY), &of_family(new, DAY))
        && none_in_common(&rest(known), &rest(new))
}

fn of_family(statement: &Statement, family: u8) -> Vec<Value> {
    statement.values.iter().filter(|value| value.family() == family).copied().collect()
}

/// Both give values of one sort, and none in common.
fn values_differ(known: &Statement, new: &Statement) -> bool {
    let lasting = |value: &&Value| value.mark & MARK_SINCE == 0;
    let of =
        |statement: &Statement| -> Vec<Value> { statement.values.iter().filter(lasting).copied().collect() };
    none_in_common(&of(known), &of(new))
}

fn none_in_common(a: &[Value], b: &[Value]) -> bool {
    let like = |one: &Value, other: &Value| one.family() == other.family();
    let pairs = || a.iter().flat_map(|one| b.iter().map(move |other| (one, other)));
    let mut alike = pairs().filter(|(one, other)| like(one, other)).peekable();
    alike.peek().is_some() && alike.all(|(one, other)| one.is_apart(other))
}
