//! The score of a write: its facts are gathered, `core::trust` weighs them, and what is to be logged is made of it.

use super::counted::{Laps, Stage};
use super::domain::Belongs;
use super::lists::probed;
use super::probes::Probe;
use super::rounds::Round;
use super::session::Session;
use super::{again, space_of};
use crate::Call;
use crate::options::CalibrationMode;
use crate::tenant::Tenant;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tabellion_core::access::Deed;
use tabellion_core::canonical::{Hash, framed_sha256, sha256};
use tabellion_core::gate::Weighing;
use tabellion_core::id::{AgentId, ReviewId, UserId};
use tabellion_core::item::Content;
use tabellion_core::log::{Audit, Calibration, Edge, Mark, MemoryKind, Party, Space, Weighed};
use tabellion_core::time::Timestamp;
use tabellion_core::trust::{
    Auditor, CalFacts, Calibrated, Context, Delta, Draw, Gating, ItemFacts, Parts, Past, Probing, Profile,
    Scored, calibrate, namespace_key, step,
};
use tabellion_core::view::{Class, Known, Moment};

/// Auditors of one write at most (CAL-1).
const AUDITORS_MAX: usize = 20;
const DAY_S: u64 = 24 * 60 * 60;

/// Somebody who may have something to say of a write.
pub(super) struct Eligible {
    party: Party,
    probes: Vec<Arc<Probe>>,
    /// Whether silence counts against them.
    must_speak: bool,
}

/// Whether others audit what is written here: all who take part in a round that a person declared.
pub(super) fn is_audited(call: &Call, round: Option<&Round>) -> bool {
    let round = round.filter(|round| round.by_person);
    round.is_some_and(|round| round.agents.iter().any(|agent| *agent != call.caller.agent()))
}

/// What is scored, and where.
pub(super) struct Scoring<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) belongs: Belongs<'a>,
    pub(super) round: Option<&'a Round>,
    /// Who wrote it.
    pub(super) author: (UserId, AgentId),
    pub(super) now: Timestamp,
    /// Pairs that were looked up, and whether they would see it.
    pub(super) sight: RefCell<BTreeMap<(UserId, AgentId), bool>>,
}

impl Scoring<'_> {
    pub(super) fn party(&self) -> Party {
        match self.round.filter(|round| round.by_person) {
            Some(_) => Party::Agent(self.author.1),
            None => Party::User(self.author.0),
        }
    }

    /// Whether a pair would see what is scored.
    pub(super) fn sees(&self, user: UserId, agent: AgentId) -> bool {
        *self.sight.borrow_mut().entry((user, agent)).or_insert_with(|| self.would_see(user, agent))
    }

    fn would_see(&self, user: UserId, agent: AgentId) -> bool {
        let (graphs, at) = (&self.belongs.views.graphs, self.belongs.at);
        let reach = || graphs.resources_of(agent, at);
        self.belongs.space.agents.iter().all(|one| graphs.has(Edge::Invoke(user, *one), at))
            && (self.belongs.space.resources.is_empty()
                || self.belongs.space.resources.iter().all(|resource| reach().contains(resource)))
    }

    /// Whether what a pair does in the open, alone or in a round with others, may say something outside of that round: another user's, and
    /// everyone who would see what is scored may see the work of all of them.
    pub(super) fn hears(&self, (user, agent): (UserId, AgentId), with: &[AgentId]) -> bool {
        user != self.author.0
            && with.iter().all(|one| self.belongs.space.agents.contains(one))
            && self.sees(user, agent)
    }

    /// Everybody who may have something to say: what they searched for must be as widely seen as what is scored (CAL-41).
    pub(super) fn eligible(&self) -> Vec<Eligible> {
        let probes = &self.tenant.calibrator.probes;
        let namespace = self.belongs.space.namespace;
        if let Some(round) = self.round.filter(|round| round.by_person) {
            let others = round.agents.iter().filter(|agent| **agent != self.author.1);
            let of = |agent: &AgentId| {
                let mut all = probes.queues.of(*agent, namespace, self.now);
                all.retain(|probe| probe.round == Some(round.trace) && self.sees(probe.user, probe.agent));
                // Who walked and did not search has nothing to say of texts, and nothing is wrong with that.
                let must_speak = !all.is_empty() || !self.walked(*agent, round);
                Eligible { party: Party::Agent(*agent), probes: all, must_speak }
            };
            return others.map(of).collect();
        }
        let mut by_user: BTreeMap<UserId, Vec<Arc<Probe>>> = BTreeMap::new();
        for agent in &self.belongs.space.agents {
            for probe in probes.queues.of(*agent, namespace, self.now) {
                if probe.shared && self.hears((probe.user, probe.agent), &probe.with) {
                    by_user.entry(probe.user).or_default().push(probe);
                }
            }
        }
        let of = |(user, probes)| Eligible { party: Party::User(user), probes, must_speak: false };
        by_user.into_iter().map(of).collect()
    }

    /// Whether an agent walked along relations in a round.
    fn walked(&self, agent: AgentId, round: &Round) -> bool {
        let walks = self.tenant.calibrator.walks.queues.of(agent, self.belongs.space.namespace, self.now);
        walks.iter().any(|walked| walked.round == Some(round.trace))
    }

    /// The same, but for probes that have spoken before.
    pub(super) fn unheard(&self, before: &BTreeSet<Hash>) -> Vec<Eligible> {
        let mut eligible = self.eligible();
        for auditor in &mut eligible {
            auditor.probes.retain(|probe| !before.contains(&probe.print));
        }
        eligible.retain(|auditor| !auditor.probes.is_empty());
        eligible
    }

    pub(super) fn key(&self) -> [u8; 32] {
        let day = i64::try_from(self.now.as_micros() / 1_000_000 / DAY_S).unwrap_or(0);
        namespace_key(self.tenant.calibrator.key.as_bytes(), self.belongs.namespace, day)
    }

    /// Draws a probe of each auditor and asks it.
    pub(super) fn audit(
        &self,
        eligible: &[Eligible],
        known: &Known,
        draw: &mut Draw,
        ask: &dyn Fn(&Probe) -> Probing,
    ) -> Vec<Audited> {
        let probes = &self.tenant.calibrator.probes;
        let mut audited = Vec::new();
        for place in draw.sample(eligible.len(), AUDITORS_MAX) {
            let Some(auditor) = eligible.get(place) else { continue };
            let worn = |probe: &Probe| probes.is_worn(&self.belongs.space.namespace, probe);
            // That chance fell on the same question before is nobody's fault who asked others too; but nobody gets rid of what
            // has nothing to do with the round by asking it often.
            let passed_over = |probe: &Probe| probe.context != Context::Out && worn(probe);
            let fresh: Vec<&Arc<Probe>> = auditor.probes.iter().filter(|probe| !passed_over(probe)).collect();
            let probe = fresh.get(draw.below(fresh.len())).map(|probe| Arc::clone(probe));
            let probing = match &probe {
                None => Probing::Invalid,
                Some(probe) if !probe.well_formed => Probing::Invalid,
                Some(probe) => match (probe.context, auditor.must_speak) {
                    (Context::In, _) | (Context::TooFew, true) => ask(probe),
                    (Context::Out, true) => Probing::Invalid,
                    (Context::Out | Context::TooFew, false) => Probing::Abstained,
                },
            };
            let is_silent = matches!(probing, Probing::Invalid) && !auditor.must_speak;
            let probing = if is_silent { Probing::Abstained } else { probing };
            let weight = match auditor.party {
                Party::Agent(agent) => known.weight(agent),
                Party::User(_) => mean_weight(&auditor.probes, known),
            };
            let probe = probe.map(|probe| Spoke { agent: probe.agent, print: probe.print });
            audited.push(Audited { party: auditor.party, weight, probe, probing });
        }
        audited
    }
}

impl Scoring<'_> {
    /// What may have a part in the score.
    pub(super) fn known(&self, kind: MemoryKind) -> Known {
        let space = self.belongs.space;
        let counts =
            |other: &Space| if self.belongs.by_cedar { other == space } else { space.dominates(other) };
        self.belongs.views.trust.known(kind, counts)
    }

    pub(super) fn facts(
        &self,
        audited: &[Audited],
        memory: u64,
        past: Vec<Past>,
        parties: usize,
    ) -> CalFacts {
        let set = &self.tenant.governance.calibration;
        CalFacts {
            profile: set.profile,
            parts: set.parts,
            memory,
            auditors: audited
                .iter()
                .map(|one| Auditor { weight: one.weight, family: self.family(one), probing: one.probing })
                .collect(),
            gating: self.gating(),
            past,
            parties,
        }
    }

    /// What the score may keep out.
    fn gating(&self) -> Gating {
        if self.tenant.governance.calibration.mode != CalibrationMode::Gate {
            return Gating::Nothing;
        }
        match self.round.filter(|round| round.by_person) {
            Some(round) if round.agents.iter().any(|agent| *agent != self.author.1) => Gating::Threshold,
            _ => Gating::Magnets,
        }
    }

    /// A number for the family of models that an auditor's agent is of, where it is known (CAL-38).
    fn family(&self, audited: &Audited) -> Option<u32> {
        let agent = match (audited.party, &audited.probe) {
            (Party::Agent(agent), _) => agent,
            (Party::User(_), Some(probe)) => probe.agent,
            (Party::User(_), None) => return None,
        };
        let family = self.belongs.views.identity.agent(agent)?.words.family.as_ref()?;
        sha256(family.as_bytes()).first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// What is logged; what was scored gets its id when it has one.
    pub(super) fn logged(
        &self,
        calibrated: &Calibrated,
        scored: &Scored,
        audits: Vec<Audit>,
        kind: MemoryKind,
    ) -> Calibration {
        Calibration {
            weighed: Weighed::Staged(ReviewId::from_bytes([0; 16])),
            space: self.belongs.space.clone(),
            kind,
            party: self.party(),
            detect: scored.detect,
            align: calibrated.align(),
            rho: scored.rho,
            threshold: calibrated.gate().threshold,
            stored: scored.stored,
            mark: match (calibrated.provisional(), calibrated.correlated()) {
                (true, _) => Mark::Provisional,
                (false, true) => Mark::Correlated,
                (false, false) => Mark::Plain,
            },
            audits,
            gated: !calibrated.advisory() || !scored.admitted,
            ways: None,
            agreement: calibrated.agreement(),
        }
    }
}

/// What an auditor's probe said.
pub(super) struct Audited {
    pub(super) party: Party,
    pub(super) weight: f64,
    pub(super) probe: Option<Spoke>,
    pub(super) probing: Probing,
}

/// Whose search or walk it was, and what that is recognised by.
pub(super) struct Spoke {
    pub(super) agent: AgentId,
    pub(super) print: Hash,
}

impl Audited {
    pub(super) const fn is_informative(&self) -> bool {
        matches!(self.probing, Probing::Valid { informative: true, .. })
    }

    fn valid(&self) -> Option<bool> {
        match self.probing {
            Probing::Abstained => None,
            Probing::Invalid => Some(false),
            Probing::Silent | Probing::Valid { .. } => Some(true),
        }
    }
}

/// One user's agents are one auditor: as credible as they are on average (CAL-1).
fn mean_weight(probes: &[Arc<Probe>], known: &Known) -> f64 {
    let agents: BTreeSet<AgentId> = probes.iter().map(|probe| probe.agent).collect();
    agents.iter().map(|agent| known.weight(*agent)).sum::<f64>() / agents.len().max(1) as f64
}

/// Scores a write. One without a vector is not held against anything yet; that is made up for when it has one.
pub(crate) fn score(
    tenant: &Tenant,
    call: &Call,
    (namespace, content): (&str, &Content),
    session: &Session,
    class: &Class,
) -> Option<Weighing> {
    let views = tenant.shared.views.read();
    let vectors = tenant.shared.vectors.as_ref()?.read();
    let mut laps = Laps::begin();
    let (user, agent) = (call.caller.user(), call.caller.agent());
    let now = tenant.now();
    let space = space_of(tenant, namespace, user, class);
    let at = Moment { lsn: views.lsn(), time: now };
    let by_cedar = views.cedar.rules().concern(Deed::Read);
    let belongs = Belongs { views: &views, space: &space, class, namespace, at, by_cedar };
    let scoring = Scoring {
        tenant,
        belongs,
        round: session.round.as_deref(),
        author: (user, agent),
        now,
        sight: Default::default(),
    };
    let eligible = if session.vector.is_some() { scoring.eligible() } else { Vec::new() };
    let known = scoring.known(MemoryKind::Items);
    laps.end(Stage::Gate);
    let domain = tenant.calibrator.domains.of(&space, class, by_cedar);
    let mut domain = domain.lock();
    domain.catch_up(&scoring.belongs, &vectors, tenant.calibrator.key.as_bytes());
    let hash = framed_sha256(&[&content.canonical().ok()?, user.as_bytes(), agent.as_bytes()]);
    let mut draw = Draw::new(&scoring.key(), known.rounds, &hash);
    laps.end(Stage::Density);
    let vector = session.vector.as_deref();
    let new: Vec<&[f32]> = vector.into_iter().collect();
    let ask = |probe: &Probe| probed(probe, &domain, &scoring.belongs, &vectors, &new, None);
    let audited = scoring.audit(&eligible, &known, &mut draw, &ask);
    laps.end(Stage::Alignment);
    let usual = ItemFacts { ratio: 1.0, crowding: 0.0 };
    let lies = vector.map_or(usual, |vector| domain.item_facts(vector));
    laps.end(Stage::Density);
    let delta = Delta { items: vec![lies], relations: Vec::new() };
    let mut facts = scoring.facts(&audited, domain.size, known.past, eligible.len() + 1);
    if vector.is_none() {
        facts.parts = Parts { detect: false, ..facts.parts };
        facts.gating = Gating::Nothing;
        again::owes_a_score(tenant, &space);
    }
    let calibrated = calibrate(&delta, &facts);
    let scored = calibrated.items().first()?;
    let prints = audited.iter().filter_map(|one| one.probe.as_ref().map(|probe| probe.print));
    tenant.calibrator.probes.draw(space.namespace, prints.collect());
    let _set_before = session.class.set(class.clone());
    let audits = audits(&audited, &facts);
    // What nobody audits has no part in when others are looked at again: they may not know of it.
    if !audits.is_empty() {
        again::scored(tenant);
    }
    if domain.has_just_enough() {
        again::owes_a_score(tenant, &space);
    }
    let calibration = scoring.logged(&calibrated, scored, audits, MemoryKind::Items);
    laps.end(Stage::Gate);
    laps.note();
    Some(Weighing { calibration, admitted: scored.admitted, of_copy: session.of_copy })
}

/// What the log says of each who was asked: never what they searched for.
pub(super) fn audits(audited: &[Audited], facts: &CalFacts) -> Vec<Audit> {
    let weighs = facts.parts.weights;
    let heard = audited.iter().filter(|one| one.valid().is_some()).count();
    let invalid = audited.iter().filter(|one| one.valid() == Some(false)).count();
    let mut audits = Vec::new();
    for one in audited {
        let own = usize::from(one.valid() == Some(false));
        let others_invalid = (invalid - own) as f64 / heard.saturating_sub(1).max(1) as f64;
        let share = match facts.profile {
            Profile::Ship => others_invalid,
            Profile::Ref => invalid as f64 / heard.max(1) as f64,
        };
        let agent = match (one.party, &one.probe) {
            (Party::Agent(agent), _) => agent,
            (Party::User(_), Some(probe)) => probe.agent,
            (Party::User(_), None) => continue,
        };
        let valid = one.valid().filter(|_| weighs);
        let probe: Option<Hash> = one.probe.as_ref().map(|probe| probe.print);
        audits.push(Audit { agent, probe, valid, step: step(facts.profile, share) });
    }
    audits
}
