//! Logs in memory: for tests, simulations and scratch servers. Durable until the process ends.

use crate::{Append, Record, Store, StoreError};
use parking_lot::RwLock;
use std::collections::HashMap;
use tabellion_core::canonical::Hash;
use tabellion_core::log::{LogName, Lsn, SignedHead};

#[derive(Debug, Default)]
struct Log {
    records: Vec<Record>,
    heads: Vec<SignedHead>,
    tiles: HashMap<(u8, u64), Hash>,
}

/// A tenant's two logs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    memory: RwLock<Log>,
    audit: RwLock<Log>,
}

impl MemoryStore {
    const fn log(&self, log: LogName) -> &RwLock<Log> {
        match log {
            LogName::Memory => &self.memory,
            LogName::Audit => &self.audit,
        }
    }
}

fn place(lsn: Lsn) -> usize {
    usize::try_from(lsn.get().saturating_sub(1)).unwrap_or(usize::MAX)
}

impl Store for MemoryStore {
    fn append(&self, appends: &[Append]) -> Result<(), StoreError> {
        // Both logs are locked, in one order, before either changes: all or nothing.
        let (mut memory, mut audit) = (self.memory.write(), self.audit.write());
        for append in appends {
            let log = match append.log {
                LogName::Memory => &memory,
                LogName::Audit => &audit,
            };
            append.must_follow(log.records.len() as u64)?;
        }
        for append in appends {
            let log = match append.log {
                LogName::Memory => &mut *memory,
                LogName::Audit => &mut *audit,
            };
            log.records.extend(append.records.iter().cloned());
            log.tiles.extend(append.tiles.iter().map(|tile| ((tile.level, tile.index), tile.hash)));
            log.heads.push(append.head);
        }
        Ok(())
    }

    fn size(&self, log: LogName) -> Result<u64, StoreError> {
        Ok(self.log(log).read().records.len() as u64)
    }

    fn records(&self, log: LogName, from: Lsn, limit: usize) -> Result<Vec<Record>, StoreError> {
        Ok(self.log(log).read().records.iter().skip(place(from)).take(limit).cloned().collect())
    }

    fn record(&self, log: LogName, lsn: Lsn) -> Result<Option<Record>, StoreError> {
        if lsn == Lsn::ZERO {
            return Ok(None);
        }
        Ok(self.log(log).read().records.get(place(lsn)).cloned())
    }

    fn leaves(&self, log: LogName, from: Lsn, to: Lsn) -> Result<Vec<Hash>, StoreError> {
        let count = usize::try_from((to.get() + 1).saturating_sub(from.get())).unwrap_or(0);
        Ok(self
            .log(log)
            .read()
            .records
            .iter()
            .skip(place(from))
            .take(count)
            .map(|record| record.leaf)
            .collect())
    }

    fn tile(&self, log: LogName, level: u8, index: u64) -> Result<Option<Hash>, StoreError> {
        Ok(self.log(log).read().tiles.get(&(level, index)).copied())
    }

    fn heads(&self, log: LogName, after: u64, limit: usize) -> Result<Vec<SignedHead>, StoreError> {
        let log = self.log(log).read();
        Ok(log.heads.iter().filter(|signed| signed.head.size > after).take(limit).copied().collect())
    }

    fn latest_head(&self, log: LogName) -> Result<Option<SignedHead>, StoreError> {
        Ok(self.log(log).read().heads.last().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        crate::conformance::all(&mut || Box::new(MemoryStore::default()));
    }
}
