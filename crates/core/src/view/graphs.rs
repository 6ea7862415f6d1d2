//! The access graphs over time: which user may invoke which agent, which agent may use which resource (SHARE-3, 4).
//!
//! Invariant (history is closed, not rewritten): a grant is a row with an interval of the log; revoking sets its end. So the
//! graphs at any past position are a filter.

use super::Moment;
use crate::id::{AgentId, ResourceId, UserId};
use crate::log::{AgentStatus, Edge, Entry, Event, GrantedEdge, Lsn, ResourceStatus, Support, UserStatus};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An edge with one of its supports, and the interval of the log in which that was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Grant {
    /// What was granted.
    #[n(0)]
    pub granted: GrantedEdge,
    /// From this entry on.
    #[n(1)]
    pub from: Lsn,
    /// Up to this entry.
    #[n(2)]
    pub to: Option<Lsn>,
}

impl Grant {
    /// Whether it held at a moment.
    #[must_use]
    pub fn holds_at(&self, at: Moment) -> bool {
        self.stands_at(at.lsn)
            && self.granted.not_before.is_none_or(|start| start <= at.time)
            && self.granted.expires_at.is_none_or(|end| at.time < end)
    }

    /// Whether it stood in the log at a position, whatever the hour.
    fn stands_at(&self, lsn: Lsn) -> bool {
        self.from <= lsn && self.to.is_none_or(|to| lsn < to)
    }
}

/// Both graphs of a tenant, and which agents work.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct GraphsView {
    #[n(0)]
    grants: Vec<Grant>,
    /// What each agent was, from which entry on.
    #[n(1)]
    statuses: BTreeMap<AgentId, Vec<(Lsn, AgentStatus)>>,
    /// Moves with every entry that changes who may see what.
    #[n(2)]
    epoch: u64,
    /// What each user was whose status was ever set, from which entry on.
    #[n(3)]
    users: BTreeMap<UserId, Vec<(Lsn, UserStatus)>>,
    /// What each resource was whose status was ever set, from which entry on.
    #[n(4)]
    resources: BTreeMap<ResourceId, Vec<(Lsn, ResourceStatus)>>,
    #[cbor(skip)]
    of_user: HashMap<UserId, Vec<usize>>,
    #[cbor(skip)]
    of_agent: HashMap<AgentId, Vec<usize>>,
}

impl GraphsView {
    /// Moves with every entry that changes who may see what (SHARE-5).
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Every grant there ever was, oldest first.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The grants of an edge, oldest first.
    pub fn grants_of(&self, edge: Edge) -> impl Iterator<Item = &Grant> {
        let rows = match edge {
            Edge::Invoke(user, _) => self.of_user.get(&user),
            Edge::Use(agent, _) => self.of_agent.get(&agent),
        };
        self.rows(rows).filter(move |grant| grant.granted.edge == edge)
    }

    /// Whether an edge exists at a moment. None of a user who is disabled then counts.
    #[must_use]
    pub fn has(&self, edge: Edge, at: Moment) -> bool {
        let counts = match edge {
            Edge::Invoke(user, _) => self.is_active(user, at.lsn),
            Edge::Use(_, resource) => self.resource_at(resource, at.lsn) != ResourceStatus::Deleted,
        };
        counts && self.grants_of(edge).any(|grant| grant.holds_at(at))
    }

    /// A(u, t): the agents that a user may invoke; those that were deleted are gone.
    #[must_use]
    pub fn agents_of(&self, user: UserId, at: Moment) -> BTreeSet<AgentId> {
        let held = self.rows(self.of_user.get(&user)).filter(|grant| grant.holds_at(at));
        let agents = held.filter_map(|grant| match grant.granted.edge {
            Edge::Invoke(_, agent) => Some(agent),
            Edge::Use(..) => None,
        });
        let is_there = |agent: &AgentId| self.status_at(*agent, at.lsn) != AgentStatus::Deleted;
        agents.filter(|agent| self.is_active(user, at.lsn) && is_there(agent)).collect()
    }

    /// R(a, t): the resources that an agent may use.
    #[must_use]
    pub fn resources_of(&self, agent: AgentId, at: Moment) -> BTreeSet<ResourceId> {
        let held = self.rows(self.of_agent.get(&agent)).filter(|grant| grant.holds_at(at));
        let resources = held.filter_map(|grant| match grant.granted.edge {
            Edge::Use(_, resource) => Some(resource),
            Edge::Invoke(..) => None,
        });
        resources.filter(|one| self.resource_at(*one, at.lsn) != ResourceStatus::Deleted).collect()
    }

    /// What an agent was at a position.
    #[must_use]
    pub fn status_at(&self, agent: AgentId, lsn: Lsn) -> AgentStatus {
        last_set(self.statuses.get(&agent), lsn).unwrap_or(AgentStatus::Active)
    }

    /// What a user was at a position.
    #[must_use]
    pub fn user_at(&self, user: UserId, lsn: Lsn) -> UserStatus {
        last_set(self.users.get(&user), lsn).unwrap_or(UserStatus::Active)
    }

    /// Whether a user could act at a position.
    #[must_use]
    pub fn is_active(&self, user: UserId, lsn: Lsn) -> bool {
        self.user_at(user, lsn) == UserStatus::Active
    }

    /// What a resource was at a position.
    #[must_use]
    pub fn resource_at(&self, resource: ResourceId, lsn: Lsn) -> ResourceStatus {
        last_set(self.resources.get(&resource), lsn).unwrap_or(ResourceStatus::Active)
    }

    /// When some edge next begins or lapses by itself after a time: until then the graphs stay as they are.
    #[must_use]
    pub fn next_turn(&self, after: Timestamp) -> Option<Timestamp> {
        let standing = self.grants.iter().filter(|grant| grant.to.is_none());
        let turns = standing.flat_map(|grant| [grant.granted.not_before, grant.granted.expires_at]).flatten();
        turns.filter(|turn| *turn > after).min()
    }

    fn rows<'a>(&'a self, rows: Option<&'a Vec<usize>>) -> impl Iterator<Item = &'a Grant> {
        rows.map_or(&[] as &[usize], Vec::as_slice).iter().filter_map(|row| self.grants.get(*row))
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            // Whoever gives a user a key for an agent lets the user invoke it.
            Event::KeyIssued(issued) => {
                if let (Some(user), Some(agent)) = (issued.user, issued.agent) {
                    self.grant(entry.lsn, direct(Edge::Invoke(user, agent)));
                }
            }
            Event::EdgeGranted(granted) => self.grant(entry.lsn, *granted),
            Event::EdgeRevoked { edge, support } => self.revoke(entry.lsn, *edge, *support),
            Event::AgentStatusSet { agent, status } => {
                self.statuses.entry(*agent).or_default().push((entry.lsn, *status));
                if *status == AgentStatus::Deleted {
                    self.revoke_all(entry.lsn, |edge| {
                        let (Edge::Invoke(_, of) | Edge::Use(of, _)) = edge;
                        of == *agent
                    });
                }
            }
            Event::UserStatusSet { user, status } => {
                self.users.entry(*user).or_default().push((entry.lsn, *status));
            }
            Event::ResourceStatusSet { resource, status } => {
                self.resources.entry(*resource).or_default().push((entry.lsn, *status));
                if *status == ResourceStatus::Deleted {
                    self.revoke_all(entry.lsn, |edge| matches!(edge, Edge::Use(_, of) if of == *resource));
                }
            }
            Event::UserCreated { .. } | Event::AgentCreated { .. } | Event::ResourceCreated { .. } => {}
            Event::PolicySet | Event::KeyRevoked { .. } | Event::UserRoleSet { .. } => {}
            Event::RoleSet { .. } | Event::RoleAssigned(_) | Event::RoleUnassigned { .. } => {}
            Event::TenantCreated { .. }
            | Event::VersionWritten(_)
            | Event::VersionRetracted { .. }
            | Event::VersionExpired { .. }
            | Event::ItemPinned { .. }
            | Event::ItemUnpinned { .. }
            | Event::WriteStaged(_)
            | Event::ReviewDecided { .. }
            | Event::ItemQuarantined { .. }
            | Event::ItemReleased { .. }
            | Event::SchemaSet
            | Event::AgentSuspended { .. }
            | Event::AgentResumed { .. }
            | Event::PairHeld(_)
            | Event::PairReleased(_)
            | Event::OutcomeReported(_)
            | Event::ItemReverified { .. }
            | Event::Calibrated(_)
            | Event::TrustMoved(_)
            | Event::LossAccepted(_)
            | Event::Audited(_) => return,
        }
        self.epoch += 1;
    }

    /// Opens a row. One that stands already for the same support is closed first: its times are replaced.
    fn grant(&mut self, lsn: Lsn, granted: GrantedEdge) {
        let same = |grant: &Grant| grant.to.is_none() && grant.granted == granted;
        if self.grants_of(granted.edge).any(same) {
            return;
        }
        self.revoke(lsn, granted.edge, Some(granted.support));
        let row = self.grants.len();
        self.grants.push(Grant { granted, from: lsn, to: None });
        self.file(row, granted.edge);
    }

    fn revoke(&mut self, lsn: Lsn, edge: Edge, support: Option<Support>) {
        let rows = match edge {
            Edge::Invoke(user, _) => self.of_user.get(&user),
            Edge::Use(agent, _) => self.of_agent.get(&agent),
        };
        for row in rows.map_or(&[] as &[usize], Vec::as_slice) {
            if let Some(grant) = self.grants.get_mut(*row)
                && grant.granted.edge == edge
                && support.is_none_or(|one| grant.granted.support == one)
            {
                grant.to.get_or_insert(lsn);
            }
        }
    }

    fn revoke_all(&mut self, lsn: Lsn, is_of: impl Fn(Edge) -> bool) {
        for grant in self.grants.iter_mut().filter(|grant| is_of(grant.granted.edge)) {
            grant.to.get_or_insert(lsn);
        }
    }

    fn file(&mut self, row: usize, edge: Edge) {
        match edge {
            Edge::Invoke(user, _) => self.of_user.entry(user).or_default().push(row),
            Edge::Use(agent, _) => self.of_agent.entry(agent).or_default().push(row),
        }
    }

    pub(super) fn index(&mut self) {
        (self.of_user, self.of_agent) = (HashMap::new(), HashMap::new());
        for row in 0..self.grants.len() {
            if let Some(edge) = self.grants.get(row).map(|grant| grant.granted.edge) {
                self.file(row, edge);
            }
        }
    }
}

/// What was set last at a position, of what was set from which entry on.
fn last_set<T: Copy>(set: Option<&Vec<(Lsn, T)>>, lsn: Lsn) -> Option<T> {
    set?.iter().rev().find(|(from, _)| *from <= lsn).map(|(_, status)| *status)
}

fn direct(edge: Edge) -> GrantedEdge {
    GrantedEdge { edge, support: Support::Direct, not_before: None, expires_at: None }
}
