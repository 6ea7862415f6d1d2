//! What everybody does, written down before anybody does it: so the same is played whatever keeps liars out.

use super::super::conversation::{Conversation, Observation, Question};
use super::lies::{Sayings, Sort, WORDINGS, worded};
use crate::commands::chance::Chance;
use std::collections::BTreeSet;

/// Agents of a team.
pub(super) const AGENTS: usize = 6;
/// The share of a conversation that is known before anybody lies: one in so many.
const KNOWN_BEFORE: usize = 3;
/// A liar writes once in so many honest writes: as often as each of six.
const LIES_EVERY: usize = 6;

/// Whether an agent lies: every other one does, so that the first never does.
pub(super) const fn is_liar(agent: usize, liars: usize) -> bool {
    agent % 2 == 1 && agent / 2 < liars
}

/// Something that an agent does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Looks something up for its work: that is a probe.
    Search { agent: usize, text: String },
    /// Writes down what was observed.
    Observe { agent: usize, observation: usize },
    /// Writes something that is not so.
    Lie { agent: usize, text: String },
}

/// A question that is measured, and the turns whose observations answer it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) turns: BTreeSet<String>,
}

/// What is played of a conversation.
pub(super) struct Script<'a> {
    pub(super) observations: &'a [Observation],
    /// How many of them are known before the round.
    pub(super) before: usize,
    /// Who does not lie.
    pub(super) honest: Vec<usize>,
    pub(super) steps: Vec<Step>,
    /// Questions that nobody asked before.
    pub(super) measured: Vec<Asked>,
    /// How many other questions serve as probes.
    pub(super) probes: usize,
    pub(super) goal: String,
}

/// Who lies, how, and how often each agent looks something up before a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cast {
    pub(super) sort: Option<Sort>,
    pub(super) liars: usize,
    pub(super) seed: u64,
    pub(super) reads: usize,
    pub(super) questions_max: usize,
}

/// Writes the script of a conversation.
pub(super) fn script<'a>(conversation: &'a Conversation, cast: &Cast) -> Script<'a> {
    let observations = conversation.observations.as_slice();
    // Which questions are measured hangs on the seed alone, so that runs can be compared.
    let (probes, measured) = split(conversation, cast);
    let mut writing = Writing {
        observations,
        sayings: Sayings::of(observations),
        probes: &probes,
        cast,
        chance: Chance::new(cast.seed ^ 0x0dd5_eed5),
        lies: Chance::new(cast.seed ^ 0x11e5_11e5),
        told: 0,
        copied: String::new(),
        steps: Vec::new(),
    };
    let before = observations.len().div_ceil(KNOWN_BEFORE);
    for number in before..observations.len() {
        writing.write(number);
    }
    let honest = writing.honest();
    let steps = writing.steps;
    let speakers: BTreeSet<&str> = observations.iter().map(|one| one.speaker.as_str()).collect();
    let goal = format!("What is known of {}?", speakers.into_iter().collect::<Vec<_>>().join(" and "));
    Script { observations, before, honest, steps, measured, probes: probes.len(), goal }
}

/// Half of the questions are what agents work on; of the others those are measured that an observation answers.
fn split<'a>(conversation: &'a Conversation, cast: &Cast) -> (Vec<&'a Question>, Vec<Asked>) {
    let mut chance = Chance::new(cast.seed ^ 0x9_0e57_1035);
    let mut questions: Vec<&Question> = conversation.questions.iter().collect();
    for last in (1..questions.len()).rev() {
        questions.swap(last, (chance.next() % (last as u64 + 1)) as usize);
    }
    let others = questions.split_off(questions.len() / 2);
    let answered: BTreeSet<&String> = conversation.observations.iter().flat_map(|one| &one.turns).collect();
    let asked = |question: &&Question| {
        let turns: BTreeSet<String> =
            question.turns.iter().filter(|turn| answered.contains(turn)).cloned().collect();
        (!turns.is_empty()).then(|| Asked { text: question.text.clone(), turns })
    };
    let measured = others.iter().filter_map(asked).take(cast.questions_max).collect();
    (questions, measured)
}

struct Writing<'a> {
    observations: &'a [Observation],
    sayings: Sayings,
    probes: &'a [&'a Question],
    cast: &'a Cast,
    chance: Chance,
    lies: Chance,
    /// Lies that were told.
    told: usize,
    /// The lie that is being told in several wordings.
    copied: String,
    steps: Vec<Step>,
}

impl Writing<'_> {
    /// An observation, and what liars say after it.
    fn write(&mut self, number: usize) {
        let honest = self.honest();
        let agent = honest.get(number % honest.len().max(1)).copied().unwrap_or(0);
        self.search(agent);
        self.steps.push(Step::Observe { agent, observation: number });
        let liars: Vec<usize> = (0..AGENTS).filter(|agent| self.lies(*agent)).collect();
        // Not all at once; whose turn it is goes around, so that a lie in several wordings is told by all of them.
        if (number % LIES_EVERY).is_multiple_of(2)
            && number % LIES_EVERY / 2 < liars.len()
            && let Some(agent) = liars.get(self.told % liars.len()).copied()
        {
            self.search(agent);
            let text = self.lie(number);
            self.steps.push(Step::Lie { agent, text });
            self.told += 1;
        }
    }

    fn honest(&self) -> Vec<usize> {
        (0..AGENTS).filter(|agent| !self.lies(*agent)).collect()
    }

    const fn lies(&self, agent: usize) -> bool {
        self.cast.sort.is_some() && is_liar(agent, self.cast.liars)
    }

    /// Everybody but the writer looks something up.
    fn search(&mut self, writer: usize) {
        for agent in (0..AGENTS).filter(|agent| *agent != writer) {
            for _ in 0..self.cast.reads {
                let place = (self.chance.next() % self.probes.len().max(1) as u64) as usize;
                if let Some(question) = self.probes.get(place) {
                    self.steps.push(Step::Search { agent, text: question.text.clone() });
                }
            }
        }
    }

    /// What the next lie says, when so many observations are known.
    fn lie(&mut self, known: usize) -> String {
        let place = (self.lies.next() % (known as u64 + 1)) as usize;
        let Some(target) = self.observations.get(place) else { return String::new() };
        match self.cast.sort {
            None | Some(Sort::Lies) => self.sayings.lie(target, &mut self.lies),
            Some(Sort::Magnets) => self.sayings.magnet(&mut self.lies),
            Some(Sort::Questions) => self.sayings.question(&mut self.lies),
            Some(Sort::Copies) => {
                if self.told.is_multiple_of(WORDINGS) {
                    self.copied = self.sayings.lie(target, &mut self.lies);
                }
                worded(&self.copied, self.told)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> Conversation {
        let noted = |number: usize| Observation {
            speaker: if number.is_multiple_of(2) { "Ada".into() } else { "Bo".into() },
            text: format!("Ada has painted harbour {number}"),
            turns: BTreeSet::from([format!("D1:{number}")]),
        };
        let asked = |number: usize| Question {
            text: format!("Which is harbour {number}?"),
            category: 1,
            turns: BTreeSet::from([format!("D1:{number}"), "D9:9".to_owned()]),
            sessions: BTreeSet::new(),
        };
        Conversation {
            turns: Vec::new(),
            questions: (0..80).map(asked).collect(),
            observations: (0..60).map(noted).collect(),
        }
    }

    fn cast(sort: Option<Sort>, liars: usize) -> Cast {
        Cast { sort, liars, seed: 3, reads: 1, questions_max: 1_000 }
    }

    /// What is measured was never searched for, is the same whoever lies, and somebody could have answered it.
    #[test]
    fn measured_questions_are_no_probes() {
        let conversation = conversation();
        let alone = script(&conversation, &cast(None, 0));
        let lied = script(&conversation, &cast(Some(Sort::Lies), 3));
        assert_eq!(alone.measured, lied.measured);
        let searched: BTreeSet<&str> = lied
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Search { text, .. } => Some(text.as_str()),
                Step::Observe { .. } | Step::Lie { .. } => None,
            })
            .collect();
        assert!(searched.len() > 30 && lied.measured.len() > 20);
        assert!(lied.measured.iter().all(|asked| !searched.contains(asked.text.as_str())));
        assert!(
            lied.measured.iter().all(|asked| !asked.turns.contains("D9:9")),
            "no observation is from there"
        );
    }

    /// Honest agents write everything whoever lies; each liar writes as often as each of six.
    #[test]
    fn liars_write_beside_the_others() {
        let conversation = conversation();
        for liars in 0..=3 {
            let script = script(&conversation, &cast(Some(Sort::Copies), liars));
            let honest = script
                .steps
                .iter()
                .filter(|step| matches!(step, Step::Observe { agent, .. } if !is_liar(*agent, liars)));
            assert_eq!(honest.count(), script.observations.len() - script.before);
            let told = |agent: usize| {
                script
                    .steps
                    .iter()
                    .filter(|step| matches!(step, Step::Lie { agent: one, .. } if *one == agent))
                    .count()
            };
            let each = [1, 3, 5].map(told);
            assert!(each.iter().take(liars).all(|count| (6..=7).contains(count)), "{each:?}");
            assert!(each.iter().skip(liars).all(|count| *count == 0), "{each:?}");
        }
    }
}
