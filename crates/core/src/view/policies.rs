//! Policies that people set, and agents that may not write.

use super::Opened;
use crate::canonical::{Hash, unhex32};
use crate::gate::{Bounds, OnConflict, Strictness};
use crate::id::AgentId;
use crate::item::Layer;
use crate::log::{Actor, Entry, Event, Lsn};
use crate::policy::{CheckedPolicy, Composed, Pair, PolicyKind, SharingPolicy};
use crate::schema::Schema;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A policy, as it is kept and as it is sent.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Policy {
    /// How strict the write path is, and what becomes of contradictions, everywhere or in one namespace.
    WritePath {
        /// `open`, `standard` or `strict`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strictness: Option<String>,
        /// `supersede`, `keep_both`, `review` or `reject` (AM-3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_conflict: Option<String>,
        /// Only here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
    },
    /// Documents whose address begins like this are official.
    OfficialSources {
        /// How their addresses begin.
        prefixes: Vec<String>,
    },
    /// How many people must consent to a held write.
    Approval {
        /// One, or two for four eyes.
        approvals: u32,
    },
    /// What is kept back or changed of what is read (SHARE-14).
    Read(SharingPolicy),
    /// What is changed of what is written for oneself.
    WritePrivate(SharingPolicy),
    /// What is changed of what is written for others, and whether anything is.
    WriteShared(SharingPolicy),
    /// Who may look at the held writes of whom.
    Reviewer {
        /// Who reviews, by id.
        reviewer: String,
        /// Whose writes, by id.
        user: String,
    },
    /// Rules in Cedar: what they forbid is not read or written, whatever the graphs admit (SHARE-31).
    Cedar {
        /// One policy or several.
        text: String,
    },
    /// Whose reports on the tests of procedures are believed; the policy's name is the runner's.
    Runner {
        /// An Ed25519 key: 64 hex digits.
        public_key: String,
    },
    /// Where an agent may write, and about what (GOV-11.9); what is left out is not bound.
    Bounds {
        /// The agent, by id.
        agent: String,
        /// Only to these layers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        layers: Vec<String>,
        /// Only to these namespaces.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        namespaces: Vec<String>,
        /// Only items with these tags: at least one of them, and no other.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
    },
}

impl Policy {
    /// The policy as one of sharing, and what it is about.
    #[must_use]
    pub const fn sharing(&self) -> Option<(PolicyKind, &SharingPolicy)> {
        match self {
            Self::Read(policy) => Some((PolicyKind::Read, policy)),
            Self::WritePrivate(policy) => Some((PolicyKind::WritePrivate, policy)),
            Self::WriteShared(policy) => Some((PolicyKind::WriteShared, policy)),
            Self::WritePath { .. }
            | Self::OfficialSources { .. }
            | Self::Approval { .. }
            | Self::Reviewer { .. }
            | Self::Cedar { .. }
            | Self::Runner { .. }
            | Self::Bounds { .. } => None,
        }
    }
}

/// That an agent may not write until it is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Suspension {
    /// Who suspended it; the server itself if nobody.
    #[n(0)]
    pub by: Actor,
    /// Since when.
    #[n(1)]
    pub since: Timestamp,
    /// The entry beside which the reason is sealed.
    #[n(2)]
    pub lsn: Lsn,
}

/// Every policy of a tenant.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct PoliciesView {
    /// Bodies by name, as JSON.
    #[n(0)]
    policies: BTreeMap<String, String>,
    #[n(1)]
    suspended: BTreeMap<AgentId, Suspension>,
    /// Schemas as JSON, by kind and layer, with where each was registered.
    #[n(2)]
    schemas: BTreeMap<(String, Option<Layer>), (Lsn, String)>,
    #[n(3)]
    epoch: u64,
    /// Every time that any was set or taken back: its name, and the how manieth time it was.
    #[n(4)]
    set: BTreeMap<Lsn, (String, u32)>,
    /// Where each that holds was set.
    #[cbor(skip)]
    current: BTreeMap<String, Lsn>,
    /// Those of sharing, ready to be composed.
    #[cbor(skip)]
    sharing: BTreeMap<String, CheckedPolicy>,
}

/// A policy of sharing, proven; nothing if it is another one.
fn checked(name: &str, body: &str) -> Option<CheckedPolicy> {
    let policy: Policy = serde_json::from_str(body).ok()?;
    let (kind, sharing) = policy.sharing()?;
    sharing.check(name, kind).ok()
}

impl PoliciesView {
    /// Every policy, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, Policy)> {
        self.policies
            .iter()
            .filter_map(|(name, body)| Some((name.as_str(), serde_json::from_str(body).ok()?)))
    }

    /// How strict the write path is in a namespace, unless nobody said so.
    #[must_use]
    pub fn strictness(&self, namespace: &str) -> Option<Strictness> {
        self.write_path(namespace, |strictness, _| Strictness::from_word(strictness?))
    }

    /// What becomes of a write to a namespace that contradicts something known, unless nobody said so.
    #[must_use]
    pub fn on_conflict(&self, namespace: &str) -> Option<OnConflict> {
        self.write_path(namespace, |_, on_conflict| OnConflict::from_word(on_conflict?))
    }

    /// What a policy of the write path says: the one for the namespace, else the one for all of them.
    fn write_path<T>(
        &self,
        namespace: &str,
        says: impl Fn(Option<&str>, Option<&str>) -> Option<T>,
    ) -> Option<T> {
        let set = |wanted: Option<&str>| {
            self.all().find_map(|(_, policy)| {
                let Policy::WritePath { strictness, on_conflict, namespace } = policy else { return None };
                let applies = namespace.as_deref() == wanted;
                applies.then(|| says(strictness.as_deref(), on_conflict.as_deref()))?
            })
        };
        set(Some(namespace)).or_else(|| set(None))
    }

    /// Whether documents at this address are official.
    #[must_use]
    pub fn is_official(&self, uri: &str) -> bool {
        self.all().any(|(_, policy)| {
            let Policy::OfficialSources { prefixes } = policy else { return false };
            prefixes.iter().any(|prefix| uri.starts_with(prefix.as_str()))
        })
    }

    /// How many people must consent to a held write.
    #[must_use]
    pub fn approvals(&self) -> u32 {
        let set = self.all().filter_map(|(_, policy)| {
            let Policy::Approval { approvals } = policy else { return None };
            Some(approvals)
        });
        set.max().unwrap_or(1).max(1)
    }

    /// What the policies of a kind come to for a pair at a moment.
    #[must_use]
    pub fn composed(&self, kind: PolicyKind, pair: Pair, now: Timestamp) -> Composed {
        Composed::of(self.sharing.values(), kind, pair, now)
    }

    /// How often any policy was set.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes what a checkpoint leaves out.
    pub(super) fn index(&mut self) {
        let proven = |(name, body): (&String, &String)| Some((name.clone(), checked(name, body)?));
        self.sharing = self.policies.iter().filter_map(proven).collect();
        let last = self.set.iter().filter(|(_, (name, _))| self.policies.contains_key(name));
        self.current = last.map(|(lsn, (name, _))| (name.clone(), *lsn)).collect();
    }

    /// Where the policies of a composition were set, in order.
    #[must_use]
    pub fn set_at(&self, composed: &Composed) -> Vec<Lsn> {
        let mut places: Vec<Lsn> =
            composed.policies().filter_map(|name| self.current.get(name).copied()).collect();
        places.sort_unstable();
        places
    }

    /// The policy that was set there, and which version of it that was.
    #[must_use]
    pub fn set_there(&self, lsn: Lsn) -> Option<(&str, u32)> {
        self.set.get(&lsn).map(|(name, version)| (name.as_str(), *version))
    }

    /// The bounds of an agent; none, and it may write everywhere.
    #[must_use]
    pub fn bounds(&self, agent: AgentId) -> Vec<Bounds> {
        let bound = agent.to_string();
        let of_agent = self.all().filter_map(|(_, policy)| {
            let Policy::Bounds { agent, layers, namespaces, tags } = policy else { return None };
            let layers = layers.iter().filter_map(|word| Layer::from_word(word)).collect();
            (agent == bound).then_some(Bounds { layers, namespaces, tags })
        });
        of_agent.collect()
    }

    /// The ids of those who may look at the held writes of a user.
    #[must_use]
    pub fn reviewers_of(&self, user: &str) -> BTreeSet<String> {
        let reviewer = |(_, policy)| {
            let Policy::Reviewer { reviewer, user: of } = policy else { return None };
            (of == user && reviewer != user).then_some(reviewer)
        };
        self.all().filter_map(reviewer).collect()
    }

    /// Whether someone may look at the held writes of someone else.
    #[must_use]
    pub fn reviews(&self, reviewer: &str, user: &str) -> bool {
        self.all().any(|(_, policy)| {
            matches!(policy, Policy::Reviewer { reviewer: one, user: of } if one == reviewer && of == user)
        })
    }

    /// The public key of a runner, if one is registered by this name.
    #[must_use]
    pub fn runner(&self, name: &str) -> Option<Hash> {
        let policy: Policy = serde_json::from_str(self.policies.get(name)?).ok()?;
        if let Policy::Runner { public_key } = policy { unhex32(&public_key) } else { None }
    }

    /// Every schema, as JSON.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.values().map(|(_, schema)| schema.as_str())
    }

    /// The schema for a kind in a layer, or else for the kind in any, and where it was registered.
    #[must_use]
    pub fn schema(&self, kind: &str, layer: Layer) -> Option<(Lsn, &str)> {
        if self.schemas.is_empty() {
            return None;
        }
        let of = |layer| self.schemas.get(&(kind.to_owned(), layer));
        of(Some(layer)).or_else(|| of(None)).map(|(lsn, schema)| (*lsn, schema.as_str()))
    }

    /// Whether an agent may not write.
    #[must_use]
    pub fn is_suspended(&self, agent: AgentId) -> bool {
        self.suspended.contains_key(&agent)
    }

    /// Every agent that may not write, and since when.
    #[must_use]
    pub const fn suspensions(&self) -> &BTreeMap<AgentId, Suspension> {
        &self.suspended
    }

    fn count(&mut self, name: &str, lsn: Lsn) {
        let before = self.set.values().filter(|(known, _)| known == name).map(|(_, version)| *version).max();
        self.set.insert(lsn, (name.to_owned(), before.unwrap_or(0).saturating_add(1)));
        self.current.insert(name.to_owned(), lsn);
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened) {
        match (&entry.event, opened) {
            (Event::PolicySet, Opened::Policy(name, body)) => {
                let body = String::from_utf8_lossy(body).into_owned();
                self.epoch += 1;
                self.count(name, entry.lsn);
                self.sharing.remove(name);
                if body.is_empty() {
                    self.policies.remove(name);
                    self.current.remove(name);
                } else {
                    self.sharing.extend(checked(name, &body).map(|policy| (name.clone(), policy)));
                    self.policies.insert(name.clone(), body);
                }
            }
            (Event::SchemaSet, Opened::Schema(schema)) => {
                let json = String::from_utf8_lossy(schema).into_owned();
                if let Ok(schema) = serde_json::from_str::<Schema>(&json) {
                    self.schemas.insert((schema.kind, schema.layer), (entry.lsn, json));
                }
            }
            // A second suspension changes neither since when nor why the first was.
            (Event::AgentSuspended { agent }, _) => {
                let (by, since, lsn) = (entry.actor, entry.time, entry.lsn);
                self.suspended.entry(*agent).or_insert(Suspension { by, since, lsn });
            }
            (Event::AgentResumed { agent }, _) => drop(self.suspended.remove(agent)),
            _ => {}
        }
    }
}
