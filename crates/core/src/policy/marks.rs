//! Which detectors find each part of a text, for the index (SHARE-21).
//!
//! Invariant (marks cover cuts): whatever `redact` cuts out of a text for some classes is marked with one of them. So a
//! word whose marks do not meet the classes that are redacted for a caller is one that the caller is shown anyway.
//!
//! Where redacting would look twice, because a cut brings something new to light, the whole text is marked: that is rare,
//! and only costs that those who are bound do not find it by its words.
//!
//! Marks know the built-in classes alone. A pattern that a policy brings is no class of the index: it would be one bit more
//! here, set by a fold of the index from the start, and until that is done the policy's matches are to be kept back as by
//! `block`, before ranking.

use super::classes::Classes;
use super::detect::{Detected, found, merged};
use super::redact::Detectors;
use super::stand_in::StandIns;
use crate::item::Content;
use serde_json::Value;
use std::ops::Range;

/// Classes in one text of which all combinations are looked at.
const COMBINED_MAX: usize = 4;

/// A text's marks, by byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// As long as up to the last mark.
    bytes: Vec<Classes>,
    all: Classes,
}

impl Marks {
    /// The marks of one text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut marks = Self::default();
        marks.add(text, 0);
        marks
    }

    /// The marks of what search indexes of a content. Key and text are redacted each on its own, so they are marked so.
    #[must_use]
    pub fn of_indexed(content: &Content) -> Self {
        let mut marks = Self::default();
        let mut start = 0;
        if let Some(key) = &content.key {
            marks.add(key, 0);
            start = key.len() + 1;
        }
        marks.add(&content.text, start);
        marks
    }

    /// Everything that is marked anywhere.
    #[must_use]
    pub const fn all(&self) -> Classes {
        self.all
    }

    /// What is marked in a part of the text.
    #[must_use]
    pub fn at(&self, range: Range<usize>) -> Classes {
        let end = range.end.min(self.bytes.len());
        let bytes = self.bytes.get(range.start..end).unwrap_or_default();
        bytes.iter().fold(Classes::NONE, |all, one| all.union(*one))
    }

    fn add(&mut self, text: &str, start: usize) {
        for (range, classes) in marked(text) {
            let (from, to) = (start + range.start, start + range.end);
            if self.bytes.len() < to {
                self.bytes.resize(to, Classes::NONE);
            }
            let bytes = self.bytes.get_mut(from..to).unwrap_or_default();
            bytes.iter_mut().for_each(|byte| *byte = byte.union(classes));
            self.all = self.all.union(classes);
        }
    }
}

/// The classes of everything that a content says, whether it is indexed or not.
#[must_use]
pub fn classes_in(content: &Content) -> Classes {
    let indexed = content.key.iter().chain([&content.text]);
    indexed.map(|text| classes_of(text)).fold(classes_beside(content), Classes::union)
}

/// The classes of what a content says beside its key and text.
#[must_use]
pub fn classes_beside(content: &Content) -> Classes {
    let triple =
        content.triple.iter().flat_map(|triple| [&triple.subject, &triple.predicate, &triple.object]);
    let words = triple.chain(&content.tags).chain(content.fields.keys());
    let mut all = words.map(|text| classes_of(text)).fold(Classes::NONE, Classes::union);
    let mut open: Vec<&Value> = content.fields.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => all = all.union(classes_of(text)),
            Value::Number(number) => all = all.union(classes_of(&number.to_string())),
            Value::Array(values) => open.extend(values),
            Value::Object(values) => {
                all = values.keys().map(|name| classes_of(name)).fold(all, Classes::union);
                open.extend(values.values());
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    all
}

/// The classes of what a text holds.
#[must_use]
pub fn classes_of(text: &str) -> Classes {
    look(text, Classes::all()).iter().map(|one| one.class).collect()
}

fn look(text: &str, classes: Classes) -> Vec<Detected> {
    found(text, &classes.iter().collect(), &StandIns::default())
}

fn marked(text: &str) -> Vec<(Range<usize>, Classes)> {
    let found = look(text, Classes::all());
    let classes: Classes = found.iter().map(|one| one.class).collect();
    if classes.len() > COMBINED_MAX || looks_twice(text, &found, classes) {
        return vec![(0..text.len(), classes)];
    }
    // One class may find the same part in more than one way; marking a part twice would take long.
    let each = classes.iter().flat_map(|class| merged(only(&found, class.into())));
    each.map(|one| (one.range, one.class.into())).collect()
}

fn only(found: &[Detected], classes: Classes) -> Vec<Detected> {
    found.iter().filter(|one| classes.contains(one.class)).cloned().collect()
}

/// Whether, for any classes to be redacted, what is left after a cut holds something still.
fn looks_twice(text: &str, found: &[Detected], classes: Classes) -> bool {
    // Nothing is cut for classes that found nothing, so they are looked for in what is left but never cut first.
    let silent: Classes = Classes::all().iter().filter(|class| !classes.contains(*class)).collect();
    classes.parts().any(|part| {
        let left = cut(text, &merged(only(found, part)));
        !look(&left, part.union(silent)).is_empty()
    })
}

/// A text with stand-ins for what was found.
fn cut(text: &str, found: &[Detected]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut done = 0;
    for one in found {
        left.push_str(text.get(done..one.range.start).unwrap_or_default());
        left.push_str(&StandIns::token(one.class.as_str()));
        done = one.range.end;
    }
    left.push_str(text.get(done..).unwrap_or_default());
    left
}

impl Classes {
    /// A text without what these classes find in it.
    #[must_use]
    pub fn redact(self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { Detectors::of(self.iter()).redact(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Class;
    use proptest::prelude::*;

    fn of(classes: &[Class]) -> Classes {
        classes.iter().copied().collect()
    }

    /// SHARE-21: what each detector finds is marked with it, and nothing else is marked.
    #[test]
    fn marks_are_where_something_is_found() {
        let text = "card 4111 1111 1111 1111, mail jo@example.org";
        let marks = Marks::of(text);
        let at = |word: &str| {
            let start = text.find(word).unwrap();
            marks.at(start..start + word.len())
        };
        assert_eq!((at("card"), at("mail"), at(",")), (Classes::NONE, Classes::NONE, Classes::NONE));
        assert!(at("4111").contains(Class::Card) && !at("4111").contains(Class::Email));
        assert_eq!((at("jo"), at("org")), (of(&[Class::Email]), of(&[Class::Email])));
        assert!(marks.all().meets(of(&[Class::Card])) && marks.all().meets(of(&[Class::Email])));
        assert_eq!(Marks::of("nothing here"), Marks::default());
    }

    /// SHARE-21: a number that two detectors find is kept from whoever is bound by either.
    #[test]
    fn overlapping_finds_are_marked_with_both() {
        let text = "call 4111 1111 1111 111";
        let found: Classes = look(text, Classes::all()).iter().map(|one| one.class).collect();
        assert_eq!(Marks::of(text).all(), found);
        let both = "phone 4012888888881881";
        let marks = Marks::of(both);
        for class in classes_of(both).iter() {
            assert!(marks.at(6..both.len()).contains(class), "{class:?}");
        }
        assert!(classes_of(both).contains(Class::Card));
    }

    /// SHARE-21: triples, fields and tags count for what a content says, if not for what it is found by.
    #[test]
    fn all_parts_of_a_content_are_looked_at() {
        let content = |json: serde_json::Value| serde_json::from_value::<Content>(json).unwrap();
        let plain = serde_json::json!({"kind": "fact", "text": "plain"});
        assert_eq!(classes_in(&content(plain.clone())), Classes::NONE);
        for (name, value) in [
            ("key", serde_json::json!("jo@example.org")),
            ("triple", serde_json::json!({"subject": "Jo", "predicate": "mail", "object": "jo@example.org"})),
            ("fields", serde_json::json!({"a": [{"b": "jo@example.org"}]})),
            ("tags", serde_json::json!(["jo@example.org"])),
        ] {
            let mut json = plain.clone();
            json[name] = value;
            assert_eq!(classes_in(&content(json)), of(&[Class::Email]), "{name}");
        }
    }

    /// Pieces that detectors take, and what may stand between them.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("4111 1111 1111 1111".to_owned()),
            Just("jo@example.org".to_owned()),
            Just("+49 170 1234567".to_owned()),
            Just("555-123-4567".to_owned()),
            Just("078-05-1120".to_owned()),
            Just("10.1.2.3".to_owned()),
            Just("DE89 3704 0044 0532 0130 00".to_owned()),
            Just("aB3dE5gH7jK9mN1pQ3sT".to_owned()),
            Just("[REDACTED:card]".to_owned()),
            "[a-z0-9@.+ -]{0,6}",
        ];
        let between =
            prop_oneof![3 => Just(" "), 1 => Just(""), 1 => Just("."), 1 => Just("-"), 1 => Just("@")];
        proptest::collection::vec((piece, between), 0..5)
            .prop_map(|parts| parts.into_iter().map(|(piece, between)| piece + between).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// SHARE-21: for any classes, what is not marked with one of them is exactly what a redaction leaves; where the whole
        /// text is marked, it leaves at least as much.
        #[test]
        fn what_is_unmarked_is_what_is_shown(text in texts(), bits in 1..128u8) {
            let classes = Class::ALL.iter().copied().filter(|class| bits & (1 << *class as u8) != 0);
            let classes: Classes = classes.collect();
            let marks = Marks::of(&text);
            let unmarked = |(at, c): &(usize, char)| !marks.at(*at..at + c.len_utf8()).meets(classes);
            let kept: String = text.char_indices().filter(unmarked).map(|(_, c)| c).collect();
            let bare = |text: &str| {
                Class::ALL.iter().fold(text.to_owned(), |text, class| text.replace(&StandIns::token(class.as_str()), ""))
            };
            prop_assert!(kept.is_empty() || bare(&kept) == bare(&classes.redact(&text)), "{:?} leaves {:?}", text, kept);
        }
    }
}
