//! Dates and times of day, as they are written.

use super::number::{numeral, unit};
use super::{CLOCK, DAY, Found, MONTH_DAY, RELATIVE, Value, WEEKDAY, WEEKDAY_LAST, WEEKDAY_NEXT, text};
use crate::claim::hash24;
use crate::claim::words::Word;
use crate::rank::day;
use jiff::civil::Date;

pub(super) fn time(words: &[Word], before: Option<&str>) -> Option<Found> {
    let first = text(words, 0);
    if let Some(value) = iso(first).or_else(|| slashes(first)) {
        return Some((value, 1));
    }
    day_month(words)
        .or_else(|| month_first(words, before))
        .or_else(|| quarter(words))
        .or_else(|| relative(words))
        .or_else(|| weekday(first).map(|day| (Value::point(WEEKDAY, day), 1)))
        .or_else(|| year_alone(words, before))
}

pub(super) fn iso(word: &str) -> Option<Value> {
    let word = word.split_once(['t', 'T']).map_or(word, |(date, _)| date);
    if word.len() == 7 {
        let (year, month) = word.split_once('-')?;
        return month_of(a_year(year)?, month.parse().ok()?);
    }
    if word.len() != 10 || word.chars().filter(|c| *c == '-').count() != 2 {
        return None;
    }
    let date: Date = word.parse().ok()?;
    Some(Value::point(DAY, day(date).into()))
}

fn slashes(word: &str) -> Option<Value> {
    let mut parts = word.split(['/', '.']);
    let (a, b, year) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || a.len() > 2 || b.len() > 2 {
        return None;
    }
    let (a, b): (i8, i8) = (a.parse().ok()?, b.parse().ok()?);
    // With dots the day comes first; with slashes the month, unless it cannot.
    let (day_of, month) = if word.contains('.') || a > 12 { (a, b) } else { (b, a) };
    let date = Date::new(a_year(year)?, month, day_of).ok()?;
    Some(Value::point(DAY, day(date).into()))
}

fn month_of(year: i16, month: i8) -> Option<Value> {
    let first = Date::new(year, month, 1).ok()?;
    Some(Value::between(DAY, day(first).into(), day(first.last_of_month()).into()))
}

fn full(year: i16, month: i8, day_of: i8) -> Option<Value> {
    Some(Value::point(DAY, day(Date::new(year, month, day_of).ok()?).into()))
}

/// "7 May 2023", "7th of May".
fn day_month(words: &[Word]) -> Option<Found> {
    let skip = usize::from(text(words, 1) == "of");
    let (day_of, month) = (ordinal_day(text(words, 0))?, month(text(words, 1 + skip))?);
    with_year(words, 2 + skip, month, Some(day_of))
}

/// "May 7, 2023", "May 2023", "in May".
fn month_first(words: &[Word], before: Option<&str>) -> Option<Found> {
    let named = month(text(words, 0))?;
    let ambiguous = matches!(text(words, 0), "may" | "march" | "mar" | "sun" | "sat");
    let leads = matches!(
        before,
        Some(
            "in" | "on"
                | "since"
                | "by"
                | "until"
                | "till"
                | "of"
                | "during"
                | "from"
                | "early"
                | "late"
                | "to"
                | "for"
                | "last"
                | "next"
                | "this"
                | "before"
                | "after"
        )
    );
    let day_of = ordinal_day(text(words, 1)).filter(|_| !words.first().is_some_and(|word| word.stop));
    if let Some(day_of) = day_of {
        return with_year(words, 2, named, Some(day_of));
    }
    let dated = a_year(text(words, 1)).is_some();
    if ambiguous && !(dated || leads && words.first().is_some_and(|word| word.capital)) {
        return None;
    }
    with_year(words, 1, named, None)
}

fn with_year(words: &[Word], at: usize, month: i8, day_of: Option<i8>) -> Option<Found> {
    let skip = usize::from(text(words, at) == "of");
    if let Some(year) = a_year(text(words, at + skip)) {
        let value = match day_of {
            Some(day_of) => full(year, month, day_of)?,
            None => month_of(year, month)?,
        };
        return Some((value, at + skip + 1));
    }
    let base = f64::from(month) * 32.0;
    let (low, high) = day_of.map_or((1.0, 31.0), |day_of| (f64::from(day_of), f64::from(day_of)));
    Some((Value::between(MONTH_DAY, base + low, base + high), at))
}

/// "Q1 2024".
fn quarter(words: &[Word]) -> Option<Found> {
    let number: i8 = text(words, 0).strip_prefix('q')?.parse().ok().filter(|q| (1..=4).contains(q))?;
    let first = number * 3 - 2;
    if let Some(year) = a_year(text(words, 1)) {
        let (start, end) = (month_of(year, first)?, month_of(year, first + 2)?);
        return Some((Value::between(DAY, start.low, end.high), 2));
    }
    Some((Value::between(MONTH_DAY, f64::from(first) * 32.0 + 1.0, f64::from(first + 2) * 32.0 + 31.0), 1))
}

/// "yesterday", "next month", "last Friday", "two weeks ago".
fn relative(words: &[Word]) -> Option<Found> {
    let (first, second) = (text(words, 0), text(words, 1));
    if matches!(
        first,
        "yesterday"
            | "tomorrow"
            | "tonight"
            | "recently"
            | "soon"
            | "lately"
            | "today"
            | "later"
            | "earlier"
            | "ago"
    ) {
        return Some((named(first, ""), 1));
    }
    if matches!(first, "last" | "next" | "this" | "coming" | "past" | "previous" | "following") {
        if let Some(day) = weekday(second) {
            let dim = match first {
                "last" | "past" | "previous" => WEEKDAY_LAST,
                "this" => WEEKDAY,
                _ => WEEKDAY_NEXT,
            };
            return Some((Value::point(dim, day), 2));
        }
        let unit = second.trim_end_matches('s');
        let known = matches!(
            unit,
            "day"
                | "week"
                | "month"
                | "year"
                | "weekend"
                | "night"
                | "summer"
                | "winter"
                | "spring"
                | "autumn"
                | "fall"
                | "quarter"
                | "morning"
                | "evening"
                | "afternoon"
                | "decade"
                | "century"
                | "season"
                | "time"
        );
        let unit = month(second).and_then(|month| UNITS.get(month as usize + 20)).map_or(unit, |name| *name);
        return (known || month(second).is_some()).then(|| (named(first, unit), 2));
    }
    ago(words)
}

/// "three days ago", "two weekends later".
fn ago(words: &[Word]) -> Option<Found> {
    let many = if matches!(text(words, 0), "a" | "an") { 1.0 } else { numeral(words)?.0 };
    let unit = text(words, 1).trim_end_matches('s');
    let known = matches!(unit, "minute" | "hour" | "day" | "week" | "month" | "year" | "weekend" | "night");
    let direction = text(words, 2);
    let ends = matches!(direction, "ago" | "later" | "earlier" | "before");
    (known && ends).then(|| {
        let mut value = named(direction, unit);
        // Kept apart by the number, but never compared.
        value.low += many.floor().clamp(0.0, 1e6) * MANY;
        value.high = value.low;
        (value, 3)
    })
}

/// Words that a relative time begins with, and what they are counted in. The places in these tables are in checkpoints.
const LEADS: [&str; 22] = [
    "",
    "yesterday",
    "tomorrow",
    "tonight",
    "recently",
    "soon",
    "lately",
    "today",
    "later",
    "earlier",
    "ago",
    "last",
    "next",
    "this",
    "coming",
    "past",
    "previous",
    "following",
    "before",
    "in",
    "earlier_on",
    "ever",
];
const UNITS: [&str; 33] = [
    "",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "year",
    "weekend",
    "night",
    "summer",
    "winter",
    "spring",
    "autumn",
    "fall",
    "quarter",
    "morning",
    "evening",
    "afternoon",
    "decade",
    "century",
    "season",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// A number before "ago" is kept above the code of the words.
const MANY: f64 = 1e8;

fn named(lead: &str, unit: &str) -> Value {
    let place = |table: &[&str], word: &str| table.iter().position(|known| *known == word);
    match (place(&LEADS, lead), place(&UNITS, unit)) {
        (Some(lead), Some(unit)) => Value::point(RELATIVE, (lead * 64 + unit) as f64),
        // Told apart from others, and resolved to nothing.
        _ => Value::point(RELATIVE, f64::from(4096 + (hash24(lead) ^ hash24(unit).rotate_left(3)) / 2)),
    }
}

/// The days that a relative time means, said on `today`; nothing where that is anybody's guess.
pub(in crate::claim) fn relative_days(value: &Value, today: Date) -> Option<(f64, f64)> {
    let (many, code) = ((value.low / MANY).floor(), value.low % MANY);
    let (lead, unit) = (*LEADS.get(code as usize / 64)?, *UNITS.get(code as usize % 64)?);
    let now = f64::from(day(today));
    let around = |back: f64, slack: f64| Some((now - back - slack, now - back + slack));
    let months = |from: i32, count: i32| {
        let month = i32::from(today.month()) - 1 + from;
        let first = |month: i32| {
            let year = i32::from(today.year()) + month.div_euclid(12);
            Date::new(i16::try_from(year).ok()?, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()
        };
        Some((f64::from(day(first(month)?)), f64::from(day(first(month + count)?)) - 1.0))
    };
    let monday = now - f64::from(today.weekday().to_monday_zero_offset());
    let step = match lead {
        "yesterday" => return around(1.0, 0.0),
        "tomorrow" => return around(-1.0, 0.0),
        "today" | "tonight" => return around(0.0, 0.0),
        "ago" => {
            return match unit {
                "minute" | "hour" => around(0.0, 0.0),
                "day" | "night" => around(many, 0.0),
                "week" => around(many * 7.0, 3.0),
                "month" => around(many * 30.4, 15.0),
                "year" => around(many * 365.25, 183.0),
                _ => None,
            };
        }
        "last" | "past" | "previous" => -1,
        "this" => 0,
        "next" | "coming" | "following" => 1,
        _ => return None,
    };
    match unit {
        "day" | "night" | "morning" | "evening" | "afternoon" => around(-f64::from(step), 0.0),
        "week" => Some((monday + 7.0 * f64::from(step), monday + 7.0 * f64::from(step) + 6.0)),
        "weekend" => Some((monday + 7.0 * f64::from(step) + 5.0, monday + 7.0 * f64::from(step) + 6.0)),
        "month" => months(step, 1),
        "quarter" => months(step * 3 - (i32::from(today.month()) - 1) % 3, 3),
        "year" => months(step * 12 - i32::from(today.month()) + 1, 12),
        named => {
            let at = UNITS.iter().position(|known| *known == named)?.checked_sub(20)?;
            let ahead = i32::try_from(at).ok()? - i32::from(today.month());
            let turn = match step {
                -1 if ahead >= 0 => -12,
                1 if ahead <= 0 => 12,
                _ => 0,
            };
            months(ahead + turn, 1)
        }
    }
}

fn weekday(word: &str) -> Option<f64> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let word = word.strip_suffix('s').filter(|word| word.ends_with("day")).unwrap_or(word);
    let same = |day: &&str| {
        *day == word
            || (matches!(word.len(), 3 | 4)
                && day.starts_with(word)
                && !matches!(word, "sun" | "sat" | "mon" | "wed"))
    };
    DAYS.iter().position(same).map(|at| at as f64)
}

fn year_alone(words: &[Word], before: Option<&str>) -> Option<Found> {
    let year = a_year(text(words, 0))?;
    let leads = matches!(
        before?,
        "in" | "since"
            | "by"
            | "until"
            | "till"
            | "from"
            | "during"
            | "year"
            | "before"
            | "after"
            | "of"
            | "early"
            | "late"
            | "mid"
            | "to"
            | "through"
            | "for"
            | "born"
            | "founded"
            | "+most"
            | "around"
            | "circa"
    );
    let units = unit(text(words, 1)).is_some();
    (leads && !units).then_some(())?;
    let (first, last) = (Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?);
    Some((Value::between(DAY, day(first).into(), day(last).into()), 1))
}

fn a_year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1000..2200).contains(year))
}

fn ordinal_day(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let same = |name: &&str| {
        *name == word
            || (word.len() == 3 && name.starts_with(word))
            || (word == "sept" && *name == "september")
    };
    NAMES.iter().position(same).and_then(|at| i8::try_from(at + 1).ok())
}

/// "10:30", "10am", "5 pm", "noon".
pub(super) fn clock(words: &[Word]) -> Option<Found> {
    let first = text(words, 0);
    match first {
        "noon" | "midday" => return Some((Value::point(CLOCK, 720.0), 1)),
        "midnight" => return Some((Value::point(CLOCK, 0.0), 1)),
        _ => {}
    }
    let glued = ["am", "pm", "a.m", "p.m"].iter().find_map(|half| Some((first.strip_suffix(half)?, *half)));
    if let Some((digits, half)) = glued {
        return Some((Value::point(CLOCK, with_half(hour(digits)?, half)), 1));
    }
    let next = text(words, 1);
    if matches!(next, "am" | "pm" | "a.m" | "p.m") {
        return Some((Value::point(CLOCK, with_half(hour(first)?, next)), 2));
    }
    if matches!(next, "o'clock" | "oclock") {
        return Some((Value::point(CLOCK, hour(first)?), 2));
    }
    Some((Value::point(CLOCK, clock_of(first)?), 1))
}

fn with_half(minutes: f64, half: &str) -> f64 {
    let noon = 720.0;
    match (half.starts_with('p'), minutes >= noon) {
        (true, false) => minutes + noon,
        (false, true) => minutes - noon,
        _ => minutes,
    }
}

fn hour(text: &str) -> Option<f64> {
    clock_of(text).or_else(|| text.parse::<u8>().ok().filter(|h| *h <= 24).map(|h| f64::from(h) * 60.0))
}

pub(super) fn clock_of(text: &str) -> Option<f64> {
    let (hours, rest) = text.split_once(':')?;
    let minutes = rest.split(':').next()?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 24 && minutes < 60).then(|| f64::from(hours) * 60.0 + f64::from(minutes))
}
