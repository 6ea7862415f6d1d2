//! When a policy holds: between two moments, at hours of the week, in a zone of the IANA table.
//!
//! The table is compiled in, so the same window means the same on every machine.

use crate::error::{Code, Fault};
use crate::item::words;
use crate::time::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

/// Ranges of hours that a window has at most.
const WEEKLY_MAX: usize = 64;
const DAY_MINUTES: u16 = 24 * 60;
/// The longest name of a zone, in bytes.
const ZONE_BYTES_MAX: usize = 64;

words! {
    /// A day of the week.
    Day {
        /// Monday.
        0 Monday = "mon",
        /// Tuesday.
        1 Tuesday = "tue",
        /// Wednesday.
        2 Wednesday = "wed",
        /// Thursday.
        3 Thursday = "thu",
        /// Friday.
        4 Friday = "fri",
        /// Saturday.
        5 Saturday = "sat",
        /// Sunday.
        6 Sunday = "sun",
    }
}

/// When a policy holds, as it is sent and kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// From this moment on, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Until before this moment, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// At these hours; at all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekly: Vec<Hours>,
    /// The zone of those hours, such as `Europe/Berlin`; UTC unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// Hours of a day of the week. A range that ends at or before its start ends on the next day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hours {
    /// `mon` to `sun`.
    pub day: String,
    /// `HH:MM`, included.
    pub from: String,
    /// `HH:MM` up to `24:00`, not included.
    pub to: String,
}

/// A window that was proven.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Times {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    weekly: Vec<Minutes>,
    zone: TimeZone,
}

#[derive(Debug, Clone, PartialEq)]
struct Minutes {
    /// Days since Monday.
    day: u16,
    from: u16,
    to: u16,
}

impl Window {
    /// The window, or every fault in it.
    pub(super) fn check(&self, path: &str, faults: &mut Vec<Fault>) -> Option<Times> {
        let before = faults.len();
        let fault = |field: &str, expected: &str| {
            Fault::new(format!("{path}/{field}"), Code::ConstraintViolation, expected)
        };
        let mut moment = |field: &str, text: &Option<String>| {
            let parsed = text.as_ref().map(|text| text.parse::<Timestamp>());
            if let Some(Err(error)) = &parsed {
                faults.push(fault(field, &error.to_string()));
            }
            parsed.and_then(Result::ok)
        };
        let (from, to) = (moment("from", &self.from), moment("to", &self.to));
        if from.zip(to).is_some_and(|(from, to)| to <= from) {
            faults.push(fault("to", "a moment after `from`"));
        }
        if self.from.is_none() && self.to.is_none() && self.weekly.is_empty() {
            faults
                .push(fault("weekly", "`from`, `to` or hours of the week; leave the window out for always"));
        }
        if self.weekly.len() > WEEKLY_MAX {
            faults.push(fault("weekly", &format!("at most {WEEKLY_MAX} ranges")));
        }
        let weekly = self.minutes(path, faults);
        let zone = self.time_zone();
        if zone.is_none() {
            faults.push(fault("zone", "the name of a zone, such as Europe/Berlin or UTC"));
        }
        (faults.len() == before).then_some(Times { from, to, weekly, zone: zone? })
    }

    fn minutes(&self, path: &str, faults: &mut Vec<Fault>) -> Vec<Minutes> {
        let ranges = self.weekly.iter().take(WEEKLY_MAX).enumerate();
        ranges
            .filter_map(|(index, hours)| {
                let minutes = hours.minutes();
                if minutes.is_none() {
                    let expected = "a day from mon to sun, from and to as HH:MM and not the same";
                    faults.push(Fault::new(
                        format!("{path}/weekly/{index}"),
                        Code::ConstraintViolation,
                        expected,
                    ));
                }
                minutes
            })
            .collect()
    }

    fn time_zone(&self) -> Option<TimeZone> {
        match self.zone.as_deref() {
            None | Some("UTC") => Some(TimeZone::UTC),
            Some(name) if name.len() <= ZONE_BYTES_MAX => TimeZoneDatabase::bundled().get(name).ok(),
            Some(_) => None,
        }
    }
}

impl Hours {
    fn minutes(&self) -> Option<Minutes> {
        let day = Day::from_word(&self.day)? as u16;
        let (from, to) = (minute(&self.from)?, minute(&self.to)?);
        (from != to && from < DAY_MINUTES).then_some(Minutes { day, from, to })
    }
}

/// Minutes since midnight of `HH:MM`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |part: &str| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (minutes < 60 && hours * 60 + minutes <= DAY_MINUTES).then_some(hours * 60 + minutes)
}

impl Times {
    /// Whether the window is open at a moment.
    pub(super) fn hold(&self, now: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= now) && self.to.is_none_or(|to| now < to) && self.at_hours(now)
    }

    fn at_hours(&self, now: Timestamp) -> bool {
        if self.weekly.is_empty() {
            return true;
        }
        let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let Ok(moment) = jiff::Timestamp::from_microsecond(micros) else { return false };
        let local = self.zone.to_datetime(moment);
        let day = u16::try_from(local.weekday().to_monday_zero_offset()).unwrap_or(0);
        let minute = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute())).unwrap_or(0);
        self.weekly.iter().any(|range| range.hold(day, minute))
    }
}

impl Minutes {
    const fn hold(&self, day: u16, minute: u16) -> bool {
        let begun = day == self.day && minute >= self.from;
        if self.from < self.to {
            return begun && minute < self.to;
        }
        begun || (day == (self.day + 1) % 7 && minute < self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(json: &str) -> Result<Times, Vec<Fault>> {
        let mut faults = Vec::new();
        let window: Window = serde_json::from_str(json).unwrap();
        window.check("/scope/window", &mut faults).ok_or(faults)
    }

    fn check(json: &str, moment: &str, expected: bool) {
        assert_eq!(window(json).unwrap().hold(moment.parse().unwrap()), expected, "{json} at {moment}");
    }

    /// SHARE-14: from and to bound a window, the end not included.
    #[test]
    fn windows_have_a_start_and_an_end() {
        let json = r#"{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"}"#;
        check(json, "2025-12-31T23:59:59.999999Z", false);
        check(json, "2026-01-01T00:00:00Z", true);
        check(json, "2026-02-01T00:00:00Z", false);
    }

    /// SHARE-14: hours of the week are those of the zone, summer time included, and may pass midnight.
    #[test]
    fn hours_are_those_of_the_zone() {
        let berlin = r#"{"weekly":[{"day":"mon","from":"09:00","to":"17:00"}],"zone":"Europe/Berlin"}"#;
        check(berlin, "2026-01-12T08:00:00Z", true);
        check(berlin, "2026-01-12T07:59:59Z", false);
        check(berlin, "2026-01-12T16:00:00Z", false);
        check(berlin, "2026-07-13T07:00:00Z", true);
        check(berlin, "2026-07-13T15:00:00Z", false);
        check(berlin, "2026-07-14T09:00:00Z", false);
        let night = r#"{"weekly":[{"day":"sun","from":"22:00","to":"06:00"}]}"#;
        check(night, "2026-01-11T23:00:00Z", true);
        check(night, "2026-01-12T05:59:00Z", true);
        check(night, "2026-01-12T06:00:00Z", false);
        check(night, "2026-01-11T05:00:00Z", false);
        check(r#"{"weekly":[{"day":"sat","from":"00:00","to":"24:00"}]}"#, "2026-01-10T23:59:59Z", true);
    }

    /// SHARE-14: what is no window is refused, with every place.
    #[test]
    fn what_is_no_window_is_refused() {
        for json in [
            "{}",
            r#"{"zone":"UTC"}"#,
            r#"{"from":"yesterday"}"#,
            r#"{"from":"2026-02-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}"#,
            r#"{"from":"2026-02-01T00:00:00Z","zone":"Mars/Olympus"}"#,
            r#"{"weekly":[{"day":"monday","from":"09:00","to":"17:00"}]}"#,
            r#"{"weekly":[{"day":"mon","from":"9:00","to":"17:00"}]}"#,
            r#"{"weekly":[{"day":"mon","from":"09:00","to":"24:01"}]}"#,
            r#"{"weekly":[{"day":"mon","from":"09:00","to":"09:00"}]}"#,
        ] {
            assert_eq!(window(json).unwrap_err().len(), 1, "{json}");
        }
    }
}
