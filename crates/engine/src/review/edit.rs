//! An author changes a held write: the old review ends in the very commit in which what it has become is staged or committed.
//!
//! Invariant (an edit loses nothing): until that commit the old review waits on, whatever stops the new text: a gate, a rate, a
//! crash.

use super::{Staged, closing, decided, own};
use crate::Call;
use crate::reply::Written;
use crate::sequencer::{Draft, Objection};
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use tabellion_core::error::Refusal;
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::ReviewId;
use tabellion_core::log::{Decision, Event, Payload};
use tabellion_core::time::Timestamp;
use tabellion_core::view::Views;

/// The author changes a held write: what it has become goes through the gates anew.
pub(crate) async fn edit(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    draft: WriteDraft,
) -> Result<Written, Refusal> {
    let review = own(tenant, call, id)?;
    if let Err(refusal) = still_waits(tenant, review.id) {
        return Err(tenant.refused(call, write::ACTION, vec![review.id.to_string()], refusal).await);
    }
    let item = Staged::read(tenant, review.lsn)?.item;
    write::edit(tenant, call, WriteDraft { item, ..draft }, review.id).await
}

/// The entry that ends the review of a write that was changed.
pub(crate) fn ending(tenant: &Tenant, call: &Call, id: ReviewId) -> Result<Draft, Refusal> {
    let event = Event::ReviewDecided { review: id, decision: Decision::Withdrawn };
    let reason = Payload::Reason("changed by its author".to_owned());
    tenant.draft(call.caller.actor(), event, Some(&reason))
}

/// A review that is to end must wait.
pub(crate) fn must_wait(views: &Views, id: ReviewId, now: Timestamp) -> Result<(), Objection> {
    let review = views.reviews.find(id).ok_or(Objection::Stale)?;
    if review.decided.is_some() { Err(decided(review.state_at(now)).into()) } else { Ok(()) }
}

fn still_waits(tenant: &Tenant, id: ReviewId) -> Result<(), Refusal> {
    match must_wait(&tenant.shared.views.read(), id, tenant.now()) {
        Err(Objection::Refused(refusal)) => Err(refusal),
        _ => Ok(()),
    }
}

/// Why a changed write was refused: what a person decided on meanwhile cannot be changed, whatever a gate says.
pub(crate) fn why(tenant: &Tenant, asked: &Asked, refusal: Refusal) -> Refusal {
    let waits = asked.edits.map_or(Ok(()), |id| still_waits(tenant, id));
    waits.err().unwrap_or(refusal)
}

/// Ends the review of a write that was changed into something that is memory, or under review, already.
pub(crate) async fn give_way(tenant: &Tenant, call: &Call, asked: &Asked) -> Result<(), Refusal> {
    let Some(id) = asked.edits else { return Ok(()) };
    let word = Decision::Withdrawn.as_str();
    let trail = tenant.row(call, "withdraw", word, vec![id.to_string()]);
    let proposal = closing(vec![ending(tenant, call, id)?], Vec::new(), id, trail, |_, _| Ok(()));
    match tenant.sequencer.propose(proposal).await {
        Ok(_) => ended(tenant, asked),
        Err(Objection::Refused(refusal)) => return Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => return Err(write::keeps_changing()),
    }
    Ok(())
}

/// Announces that the review of a write that was changed has ended.
pub(crate) fn ended(tenant: &Tenant, asked: &Asked) {
    let review = asked.edits.and_then(|id| tenant.shared.views.read().reviews.find(id).cloned());
    if let Some(review) = review {
        tenant.announce(&review, Decision::Withdrawn.as_str());
    }
}
