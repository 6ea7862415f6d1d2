//! Where a version comes from: the immutable, signed record of GOV-4.2.
//!
//! The record is sealed with the content it speaks of and is never changed; what is learnt later (what superseded it, who
//! approved it after the fact) is a view.

mod evidence;

pub use evidence::{Evidence, EvidenceQuality, SourceType};

use crate::canonical::{Hash, NotCanonical, canonical, framed_hmac};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// Who wrote a version, how, and from what. Field names are those of the specification.
///
/// Kept forever, as canonical JSON; a field may be added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// This record.
    pub provenance_id: String,
    /// The item.
    pub memory_item_id: String,
    /// The version.
    pub version_id: String,
    /// The user for whom it was written.
    pub source_user_id: String,
    /// The agent that wrote it.
    pub source_agent_id: String,
    /// That agent's own version, as it declared it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_agent_version: Option<String>,
    /// The task it worked on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_task_id: Option<String>,
    /// The session it worked in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_session_id: Option<String>,
    /// The trace that ties it to what was read before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace_id: Option<String>,
    /// What it rests on, highest authority first.
    pub evidence_refs: Vec<Evidence>,
    /// How good that is.
    pub evidence_quality: EvidenceQuality,
    /// The versions it was derived from.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub derived_from: Vec<String>,
    /// The query that led to it, when the writer said so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retrieval_query: Option<String>,
    /// The scores of what that query found.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub retrieval_scores: Vec<f64>,
    /// What the agent claims.
    pub agent_confidence: f64,
    /// V_composite: what validation found altogether; absent where no gate ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation_score: Option<f64>,
    /// V_fact when it was written; absent where no gate weighed the evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fact_score: Option<f64>,
    /// c_adj when it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub adjusted_confidence: Option<f64>,
    /// Models that confirmed it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub verified_by_models: Vec<String>,
    /// Whether a person decided.
    pub human_approval_state: ApprovalState,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approver_id: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval_timestamp: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval_justification: Option<String>,
    /// Why the agent thinks this should be remembered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_justification: Option<String>,
    /// When the record was made.
    pub created_at: String,
    /// When it was last changed: a record never is, so this equals `created_at`.
    pub updated_at: String,
    /// The version it replaces.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub supersedes: Option<String>,
    /// The version that replaced it: known only later, so not signed, and filled in when it is read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub superseded_by: Option<String>,
    /// SHA-256 of the canonical content, hex.
    pub content_hash: String,
    /// Which key signed it.
    pub key_id: String,
    /// HMAC-SHA-256 over the canonical record without this field, hex. Kept beside the record, and filled in when it is read.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub provenance_signature: String,
}

/// Whether a person had to decide, and how they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Waiting.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no.
    Rejected,
    /// Nobody had to be asked.
    NotRequired,
}

/// The name of the signing key in use; a rotation adds a name.
pub const PROVENANCE_KEY: &str = "provenance/1";

impl Provenance {
    /// The record as it is shown to others than who contributed the item: what it rests on and how it was found to be, not
    /// whose it is nor what they were doing (SHARE-47).
    #[must_use]
    pub fn without_contributor(self) -> Self {
        Self {
            source_user_id: String::new(),
            source_task_id: None,
            source_session_id: None,
            trace_id: None,
            derived_from: Vec::new(),
            retrieval_query: None,
            retrieval_scores: Vec::new(),
            approver_id: None,
            approval_justification: None,
            agent_justification: None,
            ..self
        }
    }

    /// The record as canonical JSON without its signature, and the signature over that.
    ///
    /// # Errors
    /// When a number in it cannot be written as JSON.
    pub fn sign(mut self, key: &Hash) -> Result<(Vec<u8>, Hash), NotCanonical> {
        self.provenance_signature.clear();
        self.superseded_by = None;
        let bytes = canonical(&self)?;
        let signature = framed_hmac(key, &[&bytes]);
        Ok((bytes, signature))
    }
}

/// Whether a signature is that of these very bytes.
#[must_use]
pub fn is_authentic(bytes: &[u8], signature: &Hash, key: &Hash) -> bool {
    bool::from(framed_hmac(key, &[bytes]).ct_eq(signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn record() -> Provenance {
        Provenance {
            provenance_id: "prv_a".into(),
            memory_item_id: "itm_a".into(),
            version_id: "ver_a".into(),
            source_user_id: "usr_a".into(),
            source_agent_id: "agt_a".into(),
            source_agent_version: None,
            source_task_id: None,
            source_session_id: None,
            trace_id: None,
            evidence_refs: Vec::new(),
            evidence_quality: EvidenceQuality::Inferred,
            derived_from: Vec::new(),
            retrieval_query: None,
            retrieval_scores: Vec::new(),
            agent_confidence: 0.8,
            validation_score: None,
            fact_score: None,
            adjusted_confidence: None,
            verified_by_models: Vec::new(),
            human_approval_state: ApprovalState::NotRequired,
            approver_id: None,
            approval_timestamp: None,
            approval_justification: None,
            agent_justification: None,
            created_at: "2026-11-15T00:00:00.000000Z".into(),
            updated_at: "2026-11-15T00:00:00.000000Z".into(),
            supersedes: None,
            superseded_by: None,
            content_hash: "00".into(),
            key_id: PROVENANCE_KEY.into(),
            provenance_signature: String::new(),
        }
    }

    /// GOV-4.2, GOV-4.5: the signature covers every field, and another key does not confirm it.
    #[test]
    fn any_altered_field_breaks_the_signature() {
        let (bytes, signature) = record().sign(&[1; 32]).unwrap();
        assert!(is_authentic(&bytes, &signature, &[1; 32]));
        assert!(!is_authentic(&bytes, &signature, &[2; 32]));
        let Value::Object(fields) = serde_json::from_slice(&bytes).unwrap() else { unreachable!() };
        for (name, value) in &fields {
            let other = match value {
                Value::String(text) => Value::String(format!("{text}0")),
                Value::Array(_) => serde_json::json!([1]),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => serde_json::json!(0.9),
            };
            let mut altered = fields.clone();
            altered.insert(name.clone(), other);
            let altered = canonical(&Value::Object(altered)).unwrap();
            assert!(!is_authentic(&altered, &signature, &[1; 32]), "{name}");
        }
    }
}
