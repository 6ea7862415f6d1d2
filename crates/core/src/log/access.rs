//! What entries say of who may act, invoke and use what: edges, why they exist, and statuses.

use crate::id::{AgentId, ResourceId, RoleId, UserId};
use crate::item::words;
use crate::time::Timestamp;

/// An edge of an access graph (SHARE-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Edge {
    /// A user may invoke an agent.
    #[n(0)]
    Invoke(#[n(0)] UserId, #[n(1)] AgentId),
    /// An agent may use a resource.
    #[n(1)]
    Use(#[n(0)] AgentId, #[n(1)] ResourceId),
}

impl Edge {
    /// The graph that it belongs to: `ua` from users to agents, `ar` from agents to resources.
    #[must_use]
    pub const fn graph(self) -> &'static str {
        match self {
            Self::Invoke(..) => "ua",
            Self::Use(..) => "ar",
        }
    }

    /// From whom to what, by id.
    #[must_use]
    pub fn ends(self) -> (String, String) {
        match self {
            Self::Invoke(user, agent) => (user.to_string(), agent.to_string()),
            Self::Use(agent, resource) => (agent.to_string(), resource.to_string()),
        }
    }
}

/// Why an edge exists; it does for as long as any support is left (SHARE-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Support {
    /// It was granted by itself.
    #[n(0)]
    Direct,
    /// It came with a role.
    #[n(1)]
    Role(#[n(0)] RoleId),
}

impl std::fmt::Display for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Role(role) => write!(f, "role:{role}"),
        }
    }
}

words! {
    /// Whether an agent works.
    AgentStatus {
        /// It does.
        0 Active = "active",
        /// It cannot be called; what it taught is still read.
        1 Retired = "retired",
        /// It is gone, and what it taught is hidden.
        2 Deleted = "deleted",
    }
}

words! {
    /// Whether a user may act.
    UserStatus {
        /// The user may.
        0 Active = "active",
        /// No credential of the user is taken, and no edge of the user counts.
        1 Disabled = "disabled",
    }
}

words! {
    /// Whether a resource can be used.
    ResourceStatus {
        /// It can.
        0 Active = "active",
        /// It cannot be called; what was made with it is still read.
        1 Retired = "retired",
        /// It is gone, and what was made with it is hidden.
        2 Deleted = "deleted",
    }
}

/// An edge, why it exists and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct GrantedEdge {
    /// Which.
    #[n(0)]
    pub edge: Edge,
    /// Why.
    #[n(1)]
    pub support: Support,
    /// Not before then.
    #[n(2)]
    pub not_before: Option<Timestamp>,
    /// Not from then on.
    #[n(3)]
    pub expires_at: Option<Timestamp>,
}
