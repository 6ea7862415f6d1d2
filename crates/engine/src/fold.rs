//! From log to views: reading entries, opening what is sealed beside them, folding, and checkpoints that shorten it.

use crate::OpenError;
use std::path::PathBuf;
use tabellion_core::id::TenantId;
use tabellion_core::log::{Entry, LogName, Lsn, Payload};
use tabellion_core::seal::{Sealed, Secret, close, open};
use tabellion_core::view::{Opened, Views};
use tabellion_store::{KeyStore, Record, Store, write_private};

/// Entries read at once while folding.
const PAGE: usize = 1_000;

/// Reports progress: entries done, entries in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The sealed file that holds views at some position. May be deleted at any time.
pub(crate) struct Checkpoint {
    path: PathBuf,
    key: Secret,
    tenant: TenantId,
}

impl Checkpoint {
    pub(crate) fn new(path: PathBuf, tenant: TenantId, tenant_secret: &Secret) -> Self {
        Self { path, key: tenant_secret.derive("tabellion/v1/checkpoint"), tenant }
    }

    /// The views in it; none if it is absent, damaged or of another version.
    pub(crate) fn read(&self) -> Option<Views> {
        let closed = std::fs::read(&self.path).ok()?;
        let bytes = open(&self.key, self.tenant.as_bytes(), &closed).ok()?;
        Views::from_checkpoint(&bytes).ok()
    }

    pub(crate) fn write(&self, views: &Views, nonce: &[u8; 12]) -> std::io::Result<()> {
        write_private(&self.path, &close(&self.key, nonce, self.tenant.as_bytes(), &views.checkpoint()))
    }

    pub(crate) fn remove(&self) -> std::io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Views, and how far the checkpoint had them already.
pub(crate) struct Folded {
    pub(crate) views: Views,
    pub(crate) checkpointed: Lsn,
}

/// The views of a log: from the checkpoint if it fits, then from every entry after it.
pub(crate) fn load(
    store: &dyn Store,
    keys: &KeyStore,
    tenant: TenantId,
    checkpoint: Option<&Checkpoint>,
    progress: Progress<'_>,
) -> Result<Folded, OpenError> {
    let size = store.size(LogName::Memory).map_err(failed)?;
    let mut views =
        checkpoint.and_then(Checkpoint::read).filter(|views| views.lsn().get() <= size).unwrap_or_default();
    let checkpointed = views.lsn();
    loop {
        let page = store.records(LogName::Memory, views.lsn().plus(1), PAGE).map_err(failed)?;
        if page.is_empty() {
            return Ok(Folded { views, checkpointed });
        }
        for record in &page {
            let (entry, opened) = read(record, keys, tenant)?;
            if entry.lsn != views.lsn().plus(1) {
                return Err(OpenError(format!(
                    "entry {} is missing from the log; run `tabellion verify`",
                    views.lsn().plus(1)
                )));
            }
            views.apply(&entry, &opened);
        }
        progress(views.lsn().get(), size);
    }
}

fn read(record: &Record, keys: &KeyStore, tenant: TenantId) -> Result<(Entry, Opened), OpenError> {
    let damaged = |what: &str| OpenError(format!("entry {} {what}; run `tabellion verify`", record.lsn));
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
    let Some(key) = keys.data_key(sealed.key).map_err(|error| OpenError(error.to_string()))? else {
        return Ok(None);
    };
    let plain = Sealed::open(tenant, &key, bytes).map_err(failed)?;
    Payload::decode(&plain).map(Some).map_err(failed)
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
    OpenError(error.to_string())
}
