//! What the gates found of a held write, as it is kept for those who decide.

use crate::tenant::Tenant;
use crate::write::Asked;
use crate::{Call, counsel};
use serde_json::{Value, json};
use tabellion_core::canonical::{hex, sha256};
use tabellion_core::gate::{Against, Held, OnConflict};
use tabellion_core::id::ItemId;
use tabellion_core::item::Tier;

/// The shared items of other users that a held write speaks against; none if it would stay its user's own.
pub(super) fn opposed(tenant: &Tenant, call: &Call, asked: &Asked, held: &Held) -> Vec<ItemId> {
    if held.tier != Tier::Shared && asked.copy.is_none() {
        return Vec::new();
    }
    let views = tenant.shared.views.read();
    let is_of_another = |one: &&Against| {
        let version = views.items.find_version(one.known.version);
        version.is_some_and(|version| version.tier == Tier::Shared && version.owner != call.caller.user())
    };
    held.assessment.against.iter().filter(is_of_another).map(|one| one.known.item).collect()
}

/// The items whose place a yes would take, unless the person says otherwise.
fn proposed_to_replace(tenant: &Tenant, call: &Call, asked: &Asked, held: &Held) -> Vec<ItemId> {
    if held.request.on_conflict.or(asked.on_conflict_policy) == Some(OnConflict::KeepBoth) {
        return Vec::new();
    }
    let opposed = opposed(tenant, call, asked, held);
    let views = tenant.shared.views.read();
    let is_own = |one: &Against| {
        let version = views.items.find_version(one.known.version);
        version.is_some_and(|version| version.owner == call.caller.user() && version.tier == held.tier)
    };
    let against = held.assessment.against.iter();
    against.filter(|one| is_own(one) || opposed.contains(&one.known.item)).map(|one| one.known.item).collect()
}

/// What the gates found, for those who decide.
pub(super) fn findings(tenant: &Tenant, call: &Call, asked: &Asked, held: &Held) -> Value {
    let assessment = &held.assessment;
    let factors: Vec<Value> = assessment
        .risk
        .factors()
        .iter()
        .map(|(name, weight, value)| json!({"factor": name, "weight": weight, "value": value}))
        .collect();
    let causes: Vec<Value> = held
        .causes
        .iter()
        .map(|cause| json!({"gate": cause.gate.as_str(), "code": cause.code.as_str(), "message": cause.message}))
        .collect();
    let contradictions: Vec<Value> = assessment
        .against
        .iter()
        .map(|one| {
            json!({
                "id": one.known.item.to_string(),
                "version": one.known.version.to_string(),
                "method": one.method.as_str(),
                "score": one.score,
                "similarity": one.similarity,
            })
        })
        .collect();
    let supersedes: Vec<String> =
        proposed_to_replace(tenant, call, asked, held).iter().map(ToString::to_string).collect();
    json!({
        "factors": factors,
        "causes": causes,
        "contradictions": contradictions,
        "proposal": if supersedes.is_empty() { json!({"operation": "insert"}) } else {
            json!({"operation": "supersede", "items": supersedes})
        },
        "fact_score": assessment.fact,
        "authority": assessment.authority,
        "adjusted_confidence": assessment.confidence,
        "validation_score": assessment.composite,
        "consensus": counsel::consensus_json(assessment.consensus.as_ref()),
        "content_hash": hex(&sha256(&held.content)),
    })
}
