//! How much an agent may write: rates by layer, budgets by session (GOV-1.9, 11.1).

use crate::kept::Wait;
use crate::reply::{Allowance, Used, WriteStatus, Written};
use crate::tenant::Tenant;
use crate::write::Turn;
use crate::{Call, anomaly, kept};
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::access::{Caller, Power};
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Force, GateName, Strictness, WriteRequest};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Layer;
use tabellion_core::time::{Period, Timestamp};

const WINDOW_SECS: u64 = 60;

/// How a write comes in.
#[derive(Debug)]
pub enum Pace {
    /// One at a time.
    Single,
    /// As one of several, which keep their order.
    Import(Turn),
}

/// Whether a caller's writes are held to no rate, no budget and no habit: those of a person who may import (AM-7). What an agent
/// writes is held to them, whoever it acts for.
pub(crate) const fn is_exempt(caller: &Caller) -> bool {
    caller.is_person() && caller.may(Power::Import)
}

/// The writes of the last minute, by pair and layer.
#[derive(Default)]
pub(crate) struct Rates(Mutex<HashMap<(UserId, AgentId, Layer), Window>>);

/// Writes by second, for the last minute.
struct Window {
    /// The last second that was counted.
    last: u64,
    counts: [u32; WINDOW_SECS as usize],
}

impl Window {
    /// Clears the seconds that have left the window.
    fn slide(&mut self, second: u64) {
        let gone = second.saturating_sub(self.last).min(WINDOW_SECS);
        for step in 1..=gone {
            *self.slot(self.last + step) = 0;
        }
        self.last = self.last.max(second);
    }

    fn slot(&mut self, second: u64) -> &mut u32 {
        #[expect(clippy::indexing_slicing, reason = "INVARIANT (a remainder is below its divisor)")]
        &mut self.counts[(second % WINDOW_SECS) as usize]
    }

    /// When the oldest write in the window leaves it.
    fn frees_at(&mut self) -> Timestamp {
        let oldest = (self.last.saturating_sub(WINDOW_SECS - 1)..=self.last)
            .find(|second| *self.slot(*second) > 0)
            .unwrap_or(self.last);
        Timestamp::from_micros((oldest + WINDOW_SECS) * 1_000_000)
    }
}

/// Where a write was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    user: UserId,
    agent: AgentId,
    layer: Layer,
    second: u64,
}

impl Rates {
    /// Counts a write, or says when there is room for it.
    pub(crate) fn take(
        &self,
        (user, agent): (UserId, AgentId),
        layer: Layer,
        limit: u32,
        now: Timestamp,
    ) -> Result<Place, Timestamp> {
        let second = now.as_micros() / 1_000_000;
        let mut windows = self.0.lock();
        let window = windows
            .entry((user, agent, layer))
            .or_insert_with(|| Window { last: second, counts: [0; WINDOW_SECS as usize] });
        window.slide(second);
        if window.counts.iter().sum::<u32>() >= limit {
            return Err(window.frees_at());
        }
        let last = window.last;
        *window.slot(last) += 1;
        Ok(Place { user, agent, layer, second: last })
    }

    /// How many writes of a pair in a layer were counted in the last minute.
    fn used(&self, (user, agent): (UserId, AgentId), layer: Layer, now: Timestamp) -> u32 {
        let mut windows = self.0.lock();
        let Some(window) = windows.get_mut(&(user, agent, layer)) else { return 0 };
        window.slide(now.as_micros() / 1_000_000);
        window.counts.iter().sum()
    }

    /// Counts a write no longer.
    fn give_back(&self, place: Place) {
        let mut windows = self.0.lock();
        let Some(window) = windows.get_mut(&(place.user, place.agent, place.layer)) else { return };
        if window.last.saturating_sub(place.second) < WINDOW_SECS {
            let count = window.slot(place.second);
            *count = count.saturating_sub(1);
        }
    }
}

/// A write that turns out to be one that was under way already does not count a second time (GOV-1.7).
pub(crate) fn count_once(tenant: &Tenant, place: Option<Place>, written: Option<&Written>) {
    if let (Some(place), Some(WriteStatus::AlreadyCommitted | WriteStatus::Quarantined)) =
        (place, written.map(|one| one.status))
    {
        tenant.rates.give_back(place);
    }
}

/// Whether a caller's writes to a layer are held to a rate and a budget.
pub(crate) fn is_paced(call: &Call, strictness: Strictness, layer: Layer) -> bool {
    strictness.rules(layer).flow == Force::Stops && !is_exempt(&call.caller)
}

/// Takes a place within the rate of a layer, where there is one; or says what the write has to wait for.
pub(crate) fn take_room(
    tenant: &Tenant,
    call: &Call,
    strictness: Strictness,
    layer: Layer,
) -> Result<Option<Place>, Wait> {
    if !is_paced(call, strictness, layer) {
        return Ok(None);
    }
    let (pair, rate) = ((call.caller.user(), call.caller.agent()), tenant.governance.rate(layer));
    let taken = tenant.rates.take(pair, layer, rate, tenant.now());
    taken.map(Some).map_err(|free_at| Wait::for_room(free_at, layer, rate))
}

/// The fingerprint of an agent's session, where the write names one.
pub(crate) fn session(tenant: &Tenant, call: &Call, request: &WriteRequest) -> Option<Hash> {
    request.session_id.as_ref().map(|session| session_of(tenant, &call.caller, session))
}

fn session_of(tenant: &Tenant, caller: &Caller, session: &str) -> Hash {
    let (user, agent) = (caller.user(), caller.agent());
    tenant.fingerprint(&[b"session", user.as_bytes(), agent.as_bytes(), session.as_bytes()])
}

/// How much the caller may write and how much of it is used, the session that is named included (AM-17).
pub(crate) fn allowance(
    tenant: &Tenant,
    caller: &Caller,
    session: Option<&str>,
) -> Result<Allowance, Refusal> {
    let pair = (caller.user(), caller.agent());
    let (governance, now) = (&tenant.governance, tenant.now());
    let rate = |layer: &Layer| {
        let used = tenant.rates.used(pair, *layer, now);
        (*layer, Used { used, limit: governance.rate(*layer) })
    };
    let session = session.map(|session| {
        let session = session_of(tenant, caller, session);
        let committed = tenant.shared.views.read().items.in_session(&session);
        let under_way = tenant.budgets.0.lock().get(&session).copied().unwrap_or_default();
        Used { used: committed.max(under_way), limit: governance.budget }
    });
    Ok(Allowance {
        exempt: is_exempt(caller),
        rates: Layer::ALL.iter().map(rate).collect(),
        session,
        session_max: governance.budget,
        queued: Used { used: kept::waiting_of(tenant, caller)?, limit: governance.deferrals_max },
    })
}

/// Refuses an agent whose writes are suspended, for everybody or for this user.
pub(crate) fn not_suspended(tenant: &Tenant, call: &Call) -> Result<(), Refusal> {
    anomaly::not_suspended(tenant, call)?;
    if !tenant.shared.views.read().policies.is_suspended(call.caller.agent()) {
        return Ok(());
    }
    let message = "writes of this agent are suspended; an admin can resume it";
    Err(Refusal::new(Code::WritesSuspended, message).at(GateName::Preflight))
}

/// Writes of each session, those under way included, so that many at once do not go beyond the budget together.
#[derive(Default)]
pub(crate) struct Budgets(Mutex<HashMap<Hash, u32>>);

/// Sessions that are counted in memory; beyond that they are counted anew from what is committed.
const SESSIONS_MAX: usize = 10_000;

/// A write's place in the budget of its session; given back unless the write becomes a version.
pub(crate) struct BudgetPlace<'a> {
    budgets: &'a Budgets,
    session: Hash,
    is_used: bool,
}

impl BudgetPlace<'_> {
    /// Notes what became of the write.
    pub(crate) fn settle(&mut self, written: Option<&Written>) {
        self.is_used =
            written.is_some_and(|one| matches!(one.status, WriteStatus::Committed | WriteStatus::Merged));
    }
}

impl Drop for BudgetPlace<'_> {
    fn drop(&mut self) {
        if !self.is_used
            && let Some(count) = self.budgets.0.lock().get_mut(&self.session)
        {
            *count = count.saturating_sub(1);
        }
    }
}

/// Takes a place in the budget of a write's session, if it names one.
pub(crate) fn take_budget<'a>(
    tenant: &'a Tenant,
    call: &Call,
    request: &WriteRequest,
) -> Result<Option<BudgetPlace<'a>>, Refusal> {
    let Some(session) = session(tenant, call, request) else { return Ok(None) };
    let committed = tenant.shared.views.read().items.in_session(&session);
    let mut counts = tenant.budgets.0.lock();
    if counts.len() >= SESSIONS_MAX {
        counts.clear();
    }
    let count = counts.entry(session).or_insert(committed);
    *count = committed.max(*count);
    if *count >= tenant.governance.budget {
        return Err(spent(tenant));
    }
    *count += 1;
    Ok(Some(BudgetPlace { budgets: &tenant.budgets, session, is_used: false }))
}

/// Refuses an agent that has written enough in this session.
pub(crate) fn within_budget(tenant: &Tenant, call: &Call, request: &WriteRequest) -> Result<(), Refusal> {
    let views = tenant.shared.views.read();
    let written = session(tenant, call, request).map_or(0, |session| views.items.in_session(&session));
    if written < tenant.governance.budget { Ok(()) } else { Err(spent(tenant)) }
}

fn spent(tenant: &Tenant) -> Refusal {
    let budget = tenant.governance.budget;
    let message =
        format!("this agent has made all {budget} writes of this session; begin another one, or import");
    let refusal = Refusal::new(Code::WriteBudgetExceeded, message).at(GateName::Preflight);
    refusal.retry_after(Period::from_secs(3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-1.9: so many writes a minute and no more; room comes as the oldest leave the window.
    #[test]
    fn a_minute_holds_its_limit() {
        let (rates, user, agent) =
            (Rates::default(), UserId::from_bytes([2; 16]), AgentId::from_bytes([1; 16]));
        let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
        let take = |secs| rates.take((user, agent), Layer::Episodic, 3, at(secs));
        let place = |layer, second| Ok(Place { user, agent, layer, second });
        let episodic = |second| place(Layer::Episodic, second);
        assert_eq!([take(100), take(100), take(130)], [episodic(100), episodic(100), episodic(130)]);
        assert_eq!(take(130), Err(at(160)));
        assert_eq!(rates.take((user, agent), Layer::Semantic, 3, at(130)), place(Layer::Semantic, 130));
        assert_eq!([take(160), take(160)], [episodic(160); 2]);
        assert_eq!(take(161), Err(at(190)));
        assert_eq!(take(10_000), episodic(10_000));
    }

    /// GOV-1.7, GOV-1.9: a place that is given back is free again; one that has left the window frees nothing.
    #[test]
    fn a_place_can_be_given_back() {
        let (rates, user, agent) =
            (Rates::default(), UserId::from_bytes([2; 16]), AgentId::from_bytes([1; 16]));
        let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
        let take = |secs| rates.take((user, agent), Layer::Episodic, 1, at(secs));
        let old = take(100).unwrap();
        assert_eq!(take(101), Err(at(160)));
        rates.give_back(old);
        let new = take(101).unwrap();
        assert_eq!(take(160), Err(at(161)));
        rates.give_back(old);
        assert_eq!(take(160), Err(at(161)));
        rates.give_back(new);
        assert!(take(160).is_ok());
    }
}
