//! Writes that are not memory: those put off, to be tried again, and those refused, kept for their authors.
//!
//! The file counts its own changes, so that an older copy of it can be told from the newest (`KeptState`).
//!
//! Invariant (kept means durable): `put` returns after the disk has it, because a writer was told so. Each row is closed by
//! the caller; deleted rows are overwritten. A file that cannot be read is an error, never replaced.

use crate::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tabellion_core::canonical::Hash;
use tabellion_core::id::TenantId;
use tabellion_core::time::Timestamp;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS kept (
        id BLOB PRIMARY KEY, author BLOB NOT NULL, token BLOB NOT NULL, due INTEGER, ends INTEGER NOT NULL,
        attempts INTEGER NOT NULL, made INTEGER NOT NULL, closed BLOB NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS kept_by_author ON kept (author, made);
    CREATE INDEX IF NOT EXISTS kept_by_token ON kept (token) WHERE due IS NOT NULL;
    CREATE INDEX IF NOT EXISTS kept_by_due ON kept (due) WHERE due IS NOT NULL;
    CREATE INDEX IF NOT EXISTS kept_by_end ON kept (ends);
    CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;";

const COLUMNS: &str = "id, author, token, due, ends, attempts, made, closed";

/// A write that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptWrite {
    /// Its id.
    pub id: [u8; 16],
    /// The user and the agent that wrote it.
    pub author: [u8; 32],
    /// What makes two writes the same.
    pub token: Hash,
    /// When it is tried again; none for one that was refused.
    pub due: Option<Timestamp>,
    /// When it is forgotten.
    pub ends: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was first kept.
    pub made: Timestamp,
    /// The write, closed.
    pub closed: Vec<u8>,
}

/// A write to keep, and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPut {
    /// The write.
    pub kept: KeptWrite,
    /// Refused writes of its author that are kept; beyond that the oldest go.
    pub refused_max: u32,
    /// For one that is put off and not there yet: writes of its author that may wait at a time.
    pub waiting_max: Option<u32>,
}

/// What became of a write that was to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is kept.
    Kept,
    /// The same write waits already.
    Known(Box<KeptWrite>),
    /// So many writes of its author wait already.
    Full(u32),
}

/// Whose file of kept writes it is, and how often it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptState {
    /// The tenant; none in a file that an older version wrote.
    pub tenant: Option<TenantId>,
    /// How often rows were added or removed.
    pub changes: u64,
}

/// The kept writes of a tenant.
pub struct KeptStore {
    connection: Mutex<Connection>,
    changes: Arc<AtomicU64>,
}

impl KeptStore {
    /// Opens the file of a tenant; without one, everything stays in memory.
    ///
    /// # Errors
    /// When it cannot be read or written, or is of another tenant.
    pub fn open(path: Option<&Path>, tenant: TenantId) -> Result<Self, StoreError> {
        let connection = match path {
            None => Connection::open_in_memory().map_err(engine)?,
            Some(path) => {
                crate::files::touch_private(path).map_err(|error| StoreError::of_io(path, &error))?;
                Connection::open(path).map_err(engine)?
            }
        };
        connection.pragma_update(None, "journal_mode", "WAL").map_err(engine)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(engine)?;
        connection.pragma_update(None, "secure_delete", "ON").map_err(engine)?;
        connection.execute_batch(TABLES).map_err(engine)?;
        let own = "INSERT OR IGNORE INTO state (name, value) VALUES ('tenant', ?1)";
        connection.execute(own, [tenant.as_bytes()]).map_err(engine)?;
        let state = state_of(&connection)?;
        if state.tenant != Some(tenant) {
            return Err(StoreError::Engine("the kept writes are those of another tenant".into()));
        }
        Ok(Self { connection: Mutex::new(connection), changes: Arc::new(AtomicU64::new(state.changes)) })
    }

    /// Reads whose file it is and how often it was changed; nothing if there is no file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn state(path: &Path) -> Result<Option<KeptState>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        let read_only = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(path, read_only).map_err(engine)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(engine)?;
        state_of(&connection).map(Some)
    }

    /// Counts the changes that are durable.
    #[must_use]
    pub fn changes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.changes)
    }

    /// Moves what the write-ahead log holds into the file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn settle(&self) -> Result<(), StoreError> {
        crate::sqlite::settle(&self.connection.lock())
    }

    /// Changes the file without changing any row: a try whether the disk takes it.
    ///
    /// # Errors
    /// When it does not.
    pub fn touch(&self) -> Result<(), StoreError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        self.commit(transaction)
    }

    /// Every kept write after this id, in order of id, for a snapshot.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rows(path: &Path, after: Option<[u8; 16]>, limit: usize) -> Result<Vec<KeptWrite>, StoreError> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let read_only = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(path, read_only).map_err(engine)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(engine)?;
        let select = format!("SELECT {COLUMNS} FROM kept WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT ?2");
        let mut select = connection.prepare(&select).map_err(engine)?;
        let rows = select.query_map(params![after, limit as i64], read).map_err(engine)?;
        rows.collect::<Result<_, _>>().map_err(engine)
    }

    /// Notes in a transaction that rows were changed, and commits it.
    fn commit(&self, transaction: rusqlite::Transaction<'_>) -> Result<(), StoreError> {
        let count = "INSERT INTO state (name, value) VALUES ('changes', 1)
                     ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value";
        let changes: i64 = transaction.query_row(count, [], |row| row.get(0)).map_err(engine)?;
        transaction.commit().map_err(engine)?;
        self.changes.store(u64::try_from(changes).unwrap_or(0), Ordering::Release);
        Ok(())
    }

    /// Keeps a write, in place of the one with the same id, and no more than `most` of its author: the oldest refused go.
    ///
    /// # Errors
    /// When the disk did not take it.
    pub fn put(&self, kept: &KeptWrite, most: u32) -> Result<(), StoreError> {
        self.put_all(&[KeptPut { kept: kept.clone(), refused_max: most, waiting_max: None }]).map(drop)
    }

    /// Keeps writes in their order, all in one flush, and says what became of each. What one of them does counts for the next.
    ///
    /// # Errors
    /// When the disk did not take them: then none is kept.
    pub fn put_all(&self, puts: &[KeptPut]) -> Result<Vec<PutOutcome>, StoreError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        let mut outcomes = Vec::with_capacity(puts.len());
        let mut authors = BTreeMap::new();
        for KeptPut { kept, refused_max, waiting_max } in puts {
            if let Some(most) = waiting_max {
                if let Some(known) = waiting_with(&transaction, &kept.token)? {
                    outcomes.push(PutOutcome::Known(Box::new(known)));
                    continue;
                }
                let waiting = count_waiting(&transaction, &kept.author)?;
                if waiting >= *most {
                    outcomes.push(PutOutcome::Full(waiting));
                    continue;
                }
            }
            insert(&transaction, kept)?;
            authors.insert(kept.author, *refused_max);
            outcomes.push(PutOutcome::Kept);
        }
        for (author, most) in authors {
            let trim = "DELETE FROM kept WHERE id IN (SELECT id FROM kept WHERE author = ?1 AND due IS NULL
                        ORDER BY made DESC LIMIT -1 OFFSET ?2)";
            transaction.execute(trim, params![author, most]).map_err(engine)?;
        }
        self.commit(transaction)?;
        Ok(outcomes)
    }

    /// Keeps the writes of a snapshot.
    ///
    /// # Errors
    /// When the disk did not take them.
    pub fn restore(&self, rows: &[KeptWrite]) -> Result<(), StoreError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        for kept in rows {
            insert(&transaction, kept)?;
        }
        self.commit(transaction)
    }

    /// A kept write by id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, id: &[u8; 16]) -> Result<Option<KeptWrite>, StoreError> {
        let select = format!("SELECT {COLUMNS} FROM kept WHERE id = ?1");
        self.connection.lock().query_row(&select, [id], read).optional().map_err(engine)
    }

    /// The write put off with this token.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting(&self, token: &Hash) -> Result<Option<KeptWrite>, StoreError> {
        waiting_with(&self.connection.lock(), token)
    }

    /// An author's kept writes, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_author(&self, author: &[u8; 32], limit: u32) -> Result<Vec<KeptWrite>, StoreError> {
        self.select("author = ?1 ORDER BY made DESC, id LIMIT ?2", params![author, limit])
    }

    /// An author's writes that are put off, in the order in which they came.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting_by_author(&self, author: &[u8; 32]) -> Result<Vec<KeptWrite>, StoreError> {
        self.select("author = ?1 AND due IS NOT NULL ORDER BY made, id", params![author])
    }

    /// How many writes of an author are put off.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting_of(&self, author: &[u8; 32]) -> Result<u32, StoreError> {
        count_waiting(&self.connection.lock(), author)
    }

    /// How many writes are put off.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting_in_all(&self) -> Result<u32, StoreError> {
        let count = "SELECT count(*) FROM kept WHERE due IS NOT NULL";
        self.connection.lock().query_row(count, [], |row| row.get(0)).map_err(engine)
    }

    /// The writes that are to be tried again by a time, in the order in which they came.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<KeptWrite>, StoreError> {
        self.select("due <= ?1 ORDER BY made, id LIMIT ?2", params![micros(now), limit])
    }

    /// The writes that are put off of an author's second half, which names the agent; the longest kept first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn waiting_for(&self, agent: &[u8; 16]) -> Result<Vec<KeptWrite>, StoreError> {
        self.select("due IS NOT NULL AND substr(author, 17) = ?1 ORDER BY made, id", params![agent])
    }

    /// Forgets a write.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget(&self, id: &[u8; 16]) -> Result<(), StoreError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        transaction.execute("DELETE FROM kept WHERE id = ?1", [id]).map_err(engine)?;
        self.commit(transaction)
    }

    /// Forgets what has been kept long enough; says how much that was.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget_ended(&self, now: Timestamp) -> Result<usize, StoreError> {
        let ended = "DELETE FROM kept WHERE ends <= ?1 AND due IS NULL";
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        match transaction.execute(ended, [micros(now)]).map_err(engine)? {
            0 => Ok(0),
            forgotten => self.commit(transaction).map(|()| forgotten),
        }
    }

    fn select(&self, which: &str, params: &[&dyn rusqlite::ToSql]) -> Result<Vec<KeptWrite>, StoreError> {
        let connection = self.connection.lock();
        let select = format!("SELECT {COLUMNS} FROM kept WHERE {which}");
        let mut select = connection.prepare_cached(&select).map_err(engine)?;
        let rows = select.query_map(params, read).map_err(engine)?;
        rows.collect::<Result<_, _>>().map_err(engine)
    }
}

fn insert(transaction: &Connection, kept: &KeptWrite) -> Result<(), StoreError> {
    let insert = format!("INSERT OR REPLACE INTO kept ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    let mut insert = transaction.prepare_cached(&insert).map_err(engine)?;
    let (due, ends, made) = (kept.due.map(micros), micros(kept.ends), micros(kept.made));
    let row = params![kept.id, kept.author, kept.token, due, ends, kept.attempts, made, kept.closed];
    insert.execute(row).map_err(engine)?;
    Ok(())
}

fn waiting_with(connection: &Connection, token: &Hash) -> Result<Option<KeptWrite>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM kept WHERE token = ?1 AND due IS NOT NULL LIMIT 1");
    let mut select = connection.prepare_cached(&select).map_err(engine)?;
    select.query_row([token], read).optional().map_err(engine)
}

fn count_waiting(connection: &Connection, author: &[u8; 32]) -> Result<u32, StoreError> {
    let count = "SELECT count(*) FROM kept WHERE author = ?1 AND due IS NOT NULL";
    let mut count = connection.prepare_cached(count).map_err(engine)?;
    count.query_row([author], |row| row.get(0)).map_err(engine)
}

fn state_of(connection: &Connection) -> Result<KeptState, StoreError> {
    let known = "SELECT count(*) FROM sqlite_schema WHERE name = 'state'";
    let known: i64 = connection.query_row(known, [], |row| row.get(0)).map_err(engine)?;
    if known == 0 {
        return Ok(KeptState::default());
    }
    let tenant: Option<[u8; 16]> = connection
        .query_row("SELECT value FROM state WHERE name = 'tenant'", [], |row| row.get(0))
        .optional()
        .map_err(engine)?;
    let changes: Option<i64> = connection
        .query_row("SELECT value FROM state WHERE name = 'changes'", [], |row| row.get(0))
        .optional()
        .map_err(engine)?;
    let changes = changes.and_then(|changes| u64::try_from(changes).ok()).unwrap_or(0);
    Ok(KeptState { tenant: tenant.map(TenantId::from_bytes), changes })
}

fn read(row: &Row<'_>) -> rusqlite::Result<KeptWrite> {
    Ok(KeptWrite {
        id: row.get(0)?,
        author: row.get(1)?,
        token: row.get(2)?,
        due: row.get::<_, Option<i64>>(3)?.map(time),
        ends: time(row.get(4)?),
        attempts: row.get(5)?,
        made: time(row.get(6)?),
        closed: row.get(7)?,
    })
}

fn micros(time: Timestamp) -> i64 {
    time.as_micros().cast_signed()
}

fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn engine(error: rusqlite::Error) -> StoreError {
    StoreError::of_sqlite(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(id: u8, made: u64, due: Option<u64>) -> KeptWrite {
        KeptWrite {
            id: [id; 16],
            author: [1; 32],
            token: [id; 32],
            due: due.map(Timestamp::from_micros),
            ends: Timestamp::from_micros(made + 30),
            attempts: 0,
            made: Timestamp::from_micros(made),
            closed: vec![id],
        }
    }

    const OWN: TenantId = TenantId::from_bytes([3; 16]);

    /// AM-13: an older copy of the file, or that of another tenant, can be told.
    #[test]
    fn file_counts_its_changes_and_knows_its_tenant() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("kept.db"), folder.path().join("copy.db"));
        assert_eq!(KeptStore::state(&path), Ok(None));
        let store = KeptStore::open(Some(&path), OWN).expect("it opens");
        store.put(&kept(1, 1, None), 3).expect("put");
        store.settle().expect("settled");
        std::fs::copy(&path, &copy).expect("copied");
        store.forget(&[1; 16]).expect("forgotten");
        assert_eq!(store.forget_ended(Timestamp::from_micros(0)), Ok(0));
        assert_eq!(store.changes().load(Ordering::Acquire), 2);
        assert_eq!(KeptStore::state(&path), Ok(Some(KeptState { tenant: Some(OWN), changes: 2 })));
        assert_eq!(KeptStore::state(&copy), Ok(Some(KeptState { tenant: Some(OWN), changes: 1 })));
        assert!(KeptStore::open(Some(&path), TenantId::from_bytes([4; 16])).is_err());
    }

    fn ids(kept: &[KeptWrite]) -> Vec<u8> {
        kept.iter().map(|kept| kept.id[0]).collect()
    }

    /// AM-7: writes kept together keep the bounds of each, and what one does counts for the next.
    #[test]
    fn writes_kept_together_keep_their_bounds() {
        let store = KeptStore::open(None, OWN).expect("it opens");
        let put = |id, made, due: Option<u64>| KeptPut {
            kept: kept(id, made, due),
            refused_max: 2,
            waiting_max: due.map(|_| 2),
        };
        let again = KeptPut { kept: KeptWrite { id: [7; 16], ..kept(1, 1, Some(5)) }, ..put(1, 1, Some(5)) };
        let puts = [
            put(1, 1, Some(5)),
            again,
            put(2, 2, Some(5)),
            put(3, 3, Some(5)),
            put(4, 4, None),
            put(5, 5, None),
            put(6, 6, None),
        ];
        let outcomes = store.put_all(&puts).expect("kept");
        let known = PutOutcome::Known(Box::new(kept(1, 1, Some(5))));
        let done = PutOutcome::Kept;
        assert_eq!(
            outcomes,
            [done.clone(), known, done.clone(), PutOutcome::Full(2), done.clone(), done.clone(), done]
        );
        assert_eq!(ids(&store.of_author(&[1; 32], 10).expect("read")), [6, 5, 2, 1]);
    }

    /// GOV-1.6, AM-10, D3: what is put off comes due in the order in which it came and is never trimmed; what was refused is kept up to a number and a time.
    #[test]
    fn what_is_put_off_comes_due_and_what_was_refused_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.db");
        let store = KeptStore::open(Some(&path), OWN).expect("it opens");
        for number in 1..=4 {
            store.put(&kept(number, u64::from(number), None), 3).expect("put");
        }
        store.put(&kept(9, 9, Some(10)), 3).expect("put");
        store.put(&kept(8, 8, Some(15)), 3).expect("put");
        drop(store);
        let store = KeptStore::open(Some(&path), OWN).expect("it opens again");
        assert_eq!(ids(&store.of_author(&[1; 32], 10).expect("read")), [9, 8, 4, 3, 2]);
        assert_eq!(ids(&store.due(Timestamp::from_micros(10), 10).expect("read")), [9]);
        assert_eq!(ids(&store.due(Timestamp::from_micros(20), 10).expect("read")), [8, 9]);
        assert_eq!(ids(&store.waiting_by_author(&[1; 32]).expect("read")), [8, 9]);
        assert_eq!(store.waiting_by_author(&[2; 32]), Ok(vec![]));
        assert_eq!(store.waiting(&[9; 32]).expect("read").map(|kept| kept.id), Some([9; 16]));
        assert_eq!(store.waiting(&[4; 32]).expect("read"), None);
        assert_eq!(store.waiting_of(&[1; 32]), Ok(2));
        assert_eq!(store.forget_ended(Timestamp::from_micros(33)), Ok(2));
        store.forget(&[8; 16]).expect("forgotten");
        assert_eq!(ids(&store.of_author(&[1; 32], 10).expect("read")), [9, 4]);
    }
}
