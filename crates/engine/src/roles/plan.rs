//! Which entries a change of roles comes to.

use super::{RoleDraft, RoleTemplate};
use crate::identity::agent_named;
use std::collections::{BTreeMap, BTreeSet};
use tabellion_core::access::Power;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::RoleId;
use tabellion_core::item::Classification;
use tabellion_core::log::{AgentStatus, Edge, Event, GrantedEdge, HeldRole, Holder, Payload, Support};
use tabellion_core::text::{LEGIBLE, is_legible};
use tabellion_core::view::{ROLE_INCLUDES_MAX, Views};

/// Names in one list of a role.
const NAMES_MAX: usize = 1_000;
/// Characters of a domain, as in a write.
const DOMAIN_CHARS_MAX: usize = 64;

/// An entry to be, with what is sealed beside it if that is not the reason.
pub(super) struct Step {
    pub(super) event: Event,
    pub(super) payload: Option<Payload>,
}

impl Step {
    pub(super) fn bare(event: Event) -> Self {
        Self { event, payload: None }
    }
}

/// The template that a draft means.
pub(super) fn template(
    views: &Views,
    (name, role): (&str, RoleId),
    draft: &RoleDraft,
) -> Result<RoleTemplate, Refusal> {
    let mut faults = Vec::new();
    let include = |one: &str| {
        let itself = (one == name).then_some(role);
        itself.or_else(|| views.roles.find(one, views.lsn()))
    };
    let resource = |one: &str| views.identity.find_resource(one).map(|found| found.id);
    let template = RoleTemplate {
        agents: found("/agents", &draft.agents, "an agent", |one| agent_named(views, one), &mut faults),
        resources: found("/resources", &draft.resources, "a resource", resource, &mut faults),
        includes: found("/includes", &draft.includes, "a role", include, &mut faults),
        powers: found("/actions", &draft.actions, &Power::words(), Power::from_word, &mut faults),
        clearance: level(draft.clearance.as_deref(), &mut faults),
        domains: domains(&draft.domains, &mut faults),
    };
    if !faults.is_empty() {
        return Err(Refusal::new(Code::SchemaInvalid, "a value of the role breaks a rule").with(faults));
    }
    acyclic(views, (name, role), &template)?;
    Ok(template)
}

fn level(word: Option<&str>, faults: &mut Vec<Fault>) -> Option<Classification> {
    let word = word?;
    let level = Classification::from_word(word);
    if level.is_none() {
        let expected = format!("one of {}", Classification::words());
        faults.push(Fault::new("/clearance", Code::ConstraintViolation, expected).found(word));
    }
    level
}

fn domains(words: &[String], faults: &mut Vec<Fault>) -> BTreeSet<String> {
    let is_word = |word: &String| is_legible(word) && word.chars().count() <= DOMAIN_CHARS_MAX;
    if words.len() > NAMES_MAX || !words.iter().all(is_word) {
        let expected = format!("at most {NAMES_MAX} words of 1 to {DOMAIN_CHARS_MAX} characters {LEGIBLE}");
        faults.push(Fault::new("/domains", Code::ConstraintViolation, expected));
        return BTreeSet::new();
    }
    words.iter().cloned().collect()
}

fn found<T: Ord>(
    path: &str,
    names: &[String],
    what: &str,
    find: impl Fn(&str) -> Option<T>,
    faults: &mut Vec<Fault>,
) -> BTreeSet<T> {
    if names.len() > NAMES_MAX {
        faults.push(Fault::new(path, Code::ConstraintViolation, format!("at most {NAMES_MAX} names")));
        return BTreeSet::new();
    }
    let mut all = BTreeSet::new();
    for (place, name) in names.iter().enumerate() {
        match find(name) {
            Some(one) => drop(all.insert(one)),
            None => {
                let expected = format!("the name or id of {what} of this tenant");
                let expected = if path == "/actions" { format!("one of {what}") } else { expected };
                faults.push(
                    Fault::new(format!("{path}/{place}"), Code::ConstraintViolation, expected).found(name),
                );
            }
        }
    }
    all
}

/// No role may come with itself, over however many steps, nor with more than can be followed.
fn acyclic(views: &Views, (name, role): (&str, RoleId), template: &RoleTemplate) -> Result<(), Refusal> {
    let wrong = |expected: String, message: String| {
        let fault = Fault::new("/includes", Code::ConstraintViolation, expected);
        Err(Refusal::new(Code::SchemaInvalid, message).with(vec![fault]))
    };
    for include in &template.includes {
        let brings = views.roles.closure(*include, views.lsn(), None).unwrap_or_default();
        if brings.contains(&role) {
            let through =
                if *include == role { name } else { views.roles.name_of(*include).unwrap_or_default() };
            let message = format!("the role {name} would include itself through {through}");
            return wrong("roles that do not include this one".to_owned(), message);
        }
    }
    if views.roles.closure(role, views.lsn(), Some((role, template))).is_none() {
        let message = format!("the role {name} would bring more than {ROLE_INCLUDES_MAX} others");
        return wrong(format!("at most {ROLE_INCLUDES_MAX} roles in all"), message);
    }
    Ok(())
}

/// The edges that stand by a role, by who holds it.
type Standing = BTreeMap<(RoleId, Holder), BTreeMap<Edge, GrantedEdge>>;

fn standing(views: &Views) -> Standing {
    let mut standing = Standing::new();
    for grant in views.graphs.grants().iter().filter(|grant| grant.to.is_none()) {
        if let Support::Role(role) = grant.granted.support {
            let by = (role, holder_of(grant.granted.edge));
            standing.entry(by).or_default().insert(grant.granted.edge, grant.granted);
        }
    }
    standing
}

const fn holder_of(edge: Edge) -> Holder {
    match edge {
        Edge::Invoke(user, _) => Holder::User(user),
        Edge::Use(agent, _) => Holder::Agent(agent),
    }
}

/// What must come and go for somebody to have exactly the edges of a role.
fn difference(views: &Views, standing: &Standing, held: HeldRole, wanted: &BTreeSet<Edge>) -> Vec<Event> {
    let none = BTreeMap::new();
    let has = standing.get(&(held.role, held.holder)).unwrap_or(&none);
    let support = Support::Role(held.role);
    let gone = has.keys().filter(|edge| !wanted.contains(edge));
    let mut events: Vec<Event> =
        gone.map(|edge| Event::EdgeRevoked { edge: *edge, support: Some(support) }).collect();
    let (not_before, expires_at) = (held.not_before, held.expires_at);
    let granted = wanted.iter().map(|edge| GrantedEdge { edge: *edge, support, not_before, expires_at });
    let new = granted.filter(|one| has.get(&one.edge) != Some(one) && lives(views, one.edge));
    events.extend(new.map(Event::EdgeGranted));
    events
}

/// Whoever is deleted gets no edge back.
fn lives(views: &Views, edge: Edge) -> bool {
    let (Edge::Invoke(_, agent) | Edge::Use(agent, _)) = edge;
    views.graphs.status_at(agent, views.lsn()) != AgentStatus::Deleted
}

/// The edges that come and go when a role bundles something else.
pub(super) fn changed_role(views: &Views, role: RoleId, template: &RoleTemplate) -> Vec<Event> {
    let (lsn, changed) = (views.lsn(), Some((role, template)));
    let standing = standing(views);
    let mut events = Vec::new();
    for holding in views.roles.holdings_at(lsn) {
        let held = holding.held;
        let brings =
            |changed| views.roles.closure(held.role, lsn, changed).unwrap_or_default().contains(&role);
        if brings(None) || brings(changed) {
            let wanted = views.roles.edges(held.role, held.holder, lsn, changed);
            events.extend(difference(views, &standing, held, &wanted));
        }
    }
    events
}

/// Somebody comes to hold a role, or holds it within other times.
pub(super) fn given(views: &Views, held: HeldRole) -> Vec<Event> {
    let wanted = views.roles.edges(held.role, held.holder, views.lsn(), None);
    let mut events = vec![Event::RoleAssigned(held)];
    events.extend(difference(views, &standing(views), held, &wanted));
    events
}

/// Somebody holds a role no longer.
pub(super) fn taken(views: &Views, role: RoleId, holder: Holder) -> Vec<Event> {
    let held = HeldRole { role, holder, not_before: None, expires_at: None };
    let mut events = vec![Event::RoleUnassigned { role, holder }];
    events.extend(difference(views, &standing(views), held, &BTreeSet::new()));
    events
}
