//! What operations on the access graphs answer.

use tabellion_core::access::Barrier;
use tabellion_core::id::{AgentId, ItemId, ResourceId, UserId, VersionId};
use tabellion_core::item::Tier;
use tabellion_core::log::{Edge, Support};
use tabellion_core::time::Timestamp;

/// On what terms an edge is granted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeTerms {
    /// Not before this time.
    pub not_before: Option<String>,
    /// Not from this time on.
    pub expires_at: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// An edge that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeReply {
    /// Which.
    pub edge: Edge,
    /// Why it exists.
    pub support: Support,
    /// Not before this time.
    pub not_before: Option<Timestamp>,
    /// Not from this time on.
    pub expires_at: Option<Timestamp>,
    /// When it was granted.
    pub since: Option<Timestamp>,
}

/// A user who sees an item, and the agents through which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhoReply {
    /// The user.
    pub user: UserId,
    /// The agents.
    pub agents: Vec<AgentId>,
}

/// What keeps a pair from seeing an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// It is another user's own.
    Private,
    /// The user may not invoke this agent, which contributed or acts, or it does not work any more.
    Agent(AgentId),
    /// The agent may not use this consulted resource.
    Resource(ResourceId),
    /// No role of the agent reads this layer.
    Role,
    /// It is too secret for them, or of a domain that is not theirs.
    Clearance,
    /// A policy forbids it: this one, for those who may know.
    Policy(Option<String>),
}

impl From<Barrier> for Hindrance {
    fn from(barrier: Barrier) -> Self {
        match barrier {
            Barrier::Role => Self::Role,
            Barrier::Clearance => Self::Clearance,
            Barrier::Policy(id) => Self::Policy(Some(id)),
        }
    }
}

impl Hindrance {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Agent(_) => "agent_revoked",
            Self::Resource(_) => "resource_revoked",
            Self::Role => "role",
            Self::Clearance => "clearance",
            Self::Policy(_) => "policy",
        }
    }

    /// The agent or resource that is not granted, or the policy that forbids.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Private | Self::Role | Self::Clearance => None,
            Self::Agent(agent) => Some(agent.to_string()),
            Self::Resource(resource) => Some(resource.to_string()),
            Self::Policy(id) => id.clone(),
        }
    }
}

/// Why a pair sees an item, or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainReply {
    /// The item.
    pub item: ItemId,
    /// Its head.
    pub version: VersionId,
    /// Whether it is visible.
    pub visible: bool,
    /// Where it lives.
    pub tier: Tier,
    /// Contributing agents: the user must be allowed to invoke all of them.
    pub agents: Vec<AgentId>,
    /// Consulted resources: the agent must be allowed to use all of them.
    pub resources: Vec<ResourceId>,
    /// What stands in the way; nothing if it is visible.
    pub hindrances: Vec<Hindrance>,
}

impl ExplainReply {
    /// Says that a policy hides the item, and not which: that is for auditors.
    pub(crate) fn without_policy_ids(&mut self) {
        for hindrance in &mut self.hindrances {
            if let Hindrance::Policy(id) = hindrance {
                *id = None;
            }
        }
        self.hindrances.dedup();
    }
}

/// A token of a pair, as an agent service got it for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairToken {
    /// The token itself.
    pub token: String,
    /// How long it holds from now, unless something that it was made from ends before.
    pub seconds: u64,
    /// The user.
    pub user: UserId,
    /// The agent that acts for it.
    pub agent: AgentId,
}
