//! Principals and credentials, and the epoch that moves with every change to them.

use super::Opened;
use crate::access::{Role, looks};
use crate::canonical::Hash;
use crate::id::{AgentId, KeyId, ResourceId, TenantId, UserId};
use crate::log::{Entry, Event, IssuedKey, Principal};
use crate::time::Timestamp;
use std::collections::HashMap;

/// The agent through which a person writes without one.
const DIRECT: &str = "direct";

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct User {
    /// Its id.
    #[n(0)]
    pub id: UserId,
    /// Its name.
    #[n(1)]
    pub name: String,
    /// What it may administer.
    #[n(2)]
    pub role: Role,
    /// Since when.
    #[n(3)]
    pub created_at: Timestamp,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Agent {
    /// Its id.
    #[n(0)]
    pub id: AgentId,
    /// Its words.
    #[n(1)]
    pub words: Principal,
    /// Whether its own word on what it used is taken.
    #[n(2)]
    pub trust_declared: bool,
    /// Since when.
    #[n(3)]
    pub created_at: Timestamp,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Resource {
    /// Its id.
    #[n(0)]
    pub id: ResourceId,
    /// Its words.
    #[n(1)]
    pub words: Principal,
    /// Since when.
    #[n(2)]
    pub created_at: Timestamp,
}

/// A credential and whether it was revoked.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Key {
    /// As it was issued.
    #[n(0)]
    pub issued: IssuedKey,
    /// Since when.
    #[n(1)]
    pub created_at: Timestamp,
    /// Until when, if it was revoked.
    #[n(2)]
    pub revoked_at: Option<Timestamp>,
}

impl Key {
    fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.issued.expires_at.is_none_or(|end| now < end)
    }
}

/// Every principal and credential of a tenant.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct IdentityView {
    #[n(0)]
    tenant: Option<TenantId>,
    #[n(1)]
    name: String,
    #[n(2)]
    operator: bool,
    #[n(3)]
    epoch: u64,
    #[n(4)]
    users: Vec<User>,
    #[n(5)]
    agents: Vec<Agent>,
    #[n(6)]
    resources: Vec<Resource>,
    #[n(7)]
    keys: Vec<Key>,
    #[cbor(skip)]
    key_of: HashMap<Hash, usize>,
    /// The first name of each of the looks that names have, by the kind of principal.
    #[cbor(skip)]
    looks: HashMap<(PrincipalKind, String), String>,
}

/// What a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A user.
    User,
    /// An agent.
    Agent,
    /// A resource.
    Resource,
}

impl PrincipalKind {
    /// The word for it, in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Resource => "resource",
        }
    }
}

impl IdentityView {
    /// The tenant, once its first entry is in.
    #[must_use]
    pub const fn tenant(&self) -> Option<TenantId> {
        self.tenant
    }

    /// The tenant's name.
    #[must_use]
    pub fn tenant_name(&self) -> &str {
        &self.name
    }

    /// Whether this tenant's admins may make tenants.
    #[must_use]
    pub const fn is_operator(&self) -> bool {
        self.operator
    }

    /// Moves with every change to who may do what.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// All users, oldest first.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// All agents, oldest first.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// All resources, oldest first.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// All credentials, oldest first.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// A user by id.
    #[must_use]
    pub fn user(&self, id: UserId) -> Option<&User> {
        self.users.iter().find(|user| user.id == id)
    }

    /// A user by id or name.
    #[must_use]
    pub fn find_user(&self, id_or_name: &str) -> Option<&User> {
        match id_or_name.parse() {
            Ok(id) => self.user(id),
            Err(_) => self.users.iter().find(|user| user.name == id_or_name),
        }
    }

    /// An agent by id or name.
    #[must_use]
    pub fn find_agent(&self, id_or_name: &str) -> Option<&Agent> {
        match id_or_name.parse() {
            Ok(id) => self.agent(id),
            Err(_) => self.agents.iter().find(|agent| agent.words.name == id_or_name),
        }
    }

    /// An agent by id.
    #[must_use]
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    /// A resource by id or name.
    #[must_use]
    pub fn find_resource(&self, id_or_name: &str) -> Option<&Resource> {
        match id_or_name.parse::<ResourceId>() {
            Ok(id) => self.resources.iter().find(|one| one.id == id),
            Err(_) => self.resources.iter().find(|one| one.words.name == id_or_name),
        }
    }

    /// The name of the principal of this kind that a name looks like, or is.
    #[must_use]
    pub fn looks_like(&self, kind: PrincipalKind, name: &str) -> Option<&str> {
        looks(name).into_iter().find_map(|look| self.looks.get(&(kind, look))).map(String::as_str)
    }

    fn note_look(&mut self, kind: PrincipalKind, name: &str) {
        for look in looks(name) {
            self.looks.entry((kind, look)).or_insert_with(|| name.to_owned());
        }
    }

    /// A credential by id, whether it is live or not.
    #[must_use]
    pub fn key(&self, id: KeyId) -> Option<&Key> {
        self.keys.iter().find(|key| key.issued.key == id)
    }

    /// The credential with this fingerprint, whether it is live or not.
    #[must_use]
    pub fn key_with(&self, fingerprint: &Hash) -> Option<&Key> {
        self.keys.get(*self.key_of.get(fingerprint)?)
    }

    /// The live credential with this fingerprint.
    #[must_use]
    pub fn live_key(&self, fingerprint: &Hash, now: Timestamp) -> Option<&IssuedKey> {
        let key = self.key_with(fingerprint)?;
        key.is_live(now).then_some(&key.issued)
    }

    /// Whether a credential is known and neither revoked nor past its end.
    #[must_use]
    pub fn is_live(&self, id: KeyId, now: Timestamp) -> bool {
        self.key(id).is_some_and(|key| key.is_live(now))
    }

    /// The built-in agent for keys that name none.
    #[must_use]
    pub fn direct_agent(&self) -> Option<AgentId> {
        self.agents.iter().find(|agent| agent.words.name == DIRECT).map(|agent| agent.id)
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened) {
        let words = match opened {
            Opened::Principal(words) => words.clone(),
            Opened::Nothing | Opened::Version(_) | Opened::Policy(..) | Opened::Schema(_) => {
                Principal::default()
            }
        };
        let created_at = entry.time;
        match &entry.event {
            Event::TenantCreated { tenant, operator, .. } => {
                self.tenant = Some(*tenant);
                self.operator = *operator;
                self.name = words.name;
            }
            Event::UserCreated { user, role } => {
                self.note_look(PrincipalKind::User, &words.name);
                self.users.push(User { id: *user, name: words.name, role: *role, created_at });
            }
            Event::AgentCreated { agent, trust_declared } => {
                self.note_look(PrincipalKind::Agent, &words.name);
                self.agents.push(Agent { id: *agent, words, trust_declared: *trust_declared, created_at });
            }
            Event::ResourceCreated { resource } => {
                self.note_look(PrincipalKind::Resource, &words.name);
                self.resources.push(Resource { id: *resource, words, created_at })
            }
            Event::KeyIssued(issued) => {
                self.key_of.insert(issued.fingerprint, self.keys.len());
                self.keys.push(Key { issued: issued.clone(), created_at, revoked_at: None });
            }
            Event::KeyRevoked { key } => {
                if let Some(row) = self.keys.iter_mut().find(|row| row.issued.key == *key) {
                    row.revoked_at.get_or_insert(entry.time);
                }
            }
            Event::UserRoleSet { user, role } => {
                if let Some(row) = self.users.iter_mut().find(|row| row.id == *user) {
                    row.role = *role;
                }
            }
            Event::VersionWritten(_)
            | Event::UserStatusSet { .. }
            | Event::ResourceStatusSet { .. }
            | Event::VersionRetracted { .. }
            | Event::VersionExpired { .. }
            | Event::ItemPinned { .. }
            | Event::ItemUnpinned { .. }
            | Event::WriteStaged(_)
            | Event::ReviewDecided { .. }
            | Event::ItemQuarantined { .. }
            | Event::ItemReleased { .. }
            | Event::PolicySet
            | Event::SchemaSet
            | Event::AgentSuspended { .. }
            | Event::AgentResumed { .. }
            | Event::PairHeld(_)
            | Event::PairReleased(_)
            | Event::OutcomeReported(_)
            | Event::EdgeGranted(_)
            | Event::EdgeRevoked { .. }
            | Event::AgentStatusSet { .. }
            | Event::ItemReverified { .. }
            | Event::RoleSet { .. }
            | Event::RoleAssigned(_)
            | Event::RoleUnassigned { .. }
            | Event::Calibrated(_)
            | Event::TrustMoved(_)
            | Event::LossAccepted(_)
            | Event::Audited(_) => return,
        }
        self.epoch += 1;
    }

    pub(super) fn index(&mut self) {
        self.key_of = self.keys.iter().enumerate().map(|(row, key)| (key.issued.fingerprint, row)).collect();
        let users = self.users.iter().map(|user| (PrincipalKind::User, user.name.clone()));
        let agents = self.agents.iter().map(|agent| (PrincipalKind::Agent, agent.words.name.clone()));
        let resources = self.resources.iter().map(|one| (PrincipalKind::Resource, one.words.name.clone()));
        let names: Vec<(PrincipalKind, String)> = users.chain(agents).chain(resources).collect();
        self.looks.clear();
        for (kind, name) in names {
            self.note_look(kind, &name);
        }
    }
}
