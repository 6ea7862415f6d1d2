//! The access graphs, between the engine's words and the wire's.

use super::texts;
use crate::rest::dto::*;
use tabellion_core::id::ItemId;
use tabellion_engine::reply::{EdgeReply, EdgeTerms, ExplainReply, Hindrance, WhoReply};

impl From<GrantBody> for EdgeTerms {
    fn from(body: GrantBody) -> Self {
        Self { not_before: body.not_before, expires_at: body.expires_at, reason: body.reason }
    }
}

impl From<EdgeReply> for EdgeBody {
    fn from(reply: EdgeReply) -> Self {
        let (source, target) = reply.edge.ends();
        Self {
            graph: reply.edge.graph(),
            source,
            target,
            support: reply.support.to_string(),
            since: reply.since.map(|time| time.to_string()),
            not_before: reply.not_before.map(|time| time.to_string()),
            expires_at: reply.expires_at.map(|time| time.to_string()),
        }
    }
}

impl From<Vec<EdgeReply>> for EdgesBody {
    fn from(edges: Vec<EdgeReply>) -> Self {
        Self { edges: edges.into_iter().map(Into::into).collect() }
    }
}

impl From<Vec<WhoReply>> for WhoSeesBody {
    fn from(pairs: Vec<WhoReply>) -> Self {
        let pair = |who: WhoReply| SeeingBody { user: who.user.to_string(), agents: texts(&who.agents) };
        Self { pairs: pairs.into_iter().map(pair).collect() }
    }
}

impl From<Vec<ItemId>> for WhatIsSeenBody {
    fn from(items: Vec<ItemId>) -> Self {
        Self { items: texts(&items) }
    }
}

impl From<ExplainReply> for ExplanationBody {
    fn from(reply: ExplainReply) -> Self {
        let hindrance = |one: Hindrance| HindranceBody { reason: one.as_str(), id: one.id() };
        Self {
            id: reply.item.to_string(),
            version: reply.version.to_string(),
            visible: reply.visible,
            tier: reply.tier.as_str(),
            agents: texts(&reply.agents),
            resources: texts(&reply.resources),
            hindrances: reply.hindrances.into_iter().map(hindrance).collect(),
        }
    }
}
