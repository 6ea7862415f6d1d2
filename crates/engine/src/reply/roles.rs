//! What operations on roles take and answer.

use tabellion_core::id::RoleId;
use tabellion_core::time::Timestamp;

/// What a role is to bundle, by names or ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleDraft {
    /// Agents that a user who holds it may invoke.
    pub agents: Vec<String>,
    /// Resources that an agent which holds it may use.
    pub resources: Vec<String>,
    /// Roles that come with it.
    pub includes: Vec<String>,
    /// Administrative actions of users who hold it.
    pub actions: Vec<String>,
    /// How secret what is read may be, for those who hold it.
    pub clearance: Option<String>,
    /// The domains of those who hold it.
    pub domains: Vec<String>,
}

/// A role and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleReply {
    /// Its id.
    pub id: RoleId,
    /// Its name.
    pub name: String,
    /// Whether every tenant has it and nobody can change it.
    pub built_in: bool,
    /// What it bundles: agents and resources by id, roles by name.
    pub bundle: RoleDraft,
    /// Who holds it.
    pub members: Vec<MemberReply>,
}

/// Somebody who holds a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberReply {
    /// The user or agent, by id.
    pub id: String,
    /// Not before this time.
    pub not_before: Option<Timestamp>,
    /// Not from this time on.
    pub expires_at: Option<Timestamp>,
}
