//! Who holds which role.

use crate::id::{AgentId, RoleId, UserId};
use crate::time::Timestamp;

/// Who can hold a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Holder {
    /// A user.
    #[n(0)]
    User(#[n(0)] UserId),
    /// An agent.
    #[n(1)]
    Agent(#[n(0)] AgentId),
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => user.fmt(f),
            Self::Agent(agent) => agent.fmt(f),
        }
    }
}

/// Who holds which role, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct HeldRole {
    /// The role.
    #[n(0)]
    pub role: RoleId,
    /// Who.
    #[n(1)]
    pub holder: Holder,
    /// Not before then.
    #[n(2)]
    pub not_before: Option<Timestamp>,
    /// Not from then on.
    #[n(3)]
    pub expires_at: Option<Timestamp>,
}
