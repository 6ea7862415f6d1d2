//! What is asked and answered of the trail.

use tabellion_core::id::{AgentId, UserId};
use tabellion_core::time::Timestamp;

/// What of the trail is asked for.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only this action.
    pub action: Option<String>,
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
    /// Why, for what moderators do and what is done about agents and items.
    pub reason: Option<String>,
    /// For auditors, where a reason is given and one item is concerned: who contributed that.
    pub author: Option<(UserId, Option<AgentId>)>,
    /// The request.
    pub request_id: Option<String>,
    /// The access epoch under which it was decided.
    pub epoch: u64,
    /// The policies of sharing that shaped it: the name of each, and which version of it held.
    pub policies: Vec<(String, u32)>,
    /// Whether they changed what was kept or sent.
    pub transformed: bool,
    /// Its place in the audit log; auditors only.
    pub lsn: Option<u64>,
}
