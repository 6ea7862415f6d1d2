//! What is asked and answered of the trail.

use tabellion_core::id::{AgentId, UserId};
use tabellion_core::time::Timestamp;

/// What of the trail is asked for.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only this action.
    pub action: Option<String>,
    /// Only what this user did, by name or id.
    pub user: Option<String>,
    /// Only what was done through this agent, by name or id.
    pub agent: Option<String>,
    /// Only what concerned this item, or what else has this id.
    pub item: Option<String>,
    /// Only from this time on, as people name it.
    pub since: Option<String>,
    /// Only before this time.
    pub until: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
    /// Where the page before said to go on.
    pub cursor: Option<String>,
}

/// One row of the trail, newest first in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When.
    pub time: Timestamp,
    /// Who.
    pub user: Option<UserId>,
    /// Through what.
    pub agent: Option<AgentId>,
    /// Did what.
    pub action: String,
    /// How it ended.
    pub outcome: String,
    /// What it concerned.
    pub ids: Vec<String>,
    /// Why, where a reason was given; not to others for what a user keeps to themselves.
    pub reason: Option<String>,
    /// For auditors, where a reason is given and one item is concerned: who contributed that.
    pub author: Option<(UserId, Option<AgentId>)>,
    /// The request.
    pub request_id: Option<String>,
    /// The access epoch under which it was decided.
    pub epoch: u64,
    /// The policies of sharing that shaped it, or the one that it set or removed: the name of each, and which version of it.
    pub policies: Vec<(String, u32)>,
    /// Whether they changed what was kept or sent.
    pub transformed: bool,
    /// Its place in the audit log; auditors only.
    pub lsn: Option<u64>,
}
