//! What can be done to a data directory without a server: verify, rebuild, export, restore.

pub use crate::fold::Progress;
pub use crate::snapshot::{ExportReport, RestoreReport, keys_path};
pub use crate::verify::tenant_name;

use crate::fold::{Checkpoint, Source};
use crate::integrity::{self, Access};
use crate::ports::SystemEntropy;
use crate::reply::{LogFault, VerifyReport};
use crate::snapshot;
use crate::verify::{self, Against};
use crate::{OpenError, Options, StartFault};
use std::path::Path;
use tabellion_core::canonical::{Hash, hex, unhex32};
use tabellion_core::id::TenantId;
use tabellion_core::seal::Secret;
use tabellion_store::{DataDir, KeyStore, SqliteStore, Store, write_private};

/// What to verify beyond the log itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions {
    /// Whether the checkpointed views must equal those folded from the first entry.
    pub views: bool,
    /// A public key known from elsewhere.
    pub public_key: Option<Hash>,
}

fn text(error: impl std::fmt::Display) -> OpenError {
    OpenError::new(error.to_string())
}

/// The master key in the environment, if there is one.
///
/// # Errors
/// When it is not 64 hex digits.
pub fn master_key_from_env() -> Result<Option<Secret>, OpenError> {
    match std::env::var("TABELLION_MASTER_KEY") {
        Err(_) => Ok(None),
        Ok(empty) if empty.is_empty() => Ok(None),
        Ok(digits) => unhex32(digits.trim())
            .map(|key| Some(Secret::from_bytes(key)))
            .ok_or_else(|| OpenError::new("TABELLION_MASTER_KEY must be 64 hex digits")),
    }
}

/// The master key given, or that of the directory.
pub(crate) fn master_key(dir: &DataDir, given: Option<Secret>) -> Result<Secret, OpenError> {
    if let Some(master) = given {
        return Ok(master);
    }
    let path = dir.master_key();
    let digits = std::fs::read_to_string(&path).map_err(|error| {
        OpenError::new(format!("{}: {error}; give the master key in TABELLION_MASTER_KEY", path.display()))
    })?;
    unhex32(digits.trim())
        .map(Secret::from_bytes)
        .ok_or_else(|| OpenError::new(format!("{}: not 64 hex digits", path.display())))
}

/// The master key: given, in the directory, or made now.
pub(crate) fn first_master_key(dir: &DataDir, options: &Options) -> Result<Secret, OpenError> {
    let path = dir.master_key();
    if options.master_key.is_none() && !path.exists() {
        let master = Secret::from_bytes(options.entropy.bytes());
        write_private(&path, master_text(&master).as_bytes())
            .map_err(|error| OpenError::of_io(&path, &error))?;
    }
    master_key(dir, options.master_key.clone())
}

/// The tenants of a data directory.
///
/// # Errors
/// When it cannot be read.
pub fn tenants(data: &Path) -> Result<Vec<TenantId>, OpenError> {
    let tenants = DataDir::at(data).tenants().map_err(text)?;
    if tenants.is_empty() { Err(holds_nothing(data)) } else { Ok(tenants) }
}

fn holds_nothing(data: &Path) -> OpenError {
    OpenError::new(format!("{} holds no tenant; is it a data directory of Tabellion?", data.display()))
}

/// The tenants of a data directory that a server would open.
fn whole_tenants(dir: &DataDir, master: Option<&Secret>, access: Access) -> Result<Vec<TenantId>, OpenError> {
    let surveyed = integrity::survey(dir, master, access);
    surveyed.must_be_whole()?;
    if surveyed.founded.is_empty() { Err(holds_nothing(dir.path())) } else { Ok(surveyed.founded) }
}

/// What a verification of a data directory found.
#[derive(Debug)]
pub struct Verified {
    /// What keeps a server from opening the directory, in the words of a start.
    pub faults: Vec<StartFault>,
    /// What every entry of every log was found to be.
    pub tenants: Vec<VerifyReport>,
}

impl Verified {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.faults.is_empty() && self.tenants.iter().all(VerifyReport::is_ok)
    }
}

/// Looks for what keeps a server from opening a data directory: parts that are missing, old, or of another one. Cheap, and
/// harmless beside a running server.
///
/// # Errors
/// When the master key in the environment is none.
pub fn survey(data: &Path) -> Result<Vec<StartFault>, OpenError> {
    let master = master_key_from_env()?;
    Ok(integrity::survey(&DataDir::at(data), master.as_ref(), Access::Reader).faults)
}

/// Verifies every tenant's logs, beside a running server or without one.
///
/// # Errors
/// When the directory holds nothing to verify; what is wrong with it or with a log is in the report.
pub fn verify(
    data: &Path,
    master: Option<Secret>,
    options: VerifyOptions,
    progress: Progress<'_>,
) -> Result<Verified, OpenError> {
    let dir = DataDir::at(data);
    let surveyed = integrity::survey(&dir, master.as_ref(), Access::Reader);
    let mut tenants = dir.tenants().unwrap_or_default();
    tenants.retain(|tenant| !surveyed.unfounded.contains(tenant));
    if tenants.is_empty() && surveyed.faults.is_empty() {
        return Err(holds_nothing(data));
    }
    let master = master_key(&dir, master).ok();
    let mut reports = Vec::new();
    for tenant in tenants {
        // The witness is read before the log: entries that come in meanwhile only make the log longer than it.
        let witness = std::fs::read_to_string(dir.witness(tenant)).ok();
        let Ok(store) = SqliteStore::open_read_only(&dir.log(tenant)) else {
            // The survey has said what is wrong with a log that does not open.
            continue;
        };
        let keys =
            master.as_ref().map(|master| KeyStore::open_read_only(&dir.key_store(tenant), tenant, master));
        let opened = keys.as_ref().and_then(|keys| keys.as_ref().ok());
        let against = Against { tenant, store: &store, keys: opened, witness, pinned: options.public_key };
        let mut report = verify::verify(&against, progress);
        let mut note = |what: String| {
            if let Some(log) = report.logs.first_mut() {
                log.faults.push(LogFault { lsn: None, what });
            }
        };
        match &keys {
            Some(Err(error)) => note(error.to_string()),
            Some(Ok(keys)) if options.views => {
                if let Some(what) = views_differ(&dir, &store, keys, tenant) {
                    note(what);
                }
            }
            Some(Ok(_)) | None => {}
        }
        reports.push(report);
    }
    Ok(Verified { faults: surveyed.faults, tenants: reports })
}

/// What differs between the views that a start would use and those folded from the first entry.
fn views_differ(dir: &DataDir, store: &SqliteStore, keys: &KeyStore, tenant: TenantId) -> Option<String> {
    let source = Source { store, keys, tenant };
    let (views, index) = (Checkpoint::of_views(dir, tenant, keys), Checkpoint::of_index(dir, tenant, keys));
    let stored = fingerprints(source, Some((&views, &index)), &mut |_, _| {});
    let folded = fingerprints(source, None, &mut |_, _| {});
    match (stored, folded) {
        (Ok(stored), Ok(folded)) if stored == folded => None,
        (Ok(_), Ok(_)) => {
            Some("the stored views are not what the log folds to; run `tabellion rebuild`".into())
        }
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
    }
}

/// One hash over the views and one over the index.
fn fingerprints(
    source: Source<'_>,
    checkpoints: Option<(&Checkpoint, &Checkpoint)>,
    progress: Progress<'_>,
) -> Result<[Hash; 2], OpenError> {
    let views = source.views(checkpoints.map(|both| both.0), progress)?.view;
    let index = source.index(checkpoints.map(|both| both.1), &views.items, progress)?.view;
    Ok([views.fingerprint(), index.fingerprint()])
}

/// Drops every tenant's checkpoint and folds its views anew. No server may hold the directory.
///
/// # Errors
/// When a server holds it, or an entry cannot be read.
pub fn rebuild(
    data: &Path,
    master: Option<Secret>,
    progress: Progress<'_>,
) -> Result<Vec<(TenantId, u64)>, OpenError> {
    let dir = DataDir::at(data);
    if dir.traces().map_err(text)?.is_empty() {
        return Err(holds_nothing(data));
    }
    let _held = dir.lock().map_err(text)?;
    let tenants = whole_tenants(&dir, master.as_ref(), Access::Holder)?;
    let master = master_key(&dir, master)?;
    let mut rebuilt = Vec::new();
    for tenant in tenants {
        let store = SqliteStore::open(&dir.log(tenant)).map_err(text)?;
        let keys = KeyStore::open_read_only(&dir.key_store(tenant), tenant, &master).map_err(text)?;
        let source = Source { store: &store, keys: &keys, tenant };
        let checkpoints =
            [Checkpoint::of_views(&dir, tenant, &keys), Checkpoint::of_index(&dir, tenant, &keys)];
        for checkpoint in &checkpoints {
            checkpoint.remove().map_err(text)?;
        }
        let views = source.views(None, progress)?.view;
        let index = source.index(None, &views.items, progress)?.view;
        let entropy: &dyn crate::ports::Entropy = &SystemEntropy;
        let views_and_index = [(views.lsn(), views.checkpoint()), (index.lsn(), index.checkpoint())];
        for (checkpoint, (lsn, bytes)) in checkpoints.iter().zip(views_and_index) {
            checkpoint.write(&store, lsn, &bytes, &entropy.bytes()).map_err(text)?;
        }
        store.settle().map_err(text)?;
        rebuilt.push((tenant, views.lsn().get()));
    }
    Ok(rebuilt)
}

/// Writes a snapshot to `out` and its secrets to `out` with `.keys` behind it, beside a running server or without one.
///
/// # Errors
/// When something cannot be read or written.
pub fn export(
    data: &Path,
    master: Option<Secret>,
    out: &Path,
    progress: Progress<'_>,
) -> Result<ExportReport, OpenError> {
    let dir = DataDir::at(data);
    let tenants = whole_tenants(&dir, master.as_ref(), Access::Reader)?;
    let in_file = master.is_none();
    let master = master_key(&dir, master)?;
    let mut sources = Vec::new();
    for tenant in tenants {
        let store = SqliteStore::open_read_only(&dir.log(tenant)).map_err(text)?;
        let keys = KeyStore::open_read_only(&dir.key_store(tenant), tenant, &master).map_err(text)?;
        sources.push(snapshot::Source { tenant, store, keys, kept: dir.kept(tenant) });
    }
    snapshot::export(&sources, in_file.then_some(&master), out, &SystemEntropy, progress)
}

/// Makes a new data directory from a snapshot and its key file.
///
/// # Errors
/// When the directory holds data already, or the snapshot is damaged or of other keys.
pub fn restore(
    from: &Path,
    data: &Path,
    master: Option<Secret>,
    progress: Progress<'_>,
) -> Result<RestoreReport, OpenError> {
    snapshot::restore(from, &DataDir::at(data), master, progress)
}

/// The master key as its file holds it.
pub(crate) fn master_text(master: &Secret) -> String {
    format!("{}\n", hex(master.as_bytes()))
}
