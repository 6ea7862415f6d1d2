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
        // As one, some would see more or less than before: both stay (AM-16).
        Delta::Empty | Delta::Superset(_) if !twin.same_class => Ok(Finding::Nothing),
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
            Err(Refusal::new(code, message).at(GateName::Dedup).with(vec![fault]).existing(twin.known.item))
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

/// The least letters of a word that may be misspelt.
const MISSPELT_CHARS_MIN: usize = 4;

/// Whether two texts differ in the spelling of words alone: each word that differs is one letter off, and none holds a digit or is
/// a name.
#[must_use]
pub fn is_respelt(old: &str, new: &str) -> bool {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_whitespace().collect(), new.split_whitespace().collect());
    let mut differing = old.iter().zip(&new).filter(|(a, b)| a != b).peekable();
    old.len() == new.len() && differing.peek().is_some() && differing.all(|(a, b)| is_one_letter_off(a, b))
}

fn is_one_letter_off(one: &str, other: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let is_plain = |word: &[char]| {
        word.len() >= MISSPELT_CHARS_MIN && word.iter().all(|c| c.is_lowercase() || c.is_ascii_punctuation())
    };
    if !is_plain(&a) || !is_plain(&b) || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same_start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(same_start..).unwrap_or_default(), b.get(same_start..).unwrap_or_default());
    match (a, b) {
        // Two letters in the other order.
        ([a1, a2, a @ ..], [b1, b2, b @ ..]) if a1 == b2 && a2 == b1 => a == b,
        ([_, rest @ ..], b) if rest == b => true,
        (a, [_, rest @ ..]) if a == rest => true,
        ([_, a @ ..], [_, b @ ..]) => a == b,
        ([], _) | (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_respelt;

    /// AM-10: a typo that is mended is the same statement; another word, number or name is another one.
    #[test]
    fn only_typos_make_a_near_copy() {
        assert!(is_respelt("the api recieves json", "the api receives json"));
        assert!(is_respelt("the adress is known", "the address is known"));
        assert!(!is_respelt("the api receives json", "the api receives json"));
        assert!(!is_respelt("it is in the north", "it is in the south"));
        assert!(!is_respelt("port 8080 is open", "port 8081 is open"));
        assert!(!is_respelt("it is for Bern", "it is for Bonn"));
        assert!(!is_respelt("it is on", "it is off"));
        assert!(!is_respelt("the api receives json", "the api receives json today"));
    }
}
