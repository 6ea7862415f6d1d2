//! What can be done to an item that exists: retract, roll back, pin, unpin.

use crate::read::{content, item_id, named};
use crate::reply::{ChangeStatus, Changed};
use crate::sequencer::{Draft, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, write};
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tabellion_core::access::{Power, Predicate};
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
    /// Takes the head back if it is one of these, to the newest version before it that is none of them; and whether that says
    /// that it was false.
    Revert(Arc<BTreeSet<VersionId>>, bool),
    Pin,
    Unpin,
}

impl Change {
    const fn action(&self) -> &'static str {
        match self {
            Self::Retract => "retract",
            Self::Rollback(_) => "rollback",
            Self::Revert(..) => "revert",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
        }
    }
}

impl Change {
    /// Whether a moderator may do it to what others share.
    const fn is_for_moderators(&self) -> bool {
        match self {
            Self::Retract | Self::Revert(..) => true,
            Self::Rollback(_) | Self::Pin | Self::Unpin => false,
        }
    }
}

/// What was planned, or where the caller may not or does not see it, what the caller plans as a moderator (AM-8). Whoever may
/// not moderate gets the first answer, and so does a moderator about what is private or missing.
pub(crate) fn moderated<'a, T>(
    call: &'a Call,
    planned: Result<T, Refusal>,
    reason: Option<&str>,
    is_open: bool,
    plan: impl FnOnce(&Call) -> Result<T, Refusal>,
) -> (Cow<'a, Call>, Result<T, Refusal>) {
    let own = Cow::Borrowed(call);
    let refusal = match planned {
        Err(refusal) if is_open => refusal,
        planned => return (own, planned),
    };
    let is_closed = matches!(refusal.code, Code::NotFound | Code::NotContributor | Code::Forbidden);
    let caller = &call.caller;
    if !is_closed || caller.moderates() || !caller.is_person() || !caller.may(Power::Moderate) {
        return (own, Err(refusal));
    }
    let given = reason.filter(|reason| !reason.trim().is_empty());
    let Ok(caller) = caller.moderating(given.unwrap_or("none given")) else { return (own, Err(refusal)) };
    let call = Call { caller, ..call.clone() };
    match (plan(&call), given) {
        (Err(second), _) if second.code == Code::NotFound => (own, Err(refusal)),
        (Ok(_), None) => (own, Err(needs_reason("/reason"))),
        (planned, _) => (Cow::Owned(call), planned),
    }
}

/// The refusal of moderation without a reason.
pub(crate) fn needs_reason(path: &str) -> Refusal {
    let expected = format!("why, in 1 to {REASON_CHARS_MAX} characters; the audit log keeps it");
    let fault = Fault::new(path, Code::MissingRequiredField, expected);
    Refusal::new(Code::SchemaInvalid, "moderating what others share needs a reason").with(vec![fault])
}

pub(crate) async fn change(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    change: Change,
    reason: Option<String>,
) -> Result<Changed, Refusal> {
    let action = change.action();
    if let Err(refusal) = crate::flow::not_suspended(tenant, call) {
        return Err(tenant.refused(call, action, named(id), refusal).await);
    }
    for _ in 0..ATTEMPTS_MAX {
        let planned = plan(tenant, call, id, &change, reason.as_deref());
        let (call, planned) =
            moderated(call, planned, reason.as_deref(), change.is_for_moderators(), |call| {
                plan(tenant, call, id, &change, reason.as_deref())
            });
        let call = &*call;
        let planned = match planned {
            Ok(Planned::Log(planned)) => *planned,
            Ok(Planned::Working(changed)) => {
                let ids = vec![changed.id.to_string(), changed.version.to_string()];
                tenant.sequencer.trail_now(tenant.row(call, action, changed.status.as_str(), ids)).await?;
                return Ok(changed);
            }
            Err(refusal) => return Err(tenant.refused(call, action, named(id), refusal).await),
        };
        let (status, item, version) = (planned.status, planned.item, planned.version);
        let withdrawn = planned.withdrawn();
        let proposal = planned.proposal(tenant, call, action, reason.as_deref());
        match tenant.sequencer.propose(proposal).await {
            Ok(committed) => {
                if !matches!(change, Change::Revert(..)) {
                    flag_what_rests_on(tenant, &withdrawn).await;
                }
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
    /// The heads that the plan was made against: of the item, and of its copy for others where that changes with it.
    heads: Vec<(ItemId, VersionId)>,
    drafts: Vec<Draft>,
}

/// Flags what rests on versions that were taken back. Where that fails, the next round of verifying does it.
async fn flag_what_rests_on(tenant: &Tenant, withdrawn: &[VersionId]) {
    if !withdrawn.is_empty()
        && let Err(refusal) = crate::reverify::flag_dependents(tenant, withdrawn).await
    {
        tracing::warn!(
            code = refusal.code.as_str(),
            "what rests on a retracted item is flagged by the next sweep"
        );
    }
}

impl Plan {
    /// The heads that end with it; none if it only pins.
    fn withdrawn(&self) -> Vec<VersionId> {
        match self.status {
            ChangeStatus::Pinned | ChangeStatus::Unpinned => Vec::new(),
            _ => self.heads.iter().map(|(_, version)| *version).collect(),
        }
    }

    fn proposal(self, tenant: &Tenant, call: &Call, action: &str, reason: Option<&str>) -> Proposal {
        let ids = vec![self.item.to_string(), self.version.to_string()];
        let trail = tenant.row_because(call, action, self.status.as_str(), ids, reason);
        let touches = self.heads.iter().map(|(item, _)| Touch::Item(*item)).collect();
        let check = move |views: &Views, now: Timestamp| {
            let at = Moment { lsn: views.lsn(), time: now };
            let stands = |(item, head): &(ItemId, VersionId)| {
                let current = views.items.find_item(*item).and_then(|item| views.items.head_at(item, at));
                current.is_some_and(|current| current.id == *head)
            };
            if self.heads.iter().all(stands) { Ok(()) } else { Err(Objection::Stale) }
        };
        Proposal { drafts: self.drafts, touches, check: Box::new(check), trail }
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
        && !call.caller.moderates()
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
    let (head, predecessor, copy) = {
        let views = tenant.shared.views.read();
        let at = tenant.moment(&views);
        let predicate = predicate(tenant, &call.caller, &views);
        let head = match change {
            Change::Rollback(Some(version)) => rolled_back_head(&views, item, version, &predicate, at)?,
            Change::Rollback(None) => match views.items.visible_head(item, &predicate, at) {
                Some((_, head)) => head,
                None => return Err(without_head(&views, item, &predicate, at)),
            },
            Change::Retract | Change::Revert(..) | Change::Pin | Change::Unpin => {
                let missing = || missing(&views, item, call, &predicate, at);
                views.items.visible_head(item, &predicate, at).ok_or_else(missing)?.1
            }
        };
        if !call.caller.moderates() {
            crate::write::contributed(head, &predicate)?;
            let retracts = matches!(change, Change::Retract | Change::Revert(..));
            crate::rights::may_change(&views, &call.caller, head, (retracts, at))?;
            if let Some(class) = views.items.class_of(head) {
                crate::rights::may_write(&views, &call.caller, class, at)?;
            }
        }
        let before = match change {
            Change::Revert(tainted, _) if !tainted.contains(&head.id) => return Err(not_the_head()),
            Change::Revert(tainted, _) => untainted(&views, head, (tainted, &predicate), at),
            Change::Retract | Change::Rollback(_) | Change::Pin | Change::Unpin => {
                predecessor(&views, head, at)
            }
        };
        let copy = match change {
            Change::Retract => copy_to_take_back(&views, item, None, at),
            Change::Rollback(_) => copy_to_take_back(&views, item, before.as_ref(), at),
            // A revert takes the copies back by themselves.
            Change::Revert(..) | Change::Pin | Change::Unpin => None,
        };
        (head.clone(), before, copy)
    };
    let draft = |event, reason: Option<&str>| {
        let payload = reason.map(|reason| Payload::Reason(reason.to_owned()));
        tenant.draft(call.caller.actor(), event, payload.as_ref())
    };
    let found_false = match change {
        Change::Revert(_, found_false) => Some(*found_false),
        Change::Retract | Change::Rollback(_) | Change::Pin | Change::Unpin => None,
    };
    let retract = || draft(Event::VersionRetracted { item, version: head.id, found_false }, reason);
    let (status, version, mut drafts) = match change {
        Change::Retract => (ChangeStatus::Retracted, head.id, vec![retract()?]),
        Change::Pin => (ChangeStatus::Pinned, head.id, vec![draft(Event::ItemPinned { item }, reason)?]),
        Change::Unpin => {
            (ChangeStatus::Unpinned, head.id, vec![draft(Event::ItemUnpinned { item }, reason)?])
        }
        Change::Rollback(_) | Change::Revert(..) => match &predecessor {
            None => (ChangeStatus::RolledBackNoPredecessor, head.id, vec![retract()?]),
            Some(before) => {
                let (version, restored) = restore(tenant, call, item, before, &head)?;
                (ChangeStatus::RolledBackWithReactivation, version, vec![retract()?, restored])
            }
        },
    };
    let mut heads = vec![(item, head.id)];
    if let Some(copy) = copy {
        heads.push((copy.item, copy.head.id));
        let event = Event::VersionRetracted { item: copy.item, version: copy.head.id, found_false };
        drafts.push(draft(event, reason)?);
        if let Some(before) = &copy.before {
            drafts.push(restore(tenant, call, copy.item, before, &copy.head)?.1);
        }
    }
    Ok(Planned::Log(Box::new(Plan { status, item, version, heads, drafts })))
}

/// Why an item has no head for the caller. Whoever contributed one that is in quarantine is told so: it is theirs.
fn missing(views: &Views, item: ItemId, call: &Call, predicate: &Predicate, at: Moment) -> Refusal {
    let found = views.items.visible_item(item, predicate);
    let head = found.and_then(|item| views.items.head_in_quarantine(item, at));
    let own = head.filter(|head| head.owner == call.caller.user() && predicate.admits(head));
    let missing = Refusal::not_found();
    match own {
        None => missing,
        Some(_) => {
            let message = "your item is in quarantine, so that nobody finds it; `tabellion release ID` by whoever put it there, or by \
                           a moderator, brings it back";
            Refusal { message: message.to_owned(), ..missing }
        }
    }
}

/// The copy for others of an item whose head is taken back.
struct CopyToTakeBack {
    item: ItemId,
    head: Version,
    /// What others see again.
    before: Option<Before>,
}

/// The copy that others have of an item, unless it is as old as what the item goes back to: nobody else keeps what its writer
/// has taken back.
fn copy_to_take_back(
    views: &Views,
    item: ItemId,
    restored: Option<&Before>,
    at: Moment,
) -> Option<CopyToTakeBack> {
    let copy = views.items.copy_of(item)?;
    let head = views.items.head_at(copy, at)?;
    let is_older = |restored: &Before| head.lsn <= restored.version.lsn;
    if restored.is_some_and(is_older) {
        return None;
    }
    let before = restored.and_then(|_| predecessor(views, head, at));
    Some(CopyToTakeBack { item: copy.id, head: head.clone(), before })
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
    predicate: &Predicate,
    at: Moment,
) -> Result<&'a Version, Refusal> {
    let found = views.items.visible_item(item, predicate).ok_or_else(Refusal::not_found)?;
    let wanted: VersionId = version.parse().map_err(|_| Refusal::not_found())?;
    let named = views.items.versions_of(found).find(|version| version.id == wanted);
    let named = named.filter(|version| predicate.admits(version)).ok_or_else(Refusal::not_found)?;
    match views.items.head_at(found, at) {
        Some(head) if head.id == named.id => Ok(head),
        _ => Err(not_the_head()),
    }
}

/// Why an item without a head cannot be rolled back. What is hidden, in quarantine or was never there is missing.
fn without_head(views: &Views, item: ItemId, predicate: &Predicate, at: Moment) -> Refusal {
    let found = views.items.visible_item(item, predicate).filter(|item| !item.is_quarantined_at(at.lsn));
    let last = found.and_then(|item| views.items.versions_of(item).next_back());
    let is_retracted = |last: &&Version| {
        predicate.admits(last) && views.items.status_at(last, at) == Some(Status::Retracted)
    };
    if last.filter(is_retracted).is_none() {
        return Refusal::not_found();
    }
    let message = "the item was retracted, so there is no head to roll back: `tabellion history ID` shows its versions, and a new \
                   write says one of them again";
    Refusal::new(Code::NotTheHead, message)
}

fn not_the_head() -> Refusal {
    Refusal::new(Code::NotTheHead, "only the active head can be rolled back; read the item again")
}

/// What the head replaced, if that is history and can come back.
fn predecessor(views: &Views, head: &Version, at: Moment) -> Option<Before> {
    let version = views.items.parents_of(head).find(|parent| {
        is_of_its_place(parent, head) && views.items.status_at(parent, at) == Some(Status::Superseded)
    })?;
    before(views, version, at)
}

/// Whether a version can come back in the item of another one: it is of the same user, tier and layer.
fn is_of_its_place(version: &Version, head: &Version) -> bool {
    (version.owner, version.tier, version.layer) == (head.owner, head.tier, head.layer)
}

/// The newest version before the head that is not tainted, that was superseded and not taken back, and that the caller sees.
fn untainted(
    views: &Views,
    head: &Version,
    (tainted, predicate): (&BTreeSet<VersionId>, &Predicate),
    at: Moment,
) -> Option<Before> {
    let mut open: VecDeque<&Version> = views.items.parents_of(head).collect();
    let mut visited = BTreeSet::new();
    while let Some(version) = open.pop_front() {
        if !visited.insert(version.id) {
            continue;
        }
        let can_come_back = !tainted.contains(&version.id)
            && is_of_its_place(version, head)
            && views.items.status_at(version, at) == Some(Status::Superseded)
            && predicate.admits(version);
        if can_come_back {
            return before(views, version, at);
        }
        open.extend(views.items.parents_of(version));
    }
    None
}

/// What comes back of a version; nothing if its lifetime is over: without what took its place it would be gone by now as well.
fn before(views: &Views, version: &Version, at: Moment) -> Option<Before> {
    let class = views.items.class_of(version).filter(|_| views.items.outlives(version, at))?;
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
        said_at: None,
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
