//! Writes that are not memory: those put off, which are tried again unaided, and those refused, which their authors can read
//! back and open again (GOV-1.6, D1, D3).

use crate::flow::Pace;
use crate::reply::{Deferral, KeptReply, WriteStatus, Written};
use crate::tenant::{Tenant, storage};
use crate::write::{self, Asked, Waited};
use crate::{Call, OpenError};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tabellion_core::access::{Caller, author};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{GateName, WriteDraft, read_write};
use tabellion_core::id::{DeferralId, KeyId, RefusalId};
use tabellion_core::seal::{Secret, close as seal, open as unseal};
use tabellion_core::time::{Period, Timestamp};
use tabellion_store::{KeptStore, KeptWrite};

/// How often a write that was put off is tried.
const ATTEMPTS_MAX: u32 = 5;
/// The wait before it is tried first; it doubles up to the longest.
const WAIT_FIRST_SECS: u64 = 1;
const WAIT_LONGEST_SECS: u64 = 300;
/// Writes tried again in one go.
const BATCH: u32 = 256;
/// Between two looks at what is due.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Rows of a listing.
const PAGE: u32 = 500;

/// The kept writes of a tenant, and the key that closes them.
pub(crate) struct Kept {
    store: KeptStore,
    key: Secret,
    /// How many writes are put off: most of the time none, and then nobody need look.
    waiting: AtomicI64,
    putting: parking_lot::Mutex<()>,
}

impl Kept {
    pub(crate) fn open(path: Option<&std::path::Path>, tenant: &Secret) -> Result<Self, OpenError> {
        let store = KeptStore::open(path).map_err(|error| OpenError(format!("kept writes: {error}")))?;
        let waiting = store.waiting_in_all().map_err(|error| OpenError(format!("kept writes: {error}")))?;
        Ok(Self {
            putting: parking_lot::Mutex::new(()),
            store,
            key: tenant.derive("tabellion/v1/kept"),
            waiting: AtomicI64::new(i64::from(waiting)),
        })
    }

    fn close(&self, tenant: &Tenant, id: &[u8; 16], body: &Value) -> Vec<u8> {
        seal(&self.key, &tenant.entropy.bytes(), id, body.to_string().as_bytes())
    }

    fn read(&self, kept: &KeptWrite) -> Option<Value> {
        serde_json::from_slice(&unseal(&self.key, &kept.id, &kept.closed).ok()?).ok()
    }
}

fn author_bytes(caller: &Caller) -> [u8; 32] {
    let mut author = [0; 32];
    let (user, agent) = author.split_at_mut(16);
    user.copy_from_slice(caller.user().as_bytes());
    agent.copy_from_slice(caller.agent().as_bytes());
    author
}

/// Puts a write off: it is durable before the answer, and tried again when there is room.
pub(crate) async fn put_off(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    free_at: Timestamp,
) -> Result<Written, Refusal> {
    let id = match keep_put_off(tenant, call, asked, free_at)? {
        PutOff::Known(known) => return Ok(write::deferred(known)),
        PutOff::New(id) => id,
    };
    let now = tenant.now();
    let due = free_at.max(now.plus(Period::from_secs(WAIT_FIRST_SECS)));
    tenant.sequencer.trail_now(tenant.row(call, write::ACTION, "deferred", vec![id.to_string()])).await?;
    Ok(write::deferred(deferral(id, due, now)))
}

/// What became of a write that is too fast.
enum PutOff {
    /// It waits now.
    New(DeferralId),
    /// The same write waits already.
    Known(Deferral),
}

/// Looks and keeps in one step, so that the same write never waits twice.
fn keep_put_off(tenant: &Tenant, call: &Call, asked: &Asked, free_at: Timestamp) -> Result<PutOff, Refusal> {
    let _one_at_a_time = tenant.kept.putting.lock();
    if let Some(known) = waiting(tenant, asked)? {
        return Ok(PutOff::Known(known));
    }
    let author = author_bytes(&call.caller);
    let waiting = tenant.kept.store.waiting_of(&author).map_err(|error| storage(&error))?;
    if waiting >= tenant.governance.deferrals_max {
        let message = format!("{waiting} writes of this agent are put off already; slow down");
        let period = free_at.since(tenant.now());
        return Err(Refusal::new(Code::DeferralsFull, message).at(GateName::Preflight).retry_after(period));
    }
    let now = tenant.now();
    let id = DeferralId::from_bytes(tenant.entropy.bytes());
    let body = json!({
        "write": asked.body.to_body(),
        "key": call.caller.key().to_string(),
        "item": asked.body.item,
        "edits": asked.edits.map(|review| review.to_string()),
    });
    let due = free_at.max(now.plus(Period::from_secs(WAIT_FIRST_SECS)));
    let kept = KeptWrite {
        id: *id.as_bytes(),
        author,
        token: asked.token,
        due: Some(due),
        ends: now.plus(tenant.governance.refusals_kept),
        attempts: 0,
        made: now,
        closed: tenant.kept.close(tenant, id.as_bytes(), &body),
    };
    tenant.kept.store.put(&kept, tenant.governance.refusals_max).map_err(|error| storage(&error))?;
    tenant.kept.waiting.fetch_add(1, Ordering::AcqRel);
    Ok(PutOff::New(id))
}

fn deferral(id: DeferralId, due: Timestamp, now: Timestamp) -> Deferral {
    Deferral {
        pending_id: id.to_string(),
        gate: GateName::Preflight,
        code: Code::RateExceeded,
        message: "this agent writes faster than its rate; the write is kept and committed by itself"
            .to_owned(),
        retry_after: Some(due.since(now)),
    }
}

/// What the same write waits for, if it was put off already.
pub(crate) fn waiting(tenant: &Tenant, asked: &Asked) -> Result<Option<Deferral>, Refusal> {
    if tenant.kept.waiting.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    let kept = tenant.kept.store.waiting(&asked.token).map_err(|error| storage(&error))?;
    let now = tenant.now();
    Ok(kept.and_then(|kept| Some(deferral(DeferralId::from_bytes(kept.id), kept.due?, now))))
}

/// Keeps a refused write for its author; the refusal says where.
pub(crate) fn refused(tenant: &Tenant, call: &Call, draft: &WriteDraft, refusal: Refusal) -> Refusal {
    let is_working = draft.layer.as_deref() == Some("working");
    if refusal.gate.is_none() || is_working {
        return refusal;
    }
    let id = RefusalId::from_bytes(tenant.entropy.bytes());
    match keep_refused(tenant, &call.caller, id, draft, &refusal) {
        Ok(()) => Refusal { kept: Some(id), ..refusal },
        Err(error) => {
            tracing::warn!(%error, "a refused write could not be kept");
            refusal
        }
    }
}

fn keep_refused(
    tenant: &Tenant,
    caller: &Caller,
    id: RefusalId,
    draft: &WriteDraft,
    refusal: &Refusal,
) -> Result<(), tabellion_store::StoreError> {
    let now = tenant.now();
    let body = json!({
        "write": draft.to_body(),
        "item": draft.item,
        "key": caller.key().to_string(),
        "gate": refusal.gate.map(GateName::as_str),
        "code": refusal.code.as_str(),
        "message": refusal.message,
    });
    let kept = KeptWrite {
        id: *id.as_bytes(),
        author: author_bytes(caller),
        token: [0; 32],
        due: None,
        ends: now.plus(tenant.governance.refusals_kept),
        attempts: 0,
        made: now,
        closed: tenant.kept.close(tenant, id.as_bytes(), &body),
    };
    tenant.kept.store.put(&kept, tenant.governance.refusals_max)
}

/// The caller's kept writes, newest first.
pub(crate) async fn list(tenant: &Tenant, call: &Call) -> Result<Vec<KeptReply>, Refusal> {
    let author = author_bytes(&call.caller);
    let rows = tenant.kept.store.of_author(&author, PAGE).map_err(|error| storage(&error));
    let now = tenant.now();
    let result = rows.map(|rows| {
        rows.iter()
            .filter(|kept| kept.due.is_some() || kept.ends > now)
            .filter_map(|kept| reply(tenant, kept))
            .collect()
    });
    tenant.read_done(call, "list_writes", Vec::new(), result).await
}

/// One of the caller's kept writes.
pub(crate) async fn get(tenant: &Tenant, call: &Call, id: &str) -> Result<KeptReply, Refusal> {
    let result = find(tenant, call, id).and_then(|kept| reply(tenant, &kept).ok_or_else(not_found));
    tenant.read_done(call, "get_write", vec![], result).await
}

/// Sends a refused write through the gates once more; it is forgotten if they take it.
pub(crate) async fn reopen(tenant: &Tenant, call: &Call, id: &str) -> Result<Written, Refusal> {
    let kept = find(tenant, call, id)?;
    let draft = draft_of(tenant, &kept).ok_or_else(not_found)?;
    let written = write::write(tenant, call, draft, Pace::Single).await?;
    if kept.due.is_none() && written.status != WriteStatus::Deferred {
        tenant.kept.store.forget(&kept.id).map_err(|error| storage(&error))?;
    }
    Ok(written)
}

fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "no such write is kept for this caller")
}

fn find(tenant: &Tenant, call: &Call, id: &str) -> Result<KeptWrite, Refusal> {
    let deferral = id.parse::<DeferralId>().map(|id| *id.as_bytes());
    let bytes =
        deferral.or_else(|_| id.parse::<RefusalId>().map(|id| *id.as_bytes())).map_err(|_| not_found())?;
    let kept = tenant.kept.store.get(&bytes).map_err(|error| storage(&error))?;
    let own = kept.filter(|kept| kept.author == author_bytes(&call.caller));
    own.filter(|kept| kept.due.is_some() || kept.ends > tenant.now()).ok_or_else(not_found)
}

fn reply(tenant: &Tenant, kept: &KeptWrite) -> Option<KeptReply> {
    let body = tenant.kept.read(kept)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(KeptReply {
        id: match kept.due {
            Some(_) => DeferralId::from_bytes(kept.id).to_string(),
            None => RefusalId::from_bytes(kept.id).to_string(),
        },
        write: body.get("write").cloned().unwrap_or_default(),
        gate: text("gate"),
        code: text("code"),
        message: text("message"),
        due: kept.due,
        made: kept.made,
        ends: kept.ends,
        attempts: kept.attempts,
    })
}

fn draft_of(tenant: &Tenant, kept: &KeptWrite) -> Option<WriteDraft> {
    let body = tenant.kept.read(kept)?;
    let mut draft = read_write(body.get("write")?.clone()).ok()?;
    draft.item = body.get("item").and_then(Value::as_str).map(str::to_owned);
    Some(draft)
}

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
            Ok(due) => due.into_iter().for_each(|kept| runtime.block_on(retry(&tenant, kept))),
            Err(error) => tracing::warn!(%error, "what was put off could not be read"),
        }
        if let Err(error) = tenant.kept.store.forget_ended(now) {
            tracing::warn!(%error, "what was kept long enough could not be forgotten");
        }
        drop(tenant);
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Tries a write again; one that finds no room waits on, one that a gate refuses is kept as refused.
async fn retry(tenant: &Tenant, kept: KeptWrite) {
    let Some((call, waited)) = revived(tenant, &kept) else {
        tracing::warn!("a write that was put off could not be read again; it is dropped");
        return forget(tenant, &kept);
    };
    let draft = waited.draft.clone();
    match write::again(tenant, &call, waited).await {
        Ok(_) => forget(tenant, &kept),
        Err(write::Again::Full(free_at)) => wait_on(tenant, &call, kept, &draft, free_at),
        Err(write::Again::Refused(refusal)) => end(tenant, &call, &kept, &draft, &refusal),
    }
}

/// Forgets a write that waits no longer. Should that fail, it is tried once more and found committed.
fn forget(tenant: &Tenant, kept: &KeptWrite) {
    match tenant.kept.store.forget(&kept.id) {
        Ok(()) => drop(tenant.kept.waiting.fetch_sub(1, Ordering::AcqRel)),
        Err(error) => tracing::warn!(%error, "a write that was put off could not be forgotten"),
    }
}

fn revived(tenant: &Tenant, kept: &KeptWrite) -> Option<(Call, Waited)> {
    let body = tenant.kept.read(kept)?;
    let key: KeyId = body.get("key")?.as_str()?.parse().ok()?;
    let (user, agent) = kept.author.split_at(16);
    let user = tabellion_core::id::UserId::from_bytes(user.try_into().ok()?);
    let agent = tabellion_core::id::AgentId::from_bytes(agent.try_into().ok()?);
    let caller = author(&tenant.shared.views.read().identity, user, agent, key).ok()?;
    let edits = body.get("edits").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let waited = Waited { draft: draft_of(tenant, kept)?, submitted: kept.made, edits };
    Some((Call { caller, request_id: None }, waited))
}

fn wait_on(tenant: &Tenant, call: &Call, kept: KeptWrite, draft: &WriteDraft, free_at: Timestamp) {
    let attempts = kept.attempts + 1;
    if attempts >= ATTEMPTS_MAX {
        let message = "it found no room however often it was tried; write it again, or import it";
        let refusal = Refusal::new(Code::RetryExhausted, message).at(GateName::Preflight);
        return end(tenant, call, &kept, draft, &refusal);
    }
    let wait = (WAIT_FIRST_SECS << attempts).min(WAIT_LONGEST_SECS);
    let due = Some(tenant.now().plus(Period::from_secs(wait)).max(free_at));
    if let Err(error) =
        tenant.kept.store.put(&KeptWrite { attempts, due, ..kept }, tenant.governance.refusals_max)
    {
        tracing::warn!(%error, "a write that was put off could not be put off again");
    }
}

fn end(tenant: &Tenant, call: &Call, kept: &KeptWrite, draft: &WriteDraft, refusal: &Refusal) {
    let id = RefusalId::from_bytes(kept.id);
    match keep_refused(tenant, &call.caller, id, draft, refusal) {
        Ok(()) => drop(tenant.kept.waiting.fetch_sub(1, Ordering::AcqRel)),
        Err(error) => tracing::warn!(%error, "a refused write could not be kept"),
    }
}
