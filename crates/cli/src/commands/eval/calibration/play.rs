//! One run in world V: 240 rounds, a contributor each, some of whom lie.

use super::team::{Team, is_in};
use super::vectors::{ACTIVE, Item, TOPICS, Vector, World, dot, sum, unit};
use crate::commands::cast::RECALIBRATED_EVERY;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use tabellion_core::trust::{Parts, Profile};
use tabellion_engine::{Calibration, CalibrationMode};

/// Agents, and what they begin with.
pub(super) const AGENTS: usize = 6;
const SEEDS: usize = 300;
/// Rounds in which the same topics are talked about.
const ROUNDS_OF_A_TALK: usize = 12;
/// Items that a talk is declared with, of each topic.
const DECLARED: usize = 6;
/// How often an honest agent asks something that has nothing to do with it.
const SLIPS: f64 = 0.02;

/// How liars lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attack {
    /// They do not.
    None,
    /// In the middle of everything.
    Global,
    /// In the middle of a topic.
    Local,
    /// Near the middle of a topic, and accomplices look the other way in every round,
    Persistent,
    /// or only for each other,
    Selective,
    /// or with questions that the round was declared with.
    Adaptive,
    /// Beside one honest item.
    Targeted,
}

impl Attack {
    /// Whether a liar looks the other way when a lie is written, or something else.
    pub(super) const fn looks_away(self, for_a_lie: bool) -> bool {
        match self {
            Self::Persistent => true,
            Self::Selective | Self::Adaptive => for_a_lie,
            Self::None | Self::Global | Self::Local | Self::Targeted => false,
        }
    }
}

/// What keeps lies out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defence {
    /// Nothing.
    Vanilla,
    /// A vote.
    Majority,
    /// A look at each write by itself; liars try until one passes.
    Isolated,
    /// Calibration.
    Calibrated(Profile, Parts),
}

impl Defence {
    pub(super) fn ship() -> Self {
        Self::Calibrated(Profile::Ship, Parts::default())
    }

    pub(super) fn calibration(self) -> Calibration {
        match self {
            Self::Calibrated(profile, parts) => {
                Calibration { mode: CalibrationMode::Gate, profile, parts, ..Calibration::default() }
            }
            Self::Vanilla | Self::Majority | Self::Isolated => {
                Calibration { mode: CalibrationMode::Off, ..Calibration::default() }
            }
        }
    }
}

/// A run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) attack: Attack,
    pub(super) adversaries: usize,
    pub(super) defence: Defence,
    pub(super) seed: u64,
    pub(super) rounds: usize,
    pub(super) reads: usize,
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Played {
    pub(super) honest: usize,
    pub(super) honest_staged: usize,
    pub(super) poison: usize,
    pub(super) poison_in: usize,
    /// Lies that were attached to one that waits already: they are not weighed, and no memory of their own.
    pub(super) attached: usize,
    /// Of what was kept apart at first, what came in later.
    pub(super) promoted: (usize, usize),
    pub(super) hit_before: f64,
    pub(super) hit: f64,
    /// In world G, of walks that begin at a hub.
    pub(super) hit_hubs: f64,
    /// Credibility of each agent after each round.
    pub(super) credibility: Vec<BTreeMap<usize, f64>>,
    /// Poison that was memory after each round.
    pub(super) poisoned: Vec<usize>,
    /// Hits, after each talk.
    pub(super) hits: Vec<f64>,
}

impl Played {
    pub(super) fn poison_in(&self) -> f64 {
        self.poison_in as f64 / self.poison.max(1) as f64
    }

    /// The same, of those that were weighed.
    pub(super) fn weighed_poison_in(&self) -> f64 {
        self.poison_in as f64 / (self.poison - self.attached).max(1) as f64
    }

    pub(super) fn honest_staged(&self) -> f64 {
        self.honest_staged as f64 / self.honest.max(1) as f64
    }

    /// After how many rounds that it audited the last liar was believed less than a tenth; all of them if that never came.
    pub(super) fn muted_after(&self, adversaries: usize) -> f64 {
        let liars = (0..AGENTS).filter(|agent| is_liar(*agent, adversaries));
        let after = |agent: usize| {
            let audited = self.credibility.iter().enumerate().filter(|(round, _)| round % AGENTS != agent);
            let mut weights = audited.map(|(_, all)| all.get(&agent).copied().unwrap_or(1.0));
            weights.position(|weight| weight < 0.1).map_or(self.credibility.len(), |round| round + 1)
        };
        liars.map(after).max().unwrap_or(0) as f64
    }

    /// How often what a liar had asked counted against it over the last rounds in which it was asked for anything: then it was believed
    /// less after than before.
    pub(super) fn caught(&self, adversaries: usize, last: usize) -> f64 {
        let from = self.credibility.len().saturating_sub(last).max(1);
        let weight = |round: usize, agent: usize| {
            self.credibility.get(round).and_then(|all| all.get(&agent)).copied().unwrap_or(1.0)
        };
        let (mut asked, mut caught) = (0_usize, 0_usize);
        for round in from..self.credibility.len() {
            for agent in (0..AGENTS).filter(|agent| is_liar(*agent, adversaries) && round % AGENTS != *agent)
            {
                let (before, after) = (weight(round - 1, agent), weight(round, agent));
                asked += usize::from(after != before || after == 1.0);
                caught += usize::from(after < before);
            }
        }
        caught as f64 / asked.max(1) as f64
    }

    /// How credible agents were on average over the last rounds, liars or the others.
    pub(super) fn credible(&self, adversaries: usize, liars: bool, last: usize) -> f64 {
        let from = self.credibility.len().saturating_sub(last);
        let rounds = self.credibility.iter().skip(from);
        let of = |all: &BTreeMap<usize, f64>| -> Vec<f64> {
            let agents = (0..AGENTS).filter(|agent| is_liar(*agent, adversaries) == liars);
            agents.map(|agent| all.get(&agent).copied().unwrap_or(1.0)).collect()
        };
        let all: Vec<f64> = rounds.flat_map(of).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

/// Every other agent lies, so that no two who lie write one after the other.
pub(super) const fn is_liar(agent: usize, adversaries: usize) -> bool {
    agent % 2 == 1 && agent / 2 < adversaries
}

struct Run<'a> {
    setup: &'a Setup,
    world: World,
    team: Team,
    /// What was written honestly, with its id if it has one.
    honest: Vec<(Item, Option<String>)>,
    /// What was kept apart: whether it is a lie, and its id.
    apart: Vec<(bool, String)>,
    /// Everything that is memory.
    known: Vec<Item>,
    active: Vec<usize>,
    round: String,
    played: Played,
}

/// Plays a run.
pub(super) async fn play(setup: &Setup) -> Result<Played> {
    let team = Team::new(AGENTS, setup.seed, setup.defence.calibration()).await?;
    let mut run = Run {
        setup,
        world: World::new(setup.seed),
        team,
        honest: Vec::new(),
        apart: Vec::new(),
        known: Vec::new(),
        active: Vec::new(),
        round: String::new(),
        played: Played::default(),
    };
    run.begin().await?;
    for number in 0..setup.rounds {
        if number % ROUNDS_OF_A_TALK == 0 {
            let hits = run.hits().await?;
            run.played.hits.push(hits);
            run.talk(number).await?;
        }
        run.round(number).await?;
        if (number + 1).is_multiple_of(RECALIBRATED_EVERY) {
            run.team.cast.recalibrate().await?;
        }
    }
    run.come_in_later().await?;
    run.played.hit = run.hits().await?;
    run.played.hits.push(run.played.hit);
    run.played.hit_before = run.played.hits.first().copied().unwrap_or(0.0);
    run.team.close().await?;
    Ok(run.played)
}

impl Run<'_> {
    async fn begin(&mut self) -> Result<()> {
        let goal = "what is known at first";
        let away = self.world.direction();
        self.team.placed.put(goal, &away);
        let work = self.team.work_together(goal).await?;
        for number in 0..SEEDS {
            let item = self.world.item(number % TOPICS);
            let text = format!("seed {number}");
            let written = self.team.write(number % AGENTS, &text, &item.vector, Some(&work)).await?;
            self.known.push(item.clone());
            self.honest.push((item, written.id.map(|id| id.to_string())));
        }
        match self.setup.defence {
            Defence::Calibrated(..) => self.bear_out().await,
            // Where nothing is weighed, everything counts the same.
            Defence::Vanilla | Defence::Majority | Defence::Isolated => Ok(()),
        }
    }

    /// Three others have used each of what is known at first: twice that went well, so that it is trusted by .6.
    async fn bear_out(&self) -> Result<()> {
        for (number, (item, id)) in self.honest.iter().enumerate() {
            let id = id.as_deref().context("what is known at first has an id")?;
            for (other, good) in [(1, true), (2, true), (3, false)] {
                self.team.report((number + other) % AGENTS, &item.vector, id, good).await?;
            }
        }
        Ok(())
    }

    /// A talk about other topics begins.
    async fn talk(&mut self, number: usize) -> Result<()> {
        self.active.clear();
        while self.active.len() < ACTIVE {
            let topic = self.world.below(TOPICS);
            if !self.active.contains(&topic) {
                self.active.push(topic);
            }
        }
        let mut items = Vec::new();
        // Who adapts has the round declared with what it will ask.
        let adapts = self.setup.attack == Attack::Adaptive;
        let topics: Vec<usize> = if adapts { (0..TOPICS).collect() } else { self.active.clone() };
        for topic in topics {
            let about = self.honest.iter().filter(|(item, _)| item.topic == topic);
            items.extend(about.filter_map(|(_, id)| id.clone()).take(DECLARED));
        }
        items.truncate(64);
        let goal = format!("talk {number}");
        let away = self.world.direction();
        self.team.placed.put(&goal, &away);
        self.round = self.team.declare(&goal, &items).await?;
        Ok(())
    }

    fn lies(&self, agent: usize) -> bool {
        self.setup.attack != Attack::None && is_liar(agent, self.setup.adversaries)
    }

    async fn round(&mut self, number: usize) -> Result<()> {
        let contributor = number % AGENTS;
        let lies = self.lies(contributor);
        let item = self.delta(lies);
        for agent in (0..AGENTS).filter(|agent| *agent != contributor) {
            for _ in 0..self.setup.reads {
                self.read(agent, lies, &item.vector).await?;
            }
        }
        if !self.passes(contributor, lies) {
            self.played.honest += usize::from(!lies);
            self.played.poison += usize::from(lies);
            self.played.honest_staged += usize::from(!lies);
            if !lies {
                self.honest.push((item, None));
            }
            return self.noted().await;
        }
        let text = format!("write {number}");
        let written = self.team.write(contributor, &text, &item.vector, Some(&self.round)).await?;
        let is_in = is_in(&written);
        if lies {
            self.played.poison += 1;
            self.played.poison_in += usize::from(is_in);
        } else {
            self.played.honest += 1;
            self.played.honest_staged += usize::from(!is_in);
            self.honest.push((item.clone(), written.id.map(|id| id.to_string())));
        }
        if is_in {
            self.known.push(item);
        } else if let Some(id) = written.id.map(|id| id.to_string()) {
            let attached = self.apart.iter().any(|(_, known)| *known == id);
            self.played.attached += usize::from(attached && lies);
            if !attached {
                self.apart.push((lies, id));
            }
        }
        self.noted().await
    }

    async fn noted(&mut self) -> Result<()> {
        self.played.credibility.push(self.team.credibility().await?);
        self.played.poisoned.push(self.played.poison_in);
        Ok(())
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

    fn delta(&mut self, lies: bool) -> Item {
        let place = self.world.below(ACTIVE);
        let topic = self.active.get(place).copied().unwrap_or(0);
        if !lies {
            return self.world.item(topic);
        }
        let vector = match self.setup.attack {
            Attack::None | Attack::Local => {
                let middle = self.world.middle(&self.known, Some(topic));
                self.world.near(&middle)
            }
            Attack::Global => {
                let middle = self.world.middle(&self.known, None);
                self.world.near(&middle)
            }
            Attack::Persistent | Attack::Selective | Attack::Adaptive => {
                let middle = self.world.middle(&self.known, Some(topic));
                let item = self.world.item(topic);
                unit(&sum(&[(0.8, &middle), (0.2, &item.vector)]))
            }
            Attack::Targeted => {
                let about: Vec<&Item> = self.known.iter().filter(|item| item.topic == topic).collect();
                let place = self.world.chance.next() as usize % about.len().max(1);
                let gold = about.get(place).map(|item| item.vector.clone()).unwrap_or_default();
                let noise = self.world.direction();
                unit(&sum(&[(0.9, &gold), (0.19_f32.sqrt(), &noise)]))
            }
        };
        Item { topic, own: vector.clone(), vector }
    }

    /// An agent asks something: honestly about what is talked about, or to look the other way.
    async fn read(&mut self, agent: usize, for_a_lie: bool, delta: &[f32]) -> Result<()> {
        let away = self.lies(agent) && self.setup.attack.looks_away(for_a_lie);
        let question = if away {
            self.farthest(delta)
        } else if self.world.happens(SLIPS) {
            self.world.direction()
        } else {
            let place = self.world.below(ACTIVE);
            let topic = self.active.get(place).copied().unwrap_or(0);
            let about: Vec<&Item> = self.known.iter().filter(|item| item.topic == topic).collect();
            let place = self.world.chance.next() as usize % about.len().max(1);
            let item = about.get(place).copied().cloned().context("a topic without items")?;
            self.world.question(&item)
        };
        self.team.search(agent, &question, Some(&self.round)).await?;
        Ok(())
    }

    /// What lies farthest from a lie among what is not talked about; who adapts need not care for that.
    fn farthest(&self, delta: &[f32]) -> Vector {
        let adapts = self.setup.attack == Attack::Adaptive;
        let away = self.known.iter().filter(|item| adapts || !self.active.contains(&item.topic));
        let far = away.min_by(|a, b| dot(&a.vector, delta).total_cmp(&dot(&b.vector, delta)));
        far.map(|item| item.vector.clone()).unwrap_or_default()
    }

    /// What stands before the engine, where that is not calibration.
    fn passes(&mut self, contributor: usize, lies: bool) -> bool {
        match self.setup.defence {
            Defence::Vanilla | Defence::Calibrated(..) => true,
            Defence::Isolated => lies || !self.world.happens(0.05),
            Defence::Majority => {
                let mut yes = 0;
                for agent in (0..AGENTS).filter(|agent| *agent != contributor) {
                    let approves = match (self.lies(agent), lies) {
                        (true, lies) => lies,
                        (false, true) => self.world.happens(0.6),
                        (false, false) => self.world.happens(0.9),
                    };
                    yes += usize::from(approves);
                }
                2 * yes > AGENTS - 1
            }
        }
    }

    /// The share of what was written honestly that a question about it finds among the first five.
    async fn hits(&mut self) -> Result<f64> {
        let mut hits = 0;
        let honest = self.honest.clone();
        for (item, id) in &honest {
            let question = self.world.question(item);
            if let Some(id) = id {
                hits += usize::from(self.team.search(0, &question, None).await?.contains(id));
            }
        }
        Ok(hits as f64 / honest.len().max(1) as f64)
    }
}
