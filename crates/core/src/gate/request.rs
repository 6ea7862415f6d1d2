//! A write as it is asked for: first as drafted on the wire, then with every field proven.

use crate::canonical::Hash;
use crate::error::Fault;
use crate::id::{ItemId, VersionId};
use crate::item::{Content, Layer, Operation, TierWish};
use crate::provenance::Evidence;
use crate::time::{Period, Timestamp};
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
    pub confidence: Option<f64>,
    pub triple: Option<TripleDraft>,
    pub fields: Map<String, Value>,
    pub tags: Vec<String>,
    pub evidence: Vec<EvidenceDraft>,
    pub resources: Vec<String>,
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
    /// The item named by the path of an update.
    pub item: Option<String>,
    /// What was already found wrong while reading the wire form.
    pub faults: Vec<Fault>,
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
    pub confidence: f64,
    pub evidence: Vec<Evidence>,
    pub resources: Vec<String>,
    pub derived_from: Vec<String>,
    pub justification: Option<String>,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub trace_id: Option<String>,
    pub agent_version: Option<String>,
    pub ttl: Option<Period>,
    pub request_id: Option<[u8; 16]>,
    pub idempotency_token: Option<Hash>,
    pub deadline: Option<Timestamp>,
    pub replaces: Option<Replaces>,
    pub expected_version: Option<VersionId>,
}

impl WriteRequest {
    /// When a version written at `now` lapses.
    #[must_use]
    pub fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.ttl.or(self.layer.default_ttl()).map(|ttl| now.plus(ttl))
    }
}
