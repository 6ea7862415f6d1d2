//! Answers as people read them: names in place of the ids of who acts, the beginning of every other id.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Digits of a whole id, behind its prefix.
const DIGITS: usize = 26;
/// Digits that are shown of one, unless two that begin alike are shown together.
pub const DIGITS_SHOWN: usize = 8;
/// Ids that can be typed in part.
const SHORT: [&str; 6] = ["itm", "ver", "rev", "def", "ref", "key"];
/// Ids that nobody types; they are shown in part all the same.
const PROVENANCE: &str = "prv";
/// What users wrote: it is shown as it stands.
const TEXTS: [&str; 5] = ["text", "excerpt", "query", "reason", "fields"];

/// Tells every id in an answer, as texts that are an id and nothing else.
#[must_use]
pub fn ids_in(answer: &Value) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    gather(answer, &mut ids);
    ids
}

fn gather<'a>(value: &'a Value, ids: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) if is_id(behind_role(text)) => {
            ids.insert(behind_role(text));
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, ids)),
        Value::Object(members) => members.values().for_each(|value| gather(value, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The id of a role in the word for an edge that it brings, `role:rol_…`; every other text as it is.
fn behind_role(text: &str) -> &str {
    text.strip_prefix("role:").filter(|rest| rest.starts_with("rol_")).unwrap_or(text)
}

/// Says whether a text is an id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    parts(text).is_some_and(|(_, digits)| digits.len() == DIGITS)
}

/// Says whether a text is the beginning of an id, long enough to be completed.
#[must_use]
pub fn is_short_id(text: &str) -> bool {
    parts(text).is_some_and(|(prefix, digits)| {
        SHORT.contains(&prefix) && (DIGITS_SHOWN..DIGITS).contains(&digits.len())
    })
}

fn parts(text: &str) -> Option<(&str, &str)> {
    let (prefix, digits) = text.split_once('_')?;
    let is_prefix = prefix.len() == 3 && prefix.bytes().all(|byte| byte.is_ascii_lowercase());
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte));
    (is_prefix && are_digits).then_some((prefix, digits))
}

/// Tells every beginning of an id in a request, apart from what users write.
#[must_use]
pub fn short_ids_in(request: &Value) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    gather_short(request, &mut ids);
    ids
}

fn gather_short<'a>(value: &'a Value, ids: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) if is_short_id(text) => {
            ids.insert(text);
        }
        Value::Array(values) => values.iter().for_each(|value| gather_short(value, ids)),
        Value::Object(members) => {
            let ours = members.iter().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
            ours.for_each(|(_, value)| gather_short(value, ids));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What stands in place of each id.
#[derive(Debug, Default)]
pub struct Readable(BTreeMap<String, String>);

impl Readable {
    /// Decides what stands for each of these ids. Names come from `names`, an object of ids with their names.
    #[must_use]
    pub fn of(ids: &BTreeSet<&str>, names: &Value) -> Self {
        let shown = |id: &&str| {
            let name = names.get(*id).and_then(Value::as_str);
            Some(((*id).to_owned(), name.map_or_else(|| shortened(id, ids), str::to_owned)))
        };
        Self(ids.iter().filter_map(shown).collect())
    }

    /// Puts these in place of those: whole ids in place of their beginnings.
    #[must_use]
    pub const fn whole(ids: BTreeMap<String, String>) -> Self {
        Self(ids)
    }

    /// A text as people read it.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let id = behind_role(text);
        let known =
            self.0.get(id).map(|shown| format!("{}{shown}", text.strip_suffix(id).unwrap_or_default()));
        known.unwrap_or_else(|| text.to_owned())
    }

    /// An answer as people read it; what users wrote stays as it is.
    #[must_use]
    pub fn answer(&self, answer: &Value) -> Value {
        match answer {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => Value::Array(values.iter().map(|value| self.answer(value)).collect()),
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let is_theirs = TEXTS.contains(&name.as_str());
                    (name.clone(), if is_theirs { value.clone() } else { self.answer(value) })
                };
                Value::Object(members.iter().map(member).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => answer.clone(),
        }
    }
}

/// The beginning of an id, as long as it takes to tell it from the others. Ids that cannot be typed in part stay whole.
fn shortened(id: &str, others: &BTreeSet<&str>) -> String {
    let is_cut = |prefix: &str| SHORT.contains(&prefix) || prefix == PROVENANCE;
    let Some((prefix, _)) = parts(id).filter(|(prefix, _)| is_cut(prefix)) else {
        return id.to_owned();
    };
    let begins = |length: usize| id.get(..prefix.len() + 1 + length).unwrap_or(id);
    let is_alone =
        |length: &usize| others.iter().filter(|other| other.starts_with(begins(*length))).count() < 2;
    let length = (DIGITS_SHOWN..DIGITS).find(is_alone).unwrap_or(DIGITS);
    begins(length).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ITEM: &str = "itm_aaaaaaaabbbbbbbbccccccccda";
    const ALIKE: &str = "itm_aaaaaaaabbbbcbbbccccccccda";
    const OTHER: &str = "itm_zaaaaaaabbbbbbbbccccccccda";
    const USER: &str = "usr_aaaaaaaabbbbbbbbccccccccda";
    const ROUND: &str = "rnd_aaaaaaaabbbbbbbbccccccccda";

    #[test]
    fn ids_become_names_and_beginnings() {
        let answer = json!({"id": OTHER, "owner": USER, "text": USER, "round": ROUND, "items": [ITEM, ALIKE], "name": "itm_a"});
        let shown = Readable::of(&ids_in(&answer), &json!({USER: "ana"})).answer(&answer);
        let expected = json!({"id": "itm_zaaaaaaa", "owner": "ana", "text": USER, "round": ROUND,
                              "items": ["itm_aaaaaaaabbbbb", "itm_aaaaaaaabbbbc"], "name": "itm_a"});
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        assert!(is_short_id("itm_zaaaaaaa") && is_short_id("ver_aaaaaaaabbbbb"));
        for text in [ITEM, "itm_zaaaaaa", "usr_zaaaaaaa", "itm_Zaaaaaaa", "itm_aaaaaaa1", "zaaaaaaaa", ""] {
            assert!(!is_short_id(text), "{text}");
        }
    }
}
