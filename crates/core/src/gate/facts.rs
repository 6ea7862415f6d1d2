//! What the engine gathers before the gates run, all of it under the caller's predicate.

use super::{Bounds, Consensus, KnowledgeWord, OnConflict, RemoteFinding, Strictness, WriteRequest};
use crate::claim::Contradiction;
use crate::id::{AgentId, ItemId, ResourceId, ReviewId, UserId, VersionId};
use crate::item::{Layer, Tier};
use crate::log::Calibration;
use crate::provenance::Evidence;
use crate::schema::Delta;
use crate::time::Timestamp;
use crate::view::{Class, Version};
use std::collections::BTreeSet;

/// A version that is there and that the caller may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The item.
    pub item: ItemId,
    /// Its head.
    pub version: VersionId,
}

/// Something known about the same topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Which.
    pub known: Known,
    /// How close, 0 to 1.
    pub similarity: f64,
    /// How it speaks against the write, if it does.
    pub contradiction: Option<Contradiction>,
    /// How far it can be relied on today, approval left out: (c_adj less approval) / .70.
    pub reliance: f64,
    /// Whether a person approved it.
    pub approved: bool,
    /// Whether it is of the writer's own user, in whichever tier: only then may the write take its place.
    pub own: bool,
    /// Whether it is in its user's private memory, so that nobody else is concerned.
    pub private: bool,
    /// Whether another user shares it.
    pub of_another: bool,
    /// Whether the writer may replace it without asking anybody: it is their own, the agent may write to its class, and it is no
    /// more secret than what takes its place.
    pub replaceable: bool,
    /// Whether it speaks of a later time than the write: by the `time` that either of them names, else by when each was said.
    pub newer: bool,
    /// Whether it is newer and was said while the write waited: the writer cannot have meant it (AM-3).
    pub said_since: bool,
    /// Whether it says more than the write repeats or contradicts: that would be lost if the write took its place.
    pub says_more: bool,
    /// Whether everyone who will see the write sees it too, so that it may leave a mark on what is stored (SHARE-39).
    pub dominated: bool,
}

/// Which tier of deduplication found a twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same canonical content.
    Exact,
    /// The same triple.
    Structural,
    /// The same meaning.
    Semantic,
}

/// Something known that says the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    /// Which.
    pub known: Known,
    /// How it was found.
    pub likeness: Likeness,
    /// What the write would add.
    pub delta: Delta,
    /// Whether the writer may replace it without asking anybody: it was not said while the write waited.
    pub replaceable: bool,
    /// Whether it carries the same agents, resources and labels as the write: only then may the two become one (AM-16).
    pub same_class: bool,
}

/// What is found about one cited source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// How much it counts: the least of what the writer says and what its type allows.
    pub authority: f64,
    /// How far it bears the statement out, 0 to 1.
    pub support: f64,
    /// How fresh it is, 0 to 1.
    pub freshness: f64,
    /// Whether the same agent wrote the item that it cites.
    pub own: bool,
    /// Whether what it cites rests, at the end, on this very statement.
    pub circular: bool,
    /// Whether the item that it cites is missing or hidden.
    pub missing: bool,
}

/// A person's yes to a write: to a held one, or to their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The review; none where a person's own write carries it.
    pub review: Option<ReviewId>,
    /// Who.
    pub approver: UserId,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// What the person wants to become of what the write contradicts; what the write asked for unless given.
    pub on_conflict: Option<OnConflict>,
}

/// How a write was scored against what is known (CAL).
#[derive(Debug, Clone, PartialEq)]
pub struct Weighing {
    /// What is to be logged of it; what was scored is put in when that has its id.
    pub calibration: Calibration,
    /// Whether it is up to the gate.
    pub admitted: bool,
    /// Whether the copy for others was scored: what its user keeps does not hang on that.
    pub of_copy: bool,
}

/// What the engine gathered for the gates, under the caller's predicate.
#[derive(Debug, Clone, Default)]
pub struct GateFacts {
    /// The policy that the write runs under.
    pub strictness: Strictness,
    /// The resources that the request names, or the place of one that does not exist.
    pub resources: Vec<Result<ResourceId, usize>>,
    /// Whether the request says which resources were used, be it none; one that does not may have used all within reach.
    pub declares_resources: bool,
    /// R(a, t): the resources that the agent may use (SHARE-10).
    pub reach: Vec<ResourceId>,
    /// Whether the agent's own word on what it used is taken.
    pub trust_declared: bool,
    /// The resources that were called through this server for it (SHARE-26).
    pub called: Vec<ResourceId>,
    /// Whether those are all that were used: the server itself made what is written.
    pub only_called: bool,
    /// Whether the roles of the agent only let it propose (GOV-8.2).
    pub proposes: bool,
    /// Whether a person writes whose write carries their own approval (AM-4).
    pub own_word: bool,
    /// That person's words as evidence, where the gates ask for some and they cited none of their own.
    pub own_evidence: Option<Evidence>,
    /// Where the agent may write; none, and it may everywhere.
    pub bounds: Vec<Bounds>,
    /// Whether policy lets the caller share.
    pub sharing: bool,
    /// The versions it says it derives from, or the place of one that is missing or hidden.
    pub derived_from: Vec<Result<VersionId, usize>>,
    /// For a relation, the heads of the items that it ties, or the part of its triple that names one missing or hidden.
    pub ends: Vec<Result<VersionId, &'static str>>,
    /// Agents and resources of those versions: a derivation inherits them.
    pub inherited: (Vec<AgentId>, Vec<ResourceId>),
    /// The head that it replaces.
    pub replaced: Option<Version>,
    /// The namespace that this is in.
    pub replaced_in: Option<String>,
    /// What was found about each evidence, in the order of the request.
    pub evidence: Vec<Weighed>,
    /// What a knowledge base says of it; then the last of the evidence is that.
    pub knowledge: Option<KnowledgeWord>,
    /// What is known about the same topic, closest first.
    pub neighbours: Vec<Neighbour>,
    /// What the writer, or else a policy, asks for where the write contradicts something known.
    pub on_conflict: Option<OnConflict>,
    /// What a policy asks for there.
    pub on_conflict_policy: Option<OnConflict>,
    /// Whether the statement contradicts itself, such as an end before its start.
    pub impossible: bool,
    /// What says the same already.
    pub twin: Option<Twin>,
    /// Every version that is recognised as the same, whether it counts for the writer or not: none may be added meanwhile.
    pub twins: Vec<VersionId>,
    /// Whether this very content was once retracted.
    pub retracted: bool,
    /// Whether others are given a copy of it besides what its user keeps.
    pub is_copied: bool,
    /// Whether a moderator took the same statement of this user out of the shared memory before.
    pub moderated: bool,
    /// Why writes of this pair are held, if they are (AM-5).
    pub anomaly: Option<String>,
    /// The share of the agent's writes that proved correct, once there are enough to tell.
    pub reputation: Option<f64>,
    /// Who would read it: readers of the last thirty days and items that depend on it.
    pub consumers: u64,
    /// What a registered schema finds wrong.
    pub faults: Vec<crate::error::Fault>,
    /// A person's yes, when the write comes back from review.
    pub approval: Option<Approval>,
    /// What gates outside this process answered.
    pub remote: Vec<RemoteFinding>,
    /// What models say of the excerpts, where they were asked.
    pub consensus: Option<Consensus>,
    /// The public key of the runner of each test report, in the order of the request; none if it is not registered.
    pub runners: Vec<Option<crate::canonical::Hash>>,
    /// When the write first came in, however long it waited since.
    pub submitted: Timestamp,
    /// How it was scored, where somebody audits it.
    pub weighing: Option<Weighing>,
}

impl GateFacts {
    /// Whether a person has said yes to a write of this layer: to a held one, or by writing it themselves.
    #[must_use]
    pub const fn is_approved(&self, layer: Layer) -> bool {
        self.approval.is_some() || (self.own_word && layer.is_canonical())
    }

    /// The class of an agent's write in a tier. Its agents and resources are its own and those of what it may have been made
    /// from (SHARE-9, 10).
    #[must_use]
    pub fn class(&self, agent: AgentId, request: &WriteRequest, tier: Tier) -> Class {
        // What was used without a word about it may have been everything that could be used.
        let declared = self.resources.iter().filter_map(|found| found.as_ref().ok().copied());
        let mut used: Vec<ResourceId> = match self.trust_declared && self.declares_resources {
            _ if self.only_called => Vec::new(),
            true => declared.collect(),
            false => self.reach.clone(),
        };
        used.extend(&self.called);
        let (agents, resources) = &self.inherited;
        let agents: BTreeSet<AgentId> = agents.iter().copied().chain([agent]).collect();
        let resources: BTreeSet<ResourceId> = resources.iter().copied().chain(used).collect();
        Class {
            agents: agents.into_iter().collect(),
            resources: resources.into_iter().collect(),
            labels: Class::labels_of(&request.content.tags),
            secrecy: request.content.secrecy.clone(),
            kind: request.content.kind.clone(),
            layer: request.layer,
            tier,
        }
    }
}
