//! Relations that are kept apart, so that one that is proposed again is recognised (CAL-31, CAL-33).
//!
//! What a relation ties together is sealed beside its review; it is read from there when it is first needed, also after a
//! restart.

use super::again::{asked_before, remember};
use super::graph_score::Proposal;
use super::namespace_print;
use super::staged::NearCopies;
use crate::review;
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::id::{AgentId, ReviewId, UserId};
use tabellion_core::log::{MemoryKind, Party, Reason, TrustMove, Weighed};
use tabellion_core::trust::demotes;
use tabellion_core::view::{Class, ReviewState, Row, Standing, Tie};

/// Relations whose ends are kept at hand; of more, they are read again.
const KEPT_MAX: usize = 16_384;
/// Relations that one write is compared with.
const COMPARED_MAX: usize = 16_384;

/// What relations that are kept apart tie together; nothing for one whose content is gone.
#[derive(Default)]
pub(crate) struct StagedTies(Mutex<HashMap<ReviewId, Option<Tie>>>);

/// A relation that is scored again.
struct Subject {
    tie: Tie,
    class: Class,
    namespace: String,
    author: (UserId, AgentId),
    row: Option<Row>,
}

impl StagedTies {
    pub(super) fn forget(&self, review: ReviewId) {
        self.0.lock().remove(&review);
    }

    fn get(&self, tenant: &Tenant, id: ReviewId) -> Option<Tie> {
        if let Some(known) = self.0.lock().get(&id) {
            return known.clone();
        }
        let tie = review::proposed(tenant, id).and_then(|content| Tie::of(&content));
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(id, tie.clone());
        tie
    }
}

/// The held relations of a namespace that say the same.
pub(super) fn same(tenant: &Tenant, namespace: &str, party: Party, tie: &Tie) -> NearCopies {
    let (print, now) = (namespace_print(tenant, namespace), tenant.now());
    let waiting: Vec<(ReviewId, Party)> = {
        let views = tenant.shared.views.read();
        let here = |space: u32| views.trust.space(space).is_some_and(|space| space.namespace == print);
        let waits = |id: ReviewId| {
            views.reviews.find(id).is_some_and(|one| one.state_at(now) == ReviewState::Pending)
        };
        let staged = views.trust.all_staged().filter(|(id, staged)| {
            staged.standing.kind == MemoryKind::Relations && here(staged.standing.space) && waits(*id)
        });
        staged.map(|(id, staged)| (id, staged.standing.party)).take(COMPARED_MAX).collect()
    };
    let ties = &tenant.calibrator.staged_ties;
    let said = waiting.into_iter().filter(|(id, _)| ties.get(tenant, *id).as_ref() == Some(tie));
    let (own, others): (Vec<_>, Vec<_>) = said.partition(|(_, by)| *by == party);
    let own = own.into_iter().map(|(id, _)| id).collect();
    NearCopies { own, other: others.first().map(|(id, _)| *id) }
}

/// What walks that have not spoken of it yet say of a relation (CAL-33).
pub(super) fn looked_at_again(tenant: &Tenant, weighed: Weighed, standing: &Standing) -> Option<TrustMove> {
    let subject = match weighed {
        Weighed::Version(_) => committed(tenant, weighed)?,
        Weighed::Staged(review) => waiting(tenant, review, standing)?,
    };
    let proposal = Proposal {
        tenant,
        author: subject.author,
        namespace: &subject.namespace,
        round: None,
        class: &subject.class,
        ties: std::slice::from_ref(&subject.tie),
        of_copy: false,
    };
    let again = proposal.again(subject.row, &asked_before(tenant, weighed, standing), standing.lsn)?;
    remember(tenant, weighed, again.prints.into_iter());
    if again.mass <= 0.0 {
        return None;
    }
    let (score, detect) = (again.scored.rho, Some(again.scored.detect));
    let stored = standing.stored.with(score, again.mass);
    let demoted = subject.row.is_some() && demotes(stored, again.threshold);
    let (reason, mass, parties) = (Reason::Recalibrated, again.mass, again.parties);
    Some(TrustMove { weighed, reason, score, mass, parties, detect, demoted, agreement: None })
}

fn committed(tenant: &Tenant, weighed: Weighed) -> Option<Subject> {
    let Weighed::Version(id) = weighed else { return None };
    let (row, class, namespace, author, lsn) = {
        let views = tenant.shared.views.read();
        let version = views.items.find_version(id)?;
        let class = views.items.class_of(version)?.clone();
        let namespace = views.items.namespace_of(version).to_owned();
        (views.items.row_of(id)?, class, namespace, (version.owner, version.agent?), version.lsn)
    };
    let tie = Tie::of(&crate::read::content(tenant, lsn).ok()?.0)?;
    Some(Subject { tie, class, namespace, author, row: Some(row) })
}

fn waiting(tenant: &Tenant, review: ReviewId, standing: &Standing) -> Option<Subject> {
    let tie = tenant.calibrator.staged_ties.get(tenant, review)?;
    let (mut class, namespace, author) = review::place(tenant, review)?;
    let views = tenant.shared.views.read();
    let space = views.trust.space(standing.space)?;
    // Where it was scored first, also when the round is over.
    (class.agents, class.resources) = (space.agents.clone(), space.resources.clone());
    drop(views);
    Some(Subject { tie, class, namespace, author, row: None })
}
