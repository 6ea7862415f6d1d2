//! What can be the name of a tenant, a user, an agent or a resource, and which names look alike (AM-14).
//!
//! A name stands wherever an id can, and people tell principals apart by it. So it is printable text that has one spelling, is
//! no id, and looks like no other name of its kind.

use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::is_nfc;
use unicode_security::skeleton;

/// Bytes of a name.
pub const NAME_BYTES_MAX: usize = 256;

/// What a name must be, for refusals.
pub const NAME_RULE: &str = "1 to 256 bytes of printable text in normal form NFC, without control, format, bidirectional or \
                             invisible characters, with no space at either end, and not of the form of an id";

/// Characters that cannot be seen or told apart: controls, formats, private and unassigned ones, what is drawn as nothing,
/// and every space but the plain one. And the form of an id. A name is refused if it matches either.
static FORBIDDEN: LazyLock<Option<[Regex; 2]>> = LazyLock::new(|| {
    let unseen = Regex::new(r"[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}[\p{Zs}--\x20]]").ok()?;
    Some([unseen, Regex::new("(?i)^[a-z]{3}_[a-z2-7]{26}$").ok()?])
});

/// Whether a text can be a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let Some(forbidden) = FORBIDDEN.as_ref() else { return false };
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.trim() == text
        && is_nfc(text)
        && !forbidden.iter().any(|pattern| pattern.is_match(text))
}

/// What a name looks like: two names that people could take for each other have the same look. It is the skeleton of UTS 39
/// of the text in lower case, with runs of spaces as one.
#[must_use]
pub fn look(name: &str) -> String {
    let lower = name.to_lowercase();
    let shape: String = skeleton(&lower).collect();
    shape.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AM-14: any printable text is a name, whatever its script; what cannot be seen, has two spellings or is an id is none.
    #[test]
    fn printable_text_is_a_name_and_the_rest_is_not() {
        let longest = "n".repeat(NAME_BYTES_MAX);
        for name in [
            "ana",
            "Ana María Núñez",
            "https://id.example|auth0|7",
            "ana@example.org",
            "名前",
            "a/b:c",
            "👩",
            &longest,
        ] {
            assert!(is_name(name), "{name}");
        }
        let id = format!("usr_{}", "a".repeat(26));
        let too_long = "n".repeat(NAME_BYTES_MAX + 1);
        for text in [
            "",
            " ",
            " ana",
            "ana ",
            "a\u{0}b",
            "a\nb",
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{ad}b",
            "a\u{a0}b",
            "a\u{2028}b",
            "n\u{303}",
            "\u{3164}",
            "a\u{e000}b",
            "a\u{feff}",
            &id,
            &id.to_uppercase(),
            &too_long,
        ] {
            assert!(!is_name(text), "{text:?}");
        }
    }

    /// AM-14: names that people could take for each other look alike; others do not.
    #[test]
    fn names_look_alike_when_people_could_confuse_them() {
        for (one, other) in [
            ("ana", "Ana"),
            ("ana", "аnа"),
            ("paypal", "paypa1"),
            ("market", "rnarket"),
            ("a b", "a  b"),
            ("bot-0", "bot-o"),
        ] {
            assert_eq!(look(one), look(other), "{one} {other}");
        }
        for (one, other) in [("ana", "anna"), ("user-1", "user-2"), ("agent-10", "agent-1"), ("名前", "名刺")]
        {
            assert_ne!(look(one), look(other), "{one} {other}");
        }
    }
}
