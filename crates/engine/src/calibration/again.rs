//! Recalibration: what was scored is held against searches that were made since, and what is borne out by now is let in
//! (CAL-33, 34).

use super::counted;
use super::domain::Belongs;
use super::lists::probed;
use super::probes::Probe;
use super::score::Scoring;
use super::staged::{Subject, moves};
use super::{space_of, staged_relations, together};
use crate::tenant::Tenant;
use crate::{Call, review};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tabellion_core::access::{Deed, Power};
use tabellion_core::canonical::{Hash, framed_sha256};
use tabellion_core::error::Refusal;
use tabellion_core::id::{AgentId, ReviewId};
use tabellion_core::log::{Event, MemoryKind, Party, Reason, Space, TrustMove, Weighed};
use tabellion_core::time::Timestamp;
use tabellion_core::trust::{
    CalFacts, Delta, Draw, Evidence, Gate, Gating, Parts, Profile, Waiting, calibrate, demotes, gate,
    promotes,
};
use tabellion_core::view::{Known, Moment, Row, Standing, Views};

/// Writes scored between two runs.
const EVERY: u64 = 64;
/// Of what is scored again in one run.
const AGAIN_MAX: usize = 32;
/// Auditors asked of each.
const AUDITORS_MAX: usize = 8;
/// Below this something is a magnet, or nearly.
const ODD: f64 = 1e-3;
/// Spaces that are remembered as owing a score; what is in others is looked at with the next run.
const OWED_MAX: usize = 4_096;
/// Things whose probes are remembered, so that none speaks twice of the same.
const ASKED_MAX: usize = 65_536;
/// Probes that are remembered of one of them.
const SPOKE_MAX: usize = 1_024;

/// When the next run is due, and which probes have spoken of what.
#[derive(Default)]
pub(crate) struct Pace {
    scored: AtomicU64,
    /// Where something was scored without its vector, or with too little to compare with.
    owed: Mutex<BTreeSet<Space>>,
    asked: Mutex<BTreeMap<Weighed, BTreeSet<Hash>>>,
    /// Runs so far, and in which of them something was last looked at.
    looked: Mutex<(u64, BTreeMap<Weighed, u64>)>,
}

impl Pace {
    /// In which run something was last looked at; never is before the first.
    fn last(&self) -> impl Fn(Weighed) -> u64 {
        let looked = self.looked.lock().1.clone();
        move |weighed| looked.get(&weighed).copied().unwrap_or_default()
    }

    fn look(&self, all: impl Iterator<Item = Weighed>) {
        let mut looked = self.looked.lock();
        if looked.1.len() >= ASKED_MAX {
            looked.1.clear();
        }
        looked.0 += 1;
        let run = looked.0;
        looked.1.extend(all.map(|weighed| (weighed, run)));
    }
}

/// A write was scored.
pub(crate) fn scored(tenant: &Tenant) {
    tenant.calibrator.again.scored.fetch_add(1, Ordering::Relaxed);
}

/// Something in this space was scored without its vector, or there is just enough to compare with now: what nothing is known of is
/// looked at as soon as everything has a vector. Other spaces are not: what is hidden there must not show here by when it moves.
pub(super) fn owes_a_score(tenant: &Tenant, space: &Space) {
    let mut owed = tenant.calibrator.again.owed.lock();
    if owed.len() < OWED_MAX {
        owed.insert(space.clone());
    }
}

/// Runs once enough was scored, or once there are vectors for what was scored without.
pub(crate) async fn run_if_due(tenant: &Tenant) {
    let pace = &tenant.calibrator.again;
    let owes = !pace.owed.lock().is_empty();
    let result = if pace.scored.load(Ordering::Relaxed) >= EVERY {
        run(tenant).await.map(drop)
    } else if owes && has_all_vectors(tenant) {
        let owed = std::mem::take(&mut *pace.owed.lock());
        weigh_what_was_not(tenant, |space| owed.contains(space)).await
    } else {
        return;
    };
    if let Err(refusal) = result {
        tracing::warn!(code = refusal.code.as_str(), "what was scored could not be scored again");
    }
}

fn has_all_vectors(tenant: &Tenant) -> bool {
    let lsn = tenant.shared.views.read().lsn();
    tenant.shared.vectors.as_ref().is_some_and(|vectors| vectors.done() >= lsn)
}

/// Runs because somebody who governs asks for it.
pub(crate) async fn recalibrate(tenant: &Tenant, call: &Call) -> Result<usize, Refusal> {
    let result = match call.caller.must(Power::Policies) {
        Ok(()) => run(tenant).await,
        Err(refusal) => Err(refusal),
    };
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    tenant.sequencer.trail_now(tenant.row(call, "recalibrate", outcome, Vec::new())).await?;
    result
}

/// Scores again what waits, and then what the least is known of. Tells how many moved.
async fn run(tenant: &Tenant) -> Result<usize, Refusal> {
    let mut moved = Vec::new();
    weigh_what_was_not(tenant, |_| true).await?;
    let pace = &tenant.calibrator.again;
    pace.scored.store(0, Ordering::Relaxed);
    together::caught_up(tenant).await;
    // Looked up first: nothing else may be read while the views are held.
    let open = Open::of(tenant);
    let due = due(&tenant.shared.views.read(), tenant.now(), &pace.last(), &open);
    pace.look(due.iter().map(|(weighed, _)| *weighed));
    let mut waiting = Vec::new();
    for (weighed, standing) in due {
        if let Weighed::Staged(review) = weighed {
            waiting.push(review);
        }
        if standing.kind == MemoryKind::Relations {
            moved.extend(staged_relations::looked_at_again(tenant, weighed, &standing));
        } else if let Some(subject) = subject_of(tenant, weighed)
            && let Some(evidence) = looked_at_again(tenant, weighed, &standing, &subject)
        {
            moved.push(evidence);
        }
    }
    let count = moved.len();
    moves(tenant, moved).await?;
    // Also where nothing new was said: what has to be reached may be less by now.
    for review in waiting {
        promote_if_borne_out(tenant, review).await;
    }
    Ok(count)
}

/// Whether nothing is known of a committed text yet, not even how it lies: there was no vector, or too little to compare with.
fn is_unweighed(standing: &Standing) -> bool {
    standing.kind == MemoryKind::Items && !standing.audited && standing.stored.count == 0.0
}

/// Holds against what is known by now what could not be when it was written, those that were looked at longest ago first.
async fn weigh_what_was_not(tenant: &Tenant, concerns: impl Fn(&Space) -> bool) -> Result<(), Refusal> {
    let pace = &tenant.calibrator.again;
    let last = pace.last();
    let mut all: Vec<(Weighed, Standing)> = {
        let views = tenant.shared.views.read();
        let is_here = |standing: &Standing| views.trust.space(standing.space).is_some_and(&concerns);
        let unweighed = views.trust.all().filter(|(_, standing)| is_unweighed(standing) && is_here(standing));
        unweighed.filter_map(|(row, standing)| Some((weighed_row(&views, row)?, *standing))).collect()
    };
    all.sort_by_cached_key(|(weighed, standing)| (last(*weighed), standing.lsn));
    all.truncate(AGAIN_MAX);
    pace.look(all.iter().map(|(weighed, _)| *weighed));
    let look = |(weighed, standing): &(Weighed, Standing)| {
        looked_at_again(tenant, *weighed, standing, &*subject_of(tenant, *weighed)?)
    };
    let moved: Vec<TrustMove> = all.iter().filter_map(look).collect();
    // There may be more of them; but where nothing comes of it, nobody is in a hurry.
    if all.len() >= AGAIN_MAX && !moved.is_empty() {
        let views = tenant.shared.views.read();
        let spaces: BTreeSet<&Space> =
            all.iter().filter_map(|(_, standing)| views.trust.space(standing.space)).collect();
        spaces.into_iter().for_each(|space| owes_a_score(tenant, space));
    }
    moves(tenant, moved).await
}

/// A version that still holds.
fn weighed_row(views: &Views, row: Row) -> Option<Weighed> {
    let version = views.items.version(row).filter(|version| version.ended().is_none())?;
    Some(Weighed::Version(version.id))
}

/// What is to be scored again: what waits, one of each party after the other, then what the least is known of and somebody may say more
/// of.
fn due(
    views: &Views,
    now: Timestamp,
    last: &dyn Fn(Weighed) -> u64,
    open: &Open,
) -> Vec<(Weighed, Standing)> {
    let waits =
        |review| views.reviews.find(review).is_some_and(|one| !one.is_archived(now) && one.decided.is_none());
    let waiting: Vec<(Weighed, Standing)> = views
        .trust
        .all_staged()
        .filter(|(review, _)| waits(*review))
        .map(|(review, staged)| (Weighed::Staged(review), staged.standing))
        .collect();
    let mut waiting = in_turn(waiting, last);
    waiting.truncate(AGAIN_MAX);
    let mut spaces: HashMap<(u32, MemoryKind), bool> = HashMap::new();
    let mut is_heard = |standing: &Standing| {
        let of = |space| views.trust.space(space).is_some_and(|space| open.concerns(space, standing.kind));
        *spaces.entry((standing.space, standing.kind)).or_insert_with(|| of(standing.space))
    };
    let mut known: Vec<(Row, Standing)> = views
        .trust
        .all()
        .filter(|(_, standing)| is_heard(standing))
        .map(|(row, standing)| (row, *standing))
        .collect();
    known.sort_by(|(_, a), (_, b)| a.stored.count.total_cmp(&b.stored.count).then(a.lsn.cmp(&b.lsn)));
    let named = |(row, standing)| Some((weighed_row(views, row)?, standing));
    waiting.extend(known.into_iter().filter_map(named));
    waiting.truncate(AGAIN_MAX);
    waiting
}

/// Who searched or walked in the open of late, where, and with whom.
struct Open {
    searched: BTreeSet<(Hash, AgentId, Vec<AgentId>)>,
    walked: BTreeSet<(Hash, AgentId, Vec<AgentId>)>,
}

impl Open {
    fn of(tenant: &Tenant) -> Self {
        let (calibrator, now) = (&tenant.calibrator, tenant.now());
        Self { searched: calibrator.probes.queues.open(now), walked: calibrator.walks.queues.open(now) }
    }

    /// Whether any of that may say something of what is scored in a space.
    fn concerns(&self, space: &Space, kind: MemoryKind) -> bool {
        let all = match kind {
            MemoryKind::Items => &self.searched,
            MemoryKind::Relations => &self.walked,
        };
        all.iter().any(|(namespace, agent, with)| {
            *namespace == space.namespace
                && space.agents.contains(agent)
                && with.iter().all(|one| space.agents.contains(one))
        })
    }
}

/// Those that were looked at longest ago first, and one of each party after the other: who has many waiting keeps nobody from
/// their turn.
fn in_turn(mut all: Vec<(Weighed, Standing)>, last: &dyn Fn(Weighed) -> u64) -> Vec<(Weighed, Standing)> {
    all.sort_by_cached_key(|(weighed, standing)| (last(*weighed), standing.lsn));
    let mut places: BTreeMap<Party, usize> = BTreeMap::new();
    let mut placed: Vec<(usize, (Weighed, Standing))> = all
        .into_iter()
        .map(|one| {
            let place = places.entry(one.1.party).or_default();
            *place += 1;
            (*place, one)
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, one)| one).collect()
}

/// What is scored again, with what it means.
fn subject_of(tenant: &Tenant, weighed: Weighed) -> Option<Arc<Subject>> {
    match weighed {
        Weighed::Staged(review) => tenant.calibrator.staged.get(review),
        Weighed::Version(id) => {
            let views = tenant.shared.views.read();
            let version = views.items.find_version(id)?;
            let row = views.items.row_of(id)?;
            let vectors = tenant.shared.vectors.as_ref()?.read();
            Some(Arc::new(Subject {
                vector: vectors.vector(row)?.into(),
                class: views.items.class_of(version)?.clone(),
                namespace: views.items.namespace_of(version).to_owned(),
                author: (version.owner, version.agent?),
            }))
        }
    }
}

/// What searches that have not spoken of it yet say of something.
fn looked_at_again(
    tenant: &Tenant,
    weighed: Weighed,
    standing: &Standing,
    subject: &Subject,
) -> Option<TrustMove> {
    let before = asked_before(tenant, weighed, standing);
    let views = tenant.shared.views.read();
    let vectors = tenant.shared.vectors.as_ref()?.read();
    let now = tenant.now();
    let (owner, class) = (subject.author.0, &subject.class);
    let space = space_of(tenant, &subject.namespace, owner, class);
    let at = Moment { lsn: views.lsn(), time: now };
    let by_cedar = views.cedar.rules().concern(Deed::Read);
    let belongs =
        Belongs { views: &views, space: &space, class, namespace: &subject.namespace, at, by_cedar };
    let scoring =
        Scoring { tenant, belongs, round: None, author: subject.author, now, sight: Default::default() };
    let known = scoring.known(MemoryKind::Items);
    let row = match weighed {
        Weighed::Version(id) => views.items.row_of(id),
        Weighed::Staged(_) => None,
    };
    let domain = tenant.calibrator.domains.of(&space, class, by_cedar);
    let mut domain = domain.lock();
    domain.catch_up(&scoring.belongs, &vectors, tenant.calibrator.key.as_bytes());
    let eligible = scoring.unheard(&before);
    let hash = framed_sha256(&[&space.namespace, &standing.lsn.get().to_be_bytes()]);
    let mut draw = Draw::new(&scoring.key(), known.rounds, &hash);
    let ask = |probe: &Probe| probed(probe, &domain, &scoring.belongs, &vectors, &[&subject.vector], row);
    let mut audited = scoring.audit(&eligible, &known, &mut draw, &ask);
    audited.truncate(AUDITORS_MAX);
    let delta = Delta { items: vec![domain.item_facts(&subject.vector)], relations: Vec::new() };
    // What was kept out as a magnet stays one for as long as it is, whoever says the same.
    let was_magnet = matches!(weighed, Weighed::Staged(_)) && standing.detect < ODD;
    let facts = CalFacts {
        profile: Profile::Ship,
        parts: Parts::default(),
        gating: if was_magnet { Gating::Magnets } else { Gating::Nothing },
        ..scoring.facts(&audited, domain.size, known.past.clone(), eligible.len() + 1)
    };
    let calibrated = calibrate(&delta, &facts);
    let scored = calibrated.items().first()?;
    remember(tenant, weighed, audited.iter().filter_map(|one| one.probe.as_ref().map(|probe| probe.print)));
    let (mass, reason) = (calibrated.informative(), Reason::Recalibrated);
    if mass <= 0.0 {
        let lies = is_unweighed(standing) && !calibrated.provisional();
        let (score, mass) = Evidence::Density { detect: scored.detect }.parts();
        let (detect, parties, demoted) = (Some(scored.detect), Vec::new(), false);
        let moved = TrustMove { weighed, reason, score, mass, parties, detect, demoted, agreement: None };
        return lies.then_some(moved);
    }
    let stored = standing.stored.with(scored.rho, mass);
    let spoke = audited.iter().filter(|one| one.is_informative());
    // As those were noted who spoke first: nobody counts as two.
    let parties: Vec<Party> = spoke
        .map(|one| match (standing.party, &one.probe) {
            (Party::Agent(_), Some(probe)) => Party::Agent(probe.agent),
            _ => one.party,
        })
        .collect();
    let demoted = matches!(weighed, Weighed::Version(_)) && demotes(stored, gate_of(&known).threshold);
    let (score, detect, agreement) = (scored.rho, Some(scored.detect), calibrated.agreement());
    Some(TrustMove { weighed, reason, score, mass, parties, detect, demoted, agreement })
}

/// Probes that have spoken of something: when it was scored first, as far as its entry in the log says, and whenever it was looked at
/// since.
pub(super) fn asked_before(tenant: &Tenant, weighed: Weighed, standing: &Standing) -> BTreeSet<Hash> {
    let mut asked = tenant.calibrator.again.asked.lock().get(&weighed).cloned().unwrap_or_default();
    if let Ok(Some(Event::Calibrated(first))) = tenant.event(standing.lsn) {
        asked.extend(first.audits.iter().filter_map(|audit| audit.probe));
    }
    asked
}

pub(super) fn remember(tenant: &Tenant, weighed: Weighed, prints: impl Iterator<Item = Hash>) {
    let mut asked = tenant.calibrator.again.asked.lock();
    if asked.len() >= ASKED_MAX {
        asked.clear();
    }
    let spoke = asked.entry(weighed).or_default();
    spoke.extend(prints);
    while spoke.len() > SPOKE_MAX {
        spoke.pop_first();
    }
}

/// What has to be reached by now.
pub(super) fn gate_of(known: &Known) -> Gate {
    let committed = || known.past.iter().filter(|one| one.rho.is_some());
    let parties: BTreeSet<u64> = committed().map(|one| one.party).collect();
    gate(Profile::Ship, &known.past, committed().count() as u64, parties.len())
}

/// What a row of the trail names.
pub(super) fn evidence_of(evidence: &TrustMove) -> String {
    match evidence.weighed {
        Weighed::Version(version) => version.to_string(),
        Weighed::Staged(review) => review.to_string(),
    }
}

/// Lets a write in that waits, if enough speaks for it by now.
pub(super) async fn promote_if_borne_out(tenant: &Tenant, id: ReviewId) {
    let ready = {
        let views = tenant.shared.views.read();
        views.trust.staged(id).is_some_and(|staged| {
            let space = views.trust.space(staged.standing.space);
            let known =
                space.map(|space| views.trust.known(staged.standing.kind, |other| space.dominates(other)));
            let threshold = gate_of(&known.unwrap_or_default()).threshold;
            let (stored, detect) = (staged.standing.stored, staged.standing.detect);
            let (agreed, parties) = (staged.agreed, staged.parties.len());
            promotes(&Waiting { stored, agreed, detect, parties, threshold })
        })
    };
    if !ready {
        return;
    }
    match review::promote(tenant, id).await {
        Ok(true) => counted::promoted(),
        Ok(false) => {}
        Err(refusal) => {
            tracing::warn!(
                code = refusal.code.as_str(),
                "a write that is borne out by now could not be let in"
            );
        }
    }
}
