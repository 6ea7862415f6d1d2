//! The floor: bare SQLite appending rows of the same bytes, one table, a primary key and a unique token index, at the same
//! durability and batch size.

use anyhow::Result;
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::{Duration, Instant};

/// Appends batches of `batch` rows of `row_bytes` for `time`, and tells rows per second.
pub(super) fn appends(folder: &Path, batch: usize, row_bytes: usize, time: Duration) -> Result<f64> {
    let path = folder.join(format!("bare-{batch}.db"));
    let mut connection = Connection::open(&path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE entry (lsn INTEGER PRIMARY KEY, body BLOB NOT NULL, token BLOB NOT NULL);
         CREATE UNIQUE INDEX token ON entry (token);",
    )?;
    let mut rows = 0u64;
    let mut body = vec![0u8; row_bytes.saturating_sub(32)];
    let began = now();
    while began.elapsed() < time {
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO entry (lsn, body, token) VALUES (?1, ?2, ?3)")?;
            for _ in 0..batch {
                rows += 1;
                let token = tabellion_core::canonical::sha256(&rows.to_be_bytes());
                body.iter_mut().zip(token.iter().cycle()).for_each(|(to, from)| *to = *from);
                insert.execute(params![i64::try_from(rows)?, body, token])?;
            }
        }
        transaction.commit()?;
    }
    Ok(rows as f64 / began.elapsed().as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the real clock")]
pub(super) fn now() -> Instant {
    Instant::now()
}
