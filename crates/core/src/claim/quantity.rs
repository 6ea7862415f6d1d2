//! Numbers, units, dates and times of day, each as an interval in one dimension, so that two can be compared.
//!
//! Two values contradict when they have the same dimension and their intervals are apart.

mod number;
mod time;

use super::lexicon::Bound;
use super::words::Word;
use jiff::civil::Date;
use number::{number, version};
pub(super) use time::relative_days;
use time::{clock, clock_of, iso, time};

/// Where a value lies, and what it is a value of.
#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Value {
    /// One of the dimensions below.
    #[n(0)]
    pub(super) dim: u8,
    /// Bits: see the `MARK_` constants.
    #[n(1)]
    pub(super) mark: u8,
    #[n(2)]
    pub(super) low: f64,
    #[n(3)]
    pub(super) high: f64,
}

pub(super) const COUNT: u8 = 0;
const PERCENT: u8 = 1;
pub(super) const ORDINAL: u8 = 2;
pub(super) const VERSION: u8 = 3;
const LENGTH: u8 = 4;
pub(super) const MASS: u8 = 5;
pub(super) const DURATION: u8 = 6;
const DATA: u8 = 7;
pub(super) const TEMPERATURE: u8 = 8;
const SPEED: u8 = 9;
const VOLUME: u8 = 10;
const AREA: u8 = 11;
const FREQUENCY: u8 = 12;
const POWER: u8 = 13;
const DOLLAR: u8 = 20;
const EURO: u8 = 21;
const POUND: u8 = 22;
const YEN: u8 = 23;
/// The first dimension of time; all above are times too.
const TIMES: u8 = 100;
/// Days from 1970.
pub(super) const DAY: u8 = 100;
/// A day of no year: month times 32 and day.
pub(super) const MONTH_DAY: u8 = 101;
pub(super) const WEEKDAY: u8 = 102;
const WEEKDAY_NEXT: u8 = 103;
pub(super) const WEEKDAY_LAST: u8 = 104;
/// Minutes from midnight.
pub(super) const CLOCK: u8 = 105;
/// "yesterday", "next month": known only to who says it.
pub(super) const RELATIVE: u8 = 106;

/// The number is a lower bound.
pub(super) const MARK_LEAST: u8 = 1;
/// The number is an upper bound, itself the value of a limit.
pub(super) const MARK_MOST: u8 = 2;
/// When something starts.
pub(super) const MARK_START: u8 = 4;
/// When something ends.
pub(super) const MARK_END: u8 = 8;
/// The unit was converted, so that a rounding is no difference.
const MARK_CONVERTED: u8 = 16;
/// Since when something holds.
pub(super) const MARK_SINCE: u8 = 32;
/// The time that a statement begins with: when the rest holds.
pub(super) const MARK_ANCHOR: u8 = 64;

impl Value {
    fn point(dim: u8, at: f64) -> Self {
        Self { dim, mark: 0, low: at, high: at }
    }

    fn between(dim: u8, low: f64, high: f64) -> Self {
        Self { dim, mark: 0, low, high }
    }

    /// Whether it is an amount of money.
    pub(super) fn is_price(&self) -> bool {
        (DOLLAR..=YEN).contains(&self.dim)
    }

    /// A date, a weekday, a time of day.
    pub(super) fn is_time(&self) -> bool {
        self.dim >= TIMES
    }

    /// Known only to who says it.
    pub(super) fn is_relative(&self) -> bool {
        self.dim == RELATIVE
    }

    /// The same for values that can be compared.
    pub(super) fn family(&self) -> u8 {
        if self.dim == MONTH_DAY { DAY } else { self.dim }
    }

    /// Says how the number is meant.
    pub(super) fn bounded(mut self, bound: Bound) -> Self {
        match bound {
            Bound::AtLeast => {
                self.mark |= MARK_LEAST;
                self.high = f64::MAX;
            }
            Bound::Below => self.low = f64::MIN,
            Bound::AtMost => self.mark |= MARK_MOST,
            Bound::About => {
                let slack = self.low.abs() * 0.15;
                self.low -= slack;
                self.high += slack;
            }
        }
        self
    }

    /// Whether the two cannot both hold.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        if self.family() != other.family() || self.dim == RELATIVE {
            return false;
        }
        let (mine, theirs) = (self.comparable(other), other.comparable(self));
        let (Some(mine), Some(theirs)) = (mine, theirs) else { return false };
        let limits = (self.mark & MARK_MOST, other.mark & MARK_MOST);
        let slack = self.slack(other);
        match limits {
            (0, 0) | (MARK_MOST, MARK_MOST) => mine.0 > theirs.1 + slack || theirs.0 > mine.1 + slack,
            (0, _) => mine.0 > theirs.1 + slack,
            _ => theirs.0 > mine.1 + slack,
        }
    }

    /// The same interval, as far as the words tell.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= self.slack(other);
        let marks = self.mark & (MARK_LEAST | MARK_MOST) == other.mark & (MARK_LEAST | MARK_MOST);
        self.dim == other.dim && marks && near(self.low, other.low) && near(self.high, other.high)
    }

    fn slack(&self, other: &Self) -> f64 {
        if matches!(self.dim, VERSION | COUNT | ORDINAL) || self.is_time() {
            return 0.0;
        }
        let size = self.low.abs().max(other.low.abs()).min(1e300);
        if (self.mark | other.mark) & MARK_CONVERTED != 0 { size * 0.02 } else { size * 1e-12 }
    }

    /// The interval in the terms of the other: a date beside a day without a year loses its year.
    fn comparable(&self, other: &Self) -> Option<(f64, f64)> {
        if self.dim == other.dim {
            return Some((self.low, self.high));
        }
        if self.dim == DAY && other.dim == MONTH_DAY {
            return Some((month_day(self.low)?, month_day(self.high)?))
                .filter(|(low, high)| low <= high && self.high - self.low < 31.0);
        }
        Some((self.low, self.high))
    }

    /// Two numbers for hashing: equal for values that are the same.
    pub(super) fn bits(&self) -> [u64; 3] {
        // A conversion may leave the last digits off; a number as written is exact.
        let converted = !self.is_time() && !matches!(self.dim, COUNT | ORDINAL | VERSION);
        let round = |x: f64| if converted { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        let marks = self.mark & (MARK_LEAST | MARK_MOST | MARK_START | MARK_END);
        [u64::from(self.dim) << 8 | u64::from(marks), round(self.low), round(self.high)]
    }
}

/// The date of a day that is counted from 1970.
pub(super) fn date_of_day(day: f64) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(day as i64).ok()?).ok()
}

fn month_day(day: f64) -> Option<f64> {
    let date = date_of_day(day)?;
    Some(f64::from(date.month()) * 32.0 + f64::from(date.day()))
}

/// A value that begins at a word, and how many words it takes.
pub(super) type Found = (Value, usize);

/// The value that begins at the first of these words; `before` is the word before it.
pub(super) fn value(words: &[Word], before: Option<&str>) -> Option<Found> {
    let first = words.first()?;
    time(words, before)
        .or_else(|| clock(words))
        .or_else(|| version(&first.text, before))
        .or_else(|| number(words, before))
}

/// A date or a time of day in a field.
pub(super) fn time_of_field(text: &str) -> Option<Value> {
    let text = text.trim();
    let (date, rest) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let value = iso(date)?;
    let minutes = clock_of(rest.get(..5).unwrap_or_default()).unwrap_or(0.0);
    if rest.is_empty() { Some(value) } else { Some(Value::point(DAY, value.low + minutes / 1440.0)) }
}

/// A number of a field.
pub(super) fn plain(number: f64) -> Value {
    Value::point(COUNT, number)
}

fn text(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::words::sentences;
    use super::*;

    fn of(text: &str) -> Option<Value> {
        let words = sentences(text).into_iter().next()?.words;
        let found = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.text.as_str());
            value(words.get(at..)?, before)
        };
        (0..words.len()).find_map(found).map(|(value, _)| value)
    }

    fn check(a: &str, b: &str, apart: bool) {
        let (first, second) = (of(a).expect(a), of(b).expect(b));
        assert_eq!(first.is_apart(&second), apart, "{a} / {b}: {first:?} {second:?}");
        assert_eq!(second.is_apart(&first), apart, "{b} / {a}");
    }

    /// D6: units are compared in one dimension.
    #[test]
    fn equal_amounts_are_not_apart() {
        for (a, b) in [
            ("5 km", "5000 m"),
            ("noon", "12:00"),
            ("$5k", "5,000 dollars"),
            ("two hours", "120 minutes"),
            ("3.1 miles", "5 km"),
            ("25%", "25 percent"),
            ("10 pm", "22:00"),
            ("7 May 2023", "2023-05-07"),
            ("May 2023", "May 7, 2023"),
            ("May 7", "2023-05-07"),
            ("twenty-five", "25"),
            ("v1.2", "1.2.9"),
            ("version 2", "version 2.3"),
            ("32 fahrenheit", "0 celsius"),
            ("three to five", "4"),
            ("$1.5 million", "$1,500,000"),
            ("on Mondays", "Monday"),
        ] {
            check(a, b, false);
        }
    }

    #[test]
    fn different_amounts_are_apart() {
        for (a, b) in [
            ("5 km", "3 miles"),
            ("8080", "9090"),
            ("10 am", "10 pm"),
            ("May 7, 2023", "May 8, 2023"),
            ("May 7", "2023-05-08"),
            ("in 2019", "in 2020"),
            ("Monday", "Tuesday"),
            ("v1.2", "v1.3"),
            ("4th", "5th"),
            ("30-minute", "45-minute"),
            ("Q1 2024", "Q2 2024"),
        ] {
            check(a, b, true);
        }
    }

    #[test]
    fn names_made_of_digits_are_no_numbers() {
        for text in ["555-123-4567", "2x4", "7-3", "1080p60"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert!(of("3-7").is_some() && of("50m2").is_some_and(|value| value.dim == AREA));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["may I", "one of them", "the one", "hello", "$", "-", "99999999999999999999999", "3:99"]
        {
            assert!(of(text).is_none_or(|value| value.dim == COUNT), "{text}: {:?}", of(text));
        }
    }
}
