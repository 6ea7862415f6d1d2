//! Tells what the system refuses from what is damaged.
//!
//! Invariant (no false alarm): an error that says nothing about the bytes of a file, such as a full disk or a missing
//! permission, is an `Obstacle`. Nobody is told to restore or move away a file because of one.

use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// Why the system refused a file that may well be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The disk, or the share of this user, is full.
    NoRoom,
    /// This user may not read or write the file, or make one beside it.
    NotAllowed,
    /// Another process holds the file.
    InUse,
    /// The file cannot be opened, or files beside it not made: no permission, or no room.
    CannotOpen,
    /// The device does not read or write.
    Device,
}

impl Obstacle {
    /// Judges an error of the file system; none for one that speaks of the file itself.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Option<Self> {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some(Self::NotAllowed),
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Some(Self::NoRoom),
            Kind::ResourceBusy | Kind::WouldBlock => Some(Self::InUse),
            // EIO has no kind of its own.
            _ if error.raw_os_error() == Some(5) => Some(Self::Device),
            _ => None,
        }
    }

    /// Judges an error of SQLite; none for one that speaks of the bytes of the file, such as CORRUPT and NOTADB.
    pub(crate) fn of_sqlite(error: &rusqlite::Error) -> Option<Self> {
        let rusqlite::Error::SqliteFailure(error, _) = error else { return None };
        match error.code {
            ErrorCode::DiskFull => Some(Self::NoRoom),
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(Self::NotAllowed),
            ErrorCode::CannotOpen => Some(Self::CannotOpen),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Self::InUse),
            ErrorCode::SystemIoFailure => match error.extended_code {
                // A short read or a broken file system speaks of the bytes.
                rusqlite::ffi::SQLITE_IOERR_SHORT_READ
                | rusqlite::ffi::SQLITE_IOERR_DATA
                | rusqlite::ffi::SQLITE_IOERR_CORRUPTFS => None,
                rusqlite::ffi::SQLITE_IOERR_WRITE
                | rusqlite::ffi::SQLITE_IOERR_FSYNC
                | rusqlite::ffi::SQLITE_IOERR_TRUNCATE
                | rusqlite::ffi::SQLITE_IOERR_SHMSIZE => Some(Self::NoRoom),
                rusqlite::ffi::SQLITE_IOERR_ACCESS | rusqlite::ffi::SQLITE_IOERR_SHMOPEN => {
                    Some(Self::CannotOpen)
                }
                _ => Some(Self::Device),
            },
            _ => None,
        }
    }

    /// Says what is the matter with a path.
    #[must_use]
    pub fn matter(self, path: &Path) -> String {
        let path_text = path.display();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(path).display();
        match self {
            Self::NoRoom => format!("{path_text} cannot be written: there is no room on its disk"),
            Self::NotAllowed => format!("this user may not read or write {path_text}"),
            Self::InUse => format!("{path_text} is in use by another process"),
            Self::CannotOpen => format!(
                "{path_text} cannot be opened: this user may not read and write it and the files beside it in {folder}, or \
                 the disk has no room"
            ),
            Self::Device => format!("the disk does not read or write {path_text}"),
        }
    }

    /// Says what to do about it; nothing of the data is to be touched.
    #[must_use]
    pub const fn way_out(self) -> &'static str {
        match self {
            Self::NoRoom => "make room on that disk, then start again",
            Self::NotAllowed => {
                "run this as the user that the files belong to, or give them to this user with chown and chmod u+rwX"
            }
            Self::InUse => "stop that process, or wait for it, then start again",
            Self::CannotOpen => {
                "run this as the user that the files belong to, or give them to this user with chown and chmod u+rwX; see \
                 with `df` that the disk has room and is not mounted for reading only"
            }
            Self::Device => "see in the log of the system what is wrong with the disk, then start again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_and_missing_permission_are_no_damage() {
        let of = |number: i32| Obstacle::of_io(&io::Error::from_raw_os_error(number));
        let [eio, eacces, efbig, enospc, erofs, enoent, enotdir] = [5, 13, 27, 28, 30, 2, 20];
        assert_eq!([of(eacces), of(erofs)], [Some(Obstacle::NotAllowed); 2]);
        assert_eq!([of(enospc), of(efbig)], [Some(Obstacle::NoRoom); 2]);
        assert_eq!(of(eio), Some(Obstacle::Device));
        assert_eq!([of(enoent), of(enotdir)], [None; 2]);
    }

    #[test]
    fn damage_of_a_database_is_told_from_what_the_system_refuses() {
        let of = |code| {
            Obstacle::of_sqlite(&rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
        };
        assert_eq!(of(rusqlite::ffi::SQLITE_FULL), Some(Obstacle::NoRoom));
        assert_eq!(of(rusqlite::ffi::SQLITE_IOERR_SHMSIZE), Some(Obstacle::NoRoom));
        assert_eq!(of(rusqlite::ffi::SQLITE_READONLY_DIRECTORY), Some(Obstacle::NotAllowed));
        assert_eq!(of(rusqlite::ffi::SQLITE_PERM), Some(Obstacle::NotAllowed));
        assert_eq!(of(rusqlite::ffi::SQLITE_CANTOPEN), Some(Obstacle::CannotOpen));
        assert_eq!(of(rusqlite::ffi::SQLITE_IOERR_READ), Some(Obstacle::Device));
        for damage in [rusqlite::ffi::SQLITE_CORRUPT, rusqlite::ffi::SQLITE_NOTADB] {
            assert_eq!(of(damage), None);
        }
        assert_eq!(of(rusqlite::ffi::SQLITE_IOERR_SHORT_READ), None);
    }
}
