//! The trail: who did what. Users read their own rows, auditors all of them.

use crate::Call;
use crate::read::within;
use crate::reply::{AuditQuery, AuditRow, Page};
use crate::sequencer::TrailDraft;
use crate::tenant::{Shared, Tenant, storage};
use tabellion_core::access::Power;
use tabellion_core::error::Refusal;
use tabellion_core::log::{Actor, AuditRecord, Entry, Event, LogName, Lsn, Payload};
use tabellion_core::view::Views;
use tabellion_store::Record;

const PAGE_DEFAULT: u64 = 50;
/// Rows read at once while looking for those of one user.
const CHUNK: u64 = 512;
/// Rows looked at for one page: a user with few rows in a long trail pages on.
const SCAN_MAX: u64 = 65_536;

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
    let wanted = query.action.as_ref().is_none_or(|action| *action == audited.action);
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
    Some(AuditRow {
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
