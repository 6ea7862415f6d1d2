//! What a user may administer. No role sees another user's private items.

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
    /// Whether this role may see positions in the log, the whole trail and proofs.
    #[must_use]
    pub const fn may_audit(self) -> bool {
        matches!(self, Self::Auditor | Self::Admin)
    }

    /// Whether this role may make users, agents, resources and keys.
    #[must_use]
    pub const fn may_administer(self) -> bool {
        matches!(self, Self::Admin)
    }
}
