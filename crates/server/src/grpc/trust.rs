//! Rounds and trust as messages.

use super::proto;
use tabellion_engine::reply;

/// How many were scored again and moved.
pub(super) struct Moved(pub(super) usize);

impl From<Moved> for proto::RecalibrateReply {
    fn from(Moved(moved): Moved) -> Self {
        Self { moved: moved as u64 }
    }
}

impl From<proto::DeclareRoundRequest> for reply::RoundDraft {
    fn from(asked: proto::DeclareRoundRequest) -> Self {
        let proto::DeclareRoundRequest { goal, agents, items, texts, namespace, visibility } = asked;
        Self { goal, agents, items, texts, namespace, visibility }
    }
}

impl From<reply::RoundReply> for proto::Round {
    fn from(round: reply::RoundReply) -> Self {
        let reply::RoundReply { id, agents, namespace, expires_at, visibility } = round;
        let (expires_at, visibility) = (expires_at.to_string(), visibility.as_str().to_owned());
        Self { id, agents, namespace, expires_at, visibility }
    }
}

impl From<proto::GetTrustRequest> for reply::TrustQuery {
    fn from(asked: proto::GetTrustRequest) -> Self {
        Self { namespace: asked.namespace, item: asked.item }
    }
}

impl From<reply::TrustReply> for proto::GetTrustReply {
    fn from(told: reply::TrustReply) -> Self {
        Self {
            namespace: told.namespace,
            item: told.item.map(Into::into),
            staged: told.staged.into_iter().map(Into::into).collect(),
            spaces: told.spaces.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<reply::ItemTrust> for proto::ItemTrust {
    fn from(item: reply::ItemTrust) -> Self {
        let numbers = item.numbers.as_ref();
        Self {
            id: item.id.to_string(),
            trust: item.trust.as_str().to_owned(),
            status: item.status.to_owned(),
            reasons: item.reasons,
            rho: numbers.map(|all| all.rho),
            evidence: numbers.map(|all| all.evidence),
            count: numbers.map(|all| all.count),
            scored: numbers.map(|all| all.scored),
            detect: numbers.map(|all| all.detect),
            align: numbers.map(|all| all.align),
            threshold: numbers.map(|all| all.threshold),
            agreed: numbers.and_then(|all| all.agreed),
        }
    }
}

impl From<reply::StagedWriteTrust> for proto::StagedTrust {
    fn from(staged: reply::StagedWriteTrust) -> Self {
        let numbers = staged.numbers.as_ref();
        Self {
            review: staged.review.to_string(),
            id: staged.id.to_string(),
            trust: staged.trust.as_str().to_owned(),
            rho: numbers.map(|all| all.rho),
            evidence: numbers.map(|all| all.evidence),
            count: numbers.map(|all| all.count),
            scored: numbers.map(|all| all.scored),
            detect: numbers.map(|all| all.detect),
            align: numbers.map(|all| all.align),
            threshold: numbers.map(|all| all.threshold),
            agreed: numbers.and_then(|all| all.agreed),
        }
    }
}

impl From<reply::SpaceTrust> for proto::TrustSpace {
    fn from(space: reply::SpaceTrust) -> Self {
        let auditor =
            |one: reply::AuditorTrust| proto::AuditorTrust { agent: one.agent, credibility: one.credibility };
        Self {
            kind: space.kind.to_owned(),
            agents: space.agents,
            rounds: space.rounds,
            threshold: space.threshold,
            cold: space.cold,
            window: space.window as u64,
            auditors: space.auditors.into_iter().map(auditor).collect(),
        }
    }
}
