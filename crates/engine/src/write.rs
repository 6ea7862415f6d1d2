//! Write: one path for every item, from draft to durable version.

mod asked;
mod commit;
mod conflict;
mod facts;
mod flight;
mod heads;
mod knowledge;
mod named;
mod patch;
mod replay;
mod retry;
mod times;
mod turn;

pub(crate) use asked::Asked;
pub(crate) use commit::{Commit, sign};
use conflict::opposes;
pub(crate) use conflict::{shown as superseded, shown_against};
pub(crate) use facts::{borne_out, caught_up, is_caught_up, repeats_moderated, standing};
pub(crate) use flight::{Flight, Flights};
pub(crate) use heads::{contributed, version_conflict};
use heads::{replaced, still_head};
pub(crate) use knowledge::denies;
use named::inherit;
pub(crate) use named::{class_of, gather};
pub(crate) use patch::merged_anew;
pub(crate) use replay::{Replay, check_token, request_id_reused, request_print, tokens_of_other_places};
pub(crate) use retry::{Again, Full, Waited, again};
pub(crate) use times::{GateTimes, timed};
pub use turn::{Turn, Turns};

use crate::anomaly;
use crate::calibration::{self, Begun, Together};
use crate::counsel;
use crate::flow::{self, Pace};
use crate::kept::Wait;
use crate::reply::{Deferral, TrustBand, WriteStatus, Written};
use crate::search::redacted_classes;
use crate::sequencer::{Committed, Objection};
use crate::tenant::Tenant;
use crate::{Call, kept, review, rights, scribing, working};
use std::sync::Arc;
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{Against, GateFacts, GateName, Held, Judged, WriteDraft, WriteRequest, judge};
use tabellion_core::id::{ItemId, ReviewId, VersionId};
use tabellion_core::item::{Layer, Tier, TierWish};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Class, Moment};

/// How often a write is prepared again when what it was prepared against has changed under it.
const ATTEMPTS_MAX: usize = 16;

/// The name of this operation on the trail.
pub(crate) const ACTION: &str = "write";

pub(crate) async fn write(
    tenant: &Tenant,
    call: &Call,
    draft: WriteDraft,
    pace: Pace,
) -> Result<Written, Refusal> {
    accept(tenant, call, draft, Manner { pace, edits: None, together: None, retries: false }).await
}

/// A relation that is written with others, in their order: they are scored together.
pub(crate) async fn relation(
    tenant: &Tenant,
    call: &Call,
    draft: WriteDraft,
    turn: Turn,
    together: Option<Arc<Together>>,
) -> Result<Written, Refusal> {
    let manner = Manner { pace: Pace::Import(turn), edits: None, together, retries: false };
    accept(tenant, call, draft, manner).await
}

/// A write that takes the place of a held one, which waits until then.
pub(crate) async fn edit(
    tenant: &Tenant,
    call: &Call,
    draft: WriteDraft,
    review: ReviewId,
) -> Result<Written, Refusal> {
    let manner = Manner { pace: Pace::Single, edits: Some(review), together: None, retries: false };
    accept(tenant, call, draft, manner).await
}

/// How a write comes in.
struct Manner {
    pace: Pace,
    edits: Option<ReviewId>,
    /// The relations that it is written with.
    together: Option<Arc<Together>>,
    /// Whether its maker makes it anew when another write came in between, so that such a refusal is not kept.
    retries: bool,
}

async fn accept(tenant: &Tenant, call: &Call, draft: WriteDraft, manner: Manner) -> Result<Written, Refusal> {
    let trace = trace(tenant, call, draft.trace_id.as_deref());
    let body = draft.clone();
    let retries = manner.retries;
    let result = match working::claim(tenant, call, draft).check() {
        Ok(request) if request.layer == Layer::Working && manner.edits.is_some() => {
            Err(Failed::Early(unlogged()))
        }
        Ok(request) if request.layer == Layer::Working => {
            write_working(tenant, call, request, trace).await.map_err(Failed::Early)
        }
        Ok(request) => write_logged(tenant, call, request, body.clone(), manner).await,
        Err(refusal) => Err(Failed::Early(refusal)),
    };
    let failed = match result {
        Ok(written) => {
            count(written.status.as_str());
            return Ok(written);
        }
        Err(failed) => failed,
    };
    let failed = match failed {
        Failed::Recorded(refusal) | Failed::Early(refusal)
            if retries && refusal.code == Code::VersionConflict =>
        {
            return Err(refusal);
        }
        failed => failed,
    };
    count("rejected");
    let refusal = match failed {
        Failed::Recorded(refusal) => refusal,
        Failed::Early(refusal) => {
            let mut row = tenant.row(call, ACTION, refusal.code.as_str(), Vec::new());
            row.record.trace = trace;
            tenant.sequencer.trail_now(row).await.err().unwrap_or(refusal)
        }
    };
    if let Some(gate) = refusal.gate {
        let (gate, reason) = (gate.as_str(), refusal.code.as_str());
        metrics::counter!("tabellion_memory_write_rejected_total", "gate" => gate, "reason" => reason)
            .increment(1);
    }
    let refusal = conflict::with_texts(tenant, call, refusal);
    Err(kept::refused(tenant, call, &body, refusal).await)
}

/// Writes to working memory within the rate of that layer. It is in no log, so that beyond it nothing can wait.
async fn write_working(
    tenant: &Tenant,
    call: &Call,
    request: WriteRequest,
    trace: Option<Hash>,
) -> Result<Written, Refusal> {
    flow::not_suspended(tenant, call)?;
    let strictness = asked::strictness(tenant, &request);
    let place = flow::take_room(tenant, call, strictness, request.layer)
        .map_err(|full| full.refusal(tenant.now()))?;
    let result = working::write(tenant, call, request, trace).await;
    flow::count_once(tenant, place, result.as_ref().ok());
    result
}

/// A held write cannot become one of the working layer: that is in no log, so both could be lost together.
fn unlogged() -> Refusal {
    let fault = Fault::new("/layer", Code::ConstraintViolation, "session, episodic, semantic or procedural");
    let message = "a held write cannot become working memory; withdraw it and write anew";
    Refusal::new(Code::SchemaInvalid, message).at(GateName::Schema).with(vec![fault])
}

fn count(status: &'static str) {
    metrics::counter!("tabellion_writes_total", "status" => status).increment(1);
}

/// What the trail keeps of the trace of a write.
fn trace(tenant: &Tenant, call: &Call, trace: Option<&str>) -> Option<Hash> {
    trace.or(call.trace.as_deref()).map(|trace| tenant.trace(trace))
}

/// A refusal, and whether the trail has it already.
enum Failed {
    Recorded(Refusal),
    Early(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Early(refusal)
    }
}

async fn write_logged(
    tenant: &Tenant,
    call: &Call,
    request: WriteRequest,
    body: WriteDraft,
    manner: Manner,
) -> Result<Written, Failed> {
    let (edits, together) = (manner.edits, manner.together);
    let mut asked = Asked { edits, together, ..Asked::sent(tenant, call, body, request)? };
    asked.edits = asked.edits.or_else(|| review::to_judge_anew(tenant, call, &asked));
    if let Some(known) = already(tenant, call, &asked).await? {
        return Ok(known);
    }
    asked.edits = asked.edits.or_else(|| review::of_another_place(tenant, call, &asked));
    flow::not_suspended(tenant, call)?;
    let mut turn = match manner.pace {
        Pace::Single => None,
        Pace::Import(turn) => Some(turn),
    };
    anomaly::arrive(tenant, call, &asked);
    // Lines of a batch take their places in their order.
    if let Some(turn) = &mut turn {
        turn.comes().await;
        asked.submitted = tenant.now();
    }
    let mut budget = match flow::is_paced(call, asked.strictness, asked.request.layer) {
        true => flow::take_budget(tenant, call, &asked.request)?,
        false => None,
    };
    let place = match flow::take_room(tenant, call, asked.strictness, asked.request.layer) {
        Ok(place) => place,
        Err(wait) => {
            // Those after it need not wait until it is kept.
            drop(turn);
            return kept::put_off(tenant, call, &asked, wait).await.map_err(Failed::from);
        }
    };
    let result = match judged(tenant, call, &mut asked, turn).await {
        Err(Failed::Early(refusal)) => match Wait::for_gate(&refusal, tenant.now()) {
            Some(wait) => return kept::put_off(tenant, call, &asked, wait).await.map_err(Failed::from),
            None => Err(Failed::Early(refusal)),
        },
        other => other,
    };
    flow::count_once(tenant, place, result.as_ref().ok());
    if let Some(budget) = &mut budget {
        budget.settle(result.as_ref().ok());
    }
    let opposes = opposes(tenant, call, &asked, &result);
    anomaly::watch(tenant, call, &asked, opposes).await;
    result
}

/// Takes a write through the gates and commits or stages it. One that is looked at outside as well does not keep those
/// whose turn comes after it waiting.
async fn judged(
    tenant: &Tenant,
    call: &Call,
    asked: &mut Asked,
    turn: Option<Turn>,
) -> Result<Written, Failed> {
    let turn = turn.filter(|_| asked.wishes.is_empty());
    if let Err(refusal) = scribing::heard(tenant, call, asked).await {
        return known_or(tenant, call, asked, refusal).await;
    }
    let flight = match asked.claim.is_empty() {
        true => None,
        false => Some(tenant.flights.take_off(&asked.corpus(call), &asked.claim).await),
    };
    let turn = turn.filter(|_| !tenant.advice.concerns(asked));
    match advised(tenant, call, asked).await {
        Ok(()) => {}
        Err(refusal) => return known_or(tenant, call, asked, refusal).await,
    }
    match calibration::begin(tenant, call, asked).await {
        Begun::Unscored => {}
        Begun::Turn(session) => asked.session = Some(session),
        Begun::Attached(review) => {
            return calibration::attached(tenant, call, review).await.map_err(Failed::from);
        }
        Begun::Full(refusal) => return Err(refusal.into()),
    }
    committed_or_staged(tenant, call, asked, flight, turn).await
}

/// Has a write that the gates of this process let through looked at outside, once, if anybody there is to look at it: first by
/// the model that knows what it means, then by advisers.
///
/// # Errors
/// When a gate of this process refuses it: then nothing of it leaves.
pub(crate) async fn advised(tenant: &Tenant, call: &Call, asked: &mut Asked) -> Result<(), Refusal> {
    if facts::goes_by_meaning(tenant, asked) {
        facts::caught_up(tenant, asked.strictness, asked.request.layer).await?;
        look(tenant, call, asked, tenant.now())?;
        facts::understand(tenant, call, asked).await;
    }
    if !tenant.advice.concerns(asked) {
        return Ok(());
    }
    facts::caught_up(tenant, asked.strictness, asked.request.layer).await?;
    let (judged, gathered) = look(tenant, call, asked, tenant.now())?;
    asked.counsel = Some(counsel::hear(tenant, call, asked, &judged, &gathered).await);
    Ok(())
}

/// What says the same may be this very write, committed a moment ago.
async fn known_or(tenant: &Tenant, call: &Call, asked: &Asked, refusal: Refusal) -> Result<Written, Failed> {
    let known = if is_duplicate(refusal.code) { already(tenant, call, asked).await? } else { None };
    known.ok_or_else(|| review::why(tenant, asked, refusal).into())
}

async fn committed_or_staged(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    mut flight: Option<Flight<'_>>,
    mut turn: Option<Turn>,
) -> Result<Written, Failed> {
    for _ in 0..ATTEMPTS_MAX {
        facts::caught_up(tenant, asked.strictness, asked.request.layer).await?;
        let prepared = match prepare(tenant, call, asked) {
            Err(refusal) => return known_or(tenant, call, asked, refusal).await,
            Ok(prepared) => prepared,
        };
        let prepared = match prepared {
            Prepared::Commit(prepared) => *prepared,
            Prepared::Stage(held) => {
                drop(turn.take());
                review::can_be_decided(tenant, call, asked, &held)?;
                match review::stage(tenant, call, asked, *held, flight.take()).await {
                    Ok(written) => return Ok(written),
                    Err(Objection::Refused(refusal)) => return Err(Failed::Recorded(refusal)),
                    Err(Objection::Replayed(version)) => return replayed(tenant, call, asked, version).await,
                    Err(Objection::Stale) => match already(tenant, call, asked).await? {
                        Some(known) => return Ok(known),
                        None => continue,
                    },
                }
            }
        };
        let landed = prepared.landed();
        let owed = kept::owe(tenant, call, asked, prepared.owes()).await?;
        let submitted = tenant.sequencer.submit(prepared.proposal(tenant, call, owed.as_ref())?);
        drop(turn.take());
        let result = submitted.await;
        if result.is_err() {
            kept::owe_no_more(tenant, owed.as_ref());
        }
        match result {
            Ok(committed) => {
                review::took_its_place(tenant, call, asked.edits, None);
                calibration::committed(tenant, call, asked).await;
                let replaces = asked.edits;
                return Ok(Written { owed, replaces, ..landed.reply(tenant, call, committed) });
            }
            Err(Objection::Replayed(version)) => return replayed(tenant, call, asked, version).await,
            Err(Objection::Refused(refusal)) => return Err(Failed::Recorded(refusal)),
            Err(Objection::Stale) => {}
        }
    }
    Err(keeps_changing().into())
}

async fn replayed(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    version: VersionId,
) -> Result<Written, Failed> {
    review::give_way(tenant, call, asked).await.map_err(Failed::Recorded)?;
    let written = replayed_reply(tenant, call, version).map_err(Failed::Recorded)?;
    Ok(Written { replaces: asked.edits, ..written })
}

const fn is_duplicate(code: Code) -> bool {
    matches!(code, Code::ExactDuplicate | Code::StructuralDuplicate | Code::SemanticDuplicate)
}

pub(crate) fn keeps_changing() -> Refusal {
    let message = "the item keeps changing; read it and try again with expected_version";
    Refusal::new(Code::VersionConflict, message)
}

/// Steps 1 and 2 of GOV-1.7: what is known of this very write, before any gate looks at it.
async fn already(tenant: &Tenant, call: &Call, asked: &Asked) -> Result<Option<Written>, Failed> {
    let now = tenant.now();
    let known = {
        let views = tenant.shared.views.read();
        let replay = asked.replay();
        replay
            .known(&views, now)
            .and_then(|()| in_time(asked.request.deadline, now))
            .map(|()| replay.waiting(&views, now).cloned())
    };
    let record = |outcome: &str, ids: Vec<String>| {
        let mut row = tenant.row(call, ACTION, outcome, ids);
        row.record.trace = trace(tenant, call, asked.request.trace_id.as_deref());
        row
    };
    match known {
        // A write that was put off and is tried again would find nothing but itself waiting.
        Ok(None) if asked.unattended => Ok(None),
        Ok(None) => match kept::waiting(tenant, call, asked)? {
            None => Ok(None),
            Some(deferral) => {
                tenant.sequencer.trail_now(record("deferred", vec![deferral.pending_id.clone()])).await?;
                Ok(Some(deferred(deferral)))
            }
        },
        Ok(Some(review)) => {
            review::give_way(tenant, call, asked).await.map_err(Failed::Recorded)?;
            tenant.sequencer.trail_now(record("deferred", vec![review.id.to_string()])).await?;
            let waiting = deferred(review::deferral(tenant, &review)?);
            Ok(Some(Written { replaces: asked.edits, ..waiting }))
        }
        Err(Objection::Replayed(version)) => {
            let written = replayed(tenant, call, asked, version).await?;
            let ids = written.id.iter().map(ToString::to_string).chain([version.to_string()]).collect();
            tenant.sequencer.trail_now(record("already_committed", ids)).await?;
            Ok(Some(written))
        }
        Err(Objection::Refused(refusal)) => Err(refusal.into()),
        Err(Objection::Stale) => Ok(None),
    }
}

/// The answer to a write that waits. One that is kept apart has the id already that it will be found by.
pub(crate) fn deferred(deferral: Deferral) -> Written {
    let staged =
        deferral.pending_id.parse::<ReviewId>().ok().filter(|_| deferral.code == Code::CalibrationStaged);
    Written {
        status: WriteStatus::Deferred,
        id: staged.map(|review| ItemId::from_bytes(*review.as_bytes())),
        version: None,
        trust: TrustBand::Low,
        token: None,
        deferral: Some(deferral),
        shared: None,
        owed: None,
        against: Vec::new(),
        superseded: Vec::new(),
        replaces: None,
    }
}

/// Where a write lands.
pub(crate) struct Landed {
    status: WriteStatus,
    item: ItemId,
    version: VersionId,
    against: Vec<Against>,
    /// The statements whose place it takes.
    superseded: Vec<VersionId>,
    layer: Layer,
    /// The copy for others, if there is one.
    shared: Option<ItemId>,
}

impl Landed {
    /// The statements whose place it takes.
    pub(crate) fn superseded(&self) -> &[VersionId] {
        &self.superseded
    }

    pub(crate) fn reply(self, tenant: &Tenant, call: &Call, committed: Committed) -> Written {
        let layer = self.layer.as_str();
        let request_id = call.request_id.as_deref().unwrap_or_default();
        tracing::debug!(request_id, item = %self.item, version = %self.version, agent = %call.caller.agent(), "memory.write");
        metrics::counter!("tabellion_memory_write_committed_total", "layer" => layer).increment(1);
        Written {
            status: self.status,
            id: Some(self.item),
            version: Some(self.version),
            trust: tenant.trust_of(self.version),
            token: Some(tenant.token(&call.caller, committed.lsn)),
            deferral: None,
            shared: self.shared,
            owed: None,
            against: self.against,
            superseded: conflict::shown(tenant, call, &self.superseded),
            replaces: None,
        }
    }
}

pub(crate) fn replayed_reply(tenant: &Tenant, call: &Call, version: VersionId) -> Result<Written, Refusal> {
    let views = tenant.shared.views.read();
    let known = views.items.find_version(version).ok_or_else(Refusal::not_found)?;
    let item = views.items.item_of(known).ok_or_else(Refusal::not_found)?;
    let superseded = conflict::superseded_by(&views.items, known);
    let status = match item.quarantine() {
        Some(_) => WriteStatus::Quarantined,
        None => WriteStatus::AlreadyCommitted,
    };
    let written = Written {
        status,
        id: Some(item.id),
        version: Some(version),
        trust: views.items.row_of(version).map(|row| views.trust.stored(row)).unwrap_or_default().band(),
        token: Some(tenant.token(&call.caller, known.lsn)),
        deferral: None,
        shared: views.items.copy_of(item.id).map(|copy| copy.id),
        owed: kept::owing(tenant, version)?,
        against: Vec::new(),
        superseded: Vec::new(),
        replaces: None,
    };
    drop(views);
    Ok(Written { superseded: conflict::shown(tenant, call, &superseded), ..written })
}

/// What the gates made of a write.
pub(crate) enum Prepared {
    Commit(Box<Commit>),
    Stage(Box<Held>),
}

/// What speaks against a write that waits, as things are now.
pub(crate) fn against(tenant: &Tenant, call: &Call, asked: &Asked) -> Result<Vec<Against>, Refusal> {
    let redacted = redacted_classes(tenant, &call.caller, &tenant.shared.views.read());
    facts::Gathering { tenant, call, asked, now: tenant.now(), redacted }.against()
}

/// Gathers the facts and asks the gates.
pub(crate) fn look(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    now: Timestamp,
) -> Result<(Judged, GateFacts), Refusal> {
    let mut stopwatch = tenant.gate_times.start();
    let redacted = redacted_classes(tenant, &call.caller, &tenant.shared.views.read());
    let gathered = facts::Gathering { tenant, call, asked, now, redacted }.facts()?;
    stopwatch.lap(GateTimes::FACTS);
    let mut request = asked.request.clone();
    request.evidence.extend(gathered.own_evidence.clone());
    request.evidence.extend(gathered.knowledge.iter().map(|word| word.evidence.clone()));
    let judged = judge(request, &call.caller, &gathered, &mut |gate| stopwatch.lap(gate.as_str()))?;
    permitted(tenant, call, &judged, &gathered, now)?;
    Ok((judged, gathered))
}

/// Refuses what Cedar forbids, before anybody outside looks at it or a person has to.
fn permitted(
    tenant: &Tenant,
    call: &Call,
    judged: &Judged,
    facts: &GateFacts,
    now: Timestamp,
) -> Result<(), Refusal> {
    let (request, tier) = match judged {
        Judged::Admitted(admitted) => (admitted.request(), admitted.tier()),
        Judged::Held(held) => (&held.request, held.tier),
    };
    let class = facts.class(call.caller.agent(), request, tier);
    let views = tenant.shared.views.read();
    let at = Moment { lsn: views.lsn(), time: now };
    rights::may_write(&views, &call.caller, &class, at)?;
    match request.tier {
        // Whoever asks for both has both or nothing.
        TierWish::Both => rights::may_write(&views, &call.caller, &Class { tier: Tier::Shared, ..class }, at),
        TierWish::Auto | TierWish::Private | TierWish::Shared => Ok(()),
    }
}

/// What becomes of a write, as things are now.
pub(crate) fn prepare(tenant: &Tenant, call: &Call, asked: &Asked) -> Result<Prepared, Refusal> {
    let now = tenant.now();
    let (judged, gathered) = look(tenant, call, asked, now)?;
    Ok(match judged {
        Judged::Held(held) => Prepared::Stage(held),
        Judged::Admitted(admitted) => {
            Prepared::Commit(Box::new(commit::commit(tenant, call, asked, &admitted, &gathered, now)?))
        }
    })
}

/// Step 2 of GOV-1.7: past its deadline a write leaves nothing.
pub(crate) fn in_time(deadline: Option<Timestamp>, now: Timestamp) -> Result<(), Objection> {
    match deadline {
        Some(deadline) if deadline <= now => {
            let refusal = Refusal::new(
                Code::DeadlineExceeded,
                "the deadline passed before the commit; nothing was written",
            );
            Err(refusal.at(GateName::Preflight).into())
        }
        _ => Ok(()),
    }
}
