//! What pairs were given before the server stopped, out of the trail: a restart launders nothing (SHARE-9).

use super::{IDLE, Seen};
use crate::resource;
use crate::tenant::Tenant;
use std::collections::HashMap;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, ResourceId, UserId};
use tabellion_core::item::Tier;
use tabellion_core::log::{AuditRecord, Entry, Event, LogName, Lsn};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Views};
use tabellion_store::{Record, StoreError};

/// Rows read at once.
const CHUNK: u64 = 512;
/// Rows looked at: a start takes no longer for a trail that is longer.
const SCAN_MAX: u64 = 65_536;
/// The reads that give items away.
const READS: [&str; 3] = ["get", "list", "search"];

/// A trace of a pair; the implicit one has no name.
pub(super) type Name = (UserId, AgentId, Option<Hash>);

/// How far back traces go that still last.
struct Horizon {
    now: Timestamp,
    /// The oldest read that each of them was followed back to.
    oldest: HashMap<Name, Timestamp>,
    /// The oldest of all.
    least: Timestamp,
}

impl Horizon {
    /// Whether no trace that lasts can begin before this time.
    fn is_behind(&self, time: Timestamp) -> bool {
        self.least.since(time) >= IDLE
    }

    /// Whether a read at this time belongs to a trace that lasts; rows come newest first.
    fn reaches(&mut self, name: Name, time: Timestamp) -> bool {
        let oldest = self.oldest.get(&name).copied().unwrap_or(self.now);
        if oldest.since(time) >= IDLE {
            return false;
        }
        self.oldest.insert(name, time.min(oldest));
        self.least = self.least.min(time);
        true
    }
}

impl Tenant {
    /// Takes in again what pairs were given, as far as their traces still last.
    pub(crate) fn recall(&self) -> Result<(), StoreError> {
        // A clock that was set back since makes no trace last longer.
        let now = self.now().max(self.shared.views.read().time());
        let mut horizon = Horizon { now, oldest: HashMap::new(), least: now };
        let mut before = self.shared.store.size(LogName::Audit)? + 1;
        let floor = before.saturating_sub(SCAN_MAX).max(1);
        while before > floor {
            let from = before.saturating_sub(CHUNK).max(floor);
            let count = usize::try_from(before - from).unwrap_or(0);
            let records = self.shared.store.records(LogName::Audit, Lsn::new(from), count)?;
            for record in records.iter().rev() {
                if !self.recall_row(record, &mut horizon) {
                    return Ok(());
                }
            }
            before = from;
        }
        Ok(())
    }

    /// Takes one row in; says whether there can be more.
    fn recall_row(&self, record: &Record, horizon: &mut Horizon) -> bool {
        let Ok(entry) = Entry::decode(&record.body) else { return true };
        if horizon.is_behind(entry.time) {
            return false;
        }
        let (Event::Audited(row), Some(user), Some(agent)) =
            (&entry.event, entry.actor.user, entry.actor.agent)
        else {
            return true;
        };
        let seen = seen(&self.shared.views.read(), row, entry.time);
        if let Some(seen) = seen.filter(|_| horizon.reaches((user, agent, row.trace), entry.time)) {
            self.traces.put((user, agent, row.trace), &seen);
        }
        true
    }
}

/// What somebody was given by the operation of a row; nothing if it gives nothing.
fn seen(views: &Views, row: &AuditRecord, time: Timestamp) -> Option<Seen> {
    let mut seen = Seen { last: time, ..Seen::default() };
    if row.action == resource::ACTION {
        seen.called.extend(row.ids.iter().filter_map(|id| id.parse::<ResourceId>().ok()));
        return Some(seen);
    }
    if row.outcome != "ok" || !READS.contains(&row.action.as_str()) {
        return None;
    }
    let at = Moment { lsn: row.memory, time };
    for item in row.ids.iter().filter_map(|id| views.items.find_item(id.parse().ok()?)) {
        let head = views.items.head_at(item, at).or_else(|| views.items.versions_of(item).next_back());
        seen.classes.extend(head.map(|version| version.class()));
        seen.private |= head.is_some_and(|version| version.tier == Tier::Private);
    }
    Some(seen)
}
