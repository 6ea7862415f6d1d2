//! Logs in one SQLite file: WAL, `synchronous=FULL`, one writer, parallel readers.

mod schema;

use crate::{Append, Record, Store, StoreError};
use parking_lot::Mutex;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tabellion_core::canonical::Hash;
use tabellion_core::log::{Head, LogName, Lsn, SignedHead};
use tabellion_core::time::Timestamp;

/// How long a connection waits for another process that holds the file.
const BUSY: Duration = Duration::from_secs(5);

/// Idle readers kept open.
const READERS_MAX: usize = 8;

/// A tenant's two logs in a SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
}

impl SqliteStore {
    /// Opens the file, making it or bringing it up to date where needed.
    ///
    /// # Errors
    /// When the file cannot be opened, or was written by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        crate::files::touch_private(path).map_err(|error| StoreError::of_io(path, &error))?;
        let mut writer = Connection::open(path).map_err(engine)?;
        writer.busy_timeout(BUSY).map_err(engine)?;
        writer.pragma_update(None, "journal_mode", "WAL").map_err(engine)?;
        writer.pragma_update(None, "synchronous", "FULL").map_err(engine)?;
        writer.set_prepared_statement_cache_capacity(64);
        schema::migrate(&mut writer)?;
        Ok(Self { path: path.to_owned(), writer: Mutex::new(Some(writer)), readers: Mutex::new(Vec::new()) })
    }

    /// Opens a file that is there already, bringing it up to date where needed. Never makes one.
    ///
    /// # Errors
    /// When there is no such file, it cannot be opened, or it was written by a newer version.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Engine(format!("{} is no file", path.display())));
        }
        Self::open(path)
    }

    /// Opens the file for reading only, beside a running server or on its own.
    ///
    /// # Errors
    /// When there is no such file or it is of another version.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let store = Self { path: path.to_owned(), writer: Mutex::new(None), readers: Mutex::new(Vec::new()) };
        store.read(schema::check)??;
        Ok(store)
    }

    /// The newest entries of a log that have a sealed part, at most `limit`, newest first.
    ///
    /// # Errors
    /// When the engine refuses or a row is damaged.
    pub fn newest_sealed(&self, log: LogName, limit: usize) -> Result<Vec<Record>, StoreError> {
        let sql = "SELECT lsn, body, sealed, leaf FROM {log}_entry WHERE sealed IS NOT NULL ORDER BY lsn DESC LIMIT ?1";
        let sql = on(log, sql);
        self.read(|reader| {
            let mut statement = reader.prepare_cached(&sql).map_err(engine)?;
            let mut rows = statement.query([sql_number(limit as u64)]).map_err(engine)?;
            let mut records = Vec::new();
            while let Some(row) = rows.next().map_err(engine)? {
                records.push(record(log, row)?);
            }
            Ok(records)
        })?
    }

    fn reader(&self) -> Result<Connection, StoreError> {
        if let Some(reader) = self.readers.lock().pop() {
            return Ok(reader);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(&self.path, flags).map_err(engine)?;
        reader.busy_timeout(BUSY).map_err(engine)?;
        reader.set_prepared_statement_cache_capacity(64);
        Ok(reader)
    }

    /// Runs `read` on a connection of its own.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> T) -> Result<T, StoreError> {
        let reader = self.reader()?;
        let result = read(&reader);
        let mut idle = self.readers.lock();
        if idle.len() < READERS_MAX {
            idle.push(reader);
        }
        Ok(result)
    }
}

fn engine(error: rusqlite::Error) -> StoreError {
    StoreError::of_sqlite(error)
}

fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A statement with the log's name in its tables.
fn on(log: LogName, sql: &str) -> String {
    sql.replace("{log}", log.as_str())
}

impl Store for SqliteStore {
    fn append(&self, appends: &[Append]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let writer = writer.as_mut().ok_or_else(|| StoreError::Engine("opened for reading only".into()))?;
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(engine)?;
        for append in appends {
            append.must_follow(size_of(&transaction, append.log)?)?;
            insert(&transaction, append).map_err(engine)?;
        }
        transaction.commit().map_err(engine)
    }

    fn settle(&self) -> Result<(), StoreError> {
        self.readers.lock().clear();
        self.writer.lock().as_ref().map_or(Ok(()), settle)
    }

    fn size(&self, log: LogName) -> Result<u64, StoreError> {
        self.read(|reader| size_of(reader, log))?
    }

    fn records(&self, log: LogName, from: Lsn, limit: usize) -> Result<Vec<Record>, StoreError> {
        let sql =
            on(log, "SELECT lsn, body, sealed, leaf FROM {log}_entry WHERE lsn >= ?1 ORDER BY lsn LIMIT ?2");
        // Before the first place there may be rows that have none; whoever starts at zero wants to see them.
        let first = if from == Lsn::ZERO { i64::MIN } else { sql_number(from.get()) };
        self.read(|reader| {
            let mut statement = reader.prepare_cached(&sql).map_err(engine)?;
            let mut rows = statement.query(params![first, sql_number(limit as u64)]).map_err(engine)?;
            let mut records = Vec::new();
            while let Some(row) = rows.next().map_err(engine)? {
                records.push(record(log, row)?);
            }
            Ok(records)
        })?
    }

    fn record(&self, log: LogName, lsn: Lsn) -> Result<Option<Record>, StoreError> {
        let sql = on(log, "SELECT lsn, body, sealed, leaf FROM {log}_entry WHERE lsn = ?1");
        self.read(|reader| {
            let mut statement = reader.prepare_cached(&sql).map_err(engine)?;
            let mut rows = statement.query([sql_number(lsn.get())]).map_err(engine)?;
            rows.next().map_err(engine)?.map(|row| record(log, row)).transpose()
        })?
    }

    fn leaves(&self, log: LogName, from: Lsn, to: Lsn) -> Result<Vec<Hash>, StoreError> {
        let sql = on(log, "SELECT lsn, leaf FROM {log}_entry WHERE lsn BETWEEN ?1 AND ?2 ORDER BY lsn");
        self.read(|reader| {
            let mut statement = reader.prepare_cached(&sql).map_err(engine)?;
            let mut rows = statement.query([sql_number(from.get()), sql_number(to.get())]).map_err(engine)?;
            let mut leaves = Vec::new();
            while let Some(row) = rows.next().map_err(engine)? {
                let lsn = lsn_of(log, row)?;
                leaves
                    .push(hash_column(row, 1).ok_or_else(|| damaged(log, lsn, "its hash is not 32 bytes"))?);
            }
            Ok(leaves)
        })?
    }

    fn tile(&self, log: LogName, level: u8, index: u64) -> Result<Option<Hash>, StoreError> {
        let sql = on(log, "SELECT hash FROM {log}_tile WHERE level = ?1 AND idx = ?2");
        self.read(|reader| {
            let mut statement = reader.prepare_cached(&sql).map_err(engine)?;
            let found = statement
                .query_row(params![level, sql_number(index)], |row| Ok(hash_column(row, 0)))
                .optional()
                .map_err(engine)?;
            Ok(found.map(Option::unwrap_or_default))
        })?
    }

    fn heads(&self, log: LogName, after: u64, limit: usize) -> Result<Vec<SignedHead>, StoreError> {
        let sql = "SELECT size, time, root, signature FROM {log}_head WHERE size > ?1 ORDER BY size LIMIT ?2";
        self.read(|reader| {
            heads(reader, &on(log, sql), params![sql_number(after), sql_number(limit as u64)])
        })?
    }

    fn latest_head(&self, log: LogName) -> Result<Option<SignedHead>, StoreError> {
        let sql = "SELECT size, time, root, signature FROM {log}_head ORDER BY size DESC LIMIT 1";
        self.read(|reader| heads(reader, &on(log, sql), params![]))?.map(|heads| heads.first().copied())
    }
}

/// Moves what a file's write-ahead log holds into the file itself, so that a copy of the file alone is whole.
///
/// # Errors
/// When the disk refuses, or another process reads the file all the while.
pub(crate) fn settle(connection: &Connection) -> Result<(), StoreError> {
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(engine)?;
    if busy == 0 { Ok(()) } else { Err(StoreError::Engine("another process reads the file".into())) }
}

fn size_of(connection: &Connection, log: LogName) -> Result<u64, StoreError> {
    let sql = on(log, "SELECT coalesce(max(lsn), 0) FROM {log}_entry");
    let mut statement = connection.prepare_cached(&sql).map_err(engine)?;
    let size: i64 = statement.query_row([], |row| row.get(0)).map_err(engine)?;
    Ok(u64::try_from(size).unwrap_or(0))
}

fn insert(connection: &Connection, append: &Append) -> Result<(), rusqlite::Error> {
    let log = append.log;
    let sql = on(log, "INSERT INTO {log}_entry (lsn, body, sealed, leaf) VALUES (?1, ?2, ?3, ?4)");
    let mut entry = connection.prepare_cached(&sql)?;
    for record in &append.records {
        entry.execute(params![sql_number(record.lsn.get()), record.body, record.sealed, record.leaf])?;
    }
    let mut tile = connection
        .prepare_cached(&on(log, "INSERT INTO {log}_tile (level, idx, hash) VALUES (?1, ?2, ?3)"))?;
    for one in &append.tiles {
        tile.execute(params![one.level, sql_number(one.index), one.hash])?;
    }
    let SignedHead { head, signature } = &append.head;
    connection
        .prepare_cached(&on(
            log,
            "INSERT INTO {log}_head (size, time, root, signature) VALUES (?1, ?2, ?3, ?4)",
        ))?
        .execute(params![sql_number(head.size), sql_number(head.time.as_micros()), head.root, signature])?;
    Ok(())
}

fn heads(
    reader: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Vec<SignedHead>, StoreError> {
    let mut statement = reader.prepare_cached(sql).map_err(engine)?;
    let mut rows = statement.query(params).map_err(engine)?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next().map_err(engine)? {
        heads.push(head(row));
    }
    Ok(heads)
}

/// A head as it is; bytes of another length or type become zeros, which no signature confirms.
fn head(row: &Row<'_>) -> SignedHead {
    let number = |column| row.get_ref(column).ok().and_then(|value| value.as_i64().ok()).unwrap_or(0);
    let unsigned = |column| u64::try_from(number(column)).unwrap_or(0);
    let signature = blob_column(row, 3).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; 64]);
    let head = Head {
        size: unsigned(0),
        time: Timestamp::from_micros(unsigned(1)),
        root: hash_column(row, 2).unwrap_or_default(),
    };
    SignedHead { head, signature }
}

fn lsn_of(log: LogName, row: &Row<'_>) -> Result<Lsn, StoreError> {
    let number = row.get_ref(0).map_err(engine)?.as_i64().unwrap_or(-1);
    u64::try_from(number).map(Lsn::new).map_err(|_| damaged(log, Lsn::ZERO, "a row without a place"))
}

fn record(log: LogName, row: &Row<'_>) -> Result<Record, StoreError> {
    let lsn = lsn_of(log, row)?;
    let body = blob_column(row, 1).ok_or_else(|| damaged(log, lsn, "its body is not bytes"))?;
    let sealed = match row.get_ref(2).map_err(engine)? {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
            return Err(damaged(log, lsn, "its sealed part is not bytes"));
        }
    };
    let leaf = hash_column(row, 3).ok_or_else(|| damaged(log, lsn, "its hash is not 32 bytes"))?;
    Ok(Record { lsn, body, sealed, leaf })
}

fn blob_column(row: &Row<'_>, column: usize) -> Option<Vec<u8>> {
    match row.get_ref(column).ok()? {
        ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => None,
    }
}

fn hash_column(row: &Row<'_>, column: usize) -> Option<Hash> {
    blob_column(row, column)?.try_into().ok()
}

fn damaged(log: LogName, lsn: Lsn, what: &str) -> StoreError {
    StoreError::Damaged { log, lsn, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, append_of};

    #[test]
    fn conforms() {
        let folder = tempfile::tempdir().unwrap();
        let mut made = 0;
        conformance::all(&mut || {
            made += 1;
            Box::new(SqliteStore::open(&folder.path().join(format!("{made}.db"))).unwrap())
        });
    }

    /// What `append` acknowledged is there when the file is opened again, and the settings are those that make it so.
    #[test]
    fn appends_survive_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let store = SqliteStore::open(&path).unwrap();
        store.append(&[append_of(LogName::Memory, 1, 3)]).unwrap();
        let guard = store.writer.lock();
        let writer = guard.as_ref().unwrap();
        let mode: String = writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let sync: i64 = writer.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), sync), ("wal", 2));
        drop(guard);
        drop(store);
        assert_eq!(SqliteStore::open(&path).unwrap().size(LogName::Memory).unwrap(), 3);
        assert!(SqliteStore::open_existing(&folder.path().join("other.db")).is_err());
        assert!(
            !folder.path().join("other.db").exists(),
            "nothing is made where something is only looked for"
        );
        let reader = SqliteStore::open_read_only(&path).unwrap();
        assert_eq!(reader.records(LogName::Memory, Lsn::new(1), 10).unwrap().len(), 3);
        assert!(reader.append(&[append_of(LogName::Memory, 4, 1)]).is_err());
    }

    /// AM-13: once settled, the database file alone holds everything that was appended.
    #[test]
    fn settled_file_is_whole_without_its_write_ahead_log() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("log.db"), folder.path().join("copy.db"));
        let store = SqliteStore::open(&path).unwrap();
        store.append(&[append_of(LogName::Memory, 1, 3)]).unwrap();
        store.settle().unwrap();
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(SqliteStore::open_existing(&copy).unwrap().size(LogName::Memory).unwrap(), 3);
        store.append(&[append_of(LogName::Memory, 4, 3)]).unwrap();
        assert_eq!(store.size(LogName::Memory).unwrap(), 6);
    }

    /// A row that was tampered with is named, not skipped and not fatal to its neighbours.
    #[test]
    fn damaged_rows_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let store = SqliteStore::open(&path).unwrap();
        store.append(&[append_of(LogName::Memory, 1, 3)]).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute("UPDATE memory_entry SET leaf = x'00' WHERE lsn = 2", []).unwrap();
        let error = store.record(LogName::Memory, Lsn::new(2)).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { lsn, .. } if lsn == Lsn::new(2)), "{error}");
        assert!(store.record(LogName::Memory, Lsn::new(3)).unwrap().is_some());
    }
}
