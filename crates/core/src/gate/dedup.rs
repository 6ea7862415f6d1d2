//! The dedup gate: three tiers, cheapest first; the first twin found decides (GOV-3).

use super::facts::{GateFacts, Likeness, Twin};
use super::{Cause, Finding, Force, GateName, OnConflict, Strictness, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::schema::Delta;

/// The least cosine of a semantic twin.
pub const SEMANTIC_MIN: f64 = 0.95;

impl Likeness {
    const fn duplicate(self) -> Code {
        match self {
            Self::Exact => Code::ExactDuplicate,
            Self::Structural => Code::StructuralDuplicate,
            Self::Semantic => Code::SemanticDuplicate,
        }
    }

    const fn conflict(self) -> Code {
        match self {
            Self::Exact => Code::ExactDuplicate,
            Self::Structural => Code::StructuralConflict,
            Self::Semantic => Code::SemanticConflict,
        }
    }
}

/// Passes, merges, refuses what adds nothing, or leaves a conflict to a person.
pub(super) fn check(request: &WriteRequest, facts: &GateFacts, force: Force) -> Result<Finding, Refusal> {
    let Some(twin) = twin(request, facts).filter(|_| force == Force::Stops) else {
        return Ok(Finding::Nothing);
    };
    match &twin.delta {
        Delta::Empty => Err(duplicate(twin)),
        Delta::Superset(content) => Ok(Finding::Merges(twin.known, Box::new(content.clone()))),
        Delta::Conflicting(_) if facts.approval.is_some() => Ok(Finding::Nothing),
        Delta::Conflicting(places) => conflicting(request, facts, twin, places),
    }
}

/// What becomes of another value of a known field: what the writer asks for, else a person decides; a person's own write replaces
/// what it says anew (AM-3, AM-4).
fn conflicting(
    request: &WriteRequest,
    facts: &GateFacts,
    twin: &Twin,
    places: &[String],
) -> Result<Finding, Refusal> {
    let (code, places) = (twin.likeness.conflict(), places.join(", "));
    let alone = facts.own_word || (facts.strictness < Strictness::Strict && !request.layer.is_canonical());
    let asked = facts.on_conflict.or(facts.own_word.then_some(OnConflict::Supersede));
    match asked {
        Some(OnConflict::Supersede) if alone && twin.replaceable => Ok(Finding::Replaces(twin.known)),
        Some(OnConflict::KeepBoth) if alone => Ok(Finding::Nothing),
        Some(OnConflict::Reject) => {
            let message = format!("an item that says the same differs at {places}");
            let expected = "supersede replaces the item, keep_both keeps both";
            let fault = Fault::new("/on_conflict", code, expected).found(OnConflict::Reject.as_str());
            Err(Refusal::new(code, message)
                .at(GateName::Dedup)
                .with(vec![fault])
                .existing(twin.known.item))
        }
        Some(OnConflict::Supersede | OnConflict::KeepBoth | OnConflict::Review) | None => {
            let why = format!("an item that says the same differs at {places}");
            Ok(Finding::Holds(Cause::new(GateName::Dedup, code, why)))
        }
    }
}

/// The twin that counts: not what the write replaces anyway, and for what was said in a conversation only the very same.
fn twin<'a>(request: &WriteRequest, facts: &'a GateFacts) -> Option<&'a Twin> {
    let replaced = facts.replaced.as_ref().map(|version| version.id);
    facts
        .twin
        .as_ref()
        .filter(|twin| Some(twin.known.version) != replaced)
        .filter(|twin| twin.likeness != Likeness::Semantic || !request.is_utterance())
}

/// The answer to what is known already.
#[must_use]
pub fn duplicate(twin: &Twin) -> Refusal {
    let code = twin.likeness.duplicate();
    let id = twin.known.item.to_string();
    let fault = Fault::new("/text", code, "something that the item does not say yet").found(id.clone());
    Refusal::new(code, format!("{id} says this already; read it, or update it with PUT /v1/items/{id}"))
        .at(GateName::Dedup)
        .with(vec![fault])
        .existing(twin.known.item)
}
