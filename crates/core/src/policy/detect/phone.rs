//! Telephone numbers: international ones, those written in the usual groups, and any behind a word that says so.

use super::groups::Groups;
use std::ops::Range;

const DIGITS_MAX: usize = 15;
const INTERNATIONAL_MIN: usize = 8;
const NATIONAL: std::ops::RangeInclusive<usize> = 9..=11;
const LABELLED_MIN: usize = 7;
/// What says that a number is one of a telephone.
const LABELS: [&str; 24] = [
    "tel",
    "tel no",
    "telephone",
    "telefon",
    "telefono",
    "phone",
    "phone number",
    "phone no",
    "phone is",
    "number is",
    "mobile",
    "mobile number",
    "mobil",
    "cell",
    "cellphone",
    "fax",
    "call",
    "call me at",
    "call me on",
    "whatsapp",
    "sms",
    "text me at",
    "handy",
    "landline",
];

pub(super) fn find(groups: &Groups<'_>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut next = 0;
    for first in 0..groups.count() {
        if first < next {
            continue;
        }
        let number = international(groups, first)
            .or_else(|| american(groups, first))
            .or_else(|| national(groups, first))
            .or_else(|| labelled(groups, first));
        if let Some((place, last)) = number {
            found.push(place);
            next = last + 1;
        }
    }
    found
}

/// A place, and its last group.
type Number = (Range<usize>, usize);

/// `+49 170 1234567`, `+1 (555) 123-4567`, `0049 170 1234567`.
fn international(groups: &Groups<'_>, first: usize) -> Option<Number> {
    let place = groups.place(first);
    let plus = match groups.before(first) {
        Some(b'+') => Some(place.start - 1),
        Some(b'(') if place.start >= 2 && groups.bytes().get(place.start - 2) == Some(&b'+') => {
            Some(place.start - 2)
        }
        _ => None,
    };
    let zeros = groups.digits(first).starts_with(b"00") && groups.stand_alone(first, first);
    let start = match plus {
        Some(start) if is_free(groups, start) && groups.digits(first).first() != Some(&b'0') => start,
        None if zeros && is_free(groups, place.start) => place.start,
        _ => return None,
    };
    let (last, digits) = gather(groups, first, DIGITS_MAX);
    let least = if plus.is_some() { INTERNATIONAL_MIN } else { INTERNATIONAL_MIN + 2 };
    (digits >= least).then(|| (start..groups.place(last).end, last))
}

/// Whether nothing that belongs to a word or a longer number stands before a place.
fn is_free(groups: &Groups<'_>, start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| groups.bytes().get(at));
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'_'))
}

/// Groups from `first` on, close to each other, with this many digits at most: the last of them and how many digits.
fn gather(groups: &Groups<'_>, first: usize, most: usize) -> (usize, usize) {
    let mut last = first;
    let mut digits = groups.length(first);
    while groups.separator(last).is_some_and(|between| between.iter().all(|byte| b" ()-./".contains(byte)))
        && digits + groups.length(last + 1) <= most
    {
        last += 1;
        digits += groups.length(last);
    }
    if digits > most { (first, 0) } else { (last, digits) }
}

/// `555-123-4567`, `(555) 123-4567`, `555.123.4567`, `1-555-123-4567`.
fn american(groups: &Groups<'_>, first: usize) -> Option<Number> {
    let last = first + 2;
    let lengths = [groups.length(first), groups.length(first + 1), groups.length(last)];
    let area = matches!(groups.digits(first).first(), Some(b'2'..=b'9'));
    let separators = [groups.separator(first)?, groups.separator(first + 1).unwrap_or_default()];
    let bracket =
        groups.before(first) == Some(b'(') && separators.first().is_some_and(|one| one.starts_with(b")"));
    let [one, two] = separators;
    let close = (bracket && two.len() == 1) || (one.len() == 1 && one == two);
    let shaped = lengths == [3, 3, 4] && area && close && b"-. ".contains(two.first()?);
    let alone = groups.stand_alone(first, last) && !groups.joined_after(last, b"-.") && starts(groups, first);
    let start = groups.place(first).start - usize::from(bracket);
    (shaped && alone).then(|| (start..groups.place(last).end, last))
}

/// Whether no group belongs before this one, a leading 1 aside.
fn starts(groups: &Groups<'_>, first: usize) -> bool {
    let leading_one = first.checked_sub(1).is_some_and(|previous| groups.digits(previous) == b"1");
    leading_one || !groups.joined_before(first, b"-.")
}

/// `020 7946 0958`, `06 12 34 56 78`, `030/1234567`.
fn national(groups: &Groups<'_>, first: usize) -> Option<Number> {
    let digits = groups.digits(first);
    let trunk = digits.first() == Some(&b'0') && (2..=5).contains(&digits.len());
    if !trunk
        || !groups.stand_alone(first, first)
        || groups.joined_before(first, b"-./:,")
        || is_date(groups, first)
    {
        return None;
    }
    let bracket = groups.before(first) == Some(b'(') && groups.after(first) == Some(b')');
    let (last, count) = gather(groups, first, *NATIONAL.end());
    let whole = NATIONAL.contains(&count) && last > first && groups.stand_alone(first, last);
    let start = groups.place(first).start - usize::from(bracket);
    (whole && !groups.joined_after(last, b"-.:")).then(|| (start..groups.place(last).end, last))
}

/// `05.11.2026` or `05/11/2026`.
fn is_date(groups: &Groups<'_>, first: usize) -> bool {
    let lengths = [groups.length(first), groups.length(first + 1), groups.length(first + 2)];
    lengths == [2, 2, 4] && groups.separator(first) == groups.separator(first + 1)
}

/// Seven digits or more behind `tel`, `phone`, `call` and the like.
fn labelled(groups: &Groups<'_>, first: usize) -> Option<Number> {
    let place = groups.place(first);
    let (last, digits) = gather(groups, first, DIGITS_MAX);
    let named = digits >= LABELLED_MIN && groups.stand_alone(first, last);
    (named && groups.labelled(place.start, &LABELS)).then(|| (place.start..groups.place(last).end, last))
}
