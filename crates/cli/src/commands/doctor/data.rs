//! What is wrong with a data directory? Nothing here writes to it.

use super::Check;
use rustix::fs::statvfs;
use std::fs::{File, Metadata, TryLockError};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tabellion_core::canonical::unhex32;
use tabellion_core::id::TenantId;
use tabellion_core::log::{LogName, root_of};
use tabellion_core::seal::Secret;
use tabellion_core::time::Timestamp;
use tabellion_engine::{StartFault, offline};
use tabellion_store::{DataDir, KeyStore, SqliteStore, Store, StoreError, subtree};

const SPACE_WARN_BYTES: u64 = 1 << 30;
const SPACE_FAIL_BYTES: u64 = 64 << 20;
/// A log may be this far ahead of the clock: clocks of one machine are set now and then.
const AHEAD_MAX_US: u64 = 60_000_000;
/// Entries that a start without a checkpoint folds in a moment.
const FOLDED_AT_ONCE: u64 = 100_000;

const GIVE_MASTER: &str =
    "give the key that this data was made with, in TABELLION_MASTER_KEY or keys/master.key";

/// Every check of a data directory.
pub(super) fn look(path: &Path, now: Timestamp) -> Vec<Check> {
    if !path.is_dir() {
        let (what, mend) = if path.exists() {
            ("is no directory", "name the data directory of the server with --data".to_owned())
        } else {
            let mend =
                format!("`tabellion serve --data {}` makes it; or name another with --data", path.display());
            ("is not there", mend)
        };
        return vec![Check::fail("data", format!("{} {what}", path.display()), mend)];
    }
    let dir = DataDir::at(path);
    let tenants = match dir.tenants() {
        Ok(tenants) => tenants,
        Err(error) => return vec![refused(&StartFault::from(error))],
    };
    let faults = match offline::survey(path) {
        Ok(faults) => faults,
        Err(error) => return vec![Check::fail("master key", error.to_string(), GIVE_MASTER)],
    };
    let mut checks = vec![match tenants.len() {
        _ if !faults.is_empty() => {
            Check::fail("data", format!("a server does not open {}", path.display()), "mend what follows")
        }
        0 => empty(path),
        count => Check::ok(
            "data",
            format!("{} with {count} tenant{}", path.display(), if count == 1 { "" } else { "s" }),
        ),
    }];
    checks.extend(faults.iter().map(refused));
    checks.extend(permissions(&dir));
    checks.push(lock(path));
    checks.push(space(path));
    let master = master(&dir);
    let is_refused =
        |tenant: &TenantId| faults.iter().any(|fault| fault.tenant_id().is_none_or(|id| id == *tenant));
    for tenant in tenants.into_iter().filter(|tenant| !is_refused(tenant)) {
        checks.extend(tenant_checks(&dir, tenant, master.as_ref(), now));
    }
    checks
}

/// What a server would say at its start, in the same words.
fn refused(fault: &StartFault) -> Check {
    let tenant = fault.tenant.as_ref().map(|tenant| format!("tenant {tenant}: ")).unwrap_or_default();
    Check {
        not_whole: fault.is_of_data(),
        ..Check::fail("data", format!("{tenant}{}", fault.what), &fault.way_out)
    }
}

/// A directory without a tenant: new, or not the one that is meant.
fn empty(path: &Path) -> Check {
    let inner = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_data = |path: &std::path::PathBuf| path.join("keys").is_dir() && path.join("tenants").is_dir();
    match inner.into_iter().find(is_data) {
        Some(inner) => Check::fail(
            "data",
            format!("{} holds no tenant, and {} is a data directory", path.display(), inner.display()),
            format!("name that one: --data {}", inner.display()),
        ),
        None => Check::warn(
            "data",
            format!("{} holds no tenant yet", path.display()),
            format!("`tabellion serve --data {}` makes one; or name another with --data", path.display()),
        ),
    }
}

fn permissions(dir: &DataDir) -> Vec<Check> {
    let keys = dir.keys();
    let Ok(metadata) = keys.metadata() else { return Vec::new() };
    let mut open = too_open(&keys, &metadata, 0o700);
    for entry in std::fs::read_dir(&keys).into_iter().flatten().flatten() {
        if let Ok(metadata) = entry.metadata() {
            open.extend(too_open(&entry.path(), &metadata, 0o600));
        }
    }
    if open.is_empty() {
        open.push(Check::ok("permissions", format!("{} is for its owner alone", keys.display())));
    }
    open
}

fn too_open(path: &Path, metadata: &Metadata, allowed: u32) -> Vec<Check> {
    let mode = metadata.permissions().mode() & 0o777;
    if mode & !allowed == 0 {
        return Vec::new();
    }
    let mend = format!("chmod {allowed:o} {}", path.display());
    vec![Check::fail(
        "permissions",
        format!("{} has mode {mode:o}: others can reach the keys", path.display()),
        mend,
    )]
}

fn lock(path: &Path) -> Check {
    let lock = path.join("lock");
    let Ok(file) = File::open(&lock) else {
        return Check::ok("lock", "nobody holds the directory");
    };
    match file.try_lock_shared() {
        Ok(()) => Check::ok("lock", "nobody holds the directory"),
        Err(TryLockError::WouldBlock) => match holder(&file) {
            Some((pid, command)) => Check::ok("lock", format!("held by process {pid} ({command})")),
            None => Check::ok("lock", "held by a running server"),
        },
        Err(TryLockError::Error(error)) => {
            let mend = "keep the data on a file system of this machine; network file systems may not lock";
            Check::warn("lock", format!("cannot tell: {error}"), mend)
        }
    }
}

/// The process that holds a lock on this file, as Linux tells it.
fn holder(file: &File) -> Option<(u32, String)> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let line = locks.lines().find(|line| line.split_whitespace().any(|word| word.ends_with(&inode)))?;
    let pid: u32 = line.split_whitespace().nth(4)?.parse().ok()?;
    let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, command.trim().to_owned()))
}

fn space(path: &Path) -> Check {
    let free = match statvfs(path) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => return Check::warn("space", format!("cannot tell: {error}"), "look with `df`"),
    };
    let found = format!("{:.1} GiB free", free as f64 / (1 << 30) as f64);
    let mend = "make room, or move the directory to a larger disk while the server is stopped";
    match free {
        ..SPACE_FAIL_BYTES => Check::fail("space", found, mend),
        SPACE_FAIL_BYTES..SPACE_WARN_BYTES => Check::warn("space", found, mend),
        SPACE_WARN_BYTES.. => Check::ok("space", found),
    }
}

/// The master key; the survey has said what is wrong where there is none.
fn master(dir: &DataDir) -> Option<Secret> {
    let given = offline::master_key_from_env().ok().flatten();
    let in_file = || unhex32(std::fs::read_to_string(dir.master_key()).ok()?.trim()).map(Secret::from_bytes);
    given.or_else(in_file)
}

fn tenant_checks(dir: &DataDir, tenant: TenantId, master: Option<&Secret>, now: Timestamp) -> Vec<Check> {
    let mut checks = Vec::new();
    let keys =
        master.and_then(|master| match KeyStore::open_read_only(&dir.key_store(tenant), tenant, master) {
            Ok(keys) => Some(keys),
            Err(error) => {
                let mend = "restore keys/ from its backup, and TABELLION_MASTER_KEY if it gave the key; a backup that `tabellion export` made comes back whole: `tabellion restore --from FILE --data NEWDIR`";
                checks.push(Check::fail("keys", format!("{tenant}: {error}"), mend));
                None
            }
        });
    match SqliteStore::open_read_only(&dir.log(tenant)) {
        Ok(store) => {
            let name = keys.as_ref().and_then(|keys| offline::tenant_name(&store, keys, tenant));
            let label = name.map_or_else(|| tenant.to_string(), |name| format!("{name} ({tenant})"));
            let of = Named { tenant, label: &label };
            if keys.is_some() {
                checks.push(Check::ok("keys", format!("the key store of {label} opens")));
            }
            for log in LogName::ALL {
                checks.push(head(&store, &of, log, keys.as_ref(), now));
            }
            checks.push(checkpoint(dir, &of, store.size(LogName::Memory).unwrap_or(0), now));
        }
        Err(error) => {
            let mend = "restore it: `tabellion restore --from FILE --data NEWDIR`";
            checks.push(Check::fail("log", format!("{tenant}: {error}"), mend));
        }
    }
    checks
}

/// A tenant, and what it is called where its keys open that.
struct Named<'a> {
    tenant: TenantId,
    label: &'a str,
}

/// Whether the newest head fits the log and is signed. `verify` looks at every entry; this does not.
fn head(store: &SqliteStore, of: &Named<'_>, log: LogName, keys: Option<&KeyStore>, now: Timestamp) -> Check {
    let bad = |found: String| {
        let mend = "`tabellion verify --data DIR` says which entry is wrong; `tabellion restore` brings a backup back";
        Check::fail("log", format!("{} log of {}: {found}", log.as_str(), of.label), mend)
    };
    let read = || -> Result<_, StoreError> {
        let Some(signed) = store.latest_head(log)? else { return Ok(None) };
        let root = root_of(0, signed.head.size, &mut |start, end| subtree(store, log, start, end))?;
        Ok(Some((signed, root, store.size(log)?)))
    };
    let (signed, root, size) = match read() {
        Ok(Some(found)) => found,
        Ok(None) => return bad("it has no head".into()),
        Err(error) => return bad(error.to_string()),
    };
    if root != signed.head.root {
        return bad("the newest head does not fit the entries".into());
    }
    if size > signed.head.size {
        return bad(format!("{size} entries, and the newest head covers {}", signed.head.size));
    }
    if keys.is_some_and(|keys| !keys.signing_key().verifying_key().confirms(of.tenant, log, &signed)) {
        return bad("the newest head is not signed by the key of this tenant".into());
    }
    if signed.head.time.as_micros() > now.as_micros().saturating_add(AHEAD_MAX_US) {
        let found = format!(
            "{} log of {}: its newest entry is of {}, later than now",
            log.as_str(),
            of.label,
            signed.head.time
        );
        return Check::warn(
            "clock",
            found,
            "set the clock of this machine; until then new entries get that time too",
        );
    }
    Check::ok("log", format!("{} log of {}: {size} entries, the newest head fits", log.as_str(), of.label))
}

fn checkpoint(dir: &DataDir, of: &Named<'_>, entries: u64, now: Timestamp) -> Check {
    let (path, tenant) = (dir.checkpoint(of.tenant), of.label);
    let age_s = path.metadata().ok().and_then(|metadata| {
        let modified = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((now.as_micros() / 1_000_000).saturating_sub(modified.as_secs()))
    });
    match age_s {
        Some(seconds) => Check::ok("checkpoint", format!("of {tenant}: {} old", for_people(seconds))),
        None if entries > FOLDED_AT_ONCE => {
            let found = format!("of {tenant}: none, so the next start folds {entries} entries");
            Check::warn(
                "checkpoint",
                found,
                "stop the server properly (SIGTERM) and it writes one; nothing is lost without",
            )
        }
        None => Check::ok("checkpoint", format!("of {tenant}: none; the next start folds {entries} entries")),
    }
}

fn for_people(seconds: u64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_how_to_make_it() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        let checks = look(&missing, Timestamp::from_micros(0));
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].level, Level::Fail);
        assert!(checks[0].mend.as_deref().unwrap().contains("tabellion serve --data"));
    }

    #[test]
    fn open_keys_are_a_failure_with_the_command_that_closes_them() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::at(folder.path());
        dir.create().unwrap();
        assert_eq!(permissions(&dir)[0].level, Level::Ok);
        let file = dir.keys().join("master.key");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let checks = permissions(&dir);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].mend.as_deref().unwrap(), format!("chmod 600 {}", file.display()));
    }

    #[test]
    fn a_held_directory_names_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::at(folder.path());
        assert_eq!(lock(folder.path()).found, "nobody holds the directory");
        let held = dir.lock().unwrap();
        assert!(lock(folder.path()).found.starts_with("held by"), "{:?}", lock(folder.path()));
        drop(held);
        assert_eq!(lock(folder.path()).found, "nobody holds the directory");
    }

    #[test]
    fn ages_are_short() {
        let ages = [5, 300, 10_000, 400_000].map(for_people);
        assert_eq!(ages, ["5 s", "5 min", "2 h", "4 days"]);
    }
}
