//! The append-only log: entries, the tree over them, and signed heads.
//!
//! The byte format is on paper in `docs/log-format.md`. Only what is derived here may be kept forever.

mod access;
mod anomaly;
mod calibration;
mod entry;
mod event;
mod head;
mod loss;
mod lsn;
mod recheck;
mod role;
mod shaped;
mod tree;

pub use access::{AgentStatus, Edge, GrantedEdge, ResourceStatus, Support, UserStatus};
pub use anomaly::{AnomalySignal, PairAction, PairHold, ReportedOutcome, UserAgentPair};
pub use calibration::{Audit, Calibration, Mark, MemoryKind, Party, Reason, Space, TrustMove, Ways, Weighed};
pub use entry::{Actor, Entry, NotAnEntry, SealedRef};
pub use event::{
    AuditRecord, Decision, Event, IssuedKey, Payload, Principal, Prints, StagedWrite, WrittenVersion,
};
pub use head::{Head, SignedHead, SigningKey, VerifyingKey};
pub use loss::{AcceptedLoss, LostPart};
pub use lsn::Lsn;
pub use recheck::Recheck;
pub use role::{HeldRole, Holder};
pub use shaped::Shaped;
pub use tree::{
    Frontier, TILE_LEVELS, Tile, consistency_proof, inclusion_proof, leaf_hash, node_hash, root_of,
    verify_consistency, verify_inclusion,
};

/// Which of a tenant's two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogName {
    /// What is remembered and who may act.
    Memory,
    /// Who did what.
    Audit,
}

impl LogName {
    /// Both logs.
    pub const ALL: [LogName; 2] = [LogName::Memory, LogName::Audit];

    /// The word for it, the same everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Audit => "audit",
        }
    }

    /// The log that this word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|log| log.as_str() == word)
    }
}
