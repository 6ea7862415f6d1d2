//! A loss that the operator accepted: what a start found of a part, and what had been there before.

use crate::canonical::Hash;
use crate::item::words;

words! {
    /// A part of a tenant's data that can be lost.
    LostPart {
        /// Entries of the memory log.
        0 Memory = "memory log",
        /// Entries of the audit log.
        1 Audit = "audit log",
        /// Writes that wait for room, or were refused.
        2 Waiting = "waiting writes",
        /// The witness itself.
        3 Witness = "witness",
    }
}

/// A loss that the operator accepted at a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct AcceptedLoss {
    /// The part that lost something.
    #[n(0)]
    pub part: LostPart,
    /// How much of it was found: entries or changes.
    #[n(1)]
    pub found: u64,
    /// How much of it had been there before.
    #[n(2)]
    pub seen: u64,
    /// The root that the witness had of a log.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub root: Option<Hash>,
}

impl AcceptedLoss {
    /// What is as if it had never been done, and where to look; nothing where no decision was in the part.
    const fn consequences(&self) -> Option<&'static str> {
        match self.part {
            LostPart::Memory => Some(
                "whatever the lost part held is undone: revocations of keys and edges, disabled users, erasures, retractions, \
                 quarantines and policies hold no more. Look with `tabellion key list`, `edge list`, `user list`, `agent list`, \
                 `role list` and `policy list`, and revoke or retract again what must not be",
            ),
            LostPart::Waiting => Some(
                "writes that waited for room are not committed any more; their authors have to write again",
            ),
            LostPart::Audit | LostPart::Witness => None,
        }
    }
}

impl std::fmt::Display for AcceptedLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { part, found, seen, .. } = self;
        match part {
            LostPart::Memory | LostPart::Audit if found < seen => {
                write!(f, "entries {} to {seen} of the {} were lost", found + 1, part.as_str())?;
            }
            LostPart::Memory | LostPart::Audit => {
                let part = part.as_str();
                write!(f, "the first {seen} entries of the {part} are not those that were witnessed")?;
            }
            LostPart::Waiting => {
                write!(f, "waiting and refused writes were lost: {found} of {seen} changes found")?;
            }
            LostPart::Witness => {
                f.write_str("the witness was lost, and with it what it knew of the logs")?;
            }
        }
        self.consequences().map_or(Ok(()), |text| write!(f, "; {text}"))
    }
}
