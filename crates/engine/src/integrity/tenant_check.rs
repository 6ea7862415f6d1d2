//! Whether the files of one tenant are all there, belong together, and hold as much as its witness has seen.
//!
//! Reads few entries, and makes nothing.

use super::fault::{hindered, is_there, unusable, wrong};
use super::heads::HeadCheck;
use super::{Access, KnownTenant, StartFault, label};
use crate::fold;
use crate::witness::{self, Witness};
use std::path::{Path, PathBuf};
use tabellion_core::id::TenantId;
use tabellion_core::log::{AcceptedLoss, Entry, Event, LogName, LostPart, Lsn, Payload, VerifyingKey};
use tabellion_core::seal::Secret;
use tabellion_store::{DataDir, KeptStore, KeyStore, Obstacle, SqliteStore, Store, StoreError};

/// Newest sealed entries that are looked at for the highest data key: commits may be out of order by as many.
const NEWEST_SEALED: usize = 64;

/// Whether a tenant has been founded.
pub(super) enum Standing {
    Founded { is_operator: bool },
    Unfounded,
}

/// What lies where the witness belongs.
enum Seen {
    Missing,
    Unusable,
    Known(Witness),
}

/// What the log says about itself in its first entry.
struct Founding {
    public_key: VerifyingKey,
    is_operator: bool,
}

/// The check of one tenant. A file is read before those that a running server writes after it, so that a reader beside it
/// finds no fault that is none.
pub(super) struct TenantCheck<'a> {
    dir: &'a DataDir,
    tenant: TenantId,
    access: Access,
    master: Option<&'a Secret>,
    name: Option<String>,
    /// The tenants that its witness names: that of the first one names all the others.
    pub(super) known: Vec<KnownTenant>,
    faults: Vec<StartFault>,
}

impl<'a> TenantCheck<'a> {
    pub(super) const fn new(
        dir: &'a DataDir,
        tenant: TenantId,
        access: Access,
        master: Option<&'a Secret>,
    ) -> Self {
        Self { dir, tenant, access, master, name: None, known: Vec::new(), faults: Vec::new() }
    }

    pub(super) fn run(&mut self) -> Standing {
        let seen = self.witness();
        self.kept(&seen);
        self.derived();
        let log_path = self.dir.log(self.tenant);
        let has_log = self.noted(is_there(&log_path));
        let has_keys = self.noted(is_there(&self.dir.key_store(self.tenant)));
        let store = if has_log == Some(true) && !self.log_is_blank() { self.store() } else { None };
        let size = store.as_ref().and_then(|store| store.size(LogName::Memory).ok());
        let is_blank = has_log == Some(true) && self.log_is_blank();
        let is_empty = has_log == Some(false) || is_blank || size == Some(0);
        match &seen {
            Seen::Known(witness) if witness.is_of_founding() && is_empty && !self.has_lived() => {
                self.faults.clear();
                return Standing::Unfounded;
            }
            Seen::Missing if is_empty && has_keys == Some(false) && self.folder_is_empty() => {
                return Standing::Unfounded;
            }
            Seen::Missing | Seen::Unusable | Seen::Known(_) => {}
        }
        let used = store.as_ref().and_then(|store| self.used_keys(store));
        let keys = if has_keys == Some(true) { self.keys() } else { None };
        if has_keys == Some(false) {
            let path = self.dir.key_store(self.tenant);
            let what =
                format!("{} is missing: without it nothing of this tenant can be read", path.display());
            self.fault(what, format!("restore {} from its backup", path.display()));
        }
        self.name = self.find_name(store.as_ref(), keys.as_ref(), &seen);
        self.known = self.known_tenants(keys.as_ref(), &seen);
        if is_empty {
            self.log_is_gone(&seen, has_log == Some(true));
            return Standing::Founded { is_operator: false };
        }
        let Some(store) = store else { return Standing::Founded { is_operator: false } };
        let Some(founding) = self.founding(&store, keys.as_ref()) else {
            return Standing::Founded { is_operator: false };
        };
        self.logs(&store, &founding, &seen);
        if let (Some(used), Some(keys)) = (used, keys) {
            self.data_keys(used, &keys);
        }
        Standing::Founded { is_operator: founding.is_operator }
    }

    pub(super) fn finish(self) -> Vec<StartFault> {
        let label = label(self.tenant, self.name.as_deref());
        let of_tenant = |fault| StartFault { tenant: Some(label.clone()), id: Some(self.tenant), ..fault };
        self.faults.into_iter().map(of_tenant).collect()
    }

    fn fault(&mut self, what: String, way_out: impl Into<String>) {
        self.faults.push(wrong(what, way_out));
    }

    /// A fault that the operator may accept as a loss. The way out is said once all faults are known.
    fn loss(&mut self, what: String, loss: AcceptedLoss) {
        self.faults.push(StartFault { loss: Some(loss), ..wrong(what, "") });
    }

    fn lost_witness(&mut self, what: String) {
        self.loss(what, AcceptedLoss { part: LostPart::Witness, found: 0, seen: 0, root: None });
    }

    fn noted<T>(&mut self, found: Result<T, StartFault>) -> Option<T> {
        found.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Whether something is there that no founding leaves behind: a checkpoint, or a write that waited.
    fn has_lived(&self) -> bool {
        let (dir, tenant) = (self.dir, self.tenant);
        let has_checkpoint = dir.checkpoint(tenant).exists() || dir.index_checkpoint(tenant).exists();
        let kept = KeptStore::state(&dir.kept(tenant)).ok().flatten().unwrap_or_default();
        has_checkpoint || kept.changes > 0
    }

    fn folder_is_empty(&self) -> bool {
        std::fs::read_dir(self.dir.tenant(self.tenant)).map_or(true, |mut entries| entries.next().is_none())
    }

    fn witness(&mut self) -> Seen {
        let path = self.dir.witness(self.tenant);
        match self.noted(is_there(&path)) {
            None => return Seen::Unusable,
            Some(false) => return Seen::Missing,
            Some(true) => {}
        }
        if let Some(witness) = std::fs::read_to_string(&path).ok().and_then(|text| Witness::parse(&text)) {
            return Seen::Known(witness);
        }
        let what = format!("{} is damaged, so nothing tells whether the logs are whole", path.display());
        self.lost_witness(what);
        Seen::Unusable
    }

    /// Writes that wait or were refused: their file counts its changes, and the witness knows how far it had come.
    fn kept(&mut self, seen: &Seen) {
        let Seen::Known(witness) = seen else { return };
        let path = self.dir.kept(self.tenant);
        let Some(is_there) = self.noted(is_there(&path)) else { return };
        let (before, loss) = (witness.kept_changes, |found| AcceptedLoss {
            part: LostPart::Waiting,
            found,
            seen: witness.kept_changes,
            root: None,
        });
        let holds = "writes that wait, and those that were refused";
        if !is_there {
            if before > 0 {
                self.loss(format!("{} is missing; it held {holds}", path.display()), loss(0));
            }
            return;
        }
        let way_out = format!("restore {} from its backup, or move it away and start again", path.display());
        match KeptStore::state(&path) {
            Err(error) => {
                let damaged = || wrong(format!("{}, which holds {holds}: {error}", path.display()), &way_out);
                let obstacle = error.obstacle();
                self.faults.push(obstacle.map_or_else(damaged, |found| hindered(&path, &error, found)));
            }
            Ok(Some(state)) if state.tenant.is_some_and(|tenant| tenant != self.tenant) => {
                self.fault(format!("{} belongs to another tenant", path.display()), way_out);
            }
            Ok(state) => {
                let changes = state.unwrap_or_default().changes;
                if changes < before {
                    let what = format!(
                        "{} is an old copy: {changes} of the {before} changes that the witness has seen are in it",
                        path.display()
                    );
                    self.loss(what, loss(changes));
                }
            }
        }
    }

    /// Files that are made again from the log, whatever is in them, unless something else lies in their place.
    fn derived(&mut self) {
        let (dir, tenant) = (self.dir, self.tenant);
        for path in [dir.checkpoint(tenant), dir.index_checkpoint(tenant), dir.vectors(tenant)] {
            if path.is_dir() {
                let what = format!("{} is a directory where a file belongs", path.display());
                self.fault(what, "move it away: the file is made again from the log");
            }
        }
    }

    /// Whether there is not a byte of a log, neither in its file nor in the write-ahead log.
    fn log_is_blank(&self) -> bool {
        let log = self.dir.log(self.tenant);
        let has_bytes = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        !has_bytes(&log) && !has_bytes(&wal(&log))
    }

    fn store(&mut self) -> Option<SqliteStore> {
        let path = self.dir.log(self.tenant);
        let store = match self.access {
            Access::Holder => SqliteStore::open_existing(&path),
            Access::Reader => SqliteStore::open_read_only(&path),
        };
        let sized = store.and_then(|store| {
            LogName::ALL.iter().try_for_each(|log| store.size(*log).map(drop)).map(|()| store)
        });
        sized.map_err(|error| self.refused(&path, &error, error.obstacle())).ok()
    }

    fn damaged(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        self.refused(path, error, None);
    }

    /// A file that is damaged, unless it is the system that refuses it.
    fn refused(&mut self, path: &Path, error: &dyn std::fmt::Display, obstacle: Option<Obstacle>) {
        let way_out = format!("restore {} from its newest backup", self.dir.path().display());
        self.faults.push(unusable(path, error, obstacle, way_out));
    }

    fn keys(&mut self) -> Option<KeyStore> {
        let path = self.dir.key_store(self.tenant);
        let keys = KeyStore::open_read_only(&path, self.tenant, self.master?);
        let way_out = "restore keys/ from the backup that belongs to this directory, and TABELLION_MASTER_KEY if it gave the key";
        keys.map_err(|error| self.faults.push(unusable(&path, &error, error.obstacle(), way_out))).ok()
    }

    fn known_tenants(&self, keys: Option<&KeyStore>, seen: &Seen) -> Vec<KnownTenant> {
        let Seen::Known(witness) = seen else { return Vec::new() };
        let open = |id, sealed: &[u8]| witness::open_name(sealed, id, keys?.tenant_secret());
        let place = self.dir.witness(self.tenant);
        let tenants = witness.tenants.iter();
        tenants
            .map(|(id, sealed)| KnownTenant { id: *id, name: open(*id, sealed), witness: place.clone() })
            .collect()
    }

    fn find_name(&self, store: Option<&SqliteStore>, keys: Option<&KeyStore>, seen: &Seen) -> Option<String> {
        let keys = keys?;
        let first =
            store.and_then(|store| fold::payload(store, keys, self.tenant, Lsn::new(1)).ok().flatten());
        if let Some(Payload::Principal(words)) = first {
            return Some(words.name);
        }
        let Seen::Known(witness) = seen else { return None };
        witness::open_name(witness.name.as_deref()?, self.tenant, keys.tenant_secret())
    }

    fn log_is_gone(&mut self, seen: &Seen, has_file: bool) {
        let (log, witness) = (self.dir.log(self.tenant), self.dir.witness(self.tenant));
        let state = if has_file { "holds no entry" } else { "is missing" };
        let had = match seen {
            Seen::Known(known) => {
                let [memory, audit] =
                    LogName::ALL.map(|log| known.head(log).map_or(0, |signed| signed.head.size));
                format!(
                    "{} has seen {memory} entries of the memory log and {audit} of the audit log",
                    witness.display()
                )
            }
            Seen::Missing => format!("{} is missing too", witness.display()),
            Seen::Unusable => "keys of this tenant are there".to_owned(),
        };
        let way_out =
            format!("restore {} from the newest backup of {}", log.display(), self.dir.path().display());
        self.fault(format!("{} {state}: {had}", log.display()), way_out);
    }

    /// The first entry: whose log it is, and under which key its heads are signed.
    fn founding(&mut self, store: &SqliteStore, keys: Option<&KeyStore>) -> Option<Founding> {
        let path = self.dir.log(self.tenant);
        let founded = |tenant: TenantId| format!("is the log of another tenant, {tenant}");
        let first = match store.record(LogName::Memory, Lsn::new(1)) {
            Ok(Some(record)) => Entry::decode(&record.body).map(|entry| entry.event).ok(),
            Err(error) if error.obstacle().is_some() => {
                self.refused(&path, &error, error.obstacle());
                return None;
            }
            Ok(None) | Err(_) => None,
        };
        let (what, key) = match first {
            Some(Event::TenantCreated { tenant, .. }) if tenant != self.tenant => (founded(tenant), None),
            Some(Event::TenantCreated { public_key, operator, .. }) => {
                match VerifyingKey::from_bytes(&public_key) {
                    None => ("has a first entry without a valid public key".to_owned(), None),
                    Some(key) => (String::new(), Some(Founding { public_key: key, is_operator: operator })),
                }
            }
            Some(_) | None => ("has no readable first entry".to_owned(), None),
        };
        let Some(founding) = key else {
            self.damaged(&path, &what);
            return None;
        };
        let signs = keys.map(|keys| keys.signing_key().verifying_key());
        if signs.is_some_and(|key| key != founding.public_key) {
            let keys = self.dir.key_store(self.tenant);
            let what = format!(
                "{} and {} do not belong together: the log is signed by another key",
                keys.display(),
                path.display()
            );
            self.fault(what, "restore both from the same backup");
            return None;
        }
        Some(founding)
    }

    fn logs(&mut self, store: &SqliteStore, founding: &Founding, seen: &Seen) {
        let log_path = self.dir.log(self.tenant);
        let witness_path = self.dir.witness(self.tenant);
        let witness = match seen {
            Seen::Known(witness) if witness.is_of_founding() && grew_after_founding(store) => {
                let place = witness_path.display();
                self.lost_witness(format!(
                    "{place} has seen nothing, and the logs go on after their founding"
                ));
                None
            }
            Seen::Known(witness) => {
                let mut heads = LogName::ALL.into_iter().filter_map(|log| Some((log, witness.head(log)?)));
                let is_signed = heads.all(|(log, head)| founding.public_key.confirms(self.tenant, log, head));
                if !is_signed {
                    // Nor are the tenants that it names those of this directory.
                    self.known.clear();
                    self.lost_witness(format!(
                        "{} is not signed by the key of {}: one of them belongs to another tenant or was changed",
                        witness_path.display(),
                        log_path.display()
                    ));
                }
                is_signed.then_some(witness)
            }
            Seen::Unusable => None,
            Seen::Missing => {
                let missing = format!("{} is missing", witness_path.display());
                self.lost_witness(format!("{missing}, so nothing tells whether the logs are whole"));
                None
            }
        };
        for log in LogName::ALL {
            let head = witness.and_then(|witness| witness.head(log));
            let check = HeadCheck { tenant: self.tenant, store, log, key: founding.public_key };
            match check.run(head) {
                Ok(None) => {}
                Ok(Some(loss)) => {
                    let what = self.lost(&log_path, &loss);
                    self.loss(what, loss);
                }
                Err(fault) => {
                    let what = format!("the {} log: {}", log.as_str(), fault.what);
                    self.refused(&log_path, &what, fault.obstacle);
                }
            }
        }
    }

    fn lost(&self, path: &Path, loss: &AcceptedLoss) -> String {
        let (path, witness) = (path.display(), self.dir.witness(self.tenant));
        let (part, AcceptedLoss { found, seen, .. }) = (loss.part.as_str(), *loss);
        if found < seen {
            let missing = seen - found;
            let entries = if missing == 1 { "entry is" } else { "entries are" };
            return format!(
                "{path}: the {part} ends at entry {found}, and {} has seen {seen}: {missing} {entries} missing",
                witness.display()
            );
        }
        format!(
            "{path}: the first {seen} entries of the {part} are not those that {} has seen",
            witness.display()
        )
    }

    /// The highest number of a data key that the log uses.
    fn used_keys(&mut self, store: &SqliteStore) -> Option<u64> {
        match last_used_key(store) {
            Ok(used) => Some(used),
            Err(error) => {
                self.refused(&self.dir.log(self.tenant), &error, error.obstacle());
                None
            }
        }
    }

    fn data_keys(&mut self, used: u64, keys: &KeyStore) {
        let path = self.dir.key_store(self.tenant);
        match keys.last_data_key() {
            Err(error) => self.refused(&path, &error, error.obstacle()),
            Ok(last) if last < used => {
                let what = format!(
                    "{} is an old copy: the newest entries of {} are sealed under data key {used}, and it ends at {last}",
                    path.display(),
                    self.dir.log(self.tenant).display()
                );
                self.fault(what, "restore keys/ from its newest backup");
            }
            Ok(_) => {}
        }
    }
}

/// Whether a log has more heads than the one that its founding signs. One that cannot be read is refused elsewhere.
fn grew_after_founding(store: &SqliteStore) -> bool {
    LogName::ALL.iter().any(|log| store.heads(*log, 0, 2).is_ok_and(|heads| heads.len() > 1))
}

/// The highest number of a data key among the newest entries of both logs.
fn last_used_key(store: &SqliteStore) -> Result<u64, StoreError> {
    let mut used = 0;
    for log in LogName::ALL {
        let newest = store.newest_sealed(log, NEWEST_SEALED)?;
        let keys = newest.iter().filter_map(|record| Entry::decode(&record.body).ok()?.sealed);
        used = keys.map(|sealed| sealed.key).fold(used, u64::max);
    }
    Ok(used)
}

fn wal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}
