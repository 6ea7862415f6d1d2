//! Items under suspicion: kept, but not retrievable (GOV-11.10).
//!
//! Invariant (who imposes, lifts): a quarantine ends by whoever imposed it, by a person with power over it, or by a moderator.
//! An agent never lifts one that somebody else imposed (AM-22).

use super::revert::dependents;
use crate::change::{checked, moderated};
use crate::read::item_id;
use crate::reply::{ChangeStatus, Changed, Quarantined};
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, flow, rights};
use std::collections::BTreeSet;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::log::{Event, Lsn, Payload};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Quarantine, Version, Views};

/// Puts an item under quarantine or releases it, and names what depends on it.
///
/// # Errors
/// When the item is missing or hidden, is so already, or the caller may not.
pub(crate) async fn quarantine(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    on: bool,
    reason: &str,
) -> Result<Quarantined, Refusal> {
    let action = if on { "quarantine" } else { "release" };
    let may_act = checked(Some(reason)).and_then(|_| flow::not_suspended(tenant, call));
    let planned = may_act.and_then(|()| plan(tenant, call, id, on));
    let (call, planned) = moderated(call, planned, Some(reason), true, |call| plan(tenant, call, id, on));
    let call = &*call;
    let Plan { item, version, dependents, before } = match planned {
        Ok(planned) => planned,
        Err(refusal) => return Err(tenant.refused(call, action, crate::read::named(id), refusal).await),
    };
    let event = if on { Event::ItemQuarantined { item } } else { Event::ItemReleased { item } };
    let payload = Payload::Reason(reason.to_owned());
    let draft = tenant.draft(call.caller.actor(), event, Some(&payload))?;
    let trail = tenant.row_because(call, action, "ok", vec![item.to_string()], Some(reason));
    let check = move |views: &Views, _: Timestamp| {
        let now = views.items.find_item(item).and_then(|item| item.quarantine()).map(|one| one.lsn);
        if now == before { Ok(()) } else { Err(Objection::Stale) }
    };
    let touches = vec![Touch::Item(item)];
    let proposal = Proposal { drafts: vec![draft], touches, check: Box::new(check), trail };
    let committed = tenant.sequencer.propose(proposal).await.map_err(|objection| match objection {
        Objection::Refused(refusal) => refusal,
        Objection::Stale | Objection::Replayed(_) => crate::write::keeps_changing(),
    })?;
    let status = if on { ChangeStatus::Quarantined } else { ChangeStatus::Released };
    let token = tenant.token(&call.caller, committed.lsn);
    Ok(Quarantined { changed: Changed { status, id: item, version, token }, dependents })
}

struct Plan {
    item: ItemId,
    version: VersionId,
    dependents: Vec<ItemId>,
    /// Where the quarantine began that the item is in.
    before: Option<Lsn>,
}

fn plan(tenant: &Tenant, call: &Call, id: &str, on: bool) -> Result<Plan, Refusal> {
    let item = item_id(id)?;
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, &views);
    let found = views.items.visible_item(item, &predicate).ok_or_else(Refusal::not_found)?;
    let last = views.items.versions_of(found).next_back().filter(|version| predicate.admits(version));
    let last = last.ok_or_else(Refusal::not_found)?;
    let current = found.quarantine();
    if !call.caller.moderates() {
        match current.filter(|_| !on) {
            Some(quarantine) => may_release(call, &views, last, quarantine)?,
            None => may_quarantine(tenant, call, &views, last)?,
        }
    }
    // A moderator's quarantine takes the place of another one, so that only a moderator ends it.
    let takes_over = |one: &Quarantine| call.caller.moderates() && one.by != call.caller.actor();
    let state = match current {
        Some(one) if on && !takes_over(one) => Some("in quarantine already"),
        None if !on => Some("not in quarantine"),
        Some(_) | None => None,
    };
    if let Some(state) = state {
        return Err(Refusal::new(Code::NotTheHead, format!("the item is {state}")));
    }
    let seen = |version: &Version| predicate.admits(version);
    let versions: Vec<VersionId> = views.items.versions_of(found).map(|version| version.id).collect();
    let dependents = dependents(&views, &versions, &seen);
    let items = dependents.iter().filter_map(|version| views.items.find_version(*version));
    let items: BTreeSet<ItemId> =
        items.filter_map(|one| views.items.item_of(one)).map(|one| one.id).collect();
    Ok(Plan {
        item,
        version: last.id,
        dependents: items.into_iter().filter(|one| *one != item).collect(),
        before: current.map(|one| one.lsn),
    })
}

/// Refuses the quarantine of an item that another user contributed, or that the agent may not take back.
fn may_quarantine(tenant: &Tenant, call: &Call, views: &Views, last: &Version) -> Result<(), Refusal> {
    let (caller, at) = (&call.caller, tenant.moment(views));
    contributed(call, last)?;
    rights::may_change(views, caller, last, (true, at))?;
    match views.items.class_of(last) {
        Some(class) => rights::may_write(views, caller, class, at),
        None => Ok(()),
    }
}

/// Refuses the release of an item whose quarantine somebody else imposed, but for a person with power over it.
fn may_release(call: &Call, views: &Views, last: &Version, one: &Quarantine) -> Result<(), Refusal> {
    let caller = &call.caller;
    if one.by == caller.actor() {
        return Ok(());
    }
    let is_person = views.identity.direct_agent() == Some(caller.agent());
    let reviews = views.policies.reviews(&caller.user().to_string(), &last.owner.to_string());
    if is_person && reviews {
        return Ok(());
    }
    contributed(call, last)?;
    if is_person && one.by.user.is_none_or(|user| user == caller.user()) {
        return Ok(());
    }
    let message = "somebody else put this item under quarantine; a moderator or a reviewer of its user lifts it: \
                   `tabellion release ID --reason …` with the key of that person";
    Err(Refusal::new(Code::Forbidden, message))
}

fn contributed(call: &Call, version: &Version) -> Result<(), Refusal> {
    if version.owner == call.caller.user() {
        return Ok(());
    }
    Err(Refusal::new(Code::NotContributor, "another user contributed this item; a moderator acts on it"))
}
