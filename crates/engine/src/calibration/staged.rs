//! Writes that are kept apart: what they mean, so that nearly the same is recognised, and what speaks for them since (CAL-31, 33).

use super::again::{evidence_of, promote_if_borne_out};
use super::session::Session;
use super::{counted, namespace_print};
use crate::Call;
use crate::embedding::Vector;
use crate::reply::Written;
use crate::sequencer::{Objection, Proposal};
use crate::tenant::Tenant;
use crate::{review, write};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tabellion_core::error::Refusal;
use tabellion_core::id::{AgentId, ReviewId, UserId};
use tabellion_core::log::{Actor, Event, MemoryKind, Party, Reason, TrustMove, Weighed};
use tabellion_core::rank::dot;
use tabellion_core::trust::Evidence;
use tabellion_core::view::Class;

/// Nearer than this is nearly the same (CAL-31).
const NEAR_COPY: f32 = 0.95;
/// Writes whose meaning is kept at hand; of more, the oldest are read again when their turn comes.
const KEPT_MAX: usize = 16_384;

/// A write that is kept apart.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) vector: Vector,
    pub(super) class: Class,
    pub(super) namespace: String,
    pub(super) author: (UserId, AgentId),
}

/// What writes that are kept apart mean.
#[derive(Default)]
pub(crate) struct StagedVectors(Mutex<BTreeMap<ReviewId, Arc<Subject>>>);

impl StagedVectors {
    pub(super) fn get(&self, review: ReviewId) -> Option<Arc<Subject>> {
        self.0.lock().get(&review).cloned()
    }

    pub(super) fn put(&self, review: ReviewId, subject: Subject) {
        let mut kept = self.0.lock();
        if kept.len() < KEPT_MAX {
            kept.insert(review, Arc::new(subject));
        }
    }
}

/// Remembers what a write means that is kept apart from now on.
pub(crate) fn keep(tenant: &Tenant, call: &Call, review: ReviewId, namespace: &str, session: &Session) {
    counted::staged(session);
    let Some(class) = session.class.get().cloned() else { return };
    let author = (call.caller.user(), call.caller.agent());
    let (vector, namespace) = (Arc::clone(&session.vector), namespace.to_owned());
    tenant.calibrator.staged.put(review, Subject { vector, class, namespace, author });
}

/// Forgets one that is decided.
pub(crate) fn forget(tenant: &Tenant, review: ReviewId) {
    tenant.calibrator.staged.0.lock().remove(&review);
}

/// Nearly the same as something that is kept apart.
pub(super) enum Copied {
    /// By the same party: it gains nothing by trying again.
    BySame(ReviewId),
    /// By another one: that speaks for both.
    ByOther(ReviewId),
}

/// What is kept apart in a namespace and says nearly the same.
pub(super) fn near_copy(tenant: &Tenant, namespace: &str, party: Party, vector: &[f32]) -> Option<Copied> {
    let print = namespace_print(tenant, namespace);
    let views = tenant.shared.views.read();
    let kept = tenant.calibrator.staged.0.lock();
    let mut other = None;
    for (review, subject) in kept.iter() {
        let Some(staged) = views.trust.staged(*review) else { continue };
        let here = views.trust.space(staged.standing.space).is_some_and(|space| space.namespace == print);
        if !here || dot(&subject.vector, vector) < NEAR_COPY {
            continue;
        }
        if staged.standing.party == party {
            return Some(Copied::BySame(*review));
        }
        other.get_or_insert(Copied::ByOther(*review));
    }
    other
}

/// Another party said nearly the same as what is kept apart; that counts for it if everyone who would see it may see that.
pub(super) async fn corroborate(tenant: &Tenant, call: &Call, review: ReviewId, party: Party) {
    let moved = {
        let views = tenant.shared.views.read();
        let staged = views.trust.staged(review);
        let space = staged.and_then(|staged| views.trust.space(staged.standing.space));
        let Some(space) = space.filter(|space| space.agents.contains(&call.caller.agent())) else { return };
        let known = views.trust.known(MemoryKind::Items, |other| space.dominates(other));
        let weight = known.weight(call.caller.agent());
        let (score, mass) = Evidence::Corroborated { weight }.parts();
        let (weighed, reason) = (Weighed::Staged(review), Reason::Corroborated);
        TrustMove { weighed, reason, score, mass, parties: vec![party], detect: None, demoted: false }
    };
    if let Err(refusal) = moves(tenant, vec![moved]).await {
        tracing::warn!(code = refusal.code.as_str(), "what speaks for a write that waits could not be noted");
        return;
    }
    promote_if_borne_out(tenant, review).await;
}

/// Puts evidence into the log.
pub(super) async fn moves(tenant: &Tenant, all: Vec<TrustMove>) -> Result<(), Refusal> {
    if all.is_empty() {
        return Ok(());
    }
    let ids = all.iter().map(evidence_of).collect();
    let drafts = all.into_iter().map(|one| tenant.draft(Actor::SERVER, Event::TrustMoved(one), None));
    let drafts = drafts.collect::<Result<Vec<_>, _>>()?;
    let trail = tenant.server_row("weigh", "ok", ids);
    let proposal = Proposal { drafts, touches: Vec::new(), check: Box::new(|_, _| Ok(())), trail };
    match tenant.sequencer.propose(proposal).await {
        Ok(_) => Ok(()),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(write::keeps_changing()),
    }
}

/// The answer to a write that is nearly the same as one that its party has waiting.
pub(crate) async fn attached(tenant: &Tenant, call: &Call, review: ReviewId) -> Result<Written, Refusal> {
    let known = tenant.shared.views.read().reviews.find(review).cloned().ok_or_else(Refusal::not_found)?;
    let deferral = review::deferral(tenant, &known)?;
    let row = tenant.row(call, write::ACTION, "deferred", vec![review.to_string()]);
    tenant.sequencer.trail_now(row).await?;
    Ok(write::deferred(deferral))
}
