//! Taking back what an agent wrote, and what was derived from it (GOV-11.9, AM-8).

use super::{agent_id, named_agent, waiting};
use crate::Call;
use crate::change::{Change, checked};
use crate::read;
use crate::reply::{ChangeStatus, LeftPrivate, RevertQuery, Reverted, RevertedItem, Skipped};
use crate::reverify;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tabellion_core::access::Power;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{AgentId, ItemId, UserId, VersionId};
use tabellion_core::item::{Status, Tier};
use tabellion_core::log::Lsn;
use tabellion_core::view::{Version, Views};

/// Items that one revert or one flagging of dependents touches at most.
const ITEMS_MAX: usize = 100_000;
/// Items that are shown with their texts.
const SHOWN_MAX: usize = 500;
/// Characters shown of such a text.
const SHOWN_CHARS_MAX: usize = 200;

/// Takes back all that an agent wrote in a period, for everybody or for one user, and what was derived from it: one's own, and
/// for a moderator what anybody shared (AM-8). Each item goes back to the newest version that is neither, or is retracted if there
/// is none. What still waits of such writes ends first, so that none becomes memory afterwards.
///
/// One item after another, so that whatever stops it, the same call again goes on where it stopped.
///
/// # Errors
/// When there is no such agent or user.
pub(crate) async fn revert(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    query: RevertQuery,
) -> Result<Reverted, Refusal> {
    let found = checked(Some(&query.reason)).and_then(|_| whose(tenant, agent, query.user.as_deref()));
    let whose = match found {
        Ok(whose) => whose,
        Err(refusal) => {
            return Err(tenant.refused(call, "revert_agent", named_agent(tenant, agent), refusal).await);
        }
    };
    let row = |outcome: &str| {
        let (agent, user) = whose;
        let ids = [agent.to_string()].into_iter().chain(user.map(|user| user.to_string())).collect();
        tenant.row_because(call, "revert_agent", outcome, ids, Some(&query.reason))
    };
    let waiting = waiting::of(tenant, call, whose, query.since..query.until)?;
    let private = private_of_others(tenant, call, whose, &query);
    if query.dry_run {
        let Concerned { written, derived, .. } = concerned(tenant, call, whose, &query);
        let items = shown(tenant, call, &written, &derived);
        tenant.trail_read(row("planned")).await?;
        let (held, queued) = waiting.count();
        let planned = Reverted::of(written, derived);
        return Ok(Reverted { items, held, queued, private, dry_run: true, ..planned });
    }
    // First, so that a revert that is stopped half-way is known, too.
    tenant.sequencer.trail_now(row("begun")).await?;
    let (held, queued) = waiting.end(tenant, call, &query.reason).await?;
    let Concerned { written, derived, tainted } = concerned(tenant, call, whose, &query);
    let blames = query.found_false.unwrap_or(whose.1.is_some());
    let items = shown(tenant, call, &written, &derived);
    let mut reverted = Reverted { held, queued, private, items, ..Reverted::of(written, derived) };
    let withdrawn: Vec<VersionId> = tainted.iter().copied().collect();
    take_back(tenant, call, &mut reverted, (Arc::new(tainted), blames), &query.reason).await;
    reverted.flagged = flagged(tenant, call, &withdrawn).await;
    let outcome = if reverted.skipped.is_empty() { "ok" } else { "incomplete" };
    tenant.sequencer.trail_now(row(outcome)).await?;
    Ok(reverted)
}

/// Takes the items back one after another. What the agent wrote may have been found false; what derives from it is blamed on nobody.
async fn take_back(
    tenant: &Tenant,
    call: &Call,
    reverted: &mut Reverted,
    (tainted, blames): (Arc<BTreeSet<VersionId>>, bool),
    reason: &str,
) {
    let written = reverted.written.iter().map(|item| (*item, blames));
    for (item, found_false) in written.chain(reverted.derived.iter().map(|item| (*item, false))) {
        let (change, why) = (Change::Revert(Arc::clone(&tainted), found_false), Some(reason.to_owned()));
        match crate::change::change(tenant, call, &item.to_string(), change, why).await {
            Ok(changed) if changed.status == ChangeStatus::RolledBackWithReactivation => {
                reverted.rolled_back += 1;
            }
            Ok(_) => reverted.retracted += 1,
            // Gone meanwhile, which is what was wanted.
            Err(refusal) if matches!(refusal.code, Code::NotFound | Code::NotTheHead) => {}
            Err(Refusal { code, message, .. }) => {
                reverted.skipped.push(Skipped { id: item, code, message });
            }
        }
    }
}

/// Flags what still rests on what was taken back, and counts what the caller may know of that. Where it cannot be flagged now, the
/// next round of verifying does it.
async fn flagged(tenant: &Tenant, call: &Call, withdrawn: &[VersionId]) -> usize {
    let gone: Vec<VersionId> = {
        let views = tenant.shared.views.read();
        let at = tenant.moment(&views);
        let is_gone = |id: &&VersionId| {
            let version = views.items.find_version(**id);
            version.is_some_and(|version| views.items.status_at(version, at) == Some(Status::Retracted))
        };
        withdrawn.iter().filter(is_gone).copied().collect()
    };
    let flagged = match reverify::flag_dependents(tenant, &gone).await {
        Ok(flagged) => flagged,
        Err(refusal) => {
            tracing::warn!(
                code = refusal.code.as_str(),
                "what rests on reverted items is flagged by the next sweep"
            );
            return 0;
        }
    };
    let views = tenant.shared.views.read();
    let own = predicate(tenant, &call.caller, &views);
    let moderator = call.caller.moderating("").ok().map(|caller| predicate(tenant, &caller, &views));
    let is_seen = |id: &&VersionId| {
        let version = views.items.find_version(**id);
        let admits = |version| {
            own.admits(version) || moderator.as_ref().is_some_and(|moderator| moderator.admits(version))
        };
        version.is_some_and(admits)
    };
    flagged.iter().filter(is_seen).count()
}

/// What the agent wrote for the private memory of other users and still holds, by user, as a moderator is told: only they take it back.
fn private_of_others(
    tenant: &Tenant,
    call: &Call,
    (agent, user): (AgentId, Option<UserId>),
    query: &RevertQuery,
) -> Vec<LeftPrivate> {
    if !call.caller.is_person() || !call.caller.may(Power::Moderate) {
        return Vec::new();
    }
    let views = tenant.shared.views.read();
    let at = tenant.moment(&views);
    let is_left = |version: &&Version| {
        (query.since..query.until).contains(&version.time)
            && version.owner != call.caller.user()
            && user.is_none_or(|user| user == version.owner)
            && version.tier == Tier::Private
            && views.items.is_active_at(version, at)
    };
    let mut counts: BTreeMap<UserId, usize> = BTreeMap::new();
    for version in views.items.written_by(agent).filter(is_left).take(ITEMS_MAX) {
        *counts.entry(version.owner).or_default() += 1;
    }
    let name = |user| views.identity.user(user).map(|user| user.name.clone()).unwrap_or_default();
    counts.into_iter().map(|(user, count)| LeftPrivate { user: (user, name(user)), count }).collect()
}

/// The agent, and the one user whose writes are meant; nobody for everybody.
fn whose(tenant: &Tenant, agent: &str, user: Option<&str>) -> Result<(AgentId, Option<UserId>), Refusal> {
    let agent = agent_id(tenant, agent)?;
    let Some(name) = user else { return Ok((agent, None)) };
    let views = tenant.shared.views.read();
    let user = views.identity.find_user(name).map(|user| user.id);
    let missing = || Refusal::new(Code::NotFound, "no such user");
    Ok((agent, Some(user.ok_or_else(missing)?)))
}

/// What reverting is about.
struct Concerned {
    /// Items whose head the agent wrote.
    written: Vec<ItemId>,
    /// Items whose head derives from what it wrote.
    derived: Vec<ItemId>,
    /// The versions of both kinds.
    tainted: BTreeSet<VersionId>,
}

fn concerned(
    tenant: &Tenant,
    call: &Call,
    (agent, user): (AgentId, Option<UserId>),
    query: &RevertQuery,
) -> Concerned {
    let views = tenant.shared.views.read();
    let at = tenant.moment(&views);
    let own = predicate(tenant, &call.caller, &views);
    let moderator = call.caller.moderating("").ok().map(|caller| predicate(tenant, &caller, &views));
    let seen = |version: &Version| {
        own.admits(version) || moderator.as_ref().is_some_and(|predicate| predicate.admits(version))
    };
    let meant = |version: &&Version| {
        (query.since..query.until).contains(&version.time)
            && user.is_none_or(|user| user == version.owner)
            && seen(version)
    };
    let wrote = views.items.written_by(agent).filter(meant);
    let written: Vec<VersionId> = wrote.take(ITEMS_MAX).map(|version| version.id).collect();
    let derived = dependents(&views, &written, &seen);
    // Oldest first.
    let items = |versions: &mut dyn Iterator<Item = VersionId>| -> BTreeSet<(Lsn, ItemId)> {
        let versions = versions.filter_map(|version| views.items.find_version(version));
        let heads = versions.filter_map(|version| {
            let item = views.items.item_of(version)?;
            let head = views.items.head_at(item, at).filter(|head| head.id == version.id)?;
            Some((head.lsn, item.id))
        });
        heads.collect()
    };
    let of_agent = items(&mut written.iter().copied());
    let of_others = items(&mut derived.iter().copied());
    Concerned {
        derived: of_others.difference(&of_agent).map(|(_, item)| *item).collect(),
        written: of_agent.into_iter().map(|(_, item)| item).collect(),
        tainted: written.into_iter().chain(derived).collect(),
    }
}

/// The first items with their texts and users, as the caller may read them: their own, or as a moderator.
fn shown(tenant: &Tenant, call: &Call, written: &[ItemId], derived: &[ItemId]) -> Vec<RevertedItem> {
    let moderator = call.caller.moderating("revert").ok();
    let of = |(id, derived): (&ItemId, bool)| {
        let (head, user, agent) = {
            let views = tenant.shared.views.read();
            let head = views.items.head_at(views.items.find_item(*id)?, tenant.moment(&views))?;
            let name = views.identity.user(head.owner).map(|user| user.name.clone()).unwrap_or_default();
            let agent = head.agent.and_then(|agent| views.identity.agent(agent));
            (head.id, (head.owner, name), agent.map(|agent| (agent.id, agent.words.name.clone())))
        };
        let own = read::shown_version(tenant, &call.caller, head);
        let item = own.or_else(|| read::shown_version(tenant, moderator.as_ref()?, head));
        let text = item.map(|item| read::shortened(&item.content.text, SHOWN_CHARS_MAX));
        Some(RevertedItem { id: *id, user, agent, text, derived })
    };
    let written = written.iter().map(|id| (id, false));
    written.chain(derived.iter().map(|id| (id, true))).take(SHOWN_MAX).filter_map(of).collect()
}

/// The versions that derive, over however many steps, from these.
pub(crate) fn dependents(
    views: &Views,
    from: &[VersionId],
    seen: &dyn Fn(&Version) -> bool,
) -> BTreeSet<VersionId> {
    let mut visited = BTreeSet::new();
    let mut open: VecDeque<VersionId> = from.iter().copied().collect();
    while let Some(version) = open.pop_front() {
        for dependent in views.items.dependents_of(version).filter(|version| seen(version)) {
            if visited.len() < ITEMS_MAX && visited.insert(dependent.id) {
                open.push_back(dependent.id);
            }
        }
    }
    visited
}
