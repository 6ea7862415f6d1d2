//! Roles over time: what each bundles, and who holds it (SHARE-30).
//!
//! Invariant (the graphs stay explicit): a role never is an edge. Giving one to somebody writes the edges that follow from it
//! into the log, with the role as their support; this view only tells which those are.

use super::{Moment, Opened};
use crate::access::{AgentRole, BuiltIn, Clearance, Power};
use crate::id::{AgentId, ResourceId, RoleId};
use crate::item::Classification;
use crate::log::{Edge, Entry, Event, HeldRole, Holder, Lsn};
use crate::time::Timestamp;
use std::collections::{BTreeSet, HashMap};

/// Roles that one role may bring with it, over however many steps.
pub const ROLE_INCLUDES_MAX: usize = 64;

/// What a role bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct RoleTemplate {
    /// Agents that a user who holds it may invoke.
    #[n(0)]
    pub agents: BTreeSet<AgentId>,
    /// Resources that an agent which holds it may use.
    #[n(1)]
    pub resources: BTreeSet<ResourceId>,
    /// Roles that come with it.
    #[n(2)]
    pub includes: BTreeSet<RoleId>,
    /// Administrative actions of users who hold it.
    #[n(3)]
    pub powers: BTreeSet<Power>,
    /// How secret what is read may be, for those who hold it.
    #[n(4)]
    pub clearance: Option<Classification>,
    /// The domains of those who hold it.
    #[n(5)]
    pub domains: BTreeSet<String>,
}

/// A template as it is kept: ids as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct Kept {
    agents: Vec<String>,
    resources: Vec<String>,
    includes: Vec<String>,
    actions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    clearance: Option<Classification>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    domains: BTreeSet<String>,
}

impl RoleTemplate {
    /// The template as JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        fn texts<T: ToString>(ids: &BTreeSet<T>) -> Vec<String> {
            ids.iter().map(ToString::to_string).collect()
        }
        let kept = Kept {
            agents: texts(&self.agents),
            resources: texts(&self.resources),
            includes: texts(&self.includes),
            actions: self.powers.iter().map(|power| power.as_str().to_owned()).collect(),
            clearance: self.clearance,
            domains: self.domains.clone(),
        };
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    fn from_json(json: &[u8]) -> Option<Self> {
        let kept: Kept = serde_json::from_slice(json).ok()?;
        fn ids<T: std::str::FromStr + Ord>(texts: &[String]) -> BTreeSet<T> {
            texts.iter().filter_map(|text| text.parse().ok()).collect()
        }
        Some(Self {
            agents: ids(&kept.agents),
            resources: ids(&kept.resources),
            includes: ids(&kept.includes),
            powers: kept.actions.iter().filter_map(|word| Power::from_word(word)).collect(),
            clearance: kept.clearance,
            domains: kept.domains,
        })
    }
}

/// A role of the tenant's own, and the interval of the log in which it was this.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct RoleRow {
    /// Its id.
    #[n(0)]
    pub id: RoleId,
    /// Its name.
    #[n(1)]
    pub name: String,
    /// What it bundles.
    #[n(2)]
    pub template: RoleTemplate,
    /// From this entry on.
    #[n(3)]
    pub from: Lsn,
    /// Up to this entry.
    #[n(4)]
    pub to: Option<Lsn>,
}

/// Somebody with a role, and the interval of the log in which that was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Holding {
    /// Who holds which, and within what times.
    #[n(0)]
    pub held: HeldRole,
    /// From this entry on.
    #[n(1)]
    pub from: Lsn,
    /// Up to this entry.
    #[n(2)]
    pub to: Option<Lsn>,
}

impl Holding {
    fn holds_at(&self, at: Moment) -> bool {
        stands(self.from, self.to, at.lsn)
            && self.held.not_before.is_none_or(|start| start <= at.time)
            && self.held.expires_at.is_none_or(|end| at.time < end)
    }
}

fn stands(from: Lsn, to: Option<Lsn>, lsn: Lsn) -> bool {
    from <= lsn && to.is_none_or(|to| lsn < to)
}

/// Every role of a tenant and who ever held it.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct RolesView {
    #[n(0)]
    roles: Vec<RoleRow>,
    #[n(1)]
    holdings: Vec<Holding>,
    #[cbor(skip)]
    of_holder: HashMap<Holder, Vec<usize>>,
}

impl RolesView {
    /// The tenant's own roles that stand at a position.
    pub fn roles_at(&self, lsn: Lsn) -> impl Iterator<Item = &RoleRow> {
        self.roles.iter().filter(move |row| stands(row.from, row.to, lsn))
    }

    /// A role of the tenant's own by id.
    #[must_use]
    pub fn role_at(&self, id: RoleId, lsn: Lsn) -> Option<&RoleRow> {
        self.roles_at(lsn).find(|row| row.id == id)
    }

    /// A role by name or id, built-in ones as well.
    #[must_use]
    pub fn find(&self, id_or_name: &str, lsn: Lsn) -> Option<RoleId> {
        let built_in = || BuiltIn::from_word(id_or_name).map(BuiltIn::id);
        let own = |row: &&RoleRow| row.name == id_or_name || row.id.to_string() == id_or_name;
        let of_id = || id_or_name.parse().ok().and_then(BuiltIn::of).map(BuiltIn::id);
        built_in().or_else(|| self.roles_at(lsn).find(own).map(|row| row.id)).or_else(of_id)
    }

    /// The name of a role, which it keeps in history after it is gone.
    #[must_use]
    pub fn name_of(&self, id: RoleId) -> Option<&str> {
        let built_in = BuiltIn::of(id).map(BuiltIn::as_str);
        built_in.or_else(|| self.roles.iter().rev().find(|row| row.id == id).map(|row| row.name.as_str()))
    }

    /// A role with all that come with it, as they would be if one of them were `changed`. None if there are too many.
    #[must_use]
    pub fn closure(
        &self,
        role: RoleId,
        lsn: Lsn,
        changed: Option<(RoleId, &RoleTemplate)>,
    ) -> Option<BTreeSet<RoleId>> {
        let mut all = BTreeSet::from([role]);
        let mut open = vec![role];
        while let Some(one) = open.pop() {
            for next in
                self.template(one, lsn, changed).map(|template| &template.includes).into_iter().flatten()
            {
                if all.insert(*next) {
                    open.push(*next);
                }
            }
            if all.len() > ROLE_INCLUDES_MAX {
                return None;
            }
        }
        Some(all)
    }

    fn template<'a>(
        &'a self,
        role: RoleId,
        lsn: Lsn,
        changed: Option<(RoleId, &'a RoleTemplate)>,
    ) -> Option<&'a RoleTemplate> {
        match changed {
            Some((id, template)) if id == role => Some(template),
            _ => self.role_at(role, lsn).map(|row| &row.template),
        }
    }

    /// The edges that somebody has by holding a role.
    #[must_use]
    pub fn edges(
        &self,
        role: RoleId,
        holder: Holder,
        lsn: Lsn,
        changed: Option<(RoleId, &RoleTemplate)>,
    ) -> BTreeSet<Edge> {
        let all = self.closure(role, lsn, changed).unwrap_or_default();
        let templates = all.into_iter().filter_map(|one| self.template(one, lsn, changed));
        templates.flat_map(|template| edges_of(template, holder)).collect()
    }

    /// Who holds a role at a position, whatever the hour.
    pub fn holders(&self, role: RoleId, lsn: Lsn) -> impl Iterator<Item = &Holding> {
        self.holdings.iter().filter(move |one| one.held.role == role && stands(one.from, one.to, lsn))
    }

    /// Every holding that stands at a position, whatever the hour.
    pub fn holdings_at(&self, lsn: Lsn) -> impl Iterator<Item = &Holding> {
        self.holdings.iter().filter(move |one| stands(one.from, one.to, lsn))
    }

    /// The roles that somebody holds at a moment, with all that come with them.
    #[must_use]
    pub fn held_by(&self, holder: Holder, at: Moment) -> BTreeSet<RoleId> {
        let rows = self.of_holder.get(&holder).map_or(&[] as &[usize], Vec::as_slice);
        let held = rows.iter().filter_map(|row| self.holdings.get(*row)).filter(|one| one.holds_at(at));
        held.flat_map(|one| self.closure(one.held.role, at.lsn, None).unwrap_or_default()).collect()
    }

    /// What somebody is cleared for at a moment.
    #[must_use]
    pub fn clearance(&self, holder: Holder, at: Moment) -> Clearance {
        let held = self.held_by(holder, at);
        let templates = held.into_iter().filter_map(|role| self.template(role, at.lsn, None));
        Clearance::of(templates.map(|template| (template.clearance, &template.domains)))
    }

    /// What an agent is trusted with at a moment: what a new one is, until somebody gives it a role of that sort.
    #[must_use]
    pub fn agent_roles(&self, agent: AgentId, at: Moment) -> Vec<AgentRole> {
        let of_agents = |role: RoleId| BuiltIn::of(role).and_then(BuiltIn::of_agents);
        let rows = self.of_holder.get(&Holder::Agent(agent)).map_or(&[] as &[usize], Vec::as_slice);
        let mut ever = rows.iter().filter_map(|row| self.holdings.get(*row)).filter(|one| one.from <= at.lsn);
        let was_given = ever.any(|one| {
            let brought = self.closure(one.held.role, one.from, None).unwrap_or_default();
            brought.into_iter().any(|role| of_agents(role).is_some())
        });
        if !was_given {
            return AgentRole::OF_NEW_AGENTS.to_vec();
        }
        self.held_by(Holder::Agent(agent), at).into_iter().filter_map(of_agents).collect()
    }

    /// The names of roles, and the leaf roles of the powers that they bring: what policies know somebody by.
    #[must_use]
    pub fn names(&self, roles: &BTreeSet<RoleId>, lsn: Lsn) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for role in roles {
            names.extend(self.name_of(*role).map(str::to_owned));
            let built_in = BuiltIn::of(*role).map_or(&[] as &[Power], BuiltIn::powers).iter();
            let own = self.role_at(*role, lsn).into_iter().flat_map(|row| &row.template.powers);
            names.extend(built_in.chain(own).map(|power| power.leaf().to_owned()));
        }
        names
    }

    /// When somebody next comes to hold a role or ceases to by themselves, after a time.
    #[must_use]
    pub fn next_turn(&self, after: Timestamp) -> Option<Timestamp> {
        let standing = self.holdings.iter().filter(|one| one.to.is_none());
        let turns = standing.flat_map(|one| [one.held.not_before, one.held.expires_at]).flatten();
        turns.filter(|turn| *turn > after).min()
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened) {
        match (&entry.event, opened) {
            (Event::RoleSet { role }, Opened::Policy(name, body)) => {
                self.close(*role, entry.lsn);
                if let Some(template) = RoleTemplate::from_json(body) {
                    let row = RoleRow { id: *role, name: name.clone(), template, from: entry.lsn, to: None };
                    self.roles.push(row);
                }
            }
            (Event::RoleAssigned(held), _) => {
                self.release(held.role, held.holder, entry.lsn);
                self.of_holder.entry(held.holder).or_default().push(self.holdings.len());
                self.holdings.push(Holding { held: *held, from: entry.lsn, to: None });
            }
            (Event::RoleUnassigned { role, holder }, _) => self.release(*role, *holder, entry.lsn),
            _ => {}
        }
    }

    fn close(&mut self, role: RoleId, lsn: Lsn) {
        for row in self.roles.iter_mut().filter(|row| row.id == role) {
            row.to.get_or_insert(lsn);
        }
    }

    fn release(&mut self, role: RoleId, holder: Holder, lsn: Lsn) {
        for row in self.of_holder.get(&holder).map_or(&[] as &[usize], Vec::as_slice) {
            if let Some(holding) = self.holdings.get_mut(*row).filter(|one| one.held.role == role) {
                holding.to.get_or_insert(lsn);
            }
        }
    }

    pub(super) fn index(&mut self) {
        self.of_holder = HashMap::new();
        for (row, holding) in self.holdings.iter().enumerate() {
            self.of_holder.entry(holding.held.holder).or_default().push(row);
        }
    }
}

/// The edges that a template gives: a user may invoke its agents, an agent may use its resources.
fn edges_of(template: &RoleTemplate, holder: Holder) -> Vec<Edge> {
    match holder {
        Holder::User(user) => template.agents.iter().map(|agent| Edge::Invoke(user, *agent)).collect(),
        Holder::Agent(agent) => template.resources.iter().map(|one| Edge::Use(agent, *one)).collect(),
    }
}
