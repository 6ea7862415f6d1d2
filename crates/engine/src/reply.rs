//! What operations answer: plain data, ready for any transport.

mod access;
mod allowance;
mod ask;
mod governed;
mod relations;
mod roles;
mod trail;
mod trust;

pub use access::{EdgeReply, EdgeTerms, ExplainReply, Hindrance, PairToken, WhoReply};
pub use allowance::{Allowance, Used};
pub use ask::{AskQuery, AskReply, CallReply, TurnReply, Usage};
pub use governed::{
    Contributed, Decided, Feedback, Flag, Ground, HoldReply, KeptReply, LeftPrivate, QuarantineReply,
    Quarantined, Reverified, RevertQuery, Reverted, RevertedItem, ReviewReply, Skipped, Superseded, Verdict,
};
pub use relations::{PathReply, PathsQuery, PathsReply, StepReply};
pub use roles::{MemberReply, RoleDraft, RoleReply};
pub use tabellion_core::trust::Band as TrustBand;
pub use trail::{AuditQuery, AuditRow};
pub use trust::{
    AuditorTrust, ItemTrust, RoundDraft, RoundReply, SpaceTrust, StagedWriteTrust, TrustNumbers, TrustQuery,
    TrustReply,
};

use tabellion_core::access::Role;
use tabellion_core::canonical::Hash;
use tabellion_core::error::Code;
use tabellion_core::gate::{Against, GateName};
use tabellion_core::id::{
    AgentId, ItemId, KeyId, ResourceId, ReviewId, SearchId, TenantId, UserId, VersionId,
};
use tabellion_core::item::{Content, Layer, Operation, Status, Tier};
use tabellion_core::log::{AgentStatus, LogName, ResourceStatus, SignedHead, UserStatus};
use tabellion_core::provenance::Evidence;
use tabellion_core::time::{Period, Timestamp};

/// The word for what is in quarantine.
pub const QUARANTINED: &str = "quarantined";

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteStatus {
    /// A new version is durable.
    Committed,
    /// What it says was added to an item that said the same.
    Merged,
    /// The same write was durable already.
    AlreadyCommitted,
    /// It was durable already, and is in quarantine: nobody finds it.
    Quarantined,
    /// It waits: for a person, or for its turn.
    Deferred,
    /// A person said no.
    Rejected,
}

impl WriteStatus {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Merged => "merged",
            Self::AlreadyCommitted => "already_committed",
            Self::Quarantined => QUARANTINED,
            Self::Deferred => "deferred",
            Self::Rejected => "rejected",
        }
    }
}

/// The answer to a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// How it ended.
    pub status: WriteStatus,
    /// The item; none while the write waits.
    pub id: Option<ItemId>,
    /// Its version.
    pub version: Option<VersionId>,
    /// How far it is trusted.
    pub trust: TrustBand,
    /// Where in the log, sealed for the caller.
    pub token: Option<String>,
    /// What a write that waits is waiting for.
    pub deferral: Option<Deferral>,
    /// The copy that others may see, where there is one beside the item.
    pub shared: Option<ItemId>,
    /// The copy for others that follows when a model has said it anew.
    pub owed: Option<Deferral>,
    /// What it speaks against and was committed beside all the same.
    pub against: Vec<Against>,
    /// The statements whose place it took.
    pub superseded: Vec<Superseded>,
    /// The held write of the same author whose place it took: that ended as withdrawn.
    pub replaces: Option<ReviewId>,
}

/// What a write waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Deferral {
    /// What to ask for it by: a review, or a write that is tried again.
    pub pending_id: String,
    /// The gate that put it off.
    pub gate: GateName,
    /// Why, for programs.
    pub code: Code,
    /// Why, for people.
    pub message: String,
    /// When it is tried again, for one that waits its turn.
    pub retry_after: Option<Period>,
}

/// What was done to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    /// Its head was retracted.
    Retracted,
    /// The head went, the version before it is back.
    RolledBackWithReactivation,
    /// The head went, and nothing was before it.
    RolledBackNoPredecessor,
    /// It is kept from garbage collection.
    Pinned,
    /// It no longer is.
    Unpinned,
    /// It is kept and not retrievable.
    Quarantined,
    /// It is retrievable again.
    Released,
}

impl ChangeStatus {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retracted => "retracted",
            Self::RolledBackWithReactivation => "rolled_back_with_reactivation",
            Self::RolledBackNoPredecessor => "rolled_back_no_predecessor",
            Self::Pinned => "pinned",
            Self::Unpinned => "unpinned",
            Self::Quarantined => "quarantined",
            Self::Released => "released",
        }
    }
}

/// The answer to retract, rollback, pin and unpin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What was done.
    pub status: ChangeStatus,
    /// The item.
    pub id: ItemId,
    /// The version concerned; after a reactivation, the new one.
    pub version: VersionId,
    /// Where in the log, sealed for the caller.
    pub token: String,
}

/// An item as one version shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemReply {
    /// The item.
    pub id: ItemId,
    /// The version.
    pub version: VersionId,
    /// What it says.
    pub content: Content,
    /// Its layer.
    pub layer: Layer,
    /// Its tier.
    pub tier: Tier,
    /// Its namespace.
    pub namespace: String,
    /// What the writer claimed.
    pub confidence: f64,
    /// How far it is trusted.
    pub trust: TrustBand,
    /// The same as a number, for those who audit.
    pub rho: Option<f64>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// How the version came to be.
    pub operation: Operation,
    /// How it stands.
    pub status: Status,
    /// What it replaced.
    pub parents: Vec<VersionId>,
    /// Contributing agents.
    pub agents: Vec<AgentId>,
    /// Consulted resources.
    pub resources: Vec<ResourceId>,
    /// Whether the item is pinned.
    pub pinned: bool,
    /// When the item was first written.
    pub created_at: Timestamp,
    /// When this version was.
    pub updated_at: Timestamp,
    /// When it lapses.
    pub expires_at: Option<Timestamp>,
    /// When a newer statement took its place, for one that is history.
    pub valid_until: Option<Timestamp>,
    /// Where in the log it was read, sealed for the caller.
    pub token: String,
    /// Whether a policy changed what it says.
    pub transformed: bool,
    /// What else the caller may see that speaks against it: of all that is known where one item is read, of the other results
    /// in a search.
    pub against: Vec<Against>,
    /// For a moderator: who contributed it, and the quarantine that it is in.
    pub contributed: Option<Box<Contributed>>,
    /// The copy in the shared pool of a private item, if the caller may see that.
    pub shared: Option<ItemId>,
}

/// A version without its content.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionReply {
    /// The version.
    pub version: VersionId,
    /// How it came to be.
    pub operation: Operation,
    /// How it stands now.
    pub status: Status,
    /// Whether it would be found if its item were not in quarantine.
    pub quarantined: bool,
    /// What it replaced.
    pub parents: Vec<VersionId>,
    /// Contributing agents.
    pub agents: Vec<AgentId>,
    /// Its number within its owner's namespace and layer.
    pub layer_version: u64,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it stopped being active.
    pub ended_at: Option<Timestamp>,
    /// When a newer statement took its place.
    pub valid_until: Option<Timestamp>,
    /// Where in the log it was written, sealed for the caller; good for `as_of`.
    pub token: String,
}

impl VersionReply {
    /// The word for how it stands.
    #[must_use]
    pub const fn standing(&self) -> &'static str {
        if self.quarantined { QUARANTINED } else { self.status.as_str() }
    }
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// What is on it.
    pub rows: Vec<T>,
    /// Where the next begins, sealed for the caller.
    pub next: Option<String>,
}

/// What a listing is asked for.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only this layer, by its word.
    pub layer: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
    /// Where the page before said to go on.
    pub cursor: Option<String>,
    /// Only what is in quarantine, which moderators alone see.
    pub quarantined: bool,
}

/// What a search is asked for.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// Words; a quoted run of them is looked for as it stands.
    pub query: Option<String>,
    /// What is meant, as a vector of the server's model, in place of what the words mean.
    pub vector: Option<Vec<f32>>,
    /// At most this many results.
    pub k: Option<u64>,
    /// The piece of work that it belongs to, where the call names none.
    pub trace_id: Option<String>,
    /// Only this tier, by its word.
    pub tier: Option<String>,
    /// At most this many of one's own and, beside them, ...
    pub k_user: Option<u64>,
    /// ... at most this many of what is shared; in place of `k`.
    pub k_cross: Option<u64>,
    /// `hybrid`, `dense`, `lexical` or `graph`.
    pub mode: Option<String>,
    /// Only these layers, by their words.
    pub layers: Vec<String>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// As it stood at this time or token.
    pub as_of: Option<String>,
    /// Not before the views hold this token's position.
    pub min_token: Option<String>,
    /// Whether every vector that may be seen is compared, whatever it costs.
    pub exact: bool,
    /// What a hybrid search leaves out, by its words.
    pub without: Vec<String>,
    /// How much results should differ from each other, 0 to 1.
    pub diversity: Option<f64>,
    /// Whether it is work that everyone who takes part may see, so that it may say something of what is shared (SHARE-45).
    pub shared_work: bool,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The item.
    pub item: ItemReply,
    /// What results are ordered by.
    pub score: f64,
    /// How well it fits the query, 0 to 1.
    pub relevance: f64,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchReply {
    /// Best first.
    pub results: Vec<Found>,
    /// How it was searched.
    pub mode: &'static str,
    /// What its outcome is reported under.
    pub search: SearchId,
    /// Where in the log, sealed for the caller.
    pub token: String,
}

/// What came of a search.
#[derive(Debug, Clone, Default)]
pub struct OutcomeReport {
    /// The search, as its reply called it.
    pub search: String,
    /// The items that were used, of those that it found.
    pub used: Vec<String>,
    /// Whether what they were used for succeeded, if that is known.
    pub success: Option<bool>,
}

/// An outcome as it was noted.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeReply {
    /// The search.
    pub search: String,
    /// How many items it had found.
    pub retrieved: u64,
    /// How many of them were used.
    pub used: u64,
    /// The share that was used.
    pub precision: f64,
}

/// A user, as admins see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserReply {
    /// Its id.
    pub id: UserId,
    /// Its name.
    pub name: String,
    /// What it may administer.
    pub role: Role,
    /// Whether it may act.
    pub status: UserStatus,
    /// Since when.
    pub created_at: Timestamp,
}

/// An agent to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewAgent {
    /// Its name, unlike any other agent's.
    pub name: String,
    /// What it is good at.
    pub specialisation: Option<String>,
    /// Its family of models, such as `gpt` or `llama`: agents of one family may share their mistakes (CAL-38).
    pub family: Option<String>,
    /// Whether its own word on what it used is taken.
    pub trust_declared: bool,
}

/// An agent, as admins see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReply {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// What it is good at.
    pub specialisation: Option<String>,
    /// Its family of models, where it is known.
    pub family: Option<String>,
    /// Whether its own word on what it used is taken.
    pub trust_declared: bool,
    /// Whether it works.
    pub status: AgentStatus,
    /// That it may not write, if so.
    pub suspended: Option<SuspensionReply>,
    /// Since when.
    pub created_at: Timestamp,
    /// For which users its writes are held or suspended now.
    pub holds: Vec<HoldReply>,
}

/// Who suspended an agent, when and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspensionReply {
    /// The user; none if the server did by itself.
    pub by: Option<(UserId, String)>,
    /// Since when.
    pub since: Timestamp,
    /// Why; none if nobody said so.
    pub reason: Option<String>,
}

/// A resource, as admins see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceReply {
    /// Its id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
    /// What sort it is.
    pub kind: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Whether it can be used.
    pub status: ResourceStatus,
    /// Since when.
    pub created_at: Timestamp,
}

/// A credential without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReply {
    /// Its id.
    pub id: KeyId,
    /// For which user.
    pub user: Option<UserId>,
    /// For which agent.
    pub agent: Option<AgentId>,
    /// Since when.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A new credential; its secret is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The credential.
    pub key: KeyReply,
    /// The secret.
    pub secret: String,
    /// Whether the key brought the edge from its user to its agent, which was not granted by itself before.
    pub granted: bool,
}

/// The end of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokedKey {
    /// The credential.
    pub id: KeyId,
    /// Where in the log, sealed for the caller.
    pub token: String,
}

/// A new tenant; its admin's secret is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTenant {
    /// The tenant.
    pub id: TenantId,
    /// Its name.
    pub name: String,
    /// The secret of its admin's key.
    pub admin_key: String,
}

/// Who the caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhoAmI {
    /// The tenant.
    pub tenant: TenantId,
    /// The user and its name.
    pub user: (UserId, String),
    /// The agent and its name.
    pub agent: (AgentId, String),
    /// What the user may administer.
    pub role: Role,
    /// How much the user may write through the agent, and how much of it is used.
    pub allowance: Allowance,
    /// Whether writes of the two are held or suspended now, why and until when.
    pub holds: Vec<HoldReply>,
    /// Who suspended the agent for everybody, when and why, if it may not write.
    pub suspended: Option<SuspensionReply>,
}

/// A signed head and the key that confirms it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadReply {
    /// Which log.
    pub log: LogName,
    /// Whose.
    pub tenant: TenantId,
    /// The head.
    pub signed: SignedHead,
    /// Ed25519 public key.
    pub public_key: Hash,
}

/// That an entry is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionReply {
    /// Which log.
    pub log: LogName,
    /// The entry.
    pub lsn: u64,
    /// The size of the tree.
    pub size: u64,
    /// The entry's hash.
    pub leaf: Hash,
    /// Its siblings, from the leaf up.
    pub path: Vec<Hash>,
    /// The root.
    pub root: Hash,
}

/// That one log is the beginning of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyReply {
    /// Which log.
    pub log: LogName,
    /// The earlier size.
    pub from: u64,
    /// The later size.
    pub to: u64,
    /// The proof.
    pub path: Vec<Hash>,
    /// The earlier root.
    pub from_root: Hash,
    /// The later root.
    pub to_root: Hash,
}

/// What a verification found in one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogReport {
    /// Which log.
    pub log: LogName,
    /// Entries found.
    pub size: u64,
    /// Root over them.
    pub root: Hash,
    /// What is wrong; nothing, in a good log.
    pub faults: Vec<LogFault>,
    /// What was lost before, as the log records it: the operator started the server without.
    pub losses: Vec<LogFault>,
}

/// One thing wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// The entry, where one can be named.
    pub lsn: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// What a verification found for one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// The tenant.
    pub tenant: TenantId,
    /// Its name, where its keys open it.
    pub name: Option<String>,
    /// Both logs.
    pub logs: Vec<LogReport>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.logs.iter().all(|log| log.faults.is_empty())
    }
}
