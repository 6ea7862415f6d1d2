//! Where a version comes from: the immutable, signed record of GOV-4.2.
//!
//! The record is sealed with the content it speaks of and is never changed; what is learnt later (what superseded it, who
//! approved it after the fact) is a view.

mod evidence;

pub use evidence::{Evidence, EvidenceQuality, SourceType};

use crate::canonical::{Hash, NotCanonical, canonical, framed_hmac, hex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// What validation found; absent until a factual gate ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation_score: Option<f64>,
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
    /// SHA-256 of the canonical content, hex.
    pub content_hash: String,
    /// Which key signed it.
    pub key_id: String,
    /// HMAC-SHA-256 over the canonical record without this field, hex.
    #[serde(default)]
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
    /// The record with its signature set.
    ///
    /// # Errors
    /// When a number in it cannot be written as JSON.
    pub fn signed(mut self, key: &Hash) -> Result<Self, NotCanonical> {
        self.provenance_signature = hex(&self.mac(key)?);
        Ok(self)
    }

    /// Whether the signature is that of this very record.
    #[must_use]
    pub fn is_authentic(&self, key: &Hash) -> bool {
        let claimed = crate::canonical::unhex32(&self.provenance_signature);
        match (claimed, self.mac(key)) {
            (Some(claimed), Ok(actual)) => bool::from(claimed.ct_eq(&actual)),
            _ => false,
        }
    }

    fn mac(&self, key: &Hash) -> Result<Hash, NotCanonical> {
        let mut value = serde_json::to_value(self).map_err(|_| NotCanonical)?;
        if let Value::Object(fields) = &mut value {
            fields.remove("provenance_signature");
        }
        Ok(framed_hmac(key, &[&canonical(value)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            verified_by_models: Vec::new(),
            human_approval_state: ApprovalState::NotRequired,
            approver_id: None,
            approval_timestamp: None,
            approval_justification: None,
            agent_justification: None,
            created_at: "2026-11-15T00:00:00.000000Z".into(),
            updated_at: "2026-11-15T00:00:00.000000Z".into(),
            supersedes: None,
            content_hash: "00".into(),
            key_id: PROVENANCE_KEY.into(),
            provenance_signature: String::new(),
        }
    }

    /// GOV-4.2, GOV-4.5: the signature covers every field, and another key does not confirm it.
    #[test]
    fn any_altered_field_breaks_the_signature() {
        let signed = record().signed(&[1; 32]).unwrap();
        assert!(signed.is_authentic(&[1; 32]));
        assert!(!signed.is_authentic(&[2; 32]));
        let Value::Object(fields) = serde_json::to_value(&signed).unwrap() else { unreachable!() };
        for name in fields.keys() {
            let mut altered = fields.clone();
            let other = match &fields[name] {
                Value::String(text) if name == "evidence_quality" => Value::String(text.replace("inferred", "primary")),
                Value::String(text) if name == "human_approval_state" => Value::String(text.replace("not_required", "approved")),
                Value::String(text) => Value::String(format!("{text}0")),
                Value::Number(_) => serde_json::json!(0.9),
                _ => continue,
            };
            altered.insert(name.clone(), other);
            let altered: Provenance = serde_json::from_value(Value::Object(altered)).unwrap();
            assert!(!altered.is_authentic(&[1; 32]), "{name}");
        }
    }
}
