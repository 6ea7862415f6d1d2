//! The contradiction gate: nothing known speaks against the statement, or a person decides (GOV-2.7, 2.8).

use super::facts::{GateFacts, Known, Neighbour};
use super::{Cause, Finding, Force, GateName, WriteRequest};
use crate::claim::Method;
use crate::error::{Code, Fault, Refusal};

/// The least score at which two statements count as contradicting each other.
const SCORE_MIN: f64 = 0.85;

/// By how much a write must be better founded: less is the noise of rounding and of moments.
const MARGIN: f64 = 1e-6;

/// Something known that speaks against a write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Against {
    /// Which.
    pub known: Known,
    /// How it was found.
    pub method: Method,
    /// How surely, 0 to 1.
    pub score: f64,
    /// How close the topics are, 0 to 1.
    pub similarity: f64,
}

impl Against {
    /// The neighbour that it is.
    pub(super) fn neighbour<'a>(&self, facts: &'a GateFacts) -> Option<&'a Neighbour> {
        facts.neighbours.iter().find(|neighbour| neighbour.known == self.known)
    }
}

/// What speaks against the write, surest first. What it replaces anyway does not.
#[must_use]
pub fn contradictions(facts: &GateFacts) -> Vec<Against> {
    let replaced = facts.replaced.as_ref().map(|version| version.id);
    let against = |neighbour: &Neighbour| {
        let found = neighbour.contradiction.as_ref().filter(|found| found.score > SCORE_MIN)?;
        let (method, score) = (found.method, found.score);
        Some(Against { known: neighbour.known, method, score, similarity: neighbour.similarity })
    };
    let mut all: Vec<Against> = facts
        .neighbours
        .iter()
        .filter(|neighbour| Some(neighbour.known.version) != replaced)
        .filter_map(against)
        .collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all
}

/// Passes, refuses what is weaker than what is known, or leaves the stronger to a person.
pub(super) fn check(
    request: &WriteRequest,
    facts: &GateFacts,
    against: &[Against],
    reliance: f64,
    force: Force,
) -> Result<Finding, Refusal> {
    if facts.impossible && force > Force::Off {
        let fault = Fault::new("/text", Code::Contradiction, "an end that is not before its start");
        return Err(Refusal::new(
            Code::Contradiction,
            "the statement contradicts itself: it ends before it starts",
        )
        .at(GateName::Contradiction)
        .with(vec![fault]));
    }
    // What was said in a conversation is a record of it; two people may well say opposite things.
    let force = if request.is_utterance() { force.min(Force::Advises) } else { force };
    if against.is_empty() || force < Force::Stops || facts.approval.is_some() {
        return Ok(Finding::Nothing);
    }
    let strongest = facts
        .neighbours
        .iter()
        .filter(|neighbour| against.iter().any(|one| one.known == neighbour.known))
        .map(|neighbour| neighbour.reliance)
        .fold(0.0, f64::max);
    if reliance > strongest + MARGIN {
        let why = format!("it speaks against {} known item(s) and is better founded", against.len());
        return Ok(Finding::Holds(Cause::new(GateName::Contradiction, Code::Contradiction, why)));
    }
    Err(refusal(against))
}

fn refusal(against: &[Against]) -> Refusal {
    let faults = against.iter().map(|one| {
        Fault::new(
            "/text",
            Code::Contradiction,
            "better evidence than the item has, or `supersedes` with its id",
        )
        .found(format!("{} ({})", one.known.item, one.method.as_str()))
    });
    Refusal::new(
        Code::Contradiction,
        "it speaks against what is known and is no better founded: cite stronger evidence, or supersede the item",
    )
    .at(GateName::Contradiction)
    .with(faults.collect())
    .against(against.to_vec())
}
