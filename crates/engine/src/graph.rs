//! Who may invoke and use what: granting and revoking edges, and what follows from them at any moment (SHARE-4, 13, 32).

use crate::change::checked;
use crate::identity::agent_named;
use crate::read::{item_id, moment};
use crate::reply::{EdgeReply, EdgeTerms, ExplainReply, Hindrance, WhoReply};
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, write};
use std::collections::BTreeSet;
use tabellion_core::access::{Power, Predicate, barriers, visible_to_pair};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, ResourceId, UserId};
use tabellion_core::item::Tier;
use tabellion_core::log::{AgentStatus, Edge, Event, GrantedEdge, Payload, ResourceStatus, Support};
use tabellion_core::time::{COMING_WORDS, Timestamp};
use tabellion_core::view::{Class, Moment, Version, Views};

/// Ids that one answer lists at most.
const IDS_MAX: usize = 10_000;

/// Grants an edge, or changes its times.
pub(crate) async fn grant(
    tenant: &Tenant,
    call: &Call,
    (graph, source, target): (&str, &str, &str),
    terms: EdgeTerms,
) -> Result<String, Refusal> {
    let plan = || {
        let edge = edge(tenant, call, graph, source, target)?;
        checked(terms.reason.as_deref())?;
        let (not_before, expires_at) = times(tenant.now(), &terms)?;
        Ok(GrantedEdge { edge, support: Support::Direct, not_before, expires_at })
    };
    let granted = match plan() {
        Ok(granted) => granted,
        Err(refusal) => return Err(tenant.refused(call, "grant", Vec::new(), refusal).await),
    };
    propose(tenant, call, Event::EdgeGranted(granted), terms.reason, granted.edge, "grant").await
}

/// Revokes an edge. It counts from the next read on.
pub(crate) async fn revoke(
    tenant: &Tenant,
    call: &Call,
    (graph, source, target): (&str, &str, &str),
    reason: Option<String>,
) -> Result<String, Refusal> {
    let plan = || {
        let edge = edge(tenant, call, graph, source, target)?;
        checked(reason.as_deref())?;
        let views = tenant.shared.views.read();
        granted_by_itself(&views, edge).map(|()| edge)
    };
    let edge = match plan() {
        Ok(edge) => edge,
        Err(refusal) => return Err(tenant.refused(call, "revoke", Vec::new(), refusal).await),
    };
    propose(tenant, call, Event::EdgeRevoked { edge, support: Some(Support::Direct) }, reason, edge, "revoke")
        .await
}

/// An edge that comes with a role goes with it; what was granted by itself is revoked by itself (SHARE-4).
fn granted_by_itself(views: &Views, edge: Edge) -> Result<(), Refusal> {
    let supports: Vec<Support> = views
        .graphs
        .grants_of(edge)
        .filter(|grant| grant.to.is_none())
        .map(|grant| grant.granted.support)
        .collect();
    match supports.first() {
        None => Err(Refusal::new(Code::NotFound, "there is no such edge")),
        Some(_) if supports.contains(&Support::Direct) => Ok(()),
        Some(support) => {
            let role = match support {
                Support::Role(role) => views.roles.name_of(*role).unwrap_or_default(),
                Support::Direct => "",
            };
            let message = format!("this edge comes with the role {role}; take that away or change it");
            Err(Refusal::new(Code::NotTheHead, message))
        }
    }
}

/// Puts an agent to rest, or back to work.
pub(crate) async fn set_status(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    status: AgentStatus,
    reason: Option<String>,
) -> Result<String, Refusal> {
    let plan = || {
        call.caller.must(Power::Graphs)?;
        checked(reason.as_deref())?;
        let views = tenant.shared.views.read();
        let agent = agent_named(&views, agent).ok_or_else(no_agent)?;
        if views.identity.direct_agent() == Some(agent) {
            return Err(Refusal::new(
                Code::Forbidden,
                "people write through this agent; it cannot be put to rest",
            ));
        }
        Ok(agent)
    };
    let action = "set_agent_status";
    let agent = match plan() {
        Ok(agent) => agent,
        Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
    };
    let why = Payload::Reason(reason.clone().unwrap_or_default());
    let draft = tenant.draft(call.caller.actor(), Event::AgentStatusSet { agent, status }, Some(&why))?;
    let touches = vec![Touch::Name("agent", agent.to_string())];
    let check = move |views: &Views, _: Timestamp| still_there(views, agent);
    let ids = vec![agent.to_string()];
    let trail = tenant.row_because(call, action, status.as_str(), ids, reason.as_deref());
    commit(tenant, call, Proposal { drafts: vec![draft], touches, check: Box::new(check), trail }).await
}

/// Puts a resource to rest, back to work, or ends it for good.
pub(crate) async fn set_resource_status(
    tenant: &Tenant,
    call: &Call,
    resource: &str,
    status: ResourceStatus,
    reason: Option<String>,
) -> Result<String, Refusal> {
    let plan = || {
        call.caller.must(Power::Graphs)?;
        checked(reason.as_deref())?;
        let views = tenant.shared.views.read();
        resource_named(&views, resource)
    };
    let action = "set_resource_status";
    let resource = match plan() {
        Ok(resource) => resource,
        Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
    };
    let why = Payload::Reason(reason.clone().unwrap_or_default());
    let event = Event::ResourceStatusSet { resource, status };
    let draft = tenant.draft(call.caller.actor(), event, Some(&why))?;
    let touches = vec![Touch::Name("resource", resource.to_string())];
    let check = move |views: &Views, _: Timestamp| resource_still_there(views, resource);
    let ids = vec![resource.to_string()];
    let trail = tenant.row_because(call, action, status.as_str(), ids, reason.as_deref());
    commit(tenant, call, Proposal { drafts: vec![draft], touches, check: Box::new(check), trail }).await
}

/// The resource of this name or id, unless it was deleted.
fn resource_named(views: &Views, name: &str) -> Result<ResourceId, Refusal> {
    let found = views.identity.find_resource(name).map(|resource| resource.id);
    let is_there = |one: &ResourceId| views.graphs.resource_at(*one, views.lsn()) != ResourceStatus::Deleted;
    found.filter(is_there).ok_or_else(no_resource)
}

fn resource_still_there(views: &Views, resource: ResourceId) -> Result<(), Objection> {
    match views.graphs.resource_at(resource, views.lsn()) {
        ResourceStatus::Active | ResourceStatus::Retired => Ok(()),
        ResourceStatus::Deleted => Err(no_resource().into()),
    }
}

fn no_resource() -> Refusal {
    Refusal::new(Code::NotFound, "no such resource")
}

/// Whoever is deleted stays so: nothing that was asked for before comes after it.
fn still_there(views: &Views, agent: AgentId) -> Result<(), Objection> {
    match views.graphs.status_at(agent, views.lsn()) {
        AgentStatus::Active | AgentStatus::Retired => Ok(()),
        AgentStatus::Deleted => Err(no_agent().into()),
    }
}

fn no_agent() -> Refusal {
    Refusal::new(Code::NotFound, "no such agent")
}

async fn propose(
    tenant: &Tenant,
    call: &Call,
    event: Event,
    reason: Option<String>,
    edge: Edge,
    action: &str,
) -> Result<String, Refusal> {
    let why = Payload::Reason(reason.clone().unwrap_or_default());
    let draft = tenant.draft(call.caller.actor(), event, Some(&why))?;
    let (source, target) = edge.ends();
    let (Edge::Invoke(_, agent) | Edge::Use(agent, _)) = edge;
    let mut touches =
        vec![Touch::Name("edge", format!("{source} {target}")), Touch::Name("agent", agent.to_string())];
    let resource = if let Edge::Use(_, resource) = edge { Some(resource) } else { None };
    touches.extend(resource.map(|resource| Touch::Name("resource", resource.to_string())));
    let check = move |views: &Views, _: Timestamp| {
        still_there(views, agent)?;
        resource.map_or(Ok(()), |resource| resource_still_there(views, resource))
    };
    let trail = tenant.row_because(call, action, "ok", vec![source, target], reason.as_deref());
    commit(tenant, call, Proposal { drafts: vec![draft], touches, check: Box::new(check), trail }).await
}

async fn commit(tenant: &Tenant, call: &Call, proposal: Proposal) -> Result<String, Refusal> {
    match tenant.sequencer.propose(proposal).await {
        Ok(committed) => Ok(tenant.token(&call.caller, committed.lsn)),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(write::keeps_changing()),
    }
}

/// The edge that an admin names: `ua` from a user to an agent, `ar` from an agent to a resource.
fn edge(tenant: &Tenant, call: &Call, graph: &str, source: &str, target: &str) -> Result<Edge, Refusal> {
    call.caller.must(Power::Graphs)?;
    let views = tenant.shared.views.read();
    let missing = |what: &str| Refusal::new(Code::NotFound, format!("no such {what}"));
    let agent = |name: &str| agent_named(&views, name).ok_or_else(|| missing("agent"));
    match graph {
        "ua" => {
            let user = views.identity.find_user(source).map(|user| user.id);
            Ok(Edge::Invoke(user.ok_or_else(|| missing("user"))?, agent(target)?))
        }
        "ar" => Ok(Edge::Use(agent(source)?, resource_named(&views, target)?)),
        _ => Err(Refusal::new(
            Code::NotFound,
            "no such graph; there are `ua` (user, agent) and `ar` (agent, resource)",
        )),
    }
}

/// From when and until when something is granted.
pub(crate) fn times(
    now: Timestamp,
    terms: &EdgeTerms,
) -> Result<(Option<Timestamp>, Option<Timestamp>), Refusal> {
    let not_before = to_come(now, "/not_before", terms.not_before.as_deref())?;
    let expires_at = to_come(now, "/expires_at", terms.expires_at.as_deref())?;
    if expires_at.is_some_and(|end| end <= now.max(not_before.unwrap_or_default())) {
        return Err(invalid("/expires_at", "a time in the future, after not_before"));
    }
    Ok((not_before, expires_at))
}

/// A moment to come, as people name it.
pub(crate) fn to_come(now: Timestamp, path: &str, text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    text.map(|text| now.looking_ahead(text).ok_or_else(|| invalid(path, COMING_WORDS))).transpose()
}

fn invalid(path: &str, expected: &str) -> Refusal {
    let fault = Fault::new(path, Code::ConstraintViolation, expected);
    Refusal::new(Code::SchemaInvalid, "a value breaks a rule").with(vec![fault])
}

/// The moment that `at` names.
fn moment_at(tenant: &Tenant, call: &Call, views: &Views, at: Option<&str>) -> Result<Moment, Refusal> {
    moment(tenant, &call.caller, views, at).map_err(|mut refusal| {
        for fault in &mut refusal.errors {
            "/at".clone_into(&mut fault.path);
        }
        refusal
    })
}

/// The edges that stand at a moment, for auditors.
pub(crate) async fn list(tenant: &Tenant, call: &Call, at: Option<&str>) -> Result<Vec<EdgeReply>, Refusal> {
    let result = call.caller.must_audit().and_then(|()| {
        let views = tenant.shared.views.read();
        let at = moment_at(tenant, call, &views, at)?;
        let held = views.graphs.grants().iter().filter(|grant| grant.holds_at(at));
        let reply = held.map(|grant| EdgeReply {
            edge: grant.granted.edge,
            support: grant.granted.support,
            not_before: grant.granted.not_before,
            expires_at: grant.granted.expires_at,
            since: views.items.time_of(grant.from),
        });
        Ok(reply.take(IDS_MAX).collect())
    });
    tenant.read_done(call, "list_edges", Vec::new(), result).await
}

/// Who could see an item at a moment, for auditors: ids alone (SHARE-13).
pub(crate) async fn who(
    tenant: &Tenant,
    call: &Call,
    item: &str,
    at: Option<&str>,
) -> Result<Vec<WhoReply>, Refusal> {
    let result = who_sees(tenant, call, item, at);
    tenant.read_done(call, "who", crate::read::named(item), result).await
}

fn who_sees(tenant: &Tenant, call: &Call, item: &str, at: Option<&str>) -> Result<Vec<WhoReply>, Refusal> {
    call.caller.must_audit()?;
    let views = tenant.shared.views.read();
    let at = moment_at(tenant, call, &views, at)?;
    let item = views.items.find_item(item_id(item)?).ok_or_else(Refusal::not_found)?;
    let Some(head) = views.items.head_at(item, at) else { return Ok(Vec::new()) };
    let mut seen = Vec::new();
    let users = views.identity.users().iter().filter(|user| views.graphs.is_active(user.id, at.lsn));
    for user in users {
        let agents = views.graphs.agents_of(user.id, at).into_iter().chain(views.identity.direct_agent());
        let admits = |agent: &AgentId| visible_to_pair(user.id, Some(*agent), &views, at).admits(head);
        let agents: BTreeSet<AgentId> = agents.filter(admits).collect();
        if !agents.is_empty() {
            seen.push(WhoReply { user: user.id, agents: agents.into_iter().collect() });
        }
    }
    Ok(seen)
}

/// What a pair could see at a moment, for auditors: ids alone (SHARE-13).
pub(crate) async fn what(
    tenant: &Tenant,
    call: &Call,
    (user, agent): (&str, Option<&str>),
    at: Option<&str>,
) -> Result<Vec<ItemId>, Refusal> {
    let result = call.caller.must_audit().and_then(|()| {
        let views = tenant.shared.views.read();
        let at = moment_at(tenant, call, &views, at)?;
        let (user, agent) = pair(&views, user, agent)?;
        let predicate = visible_to_pair(user, agent, &views, at);
        let seen = |(_, item): (u32, &tabellion_core::view::Item)| {
            views.items.head_at(item, at).filter(|head| predicate.admits(head)).map(|_| item.id)
        };
        Ok(views.items.visible_items(&predicate, 0).filter_map(seen).take(IDS_MAX).collect())
    });
    tenant.read_done(call, "what", Vec::new(), result).await
}

fn pair(views: &Views, user: &str, agent: Option<&str>) -> Result<(UserId, Option<AgentId>), Refusal> {
    let missing = |what: &str| Refusal::new(Code::NotFound, format!("no such {what}"));
    let user = views.identity.find_user(user).map(|user| user.id).ok_or_else(|| missing("user"))?;
    let agent = agent
        .map(|name| views.identity.find_agent(name).map(|agent| agent.id).ok_or_else(|| missing("agent")));
    Ok((user, agent.transpose()?))
}

/// Why the caller sees an item. What is hidden looks like what is missing, but its contributor is told why (SHARE-32).
pub(crate) async fn explain(tenant: &Tenant, call: &Call, item: &str) -> Result<ExplainReply, Refusal> {
    let result = explained(tenant, call, item);
    tenant.read_done(call, "explain", crate::read::named(item), result).await
}

fn explained(tenant: &Tenant, call: &Call, item: &str) -> Result<ExplainReply, Refusal> {
    let views = tenant.shared.views.read();
    let at = tenant.moment(&views);
    let item = views.items.find_item(item_id(item)?).ok_or_else(Refusal::not_found)?;
    let head = views.items.head_at(item, at).ok_or_else(Refusal::not_found)?;
    let predicate = predicate(tenant, &call.caller, &views);
    let own = head.owner == call.caller.user();
    if !predicate.admits(head) && !own {
        return Err(Refusal::not_found());
    }
    let agent = (!call.caller.is_person()).then(|| call.caller.agent());
    let mut told = explanation(&views, item.id, head, (call.caller.user(), agent), &predicate, at);
    if !call.caller.may(Power::Audit) {
        told.without_policy_ids();
    }
    Ok(told)
}

/// The same for any pair at any moment, for auditors.
pub(crate) async fn explain_pair(
    tenant: &Tenant,
    call: &Call,
    item: &str,
    (user, agent): (&str, Option<&str>),
    at: Option<&str>,
) -> Result<ExplainReply, Refusal> {
    let result = call.caller.must_audit().and_then(|()| {
        let views = tenant.shared.views.read();
        let at = moment_at(tenant, call, &views, at)?;
        let (user, agent) = pair(&views, user, agent)?;
        let item = views.items.find_item(item_id(item)?).ok_or_else(Refusal::not_found)?;
        let head = views.items.head_at(item, at).ok_or_else(Refusal::not_found)?;
        let predicate = visible_to_pair(user, agent, &views, at);
        Ok(explanation(&views, item.id, head, (user, agent), &predicate, at))
    });
    tenant.read_done(call, "explain", crate::read::named(item), result).await
}

fn explanation(
    views: &Views,
    item: ItemId,
    head: &Version,
    (user, agent): (UserId, Option<AgentId>),
    predicate: &Predicate,
    at: Moment,
) -> ExplainReply {
    let class = views.items.class_of(head);
    let (agents, resources) =
        class.map(|class| (class.agents.clone(), class.resources.clone())).unwrap_or_default();
    let visible = predicate.admits(head);
    let mut hindrances = Vec::new();
    if let Some(class) = class.filter(|_| !visible) {
        let private = head.tier == Tier::Private && head.owner != user;
        hindrances.extend(private.then_some(Hindrance::Private));
        missing_agents(views, class, (user, agent), at, &mut hindrances);
        missing_resources(views, class, agent, at, &mut hindrances);
        hindrances.extend(barriers(user, agent, class, views, at).into_iter().map(Hindrance::from));
    }
    ExplainReply { item, version: head.id, visible, tier: head.tier, agents, resources, hindrances }
}

/// The contributing agents that the user may not invoke, and the acting one if it may not act.
fn missing_agents(
    views: &Views,
    class: &Class,
    (user, acting): (UserId, Option<AgentId>),
    at: Moment,
    hindrances: &mut Vec<Hindrance>,
) {
    let mut held = views.graphs.agents_of(user, at);
    held.extend(views.identity.direct_agent());
    let works = |agent: &AgentId| {
        held.contains(agent) && views.graphs.status_at(*agent, at.lsn) == AgentStatus::Active
    };
    let acting = acting.filter(|agent| !works(agent));
    let contributed = class.agents.iter().copied().filter(|agent| !held.contains(agent));
    let missing: BTreeSet<AgentId> = contributed.chain(acting).collect();
    hindrances.extend(missing.into_iter().map(Hindrance::Agent));
}

/// The consulted resources that the acting agent may not use. Of a person, no agent may use all of them: that is told if nothing
/// else stands in the way.
fn missing_resources(
    views: &Views,
    class: &Class,
    acting: Option<AgentId>,
    at: Moment,
    hindrances: &mut Vec<Hindrance>,
) {
    let held = match acting {
        Some(agent) => views.graphs.resources_of(agent, at),
        None if hindrances.is_empty() => BTreeSet::new(),
        None => return,
    };
    let missing = class.resources.iter().filter(|resource| !held.contains(resource));
    hindrances.extend(missing.map(|resource| Hindrance::Resource(*resource)));
}
