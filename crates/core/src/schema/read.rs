//! From JSON to a schema: takes known fields out of the body and notes all that does not fit.

use super::constraint::{Comparison, Constraint, Rule};
use super::leaf::JsonType;
use super::merge::{FIELD_PREFIX, MERGED, MergePolicy, PARTS};
use super::{FAULTS_MAX, SCHEMA_DEPTH_MAX, Schema, refuse, step, within};
use crate::error::{Code, Fault, Refusal};
use crate::item::Layer;
use crate::text::{LEGIBLE, is_legible};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

const CONSTRAINTS_MAX: usize = 64;
const PATHS_MAX: usize = 32;
const DESCRIPTION_CHARS_MAX: usize = 512;
const WORD: &str = "1 to 64 of a-z 0-9 _ . -";
const PATH: &str =
    "a JSON pointer into the content: /kind, /key, /text, /triple, /fields or /tags, and below";

pub(super) fn read(body: Value) -> Result<Schema, Refusal> {
    within(&body, SCHEMA_DEPTH_MAX + 1)?;
    let Value::Object(members) = body else {
        return Err(Refusal::new(Code::Malformed, "the schema must be a JSON object"));
    };
    let mut form = Form { at: String::new(), members, faults: Vec::new() };
    let kind = form.word("kind");
    let layer = form.layer();
    let document = form.document();
    let constraints = form.constraints();
    let merge = form.merge();
    let mut faults = form.finish();
    faults.truncate(FAULTS_MAX);
    match (kind, document) {
        (Some(kind), Some(document)) if faults.is_empty() => {
            Ok(Schema { kind, layer, document, constraints, merge })
        }
        _ => Err(refuse(faults)),
    }
}

/// Takes fields out of a JSON object; what is left at the end is unknown.
struct Form {
    at: String,
    members: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Form {
    fn path(&self, name: &str) -> String {
        format!("{}/{}", self.at, step(name))
    }

    fn refuse(&mut self, name: &str, expected: impl Into<String>) {
        self.faults.push(Fault::new(self.path(name), Code::ConstraintViolation, expected));
    }

    fn mismatch(&mut self, name: &str, expected: &str, found: &Value) {
        let fault = Fault::new(self.path(name), Code::TypeMismatch, expected);
        self.faults.push(fault.found(JsonType::of(found).as_str()));
    }

    fn missing(&mut self, name: &str, expected: &str) {
        self.faults.push(Fault::new(self.path(name), Code::MissingRequiredField, expected));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                self.mismatch(name, "string", &other);
                None
            }
        }
    }

    fn required_text(&mut self, name: &str, expected: &str) -> Option<String> {
        if self.members.get(name).is_none_or(Value::is_null) {
            self.missing(name, expected);
        }
        self.text(name)
    }

    fn word(&mut self, name: &str) -> Option<String> {
        let text = self.required_text(name, WORD)?;
        if !is_word(&text) {
            self.refuse(name, WORD);
        }
        Some(text)
    }

    fn layer(&mut self) -> Option<Layer> {
        let word = self.text("layer")?;
        let layer = Layer::from_word(&word);
        if layer.is_none() {
            self.refuse("layer", format!("one of {}, or absent for any", Layer::words()));
        }
        layer
    }

    fn document(&mut self) -> Option<Value> {
        let document = self.take("document");
        match &document {
            None => self.missing("document", "a JSON Schema"),
            Some(Value::Object(_) | Value::Bool(_)) => {}
            Some(other) => self.mismatch("document", "object or boolean", other),
        }
        document
    }

    fn list(&mut self, name: &str, max: usize) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(values)) if values.len() <= max => values,
            Some(Value::Array(_)) => {
                self.refuse(name, format!("at most {max} entries"));
                Vec::new()
            }
            Some(other) => {
                self.mismatch(name, "array", &other);
                Vec::new()
            }
        }
    }

    fn object(&mut self, name: &str) -> Map<String, Value> {
        match self.take(name) {
            None => Map::new(),
            Some(Value::Object(members)) => members,
            Some(other) => {
                self.mismatch(name, "object", &other);
                Map::new()
            }
        }
    }

    fn constraints(&mut self) -> Vec<Constraint> {
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut ids = BTreeSet::new();
        for (index, value) in self.list("constraints", CONSTRAINTS_MAX).into_iter().enumerate() {
            let at = format!("constraints/{index}");
            let Value::Object(members) = value else {
                self.faults.push(Fault::new(format!("/{at}"), Code::TypeMismatch, "object"));
                continue;
            };
            let mut form = Form { at: format!("/{at}"), members, faults: Vec::new() };
            let constraint = form.constraint();
            if constraint.as_ref().is_some_and(|constraint| !ids.insert(constraint.id.clone())) {
                form.refuse("id", "an id that no other constraint has");
            }
            self.faults.extend(form.finish());
            constraints.extend(constraint);
        }
        constraints
    }

    fn constraint(&mut self) -> Option<Constraint> {
        let id = self.word("id");
        let rule_of_text = format!("1 to {DESCRIPTION_CHARS_MAX} characters {LEGIBLE}");
        let description = self.required_text("description", &rule_of_text);
        let fits = |text: &String| is_legible(text) && text.chars().count() <= DESCRIPTION_CHARS_MAX;
        if description.as_ref().is_some_and(|text| !fits(text)) {
            self.refuse("description", rule_of_text);
        }
        let rule = self.rule();
        Some(Constraint { id: id?, description: description?, rule: rule? })
    }

    /// The one rule of a constraint.
    fn rule(&mut self) -> Option<Rule> {
        const RULES: [&str; 6] =
            ["compare", "one_of_present", "any_of_present", "cardinality", "unique", "requires"];
        let mut named = RULES.into_iter().filter(|name| self.members.contains_key(*name));
        let (first, second) = (named.next(), named.next());
        let (Some(name), None) = (first, second) else {
            let fault = Fault::new(
                self.at.clone(),
                Code::ConstraintViolation,
                format!("one of {}", RULES.join(", ")),
            );
            self.faults.push(fault);
            RULES.into_iter().for_each(|name| drop(self.members.remove(name)));
            return None;
        };
        match name {
            "one_of_present" => self.paths(name).map(Rule::OneOfPresent),
            "any_of_present" => self.paths(name).map(Rule::AnyOfPresent),
            "unique" => self.pointer(name).map(Rule::Unique),
            _ => self.rule_of_parts(name),
        }
    }

    fn rule_of_parts(&mut self, name: &str) -> Option<Rule> {
        let mut form = Form { at: self.path(name), members: self.object(name), faults: Vec::new() };
        let rule = match name {
            "compare" => form.compare(),
            "cardinality" => form.cardinality(),
            _ => form.requires(),
        };
        self.faults.extend(form.finish());
        rule
    }

    fn compare(&mut self) -> Option<Rule> {
        const SIGNS: &str = "one of <, <=, ==, !=, >=, >";
        let left = self.pointer("left");
        let sign = self.required_text("op", SIGNS);
        let op = sign.as_deref().and_then(Comparison::from_sign);
        if sign.is_some() && op.is_none() {
            self.refuse("op", SIGNS);
        }
        let right = self.pointer("right");
        Some(Rule::Compare { left: left?, op: op?, right: right? })
    }

    fn cardinality(&mut self) -> Option<Rule> {
        let path = self.pointer("path");
        let (min, max) = (self.count("min"), self.count("max"));
        if min.is_none() && max.is_none() {
            self.missing("min", "min, max or both");
        }
        if let (Some(least), Some(most)) = (min, max)
            && least > most
        {
            self.refuse("max", "at least min");
        }
        Some(Rule::Cardinality { path: path?, min, max })
    }

    fn count(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        let count = value.as_u64();
        if count.is_none() {
            self.mismatch(name, "a whole number, not negative", &value);
        }
        count
    }

    fn requires(&mut self) -> Option<Rule> {
        let (given, then) = (self.pointer("if"), self.pointer("then"));
        Some(Rule::Requires { given: given?, then: then? })
    }

    fn pointer(&mut self, name: &str) -> Option<String> {
        let text = self.required_text(name, PATH)?;
        if !is_pointer(&text) {
            self.refuse(name, PATH);
            return None;
        }
        Some(text)
    }

    fn paths(&mut self, name: &str) -> Option<Vec<String>> {
        let values = self.list(name, PATHS_MAX);
        let paths: Vec<String> = values
            .iter()
            .filter_map(|value| value.as_str().filter(|text| is_pointer(text)).map(str::to_owned))
            .collect();
        if paths.is_empty() || paths.len() < values.len() {
            self.refuse(name, format!("a list, each entry {PATH}"));
            return None;
        }
        Some(paths)
    }

    fn merge(&mut self) -> BTreeMap<String, MergePolicy> {
        let members = self.object("merge");
        let mut form = Form { at: "/merge".to_owned(), members, faults: Vec::new() };
        let names: Vec<String> = form.members.keys().cloned().collect();
        let policies = names.into_iter().filter_map(|name| form.policy(name)).collect();
        self.faults.extend(form.finish());
        policies
    }

    fn policy(&mut self, name: String) -> Option<(String, MergePolicy)> {
        let expected = format!("one of {}", MergePolicy::words());
        let word = self.required_text(&name, &expected)?;
        let Some(policy) = MergePolicy::from_word(&word) else {
            self.refuse(&name, expected);
            return None;
        };
        if let Some(expected) = name_fault(&name, policy) {
            self.refuse(&name, expected);
        }
        Some((name, policy))
    }

    fn finish(mut self) -> Vec<Fault> {
        for name in self.members.keys() {
            let path = format!("{}/{}", self.at, step(name));
            self.faults.push(Fault::new(path, Code::UnknownField, "one of the documented fields"));
        }
        self.faults
    }
}

/// What would pass instead of this name, if it cannot have such a policy.
fn name_fault(name: &str, policy: MergePolicy) -> Option<&'static str> {
    let is_part = PARTS.contains(&name);
    let is_path = name.starts_with('/');
    let field =
        name.strip_prefix(FIELD_PREFIX).is_some_and(|field| !field.is_empty() && !field.contains('/'));
    if (is_part && !MERGED.contains(&name)) || (is_path && !field) {
        Some("key, text, triple, tags, the name of a field, or /fields/ and its name")
    } else if policy == MergePolicy::Union && MERGED.contains(&name) && name != "tags" {
        Some("keep_existing, take_new or conflict: only lists can be joined")
    } else {
        None
    }
}

fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(fits)
}

fn is_pointer(text: &str) -> bool {
    let first = text.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|part| PARTS.contains(&part))
}
