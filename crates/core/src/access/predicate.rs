//! What a caller may see, as a test that search runs *inside* its candidates.
//!
//! Invariant (visibility is one test): V(u, a, t) of SHARE-11 is `Predicate::admits` and nothing else. It is compiled once for
//! a caller and an epoch: what a version was made with (its class) is looked up among the admitted ones, so a row costs one
//! bit and one comparison. Graphs, roles and Cedar each take classes away; none of them gives one back.

use super::{AgentRole, Asking, Caller, Clearance, Deed, Rules, may_read};
use crate::id::{AgentId, ResourceId, UserId};
use crate::item::Tier;
use crate::log::{AgentStatus, Holder};
use crate::view::{Class, Moment, Version, Views};
use roaring::RoaringBitmap;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What a caller may see. Made by `visible_to` alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    owner: UserId,
    /// The classes of which items may be seen.
    classes: RoaringBitmap,
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
    let reach = Reach::of(user, agent, views, at);
    let mut admitted = RoaringBitmap::new();
    for acting in &reach.acting {
        let classes = views.items.classes().iter().zip(0u32..).map(|(class, row)| (row, class));
        let reached = classes.filter(|(row, class)| !admitted.contains(*row) && reach.admits(acting, class));
        let reached: Vec<(u32, &Class)> = reached.collect();
        let forbidden = forbidden(&reached, (user, acting.agent), views, at);
        admitted.extend(reached.into_iter().map(|(row, _)| row).filter(|row| !forbidden.contains(*row)));
    }
    Predicate { owner: user, classes: admitted }
}

/// The rules that stand at a moment.
fn rules(views: &Views, at: Moment) -> Cow<'_, Rules> {
    match views.cedar.rules_before(at.lsn, &views.identity) {
        Some(rules) => Cow::Owned(rules),
        None => Cow::Borrowed(views.cedar.rules()),
    }
}

/// Which of these classes Cedar takes away.
fn forbidden(
    classes: &[(u32, &Class)],
    (user, agent): (UserId, AgentId),
    views: &Views,
    at: Moment,
) -> RoaringBitmap {
    let rules = rules(views, at);
    if classes.is_empty() || !rules.concern(Deed::Read) {
        return RoaringBitmap::new();
    }
    let asking = Asking::of(user, Some(agent), views, at);
    rules.forbidden(&asking, Deed::Read, classes.iter().copied()).into_iter().map(|(row, _)| row).collect()
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
    if reach.acting.iter().any(|acting| !reach.cleared(acting, class)) {
        found.push(Barrier::Clearance);
    }
    let rules = rules(views, at);
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
struct Reach {
    /// Whether nobody acts but the person.
    person: bool,
    agents: BTreeSet<AgentId>,
    acting: Vec<Acting>,
}

/// An agent that acts: what it can use, and what it is trusted with.
struct Acting {
    agent: AgentId,
    resources: BTreeSet<ResourceId>,
    roles: Vec<AgentRole>,
    clearance: Clearance,
}

impl Reach {
    fn of(user: UserId, acting: Option<AgentId>, views: &Views, at: Moment) -> Self {
        let mut agents = views.graphs.agents_of(user, at);
        agents.extend(views.identity.direct_agent());
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
        });
        Self { person, acting: acting.collect(), agents }
    }

    fn admits(&self, acting: &Acting, class: &Class) -> bool {
        class.agents.iter().all(|agent| self.agents.contains(agent))
            && class.resources.iter().all(|one| acting.resources.contains(one))
            && may_read(&acting.roles, class.layer, class.tier)
            && self.cleared(acting, class)
    }

    /// Whether it is not too secret (GOV-8.7). What is a person's own is never kept from them.
    fn cleared(&self, acting: &Acting, class: &Class) -> bool {
        (self.person && class.tier == Tier::Private) || acting.clearance.covers(&class.secrecy)
    }
}

impl Predicate {
    /// Whether a version is visible.
    #[must_use]
    pub fn admits(&self, version: &Version) -> bool {
        let reaches = match version.tier {
            Tier::Private => version.owner == self.owner,
            Tier::Shared => true,
        };
        reaches && self.classes.contains(version.class())
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
