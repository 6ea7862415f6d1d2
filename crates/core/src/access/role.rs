//! The built-in roles of users and agents. No role sees another user's private items.

use super::{AgentRole, Power};
use crate::id::RoleId;
use crate::item::words;

words! {
    /// What a user may do beyond its own memory.
    Role {
        /// Nothing.
        0 Member = "member",
        /// Read the trail, ask for proofs.
        1 Auditor = "auditor",
        /// Both, and make principals and keys.
        2 Admin = "admin",
    }
}

impl Role {
    /// The roles that a user has by having been made with this one.
    #[must_use]
    pub const fn bundle(self) -> &'static [BuiltIn] {
        match self {
            Self::Member => &[BuiltIn::Member],
            Self::Auditor => &[BuiltIn::Member, BuiltIn::Auditor],
            Self::Admin => &[
                BuiltIn::Member,
                BuiltIn::TenantAdmin,
                BuiltIn::Steward,
                BuiltIn::Auditor,
                BuiltIn::Moderator,
            ],
        }
    }
}

words! {
    /// A role that every tenant has and nobody can change (SHARE-30, GOV-8.2).
    BuiltIn {
        /// Remembers for itself.
        0 Member = "member",
        /// Makes principals and gives roles.
        1 TenantAdmin = "tenant_admin",
        /// Looks after graphs and policies.
        2 Steward = "steward",
        /// Reads the trail, asks for proofs.
        3 Auditor = "auditor",
        /// Of an agent: does tasks.
        4 Executor = "executor",
        /// Of an agent: may write what happened.
        5 Validated = "validated",
        /// Of an agent: reads what holds.
        6 CanonicalReader = "canonical_reader",
        /// Of an agent: reads everything, proposes.
        7 Verifier = "verifier",
        /// Of an agent: directs others.
        8 Orchestrator = "orchestrator",
        /// Of an agent: looks after the memory.
        9 Curator = "curator",
        /// Moderates what is shared.
        10 Moderator = "moderator",
    }
}

impl BuiltIn {
    /// Its id, the same for every tenant: its name, filled up with zeros.
    #[must_use]
    pub fn id(self) -> RoleId {
        let mut bytes = [0; 16];
        for (place, byte) in bytes.iter_mut().zip(self.as_str().bytes()) {
            *place = byte;
        }
        RoleId::from_bytes(bytes)
    }

    /// The built-in role with this id.
    #[must_use]
    pub fn of(id: RoleId) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.id() == id)
    }

    /// The administrative actions that it brings.
    #[must_use]
    pub const fn powers(self) -> &'static [Power] {
        match self {
            Self::TenantAdmin => &[Power::Principals, Power::Roles, Power::Import],
            Self::Steward => &[Power::Graphs, Power::Policies],
            Self::Auditor => &[Power::Audit],
            Self::Moderator => &[Power::Moderate],
            Self::Member
            | Self::Executor
            | Self::Validated
            | Self::CanonicalReader
            | Self::Verifier
            | Self::Orchestrator
            | Self::Curator => &[],
        }
    }

    /// What it lets an agent do in each layer.
    #[must_use]
    pub const fn of_agents(self) -> Option<AgentRole> {
        Some(match self {
            Self::Executor => AgentRole::Executor,
            Self::Validated => AgentRole::Validated,
            Self::CanonicalReader => AgentRole::CanonicalReader,
            Self::Verifier => AgentRole::Verifier,
            Self::Orchestrator => AgentRole::Orchestrator,
            Self::Curator => AgentRole::Curator,
            Self::Member | Self::TenantAdmin | Self::Steward | Self::Auditor | Self::Moderator => {
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// SHARE-30: the built-in roles bring what they are for, and an admin is all of them.
    #[test]
    fn built_in_roles_bring_what_they_are_for() {
        let ids: BTreeSet<RoleId> = BuiltIn::ALL.iter().map(|role| role.id()).collect();
        assert_eq!(ids.len(), BuiltIn::ALL.len(), "each has an id of its own");
        assert!(BuiltIn::ALL.iter().all(|role| BuiltIn::of(role.id()) == Some(*role)));
        let brings = |role: Role| -> Vec<Power> {
            role.bundle().iter().flat_map(|role| role.powers()).copied().collect()
        };
        assert_eq!(brings(Role::Admin), Power::ALL);
        assert_eq!(brings(Role::Auditor), [Power::Audit]);
        assert_eq!(brings(Role::Member), []);
    }
}
