//! Keeps the logs and the keys: SQLite embedded, memory for tests.
//!
//! Invariant: durable truth changes only by `Store::append`, whole or not at all. Nothing here knows what an entry means;
//! views are folded from what is read back.

pub mod conformance;
mod files;
mod kept;
mod keys;
mod memory;
mod obstacle;
mod sqlite;
mod vectors;

pub use files::{DataDir, DirLock, FolderError, LockError, unless_missing, write_private};
pub use kept::{KeptPut, KeptState, KeptStore, KeptWrite, PutOutcome};
pub use keys::{Fill, KeyError, KeyStore, Restoring};
pub use memory::MemoryStore;
pub use obstacle::Obstacle;
pub use sqlite::SqliteStore;
pub use vectors::VectorStore;

use tabellion_core::canonical::Hash;
use tabellion_core::log::{Frontier, LogName, Lsn, SignedHead, TILE_LEVELS, Tile, node_hash};

/// One entry as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place.
    pub lsn: Lsn,
    /// Its canonical bytes.
    pub body: Vec<u8>,
    /// What is sealed beside it; gone once erased.
    pub sealed: Option<Vec<u8>>,
    /// The hash of its body.
    pub leaf: Hash,
}

/// What one commit adds to one log.
#[derive(Debug, Clone)]
pub struct Append {
    /// Which log.
    pub log: LogName,
    /// Entries, numbered on from the log's size without a gap.
    pub records: Vec<Record>,
    /// Tiles that these entries complete.
    pub tiles: Vec<Tile>,
    /// The head over all of it.
    pub head: SignedHead,
}

impl Append {
    /// Refuses entries that do not follow on from `size`: the rule is the same for every engine.
    fn must_follow(&self, size: u64) -> Result<(), StoreError> {
        let numbered = self.records.iter().zip(size + 1..).all(|(record, lsn)| record.lsn.get() == lsn);
        let headed = self.head.head.size == size + self.records.len() as u64;
        if numbered && headed { Ok(()) } else { Err(StoreError::Behind { log: self.log, size }) }
    }
}

/// What a store could not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another writer appended first; fold what is new and try again.
    #[error("the {log} log has {size} entries already", log = log.as_str())]
    Behind {
        /// Which log.
        log: LogName,
        /// Its size.
        size: u64,
    },
    /// A row that is not what was written.
    #[error("entry {lsn} of the {log} log is damaged: {what}", log = log.as_str())]
    Damaged {
        /// Which log.
        log: LogName,
        /// Which entry.
        lsn: Lsn,
        /// What is wrong with it.
        what: String,
    },
    /// The engine below refused.
    #[error("storage: {0}")]
    Engine(String),
    /// The system refused a file that may well be whole.
    #[error("storage: {1}")]
    System(Obstacle, String),
}

impl StoreError {
    /// Tells why the system refused; none if it did not, so that the file is not what it should be.
    #[must_use]
    pub const fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::System(obstacle, _) => Some(*obstacle),
            Self::Behind { .. } | Self::Damaged { .. } | Self::Engine(_) => None,
        }
    }

    /// Judges an error of SQLite.
    #[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
    pub(crate) fn of_sqlite(error: rusqlite::Error) -> Self {
        match Obstacle::of_sqlite(&error) {
            Some(obstacle) => Self::System(obstacle, error.to_string()),
            None => Self::Engine(error.to_string()),
        }
    }

    /// Judges an error of the file system.
    pub(crate) fn of_io(path: &std::path::Path, error: &std::io::Error) -> Self {
        let what = format!("{}: {error}", path.display());
        match Obstacle::of_io(error) {
            Some(obstacle) => Self::System(obstacle, what),
            None => Self::Engine(what),
        }
    }
}

/// Keeps a tenant's two logs.
///
/// `append` returns only when what it was given survives a power cut, and either all of it is kept or none. Reads see
/// every append that returned. All methods may be called from several threads at once.
pub trait Store: Send + Sync {
    /// Adds to one or both logs in one durable step.
    ///
    /// # Errors
    /// `Behind` when the first lsn is not the next one; nothing was added then or on any other error.
    fn append(&self, appends: &[Append]) -> Result<(), StoreError>;

    /// Brings everything that was appended into the place where a copy of the files finds it. Called at a clean end;
    /// the store goes on working.
    ///
    /// # Errors
    /// When the engine refuses.
    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Entries in a log.
    ///
    /// # Errors
    /// When the engine refuses.
    fn size(&self, log: LogName) -> Result<u64, StoreError>;

    /// Up to `limit` entries from `from` on, in order. From zero on, rows without a place are found too, as damage.
    ///
    /// # Errors
    /// When the engine refuses or a row is damaged.
    fn records(&self, log: LogName, from: Lsn, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// One entry.
    ///
    /// # Errors
    /// When the engine refuses or the row is damaged.
    fn record(&self, log: LogName, lsn: Lsn) -> Result<Option<Record>, StoreError>;

    /// The stored hashes of entries `from..=to`.
    ///
    /// # Errors
    /// When the engine refuses or a row is damaged.
    fn leaves(&self, log: LogName, from: Lsn, to: Lsn) -> Result<Vec<Hash>, StoreError>;

    /// A tile, once its subtree is complete.
    ///
    /// # Errors
    /// When the engine refuses.
    fn tile(&self, log: LogName, level: u8, index: u64) -> Result<Option<Hash>, StoreError>;

    /// Up to `limit` heads of more than `after` entries, in order.
    ///
    /// # Errors
    /// When the engine refuses.
    fn heads(&self, log: LogName, after: u64, limit: usize) -> Result<Vec<SignedHead>, StoreError>;

    /// The newest head.
    ///
    /// # Errors
    /// When the engine refuses.
    fn latest_head(&self, log: LogName) -> Result<Option<SignedHead>, StoreError>;
}

/// The root of the complete, aligned subtree over leaves `start..end`, from tiles where there are any.
///
/// # Errors
/// When a hash cannot be read.
pub fn subtree(store: &dyn Store, log: LogName, start: u64, end: u64) -> Result<Hash, StoreError> {
    let count = end - start;
    let level = u8::try_from(count.trailing_zeros()).unwrap_or(u8::MAX);
    if TILE_LEVELS.contains(&level)
        && let Some(hash) = store.tile(log, level, start >> level)?
    {
        return Ok(hash);
    }
    if level <= TILE_LEVELS[0] {
        let mut frontier = Frontier::default();
        for leaf in store.leaves(log, Lsn::new(start + 1), Lsn::new(end))? {
            frontier.append(leaf, &mut Vec::new());
        }
        return Ok(frontier.root());
    }
    let middle = start + count / 2;
    Ok(node_hash(&subtree(store, log, start, middle)?, &subtree(store, log, middle, end)?))
}
