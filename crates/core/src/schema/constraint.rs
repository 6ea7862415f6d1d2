//! Rules between the values of one content, for what types and ranges cannot say.
//!
//! A value that is absent or null breaks no rule but those about presence and number.

use super::format::{date, date_time};
use super::leaf::{Range, are_unique, cut, seen};
use super::value::{compare, same};
use crate::error::{Code, Fault};
use serde::Serialize;
use serde_json::Value;
use std::cmp::Ordering;

/// A rule with the name and the words that a fault of it carries.
///
/// Kept forever, as canonical JSON: the rule stands beside the name, as in
/// `{"id": "…", "description": "…", "unique": "/fields/list"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Constraint {
    /// Its name, one of a kind within the schema.
    pub id: String,
    /// What it asks, for people.
    pub description: String,
    /// What it asks.
    #[serde(flatten)]
    pub rule: Rule,
}

/// What a constraint can ask. Paths are JSON pointers into the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Two values stand in this order. Numbers compare as numbers, RFC 3339 times and dates as moments, texts as texts.
    Compare {
        /// The path of the first.
        left: String,
        /// How it stands to the second.
        op: Comparison,
        /// The path of the second.
        right: String,
    },
    /// Exactly one of these is there.
    OneOfPresent(Vec<String>),
    /// At least one of these is there.
    AnyOfPresent(Vec<String>),
    /// So many values are there: the items of a list, one for any other value, none for an absent one.
    Cardinality {
        /// The path of the list.
        path: String,
        /// At least so many.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
        /// At most so many.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
    },
    /// No two items of this list are equal.
    Unique(String),
    /// Where the one is, the other is too.
    Requires {
        /// The path of the one.
        #[serde(rename = "if")]
        given: String,
        /// The path of the other.
        then: String,
    },
}

/// How two values stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the signs say it")]
pub enum Comparison {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = "!=")]
    NotEqual,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = ">")]
    Greater,
}

impl Comparison {
    pub(super) fn from_sign(sign: &str) -> Option<Self> {
        match sign {
            "<" => Some(Self::Less),
            "<=" => Some(Self::LessOrEqual),
            "==" => Some(Self::Equal),
            "!=" => Some(Self::NotEqual),
            ">=" => Some(Self::GreaterOrEqual),
            ">" => Some(Self::Greater),
            _ => None,
        }
    }

    fn holds(self, left: &Value, right: &Value) -> bool {
        let ordered = |fits: fn(Ordering) -> bool| order(left, right).is_some_and(fits);
        let equal = || order(left, right).map_or_else(|| same(left, right), Ordering::is_eq);
        match self {
            Self::Less => ordered(Ordering::is_lt),
            Self::LessOrEqual => ordered(Ordering::is_le),
            Self::Equal => equal(),
            Self::NotEqual => !equal(),
            Self::GreaterOrEqual => ordered(Ordering::is_ge),
            Self::Greater => ordered(Ordering::is_gt),
        }
    }
}

impl Constraint {
    /// The fault of a content that breaks this rule.
    pub(super) fn fault(&self, content: &Value) -> Option<Fault> {
        let (path, actual) = self.rule.broken(content)?;
        let expected = cut(&format!("{} ({})", self.description, self.id));
        Some(Fault::new(path, Code::ConstraintViolation, expected).found(actual))
    }
}

impl Rule {
    /// Where the content breaks this rule, and by what.
    fn broken(&self, content: &Value) -> Option<(String, String)> {
        match self {
            Self::Compare { left, op, right } => {
                let (one, other) = (present(content, left)?, present(content, right)?);
                let actual = || format!("{} and {}", seen(one), seen(other));
                (!op.holds(one, other)).then(|| (left.clone(), actual()))
            }
            Self::OneOfPresent(paths) => presence(content, paths, |count| count == 1),
            Self::AnyOfPresent(paths) => presence(content, paths, |count| count > 0),
            Self::Cardinality { path, min, max } => {
                let count = count(present(content, path));
                let range = Range { min: *min, max: *max };
                (!range.holds(count)).then(|| (path.clone(), count.to_string()))
            }
            Self::Unique(path) => {
                let value = present(content, path)?;
                let unique = value.as_array().is_some_and(|items| are_unique(items));
                (!unique).then(|| (path.clone(), seen(value)))
            }
            Self::Requires { given, then } => {
                present(content, given)?;
                present(content, then).is_none().then(|| (then.clone(), "absent".to_owned()))
            }
        }
    }
}

fn present<'a>(content: &'a Value, path: &str) -> Option<&'a Value> {
    content.pointer(path).filter(|value| !value.is_null())
}

fn presence(content: &Value, paths: &[String], fits: fn(usize) -> bool) -> Option<(String, String)> {
    let count = paths.iter().filter(|path| present(content, path).is_some()).count();
    let first = paths.first().cloned().unwrap_or_default();
    (!fits(count)).then(|| (first, format!("{count} of {}", paths.len())))
}

fn count(value: Option<&Value>) -> u64 {
    match value {
        None => 0,
        Some(Value::Array(items)) => u64::try_from(items.len()).unwrap_or(u64::MAX),
        Some(_) => 1,
    }
}

/// Which of two values is more, where that has a meaning.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Some(compare(left, right)),
        (Value::String(left), Value::String(right)) => match (moment(left), moment(right)) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => Some(left.cmp(right)),
        },
        _ => None,
    }
}

/// The moment that a time names, or the first one of a day in UTC.
fn moment(text: &str) -> Option<jiff::Timestamp> {
    let day = || date(text)?.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|start| start.timestamp());
    date_time(text).or_else(day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "tables read better without references")]
    fn check(rule: Rule, content: Value, expected: Option<&str>) {
        let constraint =
            Constraint { id: "rule-1".to_owned(), description: "as it should be".to_owned(), rule };
        let fault = constraint.fault(&content);
        assert_eq!(fault.as_ref().map(|fault| fault.path.as_str()), expected, "{constraint:?} {content}");
        if let Some(fault) = fault {
            assert_eq!(fault.code, Code::ConstraintViolation);
            assert_eq!(fault.expected.as_deref(), Some("as it should be (rule-1)"));
        }
    }

    /// GOV-2.2: values of one content in their order, as numbers, moments or texts.
    #[test]
    fn values_compare_by_what_they_are() {
        let compared = |left: Value, op: &str, right: Value, holds: bool| {
            let op = Comparison::from_sign(op).unwrap();
            let rule = Rule::Compare { left: "/fields/a".to_owned(), op, right: "/fields/b".to_owned() };
            let expected = if holds { None } else { Some("/fields/a") };
            check(rule, json!({"fields": {"a": left, "b": right}}), expected);
        };
        compared(json!(9), "<", json!(10), true);
        compared(json!("9"), "<", json!("10"), false);
        compared(json!(10), "<=", json!(10.0), true);
        compared(json!("2026-11-15T01:00:00+02:00"), "<", json!("2026-11-15T00:00:00Z"), true);
        compared(json!("2026-11-15T00:00:00Z"), "==", json!("2026-11-15T02:00:00+02:00"), true);
        compared(json!("2026-11-15"), ">", json!("2026-11-14T23:59:59Z"), true);
        compared(json!("2026-11-15"), ">=", json!("2026-11-16"), false);
        compared(json!(1), "<", json!("2"), false);
        compared(json!(1), "!=", json!("1"), true);
        compared(json!([1]), "==", json!([1.0]), true);
        compared(json!([1]), "<=", json!([1]), false);
        compared(json!(null), ">", json!(5), true);
    }

    /// GOV-2.1, GOV-2.2: presence, number and difference of values.
    #[test]
    fn presence_number_and_difference() {
        let paths = || vec!["/fields/a".to_owned(), "/key".to_owned()];
        let both = || json!({"key": "k", "fields": {"a": 1}});
        check(Rule::OneOfPresent(paths()), both(), Some("/fields/a"));
        check(Rule::OneOfPresent(paths()), json!({"key": "k", "fields": {"a": null}}), None);
        check(Rule::AnyOfPresent(paths()), both(), None);
        check(Rule::AnyOfPresent(paths()), json!({"fields": {}}), Some("/fields/a"));
        let many = |min, max| Rule::Cardinality { path: "/tags".to_owned(), min, max };
        check(many(Some(1), None), json!({}), Some("/tags"));
        check(many(Some(1), Some(1)), json!({"tags": "x"}), None);
        check(many(None, Some(2)), json!({"tags": [1, 2, 3]}), Some("/tags"));
        check(Rule::Unique("/tags".to_owned()), json!({"tags": ["a", "b"]}), None);
        check(Rule::Unique("/tags".to_owned()), json!({"tags": [1, 1.0]}), Some("/tags"));
        check(Rule::Unique("/tags".to_owned()), json!({"tags": 1}), Some("/tags"));
        let requires = || Rule::Requires { given: "/key".to_owned(), then: "/fields/a".to_owned() };
        check(requires(), json!({"key": "k", "fields": {}}), Some("/fields/a"));
        check(requires(), json!({"fields": {}}), None);
        check(requires(), both(), None);
    }
}
