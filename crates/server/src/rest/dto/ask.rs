//! Bodies of questions and of calls of resources.

use super::words::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_engine::reply::{AskQuery, AskReply, CallReply, TurnReply};
use utoipa::ToSchema;

/// A question for the agents of a user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ask)]
pub(crate) struct AskBody {
    /// The question.
    #[schema(min_length = 1, max_length = 2000, pattern = r"\S")]
    pub(crate) query: String,
    /// What the coordinator is told of the rounds before: `plan` (who was asked what, and whether they answered) unless given,
    /// or `full` (the answers too; then later answers count as made from all of them).
    #[schema(value_type = Option<HistoryWord>)]
    pub(crate) history: Option<String>,
    /// At most this many items of one's own, and as many of what is shared, for each turn; 10 unless given.
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) k: Option<u64>,
}

impl From<AskBody> for AskQuery {
    fn from(body: AskBody) -> Self {
        Self { query: body.query, history: body.history, k: body.k }
    }
}

/// The answer to a question.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answered)]
pub(crate) struct AnsweredBody {
    /// The answer.
    pub(crate) answer: String,
    /// Who was asked what, in order.
    pub(crate) turns: Vec<TurnBody>,
    /// Why it ended.
    #[schema(value_type = StoppedWord)]
    pub(crate) stopped: &'static str,
    /// What it took.
    pub(crate) usage: UsageBody,
}

/// One agent's part in an answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Turn)]
pub(crate) struct TurnBody {
    /// The agent.
    #[schema(value_type = AgentIdText)]
    pub(crate) agent: String,
    /// Its name.
    pub(crate) name: String,
    /// What it was asked.
    pub(crate) subquery: String,
    /// What it answered; null if nothing.
    pub(crate) answer: Option<String>,
    /// The items that went into it.
    #[schema(value_type = Vec<ItemIdText>)]
    pub(crate) items: Vec<String>,
    /// The resources that were called for it, by name.
    pub(crate) resources: Vec<String>,
    /// The item that the answer became; null if none.
    #[schema(value_type = Option<ItemIdText>)]
    pub(crate) written: Option<String>,
    /// How the write of it ended: the word of its status, the code of its refusal, or `none` where nothing was to be written.
    pub(crate) write: &'static str,
}

/// What an answer took.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageBody {
    /// Distinct agents.
    pub(crate) agents: u64,
    /// Calls of resources.
    pub(crate) resource_calls: u64,
    /// Items of one's own that went into it.
    pub(crate) hits_private: u64,
    /// Shared items that went into it.
    pub(crate) hits_shared: u64,
}

impl From<TurnReply> for TurnBody {
    fn from(turn: TurnReply) -> Self {
        Self {
            agent: turn.agent.to_string(),
            name: turn.name,
            subquery: turn.subquery,
            answer: turn.answer,
            items: turn.items.iter().map(ToString::to_string).collect(),
            resources: turn.resources,
            written: turn.written.map(|id| id.to_string()),
            write: turn.write,
        }
    }
}

impl From<AskReply> for AnsweredBody {
    fn from(reply: AskReply) -> Self {
        let usage = reply.usage;
        Self {
            answer: reply.answer,
            turns: reply.turns.into_iter().map(Into::into).collect(),
            stopped: reply.stopped.as_str(),
            usage: UsageBody {
                agents: usage.agents,
                resource_calls: usage.resource_calls,
                hits_private: usage.hits_private,
                hits_shared: usage.hits_shared,
            },
        }
    }
}

/// What a resource is called with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResourceCall)]
pub(crate) struct ResourceCallBody {
    /// The arguments, as its schema has them.
    #[schema(value_type = Object)]
    pub(crate) args: Map<String, Value>,
    /// The piece of work that this belongs to: what is written with the same `trace_id` counts as made from the answer.
    #[schema(min_length = 1, max_length = 256)]
    pub(crate) trace_id: Option<String>,
}

/// What a resource answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResourceAnswer)]
pub(crate) struct ResourceAnswerBody {
    /// The resource.
    #[schema(value_type = ResourceIdText)]
    pub(crate) resource: String,
    /// Its name.
    pub(crate) name: String,
    /// Its answer, as it came.
    #[schema(value_type = Value)]
    pub(crate) result: Value,
}

impl From<CallReply> for ResourceAnswerBody {
    fn from(reply: CallReply) -> Self {
        Self { resource: reply.resource.to_string(), name: reply.name, result: reply.result }
    }
}
