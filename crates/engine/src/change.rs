//! What can be done to an item that exists: retract, roll back, pin, unpin.

use crate::read::{content, item_id, named};
use crate::reply::{ChangeStatus, Changed};
use crate::sequencer::{Draft, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, write};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{ItemId, ProvenanceId, VersionId};
use tabellion_core::item::{Operation, Status};
use tabellion_core::log::{Event, Payload, WrittenVersion};
use tabellion_core::text::{LEGIBLE, is_legible};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Version, Views};

const REASON_CHARS_MAX: usize = 1_024;
const ATTEMPTS_MAX: usize = 16;

/// Which change.
#[derive(Clone)]
pub(crate) enum Change {
    Retract,
    Rollback(Option<String>),
    Pin,
    Unpin,
}

impl Change {
    const fn action(&self) -> &'static str {
        match self {
            Self::Retract => "retract",
            Self::Rollback(_) => "rollback",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
        }
    }
}

pub(crate) async fn change(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    change: Change,
    reason: Option<String>,
) -> Result<Changed, Refusal> {
    let action = change.action();
    for _ in 0..ATTEMPTS_MAX {
        let planned = match plan(tenant, call, id, &change, reason.as_deref()) {
            Ok(Planned::Log(planned)) => *planned,
            Ok(Planned::Working(changed)) => {
                let ids = vec![changed.id.to_string(), changed.version.to_string()];
                tenant.sequencer.trail_now(tenant.row(call, action, changed.status.as_str(), ids)).await?;
                return Ok(changed);
            }
            Err(refusal) => return Err(tenant.refused(call, action, named(id), refusal).await),
        };
        let (status, item, version) = (planned.status, planned.item, planned.version);
        match tenant.sequencer.propose(planned.proposal(tenant, call, action)).await {
            Ok(committed) => {
                return Ok(Changed {
                    status,
                    id: item,
                    version,
                    token: tenant.token(&call.caller, committed.lsn),
                });
            }
            Err(Objection::Refused(refusal)) => return Err(refusal),
            Err(Objection::Stale | Objection::Replayed(_)) => {}
        }
    }
    Err(Refusal::new(Code::VersionConflict, "the item keeps changing; try again"))
}

enum Planned {
    Log(Box<Plan>),
    Working(Changed),
}

struct Plan {
    status: ChangeStatus,
    item: ItemId,
    /// The version that the answer names.
    version: VersionId,
    /// The head that the plan was made against.
    head: VersionId,
    drafts: Vec<Draft>,
}

impl Plan {
    fn proposal(self, tenant: &Tenant, call: &Call, action: &str) -> Proposal {
        let (item, head) = (self.item, self.head);
        let trail =
            tenant.row(call, action, self.status.as_str(), vec![item.to_string(), self.version.to_string()]);
        let check = move |views: &Views, now: Timestamp| {
            let at = Moment { lsn: views.lsn(), time: now };
            let current = views.items.find_item(item).and_then(|item| views.items.head_at(item, at));
            if current.is_some_and(|current| current.id == head) { Ok(()) } else { Err(Objection::Stale) }
        };
        Proposal { drafts: self.drafts, touches: vec![Touch::Item(item)], check: Box::new(check), trail }
    }
}

fn plan(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    change: &Change,
    reason: Option<&str>,
) -> Result<Planned, Refusal> {
    let item = item_id(id)?;
    let reason = checked(reason)?;
    if matches!(change, Change::Retract)
        && let Some(gone) = tenant.working.remove(&call.caller, item, tenant.now())
    {
        let lsn = tenant.shared.views.read().lsn();
        let token = tenant.token(&call.caller, lsn);
        return Ok(Planned::Working(Changed {
            status: ChangeStatus::Retracted,
            id: item,
            version: gone.version,
            token,
        }));
    }
    let (head, predecessor) = {
        let views = tenant.shared.views.read();
        let at = tenant.moment(&views);
        let predicate = predicate(tenant, &call.caller, &views);
        let head = match change {
            Change::Rollback(Some(version)) => rolled_back_head(&views, item, version, &predicate, at)?,
            Change::Rollback(None) | Change::Retract | Change::Pin | Change::Unpin => {
                views.items.visible_head(item, &predicate, at).ok_or_else(Refusal::not_found)?.1
            }
        };
        crate::write::contributed(head, &predicate)?;
        let retracts = matches!(change, Change::Retract);
        crate::rights::may_change(&views, &call.caller, head, (retracts, at))?;
        if let Some(class) = views.items.class_of(head) {
            crate::rights::may_write(&views, &call.caller, class, at)?;
        }
        (head.clone(), predecessor(&views, head, at))
    };
    let draft = |event, reason: Option<&str>| {
        let payload = reason.map(|reason| Payload::Reason(reason.to_owned()));
        tenant.draft(call.caller.actor(), event, payload.as_ref())
    };
    let retract = || draft(Event::VersionRetracted { item, version: head.id }, reason);
    let (status, version, drafts) = match change {
        Change::Retract => (ChangeStatus::Retracted, head.id, vec![retract()?]),
        Change::Pin => (ChangeStatus::Pinned, head.id, vec![draft(Event::ItemPinned { item }, reason)?]),
        Change::Unpin => {
            (ChangeStatus::Unpinned, head.id, vec![draft(Event::ItemUnpinned { item }, reason)?])
        }
        Change::Rollback(_) => match &predecessor {
            None => (ChangeStatus::RolledBackNoPredecessor, head.id, vec![retract()?]),
            Some(before) => {
                let (version, restored) = restore(tenant, call, item, before, &head)?;
                (ChangeStatus::RolledBackWithReactivation, version, vec![retract()?, restored])
            }
        },
    };
    Ok(Planned::Log(Box::new(Plan { status, item, version, head: head.id, drafts })))
}

/// A reason within its length; an empty one is none.
pub(crate) fn checked(reason: Option<&str>) -> Result<Option<&str>, Refusal> {
    match reason {
        Some(text) if !text.is_empty() && (!is_legible(text) || text.chars().count() > REASON_CHARS_MAX) => {
            let expected = format!("at most {REASON_CHARS_MAX} characters {LEGIBLE}");
            let fault = Fault::new("/reason", Code::ConstraintViolation, expected);
            Err(Refusal::new(Code::SchemaInvalid, "the reason cannot be taken").with(vec![fault]))
        }
        other => Ok(other.filter(|text| !text.is_empty())),
    }
}

/// The named version, which must be the visible head of this very item.
fn rolled_back_head<'a>(
    views: &'a Views,
    item: ItemId,
    version: &str,
    predicate: &tabellion_core::access::Predicate,
    at: Moment,
) -> Result<&'a Version, Refusal> {
    let found = views.items.visible_item(item, predicate).ok_or_else(Refusal::not_found)?;
    let wanted: VersionId = version.parse().map_err(|_| Refusal::not_found())?;
    let named = views.items.versions_of(found).find(|version| version.id == wanted);
    let named = named.filter(|version| predicate.admits(version)).ok_or_else(Refusal::not_found)?;
    match views.items.head_at(found, at) {
        Some(head) if head.id == named.id => Ok(head),
        _ => Err(Refusal::new(
            Code::NotTheHead,
            "only the active head can be rolled back; read the item again",
        )),
    }
}

/// What the head replaced, if that is history and can come back.
fn predecessor(views: &Views, head: &Version, at: Moment) -> Option<Before> {
    let version = views
        .items
        .parents_of(head)
        .find(|parent| views.items.status_at(parent, at) == Some(Status::Superseded))?;
    let class = views.items.class_of(version)?;
    Some(Before {
        parents: views.items.parents_of(version).map(|parent| parent.id).collect(),
        agents: class.agents.clone(),
        resources: class.resources.clone(),
        namespace: views.items.namespace_of(version).to_owned(),
        version: version.clone(),
    })
}

/// A superseded version with what its row only numbers.
struct Before {
    version: Version,
    parents: Vec<VersionId>,
    agents: Vec<tabellion_core::id::AgentId>,
    resources: Vec<tabellion_core::id::ResourceId>,
    namespace: String,
}

/// A new version with an old one's content, evidence and standing; rolling it back leads to what was before the old one.
fn restore(
    tenant: &Tenant,
    call: &Call,
    item: ItemId,
    before: &Before,
    head: &Version,
) -> Result<(VersionId, Draft), Refusal> {
    let now = tenant.now();
    let version = VersionId::from_bytes(tenant.entropy.bytes());
    let (content, mut record) = content(tenant, before.version.lsn)?;
    record.provenance_id = ProvenanceId::from_bytes(tenant.entropy.bytes()).to_string();
    record.version_id = version.to_string();
    record.source_user_id = call.caller.user().to_string();
    record.source_agent_id = call.caller.agent().to_string();
    record.derived_from = vec![before.version.id.to_string()];
    record.supersedes = Some(head.id.to_string());
    record.created_at = now.to_string();
    record.updated_at = record.created_at.clone();
    let written = WrittenVersion {
        operation: Operation::Update,
        item,
        version,
        parents: before.parents.clone(),
        layer: before.version.layer,
        tier: before.version.tier,
        owner: before.version.owner,
        agents: before.agents.clone(),
        resources: before.resources.clone(),
        confidence: before.version.confidence,
        // A token of its own: a rollback is never the replay of a write.
        token: tenant.fingerprint(&[b"rollback", version.as_bytes()]),
        request: None,
        expires_at: before.version.expires_at,
        prints: before.version.prints,
        sources: vec![before.version.id],
        review: None,
        against: 0,
        origin: before.version.origin,
    };
    let canonical = content
        .canonical()
        .map_err(|_| Refusal::new(Code::Internal, "the old content has no canonical form"))?;
    let (provenance, signature) = write::sign(tenant, record)?;
    let payload = Payload::Version {
        content: canonical.into(),
        provenance: provenance.into(),
        signature,
        namespace: before.namespace.clone(),
    };
    let draft = tenant.draft(call.caller.actor(), Event::VersionWritten(written), Some(&payload))?;
    Ok((version, draft))
}
