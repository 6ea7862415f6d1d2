//! What a write must pass before it becomes memory.
//!
//! Invariant (gates are pure): a gate is a function of the request, the gathered facts and the time. Invariant (admitted
//! means judged): an `Admitted` comes only from `judge`, and only an `Admitted` can be sealed.

mod policy;
mod provenance;
mod read;
mod request;
mod schema;

pub use read::{IDENTITY_FIELDS, JSON_DEPTH_MAX, read_write};
pub use request::{EvidenceDraft, Replaces, TripleDraft, WriteDraft, WriteRequest};

use crate::access::Caller;
use crate::error::Refusal;
use crate::id::{AgentId, ResourceId, VersionId};
use crate::item::{Operation, Tier};
use crate::log::Payload;
use crate::time::Timestamp;
use crate::view::Version;

/// The gates, in the order they run. A write meets those that exist so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateName {
    /// Identity, size, rate.
    Preflight,
    /// Shape and ranges.
    Schema,
    /// Evidence supports it.
    Factual,
    /// Nothing known speaks against it.
    Contradiction,
    /// It is not known already.
    Dedup,
    /// Its record is complete.
    Provenance,
    /// It fits what the memory knows.
    Calibration,
    /// Policy and people agree.
    Policy,
}

impl GateName {
    /// The word for it, the same everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Schema => "schema",
            Self::Factual => "factual",
            Self::Contradiction => "contradiction",
            Self::Dedup => "dedup",
            Self::Provenance => "provenance",
            Self::Calibration => "calibration",
            Self::Policy => "policy",
        }
    }
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Go on.
    Accept,
    /// Stop, for this reason.
    Reject(Refusal),
    /// Not now; ask again by then.
    Defer(Timestamp),
}

/// What the engine gathered for the gates, under the caller's predicate.
#[derive(Debug, Clone, Default)]
pub struct GateFacts {
    /// The resources that the request names, or the place of one that does not exist.
    pub resources: Vec<Result<ResourceId, usize>>,
    /// The versions it says it derives from, or the place of one that is missing or hidden.
    pub derived_from: Vec<Result<VersionId, usize>>,
    /// Agents and resources of those versions: a derivation inherits them.
    pub inherited: (Vec<AgentId>, Vec<ResourceId>),
    /// The head that it replaces.
    pub replaced: Option<Version>,
}

/// A write that passed every gate. Made by `judge` alone.
#[derive(Debug, Clone)]
pub struct Admitted {
    request: WriteRequest,
    operation: Operation,
    tier: Tier,
    agents: Vec<AgentId>,
    resources: Vec<ResourceId>,
    parents: Vec<VersionId>,
    content: Vec<u8>,
}

impl Admitted {
    /// What was asked.
    #[must_use]
    pub const fn request(&self) -> &WriteRequest {
        &self.request
    }

    /// Insert, update or supersede.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Where it will live.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// Contributing agents, in order.
    #[must_use]
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    /// Consulted resources, in order.
    #[must_use]
    pub fn resources(&self) -> &[ResourceId] {
        &self.resources
    }

    /// What it replaces.
    #[must_use]
    pub fn parents(&self) -> &[VersionId] {
        &self.parents
    }

    /// The canonical content.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The payload to seal, given its provenance as canonical JSON and the signature over it.
    #[must_use]
    pub fn payload(&self, (provenance, signature): (Vec<u8>, crate::canonical::Hash)) -> Payload {
        Payload::Version {
            content: self.content.clone().into(),
            provenance: provenance.into(),
            signature,
            namespace: self.request.namespace.clone(),
        }
    }
}

/// Judges a write: every gate in order, the first refusal wins.
///
/// # Errors
/// The refusal, with gate, code, paths and what would pass.
pub fn judge(request: WriteRequest, caller: &Caller, facts: &GateFacts) -> Result<Admitted, Refusal> {
    provenance::check(&request, facts)?;
    let tier = policy::tier(request.tier)?;
    let content = request.content.canonical().map_err(|_| schema::not_canonical())?;
    let resources = facts.resources.iter().filter_map(|found| found.as_ref().ok().copied());
    let (inherited_agents, inherited_resources) = &facts.inherited;
    Ok(Admitted {
        operation: match (&request.replaces, &facts.replaced) {
            (Some(replaces), Some(_)) => replaces.operation(),
            _ => Operation::Insert,
        },
        tier,
        agents: sorted(inherited_agents.iter().copied().chain([caller.agent()])),
        resources: sorted(inherited_resources.iter().copied().chain(resources)),
        parents: facts.replaced.iter().map(|version| version.id).collect(),
        content,
        request,
    })
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}
