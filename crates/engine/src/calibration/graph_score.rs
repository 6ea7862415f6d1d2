//! The score of relations that are proposed together: each is held against the graph that it would join, and all of them against
//! walks that others really made (CAL-16 to 25, CAL-30).

use super::domain::Belongs;
use super::graph_domain::{Counted, GraphDomain};
use super::rounds::Round;
use super::score::{Audited, Scoring, Spoke, audits};
use super::walks::Walked;
use super::{again, space_of};
use crate::Call;
use crate::tenant::Tenant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tabellion_core::access::Deed;
use tabellion_core::canonical::{Hash, framed_sha256};
use tabellion_core::gate::Weighing;
use tabellion_core::id::{AgentId, UserId, VersionId};
use tabellion_core::log::{Audit, Calibration, Lsn, MemoryKind, Party, Ways};
use tabellion_core::trust::graph::{
    Checked, Depth, Kinds, Links, Proposed, Scene, Support, Walk, paths_between, reach, support,
};
use tabellion_core::trust::{
    CalFacts, Calibrated, Context, Delta, Draw, Evidence, Probing, Profile, Scored, calibrate,
};
use tabellion_core::view::{Class, Known, Moment, RelationsView, Row, Tie};

/// The last walks of an auditor, one of which is drawn (CAL-25).
const WALKS_OF_AUDITOR: usize = 5;
/// Auditors of one delta at most (CAL-1).
const AUDITORS_MAX: usize = 20;
/// Supports that say what is usual (CAL-23), and relations that nobody scored which are asked for theirs.
const SUPPORTS_MAX: usize = 512;
const UNSCORED_MAX: usize = 48;
/// Auditors of one that is scored again (CAL-33).
const AUDITORS_AGAIN: usize = 8;

/// Relations that are proposed together, all of one class.
pub(super) struct Proposal<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) author: (UserId, AgentId),
    pub(super) namespace: &'a str,
    pub(super) round: Option<&'a Round>,
    pub(super) class: &'a Class,
    pub(super) ties: &'a [Tie],
    pub(super) of_copy: bool,
}

/// What became of them, in their order.
pub(super) struct Judgement {
    pub(super) weighings: Vec<Weighing>,
    /// Who was asked; logged once for all of them.
    pub(super) audits: Vec<Audit>,
    /// What others said before that says the same as each, with how much saying it again counts.
    pub(super) bears_out: Vec<Option<(VersionId, f64)>>,
}

/// Somebody who may have something to say of relations.
struct Walker {
    party: Party,
    walks: Vec<Arc<Walked>>,
    /// Whether silence counts against them.
    must_speak: bool,
}

impl Proposal<'_> {
    pub(super) fn of(call: &Call) -> (UserId, AgentId) {
        (call.caller.user(), call.caller.agent())
    }

    /// Scores them.
    pub(super) fn judged(&self) -> Option<Judgement> {
        self.with_domain(|scoring, domain, relations| self.weigh(scoring, domain, relations))
    }

    /// The types that are proposed and those that are there, by number; one that is new has the number that it is scored by.
    pub(super) fn kinds(&self) -> BTreeMap<u32, String> {
        let named = |_: &Scoring<'_>, domain: &mut GraphDomain, relations: &RelationsView| {
            let known = domain.kinds().into_iter();
            let known = known.filter_map(|kind| Some((kind, relations.kind_name(kind)?.to_owned())));
            let new = self.numbers(relations, domain).into_iter().zip(self.ties);
            let new = new.filter_map(|(relation, tie)| Some((relation.kind?, tie.kind().to_owned())));
            new.chain(known).collect()
        };
        self.with_domain(named).unwrap_or_default()
    }

    fn with_domain<T>(
        &self,
        then: impl FnOnce(&Scoring<'_>, &mut GraphDomain, &RelationsView) -> T,
    ) -> Option<T> {
        let (tenant, now) = (self.tenant, self.tenant.now());
        let views = tenant.shared.views.read();
        let index = tenant.shared.index.read();
        let space = space_of(tenant, self.namespace, self.author.0, self.class);
        let at = Moment { lsn: views.lsn(), time: now };
        let by_cedar = views.cedar.rules().concern(Deed::Read);
        let belongs = Belongs {
            views: &views,
            space: &space,
            class: self.class,
            namespace: self.namespace,
            at,
            by_cedar,
        };
        let scoring = Scoring {
            tenant,
            belongs,
            round: self.round,
            author: self.author,
            now,
            sight: Default::default(),
        };
        let domain = tenant.calibrator.graphs.of(&space, self.class, by_cedar);
        let mut domain = domain.lock();
        domain.catch_up(&scoring.belongs, &index.relations, index.lsn());
        Some(then(&scoring, &mut domain, &index.relations))
    }

    /// What is proposed, by the numbers of what is there. A type that is new has one that no other has.
    fn numbers(&self, relations: &RelationsView, domain: &GraphDomain) -> Vec<Proposed> {
        let known = |node: Option<u32>| node.filter(|node| domain.has(*node));
        let mut new: Vec<&str> = Vec::new();
        let mut number = |name| {
            let place = new.iter().position(|known| *known == name).unwrap_or_else(|| {
                new.push(name);
                new.len() - 1
            });
            u32::MAX - place as u32
        };
        let of = |tie| {
            let (from, kind, to) = relations.numbers(tie);
            let kind = kind.unwrap_or_else(|| number(tie.kind()));
            Proposed { from: known(from), kind: Some(kind), to: known(to) }
        };
        self.ties.iter().map(of).collect()
    }

    fn weigh(&self, scoring: &Scoring<'_>, domain: &mut GraphDomain, relations: &RelationsView) -> Judgement {
        let walkers = walkers(scoring);
        let known = scoring.known(MemoryKind::Relations);
        let draw = Draw::new(&scoring.key(), known.rounds, &self.hash());
        let looked =
            Looking { proposal: self, scoring, relations, known: &known, walkers: &walkers, but: None };
        let Looked { checked, calibrated, audited, facts, depth, bears_out } = looked.at(domain, draw);
        let prints = audited.iter().filter_map(|one| one.probe.as_ref().map(|probe| probe.print));
        self.tenant.calibrator.walks.draw(scoring.belongs.space.namespace, prints.collect());
        let audits = audits(&audited, &facts);
        if !audits.is_empty() {
            again::scored(self.tenant);
        }
        let weighing =
            |((scored, checked), said): ((&Scored, &Checked), &Option<(VersionId, f64)>)| Weighing {
                calibration: logged(scoring, (&calibrated, &audited), scored, ways(checked, &depth)),
                admitted: scored.admitted || said.is_some(),
                of_copy: self.of_copy,
            };
        let weighings = calibrated.relations().iter().zip(&checked).zip(&bears_out).map(weighing).collect();
        Judgement { weighings, audits, bears_out }
    }

    /// What walks that have not spoken of it yet say of the one relation that is proposed, which may be there already (CAL-33).
    pub(super) fn again(&self, but: Option<Row>, before: &BTreeSet<Hash>, lsn: Lsn) -> Option<Again> {
        self.with_domain(|scoring, domain, relations| {
            let mut walkers = walkers(scoring);
            for walker in &mut walkers {
                walker.walks.retain(|walk| !before.contains(&walk.print));
            }
            walkers.retain(|walker| !walker.walks.is_empty());
            let known = scoring.known(MemoryKind::Relations);
            let hash = framed_sha256(&[&scoring.belongs.space.namespace, &lsn.get().to_be_bytes()]);
            let mut draw = Draw::new(&scoring.key(), known.rounds, &hash);
            let drawn = draw.sample(walkers.len(), AUDITORS_AGAIN);
            let mut place = 0;
            walkers.retain(|_| {
                place += 1;
                drawn.contains(&(place - 1))
            });
            let looking =
                Looking { proposal: self, scoring, relations, known: &known, walkers: &walkers, but };
            let looked = looking.at(domain, draw);
            let spoke = looked.audited.iter().filter(|one| one.is_informative());
            Some(Again {
                scored: *looked.calibrated.relations().first()?,
                mass: looked.calibrated.informative(),
                parties: spoke.map(|one| one.party).collect(),
                prints: looked
                    .audited
                    .iter()
                    .filter_map(|one| one.probe.as_ref().map(|one| one.print))
                    .collect(),
                threshold: again::gate_of(&known).threshold,
            })
        })
        .flatten()
    }

    /// The names of the types that may mean the same.
    fn names<'a>(
        &'a self,
        domain: &GraphDomain,
        relations: &'a RelationsView,
        proposed: &[Proposed],
    ) -> (BTreeMap<u32, &'a str>, BTreeMap<u32, &'a str>) {
        let new = proposed.iter().zip(self.ties).filter_map(|(one, tie)| Some((one.kind?, tie.kind())));
        let known = domain.kinds().into_iter();
        let known = known.filter_map(|kind| Some((kind, relations.kind_name(kind)?)));
        (new.collect(), known.collect())
    }

    fn hash(&self) -> [u8; 32] {
        let mut parts: Vec<&[u8]> = vec![self.author.0.as_bytes(), self.author.1.as_bytes()];
        for tie in self.ties {
            parts.extend([tie.subject().as_bytes(), tie.kind().as_bytes(), tie.object().as_bytes()]);
        }
        framed_sha256(&parts)
    }
}

/// What was found of one relation that was scored before.
pub(super) struct Again {
    pub(super) scored: Scored,
    pub(super) mass: f64,
    pub(super) parties: Vec<Party>,
    pub(super) prints: Vec<Hash>,
    pub(super) threshold: f64,
}

/// What relations are looked at with.
struct Looking<'a> {
    proposal: &'a Proposal<'a>,
    scoring: &'a Scoring<'a>,
    relations: &'a RelationsView,
    known: &'a Known,
    walkers: &'a [Walker],
    /// The relation itself, where it is there already.
    but: Option<Row>,
}

/// What was found of relations.
struct Looked {
    checked: Vec<Checked>,
    calibrated: Calibrated,
    audited: Vec<Audited>,
    facts: CalFacts,
    /// How far ways are followed from now on.
    depth: Depth,
    bears_out: Vec<Option<(VersionId, f64)>>,
}

impl Looking<'_> {
    fn at(&self, domain: &mut GraphDomain, mut draw: Draw) -> Looked {
        let Self { proposal, scoring, relations, known, walkers, but } = *self;
        let profile = proposal.tenant.governance.calibration.profile;
        let proposed = proposal.numbers(relations, domain);
        let thresholds = domain.thresholds(profile);
        let domain = &*domain;
        let synonyms =
            proposal.tenant.calibrator.labels.synonyms(&proposal.names(domain, relations, &proposed));
        let all = domain.links(&scoring.belongs);
        let links = all.but(but);
        let kinds = Kinds::new(profile, domain.nodes(), &domain.matrices, thresholds, &synonyms);
        let (adjust, rounds) = known.ways.depth;
        let mut depth = Depth::resumed(adjust, rounds, known.ways.counts.iter().copied());
        let (steps, connected) = (depth.steps(domain.nodes()), domain.is_connected());
        let support_min = self.usual(domain, &all, kinds, steps).least();
        let scene = Scene { links: &links, kinds, depth: steps, support_min, connected };
        let checked: Vec<Checked> = proposed.iter().map(|relation| scene.check(relation)).collect();
        let said = |relation: &Proposed| said_before(&scene, scoring, known, relation);
        let bears_out = proposed.iter().map(said).collect();
        let listening = Listening { scoring, known, scene: &scene, relations, proposed: &proposed };
        let audited = listening.audited(walkers, &mut draw);
        let delta = Delta { items: Vec::new(), relations: checked.iter().map(|one| one.facts).collect() };
        let memory = domain.matrices.relations();
        let facts = scoring.facts(&audited, memory as u64, known.past.clone(), walkers.len() + 1);
        let calibrated = calibrate(&delta, &facts);
        for one in checked.iter().filter(|one| one.facts.existed) {
            depth.checked(one.supports.len());
        }
        depth.round(domain.nodes(), memory);
        Looked { checked, calibrated, audited, facts, depth, bears_out }
    }
}

impl Looking<'_> {
    /// Which support is usual. Where too little was audited to tell, the last relations that nobody audited say it too, as they lie
    /// now: else the first ones would be held against nothing, and those after them against the first.
    fn usual(&self, domain: &GraphDomain, all: &Counted<'_>, kinds: Kinds<'_>, steps: usize) -> Support {
        let scored = &self.known.ways.supports;
        let missing = SUPPORTS_MAX.saturating_sub(scored.len());
        let trust = &self.scoring.belongs.views.trust;
        let unscored = |row: &Row| trust.standing(*row).is_none_or(|standing| !standing.audited);
        let mut before: Vec<f64> = Vec::new();
        for row in domain.latest().filter(unscored).take(UNSCORED_MAX) {
            if before.len() >= missing {
                break;
            }
            let Some((from, kind, to)) = self.relations.tied(row) else { continue };
            let paths = paths_between(&all.but(Some(row)), from, to, steps);
            before.extend(paths.iter().map(|path| support(&kinds, Some(kind), path)));
        }
        before.truncate(missing);
        before.into_iter().chain(scored.iter().copied()).collect()
    }
}

fn ways(checked: &Checked, depth: &Depth) -> Ways {
    let (adjust, rounds) = depth.state();
    Ways { supports: checked.facts.existed.then(|| checked.supports.clone()), adjust, rounds }
}

/// What is logged of one of them. They are gated together, so what they reached together is what the next ones are measured by.
fn logged(
    scoring: &Scoring<'_>,
    (calibrated, audited): (&Calibrated, &[Audited]),
    scored: &Scored,
    ways: Ways,
) -> Calibration {
    let rho = if scored.admitted { calibrated.rho() } else { calibrated.rho().min(scored.rho) };
    let calibration = scoring.logged(calibrated, scored, Vec::new(), MemoryKind::Relations);
    // Where nobody is asked, what is found says nothing of what is usual: that is looked up when somebody is.
    let ways = (calibration.gated || !audited.is_empty()).then_some(ways);
    Calibration { rho, ways, ..calibration }
}

/// A committed relation of another party that says the same as a proposed one, and how much it counts that this party says it
/// too (CAL-39); nothing if the party said it before.
fn said_before<L: Links>(
    scene: &Scene<'_, L>,
    scoring: &Scoring<'_>,
    known: &Known,
    relation: &Proposed,
) -> Option<(VersionId, f64)> {
    let (views, party) = (scoring.belongs.views, scoring.party());
    let rows = scene.all_said_before(relation);
    let standing = |row: &Row| views.trust.standing(*row).filter(|standing| standing.audited);
    let standings: Vec<_> = rows.iter().filter_map(|row| Some((*row, standing(row)?))).collect();
    if standings.iter().any(|(_, standing)| standing.party == party) {
        return None;
    }
    let (row, _) = standings.first()?;
    let weight = known.weight(scoring.author.1);
    let (_, mass) = Evidence::Corroborated { weight }.parts();
    Some((views.items.version(*row)?.id, mass))
}

/// Everybody who may have something to say: their walks must be as widely seen as what is scored (CAL-41).
fn walkers(scoring: &Scoring<'_>) -> Vec<Walker> {
    let calibrator = &scoring.tenant.calibrator;
    let (walks, namespace) = (&calibrator.walks, scoring.belongs.space.namespace);
    if let Some(round) = scoring.round.filter(|round| round.by_person) {
        let others = round.agents.iter().filter(|agent| **agent != scoring.author.1);
        let of = |agent: &AgentId| {
            let mut all = walks.queues.of(*agent, namespace, scoring.now);
            all.retain(|one| one.round == Some(round.trace) && scoring.sees(one.user, one.agent));
            // Who searched and did not walk has nothing to say of relations, and nothing is wrong with that.
            let searched = calibrator.probes.queues.of(*agent, namespace, scoring.now);
            let searched = searched.iter().any(|probe| probe.round == Some(round.trace));
            let must_speak = !all.is_empty() || !searched;
            Walker { party: Party::Agent(*agent), walks: all, must_speak }
        };
        return others.map(of).collect();
    }
    let mut by_user: BTreeMap<UserId, Vec<Arc<Walked>>> = BTreeMap::new();
    for agent in &scoring.belongs.space.agents {
        for one in walks.queues.of(*agent, namespace, scoring.now) {
            if one.shared && scoring.hears((one.user, one.agent), &one.with) {
                by_user.entry(one.user).or_default().push(one);
            }
        }
    }
    let of = |(user, walks)| Walker { party: Party::User(user), walks, must_speak: false };
    by_user.into_iter().map(of).collect()
}

/// What walks are held against.
struct Listening<'a, L> {
    scoring: &'a Scoring<'a>,
    known: &'a Known,
    scene: &'a Scene<'a, L>,
    relations: &'a RelationsView,
    proposed: &'a [Proposed],
}

impl<L: Links> Listening<'_, L> {
    /// Draws a relation and a walk for each auditor, and holds one against the other.
    fn audited(&self, walkers: &[Walker], draw: &mut Draw) -> Vec<Audited> {
        let mut audited = Vec::new();
        for place in draw.sample(walkers.len(), AUDITORS_MAX) {
            let Some(walker) = walkers.get(place) else { continue };
            let drawn = self.proposed.get(draw.below(self.proposed.len()));
            let walk = self.draw_walk(walker, draw);
            let probing = match (&walk, drawn) {
                (Some(walk), Some(relation)) => self.heard(walk, relation, walker.must_speak),
                _ if walker.must_speak => Probing::Invalid,
                _ => Probing::Abstained,
            };
            let weight = match walker.party {
                Party::Agent(agent) => self.known.weight(agent),
                Party::User(_) => self.mean_weight(walker),
            };
            let probe = walk.map(|walk| Spoke { agent: walk.agent, print: walk.print });
            audited.push(Audited { party: walker.party, weight, probe, probing });
        }
        audited
    }

    /// One of the last walks that was not drawn too often; as published, the last.
    fn draw_walk(&self, walker: &Walker, draw: &mut Draw) -> Option<Arc<Walked>> {
        let (walks, namespace) =
            (&self.scoring.tenant.calibrator.walks, self.scoring.belongs.space.namespace);
        let last = match self.scene.kinds.profile() {
            Profile::Ship => WALKS_OF_AUDITOR,
            Profile::Ref => 1,
        };
        let fresh = walker.walks.iter().rev().filter(|walk| !walks.is_worn(&namespace, walk));
        let fresh: Vec<&Arc<Walked>> = fresh.take(last).collect();
        fresh.get(draw.below(fresh.len())).map(|walk| Arc::clone(walk))
    }

    fn heard(&self, walked: &Walked, relation: &Proposed, must_speak: bool) -> Probing {
        match (walked.context, must_speak) {
            (Context::In, _) | (Context::TooFew, true) => {}
            (Context::Out, true) => return Probing::Invalid,
            (Context::Out | Context::TooFew, false) => return Probing::Abstained,
        }
        match self.seen_by_all(walked) {
            Some(walk) => reach(self.scene.links, &self.scene.kinds, relation, &walk),
            None => Probing::Silent,
        }
    }

    /// As far as everyone who sees what is proposed may see the walk, from its beginning.
    fn seen_by_all(&self, walked: &Walked) -> Option<Walk> {
        let belongs = &self.scoring.belongs;
        let seen = |row: &Row| {
            let version = belongs.views.items.version(*row)?;
            belongs.admits_version(version).then(|| self.relations.tied(*row)).flatten()
        };
        let tied = walked.rows.iter().map_while(seen);
        let hops: Vec<(u32, u32)> =
            tied.zip(walked.nodes.iter().skip(1)).map(|((_, kind, _), node)| (kind, *node)).collect();
        let start = *walked.nodes.first()?;
        (!hops.is_empty()).then_some(Walk { start, hops })
    }

    /// One user's agents are one auditor: as credible as they are on average (CAL-1).
    fn mean_weight(&self, walker: &Walker) -> f64 {
        let agents: BTreeSet<AgentId> = walker.walks.iter().map(|walk| walk.agent).collect();
        let sum: f64 = agents.iter().map(|agent| self.known.weight(*agent)).sum();
        sum / agents.len().max(1) as f64
    }
}
