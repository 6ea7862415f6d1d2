//! What a caller may see, as a test that search runs *inside* its candidates.
//!
//! Invariant (visibility is one test): V(u, a, t) of SHARE-11 is `Predicate::admits` and nothing else. It is compiled once for
//! a caller and an epoch: what a version was made with (its class) is looked up among the admitted ones, so a row costs one
//! bit and one comparison. Graphs, roles and Cedar each take classes away; none of them gives one back.

use super::{AgentRole, Asking, Caller, Clearance, Deed, Sight, may_read};
use crate::id::{AgentId, ResourceId, UserId};
use crate::item::{Layer, Secrecy, Tier};
use crate::log::{AgentStatus, Holder};
use crate::view::{Class, Moment, Version, Views};
use roaring::RoaringBitmap;
use std::collections::BTreeSet;

/// What a caller may see. Made of a [`Sight`] alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    owner: UserId,
    /// The classes of which items may be seen.
    classes: RoaringBitmap,
    /// The same, a bit each: every candidate of a search is asked.
    bits: Vec<u64>,
}

/// The predicate of a caller: what its user's graph and its agent's resources admit now. Roles do not widen it.
///
/// A person without an agent sees what any of their working agents would let them see (SHARE-12). A class that comes later
/// is not admitted.
#[must_use]
pub fn visible_to(caller: &Caller, views: &Views, at: Moment) -> Predicate {
    visible_to_pair(caller.user(), (!caller.is_person()).then(|| caller.agent()), views, at)
}

/// The predicate of any pair at any moment, for auditors, who learn ids by it and nothing else (SHARE-13). No agent stands for
/// the person.
#[must_use]
pub fn visible_to_pair(user: UserId, agent: Option<AgentId>, views: &Views, at: Moment) -> Predicate {
    Sight::of(user, agent, views, at).predicate().clone()
}

/// Whether a caller would see an item of this class, as things are now.
#[must_use]
pub fn would_see(caller: &Caller, class: &Class, views: &Views, at: Moment) -> bool {
    let reach = match caller.moderates() {
        true => Reach::of_moderator(caller.user(), views, at),
        false => Reach::of(caller.user(), caller.sees_through(), views, at),
    };
    if !class.agents.iter().all(|agent| reach.agents.contains(agent)) {
        return false;
    }
    let rules = views.cedar.rules_at(at.lsn, &views.identity);
    let permits = |acting: &Acting| {
        let asking = Asking::of(caller.user(), Some(acting.agent), views, at);
        !rules.concern(Deed::Read) || rules.forbidden(&asking, Deed::Read, [((), class)]).is_empty()
    };
    reach.acting.iter().any(|acting| {
        class.resources.iter().all(|resource| acting.resources.contains(resource))
            && acting.may_read(class.layer, class.tier, &class.secrecy)
            && permits(acting)
    })
}

/// What hides a class from somebody besides the graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barrier {
    /// No role of the agent reads this layer.
    Role,
    /// It is too secret for them, or of a domain that is not theirs.
    Clearance,
    /// A Cedar policy, by its id.
    Policy(String),
}

/// What hides a class from a user and an agent besides the graphs, for explanations (SHARE-32).
#[must_use]
pub fn barriers(
    user: UserId,
    agent: Option<AgentId>,
    class: &Class,
    views: &Views,
    at: Moment,
) -> Vec<Barrier> {
    let reach = Reach::of(user, agent, views, at);
    let mut found = Vec::new();
    if reach.acting.iter().any(|acting| !may_read(&acting.roles, class.layer, class.tier)) {
        found.push(Barrier::Role);
    }
    if reach.acting.iter().any(|acting| !acting.is_cleared(&class.secrecy, class.tier)) {
        found.push(Barrier::Clearance);
    }
    let rules = views.cedar.rules_at(at.lsn, &views.identity);
    if !rules.concern(Deed::Read) {
        return found;
    }
    let mut ids = BTreeSet::new();
    for acting in &reach.acting {
        let asking = Asking::of(user, Some(acting.agent), views, at);
        ids.extend(rules.forbidden(&asking, Deed::Read, [((), class)]).into_iter().flat_map(|(_, ids)| ids));
    }
    found.extend(ids.into_iter().map(Barrier::Policy));
    found
}

/// The agents of a user, and those of them that it acts through.
pub(super) struct Reach {
    pub(super) agents: BTreeSet<AgentId>,
    pub(super) acting: Vec<Acting>,
}

/// An agent that acts: what it can use, what it is trusted with and cleared for.
pub(super) struct Acting {
    pub(super) agent: AgentId,
    pub(super) resources: BTreeSet<ResourceId>,
    pub(super) roles: Vec<AgentRole>,
    clearance: Clearance,
    /// Whether nobody acts but the person.
    person: bool,
    /// Whether what is private is closed, one's own as well: the person moderates.
    moderates: bool,
}

impl Reach {
    pub(super) fn of(user: UserId, acting: Option<AgentId>, views: &Views, at: Moment) -> Self {
        let mut agents = views.graphs.agents_of(user, at);
        agents.extend(views.identity.direct_agent());
        if !views.graphs.is_active(user, at.lsn) {
            return Self { agents: BTreeSet::new(), acting: Vec::new() };
        }
        let works = |agent: &&AgentId| views.graphs.status_at(**agent, at.lsn) == AgentStatus::Active;
        let acts = |agent: &&AgentId| acting.is_none_or(|one| **agent == one);
        let person = acting.is_none() || acting == views.identity.direct_agent();
        let trusted = |agent: AgentId| match person {
            true => vec![AgentRole::Member],
            false => views.roles.agent_roles(agent, at),
        };
        let acting = agents.iter().filter(works).filter(acts).map(|agent| Acting {
            agent: *agent,
            resources: views.graphs.resources_of(*agent, at),
            roles: trusted(*agent),
            clearance: views
                .roles
                .clearance(if person { Holder::User(user) } else { Holder::Agent(*agent) }, at),
            person,
            moderates: false,
        });
        Self { acting: acting.collect(), agents }
    }

    /// All agents and all resources, through the built-in agent of people.
    pub(super) fn of_moderator(user: UserId, views: &Views, at: Moment) -> Self {
        let agents = views.identity.agents().iter().map(|agent| agent.id).collect();
        let acting = views.identity.direct_agent().map(|agent| Acting {
            agent,
            resources: views.identity.resources().iter().map(|resource| resource.id).collect(),
            roles: vec![AgentRole::Member],
            clearance: views.roles.clearance(Holder::User(user), at),
            person: true,
            moderates: true,
        });
        Self { acting: acting.into_iter().collect(), agents }
    }
}

impl Acting {
    /// Whether what lies in this layer and tier and is this secret may be read, where the graphs admit it.
    pub(super) fn may_read(&self, layer: Layer, tier: Tier, secrecy: &Secrecy) -> bool {
        let is_closed = self.moderates && tier == Tier::Private;
        !is_closed && may_read(&self.roles, layer, tier) && self.is_cleared(secrecy, tier)
    }

    /// Whether it is not too secret (GOV-8.7). What is a person's own is never kept from them.
    fn is_cleared(&self, secrecy: &Secrecy, tier: Tier) -> bool {
        (self.person && tier == Tier::Private) || self.clearance.covers(secrecy)
    }
}

impl Predicate {
    pub(super) fn of(owner: UserId, classes: RoaringBitmap) -> Self {
        let mut bits = vec![0; classes.max().map_or(0, |last| last as usize / 64 + 1)];
        for class in &classes {
            if let Some(word) = bits.get_mut(class as usize / 64) {
                *word |= 1_u64 << (class % 64);
            }
        }
        Self { owner, classes, bits }
    }

    fn holds(&self, class: u32) -> bool {
        self.bits.get(class as usize / 64).is_some_and(|word| word >> (class % 64) & 1 == 1)
    }

    /// Whether a version is visible.
    #[must_use]
    pub fn admits(&self, version: &Version) -> bool {
        let reaches = match version.tier {
            Tier::Private => version.owner == self.owner,
            Tier::Shared => true,
        };
        reaches && self.holds(version.class())
    }

    /// The one user whose private items may be seen.
    #[must_use]
    pub const fn owner(&self) -> UserId {
        self.owner
    }

    /// The classes of which items may be seen.
    #[must_use]
    pub const fn classes(&self) -> &RoaringBitmap {
        &self.classes
    }
}
