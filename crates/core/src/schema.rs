//! What a kind of item must look like, and how two of its items become one.
//!
//! A schema is registered for a kind, in one layer or in any. It holds a JSON Schema (draft 2020-12) for the content seen
//! as one object `{kind, key?, text, triple?, fields, tags}`, constraints between its values, and merge policies. It is
//! compiled once and judges many contents. Schemas come from outside: whatever one says, compiling and judging end soon
//! and take little memory. This module knows nothing of who registers a schema, nor when.

mod arguments;
mod constraint;
mod document;
mod format;
mod judge;
mod leaf;
mod merge;
mod pattern;
mod read;
mod value;

pub use arguments::Arguments;
pub use constraint::{Comparison, Constraint, Rule};
pub use merge::{Delta, MergePolicy, delta};

use crate::error::{Code, Fault, Refusal};
use crate::item::{Content, Layer};
use document::Document;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The bytes of a schema, written as JSON.
pub const SCHEMA_BYTES_MAX: usize = 65_536;
/// How deep a document may nest, and a content that is judged.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// Faults that one answer names.
const FAULTS_MAX: usize = 100;

/// A registered schema, as it is kept in the log.
///
/// Kept forever, as canonical JSON; a field may be added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Schema {
    /// The kind of item that it is for.
    pub kind: String,
    /// The layer that it is for; any where it names none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "layer_word")]
    pub layer: Option<Layer>,
    /// A JSON Schema over the content.
    pub document: Value,
    /// Rules between the values of a content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// What becomes of a part, by its name, that two contents have with different values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub merge: BTreeMap<String, MergePolicy>,
}

impl Schema {
    /// Reads the JSON form of a schema. The document within is only measured here; `compile` proves it.
    ///
    /// # Errors
    /// With every fault found: unknown and missing fields, rules that are none, policies that have no meaning.
    pub fn read(body: Value) -> Result<Self, Refusal> {
        read::read(body)
    }

    /// Makes the schema ready to judge.
    ///
    /// # Errors
    /// With every fault found: those of `read`, keywords of the wrong form, references out of the document or in a circle,
    /// patterns that are too large or not linear, keywords that restrict and are not judged here.
    pub fn compile(&self) -> Result<CompiledSchema, Refusal> {
        within(&self.document, SCHEMA_DEPTH_MAX)?;
        // The fields are public: whoever filled them, the rules of the written form hold.
        let body = serde_json::to_value(self).map_err(|_| Refusal::new(Code::Malformed, "not a schema"))?;
        let schema = Self::read(body)?;
        let document = Document::compile(&schema.document).map_err(refuse)?;
        Ok(CompiledSchema { schema, document })
    }
}

impl TryFrom<Value> for Schema {
    type Error = Refusal;

    fn try_from(body: Value) -> Result<Self, Refusal> {
        Self::read(body)
    }
}

/// A schema that is ready to judge. Made by `Schema::compile` alone.
#[derive(Debug, Clone)]
pub struct CompiledSchema {
    schema: Schema,
    document: Document,
}

impl CompiledSchema {
    /// The schema as it was registered.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Every fault of a content under this schema, up to 100 (GOV-2.2). Paths are those of the content.
    #[must_use]
    pub fn check(&self, content: &Content) -> Vec<Fault> {
        // The content and its fields are two levels of their own.
        if content.fields.values().any(|value| depth(value) > SCHEMA_DEPTH_MAX - 2) {
            let expected = format!("nested at most {} deep", SCHEMA_DEPTH_MAX - 2);
            return vec![Fault::new("/fields", Code::ConstraintViolation, expected)];
        }
        let value = as_object(content);
        let mut faults = judge::judge(&self.document, &value);
        faults.extend(self.schema.constraints.iter().filter_map(|constraint| constraint.fault(&value)));
        faults.truncate(FAULTS_MAX);
        faults
    }
}

/// A content as schemas see it: fields and tags are there even where there are none.
fn as_object(content: &Content) -> Value {
    let mut value = json!({
        "kind": content.kind,
        "text": content.text,
        "fields": content.fields,
        "tags": content.tags,
    });
    if let Value::Object(members) = &mut value {
        members.extend(content.key.iter().map(|key| ("key".to_owned(), json!(key))));
        members.extend(content.triple.iter().map(|triple| ("triple".to_owned(), json!(triple))));
    }
    value
}

/// Refuses what is deeper or larger than a schema may be.
fn within(value: &Value, depth_max: usize) -> Result<(), Refusal> {
    if depth(value) > depth_max {
        return Err(Refusal::new(Code::TooDeep, format!("a schema nests at most {SCHEMA_DEPTH_MAX} deep")));
    }
    if value.to_string().len() > SCHEMA_BYTES_MAX {
        return Err(Refusal::new(Code::TooLarge, format!("a schema has at most {SCHEMA_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// How deep a value nests; a plain value is one deep. Not recursive: it goes first.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1_usize)];
    while let Some((next, level)) = open.pop() {
        deepest = deepest.max(level);
        match next {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, level + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    deepest
}

fn refuse(faults: Vec<Fault>) -> Refusal {
    let places: Vec<&str> = faults.iter().take(5).map(|fault| fault.path.as_str()).collect();
    let more = if faults.len() > places.len() { ", …" } else { "" };
    let message = format!("the schema breaks {} rule(s): {}{more}", faults.len(), places.join(", "));
    Refusal::new(Code::SchemaInvalid, message).with(faults)
}

/// A name as a step of a JSON pointer, cut to a length that fits an answer.
fn step(name: &str) -> String {
    name.chars().take(64).collect::<String>().replace('~', "~0").replace('/', "~1")
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn layer_word<S: Serializer>(layer: &Option<Layer>, serializer: S) -> Result<S::Ok, S::Error> {
    layer.map(Layer::as_str).serialize(serializer)
}
