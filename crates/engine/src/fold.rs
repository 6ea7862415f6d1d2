//! From log to views: reading entries, opening what is sealed beside them, folding, and checkpoints that shorten it.

use crate::OpenError;
use std::path::PathBuf;
use tabellion_core::canonical::Hash;
use tabellion_core::id::TenantId;
use tabellion_core::log::{Actor, Entry, Event, LogName, Lsn, Payload, root_of};
use tabellion_core::seal::{Sealed, Secret, close, open};
use tabellion_core::text::Analyser;
use tabellion_core::view::{Index, ItemsView, Opened, Passage, Views};
use tabellion_store::{DataDir, KeyStore, Record, Store, StoreError, subtree, unless_missing, write_private};

/// Entries read at once while folding.
const PAGE: usize = 1_000;

/// Reports progress: entries done, entries in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The sealed file that holds a view at some position, after the root of the log there. May be deleted at any time.
pub(crate) struct Checkpoint {
    path: PathBuf,
    key: Secret,
    tenant: TenantId,
}

impl Checkpoint {
    /// The checkpoint of the views.
    pub(crate) fn of_views(dir: &DataDir, tenant: TenantId, keys: &KeyStore) -> Self {
        let key = keys.tenant_secret().derive("tabellion/v2/checkpoint");
        Self { path: dir.checkpoint(tenant), key, tenant }
    }

    /// The checkpoint of the index.
    pub(crate) fn of_index(dir: &DataDir, tenant: TenantId, keys: &KeyStore) -> Self {
        let key = keys.tenant_secret().derive("tabellion/v3/index-checkpoint");
        Self { path: dir.index_checkpoint(tenant), key, tenant }
    }

    /// The root that it was made at, and the view; nothing if it is absent or damaged.
    fn read(&self) -> Option<(Hash, Vec<u8>)> {
        let closed = std::fs::read(&self.path).ok()?;
        let plain = open(&self.key, self.tenant.as_bytes(), &closed).ok()?;
        let (root, view) = plain.split_at_checked(32)?;
        Some((root.try_into().ok()?, view.to_vec()))
    }

    /// Keeps a view that holds a log up to a position.
    pub(crate) fn write(
        &self,
        store: &dyn Store,
        lsn: Lsn,
        view: &[u8],
        nonce: &[u8; 12],
    ) -> std::io::Result<()> {
        let root = root_at(store, lsn).map_err(std::io::Error::other)?;
        let plain = [root.as_slice(), view].concat();
        write_private(&self.path, &close(&self.key, nonce, self.tenant.as_bytes(), &plain))
    }

    pub(crate) fn remove(&self) -> std::io::Result<()> {
        unless_missing(std::fs::remove_file(&self.path))
    }
}

/// The root of the memory log up to a position.
fn root_at(store: &dyn Store, lsn: Lsn) -> Result<Hash, StoreError> {
    root_of(0, lsn.get(), &mut |start, end| subtree(store, LogName::Memory, start, end))
}

/// A view, and how far the checkpoint had it already.
pub(crate) struct Folded<View> {
    pub(crate) view: View,
    pub(crate) checkpointed: Lsn,
}

/// A tenant's memory log, and what opens it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) keys: &'a KeyStore,
    pub(crate) tenant: TenantId,
}

impl Source<'_> {
    /// The views of the log: from the checkpoint if it fits, then from every entry after it.
    pub(crate) fn views(
        &self,
        checkpoint: Option<&Checkpoint>,
        progress: Progress<'_>,
    ) -> Result<Folded<Views>, OpenError> {
        let size = self.store.size(LogName::Memory).map_err(failed)?;
        let stored = checkpoint.and_then(Checkpoint::read);
        let stored = stored.and_then(|(root, bytes)| Some((root, Views::from_checkpoint(&bytes).ok()?)));
        let stored = stored.filter(|(root, views)| self.had(*root, views.lsn(), size));
        let mut view = stored.map(|(_, views)| views).unwrap_or_default();
        let checkpointed = view.lsn();
        self.replay(checkpointed, size, progress, |entry, opened| view.apply(entry, opened))?;
        Ok(Folded { view, checkpointed })
    }

    /// The index of the log, in the same way; the items must be those of the whole log.
    pub(crate) fn index(
        &self,
        checkpoint: Option<&Checkpoint>,
        items: &ItemsView,
        progress: Progress<'_>,
    ) -> Result<Folded<Index>, OpenError> {
        let size = self.store.size(LogName::Memory).map_err(failed)?;
        let stored = checkpoint.and_then(Checkpoint::read);
        let stored = stored.and_then(|(root, bytes)| Some((root, Index::from_checkpoint(&bytes).ok()?)));
        let stored = stored.filter(|(root, index)| self.had(*root, index.lsn(), size));
        let mut view = stored.map(|(_, index)| index).unwrap_or_default();
        let checkpointed = view.lsn();
        let mut analyser = Analyser::default();
        self.replay(checkpointed, size, progress, |entry, opened| {
            let passage = Passage::of(opened, &mut analyser);
            view.apply(entry, passage.as_ref(), items);
        })?;
        Ok(Folded { view, checkpointed })
    }

    /// Whether this is the log that had this root at this position: a checkpoint of another past is of no use.
    fn had(&self, root: Hash, lsn: Lsn, size: u64) -> bool {
        lsn.get() <= size && root_at(self.store, lsn) == Ok(root)
    }

    /// Hands on every entry after a position, up to another.
    pub(crate) fn replay(
        &self,
        after: Lsn,
        to: u64,
        progress: Progress<'_>,
        mut each: impl FnMut(&Entry, &Opened),
    ) -> Result<(), OpenError> {
        let mut last = after;
        while last.get() < to {
            let page = usize::try_from(to - last.get()).unwrap_or(PAGE).min(PAGE);
            let page = self.store.records(LogName::Memory, last.plus(1), page).map_err(failed)?;
            for record in &page {
                let (entry, opened) = read(record, self.keys, self.tenant)?;
                if entry.lsn != last.plus(1) {
                    return Err(missing(last.plus(1)));
                }
                each(&entry, &opened);
                last = entry.lsn;
            }
            if page.is_empty() {
                return Err(missing(last.plus(1)));
            }
            progress(last.get(), to);
        }
        Ok(())
    }
}

fn missing(lsn: Lsn) -> OpenError {
    OpenError::new(format!("entry {lsn} is missing from the log; run `tabellion verify`"))
}

fn read(record: &Record, keys: &KeyStore, tenant: TenantId) -> Result<(Entry, Opened), OpenError> {
    let damaged = |what: &str| OpenError::new(format!("entry {} {what}; run `tabellion verify`", record.lsn));
    let entry = Entry::decode(&record.body).map_err(|_| damaged("is damaged"))?;
    let opened = match unseal(record, &entry, keys, tenant) {
        Ok(payload) => payload.as_ref().map_or(Opened::Nothing, Opened::of),
        Err(error) => return Err(damaged(&error.to_string())),
    };
    Ok((entry, opened))
}

/// Opens what is sealed beside an entry; nothing if there is nothing, or it was destroyed.
pub(crate) fn unseal(
    record: &Record,
    entry: &Entry,
    keys: &KeyStore,
    tenant: TenantId,
) -> Result<Option<Payload>, OpenError> {
    let (Some(sealed), Some(bytes)) = (entry.sealed, &record.sealed) else { return Ok(None) };
    let Some(key) = keys.data_key(sealed.key).map_err(|error| OpenError::new(error.to_string()))? else {
        return Ok(None);
    };
    let plain = Sealed::open(tenant, &key, bytes).map_err(failed)?;
    Payload::decode(&plain).map(Some).map_err(failed)
}

/// What happened at a position.
pub(crate) fn event(store: &dyn Store, lsn: Lsn) -> Result<Option<Event>, OpenError> {
    Ok(entry(store, lsn)?.map(|entry| entry.event))
}

/// Who made the entry at a position.
pub(crate) fn actor(store: &dyn Store, lsn: Lsn) -> Result<Option<Actor>, OpenError> {
    Ok(entry(store, lsn)?.map(|entry| entry.actor))
}

fn entry(store: &dyn Store, lsn: Lsn) -> Result<Option<Entry>, OpenError> {
    let Some(record) = store.record(LogName::Memory, lsn).map_err(failed)? else { return Ok(None) };
    Entry::decode(&record.body).map(Some).map_err(failed)
}

/// The payload beside the entry at a position.
pub(crate) fn payload(
    store: &dyn Store,
    keys: &KeyStore,
    tenant: TenantId,
    lsn: Lsn,
) -> Result<Option<Payload>, OpenError> {
    let Some(record) = store.record(LogName::Memory, lsn).map_err(failed)? else { return Ok(None) };
    let entry = Entry::decode(&record.body).map_err(failed)?;
    unseal(&record, &entry, keys, tenant)
}

fn failed(error: impl std::fmt::Display) -> OpenError {
    OpenError::new(error.to_string())
}
