//! How long does it go on? A small machine that ends for any coordinator.

use super::{INVALID_MAX, Move, ROUNDS_MAX, read_move};

/// What a coordinator is told of the rounds before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// Who was asked what, and whether there was an answer.
    #[default]
    Plan,
    /// The answers too: what comes after may rest on them.
    Full,
}

impl History {
    /// The words that name the two.
    pub const WORDS: &'static str = "plan, full";

    /// The one that this word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "plan" => Some(Self::Plan),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The coordinator said so.
    Complete,
    /// There were as many rounds as there may be.
    Rounds,
    /// The coordinator could not be understood, twice running.
    Invalid,
    /// There is nobody to ask.
    NoAgents,
    /// The time for one question was over.
    Time,
}

impl Stopped {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Rounds => "rounds",
            Self::Invalid => "invalid",
            Self::NoAgents => "no_agents",
            Self::Time => "time",
        }
    }
}

/// One round as it is told back. An agent that is not there, one that may not be asked and one that found nothing leave the
/// same line (SHARE-23).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Who was asked, as the coordinator called it.
    pub agent: String,
    /// What.
    pub subquery: String,
    /// The answer, if there was one.
    pub answer: Option<String>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Ask an agent that may be asked, as the coordinator called it.
    Ask {
        /// Which.
        agent: String,
        /// What.
        subquery: String,
    },
    /// Let the coordinator say something else.
    Again,
    /// End.
    Stop(Stopped),
}

/// Where a question stands.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    rounds: usize,
    invalid: usize,
    lines: Vec<Line>,
}

impl Progress {
    /// Whether another round may begin, with so many agents to ask.
    ///
    /// # Errors
    /// When it ends here.
    pub const fn begin(&self, agents: usize) -> Result<(), Stopped> {
        if agents == 0 {
            return Err(Stopped::NoAgents);
        }
        if self.rounds >= ROUNDS_MAX { Err(Stopped::Rounds) } else { Ok(()) }
    }

    /// Takes an output of the coordinator. Each is a round, so this ends for any coordinator.
    pub fn take(&mut self, output: &str, may_be_asked: impl Fn(&str) -> bool) -> Next {
        if self.rounds >= ROUNDS_MAX {
            return Next::Stop(Stopped::Rounds);
        }
        self.rounds += 1;
        let Some(next) = read_move(output) else {
            self.invalid += 1;
            return if self.invalid >= INVALID_MAX { Next::Stop(Stopped::Invalid) } else { Next::Again };
        };
        self.invalid = 0;
        match next {
            Move::Stop => Next::Stop(Stopped::Complete),
            Move::Ask { agent, subquery } if may_be_asked(&agent) => Next::Ask { agent, subquery },
            Move::Ask { agent, subquery } => {
                self.note(agent, subquery, None);
                Next::Again
            }
        }
    }

    /// Notes what became of a round.
    pub fn note(&mut self, agent: String, subquery: String, answer: Option<String>) {
        self.lines.push(Line { agent, subquery, answer });
    }

    /// The rounds before, in order.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// How many rounds there were.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ASK: &str = r#"{"agent":"market","subquery":"price"}"#;

    fn takes(outputs: &[&str]) -> Vec<Next> {
        let mut progress = Progress::default();
        outputs.iter().map(|output| progress.take(output, |agent| agent == "market")).collect()
    }

    /// SHARE-23: two invalid outputs running stop it; one does not, nor do two with something between.
    #[test]
    fn two_invalid_outputs_running_stop_it() {
        assert_eq!(takes(&["?", "??"])[1], Next::Stop(Stopped::Invalid));
        let asked = Next::Ask { agent: "market".into(), subquery: "price".into() };
        assert_eq!(takes(&["?", ASK, "?"]), [Next::Again, asked, Next::Again]);
        assert_eq!(takes(&[ASK, "COMPLETE"])[1], Next::Stop(Stopped::Complete));
    }

    /// SHARE-23: an unknown agent and a forbidden one leave the line of one that found nothing.
    #[test]
    fn an_unknown_agent_is_a_forbidden_one() {
        let mut progress = Progress::default();
        assert_eq!(progress.take(r#"{"agent":"x","subquery":"price"}"#, |_| false), Next::Again);
        progress.note("x".into(), "price".into(), None);
        assert_eq!(progress.lines()[0], progress.lines()[1]);
        assert_eq!(progress.rounds(), 1);
    }

    /// SHARE-23: nobody to ask ends it before anybody is asked.
    #[test]
    fn nobody_to_ask() {
        assert_eq!(Progress::default().begin(0), Err(Stopped::NoAgents));
        assert_eq!(Progress::default().begin(1), Ok(()));
    }

    proptest! {
        /// SHARE-23: at most eight rounds, whatever the coordinator says and whoever may be asked.
        #[test]
        fn it_ends_for_any_coordinator(outputs in proptest::collection::vec((0..4u8, any::<bool>(), ".{0,20}"), 20)) {
            let mut progress = Progress::default();
            let mut asked = 0;
            for (which, open, text) in outputs {
                let output = match which { 0 => ASK, 1 => r#"{"agent":"x","subquery":"y"}"#, 2 => text.as_str(), _ => "{}" };
                if progress.begin(1).is_err() {
                    prop_assert_eq!(progress.rounds(), ROUNDS_MAX);
                }
                match progress.take(output, |_| open) {
                    Next::Ask { agent, subquery } => { asked += 1; progress.note(agent, subquery, None); }
                    Next::Again => {}
                    Next::Stop(_) => break,
                }
            }
            prop_assert!(asked <= ROUNDS_MAX && progress.rounds() <= ROUNDS_MAX && progress.lines().len() <= ROUNDS_MAX);
        }
    }
}
