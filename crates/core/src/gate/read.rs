//! From JSON to a draft: takes known fields out of a body and notes what does not fit, without judging it.

use super::GateName;
use super::request::{EvidenceDraft, TripleDraft, WriteDraft};
use super::runner::ReportDraft;
use crate::error::{Code, Fault, Refusal};
use serde_json::{Map, Value};

/// Names in a body that would claim an identity.
pub const IDENTITY_FIELDS: [&str; 10] = [
    "tenant",
    "tenant_id",
    "user",
    "user_id",
    "agent",
    "agent_id",
    "source_agent_id",
    "source_user_id",
    "owner",
    "actor",
];

/// How deep a body may nest.
pub const JSON_DEPTH_MAX: usize = 64;

/// Reads the JSON body of a write. What does not fit becomes a fault of the draft; identity in the body is refused at once.
///
/// # Errors
/// When the body is not an object or names an identity.
pub fn read_write(body: Value) -> Result<WriteDraft, Refusal> {
    let Value::Object(fields) = body else {
        return Err(Refusal::new(Code::Malformed, "the body must be a JSON object").at(GateName::Schema));
    };
    if let Some(name) = IDENTITY_FIELDS.iter().find(|name| fields.contains_key(**name)) {
        let fault = Fault::new(
            format!("/{name}"),
            Code::IdentityInBody,
            "no such field: the credential says who acts",
        );
        return Err(Refusal::new(
            Code::IdentityInBody,
            "identity comes from the credential, not from the body",
        )
        .at(GateName::Preflight)
        .with(vec![fault]));
    }
    let mut read = Reader { fields, at: String::new(), faults: Vec::new() };
    let mut draft = WriteDraft {
        text: read.text("text"),
        key: read.text("key"),
        kind: read.text("kind"),
        layer: read.text("layer"),
        tier: read.text("tier"),
        namespace: read.text("namespace"),
        write_policy: read.text("write_policy"),
        confidence: read.number("confidence"),
        triple: read.object("triple").map(|mut triple| {
            let draft = TripleDraft {
                subject: triple.text("subject"),
                predicate: triple.text("predicate"),
                object: triple.text("object"),
            };
            read.faults.extend(triple.finish());
            draft
        }),
        fields: read.map("fields"),
        tags: read.texts("tags"),
        classification: read.text("classification"),
        domains: read.texts("domains"),
        tests: read.array("tests"),
        test_reports: read.objects("test_reports", read_report),
        evidence: read.objects("evidence", read_evidence),
        resources: read.texts_if_given("resources"),
        derived_from: read.texts("derived_from"),
        justification: read.text("justification"),
        session_id: read.text("session_id"),
        task_id: read.text("task_id"),
        trace_id: read.text("trace_id"),
        agent_version: read.text("agent_version"),
        ttl: read.text("ttl"),
        request_id: read.text("request_id"),
        idempotency_token: read.text("idempotency_token"),
        deadline: read.text("deadline"),
        supersedes: read.text("supersedes"),
        expected_version: read.text("expected_version"),
        on_conflict: read.text("on_conflict"),
        item: None,
        patch: None,
        faults: Vec::new(),
    };
    draft.faults = read.finish();
    Ok(draft)
}

fn read_evidence(read: &mut Reader) -> EvidenceDraft {
    EvidenceDraft {
        source_type: read.text("source_type"),
        source_uri: read.text("source_uri"),
        source_version: read.text("source_version"),
        accessed_at: read.text("accessed_at"),
        authority: read.number("authority"),
        excerpt: read.text("excerpt"),
        excerpt_hash: read.text("excerpt_hash"),
        source_item_id: read.text("source_item_id"),
    }
}

fn read_report(read: &mut Reader) -> ReportDraft {
    ReportDraft {
        runner: read.text("runner"),
        content_hash: read.text("content_hash"),
        passed: read.flag("passed"),
        ran_at: read.text("ran_at"),
        signature: read.text("signature"),
    }
}

/// Takes known fields out of a JSON object; what is left at the end is unknown.
struct Reader {
    fields: Map<String, Value>,
    at: String,
    faults: Vec<Fault>,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "JSON has the types it has")]
impl Reader {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    fn mismatch(&mut self, name: &str, expected: &str, found: &Value) {
        let path = format!("{}/{name}", self.at);
        self.faults.push(Fault::new(path, Code::TypeMismatch, expected).found(type_name(found)));
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.mismatch(name, "string", &other);
                None
            }
        }
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        let value = self.take(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.mismatch(name, "boolean", &value);
        }
        flag
    }

    fn number(&mut self, name: &str) -> Option<f64> {
        let value = self.take(name)?;
        let number = value.as_f64();
        if number.is_none() {
            self.mismatch(name, "number", &value);
        }
        number
    }

    fn map(&mut self, name: &str) -> Map<String, Value> {
        match self.take(name) {
            None => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(other) => {
                self.mismatch(name, "object", &other);
                Map::new()
            }
        }
    }

    fn object(&mut self, name: &str) -> Option<Reader> {
        match self.take(name)? {
            Value::Object(fields) => {
                Some(Reader { fields, at: format!("{}/{name}", self.at), faults: Vec::new() })
            }
            other => {
                self.mismatch(name, "object", &other);
                None
            }
        }
    }

    fn array(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(other) => {
                self.mismatch(name, "array", &other);
                Vec::new()
            }
        }
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (place, value) in self.array(name).into_iter().enumerate() {
            match value {
                Value::String(text) => texts.push(text),
                other => self.mismatch(&format!("{name}/{place}"), "string", &other),
            }
        }
        texts
    }

    /// Texts where there are any, be it none: an absent field and an empty list are two answers.
    fn texts_if_given(&mut self, name: &str) -> Option<Vec<String>> {
        let is_given = self.fields.get(name).is_some_and(|value| !value.is_null());
        let texts = self.texts(name);
        is_given.then_some(texts)
    }

    fn objects<T>(&mut self, name: &str, read: impl Fn(&mut Reader) -> T) -> Vec<T> {
        let mut found = Vec::new();
        for (place, value) in self.array(name).into_iter().enumerate() {
            match value {
                Value::Object(fields) => {
                    let mut inner =
                        Reader { fields, at: format!("{}/{name}/{place}", self.at), faults: Vec::new() };
                    found.push(read(&mut inner));
                    self.faults.extend(inner.finish());
                }
                other => self.mismatch(&format!("{name}/{place}"), "object", &other),
            }
        }
        found
    }

    fn finish(mut self) -> Vec<Fault> {
        for name in self.fields.keys() {
            let path = format!("{}/{}", self.at, pointer(name));
            self.faults.push(Fault::new(path, Code::UnknownField, "one of the documented fields"));
        }
        self.faults
    }
}

/// A name as a step of a JSON pointer, cut to a length that fits an answer.
pub(super) fn pointer(name: &str) -> String {
    name.chars().take(64).collect::<String>().replace('~', "~0").replace('/', "~1")
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
