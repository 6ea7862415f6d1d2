//! The moment that a statement speaks of.
//!
//! A past event, a reading and a dated note speak of their own moment: two of them contradict each other only where those
//! moments meet. A lasting state has no moment: a later statement about it is compared with an earlier one. Relative words
//! ("yesterday", "last night", "on Monday", "in March") are resolved against the moment at which the statement was made.

use super::quantity::{CLOCK, DAY, MARK_SINCE, MONTH_DAY, RELATIVE, Value, WEEKDAY, WEEKDAY_LAST};
use super::quantity::{date_of_day, relative_days};
use super::statement::{
    DATED, EVENT, HAS_DENIAL, NEVER, NOTE, ONCE, PAST, PERFECT, READING, SLOT_BY, Statement,
};
use crate::item::Content;
use crate::time::Timestamp;
use jiff::civil::Date;
use serde_json::Value as Json;

/// Minutes of a day.
const DAY_MINUTES: f64 = 1440.0;
/// Two events without a time of their own that were told within so many minutes are the same event told twice.
const SAME_EVENT_MINUTES: f64 = 60.0;

/// When a claim was made, and whether it was made as a record of events.
#[derive(Debug, Clone, Copy, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Made {
    /// Minutes from 1970; nothing if it is not known.
    #[n(0)]
    at: Option<u32>,
    /// The content names the time itself.
    #[n(1)]
    pub(super) by_field: bool,
    /// It is in the EPISODIC layer: only lasting states contradict each other there.
    #[n(2)]
    pub(super) episodic: bool,
    /// Minutes from 1970 at which it was stored.
    #[n(3)]
    stored: Option<u32>,
}

impl Made {
    /// The moment that a content names in its field `time`; nothing is known without one.
    pub(super) fn of_field(content: &Content) -> Self {
        let Some(Json::String(text)) = content.fields.get("time") else { return Self::default() };
        let whole = text.parse::<Timestamp>().ok();
        let day = || format!("{}T12:00:00Z", text.get(..10)?).parse::<Timestamp>().ok();
        let at = whole.or_else(day).map(minutes);
        Self { at, by_field: at.is_some(), episodic: false, stored: None }
    }

    /// Fills in when the content was stored, unless the content names a time itself.
    pub(super) fn stored(&mut self, at: Timestamp, episodic: bool) {
        self.at = self.at.or_else(|| Some(minutes(at)));
        self.stored = Some(minutes(at));
        self.episodic = episodic;
    }

    /// Whether it is known to have been said before something else was. What is stored before the time that it names was said then.
    pub(super) fn is_before(self, other: Self) -> bool {
        let said = |made: Self| made.at.map(|at| made.stored.map_or(at, |stored| at.min(stored)));
        said(self).zip(said(other)).is_some_and(|(own, theirs)| own < theirs)
    }

    fn today(self) -> Option<Date> {
        date_of_day((f64::from(self.at?) / DAY_MINUTES).floor())
    }
}

fn minutes(at: Timestamp) -> u32 {
    u32::try_from(at.as_micros() / 60_000_000).unwrap_or(u32::MAX)
}

/// A stretch of time in minutes from 1970.
pub(super) type Stretch = (f64, f64);

/// Whether the two statements speak of different times, as far as both are known.
pub(super) fn at_other_times(known: (&Statement, Made), new: (&Statement, Made)) -> bool {
    // An event in the EPISODIC layer is a record of its own.
    if (known.1.episodic && is_event(known.0)) || (new.1.episodic && is_event(new.0)) {
        return true;
    }
    let (Some(a), Some(b)) = (speaks_of(known.0, known.1), speaks_of(new.0, new.1)) else { return false };
    a.1 + SAME_EVENT_MINUTES < b.0 || b.1 + SAME_EVENT_MINUTES < a.0
}

/// Whether two statements, however alike, tell of what happened on different days.
pub(super) fn are_two_events(known: (&Statement, Made), new: (&Statement, Made)) -> bool {
    let moment = |(statement, made): (&Statement, Made)| {
        let event = made.episodic && is_event(statement);
        (made.by_field || event).then_some(made.at).flatten().map(f64::from)
    };
    match (moment(known), moment(new)) {
        (Some(a), Some(b)) => (a / DAY_MINUTES).floor() != (b / DAY_MINUTES).floor(),
        _ => false,
    }
}

/// Whether a statement tells of something that happened, rather than of how things are.
fn is_event(statement: &Statement) -> bool {
    let past =
        statement.is(PAST) || (statement.is(PERFECT) && statement.is(EVENT) && !statement.is(HAS_DENIAL));
    (past || statement.is(READING | NOTE)) && !lasts(statement)
}

/// Whether a statement in the past tense tells of something that holds for ever, or of a state.
fn lasts(statement: &Statement) -> bool {
    statement.is(ONCE | NEVER) || statement.slot.sort == SLOT_BY
}

/// The time that a statement speaks of; nothing for a state that lasts, or if that time is not known.
pub(super) fn speaks_of(statement: &Statement, made: Made) -> Option<Stretch> {
    let dated =
        statement.is(DATED) && statement.values.iter().any(|value| value.is_time() && !value.is_relative());
    if lasts(statement) || dated {
        return None;
    }
    let named = named_time(statement, made);
    let grown = statement.is(PERFECT) && !statement.is(HAS_DENIAL) && !statement.values.is_empty();
    if !(statement.is(PAST | READING) || grown) {
        return named.filter(|_| statement.values.iter().any(Value::is_relative));
    }
    named.or_else(|| {
        let at = f64::from(made.at?);
        Some((at, at))
    })
}

/// The time that a statement names, resolved against the moment at which it was made.
pub(super) fn named_time(statement: &Statement, made: Made) -> Option<Stretch> {
    let past = statement.is(PAST | PERFECT);
    statement.values.iter().filter(|value| value.mark & MARK_SINCE == 0).find_map(|value| {
        let days = match value.dim {
            DAY => Some((value.low, value.high)),
            RELATIVE => relative_days(value, made.today()?),
            WEEKDAY | WEEKDAY_LAST if past => last_weekday(value, made.today()?),
            MONTH_DAY if past => last_month_day(value, made.today()?),
            CLOCK => made.today().map(|today| (day_number(today), day_number(today))),
            _ => None,
        }?;
        Some((days.0 * DAY_MINUTES, (days.1 + 1.0) * DAY_MINUTES - SAME_EVENT_MINUTES - 1.0))
    })
}

/// The time that a statement names by relative words alone.
pub(super) fn resolved_time(statement: &Statement, made: Made) -> Option<Stretch> {
    named_time(statement, made).filter(|_| statement.values.iter().any(Value::is_relative))
}

fn day_number(date: Date) -> f64 {
    crate::rank::day(date).into()
}

/// The latest such day of the week, today included.
fn last_weekday(value: &Value, today: Date) -> Option<(f64, f64)> {
    let back = (f64::from(today.weekday().to_monday_zero_offset()) - value.low).rem_euclid(7.0);
    let day = day_number(today) - back;
    Some((day, day))
}

/// The latest such day or month that has begun.
fn last_month_day(value: &Value, today: Date) -> Option<(f64, f64)> {
    let of_year = |year: i16, at: f64| {
        let (month, day) = ((at / 32.0).floor(), at % 32.0);
        let first = Date::new(year, month as i8, 1).ok()?;
        Date::new(year, month as i8, (day as i8).min(first.days_in_month())).ok()
    };
    let begun = |year: i16| of_year(year, value.low).filter(|first| *first <= today);
    let year = begun(today.year()).map_or(today.year() - 1, |_| today.year());
    Some((day_number(of_year(year, value.low)?), day_number(of_year(year, value.high)?)))
}
