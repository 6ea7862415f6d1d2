//! Working memory: scratch of one (user, agent) pair. It is never in the log, never on disk, and ends with its time.

use crate::reply::ItemReply;
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::access::Caller;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{AgentId, ItemId, UserId};
use tabellion_core::time::{Period, Timestamp};

type Pair = (UserId, AgentId);

/// The working memory of a tenant.
#[derive(Default)]
pub(crate) struct Working(Mutex<HashMap<Pair, Vec<ItemReply>>>);

fn pair(caller: &Caller) -> Pair {
    (caller.user(), caller.agent())
}

fn lives(item: &ItemReply, now: Timestamp) -> bool {
    item.expires_at.is_none_or(|end| now < end)
}

impl Working {
    /// Keeps an item; the same content within its time is the same item.
    pub(crate) fn put(
        &self,
        caller: &Caller,
        item: ItemReply,
        now: Timestamp,
        max: usize,
    ) -> Result<(ItemReply, bool), Refusal> {
        let mut all = self.0.lock();
        let items = all.entry(pair(caller)).or_default();
        items.retain(|item| lives(item, now));
        let same = |known: &&ItemReply| known.content == item.content && known.namespace == item.namespace;
        if let Some(known) = items.iter().find(same) {
            return Ok((known.clone(), false));
        }
        if items.len() >= max {
            let full = Refusal::new(
                Code::WorkingFull,
                "working memory is full; retract items or wait until they lapse",
            );
            return Err(full.retry_after(Period::from_secs(60)));
        }
        items.push(item.clone());
        Ok((item, true))
    }

    /// An item of this pair.
    pub(crate) fn get(&self, caller: &Caller, id: ItemId, now: Timestamp) -> Option<ItemReply> {
        self.0.lock().get(&pair(caller))?.iter().find(|item| item.id == id && lives(item, now)).cloned()
    }

    /// Every item of this pair, oldest first.
    pub(crate) fn list(&self, caller: &Caller, now: Timestamp) -> Vec<ItemReply> {
        let all = self.0.lock();
        all.get(&pair(caller)).into_iter().flatten().filter(|item| lives(item, now)).cloned().collect()
    }

    /// Forgets an item of this pair.
    pub(crate) fn remove(&self, caller: &Caller, id: ItemId) -> Option<ItemReply> {
        let mut all = self.0.lock();
        let items = all.get_mut(&pair(caller))?;
        let place = items.iter().position(|item| item.id == id)?;
        Some(items.remove(place))
    }
}
