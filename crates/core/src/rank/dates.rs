//! The days that a query names: a date, a month, a year, or a time before now or before another date.

use jiff::civil::Date;
use jiff::{Span, ToSpan};

/// A first and a last day, counted from 1970.
pub type Days = (i32, i32);

/// The number of a day, counted from 1970.
#[must_use]
pub fn day(date: Date) -> i32 {
    let epoch = Date::constant(1970, 1, 1);
    date.since((jiff::Unit::Day, epoch)).map_or(0, |span| span.get_days())
}

fn date_of(day: i32) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(day.days()).ok()
}

/// How far a day is from the nearest of these, 0 inside.
#[must_use]
pub fn days_off(spans: &[Days], day: i32) -> i32 {
    let off = |(first, last): &Days| first.saturating_sub(day).max(day.saturating_sub(*last)).max(0);
    spans.iter().map(off).min().unwrap_or(i32::MAX)
}

/// The days that a query names, in one reading or several; none if it names none.
///
/// `today` is the day of the question. A month without a year is that month of every year from `years.0` to `years.1`.
#[must_use]
pub fn days_named(query: &str, today: i32, years: (i16, i16)) -> Vec<Days> {
    let words = words(query);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(today) = date_of(today) else { return Vec::new() };
    let found = (0..words.len()).find_map(|at| before_or_after(words.get(at..)?, today));
    let found = found.or_else(|| (0..words.len()).find_map(|at| absolute(words.get(at..)?)));
    let found = found.or_else(|| (0..words.len()).find_map(|at| relative(words.get(at..)?, today)));
    match found {
        Some(days) => vec![days],
        None => months_of_any_year(&words, years),
    }
}

/// Lower-case words; a date with dashes stays one.
fn words(query: &str) -> Vec<String> {
    let part = |c: char| !(c.is_alphanumeric() || c == '-' || c == '\'');
    query.to_lowercase().split(part).map(str::to_owned).filter(|word| !word.is_empty()).collect()
}

/// "two weeks before 3 June 2023", "3 days after last May".
fn before_or_after(words: &[&str], today: Date) -> Option<Days> {
    let [many, unit, direction, rest @ ..] = words else { return None };
    let rest = match rest {
        ["the", rest @ ..] => rest,
        rest => rest,
    };
    let span = length(number(many)?, unit)?;
    let (first, last) = absolute(rest).or_else(|| relative(rest, today))?;
    let shifted = |day: i32| {
        let date = date_of(day)?;
        match *direction {
            "before" => date.checked_sub(span).ok(),
            "after" => date.checked_add(span).ok(),
            _ => None,
        }
    };
    Some((day(shifted(first)?), day(shifted(last)?)))
}

/// A date, a month of a year, or a year.
fn absolute(words: &[&str]) -> Option<Days> {
    let one = |date: Date| Some((day(date), day(date)));
    match words {
        [iso, ..] if iso.len() == 10 && iso.contains('-') => one(iso.parse().ok()?),
        [first, "of", name, year, ..] | [first, name, year, ..]
            if ordinal(first).is_some() && month(name).is_some() && a_year(year).is_some() =>
        {
            one(Date::new(a_year(year)?, month(name)?, ordinal(first)?).ok()?)
        }
        [name, first, year, ..]
            if month(name).is_some() && ordinal(first).is_some() && a_year(year).is_some() =>
        {
            one(Date::new(a_year(year)?, month(name)?, ordinal(first)?).ok()?)
        }
        [name, "of", year, ..] | [name, year, ..] if month(name).is_some() && a_year(year).is_some() => {
            month_of(a_year(year)?, month(name)?)
        }
        // A number alone is a year only where the words say so, or where it can hardly be anything else.
        [year, ..] => {
            let year = a_year(year)?;
            Some((day(Date::new(year, 1, 1).ok()?), day(Date::new(year, 12, 31).ok()?)))
        }
        [] => None,
    }
}

/// "yesterday", "last week", "last May", "three days ago".
fn relative(words: &[&str], today: Date) -> Option<Days> {
    let one = |date: Date| Some((day(date), day(date)));
    match words {
        ["today", ..] => one(today),
        ["yesterday", ..] => one(today.yesterday().ok()?),
        [many, unit, "ago", ..] => {
            let many = if matches!(*many, "a" | "an") { 1 } else { number(many)? };
            around(today.checked_sub(length(many, unit)?).ok()?, unit)
        }
        ["last", "night", ..] => one(today.yesterday().ok()?),
        ["this", unit, ..] => whole(today, unit),
        ["last", unit, ..] if length(1, unit).is_some() => {
            whole(today.checked_sub(length(1, unit)?).ok()?, unit)
        }
        ["last", name, ..] => {
            let (name, year) = (month(name)?, today.year());
            // The last May is this year's once May has begun to be over.
            month_of(if name < today.month() { year } else { year - 1 }, name)
        }
        _ => None,
    }
}

/// A month that is named in a way that can only be a month.
fn months_of_any_year(words: &[&str], years: (i16, i16)) -> Vec<Days> {
    const LEADING: [&str; 12] =
        ["in", "during", "of", "since", "by", "this", "next", "early", "late", "mid", "on", "last"];
    let named = words.windows(2).find_map(|pair| match pair {
        [lead, name] if LEADING.contains(lead) => month(name),
        _ => None,
    });
    let Some(named) = named else { return Vec::new() };
    (years.0..=years.1).filter_map(|year| month_of(year, named)).collect()
}

fn month_of(year: i16, month: i8) -> Option<Days> {
    let first = Date::new(year, month, 1).ok()?;
    Some((day(first), day(first.last_of_month())))
}

/// The week, month or year that a day is in; a day is itself.
fn whole(date: Date, unit: &str) -> Option<Days> {
    match unit.trim_end_matches('s') {
        "day" => Some((day(date), day(date))),
        "week" => {
            let monday = date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()?;
            Some((day(monday), day(monday) + 6))
        }
        "month" => month_of(date.year(), date.month()),
        "year" => Some((day(date.first_of_year()), day(date.last_of_year()))),
        _ => None,
    }
}

/// Nobody counts back exactly: a span of the unit's own size around the day.
fn around(date: Date, unit: &str) -> Option<Days> {
    let slack = match unit.trim_end_matches('s') {
        "day" => 0,
        "week" => 3,
        "month" => 15,
        "year" => 182,
        _ => return None,
    };
    Some((day(date) - slack, day(date) + slack))
}

fn length(many: i64, unit: &str) -> Option<Span> {
    // Longer than any memory: refused before arithmetic is tried.
    if !(0..=1_000).contains(&many) {
        return None;
    }
    match unit.trim_end_matches('s') {
        "day" => Some(many.days()),
        "week" => Some(many.weeks()),
        "month" => Some(many.months()),
        "year" => Some(many.years()),
        _ => None,
    }
}

fn number(word: &str) -> Option<i64> {
    const NAMES: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let named = NAMES.iter().position(|name| *name == word).and_then(|at| i64::try_from(at).ok());
    named.or_else(|| word.parse().ok())
}

fn ordinal(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn a_year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2100).contains(year))
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
    if word == "sept" {
        return Some(9);
    }
    let same = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    NAMES.iter().position(same).and_then(|at| i8::try_from(at + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[(&str, &str)]) {
        let day_of = |text: &str| day(text.parse().expect("a date"));
        let expected: Vec<Days> = expected.iter().map(|(a, b)| (day_of(a), day_of(b))).collect();
        assert_eq!(days_named(query, day_of("2023-08-16"), (2022, 2023)), expected, "{query}");
    }

    #[test]
    fn dates_months_and_years_are_found() {
        check("what happened on 2023-05-07?", &[("2023-05-07", "2023-05-07")]);
        check("what did she do on 7 May, 2023", &[("2023-05-07", "2023-05-07")]);
        check("on the 7th of May 2023", &[("2023-05-07", "2023-05-07")]);
        check("on May 7th, 2023", &[("2023-05-07", "2023-05-07")]);
        check("in May of 2023", &[("2023-05-01", "2023-05-31")]);
        check("in Feb 2024", &[("2024-02-01", "2024-02-29")]);
        check("during 2022", &[("2022-01-01", "2022-12-31")]);
        check("in June", &[("2022-06-01", "2022-06-30"), ("2023-06-01", "2023-06-30")]);
    }

    #[test]
    fn times_before_now_and_before_dates_are_found() {
        check("what did I say yesterday", &[("2023-08-15", "2023-08-15")]);
        check("three days ago", &[("2023-08-13", "2023-08-13")]);
        check("two weeks ago", &[("2023-07-30", "2023-08-05")]);
        check("last week", &[("2023-08-07", "2023-08-13")]);
        check("last month", &[("2023-07-01", "2023-07-31")]);
        check("last May", &[("2023-05-01", "2023-05-31")]);
        check("last September", &[("2022-09-01", "2022-09-30")]);
        check("two weeks before 3 June 2023", &[("2023-05-20", "2023-05-20")]);
        check("a day after tomorrow", &[]);
    }

    #[test]
    fn other_words_and_impossible_dates_are_none() {
        for query in [
            "may I ask who",
            "the march of time",
            "31 February 2023 but",
            "99999999999 years ago",
            "",
            "room 404",
            "1000 years before 2023-01-01 or",
            "last",
        ] {
            let found = days_named(query, 19_000, (2022, 2023));
            assert!(found.iter().all(|(first, last)| first <= last), "{query}: {found:?}");
        }
        assert!(days_named("may I ask who", 19_000, (2022, 2023)).is_empty());
    }

    #[test]
    fn distance_is_zero_inside() {
        assert_eq!(days_off(&[(10, 20)], 15), 0);
        assert_eq!(days_off(&[(10, 20), (40, 50)], 25), 5);
        assert_eq!(days_off(&[(10, 20)], 3), 7);
    }
}
