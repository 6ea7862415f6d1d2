//! What may serve as evidence: not the statement itself, not the writer's own word alone, nothing too weak (GOV-11.2 to 11.6).

use super::{Force, GateFacts, GateName, Weighed, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::item::Layer;
use crate::provenance::{Evidence, SourceType};

/// The least authority of every single source (GOV-11.2).
const fn authority_min(layer: Layer) -> f64 {
    match layer {
        Layer::Working | Layer::Session => 0.0,
        Layer::Episodic => 0.3,
        Layer::Semantic => 0.5,
        Layer::Procedural => 0.7,
    }
}

pub(super) fn check(request: &WriteRequest, facts: &GateFacts, force: Force) -> Result<(), Refusal> {
    if force == Force::Off {
        return Ok(());
    }
    cited(facts)?;
    circular(facts)?;
    if force < Force::Stops {
        return Ok(());
    }
    weak_sources(request, facts)?;
    own_sources(request, facts)?;
    independent(request)
}

fn cited(facts: &GateFacts) -> Result<(), Refusal> {
    let missing = facts.evidence.iter().enumerate().filter(|(_, one)| one.missing);
    let fault = |place: usize| {
        let path = format!("/evidence/{place}/source_item_id");
        Fault::new(path, Code::NotFound, "the id of an item visible to this caller")
    };
    let faults: Vec<Fault> = missing.map(|(place, _)| fault(place)).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(refused(Code::SchemaInvalid, "the evidence cites an item that is not there", faults))
}

fn circular(facts: &GateFacts) -> Result<(), Refusal> {
    let faults: Vec<Fault> = faults_where(
        facts,
        |one| one.circular,
        Code::CircularEvidence,
        "a source that does not rest on this statement",
    );
    if faults.is_empty() {
        return Ok(());
    }
    Err(refused(
        Code::CircularEvidence,
        "the evidence rests, at the end, on the statement itself: cite a source outside memory",
        faults,
    ))
}

fn faults_where(
    facts: &GateFacts,
    is_bad: impl Fn(&Weighed) -> bool,
    code: Code,
    expected: &str,
) -> Vec<Fault> {
    let bad = facts.evidence.iter().enumerate().filter(|(_, one)| is_bad(one));
    bad.map(|(place, _)| Fault::new(format!("/evidence/{place}"), code, expected)).collect()
}

fn weak_sources(request: &WriteRequest, facts: &GateFacts) -> Result<(), Refusal> {
    let least = authority_min(request.layer);
    let expected = format!("an authority of at least {least}");
    let faults = faults_where(facts, |one| one.authority < least, Code::EvidenceAuthorityLow, &expected);
    if faults.is_empty() {
        return Ok(());
    }
    let message = format!(
        "a source counts less than {least}, the least that this layer takes: leave it out or cite a better one"
    );
    Err(refused(Code::EvidenceAuthorityLow, message, faults))
}

/// Canonical memory takes no model's conclusion, and nothing that rests on the writer's own items alone (GOV-11.3).
fn own_sources(request: &WriteRequest, facts: &GateFacts) -> Result<(), Refusal> {
    if !request.layer.is_canonical() {
        return Ok(());
    }
    let reasoned = |one: &&(usize, &Evidence)| one.1.source_type == SourceType::AgentReasoning;
    let places: Vec<(usize, &Evidence)> = request.evidence.iter().enumerate().collect();
    let faults: Vec<Fault> = places
        .iter()
        .filter(reasoned)
        .map(|(place, _)| {
            Fault::new(format!("/evidence/{place}"), Code::SelfEvidence, "a source other than reasoning")
        })
        .collect();
    if !faults.is_empty() {
        return Err(refused(
            Code::SelfEvidence,
            "an agent's own reasoning is no evidence for canonical memory: cite what it reasoned from",
            faults,
        ));
    }
    if !facts.evidence.is_empty() && facts.evidence.iter().all(|one| one.own) {
        let faults =
            faults_where(facts, |one| one.own, Code::SelfEvidence, "a source that this agent did not write");
        return Err(refused(
            Code::SelfEvidence,
            "all evidence is what this agent wrote itself: cite at least one other source",
            faults,
        ));
    }
    Ok(())
}

/// Durable memory rests on at least one source outside the agents (GOV-11.6).
fn independent(request: &WriteRequest) -> Result<(), Refusal> {
    let outside = |one: &Evidence| match one.source_type {
        SourceType::Document | SourceType::ApiResponse | SourceType::HumanInput => true,
        SourceType::ToolOutput | SourceType::CodeExecution => request.layer == Layer::Episodic,
        SourceType::AgentReasoning | SourceType::MemoryItem => false,
    };
    if request.evidence.iter().any(outside) {
        return Ok(());
    }
    let expected = "a document, an answer of a service or a person's words";
    let fault = Fault::new("/evidence", Code::EvidenceNotIndependent, expected);
    Err(refused(
        Code::EvidenceNotIndependent,
        "no source lies outside memory and its agents: cite at least one",
        vec![fault],
    ))
}

fn refused(code: Code, message: impl Into<String>, faults: Vec<Fault>) -> Refusal {
    Refusal::new(code, message).at(GateName::Factual).with(faults)
}
