//! What the operations of governance answer.

use super::{Changed, TrustBand};
use tabellion_core::error::Code;
use tabellion_core::gate::{Hold, OnConflict};
use tabellion_core::id::{AgentId, ItemId, ReviewId, UserId, VersionId};
use tabellion_core::item::{Layer, TierWish};
use tabellion_core::log::{Decision, PairAction, Recheck};
use tabellion_core::time::Timestamp;
use tabellion_core::view::ReviewState;

/// A statement whose place a write took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superseded {
    /// The item.
    pub item: ItemId,
    /// The version that ended.
    pub version: VersionId,
    /// What it said, where the caller may see it.
    pub text: Option<String>,
}

/// A write that is not memory: put off, or refused.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptReply {
    /// What to ask for it by.
    pub id: String,
    /// The body of the write.
    pub write: serde_json::Value,
    /// The gate that refused it.
    pub gate: Option<String>,
    /// Why, for programs.
    pub code: Option<String>,
    /// Why, for people.
    pub message: Option<String>,
    /// When it is tried again; none for a refused one.
    pub due: Option<Timestamp>,
    /// When it came.
    pub made: Timestamp,
    /// When it is forgotten.
    pub ends: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
}

/// A held write as those see it who may.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewReply {
    /// The review.
    pub id: ReviewId,
    /// How it stands.
    pub state: ReviewState,
    /// Whether the writer waits.
    pub hold: Hold,
    /// R.
    pub risk: f64,
    /// How far it could be trusted so far, where it was held against what is known (CAL-41).
    pub trust: Option<TrustBand>,
    /// The body of the write.
    pub write: serde_json::Value,
    /// What the gates found: factors of the risk, causes, contradictions, what it proposes.
    pub findings: serde_json::Value,
    /// SHA-256 of the canonical content, hex: what a decision binds to.
    pub content_hash: String,
    /// Its layer.
    pub layer: Layer,
    /// The tier that its author asked for.
    pub tier: TierWish,
    /// Whether others would see it, or a copy of it.
    pub for_others: bool,
    /// Whose it would be.
    pub owner: UserId,
    /// The agent that wrote it.
    pub agent: AgentId,
    /// The item whose head it would replace.
    pub item: Option<ItemId>,
    /// When it came.
    pub created_at: Timestamp,
    /// By when a person should decide.
    pub deadline: Timestamp,
    /// Whether that has passed.
    pub overdue: bool,
    /// Who said yes so far.
    pub approvals: Vec<UserId>,
    /// How many must.
    pub approvals_min: u32,
    /// The version that it became.
    pub version: Option<VersionId>,
    /// How it was decided.
    pub decision: Option<Decision>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// Who decided, or withdrew it; nobody if time did or others bore it out.
    pub decided_by: Option<UserId>,
}

/// On what ground a person says no (GOV-6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ground {
    /// It is false.
    Falsehood,
    /// It may be true, but breaks a rule.
    Violation,
    /// Another one.
    #[default]
    Other,
}

/// A decision on a held write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Yes or no.
    pub approve: bool,
    /// Why.
    pub reason: String,
    /// For a no: on what ground.
    pub ground: Ground,
    /// The content that it is about, if the reviewer wants to be sure.
    pub content_hash: Option<String>,
    /// For a yes: what becomes of what the write contradicts; as the write asked unless given.
    pub on_conflict: Option<OnConflict>,
}

/// Who contributed an item, and the quarantine that it is in, as moderators are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contributed {
    /// The user, and their name.
    pub user: (UserId, String),
    /// The agent that wrote it, and its name.
    pub agent: Option<(AgentId, String)>,
    /// The quarantine, if it is in one.
    pub quarantine: Option<QuarantineReply>,
}

/// Who put an item under quarantine, when and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineReply {
    /// The user, and their name; none if the server did by itself.
    pub by: Option<(UserId, String)>,
    /// Since when.
    pub since: Timestamp,
    /// Why; none if nobody said so.
    pub reason: Option<String>,
}

/// What of an agent's writes is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertQuery {
    /// Only what it wrote for this user, by name or id.
    pub user: Option<String>,
    /// What was written from then on.
    pub since: Timestamp,
    /// What was written before then.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
    /// Whether only to say what would be taken back.
    pub dry_run: bool,
    /// Whether what the agent wrote was found false, which counts against its pairs; unless given, it was for the user who is
    /// named, and for nobody if none is.
    pub found_false: Option<bool>,
}

/// An item that reverting would take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertedItem {
    /// The item.
    pub id: ItemId,
    /// The user who contributed it, and their name.
    pub user: (UserId, String),
    /// The agent that wrote it, and its name.
    pub agent: Option<(AgentId, String)>,
    /// What it says, shortened; none if a policy hides it.
    pub text: Option<String>,
    /// Whether it is there because it derives from what the agent wrote.
    pub derived: bool,
}

/// What people said of an agent's writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// The agent.
    pub agent: AgentId,
    /// The share of its writes that proved correct, once there are enough.
    pub reputation: Option<f64>,
    /// Held writes by how they were decided, by layer.
    pub decided: Vec<(Layer, u64, u64)>,
    /// The same by layer and topic: the busiest first, at most twenty.
    pub topics: Vec<Decided>,
    /// The latest refusals by people, newest first.
    pub rejections: Vec<ReviewReply>,
}

/// Held writes about one thing, by how they were decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Their layer.
    pub layer: Layer,
    /// What they are about: the subject of the triple, else the key, else the kind.
    pub topic: String,
    /// How many people said yes to.
    pub approved: u64,
    /// How many people said no to.
    pub rejected: u64,
}

/// The answer to quarantine and release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// What was done.
    pub changed: Changed,
    /// The items that derive from it and should be looked at again.
    pub dependents: Vec<ItemId>,
}

/// An item that did not stand when it was verified again: a person should look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The item.
    pub item: ItemId,
    /// Its head.
    pub version: VersionId,
    /// Its layer.
    pub layer: Layer,
    /// Why.
    pub finding: Recheck,
    /// Since when.
    pub since: Timestamp,
}

/// What a round of verifying again found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reverified {
    /// How many were looked at.
    pub checked: u64,
    /// How many stand.
    pub passed: u64,
    /// How many do not.
    pub failed: u64,
    /// How many rest on evidence that has grown too old.
    pub aged: u64,
    /// Those of the last two that the caller may see.
    pub flagged: Vec<Flag>,
    /// Where to go on; nothing at the end.
    pub next: Option<String>,
}

/// An item that reverting left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The item.
    pub id: ItemId,
    /// Why.
    pub code: Code,
    /// The same in words.
    pub message: String,
}

/// Private writes of an agent for a user, which a revert by another one leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftPrivate {
    /// The user, and their name.
    pub user: (UserId, String),
    /// How many hold.
    pub count: usize,
}

/// What was, or would be, taken back of an agent's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// Items that the agent wrote in the period.
    pub written: Vec<ItemId>,
    /// Items that derive from those.
    pub derived: Vec<ItemId>,
    /// How many were retracted.
    pub retracted: usize,
    /// How many went back to a version that neither the agent wrote in the period nor derives from such a one.
    pub rolled_back: usize,
    /// Those that were left as they are; the same call again tries them anew.
    pub skipped: Vec<Skipped>,
    /// The oldest of them with their texts and users, as they were.
    pub items: Vec<RevertedItem>,
    /// How many items that rest on them, and that the caller may see, were flagged.
    pub flagged: usize,
    /// What the agent wrote for the private memory of others, which nobody but those takes back.
    pub private: Vec<LeftPrivate>,
    /// How many held writes were, or would be, ended.
    pub held: usize,
    /// How many queued writes were, or would be, ended.
    pub queued: usize,
    /// Whether nothing was done.
    pub dry_run: bool,
}

impl Reverted {
    /// The answer about these items, of which none is taken back yet.
    pub(crate) const fn of(written: Vec<ItemId>, derived: Vec<ItemId>) -> Self {
        Self {
            written,
            derived,
            retracted: 0,
            rolled_back: 0,
            skipped: Vec::new(),
            items: Vec::new(),
            flagged: 0,
            private: Vec::new(),
            held: 0,
            queued: 0,
            dry_run: false,
        }
    }
}

/// That writes of an agent for a user are unlike those before, and what becomes of them (AM-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldReply {
    /// The user, and their name.
    pub user: (UserId, String),
    /// Whether each waits for a person or is refused.
    pub action: PairAction,
    /// What is unlike before, or how few of its writes proved correct.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// When it ends by itself.
    pub until: Timestamp,
}
