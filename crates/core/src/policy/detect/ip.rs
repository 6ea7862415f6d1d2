//! Internet addresses of both versions; what looks like one but is a version or a section number is not.

use super::groups::Groups;
use core::net::Ipv6Addr;
use std::ops::Range;

/// What stands before numbers with dots that are no addresses.
const OTHER_NUMBERS: [&str; 16] = [
    "version",
    "versions",
    "ver",
    "v",
    "release",
    "build",
    "firmware",
    "section",
    "sections",
    "chapter",
    "sec",
    "clause",
    "paragraph",
    "oid",
    "rev",
    "revision",
];
/// The longest text of an address of version 6, in bytes.
const V6_BYTES_MAX: usize = 45;

pub(super) fn find(groups: &Groups<'_>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = (0..groups.count()).filter_map(|first| v4(groups, first)).collect();
    found.extend(v6(groups.bytes()));
    found
}

/// Four numbers up to 255 with dots between, and no fifth.
fn v4(groups: &Groups<'_>, first: usize) -> Option<Range<usize>> {
    let last = first + 3;
    let dotted = (first..last).all(|index| groups.separator(index) == Some(b"."));
    let octets = dotted && (first..=last).all(|index| is_octet(groups.digits(index)));
    if !octets || groups.joined_before(first, b".") || groups.joined_after(last, b".") {
        return None;
    }
    let place = groups.place(first).start..groups.place(last).end;
    let tagged = groups.after(last) == Some(b'-') && is_letter(groups.bytes().get(place.end + 1));
    let other = tagged || !groups.stand_alone(first, last) || groups.labelled(place.start, &OTHER_NUMBERS);
    (!other).then_some(place)
}

fn is_letter(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_alphabetic)
}

fn is_octet(digits: &[u8]) -> bool {
    let value = digits.iter().take(4).fold(0u32, |number, byte| number * 10 + u32::from(byte - b'0'));
    digits.len() <= 3 && value <= 255 && (digits.len() == 1 || digits.first() != Some(&b'0'))
}

/// Runs of hexadecimal digits, colons and dots that read as an address.
fn v6(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in bytes.split(|byte| !in_address(*byte)) {
        let place = start..start + run.len();
        start = place.end + 1;
        let touches =
            is_name(place.start.checked_sub(1).and_then(|at| bytes.get(at))) || is_name(bytes.get(place.end));
        if !touches && let Some(within) = address_in(run) {
            found.push(place.start + within.start..place.start + within.end);
        }
    }
    found
}

const fn in_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

fn is_name(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The address in a run, without the punctuation around it.
fn address_in(run: &[u8]) -> Option<Range<usize>> {
    let text = std::str::from_utf8(run).ok().filter(|text| text.len() <= V6_BYTES_MAX + 4)?;
    let whole = text.trim_end_matches('.');
    let candidates =
        [whole, whole.strip_suffix(':').unwrap_or(whole), whole.strip_prefix(':').unwrap_or(whole)];
    let address = candidates.into_iter().find(|candidate| is_address(candidate))?;
    let start = if whole.starts_with(address) { 0 } else { 1 };
    Some(start..start + address.len())
}

/// An address, and not two words with colons between.
fn is_address(text: &str) -> bool {
    let parts = text.split(':').filter(|part| !part.is_empty()).count();
    let told = text.bytes().any(|byte| byte.is_ascii_digit()) || parts >= 3;
    text.bytes().filter(|byte| *byte == b':').count() >= 2 && told && text.parse::<Ipv6Addr>().is_ok()
}
