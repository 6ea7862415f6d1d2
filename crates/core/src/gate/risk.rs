//! Risk: what could go wrong if this became memory, as one number, and who must look because of it (GOV-6.1, 6.2, D10, D11).

use super::facts::GateFacts;
use crate::item::{Layer, words};

/// The least similarity of a neighbour that makes a topic known.
const NEIGHBOUR_MIN: f64 = 0.5;
/// Below this reputation a person looks at every write.
pub const REPUTATION_MIN: f64 = 0.7;
/// From here on a person looks later.
const ASYNC_MIN: f64 = 0.3;
/// From here on the writer waits for a person.
const SYNC_MIN: f64 = 0.7;

words! {
    /// How a write is approved.
    Hold {
        /// By nobody: it is admitted.
        0 Auto = "auto",
        /// By a person, later; the writer goes on meanwhile.
        1 Async = "async",
        /// By a person, now; the writer waits, and silence is a no.
        2 Sync = "sync",
    }
}

/// The six factors of the risk, each 0 to 1, in the order of their weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Risk {
    /// How binding the layer is.
    pub layer: f64,
    /// Whether anything known speaks against it.
    pub contradiction: f64,
    /// How much authority its evidence lacks.
    pub evidence: f64,
    /// How much confidence it lacks.
    pub confidence_gap: f64,
    /// How many would rely on it.
    pub blast_radius: f64,
    /// Whether nothing is known about its topic.
    pub novelty: f64,
}

impl Risk {
    /// The risk of a write that has these facts.
    #[must_use]
    pub fn of(layer: Layer, facts: &GateFacts, contradicted: bool, authority: f64, confidence: f64) -> Self {
        let one_if = |yes: bool| if yes { 1.0 } else { 0.0 };
        let known = facts.neighbours.iter().any(|neighbour| neighbour.similarity > NEIGHBOUR_MIN);
        Self {
            layer: match layer {
                Layer::Working | Layer::Session => 0.0,
                Layer::Episodic => 0.3,
                Layer::Semantic => 0.8,
                Layer::Procedural => 1.0,
            },
            contradiction: one_if(contradicted),
            evidence: 1.0 - authority,
            confidence_gap: 1.0 - confidence,
            blast_radius: blast_radius(facts.consumers),
            novelty: one_if(!known && facts.twin.is_none()),
        }
    }

    /// The factors by name, with their weights.
    #[must_use]
    pub const fn factors(&self) -> [(&'static str, f64, f64); 6] {
        [
            ("layer", 0.25, self.layer),
            ("contradiction", 0.20, self.contradiction),
            ("evidence", 0.15, self.evidence),
            ("confidence_gap", 0.15, self.confidence_gap),
            ("blast_radius", 0.15, self.blast_radius),
            ("novelty", 0.10, self.novelty),
        ]
    }

    /// R: the weighted sum.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.factors().iter().map(|(_, weight, factor)| weight * factor).sum()
    }

    /// How a write of this risk is approved, were there nothing else to consider.
    #[must_use]
    pub fn hold(&self) -> Hold {
        match self.score() {
            low if low < ASYNC_MIN => Hold::Auto,
            middle if middle < SYNC_MIN => Hold::Async,
            _ => Hold::Sync,
        }
    }
}

fn blast_radius(consumers: u64) -> f64 {
    ((1.0 + consumers as f64).ln() / 101f64.ln()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(consumers: u64) -> GateFacts {
        let known = crate::gate::Known {
            item: crate::id::ItemId::from_bytes([1; 16]),
            version: crate::id::VersionId::from_bytes([1; 16]),
        };
        let near = crate::gate::Neighbour {
            known,
            similarity: 0.6,
            contradiction: None,
            reliance: 0.0,
            approved: false,
            own: true,
            private: true,
            of_another: false,
            replaceable: true,
            newer: false,
            said_since: false,
            says_more: false,
            dominated: true,
        };
        GateFacts { consumers, neighbours: vec![near], ..GateFacts::default() }
    }

    /// GOV-6.1, GOV-6.2, D11: the figures of the acceptance lines.
    #[test]
    fn the_figures_of_the_table() {
        let plain = Risk::of(Layer::Episodic, &facts(1), false, 0.95, 0.6425);
        assert!((plain.score() - 0.159).abs() < 5e-4, "{}", plain.score());
        assert_eq!(plain.hold(), Hold::Auto);
        let contradicting = Risk::of(Layer::Episodic, &facts(1), true, 0.95, 0.6425);
        assert!((contradicting.score() - 0.359).abs() < 5e-4);
        assert_eq!(contradicting.hold(), Hold::Async);
        let worst = Risk::of(
            Layer::Procedural,
            &GateFacts { consumers: 1_000, ..GateFacts::default() },
            true,
            0.0,
            0.0,
        );
        assert!((worst.score() - 1.0).abs() < 1e-12);
        assert_eq!(worst.hold(), Hold::Sync);
    }
}
