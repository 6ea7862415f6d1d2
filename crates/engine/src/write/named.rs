//! What a write names: the resources, parents and ends that the gates are told of, and the class that follows from them.

use super::Asked;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, sharing};
use tabellion_core::access::Predicate;
use tabellion_core::gate::{GateFacts, WriteRequest};
use tabellion_core::item::Tier;
use tabellion_core::view::{Class, Moment, Version, Views};

/// What the gates may know of what a write names, under the caller's predicate.
pub(crate) fn gather(
    tenant: &Tenant,
    call: &Call,
    views: &Views,
    request: &WriteRequest,
    predicate: &Predicate,
) -> GateFacts {
    let (caller, now) = (&call.caller, tenant.now());
    let at = Moment { lsn: views.lsn(), time: now };
    let mut facts = GateFacts {
        reach: views.graphs.resources_of(caller.agent(), at).into_iter().collect(),
        trust_declared: views.identity.agent(caller.agent()).is_some_and(|agent| agent.trust_declared),
        sharing: sharing::is_on(tenant, caller, views),
        bounds: views.policies.bounds(caller.agent()),
        ..GateFacts::default()
    };
    facts.declares_resources = request.resources.is_some();
    for (place, name) in request.resources.iter().flatten().enumerate() {
        facts.resources.push(views.identity.find_resource(name).map(|resource| resource.id).ok_or(place));
    }
    for (place, id) in request.derived_from.iter().enumerate() {
        let visible = |version: &&Version| predicate.admits(version);
        let parent = id.parse().ok().and_then(|id| views.items.find_version(id)).filter(visible);
        facts.derived_from.push(parent.map(|version| version.id).ok_or(place));
        inherit(views, parent, &mut facts);
    }
    for (part, item) in sharing::tied(request) {
        let head = views.items.visible_head(item, predicate, at).map(|(_, head)| head);
        facts.ends.push(head.map(|version| version.id).ok_or(part));
        inherit(views, head, &mut facts);
    }
    for parent in sharing::cited(views, request).filter(|version| predicate.admits(version)) {
        inherit(views, Some(parent), &mut facts);
    }
    // What is written in a declared round is the work of all who take part in it (CAL-41).
    facts.inherited.0.extend(tenant.taking_part(call, request.trace_id.as_deref()));
    let seen = tenant.seen(call, request.trace_id.as_deref());
    facts.called = seen.called.iter().copied().collect();
    facts.only_called = seen.whole;
    if seen.whole || !facts.trust_declared {
        facts.inherited.0.extend(&seen.agents);
        let classes = views.items.classes();
        for class in seen.classes.iter().filter_map(|class| classes.get(class as usize)) {
            facts.inherited.0.extend(&class.agents);
            facts.inherited.1.extend(&class.resources);
        }
    }
    facts
}

/// The class that a write would be of in a tier, as things are now.
pub(crate) fn class_of(tenant: &Tenant, call: &Call, asked: &Asked, tier: Tier) -> Class {
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, &views);
    gather(tenant, call, &views, &asked.request, &predicate).class(call.caller.agent(), &asked.request, tier)
}

/// A derivation carries the agents and resources of what it derives from: rewriting launders nothing.
pub(super) fn inherit(views: &Views, parent: Option<&Version>, facts: &mut GateFacts) {
    if let Some(class) = parent.and_then(|parent| views.items.class_of(parent)) {
        facts.inherited.0.extend(&class.agents);
        facts.inherited.1.extend(&class.resources);
    }
}
