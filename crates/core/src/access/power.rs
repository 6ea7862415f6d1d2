//! What can be administered, and which built-in roles bring it (SHARE-30).
//!
//! A power is a leaf role: whoever is `in Role::"may audit"` may audit. So a role of the tenant's own that bundles actions and
//! a built-in one are judged by the same policies, and nothing but those policies decides.

use crate::item::words;

words! {
    /// An administrative action.
    Power {
        /// Make users, agents, resources and keys.
        0 Principals = "manage_principals",
        /// Define roles and give them to users and agents.
        1 Roles = "manage_roles",
        /// Write as much at once as there is, by one's own hand: rates, budgets and habits do not count.
        6 Import = "import",
        /// Grant and revoke edges, put agents to rest.
        2 Graphs = "manage_graphs",
        /// Set policies and schemas, suspend agents.
        3 Policies = "manage_policies",
        /// See positions in the log, the whole trail, proofs and who sees what.
        4 Audit = "audit",
        /// Read and take back what anybody shared, whatever its edges; never what is private.
        5 Moderate = "moderate",
    }
}

impl Power {
    /// The leaf role of this power.
    #[must_use]
    pub const fn leaf(self) -> &'static str {
        match self {
            Self::Principals => "may manage_principals",
            Self::Roles => "may manage_roles",
            Self::Graphs => "may manage_graphs",
            Self::Policies => "may manage_policies",
            Self::Audit => "may audit",
            Self::Moderate => "may moderate",
            Self::Import => "may import",
        }
    }

    /// The built-in role that brings it, for messages.
    #[must_use]
    pub const fn bringer(self) -> &'static str {
        match self {
            Self::Principals | Self::Roles | Self::Import => "tenant_admin",
            Self::Graphs | Self::Policies => "steward",
            Self::Audit => "auditor",
            Self::Moderate => "moderator",
        }
    }
}

/// A set of powers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Powers(u8);

impl Powers {
    /// Whether a power is among them.
    #[must_use]
    pub const fn has(self, power: Power) -> bool {
        self.0 & (1 << power as u8) != 0
    }

    /// Whether all of them are.
    #[must_use]
    pub fn are_all(self) -> bool {
        Power::ALL.iter().all(|power| self.has(*power))
    }
}

impl FromIterator<Power> for Powers {
    fn from_iter<I: IntoIterator<Item = Power>>(powers: I) -> Self {
        Self(powers.into_iter().fold(0, |bits, power| bits | 1 << power as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let some: Powers = [Power::Audit, Power::Roles].into_iter().collect();
        let held: Vec<Power> = Power::ALL.iter().copied().filter(|power| some.has(*power)).collect();
        assert_eq!(held, [Power::Roles, Power::Audit]);
        assert!(!some.are_all() && Power::ALL.iter().copied().collect::<Powers>().are_all());
    }
}
