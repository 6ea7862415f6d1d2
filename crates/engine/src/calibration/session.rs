//! A write that is about to be scored. In a round they take turns in a namespace, each against what the one before it left (CAL-42).

use super::counted::{self, Outcome};
use super::rounds::Round;
use super::staged::{self, NearCopies};
use super::together::{self, Joined};
use super::{namespace_print, revived, score};
use crate::Call;
use crate::embedding::Vector;
use crate::options::CalibrationMode;
use crate::tenant::Tenant;
use crate::vectors::Vectors;
use crate::write::Asked;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tabellion_core::canonical::Hash;
use tabellion_core::error::Refusal;
use tabellion_core::gate::Weighing;
use tabellion_core::id::ReviewId;
use tabellion_core::item::{Content, RELATION, Tier, TierWish};
use tabellion_core::log::Party;
use tabellion_core::view::Class;
use tokio::sync::OwnedMutexGuard;

/// The share of the wait for a vector that a write outside of a round waits at most: one in so many.
const PATIENCE: u64 = 5;
/// After a wait in vain, one write in so many waits again.
const TRIES_AGAIN: u32 = 16;
/// Namespaces whose turns are told apart.
const TURNS_MAX: usize = 4_096;
/// How long a write waits for those before it.
const TURN_WAIT: Duration = Duration::from_secs(5);
/// How long a write waits for the vectors of those before it.
const VECTORS_WAIT: Duration = Duration::from_millis(100);

/// Whose turn it is, by namespace.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<Hash, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits for a turn, but not for ever: one whose predecessor does not get on is scored against what is there.
    pub(super) async fn wait(&self, namespace: Hash) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut turns = self.0.lock();
            if turns.len() >= TURNS_MAX {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(namespace).or_default())
        };
        tokio::time::timeout(TURN_WAIT, turn.lock_owned()).await.ok()
    }
}

/// A write whose turn it is.
pub(crate) struct Session {
    /// Whether the copy for others is scored: what its user keeps does not hang on that.
    pub(crate) of_copy: bool,
    /// What it means; nothing of a relation, and where no model answered in time.
    pub(crate) vector: Option<Vector>,
    pub(crate) round: Option<Arc<Round>>,
    /// The class that it was scored as.
    pub(super) class: OnceLock<Class>,
    /// How it was scored last.
    pub(super) weighing: Mutex<Option<Box<Weighing>>>,
    /// What another party has waiting that says nearly the same, and who says it now.
    pub(super) echo: Option<(ReviewId, Party)>,
    /// Whether its party has nearly the same kept apart for another item or key: then it is kept apart as well.
    pub(super) failed_before: bool,
    /// Its part in what it is written with, if it is a relation.
    pub(crate) relation: Option<Box<Joined>>,
    pub(super) turn: Mutex<Option<OwnedMutexGuard<()>>>,
}

impl Session {
    /// What its score led to.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.weighing.lock().as_deref().map(Outcome::of)
    }

    /// Its score is in the log: the next one may have its turn, however long this one waits for a person.
    pub(crate) fn done(&self) {
        drop(self.turn.lock().take());
        if let Some(joined) = &self.relation {
            joined.done();
        }
    }
}

/// What an agent committed in a round is part of what it works on there.
pub(crate) async fn committed(tenant: &Tenant, call: &Call, asked: &Asked) {
    let Some(session) = &asked.session else { return };
    counted::committed(session);
    if let Some(joined) = session.relation.as_deref() {
        together::committed(tenant, call, session, joined).await;
    } else if let (Some(round), Some(vector)) = (&session.round, &session.vector) {
        round.wrote(call.caller.agent(), vector);
    }
    session.done();
    staged::echoed(tenant, call, session).await;
}

/// What becomes of a write that is about to be scored.
pub(crate) enum Begun {
    /// Nobody else sees it, or it does not last: it is not scored.
    Unscored,
    /// It is scored: in a round when its turn has come, elsewhere at once.
    Turn(Session),
    /// The same party sent the same operation in nearly the same words before, and that waits: it is not scored again (CAL-31).
    Attached(ReviewId),
    /// Too many writes of its agent wait already.
    Full(Refusal),
}

/// What of a write others would see, or all who take part in its round, and where.
pub(crate) fn subject(asked: &Asked) -> (Tier, &Content) {
    match &asked.copy {
        Some(copy) => (Tier::Shared, &copy.content),
        None => (asked.tier, &asked.request.content),
    }
}

/// Gives a write that is for others its vector, and in a round waits for its turn. Where no model answers in time it is scored without,
/// and held against what is known later: a score is never worth a lost write.
pub(crate) async fn begin(tenant: &Tenant, call: &Call, asked: &mut Asked) -> Begun {
    // A relation is not measured by its words.
    if asked.request.content.kind == RELATION {
        return together::begin(tenant, call, asked).await;
    }
    let layer = asked.request.layer;
    let set = tenant.governance.calibration.mode != CalibrationMode::Off;
    let Some(vectors) = tenant.shared.vectors.as_ref().filter(|_| layer.is_durable() && set) else {
        return Begun::Unscored;
    };
    let namespace = &asked.request.namespace;
    let round = tenant.round(call, asked.request.trace_id.as_deref());
    let round = round.filter(|round| round.namespace == *namespace);
    let (tier, content) = subject(asked);
    let audited = score::is_audited(call, round.as_deref());
    if !audited && tier != Tier::Shared {
        return Begun::Unscored;
    }
    let vector = vector(tenant, call, vectors, &content.embedded_text(), audited).await;
    // Outside of a round nothing is drawn, so nobody need wait for anybody.
    let turn = match audited && vector.is_some() {
        true => tenant.calibrator.turns.wait(namespace_print(tenant, namespace)).await,
        false => None,
    };
    let party = match round.as_ref().filter(|round| round.by_person) {
        Some(_) => Party::Agent(call.caller.agent()),
        None => Party::User(call.caller.user()),
    };
    if audited {
        revived::caught_up(tenant, namespace, party).await;
    }
    let near = |vector| staged::near_copies(tenant, namespace, party, vector);
    let copies: NearCopies = vector.as_deref().map(near).unwrap_or_default();
    if let Some(review) = copies.repeated(tenant, asked) {
        return Begun::Attached(review);
    }
    let echo = copies.other.map(|review| (review, party));
    if let Err(refusal) = staged::has_room(tenant, call) {
        return Begun::Full(refusal);
    }
    if turn.is_some() {
        // What came before it in this namespace should have its vector too; what takes longer is not there yet.
        let lsn = tenant.shared.views.read().lsn();
        let _late = vectors.reached(lsn, VECTORS_WAIT).await;
    }
    let of_copy = asked.copy.is_some() && asked.request.tier != TierWish::Both;
    let (class, weighing) = (OnceLock::new(), Mutex::default());
    let (relation, failed_before) = (None, copies.failed_before(tenant));
    let turn = Mutex::new(turn);
    Begun::Turn(Session { of_copy, vector, round, class, weighing, echo, failed_before, relation, turn })
}

/// The vector of a text, if a model gives it in time. Once it did not, most writes outside of rounds go on without asking, until it
/// answers again.
async fn vector(
    tenant: &Tenant,
    call: &Call,
    vectors: &Vectors,
    text: &str,
    audited: bool,
) -> Option<Vector> {
    let missed = &tenant.calibrator.missed;
    let misses = missed.load(Ordering::Relaxed);
    let hopeless = misses > 0 && !misses.is_multiple_of(TRIES_AGAIN);
    if !audited && hopeless {
        missed.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    let owner = (tenant.shared.tenant, call.caller.user());
    let wait = tenant.limits.embedding_wait_ms / if audited { 1 } else { PATIENCE };
    match vectors.embedding().one(owner, text, Duration::from_millis(wait)).await {
        Ok(vector) => {
            missed.store(0, Ordering::Relaxed);
            vectors.answers();
            Some(vector)
        }
        Err(error) => {
            missed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%error, "a write has no vector yet; it is held against what is known later");
            None
        }
    }
}
