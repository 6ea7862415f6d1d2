//! What the roles of agents allow in each layer: the table of GOV-8.2 with the roles that D14 adds.
//!
//! Every cell is `allows(role, layer, operation)`. It narrows what the graphs admit and never widens it: "all" is all of
//! what is visible. Somebody with several roles may do what any of them allows.

use crate::item::{Layer, Tier, words};

words! {
    /// What an agent is trusted with.
    AgentRole {
        /// Does tasks: reads its user's session and what happened, notes down its session.
        0 Executor = "executor",
        /// May write what happened without asking (D14).
        1 Validated = "validated",
        /// Reads what holds and how things are done (D14).
        2 CanonicalReader = "canonical_reader",
        /// Reads everything and proposes corrections.
        3 Verifier = "verifier",
        /// Directs other agents: reads everything, writes what happened, takes back.
        4 Orchestrator = "orchestrator",
        /// Looks after the memory as a person does.
        5 Curator = "curator",
        /// A person who works without an agent (D14).
        6 Member = "member",
    }
}

impl AgentRole {
    /// What an agent is that nobody has given a role yet.
    pub const OF_NEW_AGENTS: &'static [Self] = &[Self::Executor, Self::Validated, Self::CanonicalReader];
}

words! {
    /// What is done to an item.
    Deed {
        /// See it.
        0 Read = "read",
        /// Write it, or take back what the same agent wrote.
        1 Write = "write",
        /// Take back what another agent wrote.
        2 Delete = "delete",
        /// Set how its layer works.
        3 Administer = "admin",
    }
}

/// How far a role reaches. Later is farther.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// Not at all.
    None,
    /// A person decides.
    Proposed,
    /// Only what is the user's own.
    Own,
    /// All of it; of deletion, so that it can be undone.
    Full,
    /// For good.
    Hard,
}

/// The cell of the table.
#[must_use]
pub const fn allows(role: AgentRole, layer: Layer, deed: Deed) -> Right {
    match deed {
        Deed::Read => reads(role, layer),
        Deed::Write => writes(role, layer),
        Deed::Delete => match role {
            AgentRole::Curator => Right::Hard,
            AgentRole::Orchestrator | AgentRole::Member => Right::Full,
            AgentRole::Executor | AgentRole::Validated | AgentRole::CanonicalReader | AgentRole::Verifier => {
                Right::None
            }
        },
        Deed::Administer => match role {
            AgentRole::Curator | AgentRole::Orchestrator => Right::Full,
            AgentRole::Executor
            | AgentRole::Validated
            | AgentRole::CanonicalReader
            | AgentRole::Verifier
            | AgentRole::Member => Right::None,
        },
    }
}

const fn reads(role: AgentRole, layer: Layer) -> Right {
    match (role, layer) {
        (AgentRole::Verifier | AgentRole::Orchestrator | AgentRole::Curator | AgentRole::Member, _)
        | (AgentRole::Executor, Layer::Episodic)
        | (AgentRole::CanonicalReader, Layer::Semantic | Layer::Procedural) => Right::Full,
        (_, Layer::Working) | (AgentRole::Executor, Layer::Session) => Right::Own,
        _ => Right::None,
    }
}

const fn writes(role: AgentRole, layer: Layer) -> Right {
    match (role, layer) {
        (AgentRole::Curator | AgentRole::Member, _)
        | (AgentRole::Orchestrator, Layer::Session | Layer::Episodic)
        | (AgentRole::Executor, Layer::Session)
        | (AgentRole::Validated, Layer::Episodic)
        | (_, Layer::Working) => Right::Full,
        // The attributes bring what they say and nothing else.
        (AgentRole::Validated | AgentRole::CanonicalReader, _) => Right::None,
        (AgentRole::Executor | AgentRole::Verifier | AgentRole::Orchestrator, _) => Right::Proposed,
    }
}

/// What somebody with these roles may do in a layer: the farthest of their rights.
#[must_use]
pub fn right(roles: &[AgentRole], layer: Layer, deed: Deed) -> Right {
    roles.iter().map(|role| allows(*role, layer, deed)).max().unwrap_or(Right::None)
}

/// Whether somebody with these roles reads what lies in this layer and tier, where the graphs admit it.
#[must_use]
pub fn may_read(roles: &[AgentRole], layer: Layer, tier: Tier) -> bool {
    match right(roles, layer, Deed::Read) {
        Right::None | Right::Proposed => false,
        Right::Own => tier == Tier::Private,
        Right::Full | Right::Hard => true,
    }
}

/// Whether somebody may read what is their own in this layer and not what is shared.
#[must_use]
pub fn tells_tiers_apart(layer: Layer) -> bool {
    AgentRole::ALL.iter().any(|role| allows(*role, layer, Deed::Read) == Right::Own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentRole::{CanonicalReader, Curator, Executor, Member, Orchestrator, Validated, Verifier};
    use Right::{Full, Hard, None, Own, Proposed};

    /// A row of the table: what a role may do in each layer.
    type Row = (AgentRole, Deed, [Right; 5]);

    /// The table once more, by hand: working, session, episodic, semantic, procedural.
    const TABLE: [Row; 28] = [
        (Executor, Deed::Read, [Own, Own, Full, None, None]),
        (Executor, Deed::Write, [Full, Full, Proposed, Proposed, Proposed]),
        (Executor, Deed::Delete, [None; 5]),
        (Executor, Deed::Administer, [None; 5]),
        (Validated, Deed::Read, [Own, None, None, None, None]),
        (Validated, Deed::Write, [Full, None, Full, None, None]),
        (Validated, Deed::Delete, [None; 5]),
        (Validated, Deed::Administer, [None; 5]),
        (CanonicalReader, Deed::Read, [Own, None, None, Full, Full]),
        (CanonicalReader, Deed::Write, [Full, None, None, None, None]),
        (CanonicalReader, Deed::Delete, [None; 5]),
        (CanonicalReader, Deed::Administer, [None; 5]),
        (Verifier, Deed::Read, [Full; 5]),
        (Verifier, Deed::Write, [Full, Proposed, Proposed, Proposed, Proposed]),
        (Verifier, Deed::Delete, [None; 5]),
        (Verifier, Deed::Administer, [None; 5]),
        (Orchestrator, Deed::Read, [Full; 5]),
        (Orchestrator, Deed::Write, [Full, Full, Full, Proposed, Proposed]),
        (Orchestrator, Deed::Delete, [Full; 5]),
        (Orchestrator, Deed::Administer, [Full; 5]),
        (Curator, Deed::Read, [Full; 5]),
        (Curator, Deed::Write, [Full; 5]),
        (Curator, Deed::Delete, [Hard; 5]),
        (Curator, Deed::Administer, [Full; 5]),
        (Member, Deed::Read, [Full; 5]),
        (Member, Deed::Write, [Full; 5]),
        (Member, Deed::Delete, [Full; 5]),
        (Member, Deed::Administer, [None; 5]),
    ];

    /// GOV-8.1, GOV-8.2: every cell of the table says yes where it should and no everywhere else.
    #[test]
    fn each_cell_of_the_table() {
        assert_eq!(TABLE.len(), AgentRole::ALL.len() * Deed::ALL.len());
        for (role, deed, cells) in TABLE {
            let found: Vec<Right> = Layer::ALL.iter().map(|layer| allows(role, *layer, deed)).collect();
            assert_eq!(found, cells, "{} {}", role.as_str(), deed.as_str());
        }
    }

    /// GOV-8.2, D14: a new agent writes what happened and reads all of its user's; without the attribute it proposes.
    #[test]
    fn validated_executors_write_what_happened() {
        let new = AgentRole::OF_NEW_AGENTS;
        assert_eq!(right(new, Layer::Episodic, Deed::Write), Full);
        assert_eq!(right(&[Executor, CanonicalReader], Layer::Episodic, Deed::Write), Proposed);
        assert_eq!(right(new, Layer::Semantic, Deed::Write), Proposed);
        assert!(Layer::ALL.iter().all(|layer| may_read(new, *layer, Tier::Private)));
        assert!(!may_read(new, Layer::Session, Tier::Shared) && may_read(new, Layer::Episodic, Tier::Shared));
        assert!(!may_read(&[], Layer::Episodic, Tier::Private), "no role, no right");
        let apart: Vec<Layer> =
            Layer::ALL.iter().copied().filter(|layer| tells_tiers_apart(*layer)).collect();
        assert_eq!(apart, [Layer::Working, Layer::Session]);
        assert_eq!(right(&[], Layer::Session, Deed::Write), None);
    }
}
