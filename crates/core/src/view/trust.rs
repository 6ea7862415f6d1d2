//! How far what is remembered can be trusted: the scores of writes, the gate's memory of them, and how credible auditors are.
//!
//! Everything is kept by the space that it was scored in, and put together for a write from the spaces that it dominates
//! (CAL-41): what is hidden from anyone who sees the write has no part in it.

mod past;
mod ways;

pub use ways::WaysKnown;

use super::{ItemsView, Row};
use crate::id::{AgentId, ReviewId};
use crate::log::{
    Audit, Calibration, Decision, Entry, Event, Lsn, Mark, MemoryKind, Party, Reason, Space, TrustMove,
    Weighed,
};
use crate::trust::{Evidence, Past, Stored, moved};
use crate::vector::UNWEIGHED;
use past::Pasts;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use ways::Travelled;

/// Steps of an auditor's credibility that are remembered in one space; the shortest halves what was before, so older ones have
/// no part in any digit that counts.
const STEPS_MAX: usize = 64;
/// Voices that are heard once each of one version; beyond that none is heard any more.
const HEARD_MAX: usize = 1_024;

/// The trust of a version.
#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Standing {
    /// What it is trusted by.
    #[n(0)]
    pub stored: Stored,
    /// How it was scored first.
    #[n(1)]
    pub rho: f64,
    /// How little it crowds what is known.
    #[n(2)]
    pub detect: f64,
    /// How little it changed what others found.
    #[n(3)]
    pub align: f64,
    /// What it had to reach.
    #[n(4)]
    pub threshold: f64,
    /// What else is to be said of that.
    #[n(5)]
    pub mark: Mark,
    /// Where it was scored, as a row of the spaces.
    #[n(6)]
    pub space: u32,
    /// As what.
    #[n(7)]
    pub kind: MemoryKind,
    /// Who wrote it.
    #[n(8)]
    pub party: Party,
    /// Whether it has fallen below the gate since.
    #[n(9)]
    pub demoted: bool,
    /// Where it was scored.
    #[n(10)]
    pub lsn: Lsn,
    /// Whether anybody was asked of it, or it had to reach something: only then are the next ones measured by it.
    #[n(11)]
    pub audited: bool,
}

impl Standing {
    fn moved_by(self, evidence: &TrustMove) -> Self {
        Self {
            stored: self.stored.with(evidence.score, evidence.mass),
            detect: evidence.detect.unwrap_or(self.detect),
            demoted: evidence.demoted,
            ..self
        }
    }
}

/// The trust of a write that waits, and who spoke for or against it.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct StagedTrust {
    /// How it stands.
    #[n(0)]
    pub standing: Standing,
    /// Other parties that its evidence came from.
    #[n(1)]
    pub parties: BTreeSet<Party>,
    /// Other parties that say the same.
    #[n(2)]
    pub said: BTreeSet<Party>,
    /// How alike those were answered, with it and without it, whom it comes near: by now, and how many.
    #[n(3)]
    pub agreed: Stored,
}

#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Step {
    #[n(0)]
    lsn: Lsn,
    #[n(1)]
    valid: bool,
    #[n(2)]
    step: f64,
}

/// What was scored in one space.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Scored {
    #[n(0)]
    space: Space,
    /// How many writes were.
    #[n(1)]
    rounds: u64,
    /// What became of writes.
    #[n(2)]
    past: Pasts,
    /// How auditors' credibility moved, oldest first.
    #[n(3)]
    steps: BTreeMap<AgentId, Vec<Step>>,
    /// The ways between the ends of relations.
    #[n(4)]
    ways: Travelled,
}

/// What a write is held against, put together from every space that may have a part in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// How many writes were scored.
    pub rounds: u64,
    /// What became of writes, oldest first.
    pub past: Vec<Past>,
    /// The ways between the ends of relations.
    pub ways: WaysKnown,
    steps: BTreeMap<AgentId, Vec<(Lsn, bool, f64)>>,
}

impl Known {
    /// How credible an auditor is.
    #[must_use]
    pub fn weight(&self, agent: AgentId) -> f64 {
        let steps = self.steps.get(&agent).map_or(&[] as &[_], Vec::as_slice);
        steps.iter().fold(1.0, |weight, (_, valid, step)| moved(weight, *valid, *step))
    }

    /// Every auditor whose credibility ever moved.
    pub fn auditors(&self) -> impl Iterator<Item = (AgentId, f64)> {
        self.steps.keys().map(|agent| (*agent, self.weight(*agent)))
    }
}

/// The trust of everything that was scored.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct TrustView {
    #[n(0)]
    versions: BTreeMap<Row, Standing>,
    #[n(1)]
    staged: BTreeMap<ReviewId, StagedTrust>,
    #[n(2)]
    scored: Vec<Scored>,
    /// Who said of a version how it went, and whether it was found contradicted: each counts once.
    #[n(3)]
    heard: BTreeMap<Row, BTreeSet<(Reason, Option<Party>)>>,
    #[cbor(skip)]
    row_of: HashMap<Space, u32>,
    /// The root of each row's trust; rows beyond are trusted by one half.
    #[cbor(skip)]
    roots: Vec<f32>,
}

impl TrustView {
    /// How far a version can be trusted; one half where there is no evidence.
    #[must_use]
    pub fn rho(&self, row: Row) -> f64 {
        self.stored(row).rho()
    }

    /// What a version is trusted by.
    #[must_use]
    pub fn stored(&self, row: Row) -> Stored {
        self.versions.get(&row).map(|standing| standing.stored).unwrap_or_default()
    }

    /// The root of how far each version is trusted, by row: what its cosine counts (CAL-35). Rows beyond have no evidence.
    #[must_use]
    pub fn roots(&self) -> &[f32] {
        &self.roots
    }

    /// How a version was scored, if it was.
    #[must_use]
    pub fn standing(&self, row: Row) -> Option<&Standing> {
        self.versions.get(&row)
    }

    /// The trust of a write that waits.
    #[must_use]
    pub fn staged(&self, review: ReviewId) -> Option<&StagedTrust> {
        self.staged.get(&review)
    }

    /// Every write that waits because of its score.
    pub fn all_staged(&self) -> impl Iterator<Item = (ReviewId, &StagedTrust)> {
        self.staged.iter().map(|(review, trust)| (*review, trust))
    }

    /// Whether a party has said of a version how it went, or the server that something speaks against it: once is enough (CAL-33).
    #[must_use]
    pub fn has_heard(&self, row: Row, reason: Reason, party: Option<Party>) -> bool {
        let heard = self.heard.get(&row);
        heard.is_some_and(|heard| heard.len() >= HEARD_MAX || heard.contains(&(reason, party)))
    }

    /// Every version that was scored.
    pub fn all(&self) -> impl Iterator<Item = (Row, &Standing)> {
        self.versions.iter().map(|(row, standing)| (*row, standing))
    }

    /// Where something was scored.
    #[must_use]
    pub fn space(&self, row: u32) -> Option<&Space> {
        self.scored.get(row as usize).map(|scored| &scored.space)
    }

    /// Every space in which something was scored.
    pub fn spaces(&self) -> impl Iterator<Item = &Space> {
        self.scored.iter().map(|scored| &scored.space)
    }

    /// What may have a part in the score of something, given the spaces that do.
    #[must_use]
    pub fn known(&self, kind: MemoryKind, counts: impl Fn(&Space) -> bool) -> Known {
        let mut known = Known::default();
        let mut past: Vec<(Lsn, Past)> = Vec::new();
        let mut ways = Travelled::default();
        for scored in self.scored.iter().filter(|scored| counts(&scored.space)) {
            known.rounds += scored.rounds;
            past.extend(scored.past.of(kind));
            if kind == MemoryKind::Relations {
                ways.join(&scored.ways);
            }
            for (agent, steps) in &scored.steps {
                let all = known.steps.entry(*agent).or_default();
                all.extend(steps.iter().map(|step| (step.lsn, step.valid, step.step)));
            }
        }
        past.sort_by_key(|(lsn, _)| *lsn);
        known.past = past.into_iter().map(|(_, past)| past).collect();
        known.ways = ways.known();
        known.steps.values_mut().for_each(|steps| steps.sort_by_key(|(lsn, ..)| *lsn));
        known
    }

    pub(super) fn index(&mut self) {
        let rows = self.scored.iter().enumerate();
        self.row_of = rows.map(|(row, scored)| (scored.space.clone(), row as u32)).collect();
        let trusted: Vec<(Row, Stored)> = self.versions.iter().map(|(row, one)| (*row, one.stored)).collect();
        trusted.iter().for_each(|(row, stored)| self.root(*row, *stored));
    }

    fn root(&mut self, row: Row, stored: Stored) {
        if self.roots.len() <= row as usize {
            self.roots.resize(row as usize + 1, UNWEIGHED);
        }
        if let Some(root) = self.roots.get_mut(row as usize) {
            *root = stored.rho().sqrt() as f32;
        }
    }

    fn weigh(&mut self, row: Row, standing: Standing) {
        self.root(row, standing.stored);
        self.versions.insert(row, standing);
    }

    pub(super) fn apply(&mut self, entry: &Entry, items: &ItemsView) {
        if let Event::Calibrated(calibration) = &entry.event {
            self.score(calibration, entry.lsn, items);
        }
        if let Event::TrustMoved(evidence) = &entry.event {
            self.shift(evidence, items);
        }
        if let Event::ReviewDecided { review, decision } = &entry.event {
            self.decide(*review, *decision);
        }
        if let Event::VersionWritten(written) = &entry.event {
            let staged = written.review.and_then(|review| self.staged.remove(&review));
            if let (Some(staged), Some(row)) = (staged, items.row_of(written.version)) {
                if staged.standing.audited {
                    self.commit(&staged.standing, entry.lsn);
                }
                self.weigh(row, staged.standing);
            }
        }
    }

    fn score(&mut self, one: &Calibration, lsn: Lsn, items: &ItemsView) {
        if one.is_unaudited() {
            return self.begin(one, lsn, items);
        }
        let standing = self.standing_of(one, lsn);
        let space = standing.space;
        // Of what is scored together one entry says who was asked, and stands for all: else what is said in many parts would be most of
        // what the next ones are measured by.
        let stands_for_all = !one.audits.is_empty();
        if let Some(scored) = self.scored.get_mut(space as usize) {
            scored.rounds += u64::from(stands_for_all);
            if stands_for_all && matches!(one.weighed, Weighed::Staged(_)) {
                scored.past.keep_apart((one.kind, one.party), lsn);
            }
            one.audits.iter().for_each(|audit| scored.audit(audit, lsn));
            if let Some(ways) = &one.ways {
                scored.ways.note(ways, lsn, matches!(one.weighed, Weighed::Version(_)));
            }
        }
        match one.weighed {
            Weighed::Version(version) => {
                if let Some(row) = items.row_of(version) {
                    self.weigh(row, standing);
                    if stands_for_all {
                        self.commit(&standing, lsn);
                    }
                }
            }
            Weighed::Staged(review) => {
                let spoke = one.audits.iter().filter(|audit| audit.valid == Some(true));
                let parties = spoke.map(|audit| Party::Agent(audit.agent)).collect();
                let agreed = one.agreement.map(|alike| Stored::default().with(alike, one.stored.count));
                let (said, agreed) = (BTreeSet::new(), agreed.unwrap_or_default());
                self.staged.insert(review, StagedTrust { standing, parties, said, agreed });
            }
        }
    }

    /// Something that nobody audited when it was written: it has a standing from now on, and nothing is measured by it (CAL-43).
    fn begin(&mut self, one: &Calibration, lsn: Lsn, items: &ItemsView) {
        match one.weighed {
            Weighed::Version(version) => {
                if let Some(row) = items.row_of(version).filter(|row| !self.versions.contains_key(row)) {
                    let standing = self.standing_of(one, lsn);
                    self.weigh(row, standing);
                }
            }
            Weighed::Staged(review) => {
                let standing = self.standing_of(one, lsn);
                let (parties, said, agreed) = Default::default();
                self.staged.insert(review, StagedTrust { standing, parties, said, agreed });
            }
        }
    }

    fn standing_of(&mut self, one: &Calibration, lsn: Lsn) -> Standing {
        let space = self.space_row(&one.space);
        Standing {
            stored: one.stored,
            rho: one.rho,
            detect: one.detect,
            align: one.align,
            threshold: one.threshold,
            mark: one.mark,
            space,
            kind: one.kind,
            party: one.party,
            demoted: false,
            lsn,
            audited: !one.is_unaudited(),
        }
    }

    /// What is committed is what the gate measures the next ones by.
    fn commit(&mut self, standing: &Standing, lsn: Lsn) {
        if let Some(scored) = self.scored.get_mut(standing.space as usize) {
            scored.past.commit((standing.kind, standing.party), standing.rho, lsn);
        }
    }

    fn shift(&mut self, evidence: &TrustMove, items: &ItemsView) {
        match evidence.weighed {
            Weighed::Version(version) => {
                let row = items.row_of(version);
                let known = row.and_then(|row| Some((row, *self.versions.get(&row)?)));
                if let Some((row, standing)) = known
                    && self.hears(row, evidence)
                {
                    self.weigh(row, standing.moved_by(evidence));
                }
            }
            Weighed::Staged(review) => {
                if let Some(staged) = self.staged.get_mut(&review) {
                    staged.parties.extend(&evidence.parties);
                    if evidence.reason == Reason::Corroborated {
                        staged.said.extend(&evidence.parties);
                    }
                    staged.standing = staged.standing.moved_by(evidence);
                    if let Some(alike) = evidence.agreement {
                        staged.agreed = staged.agreed.with(alike, evidence.mass);
                    }
                }
            }
        }
    }

    /// Whether evidence counts: what may speak once alone has not spoken before.
    fn hears(&mut self, row: Row, evidence: &TrustMove) -> bool {
        let voice = match evidence.reason {
            Reason::Outcome => evidence.parties.first().copied(),
            Reason::Contradicted => None,
            Reason::Recalibrated | Reason::Corroborated => return true,
        };
        let is_new = !self.has_heard(row, evidence.reason, voice);
        is_new && self.heard.entry(row).or_default().insert((evidence.reason, voice))
    }

    fn decide(&mut self, review: ReviewId, decision: Decision) {
        match decision {
            Decision::Approved => {
                if let Some(staged) = self.staged.get_mut(&review) {
                    let (score, mass) = Evidence::Decided { yes: true }.parts();
                    staged.standing.stored = staged.standing.stored.with(score, mass);
                }
            }
            Decision::Seconded | Decision::Promoted => {}
            Decision::Rejected
            | Decision::Withdrawn
            | Decision::TimedOut
            | Decision::RejectedAsFalse
            | Decision::Refused
            | Decision::RejectedAsViolation => drop(self.staged.remove(&review)),
        }
    }

    fn space_row(&mut self, space: &Space) -> u32 {
        if let Some(row) = self.row_of.get(space) {
            return *row;
        }
        let row = self.scored.len() as u32;
        let (past, steps, ways) = (Pasts::default(), BTreeMap::new(), Travelled::default());
        self.scored.push(Scored { space: space.clone(), rounds: 0, past, steps, ways });
        self.row_of.insert(space.clone(), row);
        row
    }
}

impl Scored {
    fn audit(&mut self, audit: &Audit, lsn: Lsn) {
        let Some(valid) = audit.valid else { return };
        let steps = self.steps.entry(audit.agent).or_default();
        steps.push(Step { lsn, valid, step: audit.step });
        if steps.len() > STEPS_MAX {
            steps.remove(0);
        }
    }
}

/// A number by which a party is told apart from others.
#[must_use]
pub fn number(party: Party) -> u64 {
    let bytes = match &party {
        Party::User(user) => user.as_bytes(),
        Party::Agent(agent) => agent.as_bytes(),
    };
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{UserId, VersionId};
    use crate::item::Tier;
    use crate::log::{Actor, Reason};
    use crate::time::Timestamp;

    fn agent(number: u8) -> AgentId {
        AgentId::from_bytes([number; 16])
    }

    fn space(agents: &[u8]) -> Space {
        Space {
            namespace: [1; 32],
            tier: Tier::Shared,
            owner: None,
            agents: agents.iter().map(|number| agent(*number)).collect(),
            resources: Vec::new(),
            labels: None,
        }
    }

    fn scored(weighed: Weighed, agents: &[u8], valid: bool) -> Calibration {
        Calibration {
            weighed,
            space: space(agents),
            kind: MemoryKind::Items,
            party: Party::User(UserId::from_bytes([9; 16])),
            detect: 0.6,
            align: 0.9,
            rho: 0.73,
            threshold: 0.5,
            stored: Stored { evidence: 2.0, count: 4.0 },
            mark: Mark::Plain,
            audits: vec![Audit { agent: agent(7), probe: None, valid: Some(valid), step: 0.3 }],
            gated: true,
            ways: None,
            agreement: Some(0.5),
        }
    }

    fn fold(events: &[Event]) -> TrustView {
        let (mut view, items) = (TrustView::default(), ItemsView::default());
        for (place, event) in events.iter().enumerate() {
            let (lsn, time) = (Lsn::new(place as u64 + 1), Timestamp::from_micros(1));
            let entry = Entry { lsn, time, actor: Actor::SERVER, event: event.clone(), sealed: None };
            view.apply(&entry, &items);
        }
        view
    }

    const WAITS: ReviewId = ReviewId::from_bytes([4; 16]);

    /// CAL-41, SHARE-39: what others may not see has no part in a gate, a weight or the count of rounds.
    #[test]
    fn only_what_is_dominated_counts() {
        let staged = |agents: &[u8], valid| Event::Calibrated(scored(Weighed::Staged(WAITS), agents, valid));
        let view = fold(&[staged(&[1], true), staged(&[1, 2], false), staged(&[3], false)]);
        let known = |agents: &[u8]| {
            let here = space(agents);
            view.known(MemoryKind::Items, |other| here.dominates(other))
        };
        assert_eq!((known(&[1]).rounds, known(&[1, 2]).rounds, known(&[1, 2, 3]).rounds), (1, 2, 3));
        assert_eq!(known(&[1]).weight(agent(7)), 1.0);
        assert!((known(&[1, 2]).weight(agent(7)) - 0.7).abs() < 1e-12);
        assert!((known(&[1, 2, 3]).weight(agent(7)) - 0.49).abs() < 1e-12);
        let private = Space { tier: Tier::Private, owner: Some(UserId::from_bytes([9; 16])), ..space(&[1]) };
        assert!(private.dominates(&space(&[1])) && !space(&[1]).dominates(&private));
    }

    /// CAL-33, CAL-34: evidence adds up while a write waits; a no ends it, and a yes of a person counts.
    #[test]
    fn evidence_adds_up_while_a_write_waits() {
        let first = Event::Calibrated(scored(Weighed::Staged(WAITS), &[1, 7], true));
        let party = Party::User(UserId::from_bytes([8; 16]));
        let more = Event::TrustMoved(TrustMove {
            weighed: Weighed::Staged(WAITS),
            reason: Reason::Corroborated,
            score: 1.0,
            mass: 1.0,
            parties: vec![party],
            detect: None,
            demoted: false,
            agreement: None,
        });
        let view = fold(&[first.clone(), more.clone()]);
        let staged = view.staged(WAITS).unwrap();
        assert_eq!(staged.standing.stored, Stored { evidence: 3.0, count: 5.0 });
        assert_eq!(staged.parties, BTreeSet::from([party, Party::Agent(agent(7))]));
        assert_eq!(staged.said, BTreeSet::from([party]));
        // What others say is no look at what they are answered; a look is.
        assert_eq!(staged.agreed, Stored { evidence: 2.0, count: 4.0 });
        let Event::TrustMoved(look) = more.clone() else { unreachable!() };
        let look = TrustMove { reason: Reason::Recalibrated, agreement: Some(0.75), mass: 2.0, ..look };
        let looked = fold(&[first.clone(), Event::TrustMoved(look)]);
        assert_eq!(looked.staged(WAITS).unwrap().agreed, Stored { evidence: 3.5, count: 6.0 });
        let decided = |decision| Event::ReviewDecided { review: WAITS, decision };
        let yes = fold(&[first.clone(), more.clone(), decided(Decision::Approved)]);
        assert_eq!(yes.staged(WAITS).unwrap().standing.stored, Stored { evidence: 8.0, count: 10.0 });
        assert!(fold(&[first, more, decided(Decision::Rejected)]).staged(WAITS).is_none());
    }

    /// CAL-32: what nobody scored is trusted by one half, and a version that is not there is not scored.
    #[test]
    fn nothing_known_is_one_half() {
        let missing = Weighed::Version(VersionId::from_bytes([5; 16]));
        let view = fold(&[Event::Calibrated(scored(missing, &[1], true))]);
        assert_eq!(view.rho(0), 0.5);
        assert!(view.roots().is_empty() && view.all().next().is_none());
    }
}
