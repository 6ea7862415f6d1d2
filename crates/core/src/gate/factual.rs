//! The factual gate: how far the evidence bears the statement out (GOV-2.3 to 2.6).

use super::facts::{GateFacts, Weighed};
use super::{Cause, Finding, Force, GateName, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::item::Layer;

/// What support a source without an excerpt gives.
pub const SUPPORT_UNSEEN: f64 = 0.5;
/// From this support on, a person may decide what the words alone do not show.
const SUPPORT_ARGUABLE: f64 = 0.5;

/// The least V_fact that a layer takes (GOV-2.5).
#[must_use]
pub const fn threshold(layer: Layer) -> f64 {
    match layer {
        Layer::Working | Layer::Session => 0.0,
        Layer::Episodic => 0.6,
        Layer::Semantic => 0.8,
        Layer::Procedural => 0.9,
    }
}

/// V_fact: the mean over the evidence of support, authority and freshness (GOV-2.4). Nothing without evidence.
#[must_use]
pub fn fact_score(evidence: &[Weighed]) -> f64 {
    mean(evidence, |one| one.support * one.authority * one.freshness)
}

/// The mean authority of the evidence.
#[must_use]
pub fn authority(evidence: &[Weighed]) -> f64 {
    mean(evidence, |one| one.authority)
}

fn mean(evidence: &[Weighed], of: impl Fn(&Weighed) -> f64) -> f64 {
    match evidence.len() {
        0 => 0.0,
        count => (evidence.iter().map(of).sum::<f64>() / count as f64).clamp(0.0, 1.0),
    }
}

/// Passes, refuses, or leaves it to a person where only the words of the sources fall short.
pub(super) fn check(request: &WriteRequest, facts: &GateFacts, force: Force) -> Result<Finding, Refusal> {
    let (score, least) = (fact_score(&facts.evidence), threshold(request.layer));
    if force < Force::Stops || score >= least || facts.approval.is_some() || facts.own_word {
        return Ok(Finding::Nothing);
    }
    let arguable = !facts.evidence.is_empty()
        && facts.evidence.iter().all(|one| one.support >= SUPPORT_ARGUABLE)
        && mean(&facts.evidence, |one| one.authority * one.freshness) >= least;
    if arguable {
        let why = format!("the words of the evidence bear out {score:.2} of it where {least:.2} is asked");
        return Ok(Finding::Holds(Cause::new(GateName::Factual, Code::EvidenceInsufficient, why)));
    }
    Err(refusal(facts, score, least))
}

fn refusal(facts: &GateFacts, score: f64, least: f64) -> Refusal {
    let mut faults: Vec<Fault> =
        facts.evidence.iter().enumerate().map(|(place, one)| weak(place, one)).collect();
    if faults.is_empty() {
        let expected = "at least one source: a document, an answer of a service, a person's words";
        faults.push(Fault::new("/evidence", Code::EvidenceInsufficient, expected));
    }
    let message = format!(
        "the evidence bears out {score:.4} of the statement and this layer asks {least:.2}: cite sources that say it, of \
         higher authority, read more recently"
    );
    Refusal::new(Code::EvidenceInsufficient, message).at(GateName::Factual).with(faults)
}

fn weak(place: usize, one: &Weighed) -> Fault {
    let parts =
        format!("support {:.2}, authority {:.2}, freshness {:.2}", one.support, one.authority, one.freshness);
    Fault::new(
        format!("/evidence/{place}"),
        Code::EvidenceInsufficient,
        "an excerpt that holds the words of the statement, from a fresh source of high authority",
    )
    .found(parts)
}

/// How far an excerpt bears out a statement, without a model: the share of the statement's words that it holds.
#[must_use]
pub fn support(statement: &[String], excerpt: &[String]) -> f64 {
    let mut words: Vec<&String> = statement.iter().filter(|word| !crate::rank::is_stop(word)).collect();
    words.sort_unstable();
    words.dedup();
    match words.len() {
        0 => SUPPORT_UNSEEN,
        count => words.iter().filter(|word| excerpt.contains(word)).count() as f64 / count as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::freshness;
    use crate::text::words;
    use crate::time::Period;

    fn official(days: u64) -> Weighed {
        let freshness = freshness(Layer::Semantic, Period::from_days(days));
        Weighed { authority: 1.0, support: 1.0, freshness, own: false, circular: false, missing: false }
    }

    /// GOV-2.4, GOV-2.5: one fully supporting official document passes a semantic write for 223 days.
    #[test]
    fn an_official_document_carries_for_223_days() {
        assert!((fact_score(&[official(223)]) - 0.8001).abs() < 5e-5);
        assert!((fact_score(&[official(224)]) - 0.7993).abs() < 5e-5);
        assert!(fact_score(&[official(223)]) >= threshold(Layer::Semantic));
        assert!(fact_score(&[official(224)]) < threshold(Layer::Semantic));
        assert_eq!(fact_score(&[]), 0.0);
    }

    /// GOV-2.3, D7: without a model, support is the share of the statement's words that the excerpt holds.
    #[test]
    fn support_is_the_share_of_words_borne_out() {
        let share = |statement: &str, excerpt: &str| support(&words(statement), &words(excerpt));
        assert_eq!(share("Port 8080 serves the API", "the API is served on port 8080"), 1.0);
        assert_eq!(share("Port 8080 serves the API", "something else"), 0.0);
        assert_eq!(share("the a of", "anything"), SUPPORT_UNSEEN);
    }
}
