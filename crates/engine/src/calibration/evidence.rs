//! What comes in after a write was scored: how it went when somebody used it, and what was found to speak against it (CAL-33).
//!
//! Invariant (every viewer sees the cause): evidence moves the trust of a version only if everyone who sees the version may see
//! where the evidence comes from (SHARE-39). What was searched for in private is nobody's evidence but its user's (SHARE-45).

use super::again::gate_of;
use super::space_of;
use crate::Call;
use crate::sequencer::Draft;
use crate::tenant::Tenant;
use tabellion_core::access::Deed;
use tabellion_core::error::Refusal;
use tabellion_core::id::{UserId, VersionId};
use tabellion_core::item::{RELATION, Tier};
use tabellion_core::log::{
    Actor, Calibration, Event, Mark, MemoryKind, Party, Reason, Space, TrustMove, Weighed,
};
use tabellion_core::trust::{Evidence, Stored, demotes};
use tabellion_core::view::{Class, Known, Row, Standing, Views};

/// Neither good nor bad.
const NEUTRAL: f64 = 0.5;

/// What was used of a search, and how it went.
pub(crate) struct Used<'a> {
    pub(crate) versions: &'a [VersionId],
    pub(crate) good: bool,
    /// Whether the search was shared work, by its flag or its round.
    pub(crate) open: bool,
}

/// The entries that a reported outcome makes.
pub(crate) fn outcome(tenant: &Tenant, call: &Call, used: &Used<'_>) -> Result<Vec<Draft>, Refusal> {
    let views = tenant.shared.views.read();
    let told = used.versions.iter().filter_map(|version| told(tenant, &views, call, used, *version));
    drafts(tenant, told.flatten())
}

/// What an outcome says of one version, if it may: never of what the reporter's own party wrote, and once.
fn told(
    tenant: &Tenant,
    views: &Views,
    call: &Call,
    used: &Used<'_>,
    version: VersionId,
) -> Option<Vec<Event>> {
    let subject = Subject::of(tenant, views, version)?;
    let (user, agent) = (call.caller.user(), call.caller.agent());
    let party = match subject.party {
        Party::Agent(_) => Party::Agent(agent),
        Party::User(_) => Party::User(user),
    };
    let in_sight = subject.space.agents.contains(&agent)
        && match subject.space.tier {
            Tier::Shared => used.open,
            Tier::Private => subject.space.owner == Some(user),
        };
    if !in_sight || party == subject.party || subject.was_told(Reason::Outcome, Some(party)) {
        return None;
    }
    let evidence = Evidence::Outcome { good: used.good, weight: subject.known().weight(agent) };
    Some(subject.moved(Reason::Outcome, evidence, vec![party]))
}

/// What speaks against versions was confirmed: by a person who let it in, or by a second look.
///
/// `cause` is the class of what speaks against them and whose it is; nothing where whoever sees them sees it in any case.
pub(crate) fn contradicted(
    tenant: &Tenant,
    versions: &[VersionId],
    cause: Option<(&str, UserId, &Class)>,
) -> Result<Vec<Draft>, Refusal> {
    let cause = cause.map(|(namespace, owner, class)| space_of(tenant, namespace, owner, class));
    let views = tenant.shared.views.read();
    let told = |version: &VersionId| {
        // A sweep may find it at any time, so it says nothing of what was never weighed: how far that is trusted would hang on when.
        let subject = Subject::of(tenant, &views, *version).filter(|subject| subject.begins.is_none())?;
        let in_sight = cause.as_ref().is_none_or(|cause| subject.counts(cause));
        let is_new = in_sight && !subject.was_told(Reason::Contradicted, None);
        is_new.then(|| subject.moved(Reason::Contradicted, Evidence::Contradicted, Vec::new()))
    };
    drafts(tenant, versions.iter().filter_map(told).flatten())
}

fn drafts(tenant: &Tenant, events: impl Iterator<Item = Event>) -> Result<Vec<Draft>, Refusal> {
    events.map(|one| tenant.draft(Actor::SERVER, one, None)).collect()
}

/// A version, and where it was scored or would have been.
struct Subject<'a> {
    views: &'a Views,
    version: VersionId,
    row: Row,
    stored: Stored,
    party: Party,
    kind: MemoryKind,
    space: Space,
    /// What gives it a standing, if nobody audited it when it was written.
    begins: Option<Calibration>,
}

impl<'a> Subject<'a> {
    fn of(tenant: &Tenant, views: &'a Views, version: VersionId) -> Option<Self> {
        let row = views.items.row_of(version)?;
        if let Some(standing) = views.trust.standing(row) {
            let space = views.trust.space(standing.space)?.clone();
            let Standing { stored, party, kind, .. } = *standing;
            return Some(Self { views, version, row, stored, party, kind, space, begins: None });
        }
        let begins = unaudited(tenant, views, version)?;
        let (party, kind, space) = (begins.party, begins.kind, begins.space.clone());
        let stored = Stored::default();
        Some(Self { views, version, row, stored, party, kind, space, begins: Some(begins) })
    }

    fn was_told(&self, reason: Reason, party: Option<Party>) -> bool {
        self.views.trust.has_heard(self.row, reason, party)
    }

    /// Whether what lies there may have a part in this one's trust.
    fn counts(&self, other: &Space) -> bool {
        let by_cedar = self.views.cedar.rules().concern(Deed::Read);
        if by_cedar { *other == self.space } else { self.space.dominates(other) }
    }

    fn known(&self) -> Known {
        self.views.trust.known(self.kind, |other| self.counts(other))
    }

    fn moved(self, reason: Reason, evidence: Evidence, parties: Vec<Party>) -> Vec<Event> {
        let (score, mass) = evidence.parts();
        let demoted = demotes(self.stored.with(score, mass), gate_of(&self.known()).threshold);
        let weighed = Weighed::Version(self.version);
        let moved =
            TrustMove { weighed, reason, score, mass, parties, detect: None, demoted, agreement: None };
        self.begins.map(Event::Calibrated).into_iter().chain([Event::TrustMoved(moved)]).collect()
    }
}

/// The standing of what nobody audited: as far from good as from bad (CAL-43).
fn unaudited(tenant: &Tenant, views: &Views, version: VersionId) -> Option<Calibration> {
    let found = views.items.find_version(version)?;
    let class = views.items.class_of(found)?;
    if !class.layer.is_durable() {
        return None;
    }
    let namespace = views.items.namespace_of(found);
    Some(Calibration {
        weighed: Weighed::Version(version),
        space: space_of(tenant, namespace, found.owner, class),
        kind: if class.kind == RELATION { MemoryKind::Relations } else { MemoryKind::Items },
        party: Party::User(found.owner),
        detect: NEUTRAL,
        align: NEUTRAL,
        rho: NEUTRAL,
        threshold: NEUTRAL,
        stored: Stored::default(),
        mark: Mark::Provisional,
        audits: Vec::new(),
        gated: false,
        ways: None,
        agreement: None,
    })
}
