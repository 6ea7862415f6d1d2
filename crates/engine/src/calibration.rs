//! Calibration: a write for others is held against what is known, and against searches that others really made (CAL).
//!
//! The rules are in `core::trust`; here their facts are gathered and what follows from them is put into the log. Probes and
//! declared rounds are in memory alone: what somebody searched for is in no file. What was found with them is in the log.
//!
//! What is written for others is scored, in a round and outside. In a round that a person declared the score gates; elsewhere it
//! weighs, and keeps out a magnet alone. Of a private write outside of a round nothing is asked: no vector, no wait, no entry.

mod again;
mod counted;
mod domain;
mod evidence;
mod graph_domain;
mod graph_score;
mod labels;
mod lists;
mod probes;
mod queues;
mod revived;
mod rounds;
mod score;
mod session;
mod staged;
mod staged_relations;
mod together;
mod told;
mod walks;

pub(crate) use again::{recalibrate, run_if_due};
pub(crate) use counted::{kept_apart, score};
pub(crate) use evidence::{Used, contradicted, outcome};
pub(crate) use probes::{Searched, note};
pub(crate) use revived::start;
pub(crate) use rounds::declare;
pub(crate) use session::{Begun, Session, begin, committed, subject};
pub(crate) use staged::{attached, echoed, forget, keep};
pub(crate) use together::{Together, together};
pub(crate) use told::trust;
pub(crate) use walks::{Trod, note_walk};

use crate::reply::{RoundDraft, RoundReply, TrustQuery, TrustReply};
use crate::tenant::Tenant;
use crate::{Call, Engine};
use domain::Domains;
use graph_domain::GraphDomains;
use labels::Labels;
use probes::Probes;
use rounds::Rounds;
use staged::StagedVectors;
use staged_relations::StagedTies;
use std::sync::atomic::AtomicU32;
use tabellion_core::canonical::Hash;
use tabellion_core::error::Refusal;
use tabellion_core::id::UserId;
use tabellion_core::item::Tier;
use tabellion_core::log::Space;
use tabellion_core::seal::Secret;
use tabellion_core::view::Class;
use walks::Walks;

/// What calibration keeps at run time.
pub(crate) struct Calibrator {
    probes: Probes,
    walks: Walks,
    rounds: Rounds,
    domains: Domains,
    graphs: GraphDomains,
    labels: Labels,
    turns: session::Turns,
    staged: StagedVectors,
    staged_ties: StagedTies,
    again: again::Pace,
    /// Writes in a row for which no model gave a vector in time.
    missed: AtomicU32,
    key: Secret,
}

impl Calibrator {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self {
            probes: Probes::default(),
            walks: Walks::default(),
            rounds: Rounds::default(),
            domains: Domains::default(),
            graphs: GraphDomains::default(),
            labels: Labels::default(),
            turns: session::Turns::default(),
            staged: StagedVectors::default(),
            staged_ties: StagedTies::default(),
            again: again::Pace::default(),
            missed: AtomicU32::new(0),
            key: secret.derive("tabellion/v1/calibration"),
        }
    }
}

/// What tells a namespace apart, for whoever has the tenant's key.
pub(crate) fn namespace_print(tenant: &Tenant, namespace: &str) -> Hash {
    tenant.fingerprint(&[b"namespace", namespace.as_bytes()])
}

/// Where something of this class is scored.
fn space_of(tenant: &Tenant, namespace: &str, owner: UserId, class: &Class) -> Space {
    let plain = class.labels.is_empty() && class.secrecy == tabellion_core::item::Secrecy::default();
    let labels = || {
        let secrecy = serde_json::to_vec(&class.secrecy).unwrap_or_default();
        let parts: Vec<&[u8]> = [b"labels".as_slice(), &secrecy]
            .into_iter()
            .chain(class.labels.iter().map(String::as_bytes))
            .collect();
        tenant.fingerprint(&parts)
    };
    Space {
        namespace: namespace_print(tenant, namespace),
        tier: class.tier,
        owner: (class.tier == Tier::Private).then_some(owner),
        agents: class.agents.clone(),
        resources: class.resources.clone(),
        labels: (!plain).then(labels),
    }
}

impl Engine {
    /// Declares a round of several agents; its id is used as `trace_id` (CAL-40).
    ///
    /// # Errors
    /// When it is not well formed, or names what the caller may not use.
    pub async fn declare_round(&self, call: &Call, draft: RoundDraft) -> Result<RoundReply, Refusal> {
        declare(&*self.tenant(call)?, call, draft).await
    }

    /// How far things can be trusted, and why.
    ///
    /// # Errors
    /// When the item is missing or hidden.
    pub async fn trust_told(&self, call: &Call, query: &TrustQuery) -> Result<TrustReply, Refusal> {
        trust(&*self.tenant(call)?, call, query).await
    }

    /// Scores again what waits and what the least is known of. Tells how many moved.
    ///
    /// # Errors
    /// When the caller may not govern.
    pub async fn recalibrate(&self, call: &Call) -> Result<usize, Refusal> {
        recalibrate(&*self.tenant(call)?, call).await
    }

    /// How many pairs of user and agent are held or suspended now, over all tenants; for whoever watches the server.
    #[must_use]
    pub fn held_pairs(&self) -> usize {
        let held = |tenant: &std::sync::Arc<Tenant>| {
            let views = tenant.shared.views.read();
            let of =
                |agent: &tabellion_core::view::Agent| crate::identity::holds_of(tenant, &views, agent.id);
            views.identity.agents().iter().map(|agent| of(agent).len()).sum::<usize>()
        };
        self.inner.tenants.read().values().map(held).sum()
    }

    /// How many writes are kept apart, over all tenants; for whoever watches the server.
    #[must_use]
    pub fn kept_apart(&self) -> usize {
        self.inner.tenants.read().values().map(|tenant| kept_apart(tenant)).sum()
    }
}
