//! The contradiction gate: nothing known contradicts the statement, or the statement takes its place, or a person decides
//! (GOV-2.7, 2.8; AM-3).

use super::facts::{GateFacts, Known, Neighbour};
use super::{Cause, Finding, Force, GateName, OnConflict, Strictness, WriteRequest};
use crate::claim::Method;
use crate::error::{Code, Fault, Refusal};
use crate::item::{Tier, TierWish};

/// The least score at which two statements count as contradicting each other.
const SCORE_MIN: f64 = 0.85;

/// By how much a write must be better founded: less is the noise of rounding and of moments.
const MARGIN: f64 = 1e-6;

/// Something known that speaks against a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// Which.
    pub known: Known,
    /// How it was found.
    pub method: Method,
    /// How surely, 0 to 1.
    pub score: f64,
    /// How close the topics are, 0 to 1.
    pub similarity: f64,
    /// What it says, where the caller is shown that.
    pub text: Option<String>,
}

impl Against {
    /// Whether another user shares it.
    #[must_use]
    pub fn is_of_another(&self, facts: &GateFacts) -> bool {
        self.neighbour(facts).is_some_and(|neighbour| neighbour.of_another)
    }

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
        Some(Against { known: neighbour.known, method, score, similarity: neighbour.similarity, text: None })
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

/// Divides what the write contradicts into what it replaces without asking anybody, and the rest.
///
/// A newer statement of the same user replaces the older one in that user's private memory, wherever it is written itself; what the
/// user shares, what speaks of a later time than the write, and what says more, only where the writer asks for it. What was said while
/// the write waited stays in any case: whoever asked could not mean it. Under `strict`, and where an agent writes to a canonical
/// layer, a person decides instead.
pub(super) fn divide(
    request: &WriteRequest,
    facts: &GateFacts,
    against: Vec<Against>,
) -> (Vec<Against>, Vec<Against>) {
    let waits = facts.strictness == Strictness::Strict || is_decided_by_a_person(request, facts);
    if waits || facts.approval.is_some() || request.is_utterance() {
        return (Vec::new(), against);
    }
    against.into_iter().partition(|one| {
        let neighbour = one.neighbour(facts).filter(|neighbour| neighbour.replaceable);
        neighbour.is_some_and(|neighbour| match facts.on_conflict {
            Some(asked) => asked == OnConflict::Supersede && !neighbour.said_since,
            None => neighbour.private && !neighbour.stays_beside(),
        })
    })
}

impl Neighbour {
    /// Whether the writer's own statement stands beside a write that contradicts it: what held before what is known now is history,
    /// and of a note that says more nothing is lost.
    const fn stays_beside(&self) -> bool {
        self.newer || self.says_more
    }
}

/// Whether a person decides on every write to the layer, and it is not a person who writes.
const fn is_decided_by_a_person(request: &WriteRequest, facts: &GateFacts) -> bool {
    request.layer.is_canonical() && !facts.own_word
}

/// Whether a write goes to its user's private memory.
fn is_private(request: &WriteRequest, facts: &GateFacts) -> bool {
    match request.tier {
        TierWish::Auto => facts.replaced.as_ref().is_none_or(|version| version.tier == Tier::Private),
        TierWish::Private | TierWish::Both => true,
        TierWish::Shared => false,
    }
}

/// Judges a write by what it contradicts and does not replace: passes it, holds it for a person, or refuses it.
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
    if against.is_empty() || facts.approval.is_some() || request.is_utterance() || force == Force::Off {
        return Ok(Finding::Nothing);
    }
    match facts.on_conflict {
        Some(OnConflict::Reject) => Err(refusal(request, facts, against)),
        Some(OnConflict::Review) => Ok(held(against, "a review is asked for")),
        // What its user said while it waited is newer, and stays.
        Some(OnConflict::Supersede) if against.iter().all(|one| is_newer_word(facts, one)) => {
            Ok(Finding::Nothing)
        }
        Some(OnConflict::Supersede) => Ok(held(against, "it asks to replace what others decide on")),
        Some(OnConflict::KeepBoth) if may_stand_beside(request, facts, against) => Ok(Finding::Nothing),
        Some(OnConflict::KeepBoth) => Ok(held(against, "it asks that both stay")),
        None if force < Force::Stops => Ok(Finding::Nothing),
        None => weigh(request, facts, against, reliance),
    }
}

/// Whether it is what the writer's own user said while the write waited.
fn is_newer_word(facts: &GateFacts, one: &Against) -> bool {
    one.neighbour(facts).is_some_and(|neighbour| neighbour.own && neighbour.said_since)
}

/// Whether a write may stand beside what it contradicts without a person: under no strict policy, and not against what another
/// party shares, in the shared memory itself.
fn may_stand_beside(request: &WriteRequest, facts: &GateFacts, against: &[Against]) -> bool {
    let own = |one: &Against| one.neighbour(facts).is_some_and(|neighbour| neighbour.own);
    let of_another = |one: &Against| one.is_of_another(facts);
    // A copy for others reaches the shared memory as a shared write does.
    let stays_private = is_private(request, facts) && !(facts.is_copied && against.iter().any(of_another));
    let harms_nobody = stays_private || facts.own_word || against.iter().all(own);
    facts.strictness < Strictness::Strict && harms_nobody
}

/// Holds a write that is better founded than all that it contradicts, or that changes what its own user keeps in private;
/// refuses the rest (GOV-2.8). What others share keeps nobody from remembering something else in private.
fn weigh(
    request: &WriteRequest,
    facts: &GateFacts,
    against: &[Against],
    reliance: f64,
) -> Result<Finding, Refusal> {
    let lenient = facts.strictness < Strictness::Strict;
    // Who leaves the tier open keeps it in private; who asks for both has both or nothing.
    let stays_private = lenient && is_private(request, facts) && request.tier != TierWish::Both;
    let harmless = |known: &Neighbour| (known.own && known.private) || (stays_private && known.of_another);
    let others: Vec<&Neighbour> = against
        .iter()
        .filter_map(|one| one.neighbour(facts))
        .filter(|neighbour| !(lenient && harmless(neighbour)))
        .collect();
    let stays = |one: &Against| {
        one.neighbour(facts).is_some_and(|one| one.stays_beside() || (stays_private && one.of_another))
    };
    if others.is_empty() && against.iter().all(stays) {
        return Ok(Finding::Nothing);
    }
    let strongest = others.iter().map(|neighbour| neighbour.reliance).fold(0.0, f64::max);
    if others.is_empty() {
        return Ok(held(against, "it changes what is known"));
    }
    if reliance > strongest + MARGIN {
        return Ok(held(against, "it is better founded"));
    }
    Err(refusal(request, facts, against))
}

fn held(against: &[Against], why: &str) -> Finding {
    let message = format!("it contradicts {} known item(s): {why}", against.len());
    Finding::Holds(Cause::new(GateName::Contradiction, Code::Contradiction, message))
}

fn refusal(request: &WriteRequest, facts: &GateFacts, against: &[Against]) -> Refusal {
    let found = against.iter().map(|one| {
        let expected = "a statement that does not contradict the item, or better evidence than it has";
        Fault::new("/text", Code::Contradiction, expected).found(format!(
            "{} ({})",
            one.known.item,
            one.method.as_str()
        ))
    });
    let way_out = way_out(request, facts, against);
    let asked = facts.on_conflict.map_or("nothing", OnConflict::as_str);
    let field = Fault::new("/on_conflict", Code::Contradiction, way_out).found(asked);
    let message =
        format!("the statement contradicts {} known item(s); on_conflict: {way_out}", against.len());
    Refusal::new(Code::Contradiction, message)
        .at(GateName::Contradiction)
        .with(found.chain([field]).collect())
        .against(against.to_vec())
}

/// The values of `on_conflict` that would let the write through, each with what it does.
fn way_out(request: &WriteRequest, facts: &GateFacts, against: &[Against]) -> &'static str {
    if facts.on_conflict_policy == Some(OnConflict::Reject) {
        return "reject is what a policy asks for here; write a statement that contradicts nothing";
    }
    let review = "review has a person decide";
    if facts.strictness == Strictness::Strict || facts.on_conflict_policy == Some(OnConflict::Review) {
        return review;
    }
    let replaceable = |one: &Against| one.neighbour(facts).is_some_and(|neighbour| neighbour.replaceable);
    let beside = may_stand_beside(request, facts, against);
    match (against.iter().all(replaceable) && !is_decided_by_a_person(request, facts), beside) {
        (true, _) => "supersede replaces the item, keep_both keeps both",
        (false, true) => "keep_both keeps both, review has a person decide",
        (false, false) => review,
    }
}
