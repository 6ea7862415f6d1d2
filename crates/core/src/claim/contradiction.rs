//! Whether two claims can both hold: statements in nearly the same words are compared word by word, others by subject and
//! attribute. Statements about different times never contradict each other.

use super::gist::{self, Conflict, Gist};
use super::quantity::Value;
use super::statement::{OF_SELF, Statement};
use super::{Claim, compare, distinct, moment};

/// How a contradiction was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// One says what the other denies.
    Negation,
    /// The two say opposites.
    Antonym,
    /// The two give different numbers.
    Number,
    /// The two give different times.
    Date,
    /// The two give different values of a property that has one.
    Predicate,
    /// An end lies before its start.
    Order,
    /// A model finds that the two contradict each other.
    Nli,
}

impl Method {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Negation => "negation",
            Self::Antonym => "antonym",
            Self::Number => "number",
            Self::Date => "date",
            Self::Predicate => "predicate",
            Self::Order => "order",
            Self::Nli => "nli",
        }
    }

    /// D6: how sure the method is; a model says so itself, each time.
    #[must_use]
    pub fn score(self) -> f64 {
        match self {
            Self::Negation => 0.92,
            Self::Antonym => 0.90,
            Self::Number | Self::Date | Self::Order => 0.95,
            Self::Predicate => 0.99,
            Self::Nli => 1.0,
        }
    }
}

/// Two claims that cannot both hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contradiction {
    /// How it was found.
    pub method: Method,
    /// How sure that is, 0 to 1.
    pub score: f64,
    /// How near the topics are, 0 to 1.
    pub similarity: f64,
}

/// Whether the new claim contradicts the known one; none unless their topics are nearer than `topic`.
///
/// Properties with one value, given as triples, need no near topic (D6).
#[must_use]
pub fn contradiction(known: &Claim, new: &Claim, topic: f64) -> Option<Contradiction> {
    if at_other_times(known, new) {
        return None;
    }
    let similarity = known.similarity(new);
    literal_contradiction(known, new, (similarity, topic))
        .or_else(|| reworded_contradiction(known, new, similarity))
}

/// Two statements in nearly the same words.
fn literal_contradiction(
    known: &Claim,
    new: &Claim,
    (similarity, topic): (f64, f64),
) -> Option<Contradiction> {
    let found = |method: Method| Contradiction { method, score: method.score(), similarity };
    let owners_differ = known.is_of_another_owner(new);
    if let (Some(mine), Some(theirs)) = (&known.said, &new.said)
        && !(owners_differ && mine.of_self)
        && mine.contradicts(theirs)
    {
        return Some(found(Method::Predicate));
    }
    if similarity <= topic || (known.relation && new.relation) {
        return None;
    }
    if spans_reversed(known, new) {
        return Some(found(Method::Order));
    }
    let comparable = |(old, fresh): &(&Statement, &Statement)| {
        !(owners_differ && (old.is(OF_SELF) || fresh.is(OF_SELF)))
            && !moment::at_other_times((old, known.made), (fresh, new.made))
    };
    let methods = pairs(known, new).filter(comparable).filter_map(|(known, new)| compare::judge(known, new));
    methods.map(found).max_by(|a, b| a.score.total_cmp(&b.score))
}

/// Two statements in other words, compared by subject and attribute. They need no near topic.
fn reworded_contradiction(known: &Claim, new: &Claim, similarity: f64) -> Option<Contradiction> {
    if known.key != new.key || known.form == new.form {
        return None;
    }
    // Which of the two is the newer makes a difference; where that is not known, either may be.
    let (older, newer) = if new.made.is_before(known.made) { (new, known) } else { (known, new) };
    let mut found = strongest(older, newer, similarity);
    if !older.made.is_before(newer.made) {
        found = found.max(strongest(newer, older, similarity));
    }
    let method = match found? {
        Conflict::Ended | Conflict::Denied => Method::Negation,
        Conflict::Opposite => Method::Antonym,
        Conflict::Amount => Method::Number,
        Conflict::Time => Method::Date,
        Conflict::Place => Method::Predicate,
    };
    Some(Contradiction { method, score: method.score(), similarity })
}

fn strongest(older: &Claim, newer: &Claim, similarity: f64) -> Option<Conflict> {
    let conflict = |pair: GistPair<'_>| {
        let found = gist::weigh(pair.gists.0, pair.gists.1, similarity)?;
        let both_hold = pair.statements.is_some_and(|(old, fresh)| {
            let replaces = pair.gists.1.has(gist::REPLACES);
            distinct::are_two_for(found, old, fresh, replaces)
        });
        (!both_hold).then_some(found)
    };
    gist_pairs(older, newer).filter_map(conflict).max()
}

/// Two gists, and the statements that they begin with.
struct GistPair<'a> {
    gists: (&'a Gist, &'a Gist),
    statements: Option<(&'a Statement, &'a Statement)>,
}

/// The gists to compare: those that speak of the same time, and not each of its own owner.
fn gist_pairs<'a>(known: &'a Claim, new: &'a Claim) -> impl Iterator<Item = GistPair<'a>> {
    let owners_differ = known.is_of_another_owner(new);
    let pair = move |(at, old): (usize, &'a Gist), (number, fresh): (usize, &'a Gist)| {
        let statements = known.statements.get(at).zip(new.statements.get(number));
        let apart = statements.is_some_and(|(a, b)| moment::at_other_times((a, known.made), (b, new.made)));
        let of_others = owners_differ && (old.has(gist::OF_SELF) || fresh.has(gist::OF_SELF));
        (!apart && !of_others).then_some(GistPair { gists: (old, fresh), statements })
    };
    let fresh = move || new.gists.iter().enumerate();
    known.gists.iter().enumerate().flat_map(move |old| fresh().filter_map(move |fresh| pair(old, fresh)))
}

/// What the comparison of two claims in other words is decided by, for who measures or trains it: named signals of each pair of
/// gists. None where something else decides: both times known, or nearly the same words.
#[must_use]
pub fn signals(known: &Claim, new: &Claim, topic: f64) -> Vec<Vec<(&'static str, f32)>> {
    let similarity = known.similarity(new);
    let decided = at_other_times(known, new)
        || literal_contradiction(known, new, (similarity, topic)).is_some()
        || known.key != new.key
        || known.form == new.form;
    let pairs = gist_pairs(known, new).filter(|_| !decided);
    let row = |pair: GistPair<'_>| gist::Signals::of(pair.gists.0, pair.gists.1, similarity).iter().collect();
    pairs.map(row).collect()
}

/// The statements to compare; what both claims hold is no news to either.
fn pairs<'a>(known: &'a Claim, new: &'a Claim) -> impl Iterator<Item = (&'a Statement, &'a Statement)> {
    let holds = |claim: &Claim, form: u64| claim.statements.iter().any(|statement| statement.form == form);
    let old = known.statements.iter().filter(move |statement| !holds(new, statement.form));
    let fresh = move || new.statements.iter().filter(move |statement| !holds(known, statement.form));
    old.flat_map(move |old| fresh().map(move |new| (old, new)))
}

/// Both say when they hold, and the two times do not meet.
fn at_other_times(known: &Claim, new: &Claim) -> bool {
    match (&known.span, &new.span) {
        (Some(a), Some(b)) => {
            let whole = |span: &Value| span.low > f64::MIN && span.low <= span.high;
            a.dim == b.dim && whole(a) && whole(b) && (a.high < b.low || b.high < a.low)
        }
        _ => false,
    }
}

/// One claim gives only the start, the other only an end before it.
fn spans_reversed(known: &Claim, new: &Claim) -> bool {
    let (Some(a), Some(b)) = (&known.span, &new.span) else { return false };
    let same = if known.key != 0 { known.key == new.key } else { known.form == new.form };
    let starts = |span: &Value| span.low > f64::MIN && span.high == f64::MAX;
    let ends = |span: &Value| span.low == f64::MIN && span.high < f64::MAX;
    let reversed = |a: &Value, b: &Value| starts(a) && ends(b) && a.low > b.high;
    same && a.dim == b.dim && (reversed(a, b) || reversed(b, a))
}
