//! Bodies of the trail, of proofs and of the probes.

use super::words::*;
use serde::Serialize;
use utoipa::ToSchema;

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthBody {
    /// `ok`, or for readiness `ready`, `starting`, `unavailable`, `stopping`.
    #[schema(value_type = String, pattern = "^(ok|ready|starting|unavailable|stopping)$")]
    pub(crate) status: &'static str,
    /// Why, where the storage refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// One page of the trail, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditPage)]
pub(crate) struct AuditBody {
    /// What is on it.
    pub(crate) rows: Vec<AuditRowBody>,
    /// Where the next begins; `null` on the last.
    #[schema(value_type = Option<TokenText>, required)]
    pub(crate) next: Option<String>,
}

/// One row of the trail.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditRow)]
pub(crate) struct AuditRowBody {
    /// When.
    #[schema(value_type = TimeText)]
    pub(crate) time: String,
    /// Who.
    #[schema(value_type = Option<UserIdText>, required)]
    pub(crate) user: Option<String>,
    /// Through what.
    #[schema(value_type = Option<AgentIdText>, required)]
    pub(crate) agent: Option<String>,
    /// Did what.
    pub(crate) action: String,
    /// How it ended.
    pub(crate) outcome: String,
    /// What it concerned.
    pub(crate) ids: Vec<String>,
    /// Why, where a reason was given; not to others for what a user keeps to themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// For auditors, where a reason is given and one item is concerned: who contributed that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AuditAuthorBody>, nullable = false)]
    pub(crate) author: Option<AuditAuthorBody>,
    /// The request.
    #[schema(required)]
    pub(crate) request_id: Option<String>,
    /// The access epoch under which it was decided.
    pub(crate) epoch: u64,
    /// The sharing policies that held for it, or the policy that it set or removed.
    pub(crate) policies: Vec<AuditPolicyBody>,
    /// Whether they changed what was kept or sent.
    pub(crate) transformed: bool,
    /// Its place in the audit log; auditors only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lsn: Option<u64>,
}

/// Who contributed the item that a row is about.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditAuthor)]
pub(crate) struct AuditAuthorBody {
    /// The user.
    #[schema(value_type = UserIdText)]
    pub(crate) user: String,
    /// The agent that wrote it.
    #[schema(value_type = Option<AgentIdText>, required)]
    pub(crate) agent: Option<String>,
}

/// A policy that held for what a row tells of.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditPolicy)]
pub(crate) struct AuditPolicyBody {
    /// Its name.
    pub(crate) id: String,
    /// How often it had been set by then.
    pub(crate) version: u32,
}

/// What a verification found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Verification)]
pub(crate) struct VerificationBody {
    /// Whether nothing is wrong.
    pub(crate) ok: bool,
    /// The tenant.
    #[schema(value_type = TenantIdText)]
    pub(crate) tenant: String,
    /// Its name.
    pub(crate) name: String,
    /// Both logs.
    pub(crate) logs: Vec<LogReportBody>,
}

/// What a verification found in one log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LogReport)]
pub(crate) struct LogReportBody {
    /// Which log.
    #[schema(value_type = LogWord)]
    pub(crate) log: &'static str,
    /// Entries found.
    pub(crate) size: u64,
    /// Root over them.
    #[schema(value_type = HashText)]
    pub(crate) root: String,
    /// What is wrong; nothing, in a good log.
    pub(crate) faults: Vec<LogFaultBody>,
    /// What was lost before, where the operator started the server without.
    pub(crate) losses: Vec<LogFaultBody>,
}

/// One thing wrong with a log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LogFault)]
pub(crate) struct LogFaultBody {
    /// The entry, where one can be named.
    #[schema(required)]
    pub(crate) lsn: Option<u64>,
    /// What is wrong.
    pub(crate) what: String,
}

/// A signed head and the key that confirms it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Head)]
pub(crate) struct HeadBody {
    /// Which log.
    #[schema(value_type = LogWord)]
    pub(crate) log: &'static str,
    /// Whose.
    #[schema(value_type = TenantIdText)]
    pub(crate) tenant: String,
    /// Entries covered.
    pub(crate) size: u64,
    /// When it was signed.
    #[schema(value_type = TimeText)]
    pub(crate) time: String,
    /// Root of the tree over them.
    #[schema(value_type = HashText)]
    pub(crate) root: String,
    /// Ed25519 over the head's signed bytes.
    #[schema(value_type = SignatureText)]
    pub(crate) signature: String,
    /// Ed25519 public key.
    #[schema(value_type = HashText)]
    pub(crate) public_key: String,
}

/// That an entry is in the log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Inclusion)]
pub(crate) struct InclusionBody {
    /// Which log.
    #[schema(value_type = LogWord)]
    pub(crate) log: &'static str,
    /// The entry.
    pub(crate) lsn: u64,
    /// The size of the tree.
    pub(crate) size: u64,
    /// The entry's hash.
    #[schema(value_type = HashText)]
    pub(crate) leaf: String,
    /// Its siblings, from the leaf up.
    #[schema(value_type = Vec<HashText>)]
    pub(crate) path: Vec<String>,
    /// The root.
    #[schema(value_type = HashText)]
    pub(crate) root: String,
}

/// That one log is the beginning of another.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Consistency)]
pub(crate) struct ConsistencyBody {
    /// Which log.
    #[schema(value_type = LogWord)]
    pub(crate) log: &'static str,
    /// The earlier size.
    pub(crate) from: u64,
    /// The later size.
    pub(crate) to: u64,
    /// The proof.
    #[schema(value_type = Vec<HashText>)]
    pub(crate) path: Vec<String>,
    /// The earlier root.
    #[schema(value_type = HashText)]
    pub(crate) from_root: String,
    /// The later root.
    #[schema(value_type = HashText)]
    pub(crate) to_root: String,
}

/// Who wrote a version, how, and from what: the signed record as it is kept.
///
/// The record itself is sent, byte for byte what was signed; this describes it.
#[derive(Debug, ToSchema)]
#[schema(as = Provenance)]
#[expect(dead_code, reason = "describes core::provenance::Provenance, which is sent as it is")]
pub(crate) struct ProvenanceBody {
    /// This record.
    provenance_id: String,
    /// The item.
    #[schema(value_type = ItemIdText)]
    memory_item_id: String,
    /// The version.
    #[schema(value_type = VersionIdText)]
    version_id: String,
    /// The user for whom it was written.
    #[schema(value_type = UserIdText)]
    source_user_id: String,
    /// The agent that wrote it.
    #[schema(value_type = AgentIdText)]
    source_agent_id: String,
    /// That agent's own version.
    #[schema(nullable = false)]
    source_agent_version: Option<String>,
    /// The task it worked on.
    #[schema(nullable = false)]
    source_task_id: Option<String>,
    /// The session it worked in.
    #[schema(nullable = false)]
    source_session_id: Option<String>,
    /// The trace that ties it to what was read before.
    #[schema(nullable = false)]
    trace_id: Option<String>,
    /// What it rests on, highest authority first.
    evidence_refs: Vec<super::EvidenceBody>,
    /// How good that is.
    #[schema(pattern = "^(primary|secondary|derived|inferred)$")]
    evidence_quality: String,
    /// The versions it was derived from.
    #[schema(nullable = false)]
    derived_from: Option<Vec<String>>,
    /// The query that led to it.
    #[schema(nullable = false)]
    retrieval_query: Option<String>,
    /// The scores of what that query found.
    #[schema(nullable = false)]
    retrieval_scores: Option<Vec<f64>>,
    /// What the agent claims.
    #[schema(minimum = 0.0, maximum = 1.0)]
    agent_confidence: f64,
    /// What validation found.
    #[schema(nullable = false)]
    validation_score: Option<f64>,
    /// How far the evidence bore it out when it was written.
    #[schema(nullable = false)]
    fact_score: Option<f64>,
    /// How far it could be relied on when it was written.
    #[schema(nullable = false)]
    adjusted_confidence: Option<f64>,
    /// Models that confirmed it.
    #[schema(nullable = false)]
    verified_by_models: Option<Vec<String>>,
    /// Whether a person decided.
    #[schema(pattern = "^(pending|approved|rejected|not_required)$")]
    human_approval_state: String,
    /// Who decided.
    #[schema(nullable = false)]
    approver_id: Option<String>,
    /// When.
    #[schema(nullable = false)]
    approval_timestamp: Option<String>,
    /// Why.
    #[schema(nullable = false)]
    approval_justification: Option<String>,
    /// Why the agent thinks this should be remembered.
    #[schema(nullable = false)]
    agent_justification: Option<String>,
    /// When the record was made.
    #[schema(value_type = TimeText)]
    created_at: String,
    /// Equals `created_at`: a record is never changed.
    #[schema(value_type = TimeText)]
    updated_at: String,
    /// The version it replaces.
    #[schema(nullable = false)]
    supersedes: Option<String>,
    /// The version that replaced it; not signed.
    #[schema(nullable = false)]
    superseded_by: Option<String>,
    /// SHA-256 of the canonical content, hex.
    #[schema(value_type = HashText)]
    content_hash: String,
    /// Which key signed it.
    key_id: String,
    /// HMAC-SHA-256 over the canonical record without this field, hex.
    #[schema(value_type = HashText)]
    provenance_signature: String,
}
