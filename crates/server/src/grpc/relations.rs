//! Relations and paths between messages and what the engine takes and answers.

use super::{proto, refusal};
use proto::import_reply::Outcome;
use tabellion_core::gate::{TripleDraft, WriteDraft};
use tabellion_core::item::RELATION;
use tabellion_engine::{Related, reply};

impl From<proto::Relation> for WriteDraft {
    fn from(asked: proto::Relation) -> Self {
        let triple = TripleDraft { subject: asked.subject, predicate: asked.predicate, object: asked.object };
        Self {
            kind: Some(RELATION.to_owned()),
            triple: Some(triple),
            text: asked.text,
            key: asked.key,
            layer: asked.layer,
            tier: asked.tier,
            namespace: asked.namespace,
            confidence: asked.confidence,
            tags: asked.tags,
            evidence: asked.evidence.into_iter().map(Into::into).collect(),
            resources: (asked.no_resources || !asked.resources.is_empty()).then_some(asked.resources),
            derived_from: asked.derived_from,
            justification: asked.justification,
            session_id: asked.session_id,
            task_id: asked.task_id,
            trace_id: asked.trace_id,
            ttl: asked.ttl,
            request_id: asked.request_id,
            supersedes: asked.supersedes,
            ..Self::default()
        }
    }
}

/// What became of each relation, in order.
pub(super) fn related(related: Related, request_id: Option<&str>) -> proto::WriteRelationsReply {
    let results = related.into_iter().map(|result| {
        let outcome = match result {
            Ok(written) => Outcome::Written(written.into()),
            Err(refused) => Outcome::Refused(refusal::message(refused, request_id.map(ToOwned::to_owned))),
        };
        proto::ImportReply { outcome: Some(outcome) }
    });
    proto::WriteRelationsReply { results: results.collect() }
}

impl From<proto::FindPathsRequest> for reply::PathsQuery {
    fn from(asked: proto::FindPathsRequest) -> Self {
        Self {
            from: asked.from,
            to: asked.to,
            types: asked.types,
            direction: asked.direction,
            depth: asked.depth,
            limit: asked.limit,
            namespace: asked.namespace,
            as_of: asked.as_of,
            min_token: asked.min_token,
            trace_id: asked.trace_id,
        }
    }
}

impl From<reply::PathsReply> for proto::FindPathsReply {
    fn from(found: reply::PathsReply) -> Self {
        let paths = found.paths.into_iter().map(Into::into).collect();
        Self { paths, truncated: found.truncated, token: found.token }
    }
}

impl From<reply::PathReply> for proto::Path {
    fn from(path: reply::PathReply) -> Self {
        let step = |step: reply::StepReply| proto::PathRelation {
            id: step.id.to_string(),
            version: step.version.to_string(),
            r#type: step.kind,
            direction: step.direction.as_str().to_owned(),
            trust: step.trust.as_str().to_owned(),
        };
        let relations = path.relations.into_iter().map(step).collect();
        Self { strength: path.strength, nodes: path.nodes, relations }
    }
}
