//! What a knowledge base outside says of a write (GOV-2.3).

use super::facts::GateFacts;
use super::{Force, GateName};
use crate::error::{Code, Fault, Refusal};
use crate::provenance::Evidence;

/// What a knowledge base says of a write, as a source among its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct KnowledgeWord {
    /// Where it says so, and in which words.
    pub evidence: Evidence,
    /// Whether it says otherwise.
    pub denies: bool,
}

/// Refuses what the knowledge base knows otherwise, where evidence stops a write and no person has said yes.
pub(super) fn check(facts: &GateFacts, force: Force) -> Result<(), Refusal> {
    let denied = facts.knowledge.as_ref().filter(|word| word.denies);
    let Some(word) = denied.filter(|_| force == Force::Stops && facts.approval.is_none()) else {
        return Ok(());
    };
    let said = word.evidence.excerpt.clone().unwrap_or_default();
    let fault = Fault::new("/triple/object", Code::KnowledgeDenies, "the value that the knowledge base has")
        .found(said);
    let message = format!(
        "{} knows otherwise: correct the statement, or have whoever keeps the knowledge base correct that",
        word.evidence.source_uri
    );
    Err(Refusal::new(Code::KnowledgeDenies, message).at(GateName::Factual).with(vec![fault]))
}
