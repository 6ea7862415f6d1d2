//! A write as it is asked for: first as drafted on the wire, then with every field proven.

use super::runner::{ReportDraft, TestReport};
use super::{OnConflict, Strictness};
use crate::canonical::Hash;
use crate::error::Fault;
use crate::id::{ItemId, VersionId};
use crate::item::{Content, Layer, Operation, TierWish};
use crate::provenance::Evidence;
use crate::time::{Lifetime, Timestamp};
use serde_json::{Map, Value};

/// A write as any transport delivers it: texts and numbers, nothing proven.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the write's body; docs/api.md describes each")]
pub struct WriteDraft {
    pub text: Option<String>,
    pub key: Option<String>,
    pub kind: Option<String>,
    pub layer: Option<String>,
    pub tier: Option<String>,
    pub namespace: Option<String>,
    pub write_policy: Option<String>,
    pub confidence: Option<f64>,
    pub triple: Option<TripleDraft>,
    pub fields: Map<String, Value>,
    pub tags: Vec<String>,
    pub classification: Option<String>,
    pub domains: Vec<String>,
    pub tests: Vec<Value>,
    pub test_reports: Vec<ReportDraft>,
    pub evidence: Vec<EvidenceDraft>,
    pub resources: Option<Vec<String>>,
    pub derived_from: Vec<String>,
    pub justification: Option<String>,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub trace_id: Option<String>,
    pub agent_version: Option<String>,
    pub ttl: Option<String>,
    pub request_id: Option<String>,
    pub idempotency_token: Option<String>,
    pub deadline: Option<String>,
    pub supersedes: Option<String>,
    pub expected_version: Option<String>,
    pub on_conflict: Option<String>,
    /// The item named by the path of an update.
    pub item: Option<String>,
    /// The patch that it was made by, where that may be merged anew into what the item says by then.
    pub patch: Option<Map<String, Value>>,
    /// What was already found wrong while reading the wire form.
    pub faults: Vec<Fault>,
}

impl WriteDraft {
    /// The body that this draft was read from, as far as it was understood.
    #[must_use]
    pub fn to_body(&self) -> Value {
        let mut body = Map::new();
        let texts = [
            ("text", &self.text),
            ("key", &self.key),
            ("kind", &self.kind),
            ("layer", &self.layer),
            ("tier", &self.tier),
            ("namespace", &self.namespace),
            ("write_policy", &self.write_policy),
            ("classification", &self.classification),
            ("justification", &self.justification),
            ("session_id", &self.session_id),
            ("task_id", &self.task_id),
            ("trace_id", &self.trace_id),
            ("agent_version", &self.agent_version),
            ("ttl", &self.ttl),
            ("request_id", &self.request_id),
            ("idempotency_token", &self.idempotency_token),
            ("deadline", &self.deadline),
            ("supersedes", &self.supersedes),
            ("expected_version", &self.expected_version),
            ("on_conflict", &self.on_conflict),
        ];
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                body.insert(name.to_owned(), value);
            }
        };
        for (name, text) in texts {
            put(name, text.clone().map(Value::String));
        }
        put("confidence", self.confidence.map(Value::from));
        put("triple", self.triple.as_ref().map(TripleDraft::to_body));
        put("fields", (!self.fields.is_empty()).then(|| Value::Object(self.fields.clone())));
        let list = |texts: &[String]| (!texts.is_empty()).then(|| Value::from(texts));
        put("tests", (!self.tests.is_empty()).then(|| Value::Array(self.tests.clone())));
        let reports: Vec<Value> = self.test_reports.iter().map(ReportDraft::to_body).collect();
        put("test_reports", (!reports.is_empty()).then_some(Value::Array(reports)));
        put("tags", list(&self.tags));
        put("domains", list(&self.domains));
        put("resources", self.resources.as_ref().map(|texts| Value::from(texts.as_slice())));
        put("derived_from", list(&self.derived_from));
        let evidence: Vec<Value> = self.evidence.iter().map(EvidenceDraft::to_body).collect();
        put("evidence", (!evidence.is_empty()).then_some(Value::Array(evidence)));
        Value::Object(body)
    }
}

fn object<const N: usize>(texts: [(&str, &Option<String>); N]) -> Map<String, Value> {
    let text = |(name, text): (&str, &Option<String>)| Some((name.to_owned(), Value::String(text.clone()?)));
    texts.into_iter().filter_map(text).collect()
}

impl TripleDraft {
    fn to_body(&self) -> Value {
        let parts = [("subject", &self.subject), ("predicate", &self.predicate), ("object", &self.object)];
        Value::Object(object(parts))
    }
}

impl EvidenceDraft {
    fn to_body(&self) -> Value {
        let mut body = object([
            ("source_type", &self.source_type),
            ("source_uri", &self.source_uri),
            ("source_version", &self.source_version),
            ("accessed_at", &self.accessed_at),
            ("excerpt", &self.excerpt),
            ("excerpt_hash", &self.excerpt_hash),
            ("source_item_id", &self.source_item_id),
        ]);
        if let Some(authority) = self.authority {
            body.insert("authority".to_owned(), Value::from(authority));
        }
        Value::Object(body)
    }
}

impl ReportDraft {
    fn to_body(&self) -> Value {
        let mut body = object([
            ("runner", &self.runner),
            ("content_hash", &self.content_hash),
            ("ran_at", &self.ran_at),
            ("signature", &self.signature),
        ]);
        body.extend(self.passed.map(|passed| ("passed".to_owned(), Value::Bool(passed))));
        Value::Object(body)
    }
}

/// A triple as drafted.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "as for WriteDraft")]
pub struct TripleDraft {
    pub subject: Option<String>,
    pub predicate: Option<String>,
    pub object: Option<String>,
}

/// An evidence as drafted.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "as for WriteDraft")]
pub struct EvidenceDraft {
    pub source_type: Option<String>,
    pub source_uri: Option<String>,
    pub source_version: Option<String>,
    pub accessed_at: Option<String>,
    pub authority: Option<f64>,
    pub excerpt: Option<String>,
    pub excerpt_hash: Option<String>,
    pub source_item_id: Option<String>,
}

/// What a write takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaces {
    /// The item's head becomes this content.
    Item(ItemId),
    /// This item's head is superseded.
    Superseded(ItemId),
    /// This version, which must be a head, is superseded.
    SupersededVersion(VersionId),
}

impl Replaces {
    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::Item(_) => Operation::Update,
            Self::Superseded(_) | Self::SupersededVersion(_) => Operation::Supersede,
        }
    }
}

/// A write whose every field obeys its rule. Made by `WriteDraft::check` alone.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "as for WriteDraft")]
pub struct WriteRequest {
    pub content: Content,
    pub layer: Layer,
    pub tier: TierWish,
    pub namespace: String,
    pub write_policy: Option<Strictness>,
    pub confidence: f64,
    pub test_reports: Vec<TestReport>,
    pub evidence: Vec<Evidence>,
    pub resources: Option<Vec<String>>,
    pub derived_from: Vec<String>,
    pub justification: Option<String>,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub trace_id: Option<String>,
    pub agent_version: Option<String>,
    pub ttl: Option<Lifetime>,
    pub request_id: Option<[u8; 16]>,
    pub idempotency_token: Option<Hash>,
    pub deadline: Option<Timestamp>,
    pub replaces: Option<Replaces>,
    pub expected_version: Option<VersionId>,
    pub on_conflict: Option<OnConflict>,
}

impl WriteRequest {
    /// Whether this is something said in a conversation: a record that it was said, not a claim that it holds.
    #[must_use]
    pub fn is_utterance(&self) -> bool {
        self.layer == Layer::Episodic && self.content.fields.contains_key("speaker")
    }

    /// When a version written at `now` under a policy lapses.
    #[must_use]
    pub fn expires_at(&self, now: Timestamp, strictness: Strictness) -> Option<Timestamp> {
        match self.ttl {
            Some(ttl) => Some(ttl.after(now)),
            None => strictness.default_ttl(self.layer).map(|ttl| now.plus(ttl)),
        }
    }
}
