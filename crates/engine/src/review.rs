//! Review: writes that wait for a person, and the person's word on them (GOV-6).
//!
//! Invariant (a decision binds to a content): a review is of one content for ever. A changed write is another review, so a yes
//! can never carry over to what nobody saw.

mod answer;
mod decide;
mod edit;
mod feedback;
mod findings;
mod outside;
mod renewed;

use answer::deferral_of;
pub(crate) use answer::{deferral, held_for};
pub(crate) use decide::{as_sent, decide, end, promote, waiting_write};
use edit::earlier_wording;
pub(crate) use edit::{edit, ending, give_way, is_same_operation, must_wait, took_its_place, why, withdraw};
pub(crate) use feedback::feedback;
pub(crate) use findings::Looks;
use findings::{contradicted, current, findings, opposed};
use outside::Proposed;
pub(crate) use renewed::{of_another_place, to_judge_anew};

use crate::owed::Owed;
use crate::read::unless_destroyed;
use crate::reply::{ReviewReply, WriteStatus, Written};
use crate::scribing::{self, Told};
use crate::sequencer::{Draft, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::write::{self, Asked, Flight};
use crate::{Call, Notice, calibration, short_ids};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tabellion_core::access::{Caller, Power};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{GateName, Held, Hold, WriteDraft, read_write};
use tabellion_core::id::{AgentId, ReviewId, UserId, VersionId};
use tabellion_core::item::{Content, Layer, Tier, TierWish};
use tabellion_core::log::{Calibration, Decision, Event, Lsn, Payload, StagedWrite, Weighed};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Class, Review, ReviewState, Views};

/// Reviews of one listing.
const PAGE: usize = 500;
/// Reviews that one listing looks at, to find those that the caller may see.
const LOOKED_AT_MAX: usize = 5_000;
/// The newest waiting writes of an author that another one is compared with.
const COMPARED_MAX: usize = 50;
/// The word for reviews of what is kept apart for so long that it is out of the way (CAL-31).
const ARCHIVED: &str = "archived";
/// The word for reviews however they stand, as without a word.
const ALL: &str = "all";
/// Between two looks for reviews whose time is over.
const ESCALATE_EVERY: Period = Period::from_secs(60);
/// Between two looks at whether a person has answered.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long a person has to decide (GOV-6.4).
const fn patience(layer: Layer) -> Period {
    match layer {
        Layer::Working | Layer::Session | Layer::Episodic => Period::from_days(3),
        Layer::Semantic => Period::from_days(2),
        Layer::Procedural => Period::from_days(1),
    }
}

/// Stages a held write. One whose writer must wait is answered when a person has decided, or their time is over.
pub(crate) async fn stage(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    held: Held,
    flight: Option<Flight<'_>>,
) -> Result<Written, Objection> {
    let id = ReviewId::from_bytes(tenant.entropy.bytes());
    let now = tenant.now();
    let deadline = deadline(tenant, &held, now);
    let edits = asked.edits.or_else(|| earlier_wording(tenant, call, asked, &held));
    let proposal = staging(tenant, call, (asked, edits), &held, (id, deadline))?;
    tenant.sequencer.propose(proposal).await.map_err(|objection| match objection {
        // A person decided on the earlier wording meanwhile, which the author did not name: this one waits for itself.
        Objection::Refused(refusal) if asked.edits.is_none() && refusal.code == Code::ReviewDecided => {
            Objection::Stale
        }
        other => other,
    })?;
    took_its_place(tenant, call, edits, Some(id));
    // What waits for a person is no longer in anyone's way.
    drop(flight);
    let review = tenant.shared.views.read().reviews.find(id).cloned().ok_or_else(Refusal::not_found)?;
    tenant.announce(&review, "staged");
    if let Some(session) = &asked.session {
        calibration::keep(tenant, call, id, &asked.request.namespace, session);
        session.done();
        calibration::echoed(tenant, call, session).await;
    }
    if held.hold == Hold::Sync && !asked.unattended {
        let written = wait(tenant, call, id).await?;
        return Ok(Written { replaces: edits, ..written });
    }
    let against = write::shown_against(tenant, call, held.assessment.against);
    Ok(Written { against, replaces: edits, ..write::deferred(deferral_of(id, held.causes.first())) })
}

/// Refuses to park a write that too few people could decide on (AM-4). What calibration keeps apart needs no person.
pub(crate) fn can_be_decided(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    held: &Held,
) -> Result<(), Refusal> {
    let has = |code| held.causes.iter().any(|cause| cause.code == code);
    if has(Code::CalibrationStaged) {
        return Ok(());
    }
    let opposed = opposed(tenant, call, asked, (held.tier, &held.assessment.against));
    let concerns_others = has(Code::Moderated) || !opposed.is_empty();
    let deciding = outside::deciders(tenant, call, concerns_others.then_some(&opposed)).len();
    let needed = tenant.shared.views.read().policies.approvals() as usize;
    if deciding >= needed {
        return Ok(());
    }
    let why = held.causes.first().map_or("a person has to consent", |cause| cause.message.as_str());
    let message = format!(
        "another person has to consent ({why}), and {deciding} of the {needed} needed may: an admin names a reviewer with a \
         policy of kind reviewer"
    );
    let gate = held.causes.first().map_or(GateName::Policy, |cause| cause.gate);
    Err(Refusal::new(Code::NoReviewer, message).at(gate))
}

fn deadline(tenant: &Tenant, held: &Held, now: Timestamp) -> Timestamp {
    match held.hold {
        Hold::Sync => {
            let most = now.plus(tenant.governance.sync_wait);
            held.request.deadline.map_or(most, |deadline| deadline.min(most))
        }
        Hold::Auto | Hold::Async => now.plus(patience(held.request.layer)),
    }
}

fn staging(
    tenant: &Tenant,
    call: &Call,
    (asked, edits): (&Asked, Option<ReviewId>),
    held: &Held,
    (review, deadline): (ReviewId, Timestamp),
) -> Result<Proposal, Refusal> {
    let (item, approvals) = {
        let views = tenant.shared.views.read();
        (asked.changes(&views), views.policies.approvals())
    };
    let staged = StagedWrite {
        review,
        item,
        layer: held.request.layer,
        tier: held.tier,
        owner: call.caller.user(),
        agent: call.caller.agent(),
        key: call.caller.key(),
        hold: held.hold,
        risk: held.assessment.risk.score(),
        deadline,
        approvals_min: approvals,
        token: asked.token,
        request: asked.request_print,
        against: u32::try_from(held.assessment.against.len()).unwrap_or(u32::MAX),
        opposes: Some(opposed(tenant, call, asked, (held.tier, &held.assessment.against)))
            .filter(|items| !items.is_empty()),
    };
    let write = json!({
        "write": asked.body.to_body(),
        "item": asked.body.item,
        "patch": asked.body.patch,
        "submitted": asked.submitted.to_string(),
        "told": asked.told.to_json(),
        "owed": asked.owed.map(Owed::to_json),
        "shown": scribing::shown(asked),
    });
    let payload = Payload::Staged {
        write: write.to_string().into_bytes().into(),
        findings: findings(tenant, call, asked, held).to_string().into_bytes().into(),
    };
    let edited = edits.map(|id| ending(tenant, call, id)).transpose()?;
    let draft = tenant.draft(call.caller.actor(), Event::WriteStaged(staged), Some(&payload))?;
    let (replay, deadline) = (asked.replay().in_place_of(edits), asked.request.deadline);
    let check = move |views: &Views, now: Timestamp| {
        replay.known(views, now)?;
        write::in_time(deadline, now)?;
        // The same write was staged a moment ago: prepare again, and find it.
        if replay.waiting(views, now).is_some() { Err(Objection::Stale) } else { Ok(()) }
    };
    let ids = [review].into_iter().chain(edits).map(|id| id.to_string()).collect();
    let mut trail = tenant.row(call, write::ACTION, "deferred", ids);
    trail.record.shaped = asked.shaped.clone().noted();
    let scored = held.calibration.clone().map(|calibration| {
        let event = Event::Calibrated(Calibration { weighed: Weighed::Staged(review), ..calibration });
        tenant.draft(call.caller.actor(), event, None)
    });
    // The old review ends first: the new one may have its token.
    let drafts = edited.into_iter().chain([draft]).chain(scored.transpose()?).collect();
    Ok(Proposal { drafts, touches: replay.touches(), check: Box::new(check), trail })
}

/// Waits for a person's answer; silence is a no (GOV-6.5).
async fn wait(tenant: &Tenant, call: &Call, id: ReviewId) -> Result<Written, Refusal> {
    loop {
        let now = tenant.now();
        let review = tenant.shared.views.read().reviews.find(id).cloned().ok_or_else(Refusal::not_found)?;
        match review.state_at(now) {
            ReviewState::Pending => tokio::time::sleep(LOOK_AGAIN).await,
            ReviewState::Approved => {
                let version = review.version.ok_or_else(Refusal::not_found)?;
                let written = write::replayed_reply(tenant, call, version)?;
                return Ok(Written { status: WriteStatus::Committed, ..written });
            }
            ReviewState::TimedOut => {
                time_out(tenant, id).await?;
                tenant.announce(&review, Decision::TimedOut.as_str());
                return Err(Refusal::new(
                    Code::ApprovalTimeout,
                    "no person answered in time, so the write was refused; ask for one and write again",
                )
                .at(GateName::Policy));
            }
            ReviewState::Rejected | ReviewState::Withdrawn => {
                let reason = reason(tenant, &review).unwrap_or_default();
                let message = format!("a person refused the write: {reason}");
                return Err(Refusal::new(Code::ApprovalRejected, message).at(GateName::Policy));
            }
        }
    }
}

/// Records that nobody answered.
async fn time_out(tenant: &Tenant, id: ReviewId) -> Result<(), Refusal> {
    let actor = tabellion_core::log::Actor::SERVER;
    let event = Event::ReviewDecided { review: id, decision: Decision::TimedOut };
    let draft = tenant.draft(actor, event, None)?;
    let trail = tenant.server_row("decide", "timed_out", vec![id.to_string()]);
    match tenant.sequencer.propose(closing(vec![draft], Vec::new(), id, trail, |_, _| Ok(()))).await {
        Ok(_) | Err(Objection::Stale | Objection::Replayed(_)) => Ok(()),
        Err(Objection::Refused(refusal)) => Err(refusal),
    }
}

/// A proposal that ends a review which must still wait.
fn closing(
    drafts: Vec<Draft>,
    mut touches: Vec<Touch>,
    id: ReviewId,
    trail: crate::sequencer::TrailDraft,
    also: impl Fn(&Views, Timestamp) -> Result<(), Objection> + Send + 'static,
) -> Proposal {
    touches.push(Touch::Review(id));
    let check = move |views: &Views, now: Timestamp| {
        must_wait(views, id, now)?;
        also(views, now)
    };
    Proposal { drafts, touches, check: Box::new(check), trail }
}

fn decided(state: ReviewState) -> Refusal {
    Refusal::new(Code::ReviewDecided, format!("this review is closed: {}", state.as_str()))
}

/// What is sealed beside a staged write.
struct Staged {
    submitted: Option<Timestamp>,
    write: Value,
    item: Option<String>,
    patch: Option<Map<String, Value>>,
    findings: Value,
    /// What models made of it.
    told: Told,
    /// What it is the copy of, where others are owed it.
    owed: Option<Owed>,
    /// What it says in a model's words, where those are what is decided on.
    shown: Map<String, Value>,
}

impl Staged {
    fn read(tenant: &Tenant, lsn: Lsn) -> Result<Self, Refusal> {
        let gone = || Refusal::new(Code::Gone, "the content was destroyed");
        let Some(Payload::Staged { write, findings }) = tenant.payload(lsn)? else { return Err(gone()) };
        let unreadable =
            |_| Refusal::new(Code::StorageFailed, "the write could not be read; run `tabellion verify`");
        let write: Value = serde_json::from_slice(&write).map_err(unreadable)?;
        Ok(Self {
            submitted: write.get("submitted").and_then(Value::as_str).and_then(|text| text.parse().ok()),
            item: write.get("item").and_then(Value::as_str).map(str::to_owned),
            patch: write.get("patch").and_then(Value::as_object).cloned(),
            told: Told::of_json(write.get("told")),
            owed: Owed::of_json(write.get("owed")),
            shown: write.get("shown").and_then(Value::as_object).cloned().unwrap_or_default(),
            write: write.get("write").cloned().unwrap_or_default(),
            findings: serde_json::from_slice(&findings).map_err(unreadable)?,
        })
    }

    /// Why it waits, in a word, where that is not the write alone.
    fn held_for(&self) -> Option<&'static str> {
        let code = self.findings.pointer("/causes/0/code").and_then(Value::as_str)?;
        let code = Code::ALL.iter().copied().find(|known| known.as_str() == code)?;
        held_for(code)
    }

    /// The write, with the words that are decided on.
    fn seen(&self) -> Value {
        let mut write = self.write.clone();
        if let Value::Object(write) = &mut write {
            write.extend(self.shown.clone());
        }
        write
    }

    fn draft(&self) -> Result<WriteDraft, Refusal> {
        let draft = read_write(self.write.clone())?;
        Ok(WriteDraft { item: self.item.clone(), patch: self.patch.clone(), ..draft })
    }

    /// When the write came in.
    fn submitted(&self, review: &Review) -> Timestamp {
        self.submitted.unwrap_or(review.time)
    }
}

/// What a write that waits would say; nothing if its content is gone.
pub(crate) fn proposed(tenant: &Tenant, id: ReviewId) -> Option<Content> {
    let review = tenant.shared.views.read().reviews.find(id)?.clone();
    said(tenant, &review).map(|(_, content)| content)
}

/// The namespace of a write that was held, and what it said; nothing if its content is gone.
pub(crate) fn said(tenant: &Tenant, review: &Review) -> Option<(String, Content)> {
    let request = Staged::read(tenant, review.lsn).ok()?.draft().ok()?.check().ok()?;
    Some((request.namespace, request.content))
}

/// The class that a write that waits would be of, its namespace and its author, as things are now.
pub(crate) fn place(tenant: &Tenant, id: ReviewId) -> Option<(Class, String, (UserId, AgentId))> {
    let review = tenant.shared.views.read().reviews.find(id)?.clone();
    let (author, asked) = decide::as_sent(tenant, None, &review).ok()?;
    let class = write::class_of(tenant, &author, &asked, review.tier);
    Some((class, asked.request.namespace, (review.owner, review.agent)))
}

/// Whether a caller may see a review: its own user's, or those of a user whose reviewer it is.
pub(crate) fn is_visible(views: &Views, caller: &Caller, review: &Review) -> bool {
    review.owner == caller.user()
        || views.policies.reviews(&caller.user().to_string(), &review.owner.to_string())
}

/// Whether a caller may hear news of a review.
pub(crate) fn may_hear(tenant: &Tenant, call: &Call, notice: &Notice) -> bool {
    match notice {
        Notice::Review(notice) => find(tenant, call, notice.review).is_ok(),
        Notice::Pair(notice) => notice.user == call.caller.user() || call.caller.may(Power::Policies),
    }
}

/// When overdue reviews were last looked for, and which of them were announced.
#[derive(Default)]
pub(crate) struct Escalations(Mutex<(Option<Timestamp>, BTreeSet<ReviewId>)>);

/// Announces reviews whose time is over, each once (GOV-6.4).
pub(crate) fn escalate(tenant: &Tenant) {
    let now = tenant.now();
    let mut escalations = tenant.escalations.0.lock();
    let (looked, announced) = &mut *escalations;
    if looked.is_some_and(|looked| now < looked.plus(ESCALATE_EVERY)) {
        return;
    }
    *looked = Some(now);
    let overdue: Vec<Review> = {
        let views = tenant.shared.views.read();
        let waits = |review: &&Review| review.is_overdue(now) && review.state_at(now) == ReviewState::Pending;
        views.reviews.all().filter(waits).cloned().collect()
    };
    let before = std::mem::take(announced);
    for review in overdue {
        if !before.contains(&review.id) {
            tenant.announce(&review, "escalated");
        }
        announced.insert(review.id);
    }
}

fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "no such review, or it is not visible to this caller")
}

fn find_named(tenant: &Tenant, call: &Call, id: &str) -> Result<Review, Refusal> {
    find(tenant, call, id.parse().map_err(|_| short_ids::not_whole(id, not_found()))?)
}

fn find(tenant: &Tenant, call: &Call, id: ReviewId) -> Result<Review, Refusal> {
    let (review, visible) = {
        let views = tenant.shared.views.read();
        let review = views.reviews.find(id).cloned().ok_or_else(not_found)?;
        let visible = !call.caller.moderates() && is_visible(&views, &call.caller, &review);
        (review, visible)
    };
    let is_seen = visible || outside::is_open_to(tenant, &call.caller, &review);
    if is_seen { Ok(review) } else { Err(not_found()) }
}

/// Reviews that the caller may see, the riskiest first.
pub(crate) async fn list(
    tenant: &Tenant,
    call: &Call,
    state: Option<&str>,
) -> Result<Vec<ReviewReply>, Refusal> {
    let result = list_reviews(tenant, call, state);
    let ids =
        result.as_ref().map_or_else(|_| Vec::new(), |all| all.iter().map(|one| one.id.to_string()).collect());
    tenant.read_done(call, "list_reviews", ids, result).await
}

/// Whether a write waits because of its score, whatever else it waits for.
pub(crate) fn is_kept_apart(tenant: &Tenant, review: &Review) -> bool {
    let Ok(staged) = Staged::read(tenant, review.lsn) else { return false };
    let causes = staged.findings.get("causes").and_then(Value::as_array);
    let apart = Value::from(Code::CalibrationStaged.as_str());
    causes.is_some_and(|causes| causes.iter().any(|cause| cause.get("code") == Some(&apart)))
}

/// Which reviews are listed.
fn listed(word: Option<&str>) -> Result<(Option<ReviewState>, bool), Refusal> {
    let Some(word) = word.filter(|word| ![ARCHIVED, ALL].contains(word)) else {
        let archived = word == Some(ARCHIVED);
        return Ok((archived.then_some(ReviewState::Pending), archived));
    };
    let state = ReviewState::from_word(word).ok_or_else(|| {
        let words = format!("one of {}, {ARCHIVED}, {ALL}", ReviewState::words());
        let fault = Fault::new("/state", Code::ConstraintViolation, words);
        Refusal::new(Code::SchemaInvalid, "there is no such state of a review").with(vec![fault])
    })?;
    Ok((Some(state), false))
}

fn list_reviews(tenant: &Tenant, call: &Call, state: Option<&str>) -> Result<Vec<ReviewReply>, Refusal> {
    let (state, archived) = listed(state)?;
    let now = tenant.now();
    let (mut reviews, old): (Vec<Review>, BTreeSet<ReviewId>) = {
        let views = tenant.shared.views.read();
        let caller = &call.caller;
        let wanted = |review: &&Review| {
            let may_concern = caller.moderates() || !review.opposes.is_empty();
            state.is_none_or(|state| review.state_at(now) == state)
                && (may_concern || is_visible(&views, caller, review))
        };
        let old = |review: &Review| review.is_archived(now) && views.trust.staged(review.id).is_some();
        let reviews: Vec<Review> = views.reviews.all().filter(wanted).cloned().collect();
        let all_old = reviews.iter().filter(|review| old(review)).map(|review| review.id).collect();
        (reviews, all_old)
    };
    reviews.retain(|review| archived == (old.contains(&review.id) && is_kept_apart(tenant, review)));
    reviews.sort_by(|a, b| b.risk.total_cmp(&a.risk).then(a.time.cmp(&b.time)));
    let seen = reviews.iter().take(LOOKED_AT_MAX).filter(|review| find(tenant, call, review.id).is_ok());
    let replies = seen.take(PAGE).map(|review| unless_destroyed(reply(tenant, call, review, now)));
    replies.filter_map(Result::transpose).collect()
}

/// One review. Whoever looks at it by itself may decide on what it contradicts by now.
pub(crate) async fn get(tenant: &Tenant, call: &Call, id: &str) -> Result<ReviewReply, Refusal> {
    let found = find_named(tenant, call, id);
    if found.as_ref().is_ok_and(|review| review.state_at(tenant.now()) == ReviewState::Pending) {
        let _late = write::is_caught_up(tenant).await;
    }
    let result = found.and_then(|review| {
        let (reply, contradicted) = shown(tenant, call, &review, tenant.now())?;
        tenant.looks.note(review.id, call.caller.user(), contradicted);
        Ok(reply)
    });
    let ids = result.as_ref().map_or_else(|_| Vec::new(), |one| vec![one.id.to_string()]);
    tenant.read_done(call, "get_review", ids, result).await
}

/// A review as a caller is shown it.
fn reply(tenant: &Tenant, call: &Call, review: &Review, now: Timestamp) -> Result<ReviewReply, Refusal> {
    shown(tenant, call, review, now).map(|(reply, _)| reply)
}

/// A review as a caller is shown it, and the versions that its write contradicts.
fn shown(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    now: Timestamp,
) -> Result<(ReviewReply, BTreeSet<VersionId>), Refusal> {
    let mut staged = Staged::read(tenant, review.lsn)?;
    let for_others = if review.state_at(now) == ReviewState::Pending {
        let (findings, for_others) = current(tenant, review, staged.findings);
        staged.findings = findings;
        for_others
    } else {
        review.tier == Tier::Shared || has_copy(tenant, review)
    };
    let contradicted = contradicted(&staged.findings);
    let is_outside = outside::is_outside(tenant, &call.caller, review);
    let proposed = if is_outside { Proposed::of(tenant, review) } else { None };
    if is_outside && proposed.is_none() {
        return Err(not_found());
    }
    let decided_by = match review.decided {
        Some(lsn) => tenant.actor(lsn)?.and_then(|actor| actor.user),
        None => None,
    };
    let (decided_at, trust) = {
        let views = tenant.shared.views.read();
        let trust = views.trust.staged(review.id).map(|staged| staged.standing.stored.band());
        (review.decided.and_then(|lsn| views.items.time_of(lsn)), trust)
    };
    let reason = match review.decided {
        Some(_) => reason(tenant, review),
        None => staged.held_for().map(str::to_owned),
    };
    let known = staged.findings.get("content_hash").and_then(Value::as_str).map(str::to_owned);
    let content_hash = match &proposed {
        Some(proposed) => proposed.hash(),
        None => known,
    };
    let asked_for = staged.draft().and_then(WriteDraft::check).map(|request| request.tier);
    let tier = match (asked_for, review.tier) {
        (Ok(tier), _) if !is_outside => tier,
        (_, Tier::Private) if !is_outside => TierWish::Private,
        (_, Tier::Shared | Tier::Private) => TierWish::Shared,
    };
    let reply = ReviewReply {
        id: review.id,
        state: review.state_at(now),
        hold: review.hold,
        risk: review.risk,
        trust,
        write: proposed.as_ref().map_or_else(|| staged.seen(), |proposed| proposed.body(&staged)),
        findings: outside::findings(tenant, call, review, staged.findings),
        content_hash: content_hash.unwrap_or_default(),
        layer: review.layer,
        tier,
        for_others,
        owner: review.owner,
        agent: review.agent,
        item: review.item,
        created_at: review.time,
        deadline: review.deadline,
        overdue: review.is_overdue(now),
        approvals: review.approvals.clone(),
        approvals_min: review.approvals_min,
        version: review.version,
        decision: review.decision,
        reason,
        decided_at,
        decided_by,
    };
    Ok((reply, contradicted))
}

/// Whether others have a copy of what a held write became.
fn has_copy(tenant: &Tenant, review: &Review) -> bool {
    let views = tenant.shared.views.read();
    let version = review.version.and_then(|version| views.items.find_version(version));
    let item = version.and_then(|version| views.items.item_of(version));
    item.is_some_and(|item| views.items.copy_of(item.id).is_some())
}

fn reason(tenant: &Tenant, review: &Review) -> Option<String> {
    match tenant.payload(review.decided?) {
        Ok(Some(Payload::Reason(reason))) => Some(reason),
        _ => None,
    }
}
