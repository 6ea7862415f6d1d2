//! Secrets that a text names: what stands behind `password:` or `bearer`, and private keys between their marks. The entropy of
//! a password that a person chose is too low for the detector of random secrets.

use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// A password behind its name. After `is` it has a digit or a sign in it: "the password is required" names none.
const PASSWORD: &str = r#"(?i)(?:(?-u:\b)|_)(?:pass(?:word|wd|phrase|code)|pwd|passwort|kennwort)["']?\s{0,3}(?:[:=]\s{0,3}["']?([^\s"'`,;]+)|(?:is|was)\s{1,3}["']?([^\s"'`,;]*[0-9!@#$%^&*+=][^\s"'`,;]*))"#;
/// A token or key behind its name, with a digit in it.
const TOKEN: &str = r#"(?i)(?:(?-u:\b)|_)(?:(?:api|access|secret|private|auth)[ _-]?(?:key|token)|secret|token|credentials?)["']?\s{0,3}(?:[:=]|\bis\b)\s{0,3}["']?([A-Z0-9_.~+/-]*[0-9][A-Z0-9_.~+/-]*)"#;
/// What a client sends to prove who it is.
const BEARER: &str =
    r"(?i)(?-u:\b)(?:bearer|authorization:\s{0,3}basic)\s{1,3}([A-Z0-9_.~+/-]*[0-9][A-Z0-9_.~+/=-]*)";
/// A private key, up to its end or the end of the text.
const PRIVATE_KEY: &str =
    r"(?s)(-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY-----|\z))";
/// Tokens that providers mark by how they begin.
const MARKED: &str = r"(?-u:\b)((?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[0-9A-Za-z_]{16,}|xox[abprs]-[0-9A-Za-z_-]{10,}|sk-[0-9A-Za-z_-]{16,})";

const ENDS: [char; 7] = ['.', ':', ')', ']', '}', '>', '。'];

/// Each pattern with how long its value is at least, and whether it must have a letter and a digit in it.
static PATTERNS: LazyLock<Vec<(Regex, usize, bool)>> = LazyLock::new(|| {
    let patterns = [
        (PASSWORD, 4, false),
        (TOKEN, 6, true),
        (BEARER, 8, true),
        (PRIVATE_KEY, 0, false),
        (MARKED, 0, false),
    ];
    let compiled =
        patterns.iter().map(|(text, length, mixed)| Some((Regex::new(text).ok()?, *length, *mixed)));
    compiled.flatten().collect()
});

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for (pattern, length_min, mixed) in PATTERNS.iter() {
        let values = pattern.captures_iter(text).filter_map(|found| found.iter().skip(1).flatten().next());
        // What closes the sentence is no part of the value.
        let trimmed = values.map(|value| (value.start(), value.as_str().trim_end_matches(ENDS)));
        let counts = |(_, value): &(usize, &str)| {
            let has = |kind: fn(&u8) -> bool| value.bytes().any(|byte| kind(&byte));
            value.len() >= *length_min
                && (!mixed || (has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)))
        };
        places.extend(trimmed.filter(counts).map(|(start, value)| start..start + value.len()));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn patterns_are_patterns() {
        assert_eq!(PATTERNS.len(), 5);
    }

    /// SHARE-17: a secret that its text names is found, however short it is.
    #[test]
    fn named_secrets_are_found() {
        for (text, secret) in [
            ("the staging password: hunter2", "hunter2"),
            ("Password = \"Tr0ub4dor\" for the vpn", "Tr0ub4dor"),
            ("DB_PWD=swordfish", "swordfish"),
            ("the wifi password is blue-42-fish", "blue-42-fish"),
            ("Passwort: geheim", "geheim"),
            ("api key: a1b2c3d4", "a1b2c3d4"),
            ("curl -H 'Authorization: Bearer abc.123456789'", "abc.123456789"),
            ("key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
            ("ghp_abcdefghijklmnop1234", "ghp_abcdefghijklmnop1234"),
        ] {
            assert!(found(text).contains(&secret), "{text}: {:?}", found(text));
        }
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----";
        assert_eq!(found(&format!("it is {key} there")), [key]);
        assert_eq!(found("-----BEGIN PRIVATE KEY-----\nMIIB"), ["-----BEGIN PRIVATE KEY-----\nMIIB"]);
    }

    #[test]
    fn sentences_about_secrets_name_none() {
        for text in [
            "The password is required to log in.",
            "Passwords expire after 90 days",
            "The token is refreshed every hour",
            "Ben forgot his password and asked for a new one",
            "The secret is that we bake twice",
            "Ana was the bearer of good news in 2024",
            "max token: 128000",
            "the token is 2024",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
