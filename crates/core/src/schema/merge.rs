//! What a new content adds to one that is known, and what the two are together.
//!
//! The caller has found that the two say the same (a fingerprint or a vector met); this module compares the rest, part by
//! part. What stands in the known content is never dropped unless a policy says so.

use super::step;
use super::value::{identity, same};
use crate::item::{Content, words};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

words! {
    /// What becomes of a part that both contents have with different values.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    MergePolicy {
        /// Both values: lists and tags are joined, objects member by member. Other values conflict.
        0 Union = "union",
        /// The known value stays.
        1 KeepExisting = "keep_existing",
        /// The new value replaces it.
        2 TakeNew = "take_new",
        /// A person decides.
        3 Conflict = "conflict",
    }
}

/// The parts of a content.
pub(super) const PARTS: [&str; 6] = ["kind", "key", "text", "triple", "fields", "tags"];

/// The parts that a policy may name. Any name that is not that of a part is that of a field.
pub(super) const MERGED: [&str; 4] = ["key", "text", "triple", "tags"];

/// Names a field in a merge policy even where a part of the content has the same name.
pub(super) const FIELD_PREFIX: &str = "/fields/";

/// What a new content is to a known one.
#[expect(clippy::large_enum_variant, reason = "one is made for a write, and handed on by reference")]
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// It adds nothing.
    Empty,
    /// It adds something: this is both together.
    Superset(Content),
    /// It says something else at these paths.
    Conflicting(Vec<String>),
}

/// Field-level union of two contents under merge policies (GOV-3.5, GOV-3.6).
///
/// A policy is found under the name of a part (`key`, `text`, `triple`, `tags`) or of a field; `/fields/text` is the field
/// that has the name of a part. Without one, tags are joined, text and triple stay as they are known (that they say the
/// same is what brought the two here), and all else conflicts where it differs.
#[must_use]
pub fn delta(existing: &Content, new: &Content, merge: &BTreeMap<String, MergePolicy>) -> Delta {
    let mut merging = Merging { merge, conflicts: Vec::new() };
    if existing.kind != new.kind {
        merging.conflicts.push("/kind".to_owned());
    }
    let merged = Content {
        kind: existing.kind.clone(),
        key: merging.optional("key", MergePolicy::Conflict, &existing.key, &new.key),
        text: merging.part("text", MergePolicy::KeepExisting, &existing.text, &new.text),
        triple: merging.optional("triple", MergePolicy::KeepExisting, &existing.triple, &new.triple),
        fields: merging.fields(&existing.fields, &new.fields),
        tags: merging.tags(&existing.tags, &new.tags),
        secrecy: {
            let mut secrecy = existing.secrecy.clone();
            secrecy.join(&new.secrecy);
            secrecy
        },
    };
    if !merging.conflicts.is_empty() {
        Delta::Conflicting(merging.conflicts)
    } else if merged == *existing {
        Delta::Empty
    } else {
        Delta::Superset(merged)
    }
}

struct Merging<'a> {
    merge: &'a BTreeMap<String, MergePolicy>,
    conflicts: Vec<String>,
}

impl Merging<'_> {
    fn policy(&self, name: &str, default: MergePolicy) -> MergePolicy {
        self.merge.get(name).copied().unwrap_or(default)
    }

    fn field_policy(&self, name: &str) -> MergePolicy {
        let full = self.merge.get(&format!("{FIELD_PREFIX}{}", escaped(name)));
        let short = if PARTS.contains(&name) { None } else { self.merge.get(name) };
        full.or(short).copied().unwrap_or(MergePolicy::Conflict)
    }

    fn part<T: Clone + PartialEq>(&mut self, name: &str, default: MergePolicy, existing: &T, new: &T) -> T {
        if existing == new {
            return existing.clone();
        }
        match self.policy(name, default) {
            MergePolicy::KeepExisting => existing.clone(),
            MergePolicy::TakeNew => new.clone(),
            MergePolicy::Union | MergePolicy::Conflict => {
                self.conflicts.push(format!("/{name}"));
                existing.clone()
            }
        }
    }

    fn optional<T: Clone + PartialEq>(
        &mut self,
        name: &str,
        default: MergePolicy,
        existing: &Option<T>,
        new: &Option<T>,
    ) -> Option<T> {
        match (existing, new) {
            (Some(known), Some(new)) => Some(self.part(name, default, known, new)),
            (known, new) => known.clone().or_else(|| new.clone()),
        }
    }

    fn tags(&mut self, existing: &[String], new: &[String]) -> Vec<String> {
        if self.policy("tags", MergePolicy::Union) == MergePolicy::Union {
            let mut known: BTreeSet<&String> = existing.iter().collect();
            let added: Vec<&String> = new.iter().filter(|tag| known.insert(*tag)).collect();
            return existing.iter().chain(added).cloned().collect();
        }
        let some = |tags: &[String]| (!tags.is_empty()).then(|| tags.to_vec());
        self.optional("tags", MergePolicy::Union, &some(existing), &some(new)).unwrap_or_default()
    }

    fn fields(&mut self, existing: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
        let mut merged = existing.clone();
        for (name, value) in new {
            let joined = match existing.get(name) {
                None => value.clone(),
                Some(known) if same(known, value) => continue,
                Some(known) => self.field(name, known, value),
            };
            merged.insert(name.clone(), joined);
        }
        merged
    }

    fn field(&mut self, name: &str, known: &Value, new: &Value) -> Value {
        let path = format!("{FIELD_PREFIX}{}", step(name));
        match self.field_policy(name) {
            MergePolicy::KeepExisting => known.clone(),
            MergePolicy::TakeNew => new.clone(),
            MergePolicy::Union => self.union(path, known, new),
            MergePolicy::Conflict => {
                self.conflicts.push(path);
                known.clone()
            }
        }
    }

    fn union(&mut self, path: String, known: &Value, new: &Value) -> Value {
        match (known, new) {
            (Value::Array(known), Value::Array(new)) => Value::Array(joined(known, new)),
            (Value::Object(known), Value::Object(new)) => self.members(&path, known, new),
            _ => {
                self.conflicts.push(path);
                known.clone()
            }
        }
    }

    /// One level of members: a list within is joined, another value that differs is a conflict.
    fn members(&mut self, path: &str, known: &Map<String, Value>, new: &Map<String, Value>) -> Value {
        let mut merged = known.clone();
        for (name, value) in new {
            match (known.get(name), value) {
                (None, _) => {
                    merged.insert(name.clone(), value.clone());
                }
                (Some(known), _) if same(known, value) => {}
                (Some(Value::Array(known)), Value::Array(new)) => {
                    merged.insert(name.clone(), Value::Array(joined(known, new)));
                }
                _ => self.conflicts.push(format!("{path}/{}", step(name))),
            }
        }
        Value::Object(merged)
    }
}

/// The known items, then those that are new.
fn joined(known: &[Value], new: &[Value]) -> Vec<Value> {
    let mut identities: BTreeSet<Vec<u8>> = known.iter().map(identity).collect();
    let added = new.iter().filter(|item| identities.insert(identity(item)));
    known.iter().chain(added.collect::<Vec<_>>()).cloned().collect()
}

/// A whole name as a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
