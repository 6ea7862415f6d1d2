//! An author changes a held write: the old review ends in the very commit in which what it has become is staged or committed.
//!
//! Invariant (an edit loses nothing): until that commit the old review waits on, whatever stops the new text: a gate, a rate, a
//! crash.

use super::{COMPARED_MAX, Staged, closing, decided, end, find_named, not_found};
use crate::Call;
use crate::reply::Written;
use crate::sequencer::{Draft, Objection};
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Held, OnConflict, WriteDraft, WriteRequest, is_respelt};
use tabellion_core::id::ReviewId;
use tabellion_core::item::Content;
use tabellion_core::log::{Decision, Event, Payload};
use tabellion_core::text::Analyser;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, ReviewState, Views};

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

/// The author takes a held write back, or the person whose memory it is for (AM-9).
pub(crate) async fn withdraw(tenant: &Tenant, call: &Call, id: &str) -> Result<(), Refusal> {
    let review = find_named(tenant, call, id)?;
    let caller = &call.caller;
    let is_author = review.agent == caller.agent();
    if review.owner != caller.user() || !(is_author || caller.is_person()) {
        return Err(not_found());
    }
    let why = if is_author { "withdrawn by its author" } else { "withdrawn by its user" };
    end(tenant, call, &review, Decision::Withdrawn, why, "withdraw").await?;
    tenant.announce(&review, Decision::Withdrawn.as_str());
    Ok(())
}

fn own(tenant: &Tenant, call: &Call, id: &str) -> Result<Review, Refusal> {
    let review = find_named(tenant, call, id)?;
    let caller = &call.caller;
    let is_author = review.owner == caller.user() && review.agent == caller.agent();
    if is_author { Ok(review) } else { Err(not_found()) }
}

/// The entry that ends the review of a write that was changed.
pub(crate) fn ending(tenant: &Tenant, call: &Call, id: ReviewId) -> Result<Draft, Refusal> {
    let event = Event::ReviewDecided { review: id, decision: Decision::Withdrawn };
    let reason = Payload::Reason("its author wrote it anew".to_owned());
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
        Ok(_) => ended(tenant, id),
        Err(Objection::Refused(refusal)) => return Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => return Err(write::keeps_changing()),
    }
    Ok(())
}

/// The waiting write of the same author that a held write words anew or corrects (AM-10): it becomes the next version for the
/// reviewer. What calibration keeps apart waits for others instead, and is left alone.
pub(super) fn earlier_wording(tenant: &Tenant, call: &Call, asked: &Asked, held: &Held) -> Option<ReviewId> {
    let is_apart = |held: &Held| held.causes.iter().any(|cause| cause.code == Code::CalibrationStaged);
    if asked.owed.is_some() || is_apart(held) {
        return None;
    }
    let now = tenant.now();
    let author = (call.caller.user(), call.caller.agent());
    let waiting: Vec<Review> = {
        let views = tenant.shared.views.read();
        let waits = |review: &&Review| {
            (review.owner, review.agent) == author
                && (review.layer, review.tier) == (held.request.layer, held.tier)
                && review.state_at(now) == ReviewState::Pending
        };
        let mut waiting: Vec<Review> = views.reviews.all().filter(waits).cloned().collect();
        waiting.sort_by_key(|review| std::cmp::Reverse(review.lsn));
        waiting.truncate(COMPARED_MAX);
        waiting
    };
    let claim = |request: &WriteRequest, at: Timestamp| {
        Claim::of(&request.content, &mut Analyser::default()).stored(call.caller.user(), at, request.layer)
    };
    // One key alone makes no two statements about the same thing, unless it is what a bare value answers.
    let stated = |request: &WriteRequest, at: Timestamp| {
        let own = claim(&without_key(request), at);
        if own.is_bare() { claim(request, at) } else { own }
    };
    let new = (claim(&held.request, asked.submitted), stated(&held.request, asked.submitted));
    let keeps_both = asked.on_conflict() == Some(OnConflict::KeepBoth);
    let is_worded_anew = |review: &&Review| {
        let Ok(staged) = Staged::read(tenant, review.lsn) else { return false };
        let submitted = staged.submitted(review);
        // What is to stand beside another statement corrects none.
        let says = |earlier: &WriteRequest| {
            let (old, later) = (claim(earlier, submitted), &held.request);
            let corrects = !keeps_both
                && !differ_in_hours_alone(&earlier.content.text, &later.content.text)
                && contradiction(&stated(earlier, submitted), &new.1, SIGMA_TOPIC).is_some();
            is_next_wording((earlier, &old), (later, &new.0), corrects)
        };
        let earlier = staged.draft().and_then(WriteDraft::check);
        submitted <= asked.submitted
            && earlier.is_ok_and(|earlier| says(&earlier))
            && !super::is_kept_apart(tenant, review)
    };
    waiting.iter().find(is_worded_anew).map(|review| review.id)
}

/// Whether a held write is the same operation as another write, whatever the words of either: on the same version of the same item, with
/// the same key, kind, fields, tier, layer, namespace and `on_conflict`. Two that differ in any of these are two writes, and neither stands for the other.
pub(crate) fn is_same_operation(tenant: &Tenant, asked: &Asked, id: ReviewId) -> bool {
    let Some(review) = tenant.shared.views.read().reviews.find(id).cloned() else { return false };
    let Ok(staged) = Staged::read(tenant, review.lsn) else { return false };
    let both = (staged.draft().and_then(WriteDraft::check), asked.body.clone().check());
    let (Ok(earlier), Ok(later)) = both else { return false };
    let frame = |request: &WriteRequest| Content { text: String::new(), ..request.content.clone() };
    let place = |request: &WriteRequest| (request.layer, request.tier, request.namespace.clone());
    let target = |request: &WriteRequest| (request.replaces, request.expected_version, request.on_conflict);
    staged.owed.is_some() == asked.owed.is_some()
        && target(&earlier) == target(&later)
        && place(&earlier) == place(&later)
        && frame(&earlier) == frame(&later)
}

/// Whether a write says anew or corrects what another one says in the same place. What has another key, or the same text and other
/// fields, is about another thing.
fn is_next_wording(
    (earlier, old): (&WriteRequest, &Claim),
    (later, new): (&WriteRequest, &Claim),
    corrects: bool,
) -> bool {
    let place =
        |request: &WriteRequest| (request.namespace.clone(), request.content.kind.clone(), request.tier);
    if place(earlier) != place(later) || earlier.is_utterance() || later.is_utterance() {
        return false;
    }
    let (before, after) = (&earlier.content, &later.content);
    let is_another_key = before.key != after.key && later.replaces.is_none();
    if is_another_key || (before.text == after.text && before.fields != after.fields) {
        return false;
    }
    // The same write at the same time is a replay and gets the same review.
    if earlier.content == later.content {
        return false;
    }
    match (earlier.replaces, later.replaces) {
        (Some(one), Some(other)) => return one == other,
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => return false,
    }
    corrects || old.says_the_same(new) || is_respelt(&earlier.content.text, &later.content.text)
}

/// Puts it on the audit log that a write took the place of a waiting one, and announces that the review of that has ended.
pub(crate) fn took_its_place(tenant: &Tenant, call: &Call, edits: Option<ReviewId>, by: Option<ReviewId>) {
    let Some(id) = edits else { return };
    let ids = [id].into_iter().chain(by).map(|id| id.to_string()).collect();
    // The row of the write itself names both, too.
    let _lost = tenant.sequencer.trail(tenant.row(call, "withdraw", Decision::Withdrawn.as_str(), ids));
    ended(tenant, id);
}

/// Announces that the review of a write that was changed has ended.
fn ended(tenant: &Tenant, id: ReviewId) {
    let review = tenant.shared.views.read().reviews.find(id).cloned();
    if let Some(review) = review {
        tenant.announce(&review, Decision::Withdrawn.as_str());
    }
}

/// What a content says apart from its key.
fn without_key(request: &WriteRequest) -> WriteRequest {
    let mut request = request.clone();
    request.content.key = None;
    request
}

/// Whether two texts are the same but for times of day: those are two occasions.
fn differ_in_hours_alone(one: &str, other: &str) -> bool {
    let rest = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        words.filter(|word| !is_hour(word)).map(str::to_lowercase).collect()
    };
    one != other && rest(one) == rest(other)
}

/// Whether a word is a time of day: "16:00", "4pm", "4".
fn is_hour(word: &str) -> bool {
    let word = word.to_lowercase();
    let number = word.trim_end_matches("am").trim_end_matches("pm").trim_end_matches('h');
    let parts: Vec<&str> = number.split([':', '.']).collect();
    let is_part = |part: &&str| (1..=2).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
    (parts.len() > 1 || number.len() < word.len()) && parts.iter().all(is_part)
}
