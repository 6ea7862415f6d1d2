//! Relations that are written together are one delta: they are scored once, before the first of them is committed, and have one
//! turn between them (CAL-1, CAL-30, CAL-42).

use super::graph_score::{Judgement, Proposal};
use super::rounds::Round;
use super::score::is_audited;
use super::session::{Begun, Session, subject};
use super::{labels, namespace_print, staged, staged_relations};
use crate::Call;
use crate::options::CalibrationMode;
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tabellion_core::error::Refusal;
use tabellion_core::gate::{Weighing, WriteDraft};
use tabellion_core::id::VersionId;
use tabellion_core::item::{RELATION, Tier, TierWish};
use tabellion_core::log::{Party, Reason, TrustMove, Weighed};
use tabellion_core::view::{Class, Tie};
use tokio::sync::OwnedMutexGuard;

/// How long relations wait for those before them to be taken apart.
const INDEX_WAIT: Duration = Duration::from_millis(500);

/// One of the relations.
struct Member {
    tie: Tie,
    class: Class,
    namespace: String,
    of_copy: bool,
}

impl Member {
    /// Whether another one is held against the same.
    fn is_scored_with(&self, other: &Self) -> bool {
        self.class == other.class && self.namespace == other.namespace
    }
}

/// Relations that are written together.
pub(crate) struct Together {
    members: Vec<Member>,
    round: Option<Arc<Round>>,
    /// What became of those that share a class, by the place of the first of them.
    judged: Mutex<BTreeMap<usize, Option<Arc<Judgement>>>>,
    /// By the place of the first, the one that has the auditors in its entry; another has if that one came to nothing.
    tells: Mutex<BTreeMap<usize, usize>>,
    _turns: Vec<OwnedMutexGuard<()>>,
}

/// One write's part in them.
pub(crate) struct Joined {
    together: Mutex<Option<Arc<Together>>>,
    place: usize,
    pub(super) tie: Tie,
    /// What others said before that says the same, once it was scored.
    bears_out: Mutex<Option<(VersionId, f64)>>,
}

impl Joined {
    /// Lets go of the turn.
    pub(super) fn done(&self) {
        drop(self.together.lock().take());
    }
}

impl Together {
    /// The first of those that one is scored with.
    fn first_of(&self, place: usize) -> usize {
        let one = self.members.get(place);
        let with = |other: &Member| one.is_some_and(|one| one.is_scored_with(other));
        self.members.iter().position(with).unwrap_or(place)
    }

    fn judged(&self, tenant: &Tenant, call: &Call, place: usize) -> Option<(usize, usize, Arc<Judgement>)> {
        let first = self.first_of(place);
        let one = self.members.get(first)?;
        let same = |(_, other): &(usize, &Member)| one.is_scored_with(other);
        let with: Vec<(usize, &Member)> = self.members.iter().enumerate().filter(same).collect();
        let among = with.iter().position(|(at, _)| *at == place)?;
        let score = || {
            let ties: Vec<Tie> = with.iter().map(|(_, member)| member.tie.clone()).collect();
            let proposal = Proposal {
                tenant,
                author: Proposal::of(call),
                namespace: &one.namespace,
                round: self.round.as_deref(),
                class: &one.class,
                ties: &ties,
                of_copy: one.of_copy,
            };
            proposal.judged().map(Arc::new)
        };
        let mut judged = self.judged.lock();
        let judgement = judged.entry(first).or_insert_with(score).clone()?;
        Some((first, among, judgement))
    }
}

/// How a relation was scored with those it is written with; alone, if it is of another class by now.
pub(super) fn weighed(
    tenant: &Tenant,
    call: &Call,
    namespace: &str,
    (session, joined): (&Session, &Joined),
    class: &Class,
) -> Option<Weighing> {
    let together = joined.together.lock().clone()?;
    let member = together.members.get(joined.place)?;
    let _set_before = session.class.set(class.clone());
    if member.class != *class || member.namespace != namespace {
        return alone(tenant, call, namespace, (session, joined), class);
    }
    let (first, among, judgement) = together.judged(tenant, call, joined.place)?;
    *joined.bears_out.lock() = judgement.bears_out.get(among).copied().flatten();
    let mut weighing = judgement.weighings.get(among)?.clone();
    weighing.of_copy = session.of_copy;
    if *together.tells.lock().entry(first).or_insert(joined.place) == joined.place {
        weighing.calibration.audits.clone_from(&judgement.audits);
    }
    Some(weighing)
}

fn alone(
    tenant: &Tenant,
    call: &Call,
    namespace: &str,
    (session, joined): (&Session, &Joined),
    class: &Class,
) -> Option<Weighing> {
    let proposal = Proposal {
        tenant,
        author: Proposal::of(call),
        namespace,
        round: session.round.as_deref(),
        class,
        ties: std::slice::from_ref(&joined.tie),
        of_copy: session.of_copy,
    };
    let judgement = proposal.judged()?;
    *joined.bears_out.lock() = judgement.bears_out.first().copied().flatten();
    let mut weighing = judgement.weighings.into_iter().next()?;
    weighing.calibration.audits = judgement.audits;
    Some(weighing)
}

impl Drop for Joined {
    /// What came to nothing does not take along who was asked.
    fn drop(&mut self) {
        if let Some(together) = self.together.lock().take() {
            let first = together.first_of(self.place);
            let mut tells = together.tells.lock();
            if tells.get(&first) == Some(&self.place) {
                tells.remove(&first);
            }
        }
    }
}

/// What a relation committed: what others said before and it says again is borne out by it (CAL-33, CAL-39).
pub(super) async fn committed(tenant: &Tenant, call: &Call, session: &Session, joined: &Joined) {
    joined.done();
    if let Some(round) = &session.round {
        let nodes = {
            let index = tenant.shared.index.read();
            let (from, _, to) = index.relations.numbers(&joined.tie);
            from.into_iter().chain(to).collect::<Vec<_>>()
        };
        round.trodden.wrote(call.caller.agent(), &nodes);
    }
    let Some((version, mass)) = joined.bears_out.lock().take() else { return };
    let party = party(call, session.round.as_deref());
    let (weighed, reason) = (Weighed::Version(version), Reason::Corroborated);
    let (score, parties) = (1.0, vec![party]);
    let moved =
        TrustMove { weighed, reason, score, mass, parties, detect: None, demoted: false, agreement: None };
    if let Err(refusal) = staged::moves(tenant, vec![moved]).await {
        tracing::warn!(code = refusal.code.as_str(), "what speaks for a relation could not be noted");
    }
}

fn party(call: &Call, round: Option<&Round>) -> Party {
    match round.filter(|round| round.by_person) {
        Some(_) => Party::Agent(call.caller.agent()),
        None => Party::User(call.caller.user()),
    }
}

/// What of a write is scored as a relation, in which round; nothing where nobody else sees it.
fn scored(tenant: &Tenant, call: &Call, asked: &Asked) -> Option<(Tie, Option<Arc<Round>>, Tier)> {
    let set = tenant.governance.calibration.mode != CalibrationMode::Off;
    let (tier, content) = subject(asked);
    if !set || !asked.request.layer.is_durable() || content.kind != RELATION {
        return None;
    }
    let (tie, namespace) = (Tie::of(content)?, &asked.request.namespace);
    let round = tenant.round(call, asked.request.trace_id.as_deref());
    let round = round.filter(|round| round.namespace == *namespace);
    (is_audited(call, round.as_deref()) || tier == Tier::Shared).then_some((tie, round, tier))
}

const fn of_copy(asked: &Asked) -> bool {
    asked.copy.is_some() && !matches!(asked.request.tier, TierWish::Both)
}

/// What is written together, as far as it is scored; none if nothing is.
pub(crate) async fn together(
    tenant: &Tenant,
    call: &Call,
    drafts: &[Result<WriteDraft, Refusal>],
) -> Option<Arc<Together>> {
    let (mut members, mut rounds): (Vec<Member>, Vec<Option<Arc<Round>>>) = (Vec::new(), Vec::new());
    for draft in drafts.iter().flatten() {
        let Ok(request) = draft.clone().check() else { continue };
        let Ok(asked) = Asked::sent(tenant, call, draft.clone(), request) else { continue };
        let Some((tie, round, tier)) = scored(tenant, call, &asked) else { continue };
        let namespace = asked.request.namespace.clone();
        let known = |member: &Member| member.tie == tie && member.namespace == namespace;
        let other_round = |first: &Option<Arc<Round>>| trace_of(first.as_ref()) != trace_of(round.as_ref());
        // What is said twice is said once; of several rounds, the first is the one that counts here.
        if members.iter().any(known) || rounds.first().is_some_and(other_round) {
            continue;
        }
        // What its party has waiting is not scored again.
        let waits = staged_relations::same(tenant, &namespace, party(call, round.as_deref()), &tie);
        if waits.repeated(tenant, &asked).is_some() {
            continue;
        }
        let class = write::class_of(tenant, call, &asked, tier);
        members.push(Member { tie, class, namespace, of_copy: of_copy(&asked) });
        rounds.push(round);
    }
    if members.is_empty() {
        return None;
    }
    let round = rounds.into_iter().next().flatten();
    let turns = turns(tenant, call, round.as_deref(), &members).await;
    Some(Arc::new(begun(tenant, call, members, round, turns).await))
}

fn trace_of(round: Option<&Arc<Round>>) -> Option<[u8; 32]> {
    round.map(|round| round.trace)
}

/// Waits until what was committed so far can be walked; what takes longer is not there yet.
pub(super) async fn caught_up(tenant: &Tenant) {
    let lsn = tenant.shared.views.read().lsn();
    let _late = tenant.shared.index.reached(lsn, INDEX_WAIT).await;
}

/// Waits for the turn of relations in their namespaces; outside of a round nobody waits for anybody.
async fn turns(
    tenant: &Tenant,
    call: &Call,
    round: Option<&Round>,
    members: &[Member],
) -> Vec<OwnedMutexGuard<()>> {
    if !is_audited(call, round) {
        return Vec::new();
    }
    let mut prints: Vec<[u8; 32]> =
        members.iter().map(|member| namespace_print(tenant, &member.namespace)).collect();
    // In one order, so that no two wait for each other.
    prints.sort_unstable();
    prints.dedup();
    let mut turns = Vec::new();
    for print in prints {
        turns.extend(tenant.calibrator.turns.wait(print).await);
    }
    turns
}

/// Relations that are about to be scored; in a round, against everything that came before them.
async fn begun(
    tenant: &Tenant,
    call: &Call,
    members: Vec<Member>,
    round: Option<Arc<Round>>,
    turns: Vec<OwnedMutexGuard<()>>,
) -> Together {
    let audited = is_audited(call, round.as_deref());
    if audited {
        caught_up(tenant).await;
    }
    let (judged, tells) = (Mutex::default(), Mutex::default());
    let together = Together { members, round, judged, tells, _turns: turns };
    for (place, member) in together.members.iter().enumerate() {
        if audited && together.first_of(place) == place && tenant.shared.vectors.is_some() {
            let with = |other: &&Member| member.is_scored_with(other);
            let ties: Vec<Tie> = together.members.iter().filter(with).map(|one| one.tie.clone()).collect();
            let names = Proposal {
                tenant,
                author: Proposal::of(call),
                namespace: &member.namespace,
                round: together.round.as_deref(),
                class: &member.class,
                ties: &ties,
                of_copy: member.of_copy,
            };
            labels::learn(tenant, call, &names.kinds()).await;
        }
    }
    together
}

/// Begins the turn of one relation: with those that it is written with, or alone.
pub(super) async fn begin(tenant: &Tenant, call: &Call, asked: &mut Asked) -> Begun {
    let with = asked.together.take();
    let Some((tie, round, tier)) = scored(tenant, call, asked) else { return Begun::Unscored };
    let namespace = asked.request.namespace.clone();
    let is_it = |member: &Member| member.tie == tie && member.namespace == namespace;
    let found = with.as_ref().and_then(|together| together.members.iter().position(is_it));
    let party = party(call, round.as_deref());
    let same = || staged_relations::same(tenant, &namespace, party, &tie);
    if let Some(review) = same().repeated(tenant, asked) {
        return Begun::Attached(review);
    }
    let (together, place) = match (with, found) {
        (Some(together), Some(place)) => (together, place),
        (with, _) => {
            let class = write::class_of(tenant, call, asked, tier);
            let namespace = namespace.clone();
            let members = vec![Member { tie: tie.clone(), class, namespace, of_copy: of_copy(asked) }];
            // Those that it came with have the turn.
            let turns = if with.is_some() {
                Vec::new()
            } else {
                turns(tenant, call, round.as_deref(), &members).await
            };
            (Arc::new(begun(tenant, call, members, round.clone(), turns).await), 0)
        }
    };
    let copies = same();
    if let Some(review) = copies.repeated(tenant, asked) {
        return Begun::Attached(review);
    }
    let echo = copies.other.map(|review| (review, party));
    if let Err(refusal) = staged::has_room(tenant, call) {
        return Begun::Full(refusal);
    }
    let joined = Joined { together: Mutex::new(Some(together)), place, tie, bears_out: Mutex::default() };
    let (of_copy, class) = (of_copy(asked), OnceLock::new());
    Begun::Turn(Session {
        of_copy,
        vector: None,
        round,
        class,
        weighing: Mutex::default(),
        echo,
        failed_before: copies.failed_before(tenant),
        relation: Some(Box::new(joined)),
        turn: Mutex::default(),
    })
}
