//! Moments and durations as the product means them.
//!
//! A `Timestamp` is microseconds since 1970 in UTC. It is read from the engine's clock port once per operation and
//! passed down; nothing here asks what time it is.

use std::fmt;
use std::str::FromStr;

/// A moment, in microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub struct Timestamp(#[n(0)] u64);

/// A length of time, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Period(u64);

/// How long something lasts, as people say it: calendar months and a period. `P1M` from the 31st of January ends with
/// February.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    months: u32,
    rest: Period,
}

/// The longest lifetime: 1,000 years, given in months or in days.
const LIFETIME_MONTHS_MAX: u32 = 12_000;
const LIFETIME_REST_MAX: Period = Period::from_days(365_250);

/// A text that is not a time or duration in the accepted form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotATime {
    /// Not an RFC 3339 time within the years 1970 to 9999.
    #[error("expected an RFC 3339 time such as 2026-11-15T00:00:00Z")]
    Timestamp,
    /// Not a positive ISO 8601 duration of at most 1,000 years.
    #[error("expected an ISO 8601 duration of at most 1,000 years, such as PT15M, P90D, P1M or P1Y")]
    Lifetime,
}

/// Characters of a bare date: what is longer has a time too, and that without an offset is ambiguous.
const DATE_CHARS_MAX: usize = 10;

/// 9999-12-31T23:59:59.999999Z: later moments have no RFC 3339 text.
const LATEST_US: u64 = 253_402_300_799_999_999;

/// How people may name a moment to look back at.
pub const PAST_WORDS: &str =
    "an RFC 3339 time, a date, `yesterday`, `2 days ago`, or a duration such as P2D for so long ago";
/// How people may name a moment to come.
pub const COMING_WORDS: &str =
    "an RFC 3339 time, a date, `tomorrow`, `in 2 days`, or a duration such as P2D for so long from now";

impl Timestamp {
    /// The moment this many microseconds after 1970, at most the end of the year 9999.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(LATEST_US))
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The moment `period` later, at most the end of the year 9999.
    #[must_use]
    pub fn plus(self, period: Period) -> Self {
        Self::from_micros(self.0.saturating_add(period.0))
    }

    /// The same day and hour so many calendar months later in UTC, at most the end of the year 9999.
    fn plus_months(self, months: u32) -> Self {
        if months == 0 {
            return self;
        }
        let later = || {
            let moment = jiff::Timestamp::from_microsecond(i64::try_from(self.0).ok()?).ok()?;
            let span = jiff::Span::new().try_months(i64::from(months)).ok()?;
            let moved = moment.to_zoned(jiff::tz::TimeZone::UTC).checked_add(span).ok()?;
            u64::try_from(moved.timestamp().as_microsecond()).ok().map(Self::from_micros)
        };
        later().unwrap_or(Self(LATEST_US))
    }

    /// The moment before this one that people name: a date, `yesterday`, `2 days ago`, or how long ago as a duration (`P2D`).
    /// Nothing if the text is none of these, or the moment is before 1970.
    #[must_use]
    pub fn ago(self, text: &str) -> Option<Self> {
        let now = jiff::Timestamp::from_microsecond(i64::try_from(self.0).ok()?).ok()?;
        let now = now.to_zoned(jiff::tz::TimeZone::UTC);
        let then = match text {
            "now" => now,
            "today" => now.start_of_day().ok()?,
            "yesterday" => now.checked_sub(jiff::Span::new().days(1)).ok()?,
            text => match text.parse::<jiff::civil::Date>() {
                Ok(date) if text.len() <= DATE_CHARS_MAX => date.to_zoned(jiff::tz::TimeZone::UTC).ok()?,
                _ => now.checked_sub(text.parse::<jiff::Span>().ok()?.abs()).ok()?,
            },
        };
        u64::try_from(then.timestamp().as_microsecond()).ok().map(Self::from_micros)
    }

    /// The moment to look back at: a time, or words as [`Self::ago`] takes them.
    #[must_use]
    pub fn looking_back(self, text: &str) -> Option<Self> {
        text.parse().ok().or_else(|| self.ago(text))
    }

    /// The moment to come that people name: a time, a date, `tomorrow`, `in 2 days`, or a duration from this one on (`P2D`).
    #[must_use]
    pub fn looking_ahead(self, text: &str) -> Option<Self> {
        if let Ok(time) = text.parse() {
            return Some(time);
        }
        let now = jiff::Timestamp::from_microsecond(i64::try_from(self.0).ok()?).ok()?;
        let now = now.to_zoned(jiff::tz::TimeZone::UTC);
        let then = match text {
            "now" => now,
            "tomorrow" => now.checked_add(jiff::Span::new().days(1)).ok()?,
            text => match text.parse::<jiff::civil::Date>() {
                Ok(date) if text.len() <= DATE_CHARS_MAX => date.to_zoned(jiff::tz::TimeZone::UTC).ok()?,
                _ => {
                    let span = text.strip_prefix("in ").unwrap_or(text).parse::<jiff::Span>().ok()?;
                    now.checked_add(Some(span).filter(|span| !span.is_negative())?).ok()?
                }
            },
        };
        u64::try_from(then.timestamp().as_microsecond()).ok().map(Self::from_micros)
    }

    /// How long after `earlier` this is; nothing if it is not after.
    #[must_use]
    pub fn since(self, earlier: Self) -> Period {
        Period(self.0.saturating_sub(earlier.0))
    }
}

impl Period {
    /// A period of whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// A period of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A period of whole days.
    #[must_use]
    pub const fn from_days(days: u64) -> Self {
        Self::from_secs(days.saturating_mul(86_400))
    }

    /// A period of microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_microsecond(micros) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => f.write_str("9999-12-31T23:59:59.999999Z"),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let Ok(moment) = text.parse::<jiff::Timestamp>() else {
            // The last 26 hours of the year 9999 have a form but are beyond what the library counts.
            let civil: Option<jiff::civil::DateTime> =
                text.strip_suffix('Z').and_then(|text| text.parse().ok());
            let is_last = civil.is_some_and(|civil| civil.year() == 9999);
            return if is_last { Ok(Self(LATEST_US)) } else { Err(NotATime::Timestamp) };
        };
        let micros = u64::try_from(moment.as_microsecond()).map_err(|_| NotATime::Timestamp)?;
        if micros > LATEST_US { Err(NotATime::Timestamp) } else { Ok(Self(micros)) }
    }
}

impl Lifetime {
    /// When something that begins at `from` ends: months count by the calendar in UTC, and a day that a month lacks is its
    /// last day.
    #[must_use]
    pub fn after(self, from: Timestamp) -> Timestamp {
        from.plus_months(self.months).plus(self.rest)
    }

    /// The same as a fixed period, for ages that are compared with each other: a year counts as 365 days and any other month
    /// as 30.
    #[must_use]
    pub fn as_period(self) -> Period {
        let days = u64::from(self.months / 12) * 365 + u64::from(self.months % 12) * 30;
        Period(Period::from_days(days).0.saturating_add(self.rest.0))
    }
}

impl FromStr for Lifetime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let span: jiff::Span = text.parse().map_err(|_| NotATime::Lifetime)?;
        if !text.starts_with('P') || span.is_negative() {
            return Err(NotATime::Lifetime);
        }
        let months = i64::from(span.get_years()) * 12 + i64::from(span.get_months());
        let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
        let clock = span.years(0).months(0).weeks(0).days(0);
        let clock_us = clock.total(jiff::Unit::Microsecond).map_err(|_| NotATime::Lifetime)?;
        let rest = days as f64 * 86_400e6 + clock_us;
        // A year is at most 366 days, so this bounds the whole at twice the limit and the sum cannot overflow.
        let is_short = months <= i64::from(LIFETIME_MONTHS_MAX) && rest <= LIFETIME_REST_MAX.0 as f64;
        if !is_short || (months == 0 && rest < 1.0) {
            return Err(NotATime::Lifetime);
        }
        let months = u32::try_from(months).map_err(|_| NotATime::Lifetime)?;
        Ok(Self { months, rest: Period(rest as u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip_with_microseconds() {
        let moment: Timestamp = "2026-11-15T01:02:03.000004+01:00".parse().unwrap();
        assert_eq!(moment.to_string(), "2026-11-15T00:02:03.000004Z");
        assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
        assert_eq!("9999-12-31T23:59:59Z".parse(), Ok(Timestamp(LATEST_US)));
        for bad in [
            "",
            "yesterday",
            "9999-13-31T23:59:59Z",
            "10000-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-11-15",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_to_come_are_named_as_those_that_passed() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let ahead = |text: &str| now.looking_ahead(text).map(|time| time.to_string());
        let back = |text: &str| now.looking_back(text).map(|time| time.to_string());
        for (text, expected) in [
            ("tomorrow", "2026-02-01T12:00:00.000000Z"),
            ("in 2 days", "2026-02-02T12:00:00.000000Z"),
            ("P2D", "2026-02-02T12:00:00.000000Z"),
            ("2026-03-01", "2026-03-01T00:00:00.000000Z"),
            ("2026-03-01T01:00:00Z", "2026-03-01T01:00:00.000000Z"),
        ] {
            assert_eq!(ahead(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["yesterday", "2 days ago", "-P2D", "in", "in a while", ""] {
            assert_eq!(ahead(text), None, "{text}");
        }
        assert_eq!(back("yesterday").as_deref(), Some("2026-01-30T12:00:00.000000Z"));
        assert_eq!(back("2 days ago").as_deref(), Some("2026-01-29T12:00:00.000000Z"));
        assert_eq!(back("2026-01-01T01:00:00Z").as_deref(), Some("2026-01-01T01:00:00.000000Z"));
        assert_eq!(back("tomorrow"), None);
    }

    /// AM-1: a lifetime is a positive ISO 8601 duration of at most 1,000 years.
    #[test]
    fn lifetimes_are_iso_8601_and_positive() {
        let start: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let ends = |text: &str| text.parse::<Lifetime>().unwrap().after(start).to_string();
        assert_eq!(ends("PT15M"), "2026-01-31T12:15:00.000000Z");
        assert_eq!(ends("P90D"), "2026-05-01T12:00:00.000000Z");
        assert_eq!(ends("P2W"), "2026-02-14T12:00:00.000000Z");
        assert_eq!(ends("P1M"), "2026-02-28T12:00:00.000000Z");
        assert_eq!(ends("P1Y"), "2027-01-31T12:00:00.000000Z");
        assert_eq!(ends("P1Y2M3DT4H"), "2027-04-03T16:00:00.000000Z");
        assert_eq!(ends("P1000Y"), "3026-01-31T12:00:00.000000Z");
        for bad in ["", "15m", "-PT1S", "PT0S", "P", "P0Y", "P1001Y", "P12001M", "P365251D", "P1Y-1M"] {
            assert!(bad.parse::<Lifetime>().is_err(), "{bad}");
        }
        assert_eq!("P1Y2M3D".parse::<Lifetime>().unwrap().as_period(), Period::from_days(365 + 60 + 3));
        let last = Timestamp::from_micros(LATEST_US);
        assert_eq!("P1M".parse::<Lifetime>().unwrap().after(last), last);
    }
}
