//! What was found when a write was held against what is known, and how its trust moved since (CAL-42, CAL-33).
//!
//! Scores are in the log, not only what they were made from: folding it again gives the same trust, weights and gate to the
//! last bit, whatever became of vectors and probes. Nothing here says what anybody wrote or asked.

use crate::canonical::Hash;
use crate::id::{AgentId, ResourceId, ReviewId, UserId, VersionId};
use crate::item::{Tier, words};
use crate::trust::Stored;

words! {
    /// The kind of memory that a write belongs to; each is gated by itself (CAL-30).
    MemoryKind {
        /// Texts, found by meaning.
        0 Items = "items",
        /// Ties between things, found by walking.
        1 Relations = "relations",
    }
}

words! {
    /// What else is to be said of a score.
    Mark {
        /// Nothing.
        0 Plain = "plain",
        /// Too little was known to compare with (CAL-30).
        1 Provisional = "provisional",
        /// Nearly all who spoke are of one family of models (CAL-38).
        2 Correlated = "correlated",
    }
}

words! {
    /// Why the trust of something moved (CAL-33).
    Reason {
        /// It was held against searches that were made since.
        0 Recalibrated = "recalibrated",
        /// Another party said nearly the same.
        1 Corroborated = "corroborated",
        /// It was used, and that went well or badly.
        2 Outcome = "outcome",
        /// Something that speaks against it was confirmed.
        3 Contradicted = "contradicted",
    }
}

/// What a score is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Weighed {
    /// A version that is committed.
    #[n(0)]
    Version(#[n(0)] VersionId),
    /// A write that waits.
    #[n(1)]
    Staged(#[n(0)] ReviewId),
}

/// Who counts as one (CAL-1): all agents of a user, or an agent of a declared round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Party {
    /// A user with all agents.
    #[n(0)]
    User(#[n(0)] UserId),
    /// One agent.
    #[n(1)]
    Agent(#[n(0)] AgentId),
}

/// Where something was scored: what may influence it, and what it may influence (CAL-41).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Space {
    /// Keyed fingerprint of the namespace.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub namespace: Hash,
    /// Shared, or one user's own.
    #[n(1)]
    pub tier: Tier,
    /// Whose, if it is private.
    #[n(2)]
    pub owner: Option<UserId>,
    /// Contributing agents, in order of id.
    #[n(3)]
    pub agents: Vec<AgentId>,
    /// Resources consulted, in order of id.
    #[n(4)]
    pub resources: Vec<ResourceId>,
    /// Keyed fingerprint of labels and secrecy; none where there are neither.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub labels: Option<Hash>,
}

impl Space {
    /// Whether everyone who sees what was scored here sees what was scored there: only then may that have a part in it
    /// (SHARE-39).
    #[must_use]
    pub fn dominates(&self, other: &Self) -> bool {
        let reaches = match other.tier {
            Tier::Shared => true,
            Tier::Private => self.tier == Tier::Private && self.owner == other.owner,
        };
        reaches
            && self.namespace == other.namespace
            && (other.labels.is_none() || other.labels == self.labels)
            && other.agents.iter().all(|agent| self.agents.contains(agent))
            && other.resources.iter().all(|resource| self.resources.contains(resource))
    }
}

/// What one auditor's probe said of a write.
#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Audit {
    /// The agent that was looked over the shoulder of.
    #[n(0)]
    pub agent: AgentId,
    /// Keyed fingerprint of the probe.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub probe: Option<Hash>,
    /// Whether the probe was a valid one; nothing where the auditor abstained.
    #[n(2)]
    pub valid: Option<bool>,
    /// How far that moves the auditor's credibility.
    #[n(3)]
    pub step: f64,
}

/// A write, scored.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Calibration {
    /// What was scored.
    #[n(0)]
    pub weighed: Weighed,
    /// Where.
    #[n(1)]
    pub space: Space,
    /// As what.
    #[n(2)]
    pub kind: MemoryKind,
    /// Who wrote it.
    #[n(3)]
    pub party: Party,
    /// How little it crowds what is known, 0 to 1.
    #[n(4)]
    pub detect: f64,
    /// How little it changes what others find, 0 to 1.
    #[n(5)]
    pub align: f64,
    /// Both together.
    #[n(6)]
    pub rho: f64,
    /// What it had to reach.
    #[n(7)]
    pub threshold: f64,
    /// What it is trusted by from now on.
    #[n(8)]
    pub stored: Stored,
    /// What else is to be said.
    #[n(9)]
    pub mark: Mark,
    /// Who was asked, in the order they were drawn.
    #[n(10)]
    pub audits: Vec<Audit>,
    /// Whether it could have been kept back at all (CAL-43).
    #[n(11)]
    pub gated: bool,
    /// Of a relation, the ways that were found between its ends.
    #[n(12)]
    pub ways: Option<Ways>,
    /// How alike those were answered, with it and without it, whom it comes near; nothing if there were none.
    #[n(13)]
    pub agreement: Option<f64>,
}

/// The ways that were found between the ends of a relation, and how far such ways are followed from then on: what the next ones
/// are held against (CAL-21, CAL-23).
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Ways {
    /// How far each of them supports it; nothing where an end was new.
    #[n(0)]
    pub supports: Option<Vec<f64>>,
    /// How much further than the size of the graph says, or less far.
    #[n(1)]
    pub adjust: i32,
    /// Rounds since that was looked at.
    #[n(2)]
    pub rounds: u32,
}

impl Calibration {
    /// Whether nobody was asked: it only says from where evidence is counted.
    #[must_use]
    pub const fn is_unaudited(&self) -> bool {
        self.audits.is_empty() && !self.gated && self.ways.is_none()
    }
}

/// New evidence for or against something that was scored before.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct TrustMove {
    /// What it is about.
    #[n(0)]
    pub weighed: Weighed,
    /// What happened.
    #[n(1)]
    pub reason: Reason,
    /// How well it speaks of it, 0 to 1.
    #[n(2)]
    pub score: f64,
    /// How much it counts.
    #[n(3)]
    pub mass: f64,
    /// Who it comes from, other than the server.
    #[n(4)]
    pub parties: Vec<Party>,
    /// How little it crowds what is known by now, where that was measured anew.
    #[n(5)]
    pub detect: Option<f64>,
    /// Whether it is demoted from here on: readable at its weight, but no longer up to the gate (CAL-34).
    #[n(6)]
    pub demoted: bool,
    /// How alike those were answered, with it and without it, whom it comes near, where that was looked at anew.
    #[n(7)]
    pub agreement: Option<f64>,
}
