//! What must hold before a data directory is opened: every part that belongs to it is there, and no log is shorter than,
//! or different from, what its witness has seen.
//!
//! Invariant (one judgement): a start, `verify`, `doctor`, `export` and `rebuild` all ask `survey`, so they refuse the same
//! directories with the same words. Nothing is made here. It costs a few reads: `verify` reads every entry, this does not.

mod heads;

use crate::OpenError;
use crate::fold;
use crate::witness::{self, Witness};
use heads::HeadCheck;
use std::io;
use std::path::{Path, PathBuf};
use tabellion_core::id::TenantId;
use tabellion_core::log::{AcceptedLoss, Entry, Event, LogName, LostPart, Lsn, Payload, VerifyingKey};
use tabellion_core::seal::Secret;
use tabellion_store::{DataDir, KeptStore, KeyStore, SqliteStore, Store};

/// Newest sealed entries that are looked at for the highest data key: commits may be out of order by as many.
const NEWEST_SEALED: usize = 64;

/// One reason why a data directory is not opened.
#[derive(Debug, Clone)]
pub struct StartFault {
    /// The tenant, by name and id.
    pub tenant: Option<String>,
    /// What is wrong, and with which file.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
    loss: Option<AcceptedLoss>,
    id: Option<TenantId>,
}

impl std::fmt::Display for StartFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(tenant) = &self.tenant {
            write!(f, "tenant {tenant}: ")?;
        }
        write!(f, "{}; {}", self.what, self.way_out)
    }
}

impl StartFault {
    /// The tenant that it concerns.
    #[must_use]
    pub const fn tenant_id(&self) -> Option<TenantId> {
        self.id
    }
}

/// How the files may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// By the one process that holds the directory: a log may be brought up to date.
    Holder,
    /// Beside a running server, or without one.
    Reader,
}

/// What a data directory holds, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The tenants that were founded.
    pub(crate) founded: Vec<TenantId>,
    /// Tenants whose founding was cut short before anybody was told of them.
    pub(crate) unfounded: Vec<TenantId>,
    /// Everything that keeps the directory from being opened.
    pub(crate) faults: Vec<StartFault>,
}

impl Survey {
    /// Refuses a directory with faults.
    pub(crate) fn must_be_whole(&self) -> Result<(), OpenError> {
        if self.faults.is_empty() { Ok(()) } else { Err(OpenError::not_whole(&self.faults)) }
    }

    /// The losses that the operator takes upon himself, unless something is wrong that cannot be taken so.
    pub(crate) fn accept(&self) -> Result<Vec<(TenantId, AcceptedLoss)>, OpenError> {
        let losses: Option<Vec<_>> = self.faults.iter().map(|fault| fault.id.zip(fault.loss)).collect();
        losses.ok_or_else(|| OpenError::not_whole(&self.faults))
    }
}

/// Looks at a whole data directory. `master` is the master key, if it is given from outside the directory.
pub(crate) fn survey(dir: &DataDir, master: Option<&Secret>, access: Access) -> Survey {
    let mut found = Survey::default();
    if let Err(fault) = survey_tenants(dir, master, access, &mut found) {
        found.faults.push(fault);
    }
    let data = dir.path().display();
    let restore = format!("restore {data} from its newest backup");
    let can_go_on = found.faults.iter().all(|fault| fault.loss.is_some());
    for fault in found.faults.iter_mut().filter(|fault| fault.loss.is_some()) {
        fault.way_out = match can_go_on {
            true => format!(
                "{restore}, or go on without with `tabellion serve --data {data} --accept-loss`, which records the loss in \
                 the log"
            ),
            false => restore.clone(),
        };
    }
    found
}

fn survey_tenants(
    dir: &DataDir,
    given: Option<&Secret>,
    access: Access,
    found: &mut Survey,
) -> Result<(), StartFault> {
    let data = dir.path().display();
    let mark = dir.restore_mark();
    if mark.exists() {
        let what =
            format!("{}: a restore into this directory was broken off, so it is not whole", mark.display());
        return Err(wrong(
            what,
            format!("run `tabellion restore --data {data}` again, or restore into a new directory"),
        ));
    }
    let traces = dir.traces().map_err(|error| unreadable(dir.path(), &error))?;
    if traces.is_empty() {
        return Ok(());
    }
    let whole = |missing: &Path, other: &Path, count: usize| {
        let what = format!(
            "{} is missing, and {} holds {}",
            missing.display(),
            other.display(),
            if count == 1 { "a tenant".to_owned() } else { format!("{count} tenants") }
        );
        wrong(what, format!("restore {} from the backup that belongs to it", missing.display()))
    };
    for (folder, other) in [(dir.keys(), dir.tenant_folders()), (dir.tenant_folders(), dir.keys())] {
        if !folder.exists() {
            return Err(whole(&folder, &other, traces.len()));
        }
    }
    let master = match given {
        Some(master) => Some(master.clone()),
        None => match crate::offline::master_key(dir, None) {
            Ok(master) => Some(master),
            Err(error) => {
                let way_out = format!("restore {} from its backup", dir.master_key().display());
                found.faults.push(wrong(error.to_string(), way_out));
                None
            }
        },
    };
    let mut operator = false;
    for tenant in traces {
        let mut check =
            TenantCheck { dir, tenant, access, master: master.as_ref(), name: None, faults: Vec::new() };
        match check.run() {
            Standing::Founded { is_operator } => {
                operator |= is_operator;
                found.founded.push(tenant);
            }
            Standing::Unfounded => found.unfounded.push(tenant),
        }
        found.faults.extend(check.finish());
    }
    if !found.founded.is_empty() && !operator && found.faults.is_empty() {
        let what = format!("{data} holds tenants, but not the first one, whose admins make the others");
        return Err(wrong(what, format!("restore its files in keys/ and tenants/ of {data} from a backup")));
    }
    Ok(())
}

fn wrong(what: String, way_out: impl Into<String>) -> StartFault {
    StartFault { tenant: None, what, way_out: way_out.into(), loss: None, id: None }
}

/// A file that the system does not let us read.
fn unreadable(path: &Path, error: &io::Error) -> StartFault {
    let way_out = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run this as the user that the files belong to, or give them to this user with chown".to_owned()
        }
        _ => format!("see that {} can be read, or restore it from its backup", path.display()),
    };
    wrong(format!("cannot read {}: {error}", path.display()), way_out)
}

/// Whether a file is there, and can be read as one.
fn is_there(path: &Path) -> Result<bool, StartFault> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unreadable(path, &error)),
        Ok(found) if found.is_dir() => {
            let what = format!("{} is a directory where a file belongs", path.display());
            Err(wrong(what, "move it away, and restore the file from its backup"))
        }
        Ok(_) => std::fs::File::open(path).map(|_| true).map_err(|error| unreadable(path, &error)),
    }
}

/// Whether a tenant has been founded.
enum Standing {
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
struct TenantCheck<'a> {
    dir: &'a DataDir,
    tenant: TenantId,
    access: Access,
    master: Option<&'a Secret>,
    name: Option<String>,
    faults: Vec<StartFault>,
}

impl TenantCheck<'_> {
    fn run(&mut self) -> Standing {
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
            Seen::Known(witness) if witness.is_of_founding() && is_empty => {
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

    fn finish(self) -> Vec<StartFault> {
        let label =
            self.name.map_or_else(|| self.tenant.to_string(), |name| format!("`{name}` ({})", self.tenant));
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
            Err(error) => self.fault(format!("{}, which holds {holds}: {error}", path.display()), way_out),
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
        sized.map_err(|error| self.damaged(&path, &error)).ok()
    }

    fn damaged(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        let way_out = format!("restore {} from its newest backup", self.dir.path().display());
        self.fault(format!("{}: {error}", path.display()), way_out);
    }

    fn keys(&mut self) -> Option<KeyStore> {
        let path = self.dir.key_store(self.tenant);
        let keys = KeyStore::open_read_only(&path, self.tenant, self.master?);
        let way_out = "restore keys/ from the backup that belongs to this directory, and TABELLION_MASTER_KEY if it gave the key";
        keys.map_err(|error| self.fault(format!("{}: {error}", path.display()), way_out)).ok()
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
            Seen::Known(witness) => {
                let mut heads = LogName::ALL.into_iter().filter_map(|log| Some((log, witness.head(log)?)));
                let is_signed = heads.all(|(log, head)| founding.public_key.confirms(self.tenant, log, head));
                if !is_signed {
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
                Err(what) => self.damaged(&log_path, &format!("the {} log: {what}", log.as_str())),
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
                self.damaged(&self.dir.log(self.tenant), &error);
                None
            }
        }
    }

    fn data_keys(&mut self, used: u64, keys: &KeyStore) {
        let path = self.dir.key_store(self.tenant);
        match keys.last_data_key() {
            Err(error) => self.damaged(&path, &error),
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

/// The highest number of a data key among the newest entries of both logs.
fn last_used_key(store: &SqliteStore) -> Result<u64, tabellion_store::StoreError> {
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
