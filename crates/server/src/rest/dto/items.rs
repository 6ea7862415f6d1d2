//! Bodies of the operations on items.

use super::moderation::{ContributorBody, QuarantineBody};
use super::words::*;
use crate::refusal::{ContradictionBody, FaultBody, RefusalBody};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

/// What is to be remembered. Only `text` is required; `null` says the same as leaving a field out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Write)]
#[expect(
    dead_code,
    reason = "describes what core::gate::read_write reads; the gate reports every fault, serde only one"
)]
pub(crate) struct WriteBody {
    /// The statement itself, complete on its own: at most 65,536 bytes, with a visible character and without NUL.
    #[schema(min_length = 1, max_length = 65536, pattern = r"\S")]
    text: String,
    /// The topic or question that it answers.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S")]
    key: Option<String>,
    /// A word for what sort of thing this is; `note` unless given.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$")]
    kind: Option<String>,
    /// `episodic` unless given.
    #[schema(value_type = Option<LayerWord>)]
    layer: Option<String>,
    /// `auto` unless given. `shared` and `both` need a policy that turns sharing on.
    #[schema(value_type = Option<TierWishWord>)]
    tier: Option<String>,
    /// `default` unless given.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$")]
    namespace: Option<String>,
    /// How strictly it is judged: as strictly as the tenant says, or more so.
    #[schema(value_type = Option<StrictnessWord>)]
    write_policy: Option<String>,
    /// What the writer claims; 0.5 unless given.
    #[schema(minimum = 0.0, maximum = 1.0)]
    confidence: Option<f64>,
    /// The same statement in three parts.
    triple: Option<TripleBody>,
    /// Named values: at most 64, nested at most 16 deep, at most 65,536 bytes together.
    #[schema(schema_with = named_values)]
    fields: Option<Map<String, Value>>,
    /// Words to find it by.
    #[schema(value_type = Option<Vec<TagText>>, max_items = 32)]
    tags: Option<Vec<String>>,
    /// How secret it is; `internal` unless given, and never less so than what it was made from.
    #[schema(value_type = Option<ClassificationWord>)]
    classification: Option<String>,
    /// The fields of knowledge that it belongs to.
    #[schema(value_type = Option<Vec<TagText>>, max_items = 16)]
    domains: Option<Vec<String>>,
    /// The tests that a procedure carries and must pass: 1 to 16 of `{name, expect}`, where `expect` is a JSON Schema over the
    /// content, or `{name, runner}`, which that runner reports on.
    #[schema(value_type = Option<Vec<Object>>, max_items = 16)]
    tests: Option<Vec<Value>>,
    /// The reports of runners on this very content; they are no part of it.
    #[schema(max_items = 16)]
    test_reports: Option<Vec<TestReportBody>>,
    /// What it rests on.
    #[schema(max_items = 32)]
    evidence: Option<Vec<EvidenceDraftBody>>,
    /// Names or ids of what was consulted.
    #[schema(value_type = Option<Vec<ReferenceText>>, max_items = 32)]
    resources: Option<Vec<String>>,
    /// The versions it was derived from.
    #[schema(value_type = Option<Vec<ReferenceText>>, max_items = 32)]
    derived_from: Option<Vec<String>>,
    /// Why this should be remembered.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    justification: Option<String>,
    /// The session it was learnt in.
    #[schema(min_length = 1, max_length = 128, pattern = r"\S")]
    session_id: Option<String>,
    /// The task it was learnt for.
    #[schema(min_length = 1, max_length = 128, pattern = r"\S")]
    task_id: Option<String>,
    /// What ties it to what was read before.
    #[schema(min_length = 1, max_length = 128, pattern = r"\S")]
    trace_id: Option<String>,
    /// The agent's own version.
    #[schema(max_length = 64, pattern = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+][ -~]*)?$")]
    agent_version: Option<String>,
    /// How long it lives, as an ISO 8601 duration of at most 1,000 years, such as PT2H, P30D or P1Y; by layer unless given.
    #[schema(
        pattern = "^P([1-9][0-9]{0,3}W|[1-9][0-9]{0,4}D)?(T([1-9][0-9]{0,4}H)?([1-9][0-9]{0,4}M)?([1-9][0-9]{0,4}S)?)?(?<=[WDHMS])$"
    )]
    ttl: Option<String>,
    /// The same id with the same content is a replay; with other content it is refused.
    #[schema(format = "uuid")]
    request_id: Option<String>,
    /// Must equal what the server computes over content, agent and layer.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    idempotency_token: Option<String>,
    /// Past it, nothing is written.
    #[schema(value_type = Option<TimeGivenText>)]
    deadline: Option<String>,
    /// The head that this replaces, by item or version.
    #[schema(value_type = Option<HeadIdText>)]
    supersedes: Option<String>,
    /// Must be the head.
    #[schema(value_type = Option<VersionIdText>)]
    expected_version: Option<String>,
    /// What becomes of it if it contradicts something known. Without it, a newer statement of the same user replaces the older
    /// one in that user's private memory; anything else waits for a person or is refused.
    #[schema(value_type = Option<OnConflictWord>)]
    on_conflict: Option<String>,
}

/// The ids that begin as was asked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ids)]
pub(crate) struct IdsBody {
    /// Each of them whole.
    pub(crate) ids: Vec<String>,
}

/// What a registered runner found.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestReport)]
#[expect(dead_code, reason = "as for WriteBody")]
pub(crate) struct TestReportBody {
    /// The name of the runner: that of the policy that registers it.
    #[schema(value_type = PolicyNameText)]
    runner: String,
    /// The SHA-256 of the canonical content that it tested, as a refusal or a review names it.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    content_hash: String,
    /// Whether every test passed.
    passed: bool,
    /// When: at most 15 minutes before the write.
    #[schema(value_type = TimeGivenText)]
    ran_at: String,
    /// Ed25519 over the canonical JSON (RFC 8785) of the fields above.
    #[schema(pattern = "^[0-9a-fA-F]{128}$")]
    signature: String,
}

fn named_values() -> Object {
    let kinds = SchemaType::from_iter([Type::Object, Type::Null]);
    ObjectBuilder::new().schema_type(kinds).max_properties(Some(64)).build()
}

/// A statement in three parts.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Triple)]
pub(crate) struct TripleBody {
    /// What it is about.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) subject: String,
    /// Which property.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) predicate: String,
    /// Its value.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) object: String,
}

/// A cited source, as a writer gives it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EvidenceDraft)]
#[expect(dead_code, reason = "as for WriteBody")]
pub(crate) struct EvidenceDraftBody {
    /// What sort of source.
    #[schema(value_type = SourceTypeWord)]
    source_type: String,
    /// Where it is.
    #[schema(min_length = 1, max_length = 2048, pattern = r"\S")]
    source_uri: String,
    /// Which edition of it.
    #[schema(min_length = 1, max_length = 128, pattern = r"\S")]
    source_version: Option<String>,
    /// When it was read.
    #[schema(value_type = TimeGivenText)]
    accessed_at: String,
    /// How much it counts; never above what its type allows.
    #[schema(minimum = 0.0, maximum = 1.0)]
    authority: Option<f64>,
    /// The words that support the statement: at most 16,384 bytes.
    #[schema(max_length = 16384)]
    excerpt: Option<String>,
    /// SHA-256 of those words, hex; it is checked.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    excerpt_hash: Option<String>,
    /// The item it quotes, for evidence from memory.
    #[schema(min_length = 1, max_length = 128, pattern = r"\S")]
    source_item_id: Option<String>,
}

/// The answer to a write: what it became, what it waits for, or that a person said no.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum WriteAnswer {
    /// It is memory.
    Written(WrittenBody),
    /// It waits.
    Deferred(DeferredBody),
    /// A person said no.
    Rejected(RejectedBody),
}

/// A write that is memory.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Written)]
pub(crate) struct WrittenBody {
    /// How it ended.
    #[schema(value_type = WriteStatusWord)]
    pub(crate) status: &'static str,
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Its version.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// How far it is trusted.
    #[schema(value_type = TrustWord)]
    pub(crate) trust: &'static str,
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
    /// The copy that others may see, where there is one beside the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ItemIdText>, nullable = false)]
    pub(crate) shared_id: Option<String>,
    /// The copy that others will see when the model that a policy requires has said it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PendingIdText>, nullable = false)]
    pub(crate) shared_pending_id: Option<String>,
    /// What is known and speaks against it: recorded, not held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) contradictions: Vec<ContradictionBody>,
    /// The statements whose place it took: they are history from now on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) superseded: Vec<SupersededBody>,
    /// The held write of the same author whose place it took: that review ended as withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReviewIdText>, nullable = false)]
    pub(crate) replaces_review: Option<String>,
}

/// A statement whose place a write took.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Superseded)]
pub(crate) struct SupersededBody {
    /// The item; a read of it with `as_of` shows the statement.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// The version that ended.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// What it said, where the caller may see it: at most 1,000 characters of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) text: Option<String>,
}

/// A write that waits, for a person or for its turn; nothing of it is memory yet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Deferred)]
pub(crate) struct DeferredBody {
    /// That it waits.
    #[schema(value_type = String, pattern = "^deferred$")]
    pub(crate) status: &'static str,
    /// What to ask for it by: a review, or a write that is tried again by itself.
    #[schema(value_type = PendingIdText)]
    pub(crate) pending_id: String,
    /// The id that it will have, for one that is kept apart (`CALIBRATION_STAGED`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ItemIdText>, nullable = false)]
    pub(crate) id: Option<String>,
    /// The gate that put it off.
    #[schema(value_type = GateWord)]
    pub(crate) gate: &'static str,
    /// Why, for programs.
    #[schema(value_type = CodeText)]
    pub(crate) code: &'static str,
    /// Why, for people.
    pub(crate) message: String,
    /// When it is tried again, for one that waits its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WaitText>, nullable = false)]
    pub(crate) retry_after: Option<String>,
    /// Nothing: a write that waits has no faults.
    pub(crate) errors: Vec<FaultBody>,
    /// What is known and speaks against it, where that is why it waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) contradictions: Vec<ContradictionBody>,
    /// The held write of the same author whose place it took: that review ended as withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReviewIdText>, nullable = false)]
    pub(crate) replaces_review: Option<String>,
}

/// What became of a held write: memory, or nothing.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = DecidedWrite)]
#[expect(dead_code, reason = "describes what of WriteAnswer a decision ends with")]
pub(crate) enum DecidedWriteBody {
    /// It is memory.
    Written(WrittenBody),
    /// A person said no.
    Rejected(RejectedBody),
}

/// A held write that a person refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejected)]
pub(crate) struct RejectedBody {
    /// That it was refused.
    #[schema(value_type = String, pattern = "^rejected$")]
    pub(crate) status: &'static str,
}

/// The answer to retract, rollback, pin and unpin.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Changed)]
pub(crate) struct ChangedBody {
    /// What was done.
    #[schema(value_type = String, pattern = "^(retracted|rolled_back_with_reactivation|rolled_back_no_predecessor|pinned|unpinned|quarantined|released)$")]
    pub(crate) status: &'static str,
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// The version concerned; after a reactivation, the new one.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// An item as one version shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct ItemBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// The topic or question that it answers.
    #[schema(required)]
    pub(crate) key: Option<String>,
    /// The statement.
    pub(crate) text: String,
    /// What sort of thing it is.
    pub(crate) kind: String,
    /// Its layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// Its tier.
    #[schema(value_type = TierWord)]
    pub(crate) tier: &'static str,
    /// Its namespace.
    pub(crate) namespace: String,
    /// What the writer claimed.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) confidence: f64,
    /// How far it is trusted.
    #[schema(value_type = TrustWord)]
    pub(crate) trust: &'static str,
    /// The same as a number, for those who audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) rho: Option<f64>,
    /// Named values.
    #[schema(value_type = Object)]
    pub(crate) fields: Map<String, Value>,
    /// Words to find it by.
    pub(crate) tags: Vec<String>,
    /// How secret it is.
    #[schema(value_type = ClassificationWord)]
    pub(crate) classification: &'static str,
    /// The fields of knowledge that it belongs to.
    pub(crate) domains: Vec<String>,
    /// The same statement in three parts.
    #[schema(required)]
    pub(crate) triple: Option<TripleBody>,
    /// What it rests on.
    pub(crate) evidence: Vec<EvidenceBody>,
    /// The version.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// How the version came to be.
    #[schema(value_type = OperationWord)]
    pub(crate) operation: &'static str,
    /// How it stands.
    #[schema(value_type = StatusWord)]
    pub(crate) status: &'static str,
    /// What it replaced.
    #[schema(value_type = Vec<VersionIdText>)]
    pub(crate) parents: Vec<String>,
    /// Contributing agents.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
    /// Consulted resources.
    #[schema(value_type = Vec<ResourceIdText>)]
    pub(crate) resources: Vec<String>,
    /// Whether the item is kept from garbage collection.
    pub(crate) pinned: bool,
    /// When the item was first written.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// When this version was.
    #[schema(value_type = TimeText)]
    pub(crate) updated_at: String,
    /// When it lapses.
    #[schema(value_type = Option<TimeText>, required)]
    pub(crate) expires_at: Option<String>,
    /// When a newer statement took its place, for one that is history.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) valid_until: Option<String>,
    /// Where in the log it was read.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
    /// What else the caller may see that speaks against it: of all that is known where one item is read, of the other results
    /// in a search. Only if there is any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) contradictions: Vec<ContradictionBody>,
    /// For a moderator: who contributed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ContributorBody>, nullable = false)]
    pub(crate) contributed_by: Option<ContributorBody>,
    /// For a moderator: the quarantine that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<QuarantineBody>, nullable = false)]
    pub(crate) quarantine: Option<QuarantineBody>,
    /// Its copy in the shared pool, for a private item that was shared as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ItemIdText>, nullable = false)]
    pub(crate) shared_id: Option<String>,
}

/// A cited source, as it is kept.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Evidence)]
pub(crate) struct EvidenceBody {
    /// What sort of source.
    #[schema(value_type = SourceTypeWord)]
    pub(crate) source_type: Value,
    /// Where it is.
    pub(crate) source_uri: String,
    /// Which edition of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_version: Option<String>,
    /// When it was read.
    #[schema(value_type = TimeText)]
    pub(crate) accessed_at: String,
    /// How much it counts.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) authority: f64,
    /// The words that support the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) excerpt: Option<String>,
    /// SHA-256 of those words, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) excerpt_hash: Option<String>,
    /// The item it quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_item_id: Option<String>,
}

/// One page of items.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ItemPage)]
pub(crate) struct ItemsBody {
    /// What is on it.
    pub(crate) items: Vec<ItemBody>,
    /// Where the next begins; `null` on the last.
    #[schema(value_type = Option<TokenText>, required)]
    pub(crate) next: Option<String>,
}

/// A version without its content.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Version)]
pub(crate) struct VersionBody {
    /// The version.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// How it came to be.
    #[schema(value_type = OperationWord)]
    pub(crate) operation: &'static str,
    /// How it stands now.
    #[schema(value_type = VersionStatusWord)]
    pub(crate) status: &'static str,
    /// What it replaced.
    #[schema(value_type = Vec<VersionIdText>)]
    pub(crate) parents: Vec<String>,
    /// Contributing agents.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
    /// Its number within its namespace and layer.
    pub(crate) layer_version: u64,
    /// When it was written.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// When it stopped being active.
    #[schema(value_type = Option<TimeText>, required)]
    pub(crate) ended_at: Option<String>,
    /// When a newer statement took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) valid_until: Option<String>,
    /// Where in the log it was written; good for `as_of`.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// The versions of an item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Versions)]
pub(crate) struct VersionsBody {
    /// All that the caller may see.
    pub(crate) versions: Vec<VersionBody>,
}

/// Which version to roll back, and why.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Rollback)]
pub(crate) struct RollbackBody {
    /// Must be the head; the head unless given.
    #[schema(value_type = Option<VersionIdText>)]
    pub(crate) version: Option<String>,
    /// Why.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) reason: Option<String>,
}

/// Why something is done.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Because)]
pub(crate) struct ReasonBody {
    /// Why.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) reason: Option<String>,
}

/// One line of a batch's answer: what a write answers, or a refusal with the status `rejected`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchResult)]
pub(crate) struct BatchLine {
    /// The line of the request, from 1.
    pub(crate) line: usize,
    /// How it ended, and what that adds.
    #[serde(flatten)]
    #[schema(value_type = BatchStatusBody)]
    pub(crate) outcome: BatchOutcome,
}

/// How a line ended.
#[derive(ToSchema)]
#[schema(as = BatchStatus)]
#[expect(dead_code, reason = "only the schema is used")]
pub(crate) struct BatchStatusBody {
    /// In a word.
    #[schema(pattern = "^(committed|merged|already_committed|deferred|rejected)$")]
    status: String,
}

/// The result of a line.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum BatchOutcome {
    /// It was taken.
    Taken(WriteAnswer),
    /// It was refused.
    Refused {
        /// Always `rejected`.
        status: &'static str,
        /// Why.
        #[serde(flatten)]
        refusal: RefusalBody,
    },
}
