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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(u64);

/// A text that is not a time or duration in the accepted form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotATime {
    /// Not an RFC 3339 time within the years 1970 to 9999.
    #[error("expected an RFC 3339 time such as 2026-11-15T00:00:00Z")]
    Timestamp,
    /// Not a positive ISO 8601 duration of days, hours, minutes and seconds.
    #[error("expected an ISO 8601 duration such as PT15M or P90D")]
    Period,
}

/// 9999-12-31T23:59:59.999999Z: later moments have no RFC 3339 text.
const LATEST_US: u64 = 253_402_300_799_999_999;

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
        let moment: jiff::Timestamp = text.parse().map_err(|_| NotATime::Timestamp)?;
        let micros = u64::try_from(moment.as_microsecond()).map_err(|_| NotATime::Timestamp)?;
        if micros > LATEST_US { Err(NotATime::Timestamp) } else { Ok(Self(micros)) }
    }
}

impl FromStr for Period {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let span: jiff::Span = text.parse().map_err(|_| NotATime::Period)?;
        if !text.starts_with('P') || span.is_negative() || span.get_years() != 0 || span.get_months() != 0 {
            return Err(NotATime::Period);
        }
        let days = i64::from(span.get_weeks()).saturating_mul(7).saturating_add(i64::from(span.get_days()));
        let clock = span.weeks(0).days(0);
        let clock_us = clock.total(jiff::Unit::Microsecond).map_err(|_| NotATime::Period)?;
        let total = days as f64 * 86_400e6 + clock_us;
        if total < 1.0 || total > LATEST_US as f64 {
            return Err(NotATime::Period);
        }
        Ok(Self(total as u64))
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
        for bad in ["", "yesterday", "1969-12-31T23:59:59Z", "2026-11-15"] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn periods_are_iso_8601_and_positive() {
        assert_eq!("PT15M".parse::<Period>().unwrap(), Period::from_secs(900));
        assert_eq!("P90D".parse::<Period>().unwrap(), Period::from_days(90));
        assert_eq!("P1W".parse::<Period>().unwrap(), Period::from_days(7));
        for bad in ["", "15m", "-PT1S", "P1Y", "PT0S", "P"] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
    }
}
