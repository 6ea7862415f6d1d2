//! Calibration: a write for others is held against what is known, and against searches that others really made (CAL).
//!
//! The rules are in `core::trust`; here their facts are gathered and what follows from them is put into the log. Probes and
//! declared rounds are in memory alone: what somebody searched for is in no file. What was found with them is in the log.
//!
//! Where nobody audits, nothing is asked of a write: no vector, no wait, no entry. It is trusted by one half (CAL-43).

mod again;
mod counted;
mod domain;
mod lists;
mod probes;
mod rounds;
mod score;
mod session;
mod staged;
mod told;

pub(crate) use again::{recalibrate, run_if_due};
pub(crate) use counted::{kept_apart, score};
pub(crate) use probes::{Searched, note};
pub(crate) use rounds::declare;
pub(crate) use session::{Begun, Session, begin, committed, subject};
pub(crate) use staged::{attached, forget, keep};
pub(crate) use told::trust;

use crate::tenant::Tenant;
use domain::Domains;
use probes::Probes;
use rounds::Rounds;
use staged::StagedVectors;
use tabellion_core::canonical::Hash;
use tabellion_core::id::UserId;
use tabellion_core::item::Tier;
use tabellion_core::log::Space;
use tabellion_core::seal::Secret;
use tabellion_core::view::Class;

/// What calibration keeps at run time.
pub(crate) struct Calibrator {
    probes: Probes,
    rounds: Rounds,
    domains: Domains,
    turns: session::Turns,
    staged: StagedVectors,
    again: again::Pace,
    key: Secret,
}

impl Calibrator {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self {
            probes: Probes::default(),
            rounds: Rounds::default(),
            domains: Domains::default(),
            turns: session::Turns::default(),
            staged: StagedVectors::default(),
            again: again::Pace::default(),
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
