//! What one batch adds to a log: entries, numbered and hashed, and the signed head above them.

use tabellion_core::id::TenantId;
use tabellion_core::log::{
    Actor, Entry, Event, Frontier, Head, LogName, Lsn, SealedRef, SigningKey, Tile, leaf_hash,
};
use tabellion_core::seal::{Sealed, commitment};
use tabellion_core::time::Timestamp;
use tabellion_store::{Append, Record, Store, StoreError, subtree};

/// A log as the writer extends it.
pub(super) struct Tip {
    pub(super) log: LogName,
    pub(super) frontier: Frontier,
    pub(super) time: Timestamp,
}

impl Tip {
    pub(super) fn load(store: &dyn Store, log: LogName) -> Result<Self, StoreError> {
        let size = store.size(log)?;
        let frontier = Frontier::load(size, &mut |start, end| subtree(store, log, start, end))?;
        let time = store.latest_head(log)?.map_or(Timestamp::default(), |signed| signed.head.time);
        Ok(Self { log, frontier, time })
    }

    fn next(&self) -> Lsn {
        Lsn::new(self.frontier.size() + 1)
    }
}

/// What one batch adds to one log.
#[derive(Default)]
pub(super) struct Page {
    pub(super) records: Vec<Record>,
    tiles: Vec<Tile>,
}

impl Page {
    /// Numbers, encodes and hashes an entry.
    pub(super) fn add(
        &mut self,
        tip: &mut Tip,
        draft: (Actor, Event, Option<Sealed>),
        now: Timestamp,
    ) -> Entry {
        let (actor, event, sealed) = draft;
        let of_sealed =
            |sealed: &Sealed| SealedRef { key: sealed.key, commitment: commitment(&sealed.bytes) };
        let entry =
            Entry { lsn: tip.next(), time: now, actor, event, sealed: sealed.as_ref().map(of_sealed) };
        let body = entry.encode();
        let leaf = leaf_hash(&body);
        tip.frontier.append(leaf, &mut self.tiles);
        self.records.push(Record { lsn: entry.lsn, body, sealed: sealed.map(|sealed| sealed.bytes), leaf });
        entry
    }

    pub(super) fn append(
        self,
        tip: &Tip,
        tenant: TenantId,
        key: &SigningKey,
        now: Timestamp,
    ) -> Option<Append> {
        if self.records.is_empty() {
            return None;
        }
        let head = Head { size: tip.frontier.size(), time: now, root: tip.frontier.root() };
        let head = key.sign(tenant, tip.log, head);
        Some(Append { log: tip.log, records: self.records, tiles: self.tiles, head })
    }
}
