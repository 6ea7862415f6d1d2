//! What can be the name of a tenant, a user, an agent or a resource, and which names look alike (AM-14).
//!
//! A name stands wherever an id can, and people tell principals apart by it. So it is printable text that has one spelling, is
//! no id, and looks like no other name of its kind.

use crate::text::is_legible;
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
        && text.trim_matches(is_blank) == text
        && is_legible(text)
        && is_nfc(text)
        && !forbidden.iter().any(|pattern| pattern.is_match(text))
}

/// Whether a character is drawn as a space; the blank of braille is one, though Unicode calls it a symbol.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}'
}

/// What a name looks like, in two ways: people could take two names for each other that share either. Both are skeletons of
/// UTS 39 with runs of blanks as one space.
///
/// The first is that of the name in lower case, so `PayPal` is `paypal`. A capital I is an i there, so the second takes letters
/// as they are drawn before it folds case: the capital I of `paypaI` is the l that it looks like. It leaves a capital L alone,
/// because that looks like no I: `Ian` and `Lan` stay two names.
#[must_use]
pub fn looks(name: &str) -> [String; 2] {
    let folded = skeleton(&name.to_lowercase()).collect::<String>().to_lowercase();
    // Once more, because a capital has another skeleton than its lower case: m is drawn as rn, M is not.
    let drawn = drawn(&drawn(name));
    [format!("folded:{}", spaced(&folded)), format!("drawn:{}", spaced(&drawn))]
}

/// Whether people could take one name for the other.
#[must_use]
pub fn look_alike(one: &str, other: &str) -> bool {
    looks(one).into_iter().zip(looks(other)).any(|(one, other)| one == other)
}

/// The skeleton of a text in lower case, but for capital L.
fn drawn(text: &str) -> String {
    let fold = |c: char| if c == 'L' { vec![c] } else { c.to_lowercase().collect() };
    skeleton(text).flat_map(fold).collect()
}

/// The text with one space for each run of blanks.
fn spaced(text: &str) -> String {
    text.split(is_blank).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

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
            "⠓⠊⠀⠁⠝⠁",
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
            "\u{2800}",
            "\u{2800}\u{2800}",
            "a\u{2800}",
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
            ("paypal", "paypaI"),
            ("paypal", "PaypaI"),
            ("Alice", "AIice"),
            ("alice", "AIice"),
            ("BILL", "bill"),
            ("market-l", "Market-I"),
            ("a⠀b", "a b"),
        ] {
            assert!(look_alike(one, other) && look_alike(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("ana", "anna"),
            ("user-1", "user-2"),
            ("agent-10", "agent-1"),
            ("名前", "名刺"),
            ("Ian", "Lan"),
            ("AI", "AL"),
        ] {
            assert!(!look_alike(one, other) && !look_alike(other, one), "{one} {other}");
        }
    }

    /// AM-14: no two names that people and agents really have are taken for each other.
    #[test]
    fn common_names_stand_beside_each_other() {
        let numbered = (0..300).map(|number| format!("Agent-{number}"));
        let mut taken = BTreeMap::new();
        for name in COMMON_NAMES.split_whitespace().map(str::to_owned).chain(numbered) {
            for look in looks(&name) {
                let other = taken.insert(look, name.clone());
                assert_eq!(other, None, "{name}");
            }
        }
    }

    const COMMON_NAMES: &str = "admin direct root support sales billing market research planner writer reader reviewer critic \
        coder tester builder crawler scout analyst archivist librarian mailer summarizer retriever router worker worker-1 worker-2 \
        worker-10 worker-11 worker-12 AI AI-1 AI-2 AL ALL Ali Ally ML NLP IT HR LLM LLM-1 API UI UX CI CLI IDE IAM CRM ERP KB SQL \
        Aaron Adele Aisha Alan Albert Alec Alena Alex Alexis Alice Alicia Alina Alisa Alison Allan Allen Alma Alvin Amelia Amir Ana \
        Andrea Anil Anita Anna Anne Ari Arne Astrid Ava Bea Becky Ben Bella Bill Billie Billy Bob Boris Brian Carl Carla Carlos \
        Caroline Cecil Celia Celine Charles Chen Chloe Claire Clara Claudia Clive Colin Dalia Dan Daniel Daniela David Della Delia \
        Dilan Dylan Ed Ela Elena Eli Elia Elias Elif Elijah Elin Elina Elisa Eliza Ella Ellen Ellie Elsa Emil Emilia Emily Emma Eric \
        Erica Erik Eva Fatima Felicia Felix Fiona Frank Gael Gail Gil Gill Gina Giulia Hal Hali Hannah Hassan Helen Helena Hila Ian \
        Ibrahim Ida Idris Igor Ikram Ila Ilan Ilana Ilia Ilie Ilona Ilse Ina Indira Ines Inga Ingrid Ioana Ira Irena Irene Iris Irma \
        Isa Isaac Isabel Isabella Isla Ismail Ivan Ivo Ivy Jack Jill Jim Joan Joel John Jill-2 Julia Julian Julie Karl Kai Kali Kim \
        Kyle Lan Lana Lara Lars Laura Layla Lea Leah Lee Leila Len Lena Leo Leon Li Lia Lian Liam Lila Lilia Lilian Lily Lin Lina \
        Linda Lisa Lise Liu Liv Livia Liz Lois Lola Lori Louis Louise Luca Lucia Lucy Luis Luisa Lukas Luna Lydia Malik Maria Mali \
        Mila Milan Mina Mira Mia Miles Nadia Neil Nell Nia Nicolas Nils Nina Noel Nora Oleg Olga Oli Olive Oliver Olivia Oscar Otto \
        Pablo Paola Paul Paula Phil Pia Raul Ravi Ricardo Rita Robert Rosa Sal Sali Sally Sam Sara Sarah Selim Selin Sia Silvia Sofia \
        Stella Sven Tal Tali Talia Tania Theo Tia Tilda Tim Tina Tom Uli Ulla Uma Val Vali Vera Viola Wei Will Willa William Willow \
        Xia Yael Yan Yuki Zara Zoe";
}
