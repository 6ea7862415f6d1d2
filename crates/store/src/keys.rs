//! The key store: a file of its own for a tenant's secrets and data keys, each wrapped.
//!
//! Invariant (durable before used): a data key is on disk before anything is sealed under it. Keys are made ahead, many in
//! one commit, so that a write pays no flush of its own for its key.

use crate::Obstacle;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use tabellion_core::canonical::Hash;
use tabellion_core::id::TenantId;
use tabellion_core::log::SigningKey;
use tabellion_core::seal::{DataKey, Secret, unwrap, wrap};

/// Keys made ahead at first; each refill doubles this, up to the maximum.
const AHEAD_MIN: usize = 256;
const AHEAD_MAX: usize = 4096;

/// What the key store could not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The master key is another one, or the bytes changed.
    #[error(
        "{0} does not open under the master key; give the key that this data was made with (TABELLION_MASTER_KEY, or keys/master.key)"
    )]
    CannotOpen(String),
    /// A secret is missing.
    #[error("the key store has no {0}; it is incomplete or not of this tenant")]
    Missing(String),
    /// The engine below refused.
    #[error("key store: {0}")]
    Engine(String),
    /// The system refused a file that may well be whole.
    #[error("key store: {1}")]
    System(Obstacle, String),
}

impl KeyError {
    /// Tells why the system refused; none if it did not, so that the file is not what it should be.
    #[must_use]
    pub const fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::System(obstacle, _) => Some(*obstacle),
            Self::CannotOpen(_) | Self::Missing(_) | Self::Engine(_) => None,
        }
    }
}

/// Random bytes on demand.
pub type Fill<'a> = &'a dyn Fn(&mut [u8]);

/// A tenant's secrets and data keys.
pub struct KeyStore {
    tenant: TenantId,
    connection: Mutex<Connection>,
    reader: Option<Mutex<Connection>>,
    tenant_secret: Secret,
    signing_seed: Secret,
    epochs: BTreeMap<u64, Secret>,
    ahead: Mutex<Ahead>,
}

#[derive(Default)]
struct Ahead {
    keys: VecDeque<DataKey>,
    next: u64,
    refill: usize,
}

impl KeyStore {
    /// Opens a tenant's key store; none at `path` makes one, and no path keeps it in memory.
    ///
    /// # Errors
    /// When the master key is another one, or the file cannot be used.
    pub fn open(
        path: Option<&Path>,
        tenant: TenantId,
        master: &Secret,
        fill: Fill<'_>,
    ) -> Result<Self, KeyError> {
        let connection = connect(path)?;
        let tables = "CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL);
                      CREATE TABLE IF NOT EXISTS data_key (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, wrapped BLOB NOT NULL);";
        connection.execute_batch(tables).map_err(engine)?;
        let count: i64 =
            connection.query_row("SELECT count(*) FROM secret", [], |row| row.get(0)).map_err(engine)?;
        if count == 0 {
            create_secrets(&connection, tenant, master, fill)?;
        }
        let reader = path.map(read_only).transpose()?;
        Self::load(connection, reader, tenant, master)
    }

    /// Opens an existing key store for reading.
    ///
    /// # Errors
    /// When there is none, or the master key is another one.
    pub fn open_read_only(path: &Path, tenant: TenantId, master: &Secret) -> Result<Self, KeyError> {
        Self::load(read_only(path)?, None, tenant, master)
    }

    fn load(
        connection: Connection,
        reader: Option<Connection>,
        tenant: TenantId,
        master: &Secret,
    ) -> Result<Self, KeyError> {
        let secrets = secrets(&connection, tenant, master)?;
        let named = |name: &str| secrets.get(name).cloned().ok_or_else(|| KeyError::Missing(name.to_owned()));
        let epochs: BTreeMap<u64, Secret> = secrets
            .iter()
            .filter_map(|(name, secret)| Some((name.strip_prefix("epoch/")?.parse().ok()?, secret.clone())))
            .collect();
        if epochs.is_empty() {
            return Err(KeyError::Missing("epoch key".into()));
        }
        let next = last_data_key(&connection)? + 1;
        Ok(Self {
            tenant,
            tenant_secret: named("tenant")?,
            signing_seed: named("signing")?,
            epochs,
            connection: Mutex::new(connection),
            reader: reader.map(Mutex::new),
            ahead: Mutex::new(Ahead { keys: VecDeque::new(), next, refill: AHEAD_MIN }),
        })
    }

    /// The highest number that a data key of this store has; 0 before the first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn last_data_key(&self) -> Result<u64, KeyError> {
        last_data_key(&self.connection.lock())
    }

    /// Moves what the write-ahead log holds into the file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn settle(&self) -> Result<(), KeyError> {
        crate::sqlite::settle(&self.connection.lock()).map_err(|error| KeyError::Engine(error.to_string()))
    }

    /// The secret from which a tenant's other keys are derived.
    #[must_use]
    pub const fn tenant_secret(&self) -> &Secret {
        &self.tenant_secret
    }

    /// The key that signs heads.
    #[must_use]
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::from_seed(&self.signing_seed)
    }

    /// A fresh data key, durable already.
    ///
    /// # Errors
    /// When more could not be made.
    pub fn take(&self, fill: Fill<'_>) -> Result<DataKey, KeyError> {
        loop {
            if let Some(key) = self.ahead.lock().keys.pop_front() {
                return Ok(key);
            }
            self.make_ahead(fill)?;
        }
    }

    /// Whether it is time to make more, before a writer has to wait for it.
    #[must_use]
    pub fn is_low(&self) -> bool {
        let ahead = self.ahead.lock();
        ahead.keys.len() < ahead.refill / 2
    }

    /// Makes data keys ahead, if they are low.
    ///
    /// # Errors
    /// When they could not be made durable; none of them is given out then.
    pub fn make_ahead(&self, fill: Fill<'_>) -> Result<(), KeyError> {
        let (epoch, under) =
            self.epochs.last_key_value().ok_or_else(|| KeyError::Missing("epoch key".into()))?;
        // Held to the end: one maker at a time, so numbers are not given twice.
        let mut connection = self.connection.lock();
        let (next, count) = {
            let ahead = self.ahead.lock();
            if ahead.keys.len() >= ahead.refill / 2 {
                return Ok(());
            }
            (ahead.next, ahead.refill)
        };
        let mut made = Vec::with_capacity(count);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(engine)?;
        // One that was just closed may have made its last keys after this one was opened.
        let first = next.max(last_data_key(&transaction)? + 1);
        {
            let insert = "INSERT INTO data_key (id, epoch, wrapped) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(insert).map_err(engine)?;
            for id in (first..).take(count) {
                let secret = random_secret(fill);
                let wrapped = wrap(under, &random_nonce(fill), &data_key_place(self.tenant, id), &secret);
                insert.execute(params![sql_number(id), sql_number(*epoch), wrapped]).map_err(engine)?;
                made.push(DataKey { id, secret });
            }
        }
        transaction.commit().map_err(engine)?;
        let mut ahead = self.ahead.lock();
        ahead.next = first + made.len() as u64;
        ahead.keys.extend(made);
        ahead.refill = (count * 2).min(AHEAD_MAX);
        Ok(())
    }

    /// A data key by its number; none once it is destroyed.
    ///
    /// # Errors
    /// When its bytes changed or its epoch is unknown.
    pub fn data_key(&self, id: u64) -> Result<Option<DataKey>, KeyError> {
        let row = {
            // A connection of its own where there is a file: reading never waits for keys being made.
            let connection = self.reader.as_ref().unwrap_or(&self.connection).lock();
            let mut select = connection
                .prepare_cached("SELECT epoch, wrapped FROM data_key WHERE id = ?1")
                .map_err(engine)?;
            select
                .query_row([sql_number(id)], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
                .optional()
                .map_err(engine)?
        };
        let Some((epoch, wrapped)) = row else { return Ok(None) };
        let cannot = || KeyError::CannotOpen(format!("data key {id}"));
        let under = u64::try_from(epoch).ok().and_then(|epoch| self.epochs.get(&epoch)).ok_or_else(cannot)?;
        let secret = unwrap(under, &data_key_place(self.tenant, id), &wrapped).map_err(|_| cannot())?;
        Ok(Some(DataKey { id, secret }))
    }

    /// The wrapped rows of data keys `from..`, for a snapshot: (id, epoch, wrapped).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn data_key_rows(&self, from: u64, limit: usize) -> Result<Vec<(u64, u64, Vec<u8>)>, KeyError> {
        let connection = self.connection.lock();
        let sql = "SELECT id, epoch, wrapped FROM data_key WHERE id >= ?1 ORDER BY id LIMIT ?2";
        let mut select = connection.prepare_cached(sql).map_err(engine)?;
        let rows = select
            .query_map(params![sql_number(from), sql_number(limit as u64)], |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs(), row.get(2)?))
            })
            .map_err(engine)?;
        rows.collect::<Result<_, _>>().map_err(engine)
    }

    /// The wrapped secrets, for the key file of a snapshot: (name, wrapped).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn secret_rows(&self) -> Result<Vec<(String, Vec<u8>)>, KeyError> {
        wrapped_secrets(&self.connection.lock())
    }

    /// Makes a key store of the rows of a snapshot and its key file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn restore(path: &Path, secrets: &[(String, Vec<u8>)]) -> Result<Restoring, KeyError> {
        let connection = connect(Some(path))?;
        connection
            .execute_batch(
                "CREATE TABLE secret (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL);
                 CREATE TABLE data_key (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, wrapped BLOB NOT NULL);",
            )
            .map_err(engine)?;
        for (name, wrapped) in secrets {
            connection
                .execute("INSERT INTO secret (name, wrapped) VALUES (?1, ?2)", params![name, wrapped])
                .map_err(engine)?;
        }
        Ok(Restoring(connection))
    }
}

/// A key store that is being filled from a snapshot.
pub struct Restoring(Connection);

impl Restoring {
    /// Moves what the write-ahead log holds into the file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn settle(&self) -> Result<(), KeyError> {
        crate::sqlite::settle(&self.0).map_err(|error| KeyError::Engine(error.to_string()))
    }

    /// Adds wrapped data keys.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, rows: &[(u64, u64, Vec<u8>)]) -> Result<(), KeyError> {
        let transaction = self.0.transaction().map_err(engine)?;
        for (id, epoch, wrapped) in rows {
            let sql = "INSERT INTO data_key (id, epoch, wrapped) VALUES (?1, ?2, ?3)";
            transaction
                .execute(sql, params![sql_number(*id), sql_number(*epoch), wrapped])
                .map_err(engine)?;
        }
        transaction.commit().map_err(engine)
    }
}

fn connect(path: Option<&Path>) -> Result<Connection, KeyError> {
    let Some(path) = path else { return Connection::open_in_memory().map_err(engine) };
    crate::files::touch_private(path).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        match Obstacle::of_io(&error) {
            Some(obstacle) => KeyError::System(obstacle, what),
            None => KeyError::Engine(what),
        }
    })?;
    let connection = Connection::open(path).map_err(engine)?;
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(engine)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(engine)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(engine)?;
    // What is deleted here must be gone: an erased key that lingers in a free page is not erased.
    connection.pragma_update(None, "secure_delete", "ON").map_err(engine)?;
    Ok(connection)
}

fn read_only(path: &Path) -> Result<Connection, KeyError> {
    let connection =
        Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(engine)?;
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(engine)?;
    Ok(connection)
}

fn create_secrets(
    connection: &Connection,
    tenant: TenantId,
    master: &Secret,
    fill: Fill<'_>,
) -> Result<(), KeyError> {
    let transaction = connection.unchecked_transaction().map_err(engine)?;
    for name in ["tenant", "signing", "epoch/1"] {
        let wrapped = wrap(master, &random_nonce(fill), &secret_place(tenant, name), &random_secret(fill));
        let sql = "INSERT INTO secret (name, wrapped) VALUES (?1, ?2)";
        transaction.execute(sql, params![name, wrapped]).map_err(engine)?;
    }
    transaction.commit().map_err(engine)
}

fn wrapped_secrets(connection: &Connection) -> Result<Vec<(String, Vec<u8>)>, KeyError> {
    let mut select = connection.prepare("SELECT name, wrapped FROM secret ORDER BY name").map_err(engine)?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(engine)?;
    rows.collect::<Result<_, _>>().map_err(engine)
}

fn secrets(
    connection: &Connection,
    tenant: TenantId,
    master: &Secret,
) -> Result<BTreeMap<String, Secret>, KeyError> {
    wrapped_secrets(connection)?
        .into_iter()
        .map(|(name, wrapped)| match unwrap(master, &secret_place(tenant, &name), &wrapped) {
            Ok(secret) => Ok((name, secret)),
            Err(_) => Err(KeyError::CannotOpen(format!("secret `{name}`"))),
        })
        .collect()
}

fn secret_place(tenant: TenantId, name: &str) -> Vec<u8> {
    [b"tabellion/v1/secret".as_slice(), tenant.as_bytes(), name.as_bytes()].concat()
}

/// The highest number that a data key was given; 0 before the first.
fn last_data_key(connection: &Connection) -> Result<u64, KeyError> {
    let last: i64 = connection
        .query_row("SELECT coalesce(max(id), 0) FROM data_key", [], |row| row.get(0))
        .map_err(engine)?;
    Ok(u64::try_from(last).unwrap_or(0))
}

fn data_key_place(tenant: TenantId, id: u64) -> Vec<u8> {
    [b"tabellion/v1/data_key".as_slice(), tenant.as_bytes(), &id.to_be_bytes()].concat()
}

fn random_secret(fill: Fill<'_>) -> Secret {
    let mut bytes: Hash = [0; 32];
    fill(&mut bytes);
    Secret::from_bytes(bytes)
}

fn random_nonce(fill: Fill<'_>) -> [u8; 12] {
    let mut nonce = [0; 12];
    fill(&mut nonce);
    nonce
}

fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn engine(error: rusqlite::Error) -> KeyError {
    match Obstacle::of_sqlite(&error) {
        Some(obstacle) => KeyError::System(obstacle, error.to_string()),
        None => KeyError::Engine(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn counting() -> impl Fn(&mut [u8]) {
        let next = Cell::new(0u8);
        move |bytes| bytes.iter_mut().for_each(|byte| *byte = next.replace(next.get().wrapping_add(1)))
    }

    /// D9: a key taken is a key that survives, and no key is given twice, not even after a restart.
    #[test]
    fn keys_are_durable_before_use_and_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.db");
        let (tenant, master) = (TenantId::from_bytes([1; 16]), Secret::from_bytes([2; 32]));
        let fill = counting();
        let store = KeyStore::open(Some(&path), tenant, &master, &fill).unwrap();
        let taken: Vec<DataKey> = (0..600).map(|_| store.take(&fill).unwrap()).collect();
        drop(store);
        let store = KeyStore::open(Some(&path), tenant, &master, &fill).unwrap();
        for key in &taken {
            assert_eq!(store.data_key(key.id).unwrap().unwrap().secret, key.secret);
        }
        let last = taken.iter().map(|key| key.id).max().unwrap();
        assert!(store.take(&fill).unwrap().id > last);
        assert!(store.data_key(u64::MAX).unwrap().is_none());
    }

    /// D9: one store is closed while its last keys are still being made, and the next is open already.
    #[test]
    fn two_stores_of_one_file_give_no_key_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.db");
        let (tenant, master) = (TenantId::from_bytes([1; 16]), Secret::from_bytes([2; 32]));
        let fill = counting();
        let closing = KeyStore::open(Some(&path), tenant, &master, &fill).unwrap();
        let opened = KeyStore::open(Some(&path), tenant, &master, &fill).unwrap();
        let first = closing.take(&fill).unwrap();
        assert_ne!(opened.take(&fill).unwrap().id, first.id);
    }

    #[test]
    fn another_master_key_or_tenant_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.db");
        let tenant = TenantId::from_bytes([1; 16]);
        let fill = counting();
        drop(KeyStore::open(Some(&path), tenant, &Secret::from_bytes([2; 32]), &fill).unwrap());
        let other_master = KeyStore::open(Some(&path), tenant, &Secret::from_bytes([3; 32]), &fill);
        assert!(matches!(other_master, Err(KeyError::CannotOpen(_))));
        let other_tenant =
            KeyStore::open(Some(&path), TenantId::from_bytes([9; 16]), &Secret::from_bytes([2; 32]), &fill);
        assert!(matches!(other_tenant, Err(KeyError::CannotOpen(_))));
    }
}
