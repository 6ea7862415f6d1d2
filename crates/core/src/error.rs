//! What can be refused, and under which code.
//!
//! Every refusal has one row in the registry below. A row is never renamed, never reused; retiring one leaves it in
//! place. Transports map `Kind`, not `Code`, so a new code needs no new mapping.

mod mismatch;

pub use mismatch::in_json;

use crate::gate::{Against, GateName};
use crate::id::{ItemId, RefusalId};
use crate::time::Period;

/// What sort of refusal a code is; each transport maps these once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request cannot be read.
    Malformed,
    /// No acceptable credential.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// Nothing there, or nothing that the caller may see.
    NotFound,
    /// The state of the memory forbids it now.
    Conflict,
    /// It was there and has been purged.
    Gone,
    /// Larger than a limit.
    TooLarge,
    /// Readable, but it breaks a rule.
    Invalid,
    /// Too many requests.
    RateLimited,
    /// A fault of ours.
    Internal,
    /// Not now; try again.
    Unavailable,
    /// Too late.
    Deadline,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident => $text:literal, $kind:ident;)*) => {
        /// The registry of refusals.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code, in the order of the registry.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as programs see it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// What sort of refusal it is.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind,)* }
            }
        }
    };
}

codes! {
    /// The body is not what the content type says.
    Malformed => "MALFORMED", Malformed;
    /// The body names a tenant, user or agent.
    IdentityInBody => "IDENTITY_IN_BODY", Malformed;
    /// A field that this operation does not have.
    UnknownField => "UNKNOWN_FIELD", Invalid;
    /// A field of another type.
    TypeMismatch => "TYPE_MISMATCH", Invalid;
    /// A required field is absent.
    MissingRequiredField => "MISSING_REQUIRED_FIELD", Invalid;
    /// A value outside its rule.
    ConstraintViolation => "CONSTRAINT_VIOLATION", Invalid;
    /// Several faults, or one, found by the schema gate.
    SchemaInvalid => "SCHEMA_INVALID", Invalid;
    /// JSON nested deeper than the limit.
    TooDeep => "TOO_DEEP", Malformed;
    /// The excerpt does not have the hash that the evidence claims.
    ExcerptHashMismatch => "EXCERPT_HASH_MISMATCH", Invalid;
    /// A token that this server did not give to this caller.
    TokenInvalid => "TOKEN_INVALID", Invalid;
    /// No credential, or one that is unknown, revoked or expired.
    Unauthenticated => "UNAUTHENTICATED", Unauthenticated;
    /// The token was good, and its time is over.
    JwtExpired => "JWT_EXPIRED", Unauthenticated;
    /// A token that is not whole, or not for this server.
    JwtInvalid => "JWT_INVALID", Unauthenticated;
    /// The token of the user for whom an agent service asks proves no such person.
    SubjectTokenInvalid => "SUBJECT_TOKEN_INVALID", Invalid;
    /// Only an agent service exchanges tokens.
    ServiceKeyRequired => "SERVICE_KEY_REQUIRED", Forbidden;
    /// The caller's role does not allow this.
    Forbidden => "FORBIDDEN", Forbidden;
    /// The credential names no user; memory operations need a pair.
    PairRequired => "PAIR_REQUIRED", Forbidden;
    /// Sharing is off for this caller.
    SharingOff => "SHARING_OFF", Forbidden;
    /// A policy keeps this from being remembered or shared.
    PolicyBlocked => "POLICY_BLOCKED", Forbidden;
    /// The user may not invoke this agent, or not now, or it does not work any more.
    AgentNotGranted => "AGENT_NOT_GRANTED", Forbidden;
    /// The agent may not use this resource.
    ResourceNotGranted => "RESOURCE_NOT_GRANTED", Forbidden;
    /// Only who contributed an item may change it.
    NotContributor => "NOT_CONTRIBUTOR", Forbidden;
    /// Missing, or hidden from the caller.
    NotFound => "NOT_FOUND", NotFound;
    /// No such method on this path.
    MethodNotAllowed => "METHOD_NOT_ALLOWED", Invalid;
    /// Another principal has this name.
    NameTaken => "NAME_TAKEN", Conflict;
    /// The name looks like that of another principal.
    NameConfusable => "NAME_CONFUSABLE", Conflict;
    /// Without this user no admin would be left who can act.
    LastAdmin => "LAST_ADMIN", Conflict;
    /// The head is not the version that the caller expected.
    VersionConflict => "VERSION_CONFLICT", Conflict;
    /// Only an active head can be rolled back.
    NotTheHead => "NOT_THE_HEAD", Conflict;
    /// The same request id came with other content.
    RequestIdReused => "REQUEST_ID_REUSED", Conflict;
    /// The idempotency token is not that of this content.
    TokenMismatch => "TOKEN_MISMATCH", Conflict;
    /// The content was destroyed.
    Gone => "GONE", Gone;
    /// The request is larger than the limit.
    TooLarge => "TOO_LARGE", TooLarge;
    /// Too many requests from this credential.
    RateLimited => "RATE_LIMITED", RateLimited;
    /// The queue is full or the server is shutting down.
    Overloaded => "OVERLOADED", Unavailable;
    /// The storage refused; nothing was written.
    StorageFailed => "STORAGE_FAILED", Unavailable;
    /// The deadline passed before the commit; nothing was written.
    DeadlineExceeded => "DEADLINE_EXCEEDED", Deadline;
    /// The views did not reach the demanded position in time.
    MinTokenTimeout => "MIN_TOKEN_TIMEOUT", Deadline;
    /// The request took longer than the server allows.
    Timeout => "TIMEOUT", Deadline;
    /// This server has no such search mode.
    ModeUnavailable => "MODE_UNAVAILABLE", Invalid;
    /// Another outcome was reported for this search.
    OutcomeKnown => "OUTCOME_KNOWN", Conflict;
    /// The model that turns texts into vectors does not answer.
    EmbedderUnavailable => "EMBEDDER_UNAVAILABLE", Unavailable;
    /// The working memory of this user is full.
    WorkingFull => "WORKING_FULL", RateLimited;
    /// The evidence does not bear the statement out.
    EvidenceInsufficient => "EVIDENCE_INSUFFICIENT", Invalid;
    /// A source counts less than the layer takes.
    EvidenceAuthorityLow => "EVIDENCE_AUTHORITY_LOW", Invalid;
    /// No source lies outside memory and its agents.
    EvidenceNotIndependent => "EVIDENCE_NOT_INDEPENDENT", Invalid;
    /// The evidence is the writer's own word.
    SelfEvidence => "SELF_EVIDENCE", Invalid;
    /// The evidence rests on the statement itself.
    CircularEvidence => "CIRCULAR_EVIDENCE", Invalid;
    /// It speaks against what is known.
    Contradiction => "CONTRADICTION", Conflict;
    /// The same content is known.
    ExactDuplicate => "EXACT_DUPLICATE", Conflict;
    /// The same triple is known.
    StructuralDuplicate => "STRUCTURAL_DUPLICATE", Conflict;
    /// The same meaning is known.
    SemanticDuplicate => "SEMANTIC_DUPLICATE", Conflict;
    /// The same triple is known with other fields.
    StructuralConflict => "STRUCTURAL_CONFLICT", Conflict;
    /// The same meaning is known with other fields.
    SemanticConflict => "SEMANTIC_CONFLICT", Conflict;
    /// A person has to consent.
    ApprovalRequired => "APPROVAL_REQUIRED", Conflict;
    /// What is known speaks for keeping it apart until more is.
    CalibrationStaged => "CALIBRATION_STAGED", Conflict;
    /// A person said no.
    ApprovalRejected => "APPROVAL_REJECTED", Conflict;
    /// No person answered in time.
    ApprovalTimeout => "APPROVAL_TIMEOUT", Deadline;
    /// Only a person may decide.
    HumanRequired => "HUMAN_REQUIRED", Forbidden;
    /// A person's write waits for another person, and nobody else may decide.
    NoReviewer => "NO_REVIEWER", Conflict;
    /// Nobody decides on what they wrote themselves.
    SelfApproval => "SELF_APPROVAL", Forbidden;
    /// The review is closed.
    ReviewDecided => "REVIEW_DECIDED", Conflict;
    /// A write may ask for a stricter policy, not for a laxer one.
    PolicyTooLax => "POLICY_TOO_LAX", Forbidden;
    /// The agent writes faster than its rate; the write is tried again by itself.
    RateExceeded => "RATE_EXCEEDED", RateLimited;
    /// Too many writes of this agent are put off already.
    DeferralsFull => "DEFERRALS_FULL", RateLimited;
    /// A write that was put off found no place however often it was tried.
    RetryExhausted => "RETRY_EXHAUSTED", RateLimited;
    /// The agent has written all that it may in this session.
    WriteBudgetExceeded => "WRITE_BUDGET_EXCEEDED", RateLimited;
    /// The user was disabled.
    UserDisabled => "USER_DISABLED", Forbidden;
    /// Writes of this agent for this user are unlike those before; a person has to consent.
    Anomaly => "ANOMALY", Conflict;
    /// A moderator took the same statement of this user out of the shared memory before; a person has to consent.
    Moderated => "MODERATED", Conflict;
    /// Writes of this agent are suspended.
    WritesSuspended => "WRITES_SUSPENDED", Forbidden;
    /// A procedure needs tests, and they must pass.
    TestsFailed => "TESTS_FAILED", Invalid;
    /// A gate outside the server says no.
    GateRejected => "GATE_REJECTED", Invalid;
    /// A gate outside the server wants to be asked again; the write is tried again by itself.
    GateDeferred => "GATE_DEFERRED", Unavailable;
    /// A gate outside the server gives no answer; the write is tried again by itself.
    GateUnreachable => "GATE_UNREACHABLE", Unavailable;
    /// The model that a policy requires gives no answer; what is shared follows by itself.
    ScribeUnreachable => "SCRIBE_UNREACHABLE", Unavailable;
    /// Most models do not find the statement in its excerpts.
    ConsensusMissing => "CONSENSUS_MISSING", Conflict;
    /// The agent may not write there, or not about that.
    OutOfBounds => "OUT_OF_BOUNDS", Forbidden;
    /// A knowledge base knows another value.
    KnowledgeDenies => "KNOWLEDGE_DENIES", Conflict;
    /// The operator has not said how this resource is reached.
    ResourceNotConfigured => "RESOURCE_NOT_CONFIGURED", Conflict;
    /// The resource gives no answer, or not in time.
    ResourceUnavailable => "RESOURCE_UNAVAILABLE", Unavailable;
    /// The resource answered that it cannot do this.
    ResourceFailed => "RESOURCE_FAILED", Invalid;
    /// The operator has switched the orchestrator off.
    OrchestratorOff => "ORCHESTRATOR_OFF", Conflict;
    /// A fault of ours; the log has the details.
    Internal => "INTERNAL", Internal;
}

/// One thing wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer into the request.
    pub path: String,
    /// What is wrong there.
    pub code: Code,
    /// What would pass.
    pub expected: Option<String>,
    /// What came, where that helps and gives nothing away.
    pub actual: Option<String>,
}

impl Fault {
    /// A fault at a path, with what would pass.
    #[must_use]
    pub fn new(path: impl Into<String>, code: Code, expected: impl Into<String>) -> Self {
        Self { path: path.into(), code, expected: Some(expected.into()), actual: None }
    }

    /// The same fault, with what came instead.
    #[must_use]
    pub fn found(mut self, actual: impl Into<String>) -> Self {
        self.actual = Some(actual.into());
        self
    }
}

/// A refused operation: one shape for every transport.
///
/// A struct rather than an enum per operation: every operation can fail in the same few ways, the registry above already
/// types them, and clients see exactly these fields.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Which row of the registry.
    pub code: Code,
    /// What happened and what would help, for people.
    pub message: String,
    /// The gate that refused, on a write.
    pub gate: Option<GateName>,
    /// Every fault found, not only the first.
    pub errors: Vec<Fault>,
    /// When to try again.
    pub retry_after: Option<Period>,
    /// What a refused write says again or speaks against, where the caller may see it.
    pub in_the_way: Option<Box<InTheWay>>,
    /// Where the refused write is kept for its author.
    pub kept: Option<RefusalId>,
}

/// What stands in the way of a write.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InTheWay {
    /// The item that says the same.
    pub existing: Option<ItemId>,
    /// The items that it speaks against.
    pub against: Vec<Against>,
}

impl Refusal {
    /// A refusal with a message and nothing else.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            gate: None,
            errors: Vec::new(),
            retry_after: None,
            in_the_way: None,
            kept: None,
        }
    }

    /// The one answer for what is missing and what is hidden.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "no such item, or it is not visible to this caller")
    }

    /// The same refusal, made by this gate.
    #[must_use]
    pub fn at(mut self, gate: GateName) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The same refusal with these faults.
    #[must_use]
    pub fn with(mut self, errors: Vec<Fault>) -> Self {
        self.errors = errors;
        self
    }

    /// The same refusal, because of an item that says the same.
    #[must_use]
    pub fn existing(mut self, item: ItemId) -> Self {
        self.in_the_way.get_or_insert_default().existing = Some(item);
        self
    }

    /// The same refusal, because of items that it speaks against.
    #[must_use]
    pub fn against(mut self, against: Vec<Against>) -> Self {
        self.in_the_way.get_or_insert_default().against = against;
        self
    }

    /// The same refusal with a time to come back.
    #[must_use]
    pub fn retry_after(mut self, period: Period) -> Self {
        self.retry_after = Some(period);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_upper_snake() {
        let texts: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        assert!(texts.iter().all(|text| text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')));
    }
}
