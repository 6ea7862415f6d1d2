//! Formats of text that a schema may ask for. Others are remarks, as the standard has it.

/// A form that a text must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    DateTime,
    Date,
    Email,
    Uri,
    Uuid,
}

impl Format {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "date-time" => Some(Self::DateTime),
            "date" => Some(Self::Date),
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "uuid" => Some(Self::Uuid),
            _ => None,
        }
    }

    /// What would pass.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::DateTime => "an RFC 3339 time such as 2026-11-15T00:00:00Z",
            Self::Date => "a date such as 2026-11-15",
            Self::Email => "an email address",
            Self::Uri => "a URI with its scheme",
            Self::Uuid => "a UUID",
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::DateTime => date_time(text).is_some(),
            Self::Date => date(text).is_some(),
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Uuid => has_shape(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        }
    }
}

/// The moment that an RFC 3339 time names.
pub(super) fn date_time(text: &str) -> Option<jiff::Timestamp> {
    let (start, rest) = text.split_at_checked("dddd-dd-ddTdd:dd:dd".len())?;
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    let is_shaped = has_shape(start, "dddd-dd-ddTdd:dd:dd") && is_zone(rest);
    if is_shaped { text.parse().ok() } else { None }
}

fn is_zone(text: &str) -> bool {
    let is_offset = has_shape(text, "+dd:dd") || has_shape(text, "-dd:dd");
    let within = |range, max| text.get(range).is_some_and(|part: &str| part <= max);
    text.eq_ignore_ascii_case("z") || (is_offset && within(1..3, "23") && within(4..6, "59"))
}

/// The day that an ISO 8601 date names.
pub(super) fn date(text: &str) -> Option<jiff::civil::Date> {
    if has_shape(text, "dddd-dd-dd") { text.parse().ok() } else { None }
}

/// Whether each byte fits its place: `d` a digit, `x` a hex digit, anything else itself in either case.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        other => byte.eq_ignore_ascii_case(&other),
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// Whether a text is not empty and made of such bytes alone.
fn is_all(text: &str, fits: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(fits)
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let atom =
        |part: &str| is_all(part, |b| b.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&b));
    let label = |part: &str| {
        let plain = is_all(part, |b| b.is_ascii_alphanumeric() || b == b'-');
        plain && part.len() < 64 && !part.starts_with('-') && !part.ends_with('-')
    };
    local.len() <= 64 && domain.len() < 256 && local.split('.').all(atom) && domain.split('.').all(label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let letter = scheme.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    let named = letter && is_all(scheme, |b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let plain = rest.bytes().all(|b| b.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&b));
    let escaped = rest.split('%').skip(1).all(|part| part.get(..2).is_some_and(|hex| has_shape(hex, "xx")));
    named && plain && escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-2.1: what each format admits and refuses.
    #[test]
    fn formats_are_told_apart() {
        let check = |word: &str, good: &[&str], bad: &[&str]| {
            let format = Format::from_word(word).unwrap();
            for text in good {
                assert!(format.fits(text), "{word} {text}");
            }
            for text in bad {
                assert!(!format.fits(text), "{word} {text}");
            }
        };
        check(
            "date-time",
            &["2026-11-15T00:00:00Z", "1950-01-01t10:00:00.5+02:00", "2026-12-31T23:59:60Z"],
            &[
                "",
                "2026-11-15",
                "2026-13-15T00:00:00Z",
                "2026-11-15T00:00:00",
                "2026-11-15T00:00:00.Z",
                "2026-11-15T00:00Z",
                "2026-02-30T00:00:00Z",
                "2026-11-15T00:00:00é",
                "20261115T000000Z",
                "2026-11-15T00:00:00+24:00",
            ],
        );
        check("date", &["2024-02-29"], &["2026-02-29", "2026-2-9", "2026-11-15T00:00:00Z", "é026-11-15"]);
        check(
            "email",
            &["a.b+c@example.org", "a@localhost"],
            &["a", "@b", "a@", "a..b@c.d", "a@-b.c", "a b@c.d", "a@b@c.d", "é@c.d"],
        );
        check(
            "uri",
            &["https://example.org/a?b=%20#c", "urn:isbn:1", "mailto:a@b"],
            &["", "/a", "1a:b", "http://a b", "http://%zz", "http://é", "http://a%2"],
        );
        check(
            "uuid",
            &["0190A1B2-0000-7000-8000-00000000000f"],
            &["0190a1b2", "0190a1b2-0000-7000-8000-00000000000g"],
        );
        assert_eq!(Format::from_word("colour"), None);
    }
}
