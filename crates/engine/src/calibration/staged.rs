//! Writes that are kept apart: what they mean, so that nearly the same is recognised, and what speaks for them since (CAL-31, 33).

use super::again::{evidence_of, promote_if_borne_out};
use super::counted::{self, Outcome};
use super::session::Session;
use crate::Call;
use crate::embedding::Vector;
use crate::reply::Written;
use crate::sequencer::{Objection, Proposal};
use crate::tenant::Tenant;
use crate::write::Asked;
use crate::{review, write};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::id::{AgentId, ReviewId, UserId};
use tabellion_core::log::{Actor, Calibration, Event, MemoryKind, Party, Reason, TrustMove, Weighed};
use tabellion_core::rank::dot;
use tabellion_core::trust::Evidence;
use tabellion_core::view::{Class, Review, StagedTrust};

/// Nearer than this is nearly the same (CAL-31).
const NEAR_COPY: f32 = 0.95;
/// Writes whose meaning is kept at hand; beyond that one of the agent that has the most of them gives way.
pub(super) const KEPT_MAX: usize = 16_384;

/// A write that is kept apart.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) vector: Vector,
    pub(super) class: Class,
    pub(super) namespace: String,
    pub(super) author: (UserId, AgentId),
}

/// What writes that are kept apart mean; nothing for one that cannot be read any more.
#[derive(Default)]
pub(crate) struct StagedVectors {
    kept: Mutex<BTreeMap<ReviewId, Option<Arc<Subject>>>>,
    /// Whether some that were there before the start are not known again yet.
    pub(super) behind: AtomicBool,
}

impl StagedVectors {
    pub(super) fn get(&self, review: ReviewId) -> Option<Arc<Subject>> {
        self.kept.lock().get(&review).cloned().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.kept.lock().len()
    }

    pub(super) fn has(&self, review: ReviewId) -> bool {
        self.kept.lock().contains_key(&review)
    }

    /// Remembers one; `waits` tells which still do.
    pub(super) fn put(&self, review: ReviewId, subject: Option<Subject>, waits: impl Fn(ReviewId) -> bool) {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX {
            kept.retain(|review, _| waits(*review));
        }
        if kept.len() >= KEPT_MAX
            && let Some(one) = of_the_busiest(&kept)
        {
            kept.remove(&one);
        }
        kept.insert(review, subject.map(Arc::new));
    }
}

/// One of the writes of the agent that has the most of them.
fn of_the_busiest(kept: &BTreeMap<ReviewId, Option<Arc<Subject>>>) -> Option<ReviewId> {
    let mut counts: HashMap<Option<AgentId>, (usize, ReviewId)> = HashMap::new();
    for (review, subject) in kept {
        let agent = subject.as_ref().map(|subject| subject.author.1);
        counts.entry(agent).or_insert((0, *review)).0 += 1;
    }
    counts.into_values().max_by_key(|(count, review)| (*count, *review)).map(|(_, review)| review)
}

/// Remembers what a write means that is kept apart from now on.
pub(crate) fn keep(tenant: &Tenant, call: &Call, review: ReviewId, namespace: &str, session: &Session) {
    counted::staged(session);
    let Some(class) = session.class.get().cloned().filter(|_| session.relation.is_none()) else { return };
    let author = (call.caller.user(), call.caller.agent());
    let Some(vector) = session.vector.as_ref().map(Arc::clone) else { return };
    let namespace = namespace.to_owned();
    let subject = Subject { vector, class, namespace, author };
    let views = tenant.shared.views.read();
    tenant.calibrator.staged.put(review, Some(subject), |one| views.trust.staged(one).is_some());
}

/// Forgets one that is decided.
pub(crate) fn forget(tenant: &Tenant, review: ReviewId) {
    tenant.calibrator.staged.kept.lock().remove(&review);
    tenant.calibrator.staged_ties.forget(review);
}

/// The held writes that say nearly the same as a write.
#[derive(Default)]
pub(super) struct NearCopies {
    /// Those of the same party.
    pub(super) own: Vec<ReviewId>,
    /// One of another party: that speaks for both.
    pub(super) other: Option<ReviewId>,
}

impl NearCopies {
    /// The held write of the same party that this one repeats: the same operation on the same item in nearly the same words. Nothing
    /// is gained by trying again (CAL-31). A write for another item, key or tier is another write, and waits for itself (AM-10).
    pub(super) fn repeated(&self, tenant: &Tenant, asked: &Asked) -> Option<ReviewId> {
        self.own.iter().copied().find(|id| review::is_same_operation(tenant, asked, *id))
    }

    /// Whether the same party has nearly the same kept apart because of its score. Then this write is kept apart as well: another item
    /// or key gives the same words no better score.
    pub(super) fn failed_before(&self, tenant: &Tenant) -> bool {
        let find = |id: &ReviewId| tenant.shared.views.read().reviews.find(*id).cloned();
        self.own.iter().filter_map(find).any(|one| review::is_kept_apart(tenant, &one))
    }
}

/// The held writes of a namespace that say nearly the same.
pub(super) fn near_copies(tenant: &Tenant, namespace: &str, party: Party, vector: &[f32]) -> NearCopies {
    let views = tenant.shared.views.read();
    let kept = tenant.calibrator.staged.kept.lock();
    let mut copies = NearCopies::default();
    for (review, subject) in kept.iter() {
        let near = |subject: &Arc<Subject>| dot(&subject.vector, vector) >= NEAR_COPY;
        if !subject.as_ref().is_some_and(|subject| subject.namespace == namespace && near(subject)) {
            continue;
        }
        let Some(staged) = views.trust.staged(*review) else { continue };
        match staged.standing.party == party {
            true => copies.own.push(*review),
            false => drop(copies.other.get_or_insert(*review)),
        }
    }
    copies
}

/// Refuses an agent that has as many writes kept apart as it may: somebody has to look at them first.
pub(super) fn has_room(tenant: &Tenant, call: &Call) -> Result<(), Refusal> {
    let most = tenant.governance.calibration.staged_max as usize;
    let views = tenant.shared.views.read();
    let of_agent = |review| {
        let found: Option<&Review> = views.reviews.find(review);
        found.is_some_and(|one| one.agent == call.caller.agent() && one.decided.is_none())
    };
    if views.trust.all_staged().filter(|(review, _)| of_agent(*review)).take(most).count() < most {
        return Ok(());
    }
    let message = format!(
        "{most} writes of this agent are kept apart already; withdraw some, or ask a person to decide on them"
    );
    Err(Refusal::new(Code::DeferralsFull, message).at(GateName::Calibration))
}

/// A write that says nearly the same as what another party has waiting is settled. If it was let in, or if most say so by now, that
/// speaks for the other in full. If it was not, it is one more look at the same thing, and counts as such: half of all may be accomplices,
/// who would vouch for each other's lies. Everyone who would see what waits must see what speaks for it.
pub(crate) async fn echoed(tenant: &Tenant, call: &Call, session: &Session) {
    let (Some((review, party)), Some(weighing)) = (session.echo, session.weighing.lock().clone()) else {
        return;
    };
    let moved = {
        let views = tenant.shared.views.read();
        let Some(staged) = views.trust.staged(review) else { return };
        let space = views.trust.space(staged.standing.space);
        let Some(space) = space.filter(|space| space.agents.contains(&call.caller.agent())) else { return };
        let known = views.trust.known(MemoryKind::Items, |other| space.dominates(other));
        let weight = known.weight(call.caller.agent());
        let Calibration { rho, agreement, .. } = weighing.calibration;
        let (evidence, agreement) = match Outcome::of(&weighing) {
            Outcome::Committed => (Evidence::Corroborated { weight }, None),
            Outcome::Staged if most_say_so(staged, party, session) => {
                (Evidence::Corroborated { weight }, None)
            }
            Outcome::Staged => (Evidence::Recalibrated { score: rho, mass: weight }, agreement),
            Outcome::Advisory => return,
        };
        let (score, mass) = evidence.parts();
        let (weighed, reason) = (Weighed::Staged(review), Reason::Corroborated);
        let parties = vec![party];
        TrustMove { weighed, reason, score, mass, parties, detect: None, demoted: false, agreement }
    };
    if let Err(refusal) = moves(tenant, vec![moved]).await {
        tracing::warn!(code = refusal.code.as_str(), "what speaks for a write that waits could not be noted");
        return;
    }
    promote_if_borne_out(tenant, review).await;
}

/// Whether more than half of all parties say the same, the one that says it now among them.
fn most_say_so(staged: &StagedTrust, party: Party, session: &Session) -> bool {
    let own = staged.standing.party;
    let said: BTreeSet<Party> = staged.said.iter().copied().chain([own, party]).collect();
    let all = match session.round.as_ref().filter(|round| round.by_person) {
        Some(round) => round.agents.len(),
        None => staged.parties.iter().chain([&own, &party]).collect::<BTreeSet<_>>().len(),
    };
    2 * said.len() > all
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
