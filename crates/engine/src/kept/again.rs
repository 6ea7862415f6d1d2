//! The thread that tries again what was put off.

use super::{WAIT_FIRST_SECS, Wait, Waiting, draft_of, forget, found, noted, refused_write, time_in};
use crate::owed::{Owed, Standing};
use crate::scribing::Told;
use crate::tenant::Tenant;
use crate::trouble::Part;
use crate::write::{self, Full, Waited};
use crate::{Call, calibration};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tabellion_core::access::author;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::{DeferralId, KeyId, RefusalId};
use tabellion_core::time::Period;
use tabellion_store::KeptWrite;
use tokio::task::JoinSet;

/// How often a write that was put off is tried.
const ATTEMPTS_MAX: u32 = 5;
/// The longest wait between two tries.
const WAIT_LONGEST_SECS: u64 = 300;
/// Writes tried again in one go.
const BATCH: u32 = 256;
/// Authors whose writes are tried at the same time, and writes of one of them in one go.
const AUTHORS_MAX: usize = 16;
const OF_AUTHOR_MAX: usize = 16;
/// Between two looks at what is due.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Starts the thread that tries again what was put off, for as long as the tenant is there.
pub(crate) fn start(tenant: &Arc<Tenant>) -> std::io::Result<()> {
    let weak = Arc::downgrade(tenant);
    std::thread::Builder::new().name("deferrals".into()).spawn(move || run(&weak)).map(drop)
}

fn run(tenant: &Weak<Tenant>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    loop {
        let Some(tenant) = tenant.upgrade().filter(|tenant| tenant.sequencer.is_well()) else { return };
        let now = tenant.now();
        match tenant.kept.store.due(now, BATCH) {
            Ok(due) => runtime.block_on(retry_all(&tenant, due)),
            Err(error) => tracing::warn!(%error, "what was put off could not be read"),
        }
        if tenant.shared.troubles.is_in(Part::KeptWrites) {
            let _reported = noted(&tenant, tenant.kept.store.touch());
        }
        if let Err(error) = tenant.kept.store.forget_ended(now) {
            tracing::warn!(%error, "what was kept long enough could not be forgotten");
        }
        runtime.block_on(calibration::run_if_due(&tenant));
        drop(tenant);
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Tries what is due: the writes of one author in their order, those of several at the same time, so that nobody waits for
/// another's slow gate. What an author has beyond a few is still due at the next look.
async fn retry_all(tenant: &Arc<Tenant>, due: Vec<KeptWrite>) {
    let mut authors: BTreeMap<[u8; 32], Vec<KeptWrite>> = BTreeMap::new();
    for kept in due {
        let own = authors.entry(kept.author).or_default();
        if own.len() < OF_AUTHOR_MAX {
            own.push(kept);
        }
    }
    let mut trying = JoinSet::new();
    for (_, own) in authors {
        if trying.len() >= AUTHORS_MAX {
            trying.join_next().await;
        }
        let tenant = Arc::clone(tenant);
        trying.spawn(async move {
            let mut full = Full::new();
            for kept in own {
                // Somebody may have ended it meanwhile.
                if found::still_waits(&tenant, &kept).unwrap_or(true) {
                    retry(&tenant, kept, &mut full).await;
                }
            }
        });
    }
    while trying.join_next().await.is_some() {}
}

/// Tries a write again; one that finds no room waits on, one that a gate refuses is kept as refused.
async fn retry(tenant: &Tenant, kept: KeptWrite, full: &mut Full) {
    let Some((call, waited)) = revived(tenant, &kept) else { return unreadable(tenant, &kept) };
    match waited.owed.map_or(Standing::Stands, |owed| owed.stands(tenant, kept.made)) {
        Standing::Stands => {}
        Standing::Gone => return forget(tenant, &kept),
        Standing::NotYet => return,
    }
    let waited_for =
        tenant.kept.read(&kept).map_or(Code::RateExceeded, |body| Wait::of(&body, kept.made).code);
    match write::again(tenant, &call, &waited, waited_for, full).await {
        Ok(_) => forget(tenant, &kept),
        Err(write::Again::Later(wait, told)) => {
            wait_on(tenant, &call, &kept, &Waited { told, ..waited }, &wait);
        }
        Err(write::Again::Refused(refusal)) => end(tenant, &call, &kept, &waited.draft, &refusal),
    }
}

/// Keeps a write that cannot be read, for whoever can mend that, and counts it.
fn unreadable(tenant: &Tenant, kept: &KeptWrite) {
    metrics::counter!("tabellion_kept_unreadable_total").increment(1);
    let id = DeferralId::from_bytes(kept.id);
    tracing::error!(%id, "a write that was put off cannot be read; it is kept, and tried again later");
    let due = Some(tenant.now().plus(Period::from_secs(WAIT_LONGEST_SECS)));
    let _reported = tenant.kept.put(tenant, &KeptWrite { due, ..kept.clone() });
}

pub(super) fn revived(tenant: &Tenant, kept: &KeptWrite) -> Option<(Call, Waited)> {
    let body = tenant.kept.read(kept)?;
    let key: KeyId = body.get("key")?.as_str()?.parse().ok()?;
    let (user, agent) = kept.author.split_at(16);
    let user = tabellion_core::id::UserId::from_bytes(user.try_into().ok()?);
    let agent = tabellion_core::id::AgentId::from_bytes(agent.try_into().ok()?);
    let caller = author(&tenant.shared.views.read().identity, user, agent, key).ok()?;
    let edits = body.get("edits").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let waited = Waited {
        draft: draft_of(tenant, kept)?,
        submitted: time_in(&body, "submitted").unwrap_or(kept.made),
        edits,
        told: Told::of_json(body.get("told")),
        owed: Owed::of_json(body.get("owed")),
    };
    Some((Call { caller, request_id: None, trace: None }, waited))
}

fn wait_on(tenant: &Tenant, call: &Call, kept: &KeptWrite, waited: &Waited, wait: &Wait) {
    let now = tenant.now();
    let attempts = kept.attempts + u32::from(!wait.has_its_time());
    if now >= kept.ends || (attempts >= ATTEMPTS_MAX && wait.ends_after_tries()) {
        return end(tenant, call, kept, &waited.draft, &wait.exhausted());
    }
    let backoff = match wait.has_its_time() {
        true => 0,
        false => (WAIT_FIRST_SECS << attempts.min(16)).min(WAIT_LONGEST_SECS),
    };
    let due = Some(now.plus(Period::from_secs(backoff)).max(wait.until));
    let waiting = Waiting {
        draft: &waited.draft,
        submitted: waited.submitted,
        edits: waited.edits,
        told: &waited.told,
        owed: waited.owed,
    };
    let body = waiting.body(&call.caller, wait);
    let closed = tenant.kept.close(tenant, &kept.id, &body);
    let kept = KeptWrite { attempts, due, closed, ..*kept };
    if let Err(error) = tenant.kept.put(tenant, &kept) {
        tracing::warn!(%error, "a write that was put off could not be put off again");
    }
}

pub(super) fn end(tenant: &Tenant, call: &Call, kept: &KeptWrite, draft: &WriteDraft, refusal: &Refusal) {
    let id = RefusalId::from_bytes(kept.id);
    let refused = refused_write(tenant, &call.caller, id, draft, refusal);
    match tenant.kept.put(tenant, &refused) {
        Ok(()) => drop(tenant.kept.waiting.fetch_sub(1, Ordering::AcqRel)),
        Err(error) => tracing::warn!(%error, "a refused write could not be kept"),
    }
}
