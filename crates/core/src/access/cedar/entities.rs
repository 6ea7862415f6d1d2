//! Callers and classes as Cedar knows them.
//!
//! Users, agents and resources are known by id, roles by name. A policy may write names for ids: they are unique and are never
//! given again.

use crate::access::BuiltIn;
use crate::id::{AgentId, ResourceId, UserId};
use crate::item::Tier;
use crate::log::Holder;
use crate::view::{Class, IdentityView, Moment, Views};
use cedar_policy::{Context, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::LazyLock;

/// The types of the schema.
struct Kinds {
    role: EntityTypeName,
    tenant: EntityTypeName,
    resource: EntityTypeName,
    user: EntityTypeName,
    agent: EntityTypeName,
    fragment: EntityTypeName,
    action: EntityTypeName,
}

static KINDS: LazyLock<Option<Kinds>> = LazyLock::new(|| {
    let kind = |name: &str| name.parse().ok();
    Some(Kinds {
        role: kind("Role")?,
        tenant: kind("Tenant")?,
        resource: kind("Resource")?,
        user: kind("User")?,
        agent: kind("Agent")?,
        fragment: kind("Fragment")?,
        action: kind("Action")?,
    })
});

fn uid(kind: fn(&Kinds) -> &EntityTypeName, id: impl AsRef<str>) -> Option<EntityUid> {
    let kinds = KINDS.as_ref()?;
    Some(EntityUid::from_type_name_and_id(kind(kinds).clone(), EntityId::new(id)))
}

pub(super) fn action(word: &str) -> Option<EntityUid> {
    uid(|kinds| &kinds.action, word)
}

pub(super) fn tenant() -> Option<EntityUid> {
    uid(|kinds| &kinds.tenant, "tenant")
}

/// Who asks: a user and the agent that acts for it, with the roles of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    user: UserId,
    user_name: String,
    user_roles: BTreeSet<String>,
    agent: Option<AgentId>,
    agent_name: String,
    specialisation: String,
    agent_roles: BTreeSet<String>,
}

impl Asking {
    /// A user and, for what concerns memory, the agent that acts for it at a moment.
    #[must_use]
    pub fn of(user: UserId, agent: Option<AgentId>, views: &Views, at: Moment) -> Self {
        let known = views.identity.user(user);
        let mut held = views.roles.held_by(Holder::User(user), at);
        let made_with = known.map_or(&[] as &[BuiltIn], |user| user.role.bundle());
        held.extend(made_with.iter().map(|role| role.id()));
        let acting = agent.and_then(|agent| views.identity.agent(agent));
        let agent_held = agent.map(|agent| views.roles.held_by(Holder::Agent(agent), at)).unwrap_or_default();
        Self {
            user,
            user_name: known.map(|user| user.name.clone()).unwrap_or_default(),
            user_roles: views.roles.names(&held, at.lsn),
            agent,
            agent_name: acting.map(|agent| agent.words.name.clone()).unwrap_or_default(),
            specialisation: acting.and_then(|agent| agent.words.kind.clone()).unwrap_or_default(),
            agent_roles: views.roles.names(&agent_held, at.lsn),
        }
    }

    /// Whether the user has any role but that of everyone.
    #[must_use]
    pub fn has_roles(&self) -> bool {
        self.user_roles.iter().any(|role| role != BuiltIn::Member.as_str())
    }

    pub(super) fn user(&self) -> Option<Entity> {
        let attributes = HashMap::from([text("name", &self.user_name)]);
        let uid = uid(|kinds| &kinds.user, self.user.to_string())?;
        Entity::new(uid, attributes, parents(&self.user_roles)?).ok()
    }

    pub(super) fn agent(&self) -> Option<Entity> {
        let attributes =
            HashMap::from([text("name", &self.agent_name), text("specialisation", &self.specialisation)]);
        let uid = uid(|kinds| &kinds.agent, self.agent?.to_string())?;
        Entity::new(uid, attributes, parents(&self.agent_roles)?).ok()
    }
}

fn parents(roles: &BTreeSet<String>) -> Option<HashSet<EntityUid>> {
    roles.iter().map(|role| uid(|kinds| &kinds.role, role)).collect()
}

fn text(name: &str, value: &str) -> (String, RestrictedExpression) {
    (name.to_owned(), RestrictedExpression::new_string(value.to_owned()))
}

pub(super) fn context(agent: &Entity) -> Option<Context> {
    Context::from_pairs([("agent".to_owned(), RestrictedExpression::new_entity_uid(agent.uid()))]).ok()
}

/// What policies may read of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Read {
    agents: bool,
    resources: bool,
    labels: bool,
    kind: bool,
    tier: bool,
}

impl Read {
    /// What this policy may read besides: an attribute is read by its name. Where anything is escaped, all of it.
    pub(super) fn add(&mut self, policy: &str) {
        let names = |name: &str| policy.contains(name) || policy.contains('\\');
        self.agents |= names("agents");
        self.resources |= names("resources");
        self.labels |= names("labels");
        self.kind |= names("kind");
        self.tier |= names("tier");
    }

    /// As much of a class as is read: no policy tells two of the same traits apart.
    pub(super) fn of<'a>(self, class: &'a Class) -> Traits<'a> {
        Traits {
            agents: self.agents.then_some(&class.agents),
            resources: self.resources.then_some(&class.resources),
            labels: self.labels.then_some(&class.labels),
            kind: self.kind.then_some(&class.kind),
            tier: self.tier.then_some(class.tier),
        }
    }
}

/// What of a class is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Traits<'a> {
    agents: Option<&'a [AgentId]>,
    resources: Option<&'a [ResourceId]>,
    labels: Option<&'a [String]>,
    kind: Option<&'a str>,
    tier: Option<Tier>,
}

/// Makes entities of classes. Agents and resources recur: what each is called is worked out once.
#[derive(Default)]
pub(super) struct Fragments {
    agents: HashMap<AgentId, EntityUid>,
    resources: HashMap<ResourceId, EntityUid>,
    made: u64,
}

impl Fragments {
    /// An entity of these traits, with a number for its id.
    pub(super) fn make(&mut self, traits: &Traits<'_>) -> Option<Entity> {
        let mut attributes = HashMap::new();
        if let Some(agents) = traits.agents {
            let named = agents.iter().map(|id| known(&mut self.agents, *id, |kinds| &kinds.agent));
            attributes.insert("agents".to_owned(), set(named)?);
        }
        if let Some(resources) = traits.resources {
            let named = resources.iter().map(|id| known(&mut self.resources, *id, |kinds| &kinds.resource));
            attributes.insert("resources".to_owned(), set(named)?);
        }
        if let Some(labels) = traits.labels {
            let labels = labels.iter().map(|label| RestrictedExpression::new_string(label.clone()));
            attributes.insert("labels".to_owned(), RestrictedExpression::new_set(labels));
        }
        attributes.extend(traits.kind.map(|kind| text("kind", kind)));
        attributes.extend(traits.tier.map(|tier| text("tier", tier.as_str())));
        self.made += 1;
        Entity::new(uid(|kinds| &kinds.fragment, self.made.to_string())?, attributes, HashSet::new()).ok()
    }
}

fn known<Id: Copy + Eq + Hash + ToString>(
    known: &mut HashMap<Id, EntityUid>,
    id: Id,
    kind: fn(&Kinds) -> &EntityTypeName,
) -> Option<EntityUid> {
    if let Some(uid) = known.get(&id) {
        return Some(uid.clone());
    }
    let made = uid(kind, id.to_string())?;
    known.insert(id, made.clone());
    Some(made)
}

fn set(uids: impl Iterator<Item = Option<EntityUid>>) -> Option<RestrictedExpression> {
    let uids: Option<Vec<EntityUid>> = uids.collect();
    Some(RestrictedExpression::new_set(uids?.into_iter().map(RestrictedExpression::new_entity_uid)))
}

/// What an entity that a policy names is called inside: users, agents and resources by id. None if it is that already.
pub(super) fn literal(named: &EntityUid, identity: &IdentityView) -> Option<EntityUid> {
    let name = named.id().unescaped();
    match named.type_name().to_string().as_str() {
        "User" => uid(|kinds| &kinds.user, identity.find_user(name)?.id.to_string()),
        "Agent" => uid(|kinds| &kinds.agent, identity.find_agent(name)?.id.to_string()),
        "Resource" => uid(|kinds| &kinds.resource, identity.find_resource(name)?.id.to_string()),
        _ => None,
    }
}
