//! Vectors on disk, so that a start need not compute them again.
//!
//! Invariant: nothing here is truth. Each row is closed by the caller, so a damaged one does not open and is computed again;
//! a file that is no database any more is thrown away. Deleted rows are overwritten.

use crate::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use tabellion_core::log::Lsn;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS vector (lsn INTEGER PRIMARY KEY, model BLOB NOT NULL, closed BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS lists (model BLOB PRIMARY KEY, closed BLOB NOT NULL);";

/// The vectors of a tenant's versions, each by the position of its version.
pub struct VectorStore {
    connection: Mutex<Connection>,
}

impl VectorStore {
    /// Opens the file; one that cannot be used is replaced by an empty one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match Self::connect(path) {
            Ok(store) => Ok(store),
            Err(error) => {
                tracing::warn!(%error, "the file of vectors cannot be used; it is made again");
                Self::anew(path)
            }
        }
    }

    /// Throws the file away and begins an empty one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn anew(path: &Path) -> Result<Self, StoreError> {
        Self::remove(path)?;
        Self::connect(path)
    }

    /// Throws the file away.
    ///
    /// # Errors
    /// When the folder cannot be written, or something else lies in the file's place.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            crate::files::unless_missing(std::fs::remove_file(&name)).map_err(|error| {
                let way_out = "remove it by hand: vectors are made again from the log";
                StoreError::Engine(format!("{} cannot be replaced: {error}; {way_out}", path.display()))
            })?;
        }
        Ok(())
    }

    fn connect(path: &Path) -> Result<Self, StoreError> {
        crate::files::touch_private(path).map_err(|error| StoreError::Engine(error.to_string()))?;
        let connection = Connection::open(path).map_err(engine)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(engine)?;
        // A lost commit costs time, not truth.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(engine)?;
        connection.pragma_update(None, "secure_delete", "ON").map_err(engine)?;
        connection.execute_batch(TABLES).map_err(engine)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Hands on every row of a model, in order of the log.
    ///
    /// # Errors
    /// When the file cannot be read to its end; what was handed on is sound.
    pub fn each(&self, model: &[u8], mut each: impl FnMut(Lsn, &[u8])) -> Result<(), StoreError> {
        let connection = self.connection.lock();
        let select = "SELECT lsn, closed FROM vector WHERE model = ?1 ORDER BY lsn";
        let mut select = connection.prepare_cached(select).map_err(engine)?;
        let mut rows = select.query([model]).map_err(engine)?;
        while let Some(row) = rows.next().map_err(engine)? {
            let lsn: i64 = row.get(0).map_err(engine)?;
            let closed = row.get_ref(1).map_err(engine)?;
            if let (Ok(lsn), Ok(closed)) = (u64::try_from(lsn), closed.as_blob()) {
                each(Lsn::new(lsn), closed);
            }
        }
        Ok(())
    }

    /// Keeps rows, in place of what was there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&self, model: &[u8], rows: &[(Lsn, Vec<u8>)]) -> Result<(), StoreError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction().map_err(engine)?;
        {
            let insert = "INSERT OR REPLACE INTO vector (lsn, model, closed) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(insert).map_err(engine)?;
            for (lsn, closed) in rows {
                insert.execute(params![lsn.get().cast_signed(), model, closed]).map_err(engine)?;
            }
        }
        transaction.commit().map_err(engine)
    }

    /// Moves what the write-ahead log holds into the file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn settle(&self) -> Result<(), StoreError> {
        crate::sqlite::settle(&self.connection.lock())
    }

    /// The lists that were kept for a model.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn lists(&self, model: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let connection = self.connection.lock();
        connection
            .query_row("SELECT closed FROM lists WHERE model = ?1", [model], |row| row.get(0))
            .optional()
            .map_err(engine)
    }

    /// Keeps the lists of a model.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_lists(&self, model: &[u8], closed: &[u8]) -> Result<(), StoreError> {
        let insert = "INSERT OR REPLACE INTO lists (model, closed) VALUES (?1, ?2)";
        self.connection.lock().execute(insert, params![model, closed]).map_err(engine)?;
        Ok(())
    }

    /// Forgets what other models made.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget_others(&self, model: &[u8]) -> Result<(), StoreError> {
        let connection = self.connection.lock();
        connection.execute("DELETE FROM vector WHERE model <> ?1", [model]).map_err(engine)?;
        connection.execute("DELETE FROM lists WHERE model <> ?1", [model]).map_err(engine)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn engine(error: rusqlite::Error) -> StoreError {
    StoreError::Engine(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(store: &VectorStore, model: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut rows = Vec::new();
        store.each(model, |lsn, closed| rows.push((lsn.get(), closed.to_vec()))).expect("it can be read");
        rows
    }

    #[test]
    fn rows_are_kept_by_model_and_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = VectorStore::open(&folder.path().join("vectors.db")).expect("it opens");
        store.put(b"a", &[(Lsn::new(2), vec![2]), (Lsn::new(1), vec![1])]).expect("put");
        store.put(b"b", &[(Lsn::new(2), vec![9])]).expect("put");
        assert_eq!(rows(&store, b"a"), [(1, vec![1])]);
        assert_eq!(rows(&store, b"b"), [(2, vec![9])]);
        store.put_lists(b"b", &[7]).expect("put");
        store.forget_others(b"b").expect("forget");
        assert_eq!(rows(&store, b"a"), []);
        assert_eq!(store.lists(b"b"), Ok(Some(vec![7])));
    }

    /// A file that is no database is replaced, not trusted.
    #[test]
    fn a_ruined_file_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vectors.db");
        std::fs::write(&path, vec![0x5a; 9000]).expect("written");
        let store = VectorStore::open(&path).expect("it opens");
        store.put(b"a", &[(Lsn::new(1), vec![1])]).expect("put");
        assert_eq!(rows(&store, b"a"), [(1, vec![1])]);
    }
}
