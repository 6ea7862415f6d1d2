//! What somebody may see, kept in the parts that it follows from (SHARE-35, 36).
//!
//! A class is seen if its agents are among the user's, its resources among those of an agent that acts, its layer is open to
//! that agent, it is not too secret for it, and no Cedar policy forbids it. Each part is a set of classes, made from the lists of what is *not* granted; an
//! edge that comes or goes touches the classes of its list and no others, and Cedar is asked about a class once.
//!
//! Invariant (followed equals found anew): after `follow`, a sight shows what one made at that moment would show.

use super::predicate::{Acting, Predicate, Reach};
use super::{Asking, Deed, Rules};
use crate::id::{AgentId, ResourceId, UserId};
use crate::log::Lsn;
use crate::view::{Class, ClassLists, Moment, Views};
use roaring::{MultiOps, RoaringBitmap};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// What a user sees through an agent, or as a person through any of theirs.
#[derive(Debug, Clone)]
pub struct Sight {
    user: UserId,
    agent: Option<AgentId>,
    moderates: bool,
    /// CA(u).
    agents: Within<AgentId>,
    through: Vec<Through>,
    /// Where the rules were set that were asked.
    rules: Lsn,
    predicate: Predicate,
}

impl Sight {
    /// What a pair, or a person if no agent is named, sees at a moment.
    #[must_use]
    pub fn of(user: UserId, agent: Option<AgentId>, views: &Views, at: Moment) -> Self {
        Self::made((user, agent, false), views, at)
    }

    /// What a user sees as a moderator: all that is shared, whatever its agents and resources; nothing private, and no
    /// more secrets than the user is cleared for (AM-8).
    #[must_use]
    pub fn of_moderator(user: UserId, views: &Views, at: Moment) -> Self {
        Self::made((user, None, true), views, at)
    }

    fn made((user, agent, moderates): (UserId, Option<AgentId>, bool), views: &Views, at: Moment) -> Self {
        let mut sight = Self {
            user,
            agent,
            moderates,
            agents: Within::default(),
            through: Vec::new(),
            rules: Lsn::ZERO,
            predicate: Predicate::of(user, RoaringBitmap::new()),
        };
        sight.follow(views, at);
        sight
    }

    /// What it admits.
    #[must_use]
    pub const fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// How many agents it goes through: what it takes to keep.
    #[must_use]
    pub const fn breadth(&self) -> usize {
        self.through.len()
    }

    /// Brings it up to a moment. Only classes that came, and those of agents and resources that were granted since, are tested.
    pub fn follow(&mut self, views: &Views, at: Moment) {
        let reach = match self.moderates {
            true => Reach::of_moderator(self.user, views, at),
            false => Reach::of(self.user, self.agent, views, at),
        };
        let lists = views.items.class_lists();
        let classes = views.items.classes();
        self.agents.follow(reach.agents, lists.by_agent(), classes, |class| &class.agents);
        let rules = views.cedar.rules_at(at.lsn, &views.identity);
        let (set_at, asked) = (views.cedar.set_at(at.lsn), rules.concern(Deed::Read));
        let same_rules = std::mem::replace(&mut self.rules, set_at) == set_at;
        let mut before: HashMap<AgentId, Through> =
            self.through.drain(..).map(|one| (one.agent, one)).collect();
        let mut admitted = RoaringBitmap::new();
        for acting in reach.acting {
            let mut through = before.remove(&acting.agent).unwrap_or_else(|| Through::of(acting.agent));
            let closed = closed(&acting, lists);
            through
                .resources
                .follow(acting.resources, lists.by_resource(), classes, |class| &class.resources);
            let mut reached = &self.agents.classes & &through.resources.classes;
            reached -= &admitted;
            reached -= closed;
            if asked {
                let asking = Asking::of(self.user, Some(acting.agent), views, at);
                through.ask(&rules, (asking, same_rules), &reached, classes);
                reached -= &through.forbidden;
            }
            admitted |= reached;
            self.through.push(through);
        }
        self.predicate = Predicate::of(self.user, admitted);
    }
}

/// The classes of layers that the agent's roles do not open, and those that are too secret for it.
fn closed(acting: &Acting, lists: &ClassLists) -> RoaringBitmap {
    let places = lists.by_place().iter();
    let closed = places.filter(|((layer, tier, secrecy), _)| !acting.may_read(*layer, *tier, secrecy));
    closed.map(|(_, classes)| classes).union()
}

/// What is seen through one agent.
#[derive(Debug, Clone)]
struct Through {
    agent: AgentId,
    /// CR(a).
    resources: Within<ResourceId>,
    /// Who the rules were asked for, the classes that they were asked about, and those that they forbid.
    asking: Option<Asking>,
    asked: RoaringBitmap,
    forbidden: RoaringBitmap,
}

impl Through {
    fn of(agent: AgentId) -> Self {
        Self {
            agent,
            resources: Within::default(),
            asking: None,
            asked: RoaringBitmap::new(),
            forbidden: RoaringBitmap::new(),
        }
    }

    /// Asks Cedar about the classes that it was not asked about: neither the rules nor who asks may have changed since.
    fn ask(
        &mut self,
        rules: &Rules,
        (asking, same_rules): (Asking, bool),
        reached: &RoaringBitmap,
        classes: &[Class],
    ) {
        if !same_rules || self.asking.as_ref() != Some(&asking) {
            (self.asked, self.forbidden) = (RoaringBitmap::new(), RoaringBitmap::new());
        }
        let new = reached - &self.asked;
        let known = new.iter().filter_map(|row| Some((row, classes.get(row as usize)?)));
        self.forbidden.extend(rules.forbidden(&asking, Deed::Read, known).into_iter().map(|(row, _)| row));
        self.asked |= new;
        self.asking = Some(asking);
    }
}

/// The classes all of whose agents, or resources, are within a set.
#[derive(Debug, Clone)]
struct Within<Id> {
    set: BTreeSet<Id>,
    classes: RoaringBitmap,
    /// Classes that were looked at.
    known: u32,
}

impl<Id> Default for Within<Id> {
    fn default() -> Self {
        Self { set: BTreeSet::new(), classes: RoaringBitmap::new(), known: 0 }
    }
}

impl<Id: Ord + Hash> Within<Id> {
    /// Brings it up to a set and to the classes that there are. What left the set takes its classes along; the classes of what
    /// came to it, and those that are new, are tested.
    fn follow(
        &mut self,
        set: BTreeSet<Id>,
        lists: &HashMap<Id, RoaringBitmap>,
        classes: &[Class],
        members: impl Fn(&Class) -> &Vec<Id>,
    ) {
        if self.known == 0 {
            self.classes.insert_range(0..classes.len() as u32);
            let outside = lists.iter().filter(|(id, _)| !set.contains(id)).map(|(_, classes)| classes);
            self.classes -= outside.union();
        } else {
            let left = self.set.difference(&set).filter_map(|id| lists.get(id));
            self.classes -= left.union();
            let mut test = set.difference(&self.set).filter_map(|id| lists.get(id)).union();
            test.insert_range(self.known..classes.len() as u32);
            let within = |row: &u32| {
                let class = classes.get(*row as usize);
                class.is_some_and(|class| members(class).iter().all(|one| set.contains(one)))
            };
            self.classes.extend(test.iter().filter(within));
        }
        (self.set, self.known) = (set, classes.len() as u32);
    }
}
