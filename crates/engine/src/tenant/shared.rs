//! What the writer and the readers of a tenant share: the store, the keys, the views, and what is kept of them on disk.

use crate::fold::{Checkpoint, Source};
use crate::index::Trailing;
use crate::ports::Entropy;
use crate::sequencer::{SharedClock, SharedViews};
use crate::trouble::{Part, Troubles};
use crate::vectors::Vectors;
use crate::witness::{self, Witness};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tabellion_core::id::TenantId;
use tabellion_core::log::{Entry, Lsn, SignedHead};
use tabellion_core::view::{Opened, Views};
use tabellion_store::{DataDir, KeyStore, Store, StoreError};
use tokio::sync::watch;

/// Entries after which views are checkpointed anew, unless a tenth of the log is more.
const CHECKPOINT_EVERY: u64 = 10_000;
/// Between two tries to make data keys, where the disk took none.
const KEYS_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);
/// How many times that a busy writer may put it off.
const CHECKPOINT_BUSY: u64 = 3;

/// What the writer is doing when a checkpoint comes due.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer {
    /// Nothing waits.
    Idle,
    /// It has just committed.
    Busy,
}

/// What the writer and the readers of a tenant share.
pub(crate) struct Shared {
    pub(crate) tenant: TenantId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<KeyStore>,
    pub(crate) views: SharedViews,
    pub(crate) index: Trailing,
    pub(crate) vectors: Option<Vectors>,
    pub(crate) clock: SharedClock,
    pub(super) published: watch::Sender<Lsn>,
    pub(super) dir: Option<DataDir>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) checkpointed: AtomicU64,
    pub(super) checkpointing: AtomicBool,
    pub(super) making_keys: AtomicBool,
    pub(super) kept_changes: Arc<AtomicU64>,
    pub(super) sealed_name: OnceLock<Vec<u8>>,
    /// The other tenants, if this is the first one, with their sealed names.
    pub(super) tenants: Mutex<BTreeMap<TenantId, Vec<u8>>>,
    pub(crate) troubles: Troubles,
}

impl Shared {
    /// Folds committed entries into the views and tells who waits for them.
    pub(crate) fn publish(self: &Arc<Self>, folded: Vec<(Entry, Opened)>) {
        if folded.is_empty() {
            return;
        }
        let lsn = {
            let mut views = self.views.write();
            for (entry, opened) in &folded {
                views.apply(entry, opened);
            }
            views.lsn()
        };
        self.index.offer(folded);
        self.published.send_replace(lsn);
        if let Some(vectors) = &self.vectors {
            vectors.notify();
        }
        self.checkpoint_if_due(Writer::Busy);
    }

    /// Copies the newest heads, durable already, to the key folder, away from the log.
    pub(crate) fn witness(&self, heads: &[Option<SignedHead>; 2]) -> std::io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let kept_changes = self.kept_changes.load(Ordering::Acquire);
        let name = self.sealed_name.get_or_init(|| {
            let views = self.views.read();
            let secret = self.keys.tenant_secret();
            witness::seal_name(views.identity.tenant_name(), self.tenant, secret, &self.entropy.bytes())
        });
        let tenants = self.tenants.lock().clone();
        let witness = Witness { heads: *heads, kept_changes, name: Some(name.clone()), tenants };
        witness.write(&dir.witness(self.tenant))
    }

    /// Has the next witness name another tenant.
    pub(super) fn note_tenant(&self, other: TenantId, name: &str) {
        let sealed = witness::seal_name(name, other, self.keys.tenant_secret(), &self.entropy.bytes());
        self.tenants.lock().insert(other, sealed);
    }

    /// The witness as it lies in the key folder now.
    pub(crate) fn witness_text(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.as_ref()?.witness(self.tenant)).ok()
    }

    /// Moves what the write-ahead logs hold into the files, so that a copy of the files alone is whole.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.store.settle()?;
        self.keys.settle().map_err(|error| StoreError::Engine(error.to_string()))
    }

    /// Starts a checkpoint beside the running views: the last one is read back and brought up to date from the log, so
    /// neither writers nor readers wait for it. A busy writer puts it off, but not for ever: replay stays bounded.
    pub(crate) fn checkpoint_if_due(self: &Arc<Self>, writer: Writer) {
        let last = self.checkpointed.load(Ordering::Relaxed);
        let behind = self.views.read().lsn().get().saturating_sub(last);
        let patience = match writer {
            Writer::Idle => 1,
            Writer::Busy => CHECKPOINT_BUSY,
        };
        let due = behind >= CHECKPOINT_EVERY.max(last / 10) * patience;
        if self.dir.is_none() || !due || self.checkpointing.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::clone(self);
        let run = move || {
            match shared.source().views(shared.checkpoint().as_ref(), &mut |_, _| {}) {
                Ok(folded) => shared.write_checkpoint(&folded.view),
                Err(error) => tracing::warn!(%error, "could not fold a checkpoint"),
            }
            shared.checkpointing.store(false, Ordering::Release);
        };
        if std::thread::Builder::new().name("checkpoint".into()).spawn(run).is_err() {
            self.checkpointing.store(false, Ordering::Release);
        }
    }

    /// Makes data keys on a thread of its own before the last one is taken.
    pub(super) fn make_keys_ahead(self: &Arc<Self>) {
        if self.dir.is_none() || !self.keys.is_low() || self.making_keys.swap(true, Ordering::AcqRel) {
            return;
        }
        let weak = Arc::downgrade(self);
        let run = move || {
            while let Some(shared) = weak.upgrade() {
                match shared.keys.make_ahead(&|bytes| shared.entropy.fill(bytes)) {
                    Ok(()) => {
                        shared.troubles.clear(Part::DataKeys);
                        return shared.making_keys.store(false, Ordering::Release);
                    }
                    Err(error) => shared.troubles.report(Part::DataKeys, &error),
                }
                drop(shared);
                std::thread::sleep(KEYS_AGAIN);
            }
        };
        if std::thread::Builder::new().name("keys".into()).spawn(run).is_err() {
            self.making_keys.store(false, Ordering::Release);
        }
    }

    pub(super) fn write_checkpoint(&self, views: &Views) {
        let Some(checkpoint) = self.checkpoint() else { return };
        match checkpoint.write(&*self.store, views.lsn(), &views.checkpoint(), &self.entropy.bytes()) {
            Ok(()) => self.checkpointed.store(views.lsn().get(), Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "could not write the checkpoint"),
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(Checkpoint::of_views(self.dir.as_ref()?, self.tenant, &self.keys))
    }

    /// Keeps the index as it is, so that the next start need not fold it again.
    pub(crate) fn write_index_checkpoint(&self) -> Result<(), std::io::Error> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let (lsn, bytes) = {
            let index = self.index.read();
            (index.lsn(), index.checkpoint())
        };
        let checkpoint = Checkpoint::of_index(dir, self.tenant, &self.keys);
        checkpoint.write(&*self.store, lsn, &bytes, &self.entropy.bytes())
    }

    /// Unpredictable bytes.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        self.entropy.bytes()
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source { store: &*self.store, keys: &self.keys, tenant: self.tenant }
    }
}
