//! Questions and calls of resources as messages.

use super::answer::{from_json, texts};
use super::convert::object;
use super::proto;
use serde_json::{Map, Value};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_engine::reply;

impl From<proto::AskRequest> for reply::AskQuery {
    fn from(asked: proto::AskRequest) -> Self {
        Self { query: asked.query, history: asked.history, k: asked.k }
    }
}

impl From<reply::AskReply> for proto::AskReply {
    fn from(reply: reply::AskReply) -> Self {
        let turn = |turn: reply::TurnReply| proto::Turn {
            agent: turn.agent.to_string(),
            name: turn.name,
            subquery: turn.subquery,
            answer: turn.answer,
            items: texts(&turn.items),
            resources: turn.resources,
            written: turn.written.map(|id| id.to_string()),
            write: turn.write.to_owned(),
        };
        let usage = reply.usage;
        Self {
            answer: reply.answer,
            turns: reply.turns.into_iter().map(turn).collect(),
            stopped: reply.stopped.as_str().to_owned(),
            usage: Some(proto::Usage {
                agents: usage.agents,
                resource_calls: usage.resource_calls,
                hits_private: usage.hits_private,
                hits_shared: usage.hits_shared,
            }),
        }
    }
}

/// The arguments of a call.
pub(super) fn arguments(given: Option<prost_types::Struct>) -> Result<Map<String, Value>, Refusal> {
    let mut faults = Vec::new();
    let args = given.map(|given| object(given, &mut faults)).unwrap_or_default();
    if faults.is_empty() {
        return Ok(args);
    }
    let fault = Fault::new("/args", Code::ConstraintViolation, "numbers that JSON can carry");
    Err(Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /args").with(vec![fault]))
}

impl From<reply::CallReply> for proto::CallResourceReply {
    fn from(reply: reply::CallReply) -> Self {
        Self { resource: reply.resource.to_string(), name: reply.name, result: Some(from_json(reply.result)) }
    }
}
