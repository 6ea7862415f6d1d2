//! Which policies match, and what they come to together (SHARE-15).

use super::limit::Limits;
use super::model::Asks;
use super::object::{Chain, PolicyKind, SIMILARITY_PARTS};
use super::paraphrase::SENTENCES_KEPT;
use super::redact::Detectors;
use super::scalar::{PrivateParents, Rank, Scalar, Share, Statement, holding};
use super::window::Times;
use crate::id::{AgentId, UserId};
use crate::time::{Period, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// A policy that was proven; made by `SharingPolicy::check` alone.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPolicy {
    pub(super) id: String,
    pub(super) kind: PolicyKind,
    pub(super) user: Option<UserId>,
    pub(super) agent: Option<AgentId>,
    pub(super) times: Option<Times>,
    pub(super) priority: i32,
    /// Whether it says what is done to a text, if only that nothing is.
    pub(super) says_steps: bool,
    pub(super) chain: Chain,
    pub(super) scalars: BTreeMap<Scalar, u64>,
    pub(super) overridable: BTreeSet<Scalar>,
}

/// For whom a policy is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The user.
    pub user: UserId,
    /// The agent.
    pub agent: AgentId,
}

/// Several policies of one kind as one. Composing in any order and in any groups gives the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composed {
    pub(super) chain: Chain,
    statements: BTreeMap<Scalar, BTreeSet<Statement>>,
    policies: BTreeSet<String>,
}

impl CheckedPolicy {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it is about.
    #[must_use]
    pub const fn kind(&self) -> PolicyKind {
        self.kind
    }

    /// The user whose policy it is, if it is one user's.
    #[must_use]
    pub const fn user(&self) -> Option<UserId> {
        self.user
    }

    /// Whether it holds for everybody at all times.
    #[must_use]
    pub const fn is_global(&self) -> bool {
        self.user.is_none() && self.agent.is_none() && self.times.is_none()
    }

    /// Whether it holds for a pair at a moment.
    #[must_use]
    pub fn matches(&self, pair: Pair, now: Timestamp) -> bool {
        self.user.is_none_or(|user| user == pair.user)
            && self.agent.is_none_or(|agent| agent == pair.agent)
            && self.times.as_ref().is_none_or(|times| times.hold(now))
    }

    fn rank(&self) -> Rank {
        let narrowness = u8::from(self.user.is_some()) * 2 + u8::from(self.agent.is_some());
        Rank { timed: self.times.is_some(), narrowness, priority: self.priority, id: self.id.clone() }
    }
}

impl Composed {
    /// What holds for a pair at a moment: all policies of the kind that match.
    ///
    /// Until a policy for everybody says what it should be, what is written for others is redacted and anonymised.
    #[must_use]
    pub fn of<'a>(
        policies: impl IntoIterator<Item = &'a CheckedPolicy>,
        kind: PolicyKind,
        pair: Pair,
        now: Timestamp,
    ) -> Self {
        let (mut composed, mut global) = (Self::default(), false);
        for policy in policies.into_iter().filter(|policy| policy.kind == kind && policy.matches(pair, now)) {
            global |= policy.is_global() && policy.says_steps;
            composed = composed.and(&Self::from(policy));
        }
        if kind == PolicyKind::WriteShared && !global {
            composed = composed.and(&Self::redacted_and_anonymous());
        }
        composed
    }

    /// Two compositions as one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.chain.block.join(&other.chain.block);
        self.chain.keyword.join(&other.chain.keyword);
        self.chain.redact = std::mem::take(&mut self.chain.redact).union(&other.chain.redact);
        self.chain.anonymise |= other.chain.anonymise;
        self.chain.pseudonymise |= other.chain.pseudonymise;
        self.chain.paraphrase |= other.chain.paraphrase;
        self.chain.extract |= other.chain.extract;
        self.chain.model.join(other.chain.model);
        for (scalar, statements) in &other.statements {
            self.statements.entry(*scalar).or_default().extend(statements.iter().cloned());
        }
        self.policies.extend(other.policies.iter().cloned());
        self
    }

    fn redacted_and_anonymous() -> Self {
        let chain = Chain { redact: Detectors::all(), anonymise: true, ..Chain::default() };
        Self { chain, ..Self::default() }
    }

    /// What holds for a shared write that rests on private items (SHARE-20); nothing when it is refused.
    #[must_use]
    pub fn for_private_parents(self) -> Option<Self> {
        match self.private_parents() {
            PrivateParents::Block => None,
            PrivateParents::Transform => Some(self.and(&Self::redacted_and_anonymous())),
            PrivateParents::Allow => Some(self),
        }
    }

    /// The policies in it, by name.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.policies.iter().map(String::as_str)
    }

    /// What it looks for and cuts out.
    #[must_use]
    pub const fn detectors(&self) -> &Detectors {
        &self.chain.redact
    }

    /// Whether texts pass as they are: no step and no limit.
    #[must_use]
    pub fn is_verbatim(&self) -> bool {
        self.chain == Chain::default() && self.limits() == Limits::default()
    }

    /// The limits that hold.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let similarity = self.scalar(Scalar::MinSimilarity);
        Limits {
            count: self.scalar(Scalar::Count),
            chars: self.scalar(Scalar::Chars),
            total_chars: self.scalar(Scalar::TotalChars),
            min_similarity: similarity.map(|value| (SIMILARITY_PARTS - value as f64) / SIMILARITY_PARTS),
            max_age: self.scalar(Scalar::MaxAge).map(Period::from_micros),
        }
    }

    /// What a model is asked to do with what is written.
    #[must_use]
    pub const fn asks(&self) -> Option<Asks> {
        self.chain.model.asks()
    }

    /// Whether anything may be shared.
    #[must_use]
    pub fn share(&self) -> Share {
        let said = self.scalar(Scalar::Share);
        Share::ALL.iter().copied().find(|share| Some(*share as u64) == said).unwrap_or(Share::Off)
    }

    /// What becomes of a shared write that rests on private items.
    #[must_use]
    pub fn private_parents(&self) -> PrivateParents {
        let said = self.scalar(Scalar::PrivateParents);
        let known = PrivateParents::ALL.iter().copied().find(|one| Some(*one as u64) == said);
        known.unwrap_or(PrivateParents::Transform)
    }

    /// Sentences that a paraphrase keeps.
    pub(super) fn kept(&self) -> usize {
        let said = self.scalar(Scalar::Keep).and_then(|keep| usize::try_from(keep).ok());
        said.unwrap_or(SENTENCES_KEPT)
    }

    fn scalar(&self, scalar: Scalar) -> Option<u64> {
        self.statements.get(&scalar).and_then(holding)
    }

    /// Whether this keeps back, changes and bounds all that the other does, and bounds it no looser.
    #[must_use]
    pub fn is_as_tight_as(&self, other: &Self) -> bool {
        let (own, others) = (&self.chain, &other.chain);
        let steps = own.block.covers(&others.block)
            && own.keyword.covers(&others.keyword)
            && own.redact.covers(&others.redact)
            && own.anonymise >= others.anonymise
            && own.pseudonymise >= others.pseudonymise
            && own.paraphrase >= others.paraphrase
            && own.extract >= others.extract
            && own.model.covers(others.model);
        steps
            && Scalar::ALL.iter().all(|scalar| match (self.scalar(*scalar), other.scalar(*scalar)) {
                (Some(own), Some(others)) => own <= others,
                (own, others) => own.is_some() || others.is_none(),
            })
    }
}

impl From<&CheckedPolicy> for Composed {
    fn from(policy: &CheckedPolicy) -> Self {
        let statements = policy.scalars.iter().map(|(scalar, value)| {
            let overridable = policy.overridable.contains(scalar);
            (*scalar, BTreeSet::from([Statement { rank: policy.rank(), value: *value, overridable }]))
        });
        Self {
            chain: policy.chain.clone(),
            statements: statements.collect(),
            policies: BTreeSet::from([policy.id.clone()]),
        }
    }
}
