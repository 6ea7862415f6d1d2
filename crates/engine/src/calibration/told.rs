//! What is told about trust: a band and reasons to everyone, numbers to those who audit (CAL-41).

use super::again::gate_of;
use super::namespace_print;
use crate::Call;
use crate::reply::{
    AuditorTrust, ItemTrust, SpaceTrust, StagedWriteTrust, TrustNumbers, TrustQuery, TrustReply,
};
use crate::review;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use std::collections::BTreeSet;
use tabellion_core::access::Power;
use tabellion_core::canonical::Hash;
use tabellion_core::error::Refusal;
use tabellion_core::id::{AgentId, ItemId, ReviewId};
use tabellion_core::log::{Mark, MemoryKind, Space};
use tabellion_core::trust::Band;
use tabellion_core::view::{Review, StagedTrust, Standing, Views};

/// Staged writes of one answer.
const STAGED_MAX: usize = 500;
/// Spaces of one answer.
const SPACES_MAX: usize = 100;

/// How far things can be trusted in a namespace.
pub(crate) async fn trust(tenant: &Tenant, call: &Call, query: &TrustQuery) -> Result<TrustReply, Refusal> {
    let result = told(tenant, call, query);
    let ids = query.item.iter().filter(|_| result.is_ok()).cloned().collect();
    tenant.read_done(call, "trust", ids, result).await
}

fn told(tenant: &Tenant, call: &Call, query: &TrustQuery) -> Result<TrustReply, Refusal> {
    let mut reply = seen(tenant, call, query)?;
    // Looked up when the views are no longer held: what was scored may wait for another reason.
    let reviews: Vec<Review> = {
        let views = tenant.shared.views.read();
        reply.staged.iter().filter_map(|one| views.reviews.find(one.review).cloned()).collect()
    };
    let apart = reviews.iter().filter(|one| review::is_kept_apart(tenant, one)).map(|one| one.id);
    let apart: BTreeSet<ReviewId> = apart.collect();
    reply.staged.retain(|one| apart.contains(&one.review));
    Ok(reply)
}

fn seen(tenant: &Tenant, call: &Call, query: &TrustQuery) -> Result<TrustReply, Refusal> {
    let views = tenant.shared.views.read();
    let namespace = query.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let print = namespace_print(tenant, &namespace);
    let audits = call.caller.may(Power::Audit);
    let item = query.item.as_deref().map(|id| item(tenant, call, &views, id, audits)).transpose()?;
    let spaces = if audits && item.is_none() { spaces(&views, print) } else { Vec::new() };
    let staged = if item.is_none() { staged(call, &views, print, audits) } else { Vec::new() };
    Ok(TrustReply { namespace, item, spaces, staged })
}

fn item(tenant: &Tenant, call: &Call, views: &Views, id: &str, audits: bool) -> Result<ItemTrust, Refusal> {
    let id: ItemId = id.parse().map_err(|_| Refusal::not_found())?;
    let (at, predicate) = (tenant.moment(views), predicate(tenant, &call.caller, views));
    let head = views.items.find_item(id).and_then(|item| views.items.head_at(item, at));
    if let Some(head) = head.filter(|head| predicate.admits(head)) {
        let row = views.items.row_of(head.id).ok_or_else(Refusal::not_found)?;
        return Ok(match views.trust.standing(row) {
            None => unscored(id),
            Some(standing) => scored(id, standing, status(standing), audits),
        });
    }
    let waiting = ReviewId::from_bytes(*id.as_bytes());
    let seen =
        views.reviews.find(waiting).is_some_and(|review| review::is_visible(views, &call.caller, review));
    let staged = views.trust.staged(waiting).filter(|_| seen).ok_or_else(Refusal::not_found)?;
    let told = scored(id, &staged.standing, "staged", audits);
    let agreed = staged.agreed.mean();
    Ok(ItemTrust { numbers: told.numbers.map(|numbers| TrustNumbers { agreed, ..numbers }), ..told })
}

fn unscored(id: ItemId) -> ItemTrust {
    let reasons = vec!["it was not scored: what is private, and what does not last, is not".to_owned()];
    ItemTrust { id, trust: Band::Medium, status: "unscored", reasons, numbers: None }
}

const fn status(standing: &Standing) -> &'static str {
    match (standing.demoted, standing.mark) {
        (true, _) => "demoted",
        (false, Mark::Provisional) => "provisional",
        (false, Mark::Plain | Mark::Correlated) => "scored",
    }
}

fn scored(id: ItemId, standing: &Standing, status: &'static str, audits: bool) -> ItemTrust {
    let numbers = audits.then(|| numbers(standing));
    let reasons = reasons(standing, status, audits);
    ItemTrust { id, trust: standing.stored.band(), status, reasons, numbers }
}

/// Why, as far as that helps nobody to write the next lie.
fn reasons(standing: &Standing, status: &str, audits: bool) -> Vec<String> {
    let mut reasons = Vec::new();
    match status {
        "staged" => reasons.push("it does not fit what is known yet"),
        "demoted" => reasons.push("what came to light since speaks against it"),
        _ => {}
    }
    if standing.mark == Mark::Provisional {
        reasons.push("too little was known to compare with when it was written");
    }
    // Who spoke is for those who audit.
    if standing.mark == Mark::Correlated && audits {
        reasons.push("nearly all who spoke are of one family of models");
    }
    if standing.stored.count == 0.0 {
        reasons.push("nothing that others searched for says anything of it yet");
    }
    reasons.into_iter().map(str::to_owned).collect()
}

fn numbers(standing: &Standing) -> TrustNumbers {
    TrustNumbers {
        rho: standing.stored.rho(),
        evidence: standing.stored.evidence,
        count: standing.stored.count,
        scored: standing.rho,
        detect: standing.detect,
        align: standing.align,
        threshold: standing.threshold,
        agreed: None,
    }
}

fn staged(call: &Call, views: &Views, namespace: Hash, audits: bool) -> Vec<StagedWriteTrust> {
    let here = |standing: &Standing| {
        views.trust.space(standing.space).is_some_and(|space| space.namespace == namespace)
    };
    let seen = |(id, staged)| {
        let review =
            views.reviews.find(id).filter(|review| review::is_visible(views, &call.caller, review))?;
        Some((review, staged))
    };
    let all = views.trust.all_staged().filter(|(_, staged)| here(&staged.standing));
    let mut all: Vec<(&Review, &StagedTrust)> = all.filter_map(seen).collect();
    // In the order in which they came: ids are random.
    all.sort_unstable_by_key(|(review, _)| review.lsn);
    let told = all.into_iter().map(|(review, staged)| StagedWriteTrust {
        review: review.id,
        id: ItemId::from_bytes(*review.id.as_bytes()),
        trust: staged.standing.stored.band(),
        numbers: audits.then(|| TrustNumbers { agreed: staged.agreed.mean(), ..numbers(&staged.standing) }),
    });
    told.take(STAGED_MAX).collect()
}

fn spaces(views: &Views, namespace: Hash) -> Vec<SpaceTrust> {
    let here: Vec<&Space> =
        views.trust.spaces().filter(|space| space.namespace == namespace).take(SPACES_MAX).collect();
    let kinds = [MemoryKind::Items, MemoryKind::Relations];
    let all = here.iter().flat_map(|space| kinds.map(|kind| space_trust(views, space, kind)));
    // Where nothing was audited there is no bar, and nobody who is believed more or less.
    all.filter(|space| space.window > 0 || space.rounds > 0 && space.kind == MemoryKind::Items.as_str())
        .collect()
}

fn space_trust(views: &Views, space: &Space, kind: MemoryKind) -> SpaceTrust {
    let known = views.trust.known(kind, |other| space.dominates(other));
    let gate = gate_of(&known);
    let name = |agent: AgentId| {
        views.identity.agent(agent).map_or_else(|| agent.to_string(), |agent| agent.words.name.clone())
    };
    SpaceTrust {
        kind: kind.as_str(),
        agents: space.agents.iter().map(|agent| name(*agent)).collect(),
        rounds: known.rounds,
        threshold: gate.threshold,
        cold: gate.cold,
        window: gate.counted,
        auditors: known
            .auditors()
            .map(|(agent, credibility)| AuditorTrust { agent: name(agent), credibility })
            .collect(),
    }
}
