//! Writes that are not memory: those put off, to be tried again, and those refused, kept for their authors.
//!
//! Invariant (kept means durable): `put` returns after the disk has it, because a writer was told so. Each row is closed by
//! the caller; deleted rows are overwritten. A file that cannot be read is an error, never replaced.

use crate::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::path::Path;
use tabellion_core::canonical::Hash;
use tabellion_core::time::Timestamp;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS kept (
        id BLOB PRIMARY KEY, author BLOB NOT NULL, token BLOB NOT NULL, due INTEGER, ends INTEGER NOT NULL,
        attempts INTEGER NOT NULL, made INTEGER NOT NULL, closed BLOB NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS kept_by_author ON kept (author, made);
    CREATE INDEX IF NOT EXISTS kept_by_token ON kept (token) WHERE due IS NOT NULL;
    CREATE INDEX IF NOT EXISTS kept_by_due ON kept (due) WHERE due IS NOT NULL;
    CREATE INDEX IF NOT EXISTS kept_by_end ON kept (ends);";

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

/// The kept writes of a tenant.
pub struct KeptStore {
    connection: Mutex<Connection>,
}

impl KeptStore {
    /// Opens the file; without one, everything stays in memory.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(path: Option<&Path>) -> Result<Self, StoreError> {
        let connection = match path {
            None => Connection::open_in_memory().map_err(engine)?,
            Some(path) => {
                crate::files::touch_private(path).map_err(|error| StoreError::Engine(error.to_string()))?;
                Connection::open(path).map_err(engine)?
            }
        };
        connection.pragma_update(None, "journal_mode", "WAL").map_err(engine)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(engine)?;
        connection.pragma_update(None, "secure_delete", "ON").map_err(engine)?;
        connection.execute_batch(TABLES).map_err(engine)?;
        Ok(Self { connection: Mutex::new(connection) })
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
        transaction.commit().map_err(engine)?;
        Ok(outcomes)
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

    /// The writes that are to be tried again by a time, the longest due first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<KeptWrite>, StoreError> {
        self.select("due <= ?1 ORDER BY due, made, id LIMIT ?2", params![micros(now), limit])
    }

    /// Forgets a write.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget(&self, id: &[u8; 16]) -> Result<(), StoreError> {
        self.connection.lock().execute("DELETE FROM kept WHERE id = ?1", [id]).map_err(engine)?;
        Ok(())
    }

    /// Forgets what has been kept long enough; says how much that was.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget_ended(&self, now: Timestamp) -> Result<usize, StoreError> {
        let ended = "DELETE FROM kept WHERE ends <= ?1 AND due IS NULL";
        self.connection.lock().execute(ended, [micros(now)]).map_err(engine)
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

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn engine(error: rusqlite::Error) -> StoreError {
    StoreError::Engine(error.to_string())
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

    fn ids(kept: &[KeptWrite]) -> Vec<u8> {
        kept.iter().map(|kept| kept.id[0]).collect()
    }

    /// AM-7: writes kept together keep the bounds of each, and what one does counts for the next.
    #[test]
    fn writes_kept_together_keep_their_bounds() {
        let store = KeptStore::open(None).expect("it opens");
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

    /// GOV-1.6, D3: what is put off comes due in order and is never trimmed; what was refused is kept up to a number and a time.
    #[test]
    fn what_is_put_off_comes_due_and_what_was_refused_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.db");
        let store = KeptStore::open(Some(&path)).expect("it opens");
        for number in 1..=4 {
            store.put(&kept(number, u64::from(number), None), 3).expect("put");
        }
        store.put(&kept(9, 9, Some(20)), 3).expect("put");
        store.put(&kept(8, 8, Some(10)), 3).expect("put");
        drop(store);
        let store = KeptStore::open(Some(&path)).expect("it opens again");
        assert_eq!(ids(&store.of_author(&[1; 32], 10).expect("read")), [9, 8, 4, 3, 2]);
        assert_eq!(ids(&store.due(Timestamp::from_micros(15), 10).expect("read")), [8]);
        assert_eq!(ids(&store.due(Timestamp::from_micros(20), 10).expect("read")), [8, 9]);
        assert_eq!(store.waiting(&[9; 32]).expect("read").map(|kept| kept.id), Some([9; 16]));
        assert_eq!(store.waiting(&[4; 32]).expect("read"), None);
        assert_eq!(store.waiting_of(&[1; 32]), Ok(2));
        assert_eq!(store.forget_ended(Timestamp::from_micros(33)), Ok(2));
        store.forget(&[8; 16]).expect("forgotten");
        assert_eq!(ids(&store.of_author(&[1; 32], 10).expect("read")), [9, 4]);
    }
}
