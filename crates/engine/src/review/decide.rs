//! A person's word on a held write: yes, no, or one yes of several.

use super::outside::{self, Proposed};
use super::{Staged, closing, contradicted, decided, deferral, deferral_of, find_named, not_found};
use crate::change::moderated;
use crate::counsel::Counsel;
use crate::flow::not_suspended;
use crate::identity::must_be_active;
use crate::reply::{Ground, Verdict, WriteStatus, Written};
use crate::scribing::Told;
use crate::sequencer::Objection;
use crate::tenant::Tenant;
use crate::write::{self, Asked, Commit, Prepared};
use crate::{Call, calibration, kept};
use serde_json::Value;
use tabellion_core::access::author;
use tabellion_core::canonical::{hex, sha256};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{Approval, GateName};
use tabellion_core::id::{ReviewId, UserId, VersionId};
use tabellion_core::log::{Actor, Decision, Event, Payload};
use tabellion_core::text::is_legible;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, ReviewState, Views};

const ATTEMPTS_MAX: usize = 16;
const REASON_CHARS_MAX: usize = 1_024;

/// A person decides.
pub(crate) async fn decide(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    verdict: Verdict,
) -> Result<Written, Refusal> {
    let planned = may_decide(tenant, call, id, &verdict);
    let plan = |call: &Call| may_decide(tenant, call, id, &verdict);
    let (call, planned) = moderated(call, planned, Some(&verdict.reason), true, plan);
    let call = &*call;
    let review = match planned {
        Ok(review) => review,
        Err(refusal) => {
            let named = id.parse::<ReviewId>().map(|id| vec![id.to_string()]).unwrap_or_default();
            return Err(tenant.refused(call, "decide", named, refusal).await);
        }
    };
    if !verdict.approve {
        return reject(tenant, call, &review, &verdict).await;
    }
    for _ in 0..ATTEMPTS_MAX {
        match approve(tenant, call, &review, &verdict).await {
            Ok(written) => return Ok(written),
            Err(Objection::Stale) => {}
            Err(Objection::Refused(refusal)) => {
                return Err(tenant.refused(call, "decide", vec![review.id.to_string()], refusal).await);
            }
            Err(Objection::Replayed(version)) => return write::replayed_reply(tenant, call, version),
        }
    }
    Err(write::keeps_changing())
}

fn may_decide(tenant: &Tenant, call: &Call, id: &str, verdict: &Verdict) -> Result<Review, Refusal> {
    let review = find_named(tenant, call, id)?;
    if !tenant.is_person(&call.caller) {
        let message = "only a person decides: use a key that names a user and no agent";
        return Err(Refusal::new(Code::HumanRequired, message).at(GateName::Policy));
    }
    if review.owner == call.caller.user() && review.agent == call.caller.agent() {
        let message = "nobody decides on what they wrote themselves; ask another reviewer";
        return Err(Refusal::new(Code::SelfApproval, message).at(GateName::Policy));
    }
    let rule = format!("1 to {REASON_CHARS_MAX} characters: a decision without a reason helps nobody");
    if !is_legible(&verdict.reason) || verdict.reason.chars().count() > REASON_CHARS_MAX {
        let fault = Fault::new("/reason", Code::ConstraintViolation, rule);
        return Err(Refusal::new(Code::SchemaInvalid, "a decision needs a reason").with(vec![fault]));
    }
    let state = review.state_at(tenant.now());
    if state != ReviewState::Pending {
        return Err(decided(state));
    }
    let staged = Staged::read(tenant, review.lsn)?;
    if verdict.approve
        && review.owner == call.caller.user()
        && outside::needs_another_party(tenant, &review, &staged)
    {
        return Err(outside::own_yes());
    }
    let hash = match outside::is_outside(tenant, &call.caller, &review) {
        true => Proposed::of(tenant, &review).and_then(|proposed| proposed.hash()),
        false => staged.findings.get("content_hash").and_then(Value::as_str).map(str::to_owned),
    };
    if verdict.content_hash.as_ref().is_some_and(|seen| Some(seen) != hash.as_ref()) {
        let fault = Fault::new("/content_hash", Code::VersionConflict, hash.unwrap_or_default());
        let message = "the decision is about another content than this review's; read it again";
        return Err(Refusal::new(Code::VersionConflict, message).with(vec![fault]));
    }
    Ok(review)
}

async fn reject(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    verdict: &Verdict,
) -> Result<Written, Refusal> {
    let decision = match verdict.ground {
        Ground::Falsehood => Decision::RejectedAsFalse,
        Ground::Violation => Decision::RejectedAsViolation,
        Ground::Other => Decision::Rejected,
    };
    let word = decision.as_str();
    end(tenant, call, review, decision, &verdict.reason, "decide").await?;
    tenant.announce(review, word);
    Ok(Written {
        deferral: None,
        status: WriteStatus::Rejected,
        ..write::deferred(deferral_of(review.id, None))
    })
}

/// Closes a review without a commit.
pub(crate) async fn end(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    decision: Decision,
    reason: &str,
    action: &str,
) -> Result<(), Refusal> {
    let event = Event::ReviewDecided { review: review.id, decision };
    let why = Payload::Reason(reason.to_owned());
    let draft = tenant.draft(call.caller.actor(), event, Some(&why))?;
    let ids = vec![review.id.to_string()];
    let trail = tenant.row_because(call, action, decision.as_str(), ids, Some(reason));
    match tenant.sequencer.propose(closing(vec![draft], Vec::new(), review.id, trail, |_, _| Ok(()))).await {
        Ok(_) => Ok(()),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(write::keeps_changing()),
    }
}

/// The gates run once more with the approval among their facts; the yes and the version are one commit.
async fn approve(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    verdict: &Verdict,
) -> Result<Written, Objection> {
    let current = tenant.shared.views.read().reviews.find(review.id).cloned().ok_or_else(not_found)?;
    if current.state_at(tenant.now()) != ReviewState::Pending {
        return Err(decided(current.state_at(tenant.now())).into());
    }
    let said = current.approvals.contains(&call.caller.user());
    let counts = |user: &&UserId| outside::may_still_decide(tenant, **user, &current);
    let with_this = current.approvals.iter().filter(counts).count() + usize::from(!said);
    if with_this < current.approvals_min as usize {
        return second(tenant, call, &current, verdict, said).await;
    }
    let (author, mut asked) = revived(tenant, call, &current, verdict)?;
    write::advised(tenant, &author, &mut asked).await?;
    write::caught_up(tenant, asked.strictness, asked.request.layer).await?;
    let Prepared::Commit(commit) = write::prepare(tenant, &author, &asked)? else {
        return Err(Refusal::new(Code::Internal, "an approved write was held again").into());
    };
    let is_own = current.owner == call.caller.user();
    if is_own
        && commit.reaches_others()
        && outside::opposes_another(tenant, current.owner, &commit.opposes().0)
    {
        return Err(outside::own_yes().into());
    }
    shown_what_it_replaces(tenant, call, &current, &commit)?;
    let event = Event::ReviewDecided { review: review.id, decision: Decision::Approved };
    let reason = Payload::Reason(verdict.reason.clone());
    let mut drafts = vec![tenant.draft(call.caller.actor(), event, Some(&reason))?];
    let landed = commit.landed();
    let owed = kept::owe(tenant, &author, &asked, commit.owes()).await?;
    let (versions, touches, must) = commit.parts(tenant, &author)?;
    drafts.extend(versions);
    // A person's yes confirms what the write speaks against.
    let (opposed, class) = commit.opposes();
    let cause = (asked.request.namespace.as_str(), author.caller.user(), class);
    drafts.extend(calibration::contradicted(tenant, &opposed, Some(cause))?);
    let (word, ids) = (Decision::Approved.as_str(), vec![review.id.to_string()]);
    let mut trail = tenant.row_because(call, "decide", word, ids, Some(&verdict.reason));
    trail.record.shaped = asked.shaped.clone().noted();
    let id = review.id;
    let check = move |views: &Views, now: Timestamp| must.hold(views, now);
    let result = tenant.sequencer.propose(closing(drafts, touches, id, trail, check)).await;
    if result.is_err() {
        kept::owe_no_more(tenant, owed.as_ref());
    }
    let committed = result?;
    calibration::forget(tenant, id);
    tenant.announce(&current, Decision::Approved.as_str());
    let replaced = landed.superseded().to_vec();
    let mut written = landed.reply(tenant, call, committed);
    // A named reviewer is told of shared items that they replaced without an edge to them.
    if let Some(caller) = call.caller.reviewing().filter(|_| !is_own) {
        let told: Vec<VersionId> = written.superseded.iter().map(|one| one.version).collect();
        let hidden: Vec<VersionId> = replaced.into_iter().filter(|one| !told.contains(one)).collect();
        let sight = Call { caller, ..call.clone() };
        written.superseded.extend(write::superseded(tenant, &sight, &hidden));
    }
    Ok(Written { owed, ..written })
}

/// Refuses a yes that would end a statement which the review did not name when it was staged, nor when the person looked at it.
fn shown_what_it_replaces(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    commit: &Commit,
) -> Result<(), Refusal> {
    let named = contradicted(&Staged::read(tenant, review.lsn)?.findings);
    let user = call.caller.user();
    let is_shown = |one: VersionId| named.contains(&one) || tenant.looks.has(review.id, user, one);
    if commit.found_to_replace().all(is_shown) {
        return Ok(());
    }
    let message = "what it speaks against has changed; read the review again, and then decide";
    let expected = "keep_both, or a decision after another look at the review";
    let fault = Fault::new("/on_conflict", Code::VersionConflict, expected);
    Err(Refusal::new(Code::VersionConflict, message).at(GateName::Contradiction).with(vec![fault]))
}

/// Lets a write in that is borne out by now, without a person: the gates run once more, and none may want one for another
/// reason.
pub(crate) async fn promote(tenant: &Tenant, id: ReviewId) -> Result<bool, Refusal> {
    for _ in 0..ATTEMPTS_MAX {
        let review = tenant.shared.views.read().reviews.find(id).cloned().ok_or_else(not_found)?;
        if review.state_at(tenant.now()) != ReviewState::Pending {
            return Ok(false);
        }
        match promoted(tenant, &review).await {
            Ok(done) => return Ok(done),
            Err(Objection::Stale) => {}
            Err(Objection::Refused(refusal)) => return Err(refusal),
            Err(Objection::Replayed(_)) => return Ok(false),
        }
    }
    Err(write::keeps_changing())
}

async fn promoted(tenant: &Tenant, review: &Review) -> Result<bool, Objection> {
    let (author, mut asked) = as_sent(tenant, None, review)?;
    // Who may not write by now is let in by a person alone.
    let may_write =
        must_be_active(tenant, author.caller.user()).and_then(|()| not_suspended(tenant, &author));
    if may_write.is_err() {
        return Ok(false);
    }
    asked.promoted = Some(review.id);
    asked.unattended = true;
    write::caught_up(tenant, asked.strictness, asked.request.layer).await?;
    let Prepared::Commit(commit) = write::prepare(tenant, &author, &asked)? else { return Ok(false) };
    let event = Event::ReviewDecided { review: review.id, decision: Decision::Promoted };
    let mut drafts = vec![tenant.draft(Actor::SERVER, event, None)?];
    let owed = kept::owe(tenant, &author, &asked, commit.owes()).await?;
    let (versions, touches, must) = commit.parts(tenant, &author)?;
    drafts.extend(versions);
    let trail = tenant.server_row("promote", Decision::Promoted.as_str(), vec![review.id.to_string()]);
    let check = move |views: &Views, now: Timestamp| must.hold(views, now);
    let result = tenant.sequencer.propose(closing(drafts, touches, review.id, trail, check)).await;
    if result.is_err() {
        kept::owe_no_more(tenant, owed.as_ref());
    }
    result?;
    calibration::forget(tenant, review.id);
    tenant.announce(review, Decision::Promoted.as_str());
    Ok(true)
}

/// One yes of several.
async fn second(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    verdict: &Verdict,
    said: bool,
) -> Result<Written, Objection> {
    if said {
        return Err(Refusal::new(
            Code::ReviewDecided,
            "this person has said yes already; another one must too",
        )
        .into());
    }
    let event = Event::ReviewDecided { review: review.id, decision: Decision::Seconded };
    let reason = Payload::Reason(verdict.reason.clone());
    let draft = tenant.draft(call.caller.actor(), event, Some(&reason))?;
    let (word, ids) = (Decision::Seconded.as_str(), vec![review.id.to_string()]);
    let trail = tenant.row_because(call, "decide", word, ids, Some(&verdict.reason));
    let before = review.approvals.len();
    let id = review.id;
    let unchanged = move |views: &Views, _: Timestamp| {
        let now = views.reviews.find(id).map_or(usize::MAX, |review| review.approvals.len());
        if now == before { Ok(()) } else { Err(Objection::Stale) }
    };
    tenant.sequencer.propose(closing(vec![draft], Vec::new(), id, trail, unchanged)).await?;
    tenant.announce(review, Decision::Seconded.as_str());
    let seconded = tenant.shared.views.read().reviews.find(id).cloned().ok_or_else(not_found)?;
    Ok(write::deferred(deferral(tenant, &seconded)?))
}

/// What was said in a model's words is committed in those or not at all, whatever policies say by now.
fn as_seen(asked: &Asked, staged: &Staged) -> Result<(), Refusal> {
    let canonical = asked.request.content.canonical().ok();
    let hash = canonical.map(|bytes| hex(&sha256(&bytes)));
    if hash.as_deref() == staged.findings.get("content_hash").and_then(Value::as_str) {
        return Ok(());
    }
    let message = "policies have changed since, and with them what would be remembered; reject it and have it written again";
    Err(Refusal::new(Code::VersionConflict, message).at(GateName::Policy))
}

/// The write as its author sent it, with the person's yes.
fn revived(
    tenant: &Tenant,
    call: &Call,
    review: &Review,
    verdict: &Verdict,
) -> Result<(Call, Asked), Refusal> {
    let (author, mut asked) = as_sent(tenant, call.request_id.clone(), review)?;
    must_be_active(tenant, author.caller.user())?;
    asked.approval = Some(Approval {
        review: Some(review.id),
        approver: call.caller.user(),
        at: tenant.now(),
        reason: verdict.reason.clone(),
        on_conflict: verdict.on_conflict,
    });
    Ok((author, asked))
}

/// A write that waits, as it is judged when it comes back.
pub(crate) fn waiting_write(tenant: &Tenant, review: &Review) -> Result<Asked, Refusal> {
    as_sent(tenant, None, review).map(|(_, asked)| asked)
}

/// The write as its author sent it, in the words that were looked at.
pub(crate) fn as_sent(
    tenant: &Tenant,
    request_id: Option<String>,
    review: &Review,
) -> Result<(Call, Asked), Refusal> {
    let staged = Staged::read(tenant, review.lsn)?;
    let caller = author(&tenant.shared.views.read().identity, review.owner, review.agent, review.key)?;
    let author = Call { caller, request_id, trace: None };
    let draft = write::merged_anew(tenant, &author, staged.draft()?);
    let request = draft.clone().check()?;
    let came = (staged.owed, staged.submitted(review));
    let mut asked = Asked::of(tenant, &author, draft, request, came)?;
    if !asked.wishes.is_empty() {
        // In the words that the person saw: nobody is asked again.
        asked.settle(tenant, &author, staged.told.clone())?;
    }
    if staged.told != Told::default() {
        as_seen(&asked, &staged)?;
    }
    asked.counsel = Some(Counsel::of_findings(&staged.findings));
    Ok((author, asked))
}
