//! What the gates found of a held write, as it is kept for those who decide.

use super::decide;
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use crate::{Call, counsel};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tabellion_core::canonical::{hex, sha256};
use tabellion_core::gate::{Against, Held, OnConflict};
use tabellion_core::id::{ItemId, ReviewId, UserId, VersionId};
use tabellion_core::item::Tier;
use tabellion_core::view::Review;

/// Contradicted versions that are remembered as shown; beyond that they are forgotten, and have to be looked at again.
const LOOKS_MAX: usize = 100_000;

/// What people were shown that reviews speak against, beyond what was known when they were staged.
#[derive(Default)]
pub(crate) struct Looks(Mutex<BTreeSet<(ReviewId, UserId, VersionId)>>);

impl Looks {
    /// Notes what a person was shown of a review.
    pub(super) fn note(&self, review: ReviewId, user: UserId, versions: impl IntoIterator<Item = VersionId>) {
        let mut looks = self.0.lock();
        if looks.len() >= LOOKS_MAX {
            looks.clear();
        }
        looks.extend(versions.into_iter().map(|version| (review, user, version)));
    }

    /// Whether a person was shown that a review speaks against a version.
    pub(super) fn has(&self, review: ReviewId, user: UserId, version: VersionId) -> bool {
        self.0.lock().contains(&(review, user, version))
    }
}

/// The versions that findings name as contradicted.
pub(super) fn contradicted(findings: &Value) -> BTreeSet<VersionId> {
    let all = findings.get("contradictions").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.get("version")?.as_str()?.parse().ok()).collect()
}

/// The shared items of other users that a held write speaks against; none if it would stay its user's own.
pub(super) fn opposed(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    (tier, against): (Tier, &[Against]),
) -> Vec<ItemId> {
    if tier != Tier::Shared && asked.copy.is_none() {
        return Vec::new();
    }
    let views = tenant.shared.views.read();
    let is_of_another = |one: &&Against| {
        let version = views.items.find_version(one.known.version);
        version.is_some_and(|version| version.tier == Tier::Shared && version.owner != call.caller.user())
    };
    against.iter().filter(is_of_another).map(|one| one.known.item).collect()
}

/// The items whose place a yes would take, unless the person says otherwise.
fn proposed_to_replace(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    (tier, against): (Tier, &[Against]),
) -> Vec<ItemId> {
    if asked.request.on_conflict.or(asked.on_conflict_policy) == Some(OnConflict::KeepBoth) {
        return Vec::new();
    }
    let opposed = opposed(tenant, call, asked, (tier, against));
    let views = tenant.shared.views.read();
    let is_own = |one: &Against| {
        let version = views.items.find_version(one.known.version);
        version.is_some_and(|version| version.owner == call.caller.user())
    };
    let replaced = against.iter().filter(|one| is_own(one) || opposed.contains(&one.known.item));
    replaced.map(|one| one.known.item).collect()
}

/// What a held write contradicts, and what a yes would make of that.
fn compared(tenant: &Tenant, call: &Call, asked: &Asked, (tier, against): (Tier, &[Against])) -> [Value; 2] {
    let contradiction = |one: &Against| {
        json!({
            "id": one.known.item.to_string(),
            "version": one.known.version.to_string(),
            "method": one.method.as_str(),
            "score": one.score,
            "similarity": one.similarity,
        })
    };
    let contradictions = against.iter().map(contradiction).collect();
    let replaced = proposed_to_replace(tenant, call, asked, (tier, against));
    let replaced: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    let proposal = match replaced.is_empty() {
        true => json!({"operation": "insert"}),
        false => json!({"operation": "supersede", "items": replaced}),
    };
    [contradictions, proposal]
}

/// The findings of a write that waits, with what it contradicts by now; where that cannot be told, as they were. And whether others
/// would see it, or a copy of it.
pub(super) fn current(tenant: &Tenant, review: &Review, mut findings: Value) -> (Value, bool) {
    let Ok((author, asked)) = decide::as_sent(tenant, None, review) else {
        return (findings, review.tier == Tier::Shared);
    };
    let for_others = asked.is_for_others();
    let Ok(against) = write::against(tenant, &author, &asked) else { return (findings, for_others) };
    let now = compared(tenant, &author, &asked, (review.tier, &against));
    if let Value::Object(findings) = &mut findings {
        findings.extend(["contradictions", "proposal"].map(str::to_owned).into_iter().zip(now));
    }
    (findings, for_others)
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
    let [contradictions, proposal] = compared(tenant, call, asked, (held.tier, &assessment.against));
    json!({
        "factors": factors,
        "causes": causes,
        "contradictions": contradictions,
        "proposal": proposal,
        "fact_score": assessment.fact,
        "authority": assessment.authority,
        "adjusted_confidence": assessment.confidence,
        "validation_score": assessment.composite,
        "consensus": counsel::consensus_json(assessment.consensus.as_ref()),
        "content_hash": hex(&sha256(&held.content)),
    })
}
