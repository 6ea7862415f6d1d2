//! The access graphs as messages.

use super::answer::texts;
use super::call::Memory;
use super::govern::Token;
use super::proto;
use tabellion_core::id::ItemId;
use tabellion_core::log::{AgentStatus, ResourceStatus, UserStatus};
use tabellion_engine::reply;
use tonic::{Request, Response, Status};

impl Memory {
    /// Sets the status of the agent that a request names, for the reason that it gives.
    pub(super) async fn set_agent<Q: Send>(
        &self,
        request: Request<Q>,
        status: AgentStatus,
        parts: fn(Q) -> (String, String),
    ) -> Result<Response<proto::SetReply>, Status> {
        self.answer(request, |engine, call, asked| async move {
            let (id, reason) = parts(asked);
            engine.set_agent_status(&call, &id, status, Some(reason)).await.map(Token)
        })
        .await
    }

    /// Sets the status of the resource that a request names, for the reason that it gives.
    pub(super) async fn set_resource<Q: Send>(
        &self,
        request: Request<Q>,
        status: ResourceStatus,
        parts: fn(Q) -> (String, String),
    ) -> Result<Response<proto::SetReply>, Status> {
        self.answer(request, |engine, call, asked| async move {
            let (id, reason) = parts(asked);
            engine.set_resource_status(&call, &id, status, Some(reason)).await.map(Token)
        })
        .await
    }

    /// Sets the status of the user that a request names, for the reason that it gives.
    pub(super) async fn set_user<Q: Send>(
        &self,
        request: Request<Q>,
        status: UserStatus,
        parts: fn(Q) -> (String, String),
    ) -> Result<Response<proto::User>, Status> {
        self.answer(request, |engine, call, asked| async move {
            let (id, reason) = parts(asked);
            engine.set_user_status(&call, &id, status, &reason).await
        })
        .await
    }
}

/// On what terms an edge is granted.
pub(super) fn terms(
    not_before: Option<String>,
    expires_at: Option<String>,
    reason: Option<String>,
) -> reply::EdgeTerms {
    reply::EdgeTerms { not_before, expires_at, reason }
}

impl From<reply::EdgeReply> for proto::Edge {
    fn from(edge: reply::EdgeReply) -> Self {
        let (source, target) = edge.edge.ends();
        Self {
            graph: edge.edge.graph().to_owned(),
            source,
            target,
            support: edge.support.to_string(),
            since: edge.since.as_ref().map(ToString::to_string),
            not_before: edge.not_before.as_ref().map(ToString::to_string),
            expires_at: edge.expires_at.as_ref().map(ToString::to_string),
        }
    }
}

impl From<Vec<reply::EdgeReply>> for proto::ListEdgesReply {
    fn from(edges: Vec<reply::EdgeReply>) -> Self {
        Self { edges: edges.into_iter().map(Into::into).collect() }
    }
}

impl From<Vec<reply::WhoReply>> for proto::WhoSeesReply {
    fn from(pairs: Vec<reply::WhoReply>) -> Self {
        let pair = |who: reply::WhoReply| proto::SeeingPair {
            user: who.user.to_string(),
            agents: texts(&who.agents),
        };
        Self { pairs: pairs.into_iter().map(pair).collect() }
    }
}

impl From<Vec<ItemId>> for proto::WhatIsSeenReply {
    fn from(items: Vec<ItemId>) -> Self {
        Self { items: texts(&items) }
    }
}

impl From<reply::ExplainReply> for proto::Explanation {
    fn from(explained: reply::ExplainReply) -> Self {
        let hindrance =
            |one: reply::Hindrance| proto::Hindrance { reason: one.as_str().to_owned(), id: one.id() };
        Self {
            id: explained.item.to_string(),
            version: explained.version.to_string(),
            visible: explained.visible,
            tier: explained.tier.as_str().to_owned(),
            agents: texts(&explained.agents),
            resources: texts(&explained.resources),
            hindrances: explained.hindrances.into_iter().map(hindrance).collect(),
        }
    }
}
