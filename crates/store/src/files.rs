//! The data directory: where things lie, who may read them, and the one server that holds it.

use crate::Obstacle;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tabellion_core::id::TenantId;

/// The places in a data directory.
#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

/// Holds a data directory for one server until dropped.
#[derive(Debug)]
pub struct DirLock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

/// Why a directory could not be held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("{0} is in use by another tabellion process; stop it, or choose another --data directory")]
    Held(PathBuf),
    /// The file system refused.
    #[error("cannot open {0}: {1}; {out}", out = way_out(.1))]
    Io(PathBuf, io::Error),
}

/// A folder that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {error}; {out}", out = way_out(error))]
pub struct FolderError {
    /// The folder itself.
    pub path: PathBuf,
    /// The answer of the system.
    pub error: io::Error,
}

/// Says what to do about a path that the system refuses.
fn way_out(error: &io::Error) -> &'static str {
    Obstacle::of_io(error).map_or("see that it can be read and written", Obstacle::way_out)
}

impl DataDir {
    /// The directory at this path.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where keys lie.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// The master key.
    #[must_use]
    pub fn master_key(&self) -> PathBuf {
        self.keys().join("master.key")
    }

    /// A tenant's key store.
    #[must_use]
    pub fn key_store(&self, tenant: TenantId) -> PathBuf {
        self.keys().join(format!("{tenant}.db"))
    }

    /// A tenant's newest heads, away from its log.
    #[must_use]
    pub fn witness(&self, tenant: TenantId) -> PathBuf {
        self.keys().join(format!("{tenant}.witness"))
    }

    /// The folder of the tenants' folders.
    #[must_use]
    pub fn tenant_folders(&self) -> PathBuf {
        self.0.join("tenants")
    }

    /// A mark that lies here while a restore is under way, and stays where one was broken off.
    #[must_use]
    pub fn restore_mark(&self) -> PathBuf {
        self.0.join("restore-unfinished")
    }

    /// A mark that lies here from the beginning of the first start until its tenant is founded: only beside it is a master
    /// key without a tenant no loss.
    #[must_use]
    pub fn founding_mark(&self) -> PathBuf {
        self.0.join("first-start-unfinished")
    }

    /// A tenant's folder.
    #[must_use]
    pub fn tenant(&self, tenant: TenantId) -> PathBuf {
        self.tenant_folders().join(tenant.to_string())
    }

    /// A tenant's logs.
    #[must_use]
    pub fn log(&self, tenant: TenantId) -> PathBuf {
        self.tenant(tenant).join("log.db")
    }

    /// A tenant's checkpoint of views.
    #[must_use]
    pub fn checkpoint(&self, tenant: TenantId) -> PathBuf {
        self.tenant(tenant).join("views.ckpt")
    }

    /// A tenant's checkpoint of the index.
    #[must_use]
    pub fn index_checkpoint(&self, tenant: TenantId) -> PathBuf {
        self.tenant(tenant).join("index.ckpt")
    }

    /// A tenant's writes that are not memory: put off, or refused.
    #[must_use]
    pub fn kept(&self, tenant: TenantId) -> PathBuf {
        self.tenant(tenant).join("kept.db")
    }

    /// A tenant's vectors.
    #[must_use]
    pub fn vectors(&self, tenant: TenantId) -> PathBuf {
        self.tenant(tenant).join("vectors.db")
    }

    /// Makes the directory itself if it is missing, readable by its owner alone.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn create_base(&self) -> io::Result<()> {
        create_private(&self.0)
    }

    /// Makes the folders that are missing, readable by their owner alone.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn create(&self) -> io::Result<()> {
        for folder in [self.0.clone(), self.keys(), self.tenant_folders()] {
            create_private(&folder)?;
        }
        Ok(())
    }

    /// Makes a tenant's folder.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn create_tenant(&self, tenant: TenantId) -> io::Result<()> {
        create_private(&self.tenant(tenant))
    }

    /// Clears away a tenant that was never founded: its folder, its key store, and the witness last, so that a removal cut
    /// short can be told from a loss.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn remove_tenant(&self, tenant: TenantId) -> io::Result<()> {
        unless_missing(std::fs::remove_dir_all(self.tenant(tenant)))?;
        for suffix in ["", "-wal", "-shm"] {
            let mut name = self.key_store(tenant).into_os_string();
            name.push(suffix);
            unless_missing(std::fs::remove_file(PathBuf::from(name)))?;
        }
        unless_missing(std::fs::remove_file(self.witness(tenant)))
    }

    /// Every tenant of which there is anything, in order of id: a folder, a key store or a witness.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn traces(&self) -> Result<Vec<TenantId>, FolderError> {
        let mut tenants = BTreeSet::new();
        for folder in [self.tenant_folders(), self.keys()] {
            for name in names(&folder)? {
                let stem = [".db", ".witness"].iter().find_map(|end| name.strip_suffix(end));
                tenants.extend(stem.unwrap_or(&name).parse::<TenantId>().ok());
            }
        }
        Ok(tenants.into_iter().collect())
    }

    /// The tenants whose log exists, in order of id.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn tenants(&self) -> Result<Vec<TenantId>, FolderError> {
        let mut tenants: Vec<TenantId> = names(&self.tenant_folders())?
            .into_iter()
            .filter_map(|name| name.parse().ok())
            .filter(|tenant| self.log(*tenant).exists())
            .collect();
        tenants.sort_unstable();
        Ok(tenants)
    }

    /// The folder of keys and the files in it that others than their owner can read or write.
    #[must_use]
    pub fn open_to_others(&self) -> Vec<PathBuf> {
        let is_open = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
        };
        let files = std::fs::read_dir(self.keys()).into_iter().flatten().filter_map(Result::ok);
        let mut open: Vec<PathBuf> =
            std::iter::once(self.keys()).chain(files.map(|file| file.path())).filter(is_open).collect();
        open.sort_unstable();
        open
    }

    /// Removes a mark from the directory: what was made beside it is durable before, and that it is gone after.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn remove_mark(&self, mark: &Path) -> io::Result<()> {
        for folder in [self.keys(), self.tenant_folders()] {
            if folder.exists() {
                File::open(folder)?.sync_all()?;
            }
        }
        File::open(&self.0)?.sync_all()?;
        unless_missing(std::fs::remove_file(mark))?;
        File::open(&self.0)?.sync_all()
    }

    /// Holds the directory for this process.
    ///
    /// # Errors
    /// When another process holds it.
    pub fn lock(&self) -> Result<DirLock, LockError> {
        let path = self.0.join("lock");
        let io = |error| LockError::Io(path.clone(), error);
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(DirLock(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Held(self.0.clone())),
            Err(TryLockError::Error(error)) => Err(LockError::Io(path.clone(), error)),
        }
    }
}

/// The names in a folder; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>, FolderError> {
    match std::fs::read_dir(folder) {
        Ok(entries) => Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(FolderError { path: folder.to_owned(), error }),
    }
}

/// Takes the removal of what is gone already as done.
///
/// # Errors
/// When it is there and the file system refuses.
pub fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn create_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes an empty file that only its owner may read, if there is none.
pub(crate) fn touch_private(path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// Replaces a file by these bytes, readable by its owner alone: whole or not at all, and durable.
///
/// # Errors
/// When the file system refuses; the old file is then still there.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let fresh = PathBuf::from(name);
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&fresh)?;
    let mut write = || {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)
    };
    write().inspect_err(|_| {
        let _already_gone = std::fs::remove_file(&fresh);
    })?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_holds_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::at(folder.path());
        let held = dir.lock().unwrap();
        assert!(matches!(dir.lock(), Err(LockError::Held(_))));
        drop(held);
        dir.lock().unwrap();
    }

    #[test]
    fn private_files_are_private_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
