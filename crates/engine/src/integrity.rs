//! What must hold before a data directory is opened: every part that belongs to it is there, and no log is shorter than,
//! or different from, what its witness has seen.
//!
//! Invariant (one judgement): a start, `verify`, `doctor`, `export` and `rebuild` all ask `survey`, so they refuse the same
//! directories with the same words. Nothing is made here. It costs a few reads: `verify` reads every entry, this does not.

mod fault;
mod heads;
mod tenant_check;

pub use fault::StartFault;

use crate::OpenError;
use fault::{is_there, wrong};
use std::path::{Path, PathBuf};
use tabellion_core::id::TenantId;
use tabellion_core::log::AcceptedLoss;
use tabellion_core::seal::Secret;
use tabellion_store::{DataDir, Obstacle};
use tenant_check::{Standing, TenantCheck};

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

/// How a backup comes back that is no copy of files.
const BY_EXPORT: &str =
    "; a backup that `tabellion export` made comes back whole: `tabellion restore --from FILE --data NEWDIR`";

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
    for fault in found.faults.iter_mut().filter(|fault| fault.is_of_data()) {
        // A mended command line of a restore that was broken off needs no second one.
        if !fault.way_out.contains("tabellion restore") {
            fault.way_out.push_str(BY_EXPORT);
        }
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
    let traces = dir.traces()?;
    if traces.is_empty() {
        return may_be_new(dir);
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
        None => master_key(dir).map_err(|fault| found.faults.push(fault)).ok(),
    };
    let mut operator = false;
    let mut known = Vec::new();
    for tenant in traces {
        let mut check = TenantCheck::new(dir, tenant, access, master.as_ref());
        match check.run() {
            Standing::Founded { is_operator } => {
                operator |= is_operator;
                found.founded.push(tenant);
            }
            Standing::Unfounded => found.unfounded.push(tenant),
        }
        known.append(&mut check.known);
        found.faults.extend(check.finish());
    }
    known.retain(|known| !found.founded.contains(&known.id));
    for known in known {
        // A server beside us may have founded it after its place was looked at, and before the witness that names it was.
        let mut check = TenantCheck::new(dir, known.id, access, master.as_ref());
        match check.run() {
            Standing::Founded { .. } => {
                found.founded.push(known.id);
                found.faults.extend(check.finish());
            }
            Standing::Unfounded => found.faults.push(known.is_missing(dir)),
        }
    }
    let can_go_on = found.faults.iter().all(|fault| fault.loss.is_some());
    if !found.founded.is_empty() && !operator && can_go_on {
        let what = format!("{data} holds tenants, but not the first one, whose admins make the others");
        return Err(wrong(what, format!("restore its files in keys/ and tenants/ of {data} from a backup")));
    }
    Ok(())
}

/// Refuses a directory of which only the master key is left. A first start that was cut short has left its mark beside it.
fn may_be_new(dir: &DataDir) -> Result<(), StartFault> {
    let master = dir.master_key();
    if !is_there(&master)? || dir.founding_mark().exists() {
        return Ok(());
    }
    let (data, master) = (dir.path().display(), master.display());
    let what = format!(
        "{master} is there, but no tenant whose keys it opens: neither in keys/ nor in tenants/ of {data}"
    );
    let way_out = format!(
        "restore {data} from its newest backup; if nothing was ever stored here, move {master} away and start again"
    );
    Err(wrong(what, way_out))
}

/// The master key of the directory.
fn master_key(dir: &DataDir) -> Result<Secret, StartFault> {
    let path = dir.master_key();
    let read = std::fs::File::open(&path).err().and_then(|error| Obstacle::of_io(&error).map(|_| error));
    if let Some(error) = read {
        return Err(fault::unreadable(&path, &error));
    }
    let way_out = format!("restore {} from its backup", path.display());
    crate::offline::master_key(dir, None).map_err(|error| wrong(error.to_string(), way_out))
}

/// A tenant that the witness of the first one names.
struct KnownTenant {
    id: TenantId,
    name: Option<String>,
    /// The witness that names it.
    witness: PathBuf,
}

impl KnownTenant {
    /// The fault of a tenant of which there is nothing, or no more than of one whose founding was cut short.
    fn is_missing(&self, dir: &DataDir) -> StartFault {
        let folder = dir.tenant(self.id);
        let log = if folder.exists() { dir.log(self.id) } else { folder };
        let mut gone = vec![log.clone(), dir.key_store(self.id), dir.witness(self.id)];
        gone.retain(|path| !path.exists());
        let gone: Vec<String> = gone.iter().map(|path| path.display().to_string()).collect();
        let state = match gone.as_slice() {
            [] => format!("{} holds no entry", log.display()),
            [one] => format!("{one} is missing"),
            [most @ .., last] => format!("{} and {last} are missing", most.join(", ")),
        };
        let what = format!("{state}, and {} has seen this tenant", self.witness.display());
        let data = dir.path().display();
        let way_out = format!("restore its files in keys/ and tenants/ of {data} from the newest backup");
        StartFault {
            tenant: Some(label(self.id, self.name.as_deref())),
            id: Some(self.id),
            ..wrong(what, way_out)
        }
    }
}

/// A tenant as messages name it.
fn label(id: TenantId, name: Option<&str>) -> String {
    name.map_or_else(|| id.to_string(), |name| format!("`{name}` ({id})"))
}
