//! What questions and calls of resources answer.

use serde_json::Value;
use tabellion_core::id::{AgentId, ItemId, ResourceId};
use tabellion_core::orchestrate::Stopped;

/// A question for the agents of a user.
#[derive(Debug, Clone, Default)]
pub struct AskQuery {
    /// The question.
    pub query: String,
    /// What the coordinator is told of the rounds before, by its word.
    pub history: Option<String>,
    /// At most this many items of one's own, and as many of what is shared, for each turn.
    pub k: Option<u64>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct AskReply {
    /// The answer.
    pub answer: String,
    /// Who was asked what, in order.
    pub turns: Vec<TurnReply>,
    /// Why it ended.
    pub stopped: Stopped,
    /// What it took.
    pub usage: Usage,
}

/// One agent's part in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReply {
    /// The agent.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// What it was asked.
    pub subquery: String,
    /// What it answered, if anything.
    pub answer: Option<String>,
    /// The items that went into it.
    pub items: Vec<ItemId>,
    /// The resources that were called for it, by name.
    pub resources: Vec<String>,
    /// The item that the answer became.
    pub written: Option<ItemId>,
    /// How the write of it ended: the word of its status, the code of its refusal, or `none`.
    pub write: &'static str,
}

/// What an answer took (SHARE-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Distinct agents.
    pub agents: u64,
    /// Calls of resources.
    pub resource_calls: u64,
    /// Items of one's own that went into it.
    pub hits_private: u64,
    /// Shared items that went into it.
    pub hits_shared: u64,
}

/// What a resource answered.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReply {
    /// The resource.
    pub resource: ResourceId,
    /// Its name.
    pub name: String,
    /// Its answer.
    pub result: Value,
}
