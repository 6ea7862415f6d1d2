//! Kept writes as other parts look for them: by the beginnings of their ids, those of an agent
//! that wait, to be ended, and those refused, to judge their author by.

use super::again::{end, revived};
use super::{PAGE, Wait, author_bytes, draft_of, id_of};
use crate::Call;
use crate::tenant::{Tenant, storage};
use crate::write::{Asked, Waited};
use serde_json::Value;
use tabellion_core::access::Caller;
use tabellion_core::error::Refusal;
use tabellion_core::gate::{GateName, WriteDraft};
use tabellion_core::id::{AgentId, VersionId};
use tabellion_core::time::Timestamp;
use tabellion_store::KeptWrite;

/// Refused writes of an author that are looked at.
const REFUSED_MAX: u32 = 300;

impl Wait {
    /// The refusal of what is over the rate of working memory, where nothing can wait.
    pub(crate) fn refusal(self, now: Timestamp) -> Refusal {
        let message = "this agent writes faster than its rate in the working layer, where nothing waits; write it again then";
        Refusal::new(self.code, message).at(self.gate).retry_after(self.until.since(now))
    }
}

/// The ids of the caller's kept writes that begin so.
pub(crate) fn ids(tenant: &Tenant, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
    let author = author_bytes(&call.caller);
    let rows = tenant.kept.store.of_author(&author, PAGE).map_err(|error| storage(&error))?;
    let now = tenant.now();
    let kept = rows.iter().filter(|kept| kept.due.is_some() || kept.ends > now);
    Ok(kept.map(id_of).filter(|id| id.starts_with(prefix)).collect())
}

/// A write that was refused.
pub(crate) struct RefusedWrite {
    pub(crate) time: Timestamp,
    pub(crate) draft: WriteDraft,
    /// The versions that it spoke against.
    pub(crate) against: Vec<VersionId>,
}

/// The refused writes of a caller that were compared with what is known, newest first.
pub(crate) fn refused_by_gates(tenant: &Tenant, caller: &Caller) -> Vec<RefusedWrite> {
    let rows = tenant.kept.store.of_author(&author_bytes(caller), REFUSED_MAX).unwrap_or_default();
    let read = |kept: KeptWrite| {
        let body = tenant.kept.read(&kept).filter(|_| kept.due.is_none())?;
        let gate = body.get("gate").and_then(Value::as_str)?;
        if [GateName::Preflight, GateName::Schema].iter().any(|early| early.as_str() == gate) {
            return None;
        }
        let named = body.get("against").and_then(Value::as_array).into_iter().flatten();
        let against = named.filter_map(|id| id.as_str()?.parse().ok()).collect();
        Some(RefusedWrite { time: kept.made, draft: draft_of(tenant, &kept)?, against })
    };
    rows.into_iter().filter_map(read).collect()
}

/// A write that waits for its turn.
pub(crate) struct Queued {
    kept: KeptWrite,
    waited: Waited,
    /// The author, with the credential that it came with.
    pub(crate) author: Call,
    /// When it came in.
    pub(crate) since: Timestamp,
}

/// The writes of an agent that wait for their turn, for whomever. One whose author may no longer write is not committed anyway.
pub(crate) fn queued(tenant: &Tenant, agent: AgentId) -> Result<Vec<Queued>, Refusal> {
    let rows = tenant.kept.store.waiting_for(agent.as_bytes()).map_err(|error| storage(&error))?;
    let read = |kept: KeptWrite| {
        let (author, waited) = revived(tenant, &kept)?;
        Some(Queued { since: kept.made, kept, waited, author })
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

impl Queued {
    pub(crate) fn id(&self) -> String {
        id_of(&self.kept)
    }

    /// The write as it is judged when its turn comes.
    pub(crate) fn asked(&self, tenant: &Tenant) -> Result<Asked, Refusal> {
        let draft = &self.waited.draft;
        Asked::of(
            tenant,
            &self.author,
            draft.clone(),
            draft.clone().check()?,
            (self.waited.owed, self.waited.submitted),
        )
    }

    /// Ends it as refused, unless it was tried meanwhile and waits no longer; says whether it waited.
    pub(crate) fn end(&self, tenant: &Tenant, refusal: &Refusal) -> Result<bool, Refusal> {
        if !still_waits(tenant, &self.kept)? {
            return Ok(false);
        }
        end(tenant, &self.author, &self.kept, &self.waited.draft, refusal);
        Ok(true)
    }
}

/// Whether a write waits as it did when it was read.
pub(super) fn still_waits(tenant: &Tenant, kept: &KeptWrite) -> Result<bool, Refusal> {
    let current = tenant.kept.store.get(&kept.id).map_err(|error| storage(&error))?;
    Ok(current.is_some_and(|current| current.due.is_some()))
}
