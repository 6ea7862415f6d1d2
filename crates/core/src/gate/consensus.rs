//! What several models say together: whether the excerpts bear a statement out (GOV-2.3, 11.4).

use super::facts::GateFacts;
use super::{Cause, Finding, GateName};
use crate::error::Code;

/// What support must be there by the words alone before models may add to it (D7).
const SUPPORT_ARGUABLE: f64 = 0.5;

/// Which models find a statement borne out by its excerpts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consensus {
    /// The models that say so.
    pub supported: Vec<String>,
    /// How many gave an answer at all.
    pub answered: usize,
    /// How many were asked.
    pub asked: usize,
}

impl Consensus {
    /// Whether more of those that answered say so than not.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.supported.len() * 2 > self.answered
    }

    /// The support of an excerpt, given what the words alone show: the share of the models, where that is more. An excerpt that
    /// says the opposite, or hardly speaks of it, stays what it is.
    #[must_use]
    pub fn support(&self, words: f64) -> f64 {
        if words < SUPPORT_ARGUABLE || self.asked == 0 {
            return words;
        }
        words.max(self.supported.len() as f64 / self.asked as f64)
    }
}

/// Leaves it to a person where most models do not find the statement in its excerpts. Models that are silent stop nothing.
pub(super) fn check(facts: &GateFacts) -> Finding {
    match &facts.consensus {
        Some(consensus) if consensus.answered > 0 && !consensus.is_reached() => {
            let (supported, answered) = (consensus.supported.len(), consensus.answered);
            let why = format!("{supported} of {answered} models find the statement in its excerpts");
            Finding::Holds(Cause::new(GateName::Factual, Code::ConsensusMissing, why))
        }
        _ => Finding::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(supported: usize, answered: usize, asked: usize) -> Consensus {
        Consensus { supported: (0..supported).map(|n| format!("m{n}")).collect(), answered, asked }
    }

    fn is_held(consensus: Option<Consensus>) -> bool {
        matches!(check(&GateFacts { consensus, ..GateFacts::default() }), Finding::Holds(_))
    }

    /// GOV-2.3, GOV-11.4: without a majority of those that answer a person decides; silence decides nothing.
    #[test]
    fn a_majority_of_answers_is_asked_for() {
        assert!(!is_held(Some(of(3, 3, 3))) && !is_held(Some(of(2, 3, 3))));
        assert!(is_held(Some(of(1, 3, 3))) && is_held(Some(of(1, 2, 3))) && is_held(Some(of(0, 1, 3))));
        assert!(!is_held(Some(of(1, 1, 3))) && !is_held(Some(of(0, 0, 3))) && !is_held(None));
    }

    /// D7: models add to what words show, and never undo that an excerpt says the opposite.
    #[test]
    fn models_add_to_arguable_support_only() {
        assert_eq!(of(3, 3, 3).support(0.6), 1.0);
        assert_eq!(of(3, 3, 3).support(0.0), 0.0);
        assert_eq!(of(0, 3, 3).support(0.6), 0.6);
        assert!((of(2, 2, 3).support(0.5) - 2.0 / 3.0).abs() < 1e-12);
    }
}
