//! What a caller may see, as a test that search runs *inside* its candidates.
//!
//! Invariant (visibility is one test): V(u, a, t) of SHARE-11 is `Predicate::admits` and nothing else. It is compiled once for
//! a caller and an epoch: what a version was made with (its class) is looked up among the admitted ones, so a row costs one
//! bit and one comparison.

use super::Caller;
use crate::id::{AgentId, ResourceId, UserId};
use crate::item::Tier;
use crate::log::AgentStatus;
use crate::view::{Class, Moment, Version, Views};
use roaring::RoaringBitmap;
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
    let classes = views.items.classes().iter().zip(0u32..);
    let admitted = classes.filter(|(class, _)| reach.admits(class)).map(|(_, row)| row);
    Predicate { owner: user, classes: admitted.collect() }
}

/// The agents of a user, and the resources that each agent it may act through can use.
struct Reach {
    agents: BTreeSet<AgentId>,
    /// One set for each acting agent.
    resources: Vec<BTreeSet<ResourceId>>,
}

impl Reach {
    fn of(user: UserId, acting: Option<AgentId>, views: &Views, at: Moment) -> Self {
        let mut agents = views.graphs.agents_of(user, at);
        agents.extend(views.identity.direct_agent());
        let works = |agent: &&AgentId| views.graphs.status_at(**agent, at.lsn) == AgentStatus::Active;
        let acts = |agent: &&AgentId| acting.is_none_or(|one| **agent == one);
        let acting = agents.iter().filter(works).filter(acts);
        let resources = acting.map(|agent| views.graphs.resources_of(*agent, at)).collect();
        Self { agents, resources }
    }

    fn admits(&self, class: &Class) -> bool {
        class.agents.iter().all(|agent| self.agents.contains(agent))
            && self.resources.iter().any(|held| class.resources.iter().all(|one| held.contains(one)))
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
