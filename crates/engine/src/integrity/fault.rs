//! One reason why a data directory is not opened, and the files that the system does not let us judge.

use std::io;
use std::path::Path;
use tabellion_core::id::TenantId;
use tabellion_core::log::AcceptedLoss;
use tabellion_store::{FolderError, Obstacle};

/// One reason why a data directory is not opened.
#[derive(Debug, Clone)]
pub struct StartFault {
    /// The tenant, by name and id.
    pub tenant: Option<String>,
    /// What is wrong, and with which file.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
    pub(super) loss: Option<AcceptedLoss>,
    pub(super) id: Option<TenantId>,
    pub(super) obstacle: Option<Obstacle>,
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

    /// Whether something of the data is missing, damaged or old. Else the system refused files that may well be whole: a
    /// start can succeed once the disk has room or this user may read them.
    #[must_use]
    pub const fn is_of_data(&self) -> bool {
        self.obstacle.is_none()
    }
}

/// Something of the data that is not as it should be.
pub(super) fn wrong(what: String, way_out: impl Into<String>) -> StartFault {
    StartFault { tenant: None, what, way_out: way_out.into(), loss: None, id: None, obstacle: None }
}

/// A file that the system refuses; it may well be whole.
pub(super) fn hindered(path: &Path, error: &dyn std::fmt::Display, obstacle: Obstacle) -> StartFault {
    let what = format!("{} ({error})", obstacle.matter(path));
    StartFault { obstacle: Some(obstacle), ..wrong(what, obstacle.way_out()) }
}

/// A file that cannot be used: by an obstacle outside of it, else by what it is, with the way out for that.
pub(super) fn unusable(
    path: &Path,
    error: &dyn std::fmt::Display,
    obstacle: Option<Obstacle>,
    way_out: impl Into<String>,
) -> StartFault {
    match obstacle {
        Some(found) => hindered(path, error, found),
        None => wrong(format!("{}: {error}", path.display()), way_out),
    }
}

/// A file that the system does not let us read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> StartFault {
    let way_out = format!("see that {} can be read, or restore it from its backup", path.display());
    unusable(path, error, Obstacle::of_io(error), way_out)
}

impl From<FolderError> for StartFault {
    fn from(folder: FolderError) -> Self {
        unreadable(&folder.path, &folder.error)
    }
}

/// Whether a file is there, and can be read as one.
pub(super) fn is_there(path: &Path) -> Result<bool, StartFault> {
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
