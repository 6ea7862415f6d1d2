//! Bodies of the operations on held and kept writes, policies and schemas, and of those that stop or take back.

use super::sharing::SharingPolicyBody;
use super::words::*;
use crate::refusal::ContradictionBody;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_core::view::Policy;
use utoipa::ToSchema;

/// A write that is not memory: put off, or refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeptWrite)]
pub(crate) struct KeptBody {
    /// What to ask for it by.
    #[schema(value_type = KeptIdText)]
    pub(crate) id: String,
    /// How it stands.
    #[schema(value_type = KeptStateWord)]
    pub(crate) state: &'static str,
    /// The body of the write.
    #[schema(value_type = Object)]
    pub(crate) write: Value,
    /// The gate that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GateWord>, nullable = false)]
    pub(crate) gate: Option<String>,
    /// Why, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CodeText>, nullable = false)]
    pub(crate) code: Option<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) message: Option<String>,
    /// When one that was put off is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) due: Option<String>,
    /// When it came.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// When it is forgotten.
    #[schema(value_type = TimeText)]
    pub(crate) expires_at: String,
    /// How often it was tried.
    pub(crate) attempts: u32,
}

/// The caller's writes that are not memory.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeptWrites)]
pub(crate) struct KeptWritesBody {
    /// Newest first.
    pub(crate) writes: Vec<KeptBody>,
}

/// A held write as those see it who may.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Review)]
pub(crate) struct ReviewBody {
    /// The review.
    #[schema(value_type = ReviewIdText)]
    pub(crate) id: String,
    /// How it stands.
    #[schema(value_type = ReviewStateWord)]
    pub(crate) state: &'static str,
    /// Whether the writer waits (`sync`) or goes on meanwhile (`async`).
    #[schema(value_type = HoldWord)]
    pub(crate) hold: &'static str,
    /// What could go wrong, as one number.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) risk: f64,
    /// How far it could be trusted so far, where it was held against what is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TrustWord>, nullable = false)]
    pub(crate) trust: Option<&'static str>,
    /// What that number is made of.
    #[schema(value_type = Vec<FactorBody>)]
    pub(crate) factors: Value,
    /// Why a person has to decide.
    #[schema(value_type = Vec<CauseBody>)]
    pub(crate) causes: Value,
    /// The body of the write, with its evidence and justification.
    #[schema(value_type = Object)]
    pub(crate) item: Value,
    /// What is known and speaks against it.
    #[schema(value_type = Vec<ContradictionBody>)]
    pub(crate) contradictions: Value,
    /// What a yes would do.
    #[schema(value_type = ProposalBody)]
    pub(crate) proposal: Value,
    /// The item whose head it would replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ItemIdText>, nullable = false)]
    pub(crate) replaces: Option<String>,
    /// SHA-256 of the canonical content, hex: what a decision binds to.
    #[schema(value_type = HashText)]
    pub(crate) content_hash: String,
    /// Its layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// The tier that its author asked for.
    #[schema(value_type = TierWishWord)]
    pub(crate) tier: &'static str,
    /// Whether others would see it, or a copy of it.
    pub(crate) for_others: bool,
    /// Whose it would be.
    #[schema(value_type = UserIdText)]
    pub(crate) owner: String,
    /// The agent that wrote it.
    #[schema(value_type = AgentIdText)]
    pub(crate) agent: String,
    /// How far it can be relied on.
    #[schema(value_type = Option<f64>, required)]
    pub(crate) adjusted_confidence: Value,
    /// How far the evidence bears it out.
    #[schema(value_type = Option<f64>, required)]
    pub(crate) fact_score: Value,
    /// What validation found altogether.
    #[schema(value_type = Option<f64>, required)]
    pub(crate) validation_score: Value,
    /// When it came.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// By when a person should decide.
    #[schema(value_type = TimeText)]
    pub(crate) deadline: String,
    /// Whether that has passed.
    pub(crate) overdue: bool,
    /// Who said yes so far.
    #[schema(value_type = Vec<UserIdText>)]
    pub(crate) approvals: Vec<String>,
    /// How many must.
    pub(crate) approvals_min: u32,
    /// The version that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VersionIdText>, nullable = false)]
    pub(crate) version: Option<String>,
    /// How it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DecisionWord>, nullable = false)]
    pub(crate) decision: Option<&'static str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) reason: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) decided_at: Option<String>,
    /// Who decided, or withdrew it; nobody if time did or others bore it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserIdText>, nullable = false)]
    pub(crate) decided_by: Option<String>,
}

/// One factor of a risk.
#[derive(ToSchema)]
#[schema(as = RiskFactor)]
#[expect(dead_code, reason = "describes what the engine found, which is sent as it was kept")]
pub(crate) struct FactorBody {
    /// Its name.
    factor: String,
    /// How much it counts.
    #[schema(minimum = 0.0, maximum = 1.0)]
    weight: f64,
    /// How high it is.
    #[schema(minimum = 0.0, maximum = 1.0)]
    value: f64,
}

/// Why a person has to decide.
#[derive(ToSchema)]
#[schema(as = Cause)]
#[expect(dead_code, reason = "as for FactorBody")]
pub(crate) struct CauseBody {
    /// The gate that asks for it.
    #[schema(value_type = GateWord)]
    gate: String,
    /// Why, for programs.
    #[schema(value_type = CodeText)]
    code: String,
    /// Why, for people.
    message: String,
}

/// What a yes would do.
#[derive(ToSchema)]
#[schema(as = Proposal)]
#[expect(dead_code, reason = "as for FactorBody")]
pub(crate) struct ProposalBody {
    /// Stand beside what is known, or take its place.
    #[schema(pattern = "^(insert|supersede)$")]
    operation: String,
    /// The items whose place it would take.
    #[schema(value_type = Option<Vec<ItemIdText>>, nullable = false)]
    items: Option<Vec<String>>,
}

/// Held writes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reviews)]
pub(crate) struct ReviewsBody {
    /// The riskiest first.
    pub(crate) reviews: Vec<ReviewBody>,
}

/// A decision on a held write.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Decide)]
pub(crate) struct DecideBody {
    /// Yes or no.
    pub(crate) decision: YesOrNo,
    /// Why: 1 to 1,024 characters, with a visible one and without NUL.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) reason: String,
    /// What sort of no; `OTHER` unless given.
    pub(crate) category: Option<Category>,
    /// The content that it is about, as the review shows it: a changed one is refused.
    #[schema(value_type = Option<HashText>)]
    pub(crate) content_hash: Option<String>,
    /// For a yes: what becomes of what the write contradicts; as the write asked unless given, and replaced if it asked nothing.
    pub(crate) on_conflict: Option<Outcome>,
}

/// What becomes of what an approved write contradicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReviewOutcome)]
pub(crate) enum Outcome {
    /// The write takes its place.
    Supersede,
    /// Both stay.
    KeepBoth,
}

/// A person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum YesOrNo {
    /// It becomes memory.
    Approve,
    /// It does not.
    Reject,
}

/// Why a held write is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = RejectionCategory)]
pub(crate) enum Category {
    /// It is false.
    FactualError,
    /// It may be true, but breaks a rule.
    PolicyViolation,
    /// Something else.
    Other,
}

/// A held write that its author took back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Withdrawn)]
pub(crate) struct WithdrawnBody {
    /// That it was taken back.
    #[schema(value_type = String, pattern = "^withdrawn$")]
    pub(crate) status: &'static str,
    /// The review.
    #[schema(value_type = ReviewIdText)]
    pub(crate) id: String,
}

/// News of a held write, or of an agent whose writes are held.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Notice)]
pub(crate) enum NoticeBody {
    /// `event: review`
    Review(ReviewNoticeBody),
    /// `event: pair`
    Pair(PairNoticeBody),
}

impl NoticeBody {
    /// The name of the event that it is sent as.
    pub(crate) const fn event(&self) -> &'static str {
        match self {
            Self::Review(_) => "review",
            Self::Pair(_) => "pair",
        }
    }
}

/// News of an agent whose writes for a user are held or suspended, or are no longer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PairNotice)]
pub(crate) struct PairNoticeBody {
    /// `held`, `suspended` or `resumed`.
    pub(crate) what: String,
    /// The user.
    #[schema(value_type = UserIdText)]
    pub(crate) user: String,
    /// The agent.
    #[schema(value_type = AgentIdText)]
    pub(crate) agent: String,
    /// What was unlike before.
    pub(crate) reason: String,
    /// When it ends by itself.
    #[schema(value_type = TimeText)]
    pub(crate) until: String,
}

/// News of a held write; what it says is never in it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReviewNotice)]
pub(crate) struct ReviewNoticeBody {
    /// `staged`, `escalated`, or how it was decided.
    pub(crate) what: String,
    /// The review.
    #[schema(value_type = ReviewIdText)]
    pub(crate) review: String,
    /// Its layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// Whether the writer waits.
    #[schema(value_type = HoldWord)]
    pub(crate) hold: &'static str,
    /// What could go wrong, as one number.
    pub(crate) risk: f64,
    /// By when a person should decide.
    #[schema(value_type = TimeText)]
    pub(crate) deadline: String,
}

/// What people said of an agent's writes, as far as the caller may see them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Feedback)]
pub(crate) struct FeedbackBody {
    /// The agent.
    #[schema(value_type = AgentIdText)]
    pub(crate) agent: String,
    /// The share of its writes that proved correct; `null` while there are too few to tell.
    #[schema(minimum = 0.0, maximum = 1.0, required)]
    pub(crate) reputation: Option<f64>,
    /// Held writes by how they were decided.
    pub(crate) decided: Vec<DecidedBody>,
    /// The same by layer and topic: the busiest first, at most twenty.
    pub(crate) topics: Vec<TopicBody>,
    /// The latest refusals by people, newest first.
    pub(crate) rejections: Vec<ReviewBody>,
}

/// Held writes of a layer, by how they were decided.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decided)]
pub(crate) struct DecidedBody {
    /// The layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// How many people said yes to.
    pub(crate) approved: u64,
    /// How many people said no to.
    pub(crate) rejected: u64,
}

/// Held writes about one thing, by how they were decided.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DecidedTopic)]
pub(crate) struct TopicBody {
    /// Their layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// What they are about: the subject of the triple, else the key, else the kind, in lower case.
    pub(crate) topic: String,
    /// How many people said yes to.
    pub(crate) approved: u64,
    /// How many people said no to.
    pub(crate) rejected: u64,
}

/// Where in the log something was set.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Set)]
pub(crate) struct SetBody {
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// A policy.
#[derive(ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = Policy)]
#[expect(dead_code, reason = "describes core::view::Policy, which is read and sent as it is")]
pub(crate) enum PolicyBody {
    /// How strict the write path is, and what becomes of contradictions, everywhere or in one namespace.
    WritePath {
        /// As strict as this.
        #[schema(value_type = Option<StrictnessWord>, nullable = false)]
        strictness: Option<String>,
        /// What becomes of a write that contradicts something known.
        #[schema(value_type = Option<OnConflictWord>, nullable = false)]
        on_conflict: Option<String>,
        /// Only here.
        #[schema(nullable = false)]
        namespace: Option<String>,
    },
    /// Documents whose address begins like this are official.
    OfficialSources {
        /// How their addresses begin.
        #[schema(max_items = 1000)]
        prefixes: Vec<String>,
    },
    /// How many people must consent to a held write.
    Approval {
        /// One, or two for four eyes.
        #[schema(minimum = 1, maximum = 10)]
        approvals: u32,
    },
    /// What is kept back or changed of what is read.
    Read(SharingPolicyBody),
    /// What is changed of what is written for oneself.
    WritePrivate(SharingPolicyBody),
    /// What is changed of what is written for others, and whether anything is.
    WriteShared(SharingPolicyBody),
    /// Who may look at the held writes of whom, by id or name.
    Reviewer {
        /// Who reviews.
        #[schema(value_type = ReferenceText)]
        reviewer: String,
        /// Whose writes.
        #[schema(value_type = ReferenceText)]
        user: String,
    },
    /// Rules in Cedar: what they forbid is not read or written, whatever the graphs admit.
    Cedar {
        /// One policy or several, up to 100.
        #[schema(max_length = 65536)]
        text: String,
    },
    /// Whose reports on the tests of procedures are believed; the policy's name is the runner's.
    Runner {
        /// An Ed25519 key.
        #[schema(pattern = "^[0-9a-fA-F]{64}$")]
        public_key: String,
    },
    /// Where an agent may write, and about what; a list that is left out or empty does not bind.
    Bounds {
        /// The agent, by id or name.
        #[schema(value_type = ReferenceText)]
        agent: String,
        /// Only to these layers.
        #[schema(value_type = Option<Vec<LayerWord>>, nullable = false, max_items = 5)]
        layers: Option<Vec<String>>,
        /// Only to these namespaces.
        #[schema(nullable = false, max_items = 100)]
        namespaces: Option<Vec<String>>,
        /// Only items with these tags: at least one of them, and no other.
        #[schema(value_type = Option<Vec<TagText>>, nullable = false, max_items = 100)]
        tags: Option<Vec<String>>,
    },
}

/// A policy and its name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NamedPolicy)]
pub(crate) struct NamedPolicyBody {
    /// Its name.
    #[schema(value_type = PolicyNameText)]
    pub(crate) id: String,
    /// What it says.
    #[serde(flatten)]
    #[schema(value_type = PolicyBody)]
    pub(crate) policy: Policy,
}

/// All policies.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policies)]
pub(crate) struct PoliciesBody {
    /// By name.
    pub(crate) policies: Vec<NamedPolicyBody>,
}

/// What a kind of item must look like.
#[derive(ToSchema)]
#[schema(as = Schema)]
#[expect(dead_code, reason = "describes core::schema::Schema, which is read and sent as it is")]
pub(crate) struct SchemaBody {
    /// The kind of item that it is for.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$")]
    kind: String,
    /// The layer that it is for; any unless given.
    #[schema(value_type = Option<LayerWord>)]
    layer: Option<String>,
    /// A JSON Schema (draft 2020-12) over `{kind, key, text, triple, fields, tags}`.
    #[schema(value_type = Object)]
    document: Map<String, Value>,
    /// Rules between the values of a content.
    #[schema(value_type = Option<Vec<Object>>)]
    constraints: Option<Vec<Value>>,
    /// What becomes of a part, by its name, that two contents have with different values.
    #[schema(value_type = Option<Object>)]
    merge: Option<Map<String, Value>>,
}

/// All schemas.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schemas)]
pub(crate) struct SchemasBody {
    /// By kind and layer.
    #[schema(value_type = Vec<SchemaBody>)]
    pub(crate) schemas: Vec<Value>,
}
