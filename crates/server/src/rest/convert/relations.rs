//! Relations and paths between their wire forms and what the engine takes and answers.

use crate::refusal::RefusalBody;
use crate::rest::dto::{
    BatchOutcome, PathBody, PathsBody, PathsFoundBody, RelatedBody, RelationsBody, StepBody,
};
use tabellion_core::error::Refusal;
use tabellion_core::gate::{WriteDraft, read_relation};
use tabellion_engine::Related;
use tabellion_engine::reply::{PathReply, PathsQuery, PathsReply, StepReply, Written};

impl RelationsBody {
    /// Each relation as a write, or why it cannot be read.
    pub(crate) fn drafts(self) -> Vec<Result<WriteDraft, Refusal>> {
        self.relations.into_iter().map(read_relation).collect()
    }
}

impl From<Result<Written, Refusal>> for BatchOutcome {
    fn from(result: Result<Written, Refusal>) -> Self {
        match result {
            Ok(written) => Self::Taken(written.into()),
            Err(refusal) => Self::Refused { status: "rejected", refusal: RefusalBody::new(refusal, None) },
        }
    }
}

impl From<Related> for RelatedBody {
    fn from(related: Related) -> Self {
        Self { results: related.into_iter().map(Into::into).collect() }
    }
}

impl From<PathsBody> for PathsQuery {
    fn from(body: PathsBody) -> Self {
        Self {
            from: Some(body.from),
            to: body.to,
            types: body.types.unwrap_or_default(),
            direction: body.direction,
            depth: body.depth,
            limit: body.limit,
            namespace: body.namespace,
            as_of: body.as_of,
            min_token: body.min_token,
            trace_id: body.trace_id,
        }
    }
}

impl From<PathsReply> for PathsFoundBody {
    fn from(reply: PathsReply) -> Self {
        let paths = reply.paths.into_iter().map(Into::into).collect();
        Self { paths, truncated: reply.truncated, token: reply.token }
    }
}

impl From<PathReply> for PathBody {
    fn from(path: PathReply) -> Self {
        let relations = path.relations.into_iter().map(Into::into).collect();
        Self { strength: path.strength, nodes: path.nodes, relations }
    }
}

impl From<StepReply> for StepBody {
    fn from(step: StepReply) -> Self {
        Self {
            id: step.id.to_string(),
            version: step.version.to_string(),
            r#type: step.kind,
            direction: step.direction.as_str(),
            trust: step.trust.as_str(),
        }
    }
}
