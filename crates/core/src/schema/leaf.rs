//! What a schema says of one value by itself: its type, its range, its form.

use super::format::Format;
use super::pattern::Pattern;
use super::value::{compare, identity, is_multiple, is_whole};
use crate::error::Code;
use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// How much of a schema's own text an answer repeats.
const EXPECTED_CHARS_MAX: usize = 200;

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    pub(super) const ALL: [Self; 7] =
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The type of a value; a number is just a number.
    pub(super) const fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => is_whole(number),
            _ => self == Self::of(value),
        }
    }
}

/// Which numbers a bound admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

impl Bound {
    fn admits(self, order: Ordering) -> bool {
        match self {
            Self::AtLeast => order.is_ge(),
            Self::MoreThan => order.is_gt(),
            Self::AtMost => order.is_le(),
            Self::LessThan => order.is_lt(),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::MoreThan => "more than",
            Self::AtMost => "at most",
            Self::LessThan => "less than",
        }
    }
}

/// From how many to how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl Range {
    pub(super) fn holds(self, count: u64) -> bool {
        self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max)
    }

    /// The range in words.
    pub(super) fn of(self, things: &str) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{min} to {max} {things}"),
            (Some(min), None) => format!("at least {min} {things}"),
            (None, Some(max)) => format!("at most {max} {things}"),
            (None, None) => format!("any number of {things}"),
        }
    }
}

/// A rule about one value. A rule about another type than the value's holds.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    Type(Vec<JsonType>),
    OneOf { identities: BTreeSet<Vec<u8>>, expected: String },
    Bound(Bound, Number),
    MultipleOf(Number),
    Length(Range),
    Matches(Pattern),
    Format(Format),
    Items(Range),
    Unique,
    Members(Range),
}

/// What is wrong with a value: which code, what would pass, what came.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) code: Code,
    pub(super) expected: String,
    pub(super) actual: String,
}

impl Leaf {
    /// A rule that admits these values alone.
    pub(super) fn one_of(values: &[Value]) -> Self {
        let texts: Vec<String> = values.iter().take(32).map(plain).collect();
        let more = if values.len() > texts.len() { ", …" } else { "" };
        let expected = cut(&format!("one of {}{more}", texts.join(", ")));
        Self::OneOf { identities: values.iter().map(identity).collect(), expected }
    }

    /// What is wrong with this value, if anything.
    pub(super) fn wrong(&self, value: &Value) -> Option<Wrong> {
        let violated = |expected: String, actual: String| {
            Some(Wrong { code: Code::ConstraintViolation, expected, actual })
        };
        match (self, value) {
            (Self::Type(types), _) => type_wrong(types, value),
            (Self::OneOf { identities, expected }, _) if !identities.contains(&identity(value)) => {
                violated(expected.clone(), seen(value))
            }
            (Self::Bound(bound, limit), Value::Number(number)) if !bound.admits(compare(number, limit)) => {
                violated(format!("{} {limit}", bound.words()), number.to_string())
            }
            (Self::MultipleOf(step), Value::Number(number)) if !is_multiple(number, step) => {
                violated(format!("a multiple of {step}"), number.to_string())
            }
            (Self::Length(range), Value::String(text)) => {
                count_wrong(*range, "characters", text.chars().count())
            }
            (Self::Matches(pattern), Value::String(text)) if !pattern.is_in(text) => {
                violated(cut(&format!("text that matches {}", pattern.source())), seen(value))
            }
            (Self::Format(format), Value::String(text)) if !format.fits(text) => {
                violated(format.expected().to_owned(), seen(value))
            }
            (Self::Items(range), Value::Array(items)) => count_wrong(*range, "items", items.len()),
            (Self::Unique, Value::Array(items)) if !are_unique(items) => {
                violated("items that differ".to_owned(), format!("{} items", items.len()))
            }
            (Self::Members(range), Value::Object(members)) => count_wrong(*range, "members", members.len()),
            _ => None,
        }
    }

    /// Steps that judging this value takes, beyond one.
    pub(super) fn cost(&self, value: &Value) -> usize {
        match (self, value) {
            (Self::Matches(pattern), Value::String(text)) => pattern.cost(text.len()),
            (Self::Length(_) | Self::Format(_) | Self::OneOf { .. }, Value::String(text)) => text.len() / 64,
            (Self::OneOf { .. } | Self::Unique, Value::Array(_) | Value::Object(_)) => {
                weight(value).saturating_mul(4)
            }
            _ => 0,
        }
    }
}

/// Whether no two items are equal.
pub(super) fn are_unique(items: &[Value]) -> bool {
    let mut known = BTreeSet::new();
    items.iter().all(|item| known.insert(identity(item)))
}

/// A value in a few words that repeat nothing of what was written.
pub(super) fn seen(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
    }
}

/// The first characters of a text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(EXPECTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn type_wrong(types: &[JsonType], value: &Value) -> Option<Wrong> {
    if types.iter().any(|kind| kind.admits(value)) {
        return None;
    }
    let words: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
    let actual = JsonType::of(value).as_str().to_owned();
    Some(Wrong { code: Code::TypeMismatch, expected: words.join(" or "), actual })
}

fn count_wrong(range: Range, things: &str, count: usize) -> Option<Wrong> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let wrong = || Wrong {
        code: Code::ConstraintViolation,
        expected: range.of(things),
        actual: format!("{count} {things}"),
    };
    (!range.holds(count)).then(wrong)
}

/// Values within a value, and its texts by their length.
fn weight(value: &Value) -> usize {
    let mut total = 0_usize;
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        total = total.saturating_add(1);
        match next {
            Value::String(text) => total = total.saturating_add(text.len() / 64),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    total
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| cut(&value.to_string()), cut)
}
