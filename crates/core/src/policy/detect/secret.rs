//! Passwords, keys and tokens: twenty characters or more, at 3.5 bits a character or more, that are not words.
//!
//! Words joined to a path, a name of a program or a host are long and varied too. What consists of words, short numbers
//! and their mixtures alone is therefore none, nor is a UUID or a digest that names its algorithm. A bare digest is:
//! nothing tells it from a key.

use std::ops::Range;

const CHARS_MIN: usize = 20;
const BITS_MIN: f64 = 3.5;
/// A mixture of letters and digits up to this length is a name: `sha256`, `utf8`, `x86`.
const MIXTURE_MAX: usize = 8;
/// A run of letters or digits up to this length may be a word or a number.
const WORD_MAX: usize = CHARS_MIN - 1;
const NUMBER_MAX: usize = 14;
const DIGESTS: [&str; 9] =
    ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha-256", "sha-512", "blake3"];

pub(super) fn find(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in bytes.split(|byte| !in_token(*byte)) {
        let left = run.iter().take_while(|byte| is_edge(**byte)).count();
        let right = run.iter().rev().take_while(|byte| is_edge(**byte)).count();
        let place = start + left..(start + run.len()).saturating_sub(right).max(start + left);
        start += run.len() + 1;
        let token = bytes.get(place.clone()).unwrap_or_default();
        if is_secret(token) && !is_digest(bytes, &place) {
            found.push(place.start..with_padding(bytes, place.end));
        }
    }
    found
}

const fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'.' | b'~')
}

const fn is_edge(byte: u8) -> bool {
    matches!(byte, b'-' | b'/' | b'.' | b'~' | b'_')
}

/// The end, with the `=` that fill up base64.
fn with_padding(bytes: &[u8], end: usize) -> usize {
    let fill = bytes.iter().skip(end).take(2).take_while(|byte| **byte == b'=').count();
    end + fill
}

fn is_secret(token: &[u8]) -> bool {
    token.len() >= CHARS_MIN
        && bits_per_char(token) >= BITS_MIN
        && !is_uuid(token)
        && !is_made_of_words(token)
}

/// Shannon's entropy of the characters as they are distributed in the token.
fn bits_per_char(token: &[u8]) -> f64 {
    let mut counts = [0u32; 128];
    for byte in token {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = token.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    shares.map(|share| -share * share.log2()).sum()
}

/// Eight, four, four, four and twelve hexadecimal digits.
fn is_uuid(token: &[u8]) -> bool {
    let parts = token.split(|byte| *byte == b'-');
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    token.len() == 36 && parts.clone().all(hex) && parts.map(<[u8]>::len).eq([8, 4, 4, 4, 12])
}

/// `sha256:` before a token of hexadecimal digits.
fn is_digest(bytes: &[u8], place: &Range<usize>) -> bool {
    let token = bytes.get(place.clone()).unwrap_or_default();
    let before =
        bytes.get(place.start.saturating_sub(8)..place.start).unwrap_or_default().to_ascii_lowercase();
    let named = |name: &str| before.strip_suffix(b":").is_some_and(|rest| rest.ends_with(name.as_bytes()));
    token.iter().all(u8::is_ascii_hexdigit) && DIGESTS.iter().any(|name| named(name))
}

fn is_made_of_words(token: &[u8]) -> bool {
    token.split(|byte| !byte.is_ascii_alphanumeric()).all(is_wordlike)
}

/// A short number, a short mixture, or letters that read as words.
fn is_wordlike(piece: &[u8]) -> bool {
    let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == piece.len() {
        return piece.len() <= NUMBER_MAX;
    }
    if digits > 0 {
        return piece.len() <= MIXTURE_MAX || ends_in_number(piece, digits);
    }
    humps(piece).iter().all(|length| *length <= WORD_MAX) && !changes_case_like_noise(piece)
}

/// A word with a short number behind it: `replica12`.
fn ends_in_number(piece: &[u8], digits: usize) -> bool {
    let word = piece.get(..piece.len() - digits).unwrap_or_default();
    digits <= 3 && word.iter().all(u8::is_ascii_alphabetic) && is_wordlike(word)
}

/// The lengths of the words of `camelCaseNames`.
fn humps(letters: &[u8]) -> Vec<usize> {
    let mut lengths = vec![0];
    let mut lower = false;
    for byte in letters {
        if lower && byte.is_ascii_uppercase() {
            lengths.push(0);
        }
        lower = byte.is_ascii_lowercase();
        if let Some(last) = lengths.last_mut() {
            *last += 1;
        }
    }
    lengths
}

/// Whether upper and lower case change every three letters or more often.
fn changes_case_like_noise(letters: &[u8]) -> bool {
    let cases = letters.iter().map(u8::is_ascii_uppercase);
    let changes = cases.clone().zip(cases.skip(1)).filter(|(one, next)| one != next).count();
    letters.len() >= 8 && changes * 3 >= letters.len()
}
