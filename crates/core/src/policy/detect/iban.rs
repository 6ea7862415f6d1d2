//! Bank accounts: a country, two check digits, and as many characters as that country has, modulo 97.

use std::ops::Range;

/// How long the IBANs of each country are.
#[rustfmt::skip]
const LENGTHS: [(&[u8; 2], usize); 89] = [
    (b"AD", 24), (b"AE", 23), (b"AL", 28), (b"AT", 20), (b"AZ", 28), (b"BA", 20), (b"BE", 16), (b"BG", 22),
    (b"BH", 22), (b"BI", 27), (b"BR", 29), (b"BY", 28), (b"CH", 21), (b"CR", 22), (b"CY", 28), (b"CZ", 24),
    (b"DE", 22), (b"DJ", 27), (b"DK", 18), (b"DO", 28), (b"EE", 20), (b"EG", 29), (b"ES", 24), (b"FI", 18),
    (b"FK", 18), (b"FO", 18), (b"FR", 27), (b"GB", 22), (b"GE", 22), (b"GI", 23), (b"GL", 18), (b"GR", 27),
    (b"GT", 28), (b"HN", 28), (b"HR", 21), (b"HU", 28), (b"IE", 22), (b"IL", 23), (b"IQ", 23), (b"IS", 26),
    (b"IT", 27), (b"JO", 30), (b"KW", 30), (b"KZ", 20), (b"LB", 28), (b"LC", 32), (b"LI", 21), (b"LT", 20),
    (b"LU", 20), (b"LV", 21), (b"LY", 25), (b"MC", 27), (b"MD", 24), (b"ME", 22), (b"MK", 19), (b"MN", 20),
    (b"MR", 27), (b"MT", 31), (b"MU", 30), (b"NI", 28), (b"NL", 18), (b"NO", 15), (b"OM", 23), (b"PK", 24),
    (b"PL", 28), (b"PS", 29), (b"PT", 25), (b"QA", 29), (b"RO", 24), (b"RS", 22), (b"RU", 33), (b"SA", 24),
    (b"SC", 31), (b"SD", 18), (b"SE", 24), (b"SI", 19), (b"SK", 24), (b"SM", 27), (b"SO", 23), (b"ST", 25),
    (b"SV", 28), (b"TL", 23), (b"TN", 24), (b"TR", 26), (b"UA", 29), (b"VA", 22), (b"VG", 24), (b"XK", 20),
    (b"YE", 30),
];

pub(super) fn find(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut before = None;
    for (start, byte) in bytes.iter().enumerate() {
        let begins = byte.is_ascii_alphabetic() && !before.is_some_and(|b: &u8| b.is_ascii_alphanumeric());
        before = Some(byte);
        if begins && let Some(end) = end_of(bytes, start) {
            found.push(start..end);
        }
    }
    found
}

/// Where the IBAN that begins here ends.
fn end_of(bytes: &[u8], start: usize) -> Option<usize> {
    let head = bytes.get(start..start + 4)?;
    let country = [head.first()?.to_ascii_uppercase(), head.get(1)?.to_ascii_uppercase()];
    if !head.iter().skip(2).all(u8::is_ascii_digit) {
        return None;
    }
    let (_, length) = LENGTHS.iter().find(|(code, _)| **code == country)?;
    let (characters, end) = gather(bytes, start, *length)?;
    let followed = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (!followed && remainder(&characters) == 1).then_some(end)
}

/// So many letters and digits, with one space or hyphen between any two at most, and where they end.
fn gather(bytes: &[u8], start: usize, length: usize) -> Option<(Vec<u8>, usize)> {
    let mut characters = Vec::with_capacity(length);
    let mut gap = false;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if byte.is_ascii_alphanumeric() {
            characters.push(byte.to_ascii_uppercase());
            gap = false;
        } else if matches!(byte, b' ' | b'-') && !gap {
            gap = true;
        } else {
            return None;
        }
        if characters.len() == length {
            return Some((characters, at + 1));
        }
    }
    None
}

/// The number that the characters spell, country and check digits last, modulo 97.
fn remainder(characters: &[u8]) -> u32 {
    let (head, rest) = characters.split_at_checked(4).unwrap_or((characters, &[]));
    rest.iter().chain(head).fold(0, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte.saturating_sub(b'A')) + 10) % 97,
    })
}
