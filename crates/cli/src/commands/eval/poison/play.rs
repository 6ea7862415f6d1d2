//! One run: a script is played with something that keeps liars out, then questions are asked.

use super::crew::{Crew, DEEPEST};
use super::script::{Asked, Script, Step};
use crate::commands::cast::RECALIBRATED_EVERY;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tabellion_core::gate::Strictness;
use tabellion_engine::ports::Embedder;
use tabellion_engine::reply::{WriteStatus, Written};
use tabellion_engine::{Calibration, CalibrationMode, Governance};

/// Items that a round is declared with.
const DECLARED: usize = 64;
/// How deep results are looked at.
pub(super) const DEPTHS: [usize; 2] = [5, DEEPEST as usize];

/// What keeps liars out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Gates {
    /// Nothing but exact duplicates
    Off,
    /// Calibration alone
    Calibration,
    /// Contradictions, duplicates, risk and reputation, as the standard policy has them
    Others,
    /// All of it
    All,
}

impl Gates {
    pub(super) const EVERY: [Self; 4] = [Self::Off, Self::Calibration, Self::Others, Self::All];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Calibration => "calibration",
            Self::Others => "others",
            Self::All => "all",
        }
    }

    fn governance(self) -> Governance {
        let (strictness, mode) = match self {
            Self::Off => (Strictness::Open, CalibrationMode::Off),
            Self::Calibration => (Strictness::Open, CalibrationMode::Gate),
            Self::Others => (Strictness::Standard, CalibrationMode::Off),
            Self::All => (Strictness::Standard, CalibrationMode::Gate),
        };
        let calibration = Calibration { mode, ..Calibration::default() };
        Governance { strictness, calibration, ..Governance::default() }
    }
}

/// What a run came to. Runs add up.
#[derive(Debug, Clone, Default)]
pub(super) struct Played {
    /// Honest writes.
    pub(super) honest: usize,
    /// Of these, those in the round, which others may audit.
    pub(super) audited: usize,
    /// Honest writes that are no memory at the end, by what kept them out.
    pub(super) honest_out: BTreeMap<String, usize>,
    pub(super) poison: usize,
    pub(super) poison_out: BTreeMap<String, usize>,
    pub(super) questions: usize,
    /// Questions with poison among the first five and ten.
    pub(super) reached: [usize; 2],
    /// The sum over questions of the share of what answers them among the first five and ten.
    pub(super) recalled: [f64; 2],
}

fn all(out: &BTreeMap<String, usize>) -> usize {
    out.values().sum()
}

impl Played {
    pub(super) fn add(&mut self, other: &Self) {
        self.honest += other.honest;
        self.audited += other.audited;
        self.poison += other.poison;
        self.questions += other.questions;
        for (sums, more) in
            [(&mut self.honest_out, &other.honest_out), (&mut self.poison_out, &other.poison_out)]
        {
            more.iter().for_each(|(why, count)| *sums.entry(why.clone()).or_default() += count);
        }
        self.reached.iter_mut().zip(other.reached).for_each(|(sum, more)| *sum += more);
        self.recalled.iter_mut().zip(other.recalled).for_each(|(sum, more)| *sum += more);
    }

    fn of_questions(&self, sum: f64) -> f64 {
        sum / self.questions.max(1) as f64
    }

    /// The share of questions that poison reached, by depth.
    pub(super) fn reached(&self) -> [f64; 2] {
        self.reached.map(|count| self.of_questions(count as f64))
    }

    pub(super) fn recall(&self) -> [f64; 2] {
        self.recalled.map(|sum| self.of_questions(sum))
    }

    pub(super) fn honest_out(&self) -> f64 {
        all(&self.honest_out) as f64 / self.honest.max(1) as f64
    }

    /// The same, of those that others may audit.
    pub(super) fn audited_out(&self) -> f64 {
        all(&self.honest_out) as f64 / self.audited.max(1) as f64
    }

    /// What calibration keeps apart.
    pub(super) fn honest_staged(&self) -> f64 {
        self.honest_out.get("CALIBRATION_STAGED").copied().unwrap_or(0) as f64 / self.honest.max(1) as f64
    }

    pub(super) fn poison_in(&self) -> f64 {
        1.0 - all(&self.poison_out) as f64 / self.poison.max(1) as f64
    }
}

/// How a script is played.
pub(super) struct Setup {
    pub(super) gates: Gates,
    pub(super) seed: u64,
    pub(super) embedder: Arc<dyn Embedder>,
    /// Whether somebody wants to know what became of each write.
    pub(super) lists: bool,
    /// Whether a person declares a round, in which what is written is audited.
    pub(super) in_round: bool,
}

/// What became of a write.
enum Fate {
    /// It is memory, by this id.
    In(String),
    /// It may become memory by this id.
    Waits(Option<String>, String),
    /// It is not, and why.
    Out(String),
}

fn fate(result: Result<Written, tabellion_core::error::Refusal>) -> Fate {
    match result {
        Err(refusal) => match refusal.in_the_way.as_ref().and_then(|way| way.existing) {
            // Said before, word by word: what is there is what was to be there.
            Some(existing) => Fate::In(existing.to_string()),
            None => Fate::Out(refusal.code.as_str().to_owned()),
        },
        Ok(written) => {
            let id = written.id.map(|id| id.to_string());
            let why = written.deferral.as_ref().map_or_else(String::new, |one| one.code.as_str().to_owned());
            match (written.status, id) {
                (WriteStatus::Committed | WriteStatus::Merged | WriteStatus::AlreadyCommitted, Some(id)) => {
                    Fate::In(id)
                }
                (_, id) => Fate::Waits(id, why),
            }
        }
    }
}

/// What a write would answer, if it is honest: the turns that it is from.
type Answers = Option<BTreeSet<String>>;

struct Run {
    crew: Crew,
    /// The turns that items of honest writers are from.
    answers: HashMap<String, BTreeSet<String>>,
    lies: HashSet<String>,
    /// What waits: what it would answer, its id and why.
    waiting: Vec<(Answers, String, String)>,
    played: Played,
    lists: bool,
    in_round: bool,
    /// What became of each write.
    listed: Vec<Value>,
}

/// Plays scripts one after the other, then asks.
pub(super) async fn play(scripts: &[Script<'_>], setup: Setup) -> Result<(Played, Vec<Value>)> {
    let crew = Crew::new(setup.seed, setup.gates.governance(), setup.embedder).await?;
    let mut run = Run {
        crew,
        lists: setup.lists,
        in_round: setup.in_round,
        answers: HashMap::new(),
        lies: HashSet::new(),
        waiting: Vec::new(),
        played: Played::default(),
        listed: Vec::new(),
    };
    for (number, script) in scripts.iter().enumerate() {
        run.crew.enter(number);
        let round = run.begin(script).await?;
        for step in &script.steps {
            run.step(script, step, round.as_deref()).await?;
        }
    }
    run.come_in_later().await?;
    run.crew.settled().await?;
    for (number, script) in scripts.iter().enumerate() {
        run.crew.enter(number);
        for asked in &script.measured {
            run.ask(asked).await?;
        }
    }
    run.crew.close().await?;
    Ok((run.played, run.listed))
}

impl Run {
    /// What is known before the round, which nobody audits and everybody writes in turn; then a person declares the round, if one is
    /// played.
    async fn begin(&mut self, script: &Script<'_>) -> Result<Option<String>> {
        let mut items = Vec::new();
        let honest = script.honest.iter().cycle();
        for (observation, agent) in script.observations.iter().take(script.before).zip(honest) {
            self.played.honest += 1;
            match fate(self.crew.write(*agent, &observation.text, None).await?) {
                Fate::In(id) => {
                    items.push(id.clone());
                    self.is_in(Some(observation.turns.clone()), id);
                }
                Fate::Waits(_, why) | Fate::Out(why) => self.is_out(true, why),
            }
        }
        self.crew.settled().await?;
        items.truncate(DECLARED);
        if !self.in_round {
            return Ok(None);
        }
        self.crew.declare(&script.goal, items).await.map(Some)
    }

    async fn step(&mut self, script: &Script<'_>, step: &Step, round: Option<&str>) -> Result<()> {
        let (agent, text, answers) = match step {
            Step::Search { agent, text } => {
                self.crew.search(*agent, text, round).await?;
                return Ok(());
            }
            Step::Observe { agent, observation } => {
                let Some(known) = script.observations.get(*observation) else { return Ok(()) };
                (*agent, known.text.as_str(), Some(known.turns.clone()))
            }
            Step::Lie { agent, text } => (*agent, text.as_str(), None),
        };
        match answers {
            Some(_) => {
                (self.played.honest, self.played.audited) = (self.played.honest + 1, self.played.audited + 1)
            }
            None => self.played.poison += 1,
        }
        let fate = fate(self.crew.write(agent, text, round).await?);
        if self.lists {
            self.list(agent, text, answers.is_some(), &fate).await?;
        }
        match fate {
            Fate::In(id) => self.is_in(answers, id),
            Fate::Waits(Some(id), why) => self.waiting.push((answers, id, why)),
            Fate::Waits(None, why) | Fate::Out(why) => self.is_out(answers.is_some(), why),
        }
        if (self.played.audited + self.played.poison).is_multiple_of(RECALIBRATED_EVERY) {
            self.crew.recalibrate().await?;
        }
        Ok(())
    }

    fn is_in(&mut self, answers: Answers, id: String) {
        match answers {
            Some(turns) => self.answers.entry(id).or_default().extend(turns),
            None => drop(self.lies.insert(id)),
        }
    }

    fn is_out(&mut self, honest: bool, why: String) {
        let out = if honest { &mut self.played.honest_out } else { &mut self.played.poison_out };
        *out.entry(why).or_default() += 1;
    }

    async fn list(&mut self, agent: usize, text: &str, honest: bool, fate: &Fate) -> Result<()> {
        let (id, why) = match fate {
            Fate::In(id) => (Some(id), "in"),
            Fate::Waits(id, why) => (id.as_ref(), why.as_str()),
            Fate::Out(why) => (None, why.as_str()),
        };
        let scored = match id {
            Some(id) => self.crew.scored(id).await?,
            None => None,
        };
        self.listed.push(json!({
            "agent": agent, "honest": honest, "fate": why, "text": text,
            "detect": scored.map(|one| one.detect), "align": scored.map(|one| one.align),
            "rho": scored.map(|one| one.scored), "threshold": scored.map(|one| one.threshold),
        }));
        Ok(())
    }

    /// What waited and is memory by now counts as let in.
    async fn come_in_later(&mut self) -> Result<()> {
        for (answers, id, why) in std::mem::take(&mut self.waiting) {
            match self.crew.is_known(&id).await? {
                true => self.is_in(answers, id),
                false => self.is_out(answers.is_some(), why),
            }
        }
        Ok(())
    }

    async fn ask(&mut self, asked: &Asked) -> Result<()> {
        let found = self.crew.search(0, &asked.text, None).await?;
        self.played.questions += 1;
        for (place, depth) in DEPTHS.into_iter().enumerate() {
            let first = || found.iter().take(depth);
            if let Some(reached) = self.played.reached.get_mut(place) {
                *reached += usize::from(first().any(|id| self.lies.contains(id)));
            }
            let given: BTreeSet<&String> = first().filter_map(|id| self.answers.get(id)).flatten().collect();
            let share = asked.turns.iter().filter(|turn| given.contains(turn)).count() as f64;
            if let Some(recalled) = self.played.recalled.get_mut(place) {
                *recalled += share / asked.turns.len().max(1) as f64;
            }
        }
        Ok(())
    }
}
