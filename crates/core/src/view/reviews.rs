//! Writes that wait for a person, and what became of them.

use crate::canonical::Hash;
use crate::gate::Hold;
use crate::id::{AgentId, ItemId, KeyId, ReviewId, UserId, VersionId};
use crate::item::{Layer, Tier, words};
use crate::log::{Decision, Entry, Event, Lsn, StagedWrite};
use crate::time::{Period, Timestamp};
use std::collections::{BTreeMap, HashMap};

/// After this long, what is kept apart is out of the way.
const ARCHIVED_AFTER: Period = Period::from_days(90);

words! {
    /// How a review stands.
    ReviewState {
        /// It waits.
        0 Pending = "pending",
        /// A person said yes, and it was committed.
        1 Approved = "approved",
        /// A person said no.
        2 Rejected = "rejected",
        /// Its author took it back.
        3 Withdrawn = "withdrawn",
        /// Nobody answered while the writer waited.
        4 TimedOut = "timed_out",
    }
}

/// A held write: all but what it says.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Review {
    /// Its id.
    #[n(0)]
    pub id: ReviewId,
    /// Where it was staged: the write is read there.
    #[n(1)]
    pub lsn: Lsn,
    /// When.
    #[n(2)]
    pub time: Timestamp,
    /// The item that it would replace the head of.
    #[n(3)]
    pub item: Option<ItemId>,
    /// Its layer.
    #[n(4)]
    pub layer: Layer,
    /// Its tier.
    #[n(5)]
    pub tier: Tier,
    /// Whose it would be.
    #[n(6)]
    pub owner: UserId,
    /// The agent that wrote it.
    #[n(7)]
    pub agent: AgentId,
    /// The credential it came with.
    #[n(8)]
    pub key: KeyId,
    /// Whether the writer waits.
    #[n(9)]
    pub hold: Hold,
    /// R.
    #[n(10)]
    pub risk: f64,
    /// By when a person should have decided.
    #[n(11)]
    pub deadline: Timestamp,
    /// How many people must say yes.
    #[n(12)]
    pub approvals_min: u32,
    #[cbor(n(13), with = "minicbor::bytes")]
    token: Hash,
    #[cbor(n(14), with = "minicbor::bytes")]
    request: Option<Hash>,
    /// Who said yes so far.
    #[n(15)]
    pub approvals: Vec<UserId>,
    #[n(16)]
    state: ReviewState,
    /// Where it was decided: the reason is read there.
    #[n(17)]
    pub decided: Option<Lsn>,
    /// How.
    #[n(18)]
    pub decision: Option<Decision>,
    /// The version that it became.
    #[n(19)]
    pub version: Option<VersionId>,
    /// How many known items it speaks against.
    #[n(20)]
    pub against: u32,
    /// For a write that others would see: the shared items of other users that it speaks against.
    #[n(21)]
    pub opposes: Vec<ItemId>,
}

impl Review {
    fn of(staged: &StagedWrite, lsn: Lsn, time: Timestamp) -> Self {
        Self {
            id: staged.review,
            lsn,
            time,
            item: staged.item,
            layer: staged.layer,
            tier: staged.tier,
            owner: staged.owner,
            agent: staged.agent,
            key: staged.key,
            hold: staged.hold,
            risk: staged.risk,
            deadline: staged.deadline,
            approvals_min: staged.approvals_min,
            token: staged.token,
            request: staged.request,
            approvals: Vec::new(),
            state: ReviewState::Pending,
            decided: None,
            decision: None,
            version: None,
            against: staged.against,
            opposes: staged.opposes.clone().unwrap_or_default(),
        }
    }

    /// How it stands at a time. A writer that waits is told no once its time is over, whether an entry says so yet or not.
    #[must_use]
    pub fn state_at(&self, now: Timestamp) -> ReviewState {
        let silent = self.state == ReviewState::Pending && self.hold == Hold::Sync && now > self.deadline;
        if silent { ReviewState::TimedOut } else { self.state }
    }

    /// Whether nobody decided in time.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.state == ReviewState::Pending && now > self.deadline
    }

    /// Whether it waits for so long that it is out of the way: kept and open to a decision, but neither listed nor scored again
    /// unless somebody asks (CAL-31). That is so for what is kept apart; whether it is, the review does not know.
    #[must_use]
    pub fn is_archived(&self, now: Timestamp) -> bool {
        self.state == ReviewState::Pending && now >= self.time.plus(ARCHIVED_AFTER)
    }

    /// The token that it came with.
    #[must_use]
    pub const fn token(&self) -> &Hash {
        &self.token
    }
}

/// Every review of a tenant.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct ReviewsView {
    #[n(0)]
    reviews: BTreeMap<ReviewId, Review>,
    /// Those that wait, by what makes two writes the same.
    #[cbor(skip)]
    pending: HashMap<Hash, ReviewId>,
    #[cbor(skip)]
    requests: HashMap<Hash, ReviewId>,
    /// Where one was last decided.
    #[n(1)]
    last_decision: Lsn,
}

impl ReviewsView {
    /// A review by id.
    #[must_use]
    pub fn find(&self, id: ReviewId) -> Option<&Review> {
        self.reviews.get(&id)
    }

    /// Where a review was last decided.
    #[must_use]
    pub const fn last_decision(&self) -> Lsn {
        self.last_decision
    }

    /// Every review.
    pub fn all(&self) -> impl Iterator<Item = &Review> {
        self.reviews.values()
    }

    /// The review that the same write waits in.
    #[must_use]
    pub fn pending(&self, token: &Hash, now: Timestamp) -> Option<&Review> {
        let review = self.find(*self.pending.get(token)?)?;
        (review.state_at(now) == ReviewState::Pending).then_some(review)
    }

    /// The review that came with this request id and waits.
    #[must_use]
    pub fn requested(&self, request: &Hash, now: Timestamp) -> Option<&Review> {
        let review = self.find(*self.requests.get(request)?)?;
        (review.state_at(now) == ReviewState::Pending).then_some(review)
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            Event::WriteStaged(staged) => {
                let review = Review::of(staged, entry.lsn, entry.time);
                self.remember(&review);
                self.reviews.insert(staged.review, review);
            }
            Event::ReviewDecided { review, decision } => self.decide(*review, *decision, entry),
            Event::VersionWritten(written) => {
                let review = written.review.and_then(|id| self.reviews.get_mut(&id));
                if let Some(review) = review {
                    review.version.get_or_insert(written.version);
                }
            }
            Event::TenantCreated { .. }
            | Event::UserCreated { .. }
            | Event::AgentCreated { .. }
            | Event::ResourceCreated { .. }
            | Event::KeyIssued(_)
            | Event::KeyRevoked { .. }
            | Event::VersionRetracted { .. }
            | Event::VersionExpired { .. }
            | Event::ItemPinned { .. }
            | Event::ItemUnpinned { .. }
            | Event::ItemQuarantined { .. }
            | Event::ItemReleased { .. }
            | Event::PolicySet
            | Event::SchemaSet
            | Event::UserStatusSet { .. }
            | Event::UserRoleSet { .. }
            | Event::ResourceStatusSet { .. }
            | Event::AgentSuspended { .. }
            | Event::AgentResumed { .. }
            | Event::PairHeld(_)
            | Event::PairReleased(_)
            | Event::OutcomeReported(_)
            | Event::EdgeGranted(_)
            | Event::EdgeRevoked { .. }
            | Event::AgentStatusSet { .. }
            | Event::ItemReverified { .. }
            | Event::RoleSet { .. }
            | Event::RoleAssigned(_)
            | Event::RoleUnassigned { .. }
            | Event::Calibrated(_)
            | Event::TrustMoved(_)
            | Event::LossAccepted(_)
            | Event::Audited(_) => {}
        }
    }

    fn decide(&mut self, id: ReviewId, decision: Decision, entry: &Entry) {
        let Some(review) = self.reviews.get_mut(&id) else { return };
        if review.state != ReviewState::Pending {
            return;
        }
        if matches!(decision, Decision::Seconded | Decision::Approved) {
            review.approvals.extend(entry.actor.user);
        }
        if decision == Decision::Seconded {
            return;
        }
        self.last_decision = entry.lsn;
        review.decided = Some(entry.lsn);
        review.decision = Some(decision);
        review.state = match decision {
            Decision::Seconded | Decision::Approved | Decision::Promoted => ReviewState::Approved,
            Decision::Rejected
            | Decision::RejectedAsFalse
            | Decision::RejectedAsViolation
            | Decision::Refused => ReviewState::Rejected,
            Decision::Withdrawn => ReviewState::Withdrawn,
            Decision::TimedOut => ReviewState::TimedOut,
        };
        let (token, request) = (review.token, review.request);
        self.pending.remove(&token);
        if let Some(request) = request {
            self.requests.remove(&request);
        }
    }

    fn remember(&mut self, review: &Review) {
        self.pending.insert(review.token, review.id);
        if let Some(request) = review.request {
            self.requests.insert(request, review.id);
        }
    }

    pub(super) fn index(&mut self) {
        let waiting: Vec<Review> =
            self.reviews.values().filter(|review| review.state == ReviewState::Pending).cloned().collect();
        for review in &waiting {
            self.remember(review);
        }
    }
}
