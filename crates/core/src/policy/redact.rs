//! The step `redact`, and the same detectors for the index: what is found is cut out and named by its class.
//!
//! Invariant (nothing left): no detector finds anything in what comes out, so redacting twice is redacting once. What
//! is cut out changes what stands beside what; so the detectors look again, and a text that still shows something after
//! a few rounds is closed whole.

use super::classes::Classes;
use super::detect::{Class, Detected, found, merged};
use super::pattern::Pattern;
use super::stand_in::StandIns;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How often the detectors look before a text is closed whole.
const ROUNDS_MAX: usize = 4;

/// What is looked for: built-in classes, and expressions under classes of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detectors {
    classes: BTreeSet<Class>,
    custom: BTreeMap<String, BTreeSet<Pattern>>,
}

/// A text for the index, and what is only for those who may see it whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masked {
    /// The text without what was found.
    pub text: String,
    /// What was found, as it was written, in order.
    pub terms: Vec<String>,
}

/// What was found, named as a stand-in names it: built-in classes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    BuiltIn(Class),
    Custom(String),
}

impl Name {
    fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn(class) => class.as_str(),
            Self::Custom(name) => name,
        }
    }
}

impl Detectors {
    /// Detectors of these built-in classes.
    #[must_use]
    pub fn of(classes: impl IntoIterator<Item = Class>) -> Self {
        Self { classes: classes.into_iter().collect(), custom: BTreeMap::new() }
    }

    /// Every built-in detector.
    #[must_use]
    pub fn all() -> Self {
        Self::of(Class::ALL.iter().copied())
    }

    /// Also what this expression matches, under this class.
    #[must_use]
    pub fn and(mut self, class: impl Into<String>, pattern: Pattern) -> Self {
        self.custom.entry(class.into()).or_default().insert(pattern);
        self
    }

    /// What either of two looks for.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.classes.extend(&other.classes);
        for (class, patterns) in &other.custom {
            self.custom.entry(class.clone()).or_default().extend(patterns.iter().cloned());
        }
        self
    }

    /// Whether this looks for all that the other does.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.classes.is_subset(&self.classes)
            && other
                .custom
                .iter()
                .all(|(class, patterns)| self.custom.get(class).is_some_and(|own| patterns.is_subset(own)))
    }

    /// Whether an expression that is not built in matches a text.
    #[must_use]
    pub fn finds_custom(&self, text: &str) -> bool {
        self.custom.values().flatten().any(|pattern| pattern.is_in(text))
    }

    /// The built-in classes among what is looked for.
    #[must_use]
    pub fn built_in(&self) -> Classes {
        self.classes.iter().copied().collect()
    }

    /// Whether nothing is looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.custom.is_empty()
    }

    /// What stands for what was cut out.
    #[must_use]
    pub fn stand_ins(&self) -> StandIns {
        StandIns::with(self.custom.keys().cloned())
    }

    /// Everything in a text, in order, without overlap, each with the name of its class.
    #[must_use]
    pub fn detect(&self, text: &str) -> Vec<Detected<String>> {
        let named = |one: Detected<Name>| Detected { class: one.class.as_str().to_owned(), range: one.range };
        self.find(text, &self.stand_ins()).into_iter().map(named).collect()
    }

    fn find(&self, text: &str, stand_ins: &StandIns) -> Vec<Detected<Name>> {
        let built_in = found(text, &self.classes, stand_ins).into_iter();
        let mut all: Vec<Detected<Name>> =
            built_in.map(|one| Detected { class: Name::BuiltIn(one.class), range: one.range }).collect();
        let tokens = stand_ins.tokens(text);
        for (class, pattern) in
            self.custom.iter().flat_map(|(class, all)| all.iter().map(move |one| (class, one)))
        {
            let places = without(&pattern.matches(text), &tokens);
            all.extend(
                places.into_iter().map(|range| Detected { class: Name::Custom(class.clone()), range }),
            );
        }
        merged(all)
    }

    /// A text with what was found cut out and put aside.
    #[must_use]
    pub fn mask(&self, text: &str) -> Masked {
        let stand_ins = self.stand_ins();
        let mut masked = Masked { text: text.to_owned(), terms: Vec::new() };
        for _ in 0..ROUNDS_MAX {
            let spans = self.find(&masked.text, &stand_ins);
            if spans.is_empty() {
                return masked;
            }
            masked.cut(&spans);
        }
        if let Some(first) = self.find(&masked.text, &stand_ins).into_iter().next() {
            masked.cut(&[Detected { class: first.class, range: 0..masked.text.len() }]);
        }
        masked
    }

    /// A text with what was found cut out.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.mask(text).text
    }
}

impl Masked {
    fn cut(&mut self, spans: &[Detected<Name>]) {
        let mut text = String::with_capacity(self.text.len());
        let mut done = 0;
        for span in spans {
            text.push_str(self.text.get(done..span.range.start).unwrap_or_default());
            text.push_str(&StandIns::token(span.class.as_str()));
            self.terms.extend(self.text.get(span.range.clone()).map(str::to_owned));
            done = span.range.end;
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        self.text = text;
    }
}

/// The ranges without what lies in any of the holes; both are in order and without overlap.
fn without(ranges: &[Range<usize>], holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(ranges.len());
    let mut holes = holes.iter().peekable();
    for range in ranges {
        let mut start = range.start;
        while let Some(hole) = holes.peek().filter(|hole| hole.start < range.end) {
            left.push(start..hole.start.max(start));
            start = start.max(hole.end);
            if hole.end > range.end {
                break;
            }
            holes.next();
        }
        left.push(start.min(range.end)..range.end);
    }
    left.retain(|range| !range.is_empty());
    left
}

/// A text without what the detectors of these classes find.
#[must_use]
pub fn redact(text: &str, classes: &BTreeSet<Class>) -> String {
    mask(text, classes).text
}

/// A text for the index: without what the detectors of these classes find, and that beside it (SHARE-21).
#[must_use]
pub fn mask(text: &str, classes: &BTreeSet<Class>) -> Masked {
    Detectors::of(classes.iter().copied()).mask(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(class: &str, source: &str) -> Detectors {
        Detectors::default().and(class, Pattern::compile(source).unwrap())
    }

    /// SHARE-17: what is found is replaced by the name of its class, and nothing else changes.
    #[test]
    fn redaction_names_the_class() {
        let redacted = Detectors::all().redact("Write to jo@example.org from 10.1.2.3, please.");
        assert_eq!(redacted, "Write to [REDACTED:email] from [REDACTED:ip], please.");
        assert_eq!(
            custom("ticket", r"T-\d+").redact("see T-12, T-7"),
            "see [REDACTED:ticket], [REDACTED:ticket]"
        );
    }

    /// SHARE-21: the main field is masked, and the masked terms are kept beside it.
    #[test]
    fn a_mask_keeps_the_terms_aside() {
        let masked = mask("card 4111 1111 1111 1111 of jo@example.org", &BTreeSet::from([Class::Card]));
        assert_eq!(masked.text, "card [REDACTED:card] of jo@example.org");
        assert_eq!(masked.terms, ["4111 1111 1111 1111"]);
        assert_eq!(mask("plain", &Class::ALL.iter().copied().collect()).terms, Vec::<String>::new());
    }

    /// SHARE-17: an expression that matches its own stand-in, or runs across one, ends all the same.
    #[test]
    fn expressions_never_take_stand_ins_apart() {
        for source in [".", "(?s).+", "REDACTED", r"\]", r"\w+", "^.", r"(?:^|\])a", "a.*c", "[A-Z]"] {
            let detectors = custom("x", source);
            for text in ["a b c", "aaaaaaaaaa", "a [REDACTED:email] c", "[REDACTED:x]a]a", "é\n\n"] {
                let once = detectors.redact(text);
                assert_eq!(detectors.redact(&once), once, "{source} in {text}");
                assert!(detectors.detect(&once).is_empty(), "{source} in {text}: {once}");
            }
        }
        assert_eq!(
            custom("x", "a.*c").redact("a [REDACTED:email] c"),
            "[REDACTED:x][REDACTED:email][REDACTED:x]"
        );
    }

    /// SHARE-17: a secret in the clothes of a redaction is still one.
    #[test]
    fn brackets_hide_nothing() {
        let redacted = Detectors::all().redact("[REDACTED:4111111111111111]");
        assert!(!redacted.contains("4111111111111111"), "{redacted}");
    }
}
