//! Recall: of what answers a question, how much is among the first so many that were found?

use super::conversation::Question;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// How deep turns and sessions are looked at.
const TURN_DEPTHS: [usize; 3] = [5, 10, 20];
const SESSION_DEPTHS: [usize; 2] = [5, 10];
/// The measures, by the names that programs read.
pub(super) const MEASURES: [&str; 5] = ["turn_r5", "turn_r10", "turn_r20", "session_r5", "session_r10"];

/// A turn that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) turn: String,
    pub(super) session: String,
}

/// The mean over questions of the share of evidence that was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Recall {
    pub(super) questions: usize,
    sums: [f64; 5],
}

impl Recall {
    /// Counts a question and what was found for it, best first. A session stands where its first turn does.
    pub(super) fn add(&mut self, question: &Question, found: &[Found]) {
        let turns: Vec<&str> = found.iter().map(|found| found.turn.as_str()).collect();
        let mut sessions: Vec<&str> = Vec::new();
        for found in found {
            if !sessions.contains(&found.session.as_str()) {
                sessions.push(&found.session);
            }
        }
        let by_turn = TURN_DEPTHS.iter().map(|depth| share(&question.turns, &turns, *depth));
        let by_session = SESSION_DEPTHS.iter().map(|depth| share(&question.sessions, &sessions, *depth));
        for (sum, share) in self.sums.iter_mut().zip(by_turn.chain(by_session)) {
            *sum += share;
        }
        self.questions += 1;
    }

    /// Each measure in percent.
    pub(super) fn percents(&self) -> [f64; 5] {
        self.sums.map(|sum| 100.0 * sum / self.questions.max(1) as f64)
    }

    /// As programs read it.
    pub(super) fn members(&self) -> Map<String, Value> {
        let percents = self.percents().into_iter().map(|percent| json!((percent * 100.0).round() / 100.0));
        MEASURES.into_iter().map(str::to_owned).zip(percents).collect()
    }
}

fn share(wanted: &BTreeSet<String>, found: &[&str], depth: usize) -> f64 {
    let there = wanted.iter().filter(|one| found.iter().take(depth).any(|found| found == one)).count();
    there as f64 / wanted.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_counts_where_it_was_found() {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let question =
            Question { text: "q".into(), category: 1, turns: set(&["a", "z"]), sessions: set(&["1", "9"]) };
        let found = |turn: usize| Found {
            turn: if turn == 7 { "a".into() } else { format!("t{turn}") },
            session: (turn / 3).to_string(),
        };
        let found: Vec<Found> = (0..30).map(found).collect();
        let mut recall = Recall::default();
        recall.add(&question, &found);
        // The turn stands eighth, the sessions second and tenth.
        assert_eq!(recall.percents(), [0.0, 50.0, 50.0, 50.0, 100.0]);
        recall.add(&question, &[]);
        assert_eq!(recall.percents(), [0.0, 25.0, 25.0, 25.0, 50.0]);
        assert_eq!(recall.members()["turn_r10"], 25.0);
    }
}
