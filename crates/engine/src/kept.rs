//! Writes that are not memory: those put off, which are tried again unaided, and those refused, which their authors can read
//! back and open again (GOV-1.6, D1, D3).

mod again;
mod found;
mod queue;
mod wait;

pub(crate) use again::start;
pub(crate) use wait::Wait;

pub(crate) use found::{Queued, RefusedWrite, ids, queued, refused_by_gates};

use crate::flow::Pace;
use crate::owed::Owed;
use crate::reply::{Deferral, KeptReply, WriteStatus, Written};
use crate::scribing::{self, Told};
use crate::tenant::{Tenant, storage};
use crate::trouble::Part;
use crate::write::{self, Asked};
use crate::{Call, OpenError};
use queue::Queue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tabellion_core::access::Caller;
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{GateName, WriteDraft, read_write};
use tabellion_core::id::{DeferralId, RefusalId, ReviewId, VersionId};
use tabellion_core::seal::{Secret, close as seal, open as unseal};
use tabellion_core::time::{Period, Timestamp};
use tabellion_store::{KeptPut, KeptStore, KeptWrite, PutOutcome, StoreError};

/// The wait before a write is tried first; it doubles up to the longest.
const WAIT_FIRST_SECS: u64 = 1;
/// Rows of a listing.
const PAGE: u32 = 500;

/// The kept writes of a tenant, and the key that closes them.
pub(crate) struct Kept {
    store: Arc<KeptStore>,
    queue: Queue,
    key: Secret,
    /// How many writes are put off: most of the time none, and then nobody need look.
    waiting: AtomicI64,
}

impl Kept {
    pub(crate) fn new(store: KeptStore, tenant: &Secret) -> Result<Self, OpenError> {
        let waiting =
            store.waiting_in_all().map_err(|error| OpenError::new(format!("kept writes: {error}")))?;
        let store = Arc::new(store);
        let queue = Queue::start(Arc::clone(&store))
            .map_err(|error| OpenError::new(format!("kept writes: {error}")))?;
        Ok(Self {
            store,
            queue,
            key: tenant.derive("tabellion/v1/kept"),
            waiting: AtomicI64::new(i64::from(waiting)),
        })
    }

    /// Moves what the write-ahead log holds into the file.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        self.store.settle()
    }

    /// Puts a write on the disk, in place of the one with the same id.
    fn put(&self, tenant: &Tenant, kept: &KeptWrite) -> Result<(), StoreError> {
        noted(tenant, self.store.put(kept, tenant.governance.refusals_max))
    }

    fn close(&self, tenant: &Tenant, id: &[u8; 16], body: &Value) -> Vec<u8> {
        seal(&self.key, &tenant.entropy.bytes(), id, body.to_string().as_bytes())
    }

    fn read(&self, kept: &KeptWrite) -> Option<Value> {
        serde_json::from_slice(&unseal(&self.key, &kept.id, &kept.closed).ok()?).ok()
    }
}

/// Reports whether the disk took a change.
fn noted<T>(tenant: &Tenant, changed: Result<T, StoreError>) -> Result<T, StoreError> {
    match &changed {
        Ok(_) => tenant.shared.troubles.clear(Part::KeptWrites),
        Err(error) => tenant.shared.troubles.report(Part::KeptWrites, error),
    }
    changed
}

fn author_bytes(caller: &Caller) -> [u8; 32] {
    let mut author = [0; 32];
    let (user, agent) = author.split_at_mut(16);
    user.copy_from_slice(caller.user().as_bytes());
    agent.copy_from_slice(caller.agent().as_bytes());
    author
}

/// How many writes of a pair wait for their turn.
pub(crate) fn waiting_of(tenant: &Tenant, caller: &Caller) -> Result<u32, Refusal> {
    let waiting = tenant.kept.store.waiting_of(&author_bytes(caller));
    waiting.map_err(|error| storage(&error))
}

/// Puts a write off: it is durable before the answer, and tried again when there is room.
pub(crate) async fn put_off(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    wait: Wait,
) -> Result<Written, Refusal> {
    let now = tenant.now();
    let until = wait.until.max(now.plus(Period::from_secs(WAIT_FIRST_SECS)));
    let wait = Wait { until, ..wait };
    let id = match keep_put_off(tenant, call, asked, &wait, None).await? {
        PutOff::Known(known) => return Ok(write::deferred(known)),
        PutOff::New(id) => id,
    };
    let mut row = tenant.row(call, write::ACTION, "deferred", vec![id.to_string()]);
    row.record.shaped = asked.shaped.clone().noted();
    tenant.sequencer.trail_now(row).await?;
    Ok(write::deferred(wait.deferral(id, now)))
}

/// What became of a write that has to wait.
enum PutOff {
    /// It waits now.
    New(DeferralId),
    /// The same write waits already.
    Known(Deferral),
}

/// Keeps a write that has to wait; the store looks and keeps in one step, so that the same write never waits twice.
async fn keep_put_off(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    wait: &Wait,
    owed: Option<Owed>,
) -> Result<PutOff, Refusal> {
    let token = owed.map_or(asked.token, |owed| owed.token(tenant));
    if let Some(known) = waiting_by(tenant, &token)? {
        return Ok(PutOff::Known(known));
    }
    let author = author_bytes(&call.caller);
    let now = tenant.now();
    let id = DeferralId::from_bytes(tenant.entropy.bytes());
    // A reviewer's yes does not fail because of what else its author has waiting.
    let waiting_max = match asked.review() {
        Some(_) => u32::MAX,
        None => tenant.governance.deferrals_max,
    };
    let made = if owed.is_some() { now } else { asked.submitted };
    let owed = owed.or(asked.owed);
    let (draft, submitted, edits, told) = (&asked.body, asked.submitted, asked.edits, &asked.told);
    let waited = Waiting { draft, submitted, edits, told, owed };
    let body = waited.body(&call.caller, wait);
    let kept = KeptWrite {
        id: *id.as_bytes(),
        author,
        token,
        due: Some(wait.until),
        ends: now.plus(tenant.governance.refusals_kept),
        attempts: 0,
        made,
        closed: tenant.kept.close(tenant, id.as_bytes(), &body),
    };
    let governance = &tenant.governance;
    let put = KeptPut { kept, refused_max: governance.refusals_max, waiting_max: Some(waiting_max) };
    match noted(tenant, tenant.kept.queue.put(put).await).map_err(|error| storage(&error))? {
        PutOutcome::Kept => {
            tenant.kept.waiting.fetch_add(1, Ordering::AcqRel);
            Ok(PutOff::New(id))
        }
        PutOutcome::Known(known) => Ok(match deferral_of(tenant, &known) {
            Some(deferral) => PutOff::Known(deferral),
            None => return Err(not_found()),
        }),
        PutOutcome::Full(waiting) => {
            let most = governance.deferrals_max;
            let message =
                format!("{waiting} writes of this agent are put off already, of {most} at most; slow down");
            let period = wait.until.since(tenant.now());
            Err(Refusal::new(Code::DeferralsFull, message).at(GateName::Preflight).retry_after(period))
        }
    }
}

/// A write that waits, as it is kept.
struct Waiting<'a> {
    draft: &'a WriteDraft,
    submitted: Timestamp,
    edits: Option<ReviewId>,
    told: &'a Told,
    owed: Option<Owed>,
}

impl Waiting<'_> {
    fn body(&self, caller: &Caller, wait: &Wait) -> Value {
        json!({
            "write": self.draft.to_body(),
            "item": self.draft.item,
            "patch": self.draft.patch,
            "submitted": self.submitted.to_string(),
            "key": caller.key().to_string(),
            "edits": self.edits.map(|review| review.to_string()),
            "told": self.told.to_json(),
            "owed": self.owed.map(Owed::to_json),
            "gate": wait.gate.as_str(),
            "code": wait.code.as_str(),
            "message": wait.message,
        })
    }
}

/// Keeps the copy that others are owed of a write which is about to be committed: it is durable before that, and made by
/// itself when a model has said it anew.
pub(crate) async fn owe(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    owed: Option<Owed>,
) -> Result<Option<Deferral>, Refusal> {
    let Some(owed) = owed else { return Ok(None) };
    let now = tenant.now();
    let by_model = asked.copy.as_ref().is_some_and(|copy| copy.lacks_model);
    let wait = match Wait::for_gate(&scribing::silent(), now).filter(|_| by_model) {
        Some(wait) => wait,
        None => Wait::for_others(now),
    };
    Ok(Some(match keep_put_off(tenant, call, asked, &wait, Some(owed)).await? {
        PutOff::Known(known) => known,
        PutOff::New(id) => wait.deferral(id, now),
    }))
}

/// Nobody is owed the copy of a write that was not committed.
pub(crate) fn owe_no_more(tenant: &Tenant, owed: Option<&Deferral>) {
    let id = owed.and_then(|owed| owed.pending_id.parse::<DeferralId>().ok());
    if let Some(Ok(Some(kept))) = id.map(|id| tenant.kept.store.get(id.as_bytes())) {
        forget(tenant, &kept);
    }
}

/// The copy of a version that others are still owed.
pub(crate) fn owing(tenant: &Tenant, version: VersionId) -> Result<Option<Deferral>, Refusal> {
    waiting_by(tenant, &Owed::token_of(tenant, version))
}

/// What the same write waits for, if it was put off already.
///
/// # Errors
/// When its request id waits with other content.
pub(crate) fn waiting(tenant: &Tenant, call: &Call, asked: &Asked) -> Result<Option<Deferral>, Refusal> {
    if let Some(known) = waiting_by(tenant, &asked.token)? {
        return Ok(Some(known));
    }
    if asked.request_print.is_none() || tenant.kept.waiting.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    let rows = tenant.kept.store.waiting_by_author(&author_bytes(&call.caller));
    for kept in rows.map_err(|error| storage(&error))? {
        let Some(draft) = draft_of(tenant, &kept) else { continue };
        let request = draft.request_id.as_deref().and_then(|id| write::request_print(tenant, call, id));
        if request != asked.request_print {
            continue;
        }
        // The same patch may have been merged into another version since.
        let is_same =
            draft.patch.is_some() && draft.patch == asked.body.patch && draft.item == asked.body.item;
        return if is_same { Ok(deferral_of(tenant, &kept)) } else { Err(write::request_id_reused()) };
    }
    Ok(None)
}

fn waiting_by(tenant: &Tenant, token: &Hash) -> Result<Option<Deferral>, Refusal> {
    if tenant.kept.waiting.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    let kept = tenant.kept.store.waiting(token).map_err(|error| storage(&error))?;
    Ok(kept.and_then(|kept| deferral_of(tenant, &kept)))
}

/// What a kept write waits for.
fn deferral_of(tenant: &Tenant, kept: &KeptWrite) -> Option<Deferral> {
    let wait = Wait::of(&tenant.kept.read(kept)?, kept.due?);
    Some(wait.deferral(DeferralId::from_bytes(kept.id), tenant.now()))
}

/// Keeps a refused write for its author; the refusal says where.
pub(crate) async fn refused(tenant: &Tenant, call: &Call, draft: &WriteDraft, refusal: Refusal) -> Refusal {
    let is_working = draft.layer.as_deref() == Some("working");
    if refusal.gate.is_none() || is_working {
        return refusal;
    }
    let id = RefusalId::from_bytes(tenant.entropy.bytes());
    let kept = refused_write(tenant, &call.caller, id, draft, &refusal);
    let put = KeptPut { kept, refused_max: tenant.governance.refusals_max, waiting_max: None };
    match noted(tenant, tenant.kept.queue.put(put).await) {
        Ok(_) => Refusal { kept: Some(id), ..refusal },
        Err(error) => {
            tracing::warn!(%error, "a refused write could not be kept");
            refusal
        }
    }
}

/// A refused write as it is kept.
fn refused_write(
    tenant: &Tenant,
    caller: &Caller,
    id: RefusalId,
    draft: &WriteDraft,
    refusal: &Refusal,
) -> KeptWrite {
    let now = tenant.now();
    let against = refusal.in_the_way.iter().flat_map(|way| &way.against);
    let body = json!({
        "write": draft.to_body(),
        "item": draft.item,
        "patch": draft.patch,
        "key": caller.key().to_string(),
        "gate": refusal.gate.map(GateName::as_str),
        "code": refusal.code.as_str(),
        "message": refusal.message,
        "against": against.map(|one| one.known.version.to_string()).collect::<Vec<_>>(),
    });
    KeptWrite {
        id: *id.as_bytes(),
        author: author_bytes(caller),
        token: [0; 32],
        due: None,
        ends: now.plus(tenant.governance.refusals_kept),
        attempts: 0,
        made: now,
        closed: tenant.kept.close(tenant, id.as_bytes(), &body),
    }
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

fn id_of(kept: &KeptWrite) -> String {
    match kept.due {
        Some(_) => DeferralId::from_bytes(kept.id).to_string(),
        None => RefusalId::from_bytes(kept.id).to_string(),
    }
}

/// One of the caller's kept writes.
pub(crate) async fn get(tenant: &Tenant, call: &Call, id: &str) -> Result<KeptReply, Refusal> {
    let result = find(tenant, call, id).and_then(|kept| reply(tenant, &kept).ok_or_else(not_found));
    tenant.read_done(call, "get_write", vec![], result).await
}

/// Sends a refused write through the gates once more; it is forgotten if they take it.
pub(crate) async fn reopen(tenant: &Tenant, call: &Call, id: &str) -> Result<Written, Refusal> {
    let kept = find(tenant, call, id)?;
    let draft = write::merged_anew(tenant, call, draft_of(tenant, &kept).ok_or_else(not_found)?);
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
        id: id_of(kept),
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

fn time_in(body: &Value, name: &str) -> Option<Timestamp> {
    body.get(name)?.as_str()?.parse().ok()
}

fn draft_of(tenant: &Tenant, kept: &KeptWrite) -> Option<WriteDraft> {
    let body = tenant.kept.read(kept)?;
    let mut draft = read_write(body.get("write")?.clone()).ok()?;
    draft.item = body.get("item").and_then(Value::as_str).map(str::to_owned);
    draft.patch = body.get("patch").and_then(Value::as_object).cloned();
    Some(draft)
}

/// Forgets a write that waits no longer. Should that fail, it is tried once more and found committed.
fn forget(tenant: &Tenant, kept: &KeptWrite) {
    match noted(tenant, tenant.kept.store.forget(&kept.id)) {
        Ok(()) => drop(tenant.kept.waiting.fetch_sub(1, Ordering::AcqRel)),
        Err(error) => tracing::warn!(%error, "a write that was put off could not be forgotten"),
    }
}
