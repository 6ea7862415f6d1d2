//! One run in world G: 240 rounds, in each of which an agent says some relations; some agents lie.

use super::graph::{COMMUNITIES, Gold, Graph, HUBS, Lie, SEEDS, TYPES, Tie};
use super::play::{AGENTS, Attack, Defence, Played, Setup, is_liar};
use super::team::{Team, is_in};
use crate::commands::cast::RECALIBRATED_EVERY;
use anyhow::{Context as _, Result};

/// Rounds in which the same communities are talked about, and how many those are.
const ROUNDS_OF_A_TALK: usize = 12;
const ACTIVE: usize = 3;
/// How often an honest agent walks where that has nothing to do with it.
const SLIPS: f64 = 0.02;
/// Relations of one lie.
const LIES: usize = 3;
/// Walks that are looked up again, anywhere and from each hub.
const GOLD: usize = 400;
const GOLD_OF_HUB: usize = 5;
/// Relations in one call, and those that a talk is declared with.
const CALL: usize = 64;

struct Run<'a> {
    setup: &'a Setup,
    graph: Graph,
    team: Team,
    /// Relations of each community, with the ids that they have.
    of: Vec<Vec<String>>,
    /// What was kept apart: whether it is a lie, the relation, and its id.
    apart: Vec<(bool, String)>,
    active: Vec<usize>,
    round: String,
    gold: Vec<Gold>,
    hubs: Vec<Gold>,
    played: Played,
}

/// Plays a run.
pub(super) async fn play(setup: &Setup) -> Result<Played> {
    let team = Team::without_model(AGENTS, setup.seed, setup.defence.calibration()).await?;
    let mut run = Run {
        setup,
        graph: Graph::new(setup.seed),
        team,
        of: vec![Vec::new(); COMMUNITIES],
        apart: Vec::new(),
        active: Vec::new(),
        round: String::new(),
        gold: Vec::new(),
        hubs: Vec::new(),
        played: Played::default(),
    };
    run.begin().await?;
    for number in 0..setup.rounds {
        if number % ROUNDS_OF_A_TALK == 0 {
            let gold = run.gold.clone();
            let hits = run.hits(&gold).await?;
            run.played.hits.push(hits);
            run.talk(number).await?;
        }
        run.round(number).await?;
        if (number + 1).is_multiple_of(RECALIBRATED_EVERY) {
            run.team.cast.recalibrate().await?;
        }
    }
    run.come_in_later().await?;
    let (gold, hubs) = (run.gold.clone(), run.hubs.clone());
    run.played.hit = run.hits(&gold).await?;
    run.played.hit_hubs = run.hits(&hubs).await?;
    run.played.hits.push(run.played.hit);
    run.played.hit_before = run.played.hits.first().copied().unwrap_or(0.0);
    run.team.close().await?;
    Ok(run.played)
}

impl Run<'_> {
    async fn begin(&mut self) -> Result<()> {
        let mut seeds = Vec::new();
        for number in 0..SEEDS {
            let tie = self.graph.honest(number % COMMUNITIES);
            self.graph.learn(tie);
            seeds.push(tie);
        }
        let work = self.team.work_together("what is known at first").await?;
        let mut said = vec![Vec::new(); TYPES];
        for (number, some) in seeds.chunks(CALL).enumerate() {
            let author = number % AGENTS;
            let some_named: Vec<_> = some.iter().map(named).collect();
            let written = self.team.relate(author, &some_named, &work).await?;
            for (tie, written) in some.iter().zip(written) {
                let id = written.id.context("what is known at first has an id")?.to_string();
                if let Some(said) = said.get_mut(tie.1) {
                    said.push((author, id.clone()));
                }
                self.note(*tie, Some(id));
            }
        }
        match self.setup.defence {
            Defence::Calibrated(..) => self.bear_out(&said).await?,
            // Where nothing is weighed, everything counts the same.
            Defence::Vanilla | Defence::Majority | Defence::Isolated => {}
        }
        while self.gold.len() < GOLD {
            let found = self.graph.gold(None);
            self.gold.extend(found);
        }
        for hub in self.graph.hubs() {
            for _ in 0..GOLD_OF_HUB {
                let found = self.graph.gold(Some(hub));
                self.hubs.extend(found);
            }
        }
        debug_assert!(self.hubs.len() <= HUBS * GOLD_OF_HUB);
        Ok(())
    }

    /// Three others have used each of what is known at first: twice that went well, so that it is trusted by .6, as in world V.
    async fn bear_out(&self, said: &[Vec<(usize, String)>]) -> Result<()> {
        for (kind, said) in said.iter().enumerate() {
            for author in 0..AGENTS {
                let by_author = said.iter().filter(|(one, _)| *one == author);
                let ids: Vec<String> = by_author.map(|(_, id)| id.clone()).collect();
                for (other, good) in [(1, true), (2, true), (3, false)] {
                    let reporter = (author + other) % AGENTS;
                    self.team.report_ties(reporter, &Graph::kind_name(kind), &ids, good).await?;
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, tie: Tie, id: Option<String>) {
        let community = self.graph.community_of(tie.0);
        if let (Some(ids), Some(id)) = (self.of.get_mut(community), id) {
            ids.push(id);
        }
    }

    /// A talk about other communities begins.
    async fn talk(&mut self, number: usize) -> Result<()> {
        self.active.clear();
        while self.active.len() < ACTIVE {
            let community = self.graph.below(COMMUNITIES);
            if !self.active.contains(&community) {
                self.active.push(community);
            }
        }
        let mut items = Vec::new();
        // Who adapts has the round declared with where it will walk.
        let adapts = self.setup.attack == Attack::Adaptive;
        let about: Vec<usize> = if adapts { (0..COMMUNITIES).collect() } else { self.active.clone() };
        let of_each = CALL / about.len();
        for community in about {
            let ids = self.of.get(community).cloned().unwrap_or_default();
            let from = self.graph.below(ids.len().saturating_sub(of_each).max(1));
            items.extend(ids.into_iter().skip(from).take(of_each));
        }
        self.round = self.team.declare(&format!("talk {number}"), &items).await?;
        Ok(())
    }

    fn lies(&self, agent: usize) -> bool {
        self.setup.attack != Attack::None && is_liar(agent, self.setup.adversaries)
    }

    fn active(&mut self) -> usize {
        let place = self.graph.below(ACTIVE);
        self.active.get(place).copied().unwrap_or(0)
    }

    async fn round(&mut self, number: usize) -> Result<()> {
        let contributor = number % AGENTS;
        let lies = self.lies(contributor);
        let community = self.active();
        let leads = if self.setup.attack == Attack::Targeted { Lie::Near } else { Lie::Far };
        let delta = if lies { self.graph.lies(LIES, leads) } else { self.graph.delta(community) };
        for agent in (0..AGENTS).filter(|agent| *agent != contributor) {
            for _ in 0..self.setup.reads {
                self.read(agent, lies, &delta).await?;
            }
        }
        if self.passes(contributor, lies) {
            let said: Vec<_> = delta.iter().map(named).collect();
            let written = self.team.relate(contributor, &said, &self.round).await?;
            for (tie, written) in delta.iter().zip(written) {
                let id = written.id.map(|id| id.to_string());
                self.counted(lies, is_in(&written));
                if is_in(&written) {
                    self.graph.learn(*tie);
                    self.note(*tie, id);
                } else if let Some(id) = id {
                    self.apart.push((lies, id));
                }
            }
        } else {
            delta.iter().for_each(|_| self.counted(lies, false));
        }
        self.played.credibility.push(self.team.credibility().await?);
        self.played.poisoned.push(self.played.poison_in);
        Ok(())
    }

    fn counted(&mut self, lies: bool, is_in: bool) {
        let played = &mut self.played;
        if lies {
            played.poison += 1;
            played.poison_in += usize::from(is_in);
        } else {
            played.honest += 1;
            played.honest_staged += usize::from(!is_in);
        }
    }

    /// An agent walks: honestly where it is talked about, or to look the other way. Then it is along a path to the hub that is not
    /// there, or who adapts walks anywhere.
    async fn read(&mut self, agent: usize, for_a_lie: bool, delta: &[Tie]) -> Result<()> {
        let attack = self.setup.attack;
        let away = self.lies(agent) && attack.looks_away(for_a_lie);
        let adapts = away && attack == Attack::Adaptive;
        if away && !adapts {
            let hub = delta.first().map(|(from, ..)| Graph::name(*from)).unwrap_or_default();
            return self.team.walk(agent, ("nowhere", &hub), &self.round).await;
        }
        let anywhere = adapts || self.graph.happens(SLIPS);
        let community = if anywhere { self.graph.below(COMMUNITIES) } else { self.active() };
        let (from, to) = self.graph.walk(community);
        self.team.walk(agent, (&Graph::name(from), &Graph::name(to)), &self.round).await
    }

    /// What stands before the engine, where that is not calibration.
    fn passes(&mut self, contributor: usize, lies: bool) -> bool {
        if self.setup.defence != Defence::Majority {
            return true;
        }
        let mut yes = 0;
        for agent in (0..AGENTS).filter(|agent| *agent != contributor) {
            let approves = match (self.lies(agent), lies) {
                (true, lies) => lies,
                (false, true) => self.graph.happens(0.6),
                (false, false) => self.graph.happens(0.9),
            };
            yes += usize::from(approves);
        }
        2 * yes > AGENTS - 1
    }

    /// What was kept apart and is memory by now counts as let in.
    async fn come_in_later(&mut self) -> Result<()> {
        for (lies, id) in &self.apart {
            if self.team.is_known(id).await? {
                let (poison, honest) = &mut self.played.promoted;
                *(if *lies { poison } else { honest }) += 1;
            }
        }
        self.played.poison_in += self.played.promoted.0;
        self.played.honest_staged -= self.played.promoted.1;
        Ok(())
    }

    /// The share of walks of two steps whose end is among the five strongest.
    async fn hits(&mut self, gold: &[Gold]) -> Result<f64> {
        let mut hits = 0;
        for (from, first, second, to) in gold {
            let kinds = [Graph::kind_name(*first), Graph::kind_name(*second)];
            let ends = self.team.two_steps(0, &Graph::name(*from), &kinds).await?;
            hits += usize::from(ends.iter().take(5).any(|end| *end == Graph::name(*to)));
        }
        Ok(hits as f64 / gold.len().max(1) as f64)
    }
}

fn named((from, kind, to): &Tie) -> [String; 3] {
    [Graph::name(*from), Graph::kind_name(*kind), Graph::name(*to)]
}
