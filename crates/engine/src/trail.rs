//! The trail: who did what. Users read their own rows, auditors all of them.

use crate::Call;
use crate::read::within;
use crate::reply::{AuditQuery, AuditRow, Page};
use crate::sequencer::TrailDraft;
use crate::tenant::{Shared, Tenant, storage};
use tabellion_core::access::Power;
use tabellion_core::error::Refusal;
use tabellion_core::id::{AgentId, ItemId, UserId};
use tabellion_core::log::{Actor, AuditRecord, Entry, Event, LogName, Lsn, Payload};
use tabellion_core::view::Views;
use tabellion_store::Record;

const PAGE_DEFAULT: u64 = 50;
/// Rows read at once while looking for those of one user.
const CHUNK: u64 = 512;
/// Rows looked at for one page: a user with few rows in a long trail pages on.
const SCAN_MAX: u64 = 65_536;
/// The action of rows that are left out unless they are asked for.
const COMPLETIONS: &str = "complete_id";

pub(crate) async fn audit(
    tenant: &Tenant,
    call: &Call,
    query: AuditQuery,
) -> Result<Page<AuditRow>, Refusal> {
    let result = page(tenant, call, &query);
    tenant.read_done(call, "audit", Vec::new(), result).await
}

/// Newest first. A cursor is the position before which the next page begins.
fn page(tenant: &Tenant, call: &Call, query: &AuditQuery) -> Result<Page<AuditRow>, Refusal> {
    let limit = within(query.limit, PAGE_DEFAULT, tenant.limits.page_max, "/limit")?;
    let size = tenant.shared.store.size(LogName::Audit).map_err(|error| storage(&error))?;
    let mut before = match tenant.place(&call.caller, query.cursor.as_deref())? {
        0 => size + 1,
        place => place.min(size + 1),
    };
    let floor = before.saturating_sub(SCAN_MAX);
    let mut rows = Vec::new();
    while before > 1 && before > floor {
        let from = before.saturating_sub(CHUNK).max(1);
        let count = usize::try_from(before - from).unwrap_or(0);
        let records = tenant
            .shared
            .store
            .records(LogName::Audit, Lsn::new(from), count)
            .map_err(|error| storage(&error))?;
        let views = tenant.shared.views.read();
        for record in records.iter().rev() {
            before = record.lsn.get();
            rows.extend(row(tenant, call, query, record, &views));
            if rows.len() as u64 == limit {
                drop(views);
                return Ok(Page { rows, next: next(tenant, call, before) });
            }
        }
        before = from;
    }
    Ok(Page { rows, next: next(tenant, call, before) })
}

fn next(tenant: &Tenant, call: &Call, before: u64) -> Option<String> {
    (before > 1).then(|| tenant.cursor(&call.caller, before))
}

/// The row, if the caller may see it and asked for it.
fn row(tenant: &Tenant, call: &Call, query: &AuditQuery, record: &Record, views: &Views) -> Option<AuditRow> {
    let entry = Entry::decode(&record.body).ok()?;
    let Event::Audited(audited) = &entry.event else { return None };
    let all = call.caller.may(Power::Audit);
    let own = entry.actor.user == Some(call.caller.user());
    // A client that completes ids asks with nearly every command; such rows are shown to whoever asks for them.
    let wanted = match &query.action {
        Some(action) => *action == audited.action,
        None => audited.action != COMPLETIONS,
    };
    if !((all || own) && wanted) {
        return None;
    }
    let reason = match crate::fold::unseal(record, &entry, &tenant.shared.keys, tenant.shared.tenant) {
        Ok(Some(Payload::Reason(reason))) => Some(reason),
        _ => None,
    };
    let Event::Audited(audited) = entry.event else { return None };
    let shaped = audited.shaped.unwrap_or_default();
    let named = |lsn: &Lsn| views.policies.set_there(*lsn).map(|(name, version)| (name.to_owned(), version));
    let author = reason.as_ref().filter(|_| all).and_then(|_| author_of(&audited.ids, views));
    Some(AuditRow {
        author,
        time: entry.time,
        user: entry.actor.user,
        agent: entry.actor.agent,
        action: audited.action,
        outcome: audited.outcome,
        ids: audited.ids,
        reason,
        request_id: audited.request_id,
        epoch: audited.epoch,
        policies: shaped.policies.iter().filter_map(named).collect(),
        transformed: shaped.transformed,
        lsn: all.then(|| entry.lsn.get()),
    })
}

/// Who contributed the one item that a row is about.
fn author_of(ids: &[String], views: &Views) -> Option<(UserId, Option<AgentId>)> {
    let mut items = ids.iter().filter_map(|id| id.parse::<ItemId>().ok());
    let item = items.next().filter(|_| items.next().is_none())?;
    let last = views.items.versions_of(views.items.find_item(item)?).next_back()?;
    Some((last.owner, last.agent))
}

impl Tenant {
    /// A row for the trail with the reason that was given: as a moderator, or for the act itself.
    pub(crate) fn row_because(
        &self,
        call: &Call,
        action: &str,
        outcome: &str,
        ids: Vec<String>,
        reason: Option<&str>,
    ) -> TrailDraft {
        let row = self.row(call, action, outcome, ids);
        match reason.filter(|reason| !reason.trim().is_empty() && !call.caller.moderates()) {
            None => row,
            Some(reason) => {
                TrailDraft { sealed: self.seal(&Payload::Reason(reason.to_owned())).map(Some), ..row }
            }
        }
    }
}

/// A row for what the server does by itself.
pub(crate) fn server_row(shared: &Shared, action: &str, outcome: &str, ids: Vec<String>) -> TrailDraft {
    let (epoch, memory) = {
        let views = shared.views.read();
        (views.access_epoch(), views.lsn())
    };
    let record = AuditRecord {
        action: action.to_owned(),
        outcome: outcome.to_owned(),
        epoch,
        memory,
        ids,
        query: None,
        request_id: None,
        trace: None,
        shaped: None,
    };
    TrailDraft { actor: Actor::SERVER, record, sealed: Ok(None) }
}
