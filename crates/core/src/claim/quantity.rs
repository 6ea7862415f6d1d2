//! Numbers, units, dates and times of day, each as an interval in one dimension, so that two can be compared.
//!
//! Two values contradict when they have the same dimension and their intervals are apart.

use super::lexicon::Bound;
use super::words::Word;
use crate::rank::day;
use jiff::civil::Date;

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
const VERSION: u8 = 3;
const LENGTH: u8 = 4;
const MASS: u8 = 5;
pub(super) const DURATION: u8 = 6;
const DATA: u8 = 7;
const TEMPERATURE: u8 = 8;
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
const MONTH_DAY: u8 = 101;
const WEEKDAY: u8 = 102;
const WEEKDAY_NEXT: u8 = 103;
const WEEKDAY_LAST: u8 = 104;
/// Minutes from midnight.
pub(super) const CLOCK: u8 = 105;
/// "yesterday", "next month": known only to who says it.
const RELATIVE: u8 = 106;

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
        if self.dim == VERSION || self.is_time() {
            return 0.0;
        }
        let size = self.low.abs().max(other.low.abs()).min(1e300);
        if (self.mark | other.mark) & MARK_CONVERTED != 0 { size * 0.02 } else { size * 1e-9 }
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
        let round = |x: f64| (x as f32).to_bits();
        let marks = self.mark & (MARK_LEAST | MARK_MOST | MARK_START | MARK_END);
        [u64::from(self.dim) << 8 | u64::from(marks), round(self.low).into(), round(self.high).into()]
    }
}

fn month_day(day: f64) -> Option<f64> {
    let date = Date::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(day as i64).ok()?).ok()?;
    Some(f64::from(date.month()) * 32.0 + f64::from(date.day()))
}

/// A value that begins at a word, and how many words it takes.
pub(super) type Found = (Value, usize);

/// The value that begins at the first of these words; `before` is the word before it.
pub(super) fn value(words: &[Word], before: Option<&str>) -> Option<Found> {
    let first = words.first()?;
    time(words, before)
        .or_else(|| clock(words))
        .or_else(|| version(&first.text))
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

fn time(words: &[Word], before: Option<&str>) -> Option<Found> {
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

fn iso(word: &str) -> Option<Value> {
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
        value.low += many * 1e8;
        value.high = value.low;
        (value, 3)
    })
}

fn named(lead: &str, unit: &str) -> Value {
    let hash = super::hash24(lead) ^ super::hash24(unit).rotate_left(3);
    Value::point(RELATIVE, f64::from(hash))
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
fn clock(words: &[Word]) -> Option<Found> {
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

fn clock_of(text: &str) -> Option<f64> {
    let (hours, rest) = text.split_once(':')?;
    let minutes = rest.split(':').next()?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 24 && minutes < 60).then(|| f64::from(hours) * 60.0 + f64::from(minutes))
}

/// "v1.2", "1.2.3": an interval of all that it is the beginning of.
fn version(word: &str) -> Option<Found> {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let dots = digits.chars().filter(|c| *c == '.').count();
    let marked = digits.len() < word.len();
    if !(marked || dots >= 2) || dots > 3 || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let (mut low, mut high, mut step) = (0.0, 0.0, 1e12);
    let mut parts = digits.split('.');
    for _ in 0..4 {
        let (first, last) = match parts.next() {
            Some(part) => (part.parse::<u16>().ok()?, part.parse::<u16>().ok()?),
            None => (0, 999),
        };
        low += f64::from(first.min(999)) * step;
        high += f64::from(last.min(999)) * step;
        step /= 1000.0;
    }
    Some((Value::between(VERSION, low, high), 1))
}

/// A number in digits or words, with its unit.
fn number(words: &[Word], before: Option<&str>) -> Option<Found> {
    if text(words, 0) == "one" && !one_counts(words, before) {
        return None;
    }
    let (mut amount, mut taken, mut suffix) = numeral(words)?;
    let mut high = amount;
    if let Some((last, more, rest)) = range_end(words, taken, &suffix) {
        (high, taken, suffix) = (last, taken + more, rest);
    }
    while let Some(scale) = scale(text(words, taken)).filter(|_| scales(&suffix) && !stops(words, taken)) {
        (amount, high, taken) = (amount * scale, high * scale, taken + 1);
    }
    Some(with_unit(words, (amount, high), taken, &suffix))
}

/// A number may be scaled by the next word unless a unit is glued to it already.
fn scales(suffix: &str) -> bool {
    suffix.chars().all(|c| currency(c).is_some())
}

fn stops(words: &[Word], taken: usize) -> bool {
    taken.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|word| word.stop)
}

fn one_counts(words: &[Word], before: Option<&str>) -> bool {
    let next = text(words, 1);
    !matches!(
        next,
        "" | "of" | "another" | "day" | "time" | "being" | "is" | "that" | "who" | "and" | "in" | "on" | "at"
    ) && !matches!(
        before,
        Some("the" | "this" | "that" | "no" | "every" | "each" | "another" | "new" | "which")
    )
}

/// "3 to 5", "between 3 and 5", "3-5".
fn range_end(words: &[Word], taken: usize, suffix: &str) -> Option<(f64, usize, String)> {
    if let Some(rest) = suffix.strip_prefix(['-', '–']) {
        let (amount, rest) = digits(rest)?;
        return Some((amount, 0, rest.to_owned()));
    }
    if !suffix.is_empty() || !matches!(text(words, taken), "to" | "or") {
        return None;
    }
    let (amount, more, rest) = numeral(words.get(taken + 1..)?)?;
    Some((amount, more + 1, rest))
}

/// The number, the words it takes, and what is glued to its last digit.
fn numeral(words: &[Word]) -> Option<(f64, usize, String)> {
    let first = text(words, 0);
    if first.starts_with(|c: char| {
        c.is_ascii_digit() || currency(c).is_some() || matches!(c, '-' | '+' | '#' | '~' | '.')
    }) {
        let symbol = first.chars().next().filter(|c| currency(*c).is_some());
        let (amount, rest) =
            digits(first.trim_start_matches(|c| currency(c).is_some() || matches!(c, '#' | '~' | '+')))?;
        let suffix = symbol.map_or_else(|| rest.to_owned(), |symbol| format!("{rest}{symbol}"));
        return Some((amount, 1, suffix));
    }
    in_words(words)
}

/// The number at the front of a text, and what follows it.
fn digits(text: &str) -> Option<(f64, &str)> {
    let negative = text.starts_with('-');
    let text = text.strip_prefix('-').unwrap_or(text);
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.'))).unwrap_or(text.len());
    let (front, rest) = text.split_at_checked(end)?;
    let front = front.trim_end_matches(['.', ',']);
    let plain: String = front.chars().filter(|c| *c != ',').collect();
    let amount: f64 = plain.parse().ok().filter(|x: &f64| x.is_finite() && *x < 1e18)?;
    Some((if negative { -amount } else { amount }, rest))
}

fn in_words(words: &[Word]) -> Option<(f64, usize, String)> {
    let first = text(words, 0);
    if let Some((tens, ones)) = first.split_once('-') {
        let (tens, ones) = (small(tens)?, small(ones));
        return match ones {
            Some(ones) if tens >= 20.0 && ones < 10.0 => Some((tens + ones, 1, String::new())),
            Some(_) => None,
            None => {
                Some((tens, 1, first.split_once('-').map_or(String::new(), |(_, rest)| format!("-{rest}"))))
            }
        };
    }
    let mut amount = small(first)?;
    let mut taken = 1;
    if (20.0..100.0).contains(&amount)
        && let Some(ones) = small(text(words, 1)).filter(|ones| *ones < 10.0)
    {
        (amount, taken) = (amount + ones, 2);
    }
    Some((amount, taken, String::new()))
}

fn small(word: &str) -> Option<f64> {
    const NAMES: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [&str; 7] = ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let named = NAMES.iter().position(|name| *name == word).map(|at| at as f64);
    let tens = || TENS.iter().position(|name| *name == word).map(|at| (at + 3) as f64 * 10.0);
    let others = || match word {
        "dozen" => Some(12.0),
        "hundred" => Some(100.0),
        "twice" => Some(2.0),
        "once" => Some(1.0),
        "half" => Some(0.5),
        _ => None,
    };
    named.or_else(tens).or_else(others).filter(|_| word != "once")
}

fn scale(word: &str) -> Option<f64> {
    match word {
        "hundred" => Some(100.0),
        "thousand" | "k" => Some(1e3),
        "million" | "mn" => Some(1e6),
        "billion" | "bn" => Some(1e9),
        "trillion" => Some(1e12),
        "dozen" => Some(12.0),
        _ => None,
    }
}

fn currency(c: char) -> Option<u8> {
    match c {
        '$' => Some(DOLLAR),
        '€' => Some(EURO),
        '£' => Some(POUND),
        '¥' => Some(YEN),
        _ => None,
    }
}

fn with_unit(words: &[Word], (low, high): (f64, f64), mut taken: usize, suffix: &str) -> Found {
    if matches!(suffix, "st" | "nd" | "rd" | "th") {
        return (Value::between(ORDINAL, low, high), taken);
    }
    let (mut low, mut high) = (low, high);
    let mut glued = suffix.trim_start_matches('-');
    // The symbol stands last, wherever it was written.
    let symbol = glued.chars().last().and_then(currency);
    if symbol.is_some() {
        glued = glued.trim_end_matches(|c| currency(c).is_some());
    }
    let factor = match glued {
        "k" => 1e3,
        "m" | "mn" if symbol.is_some() => 1e6,
        "b" | "bn" if symbol.is_some() => 1e9,
        _ => 1.0,
    };
    (low, high) = (low * factor, high * factor);
    if let Some(dim) = symbol {
        return (Value::between(dim, low, high), taken);
    }
    let next = if glued.is_empty() && !stops(words, taken) { text(words, taken) } else { glued };
    let next = next.strip_suffix("-old").unwrap_or(next);
    let Some((dim, scale, offset)) = unit(next).filter(|_| factor == 1.0 || glued.is_empty()) else {
        return (Value::between(COUNT, low, high), taken);
    };
    if glued.is_empty() {
        taken += 1;
    }
    if text(words, taken) == "old" || (dim == TEMPERATURE && unit(text(words, taken)).is_some()) {
        let (scale, offset) =
            unit(text(words, taken)).map_or((scale, offset), |(_, scale, offset)| (scale, offset));
        taken += 1;
        return (converted(dim, (low, high), scale, offset), taken);
    }
    (converted(dim, (low, high), scale, offset), taken)
}

fn converted(dim: u8, (low, high): (f64, f64), scale: f64, offset: f64) -> Value {
    let mut value = Value::between(dim, low * scale + offset, high * scale + offset);
    if scale != 1.0 && dim != DURATION && dim < DOLLAR {
        value.mark |= MARK_CONVERTED;
    }
    value
}

/// The dimension of a unit, its size in the base unit, and where its zero lies.
fn unit(word: &str) -> Option<(u8, f64, f64)> {
    let (dim, scale) = match word {
        "%" | "percent" | "pct" => (PERCENT, 1.0),
        "mm" | "millimeter" | "millimeters" | "millimetre" | "millimetres" => (LENGTH, 0.001),
        "cm" | "centimeter" | "centimeters" | "centimetre" | "centimetres" => (LENGTH, 0.01),
        "m" | "meter" | "meters" | "metre" | "metres" => (LENGTH, 1.0),
        "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => (LENGTH, 1000.0),
        "mile" | "miles" | "mi" => (LENGTH, 1609.344),
        "foot" | "feet" | "ft" => (LENGTH, 0.3048),
        "inch" | "inches" => (LENGTH, 0.0254),
        "yard" | "yards" => (LENGTH, 0.9144),
        "mg" | "milligram" | "milligrams" => (MASS, 1e-6),
        "mcg" | "microgram" | "micrograms" => (MASS, 1e-9),
        "g" | "gram" | "grams" => (MASS, 0.001),
        "kg" | "kilo" | "kilos" | "kilogram" | "kilograms" => (MASS, 1.0),
        "ton" | "tons" | "tonne" | "tonnes" => (MASS, 1000.0),
        "lb" | "lbs" => (MASS, 0.453_592),
        "oz" | "ounce" | "ounces" => (MASS, 0.028_35),
        "ms" | "millisecond" | "milliseconds" => (DURATION, 0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => (DURATION, 1.0),
        "min" | "mins" | "minute" | "minutes" => (DURATION, 60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => (DURATION, 3600.0),
        "day" | "days" => (DURATION, 86_400.0),
        "week" | "weeks" => (DURATION, 604_800.0),
        "month" | "months" => (DURATION, 2_629_800.0),
        "year" | "years" | "yr" | "yrs" => (DURATION, 31_557_600.0),
        "decade" | "decades" => (DURATION, 315_576_000.0),
        "kb" | "kib" | "kilobytes" => (DATA, 1e3),
        "mb" | "mib" | "megabyte" | "megabytes" => (DATA, 1e6),
        "gb" | "gib" | "gigabyte" | "gigabytes" => (DATA, 1e9),
        "tb" | "tib" | "terabyte" | "terabytes" => (DATA, 1e12),
        "byte" | "bytes" => (DATA, 1.0),
        "celsius" | "c" | "°c" | "degrees" | "degree" | "°" => (TEMPERATURE, 1.0),
        "fahrenheit" | "f" | "°f" => return Some((TEMPERATURE, 5.0 / 9.0, -160.0 / 9.0)),
        "km/h" | "kmh" | "kph" => (SPEED, 1.0),
        "mph" => (SPEED, 1.609_344),
        "liter" | "liters" | "litre" | "litres" | "l" => (VOLUME, 1.0),
        "ml" | "milliliter" | "milliliters" | "millilitres" => (VOLUME, 0.001),
        "gallon" | "gallons" => (VOLUME, 3.785_41),
        "sqm" | "m²" | "m2" => (AREA, 1.0),
        "sqft" => (AREA, 0.092_903),
        "hectare" | "hectares" | "ha" => (AREA, 10_000.0),
        "acre" | "acres" => (AREA, 4_046.86),
        "hz" => (FREQUENCY, 1.0),
        "khz" => (FREQUENCY, 1e3),
        "mhz" => (FREQUENCY, 1e6),
        "ghz" => (FREQUENCY, 1e9),
        "w" | "watt" | "watts" => (POWER, 1.0),
        "kw" | "kilowatt" | "kilowatts" => (POWER, 1e3),
        "dollar" | "dollars" | "usd" | "bucks" => (DOLLAR, 1.0),
        "euro" | "euros" | "eur" => (EURO, 1.0),
        "pound" | "pounds" | "gbp" => (POUND, 1.0),
        "yen" | "jpy" => (YEN, 1.0),
        _ => return None,
    };
    Some((dim, scale, 0.0))
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
    fn what_is_no_number_is_none() {
        for text in ["may I", "one of them", "the one", "hello", "$", "-", "99999999999999999999999", "3:99"]
        {
            assert!(of(text).is_none_or(|value| value.dim == COUNT), "{text}: {:?}", of(text));
        }
    }
}
