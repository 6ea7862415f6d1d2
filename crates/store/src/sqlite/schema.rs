//! The tables, and how an older file becomes a newer one.
//!
//! Invariant (a step is whole): each migration and the number that records it are one transaction. A kill half-way leaves the
//! file at the step before, and the next start goes on from there.

use super::engine;
use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use tabellion_core::log::LogName;

/// Steps in order; step i brings a file from version i to i + 1. A step is never edited once released.
const STEPS: [&str; 2] = [
    "CREATE TABLE {log}_entry (lsn INTEGER PRIMARY KEY, body BLOB NOT NULL, sealed BLOB, leaf BLOB NOT NULL);
     CREATE TABLE {log}_head (size INTEGER PRIMARY KEY, time INTEGER NOT NULL, root BLOB NOT NULL, signature BLOB NOT NULL);",
    "CREATE TABLE {log}_tile (level INTEGER NOT NULL, idx INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, idx))
     WITHOUT ROWID;",
];

/// Brings the file up to date.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    for (done, step) in (1..).zip(STEPS).skip(version(connection)?) {
        run(connection, step, done)?;
    }
    check(connection)
}

fn run(connection: &mut Connection, step: &str, done: i64) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(engine)?;
    for log in LogName::ALL {
        transaction.execute_batch(&super::on(log, step)).map_err(engine)?;
    }
    transaction.pragma_update(None, "user_version", done).map_err(engine)?;
    transaction.commit().map_err(engine)
}

fn version(connection: &Connection) -> Result<usize, StoreError> {
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(engine)?;
    usize::try_from(version).map_err(|_| StoreError::Engine("not a log file of Tabellion".into()))
}

/// Refuses a file of another version.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    match version(connection)? {
        current if current == STEPS.len() => Ok(()),
        older if older < STEPS.len() => {
            Err(StoreError::Engine("the log file is of an older version; start the server once".into()))
        }
        newer => Err(StoreError::Engine(format!(
            "the log file is of version {newer}, this program knows up to {}: use a newer tabellion",
            STEPS.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::append_of;
    use crate::{SqliteStore, Store};

    /// A kill between or within steps: the file opens again and ends at the newest version with its rows intact.
    #[test]
    fn a_killed_migration_goes_on() {
        for killed_at in 0..=STEPS.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log.db");
            let mut connection = Connection::open(&path).unwrap();
            for (done, step) in (1..).zip(STEPS).take(killed_at) {
                run(&mut connection, step, done).unwrap();
            }
            if let Some(step) = STEPS.get(killed_at) {
                // The next step runs in part and its transaction is never committed, as when the process dies.
                let transaction = connection.transaction().unwrap();
                transaction.execute_batch(&super::super::on(LogName::Memory, step)).unwrap();
                std::mem::drop(transaction);
            }
            drop(connection);
            let store = SqliteStore::open(&path).unwrap();
            store.append(&[append_of(LogName::Audit, 1, 2)]).unwrap();
            assert_eq!(
                SqliteStore::open(&path).unwrap().size(LogName::Audit).unwrap(),
                2,
                "killed at {killed_at}"
            );
        }
    }

    #[test]
    fn a_newer_file_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        drop(SqliteStore::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = SqliteStore::open(&path).err().unwrap().to_string();
        assert!(error.contains("newer tabellion"), "{error}");
    }
}
