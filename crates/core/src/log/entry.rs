//! One record of the log: where, when, who, what, and a commitment to what is sealed beside it.

use super::{Event, Lsn};
use crate::canonical::Hash;
use crate::id::{AgentId, UserId};
use crate::time::Timestamp;

/// One record of a log. Its encoding is what the tree's leaves hash; see `docs/log-format.md`.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Entry {
    /// Its place.
    #[n(0)]
    pub lsn: Lsn,
    /// When it was committed; never before its predecessor.
    #[n(1)]
    pub time: Timestamp,
    /// On whose behalf.
    #[n(2)]
    pub actor: Actor,
    /// What happened.
    #[n(3)]
    pub event: Event,
    /// What is sealed beside it.
    #[n(4)]
    pub sealed: Option<SealedRef>,
}

/// The pair that acted; neither, for what the server did by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Actor {
    /// The user.
    #[n(0)]
    pub user: Option<UserId>,
    /// The agent.
    #[n(1)]
    pub agent: Option<AgentId>,
}

impl Actor {
    /// The server itself.
    pub const SERVER: Actor = Actor { user: None, agent: None };
}

/// What an entry says of its sealed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct SealedRef {
    /// The number of the data key.
    #[n(0)]
    pub key: u64,
    /// SHA-256 over the salted ciphertext.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub commitment: Hash,
}

/// Bytes that are not the canonical form of an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the canonical form of an entry")]
pub struct NotAnEntry;

impl Entry {
    /// The canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        // INVARIANT (a Vec takes every byte): the only error an encoder can give here is its writer's, which has none.
        let _infallible = minicbor::encode(self, &mut bytes);
        bytes
    }

    /// The entry of these bytes, if they are its canonical form.
    ///
    /// # Errors
    /// When they are anything else.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotAnEntry> {
        let entry: Self = minicbor::decode(bytes).map_err(|_| NotAnEntry)?;
        if entry.encode() == bytes { Ok(entry) } else { Err(NotAnEntry) }
    }
}
