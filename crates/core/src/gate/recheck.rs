//! Verifying again: whether what once passed the gates would still bear weight (GOV-11.4).

use super::facts::{GateFacts, Weighed};
use super::{contradictions, factual};
use crate::item::Layer;
use crate::log::Recheck;

/// What is known of a version when it is looked at again.
#[derive(Debug, Clone)]
pub struct Reweighed {
    /// Its layer.
    pub layer: Layer,
    /// V_fact as it was recorded.
    pub recorded: Option<f64>,
    /// Its evidence as it stood when it was written.
    pub then: Vec<Weighed>,
    /// The same evidence as it stands now, in the same order.
    pub now: Vec<Weighed>,
    /// Whether something it rests on, over however many steps, was taken back.
    pub withdrawn: bool,
    /// Whether a knowledge base knows otherwise.
    pub denied: bool,
    /// What was committed later on the same topic, and is at least as well founded.
    pub later: GateFacts,
}

/// What to make of it; nothing where it never rested on enough evidence to be verified, and nothing speaks against it.
#[must_use]
pub fn recheck(version: &Reweighed) -> Option<Recheck> {
    if version.withdrawn {
        return Some(Recheck::SourceWithdrawn);
    }
    if version.denied || !contradictions(&version.later).is_empty() {
        return Some(Recheck::Contradicted);
    }
    let least = factual::threshold(version.layer);
    let recorded = version.recorded.filter(|recorded| *recorded >= least)?;
    let before = factual::fact_score(&version.then);
    if before <= 0.0 {
        return None;
    }
    // The record is scaled by what changed since: models may have found more support in the excerpts than words show.
    let scaled = |evidence: &[Weighed]| recorded * factual::fact_score(evidence) / before;
    if scaled(&unaged(version)) < least {
        return Some(Recheck::SupportLost);
    }
    Some(if scaled(&version.now) < least { Recheck::EvidenceAged } else { Recheck::BorneOut })
}

/// The evidence as it stands now, as fresh as it was then.
fn unaged(version: &Reweighed) -> Vec<Weighed> {
    let pairs = version.now.iter().zip(&version.then);
    pairs.map(|(now, then)| Weighed { freshness: then.freshness, ..*now }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Contradiction, Method};
    use crate::gate::{Known, Neighbour};
    use crate::id::{ItemId, VersionId};
    use proptest::prelude::*;

    fn weighed(support: f64, freshness: f64) -> Weighed {
        Weighed { authority: 0.95, support, freshness, own: false, circular: false, missing: false }
    }

    fn version(recorded: f64, then: Weighed, now: Weighed) -> Reweighed {
        Reweighed {
            layer: Layer::Episodic,
            recorded: Some(recorded),
            then: vec![then],
            now: vec![now],
            withdrawn: false,
            denied: false,
            later: GateFacts::default(),
        }
    }

    fn opposed(score: f64) -> GateFacts {
        let neighbour = Neighbour {
            known: Known { item: ItemId::from_bytes([1; 16]), version: VersionId::from_bytes([2; 16]) },
            similarity: 0.9,
            contradiction: Some(Contradiction { method: Method::Negation, score, similarity: 0.9 }),
            reliance: 1.0,
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
        GateFacts { neighbours: vec![neighbour], ..GateFacts::default() }
    }

    /// GOV-11.4: what was taken back and what contradicts come first, then lost support, then age; else it stands.
    #[test]
    fn each_way_to_fail_has_its_name() {
        let fresh = || version(0.95, weighed(1.0, 1.0), weighed(1.0, 1.0));
        assert_eq!(recheck(&fresh()), Some(Recheck::BorneOut));
        assert_eq!(recheck(&Reweighed { withdrawn: true, ..fresh() }), Some(Recheck::SourceWithdrawn));
        assert_eq!(recheck(&Reweighed { later: opposed(0.92), ..fresh() }), Some(Recheck::Contradicted));
        assert_eq!(recheck(&Reweighed { denied: true, ..fresh() }), Some(Recheck::Contradicted));
        assert_eq!(recheck(&Reweighed { later: opposed(0.85), ..fresh() }), Some(Recheck::BorneOut));
        let lost = version(0.95, weighed(1.0, 1.0), weighed(0.0, 1.0));
        assert_eq!(recheck(&lost), Some(Recheck::SupportLost));
        let aged = version(0.95, weighed(1.0, 1.0), weighed(1.0, 0.63));
        assert_eq!(recheck(&aged), Some(Recheck::EvidenceAged));
    }

    /// GOV-11.4: what never had enough evidence is neither proved nor disproved by a second look.
    #[test]
    fn what_was_never_proved_is_left_open() {
        let weak = version(0.3, weighed(0.3, 1.0), weighed(0.3, 1.0));
        assert_eq!(recheck(&weak), None);
        assert_eq!(recheck(&Reweighed { recorded: None, ..weak.clone() }), None);
        assert_eq!(recheck(&Reweighed { withdrawn: true, ..weak }), Some(Recheck::SourceWithdrawn));
    }

    /// GOV-11.4: support that only models saw is not lost by looking at words alone.
    #[test]
    fn what_models_found_is_not_lost() {
        assert_eq!(recheck(&version(0.9, weighed(0.5, 1.0), weighed(0.5, 0.9))), Some(Recheck::BorneOut));
    }

    proptest! {
        /// GOV-11.4: time alone never makes a write count as false.
        #[test]
        fn age_alone_proves_nothing(recorded in 0.0f64..=1.0, support in 0.0f64..=1.0, age in 0.0f64..=1.0) {
            let found = recheck(&version(recorded, weighed(support, 1.0), weighed(support, age)));
            prop_assert!(found.is_none_or(|found| found.proves() != Some(false)));
        }
    }
}
