//! What calibration did and how long it took, for the metrics. No decision depends on it.

use super::session::Session;
use crate::Call;
use crate::tenant::Tenant;
use std::time::{Duration, Instant};
use tabellion_core::gate::Weighing;
use tabellion_core::item::Content;
use tabellion_core::view::{Class, ReviewState};

/// What a score led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It reached what it had to.
    Committed,
    /// It did not.
    Staged,
    /// It could not have been kept back.
    Advisory,
}

impl Outcome {
    pub(super) fn of(weighing: &Weighing) -> Self {
        match (weighing.calibration.gated, weighing.admitted) {
            (false, _) => Self::Advisory,
            (true, true) => Self::Committed,
            (true, false) => Self::Staged,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Staged => "staged",
            Self::Advisory => "advisory",
        }
    }

    fn count(self) {
        metrics::counter!("tabellion_memory_calibrations_total", "outcome" => self.as_str()).increment(1);
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// A part of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// How the write lies among what is known.
    Density,
    /// What it would change in what others find.
    Alignment,
    /// Who may speak, how credible they are, and what has to be reached.
    Gate,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Density, Self::Alignment, Self::Gate];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Density => "density",
            Self::Alignment => "alignment",
            Self::Gate => "gate",
        }
    }
}

/// How long the parts of one score took.
pub(super) struct Laps {
    since: Instant,
    spent: [Duration; 3],
}

impl Laps {
    pub(super) fn begin() -> Self {
        Self { since: now(), spent: [Duration::ZERO; 3] }
    }

    /// What was done since the last end was this part.
    pub(super) fn end(&mut self, stage: Stage) {
        let at = now();
        if let Some(spent) = self.spent.get_mut(stage as usize) {
            *spent += at - self.since;
        }
        self.since = at;
    }

    pub(super) fn note(&self) {
        for (stage, spent) in Stage::ALL.into_iter().zip(self.spent) {
            let stage = stage.as_str();
            metrics::histogram!("tabellion_memory_calibration_stage_seconds", "stage" => stage)
                .record(spent.as_secs_f64());
        }
    }
}

/// Scores a write whose turn it is, and notes how long that took.
pub(crate) fn score(
    tenant: &Tenant,
    call: &Call,
    what: (&str, &Content),
    session: &Session,
    class: &Class,
) -> Option<Weighing> {
    let since = now();
    let mut weighing = match session.relation.as_deref() {
        Some(joined) => super::together::weighed(tenant, call, what.0, (session, joined), class)?,
        None => super::score::score(tenant, call, what, session, class)?,
    };
    if session.failed_before {
        (weighing.admitted, weighing.calibration.gated) = (false, true);
    }
    metrics::histogram!("tabellion_memory_calibration_seconds").record(since.elapsed().as_secs_f64());
    // A write may be scored more than once before it is settled; the last score is what it was settled by.
    *session.weighing.lock() = Some(Box::new(weighing.clone()));
    Some(weighing)
}

/// A write was committed. One whose copy for others did not fit is counted when that is kept apart.
pub(super) fn committed(session: &Session) {
    if let Some(outcome) = session.outcome().filter(|outcome| *outcome != Outcome::Staged) {
        outcome.count();
    }
}

/// A write waits. One that does so for another reason is not kept apart.
pub(super) fn staged(session: &Session) {
    if let Some(outcome) = session.outcome().filter(|outcome| *outcome == Outcome::Staged) {
        outcome.count();
    }
}

/// A write that was kept apart was let in.
pub(super) fn promoted() {
    metrics::counter!("tabellion_memory_promotions_total").increment(1);
}

/// Writes that are kept apart in a tenant: scored below what they had to reach, and not decided.
pub(crate) fn kept_apart(tenant: &Tenant) -> usize {
    let (views, now) = (tenant.shared.views.read(), tenant.now());
    let waits =
        |review| views.reviews.find(review).is_some_and(|one| one.state_at(now) == ReviewState::Pending);
    let apart = views
        .trust
        .all_staged()
        .filter(|(_, staged)| staged.standing.audited && staged.standing.rho < staged.standing.threshold)
        .filter(|(review, _)| waits(*review));
    apart.count()
}
