//! Regular expressions of a schema: matched in linear time, compiled within a size.
//!
//! JSON Schema means ECMAScript's expressions. Classes such as `\d` are therefore those of ASCII. What a linear matcher
//! cannot do (looking ahead or behind, references back) is refused when the schema is compiled.

use regex::{Regex, RegexBuilder};

/// Sizes that are tried one after the other, in bytes; the last is the limit.
const SIZES: [usize; 4] = [4_096, 16_384, 65_536, 262_144];

/// A compiled expression that knows what it costs.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    source: String,
    /// Bytes of the compiled form, rounded up to one of `SIZES`.
    size: usize,
}

impl Pattern {
    /// The expression, or nothing where it is not one, is too large, or needs more than linear time.
    pub(super) fn compile(source: &str) -> Option<Self> {
        let translated = ascii_classes(source);
        SIZES.iter().find_map(|&size| {
            let regex =
                RegexBuilder::new(&translated).size_limit(size).dfa_size_limit(size.max(65_536)).build();
            Some(Self { regex: regex.ok()?, source: source.to_owned(), size })
        })
    }

    /// Whether it stands anywhere in the text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The expression as it was written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Bytes that it takes.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Steps for a text of this length: the slowest matcher visits each state at each byte.
    pub(super) const fn cost(&self, text_bytes: usize) -> usize {
        1 + text_bytes.saturating_mul(self.size / 4_096)
    }
}

/// The same expression with ECMAScript's meaning of `\d`, `\w` and their opposites.
fn ascii_classes(source: &str) -> String {
    let mut translated = String::with_capacity(source.len());
    let mut chars = source.chars();
    while let Some(first) = chars.next() {
        if first != '\\' {
            translated.push(first);
            continue;
        }
        match chars.next() {
            Some('d') => translated.push_str("[0-9]"),
            Some('D') => translated.push_str("[^0-9]"),
            Some('w') => translated.push_str("[0-9A-Za-z_]"),
            Some('W') => translated.push_str("[^0-9A-Za-z_]"),
            Some(other) => translated.extend(['\\', other]),
            None => translated.push('\\'),
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-2.1: patterns mean what JSON Schema means, and a pattern that cannot be matched in linear time is refused.
    #[test]
    fn patterns_are_those_of_ecmascript() {
        let check = |source: &str, text: &str, expected: bool| {
            assert_eq!(Pattern::compile(source).unwrap().is_in(text), expected, "{source} in {text}");
        };
        check(r"^\d{4}$", "2026", true);
        check(r"^\d{4}$", "\u{661}\u{662}\u{663}\u{664}", false);
        check(r"^[\w-]+$", "a_b-9", true);
        check(r"^[\w-]+$", "\u{e9}", false);
        check(r"^[^\d]$", "5", false);
        check(r"\\d", r"a\d", true);
        check("b", "abc", true);
        check(r"^\p{Lu}", "\u{c9}a", true);
        for bad in [r"(?=a)b", r"(a)\1", "(", r"a{1000}{1000}", r"\p{L}{4000}", "\\"] {
            assert!(Pattern::compile(bad).is_none(), "{bad}");
        }
    }
}
