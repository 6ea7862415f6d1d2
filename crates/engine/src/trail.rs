//! The trail: who did what. Users read their own rows, auditors all of them.

use crate::Call;
use crate::read::within;
use crate::reply::{AuditQuery, AuditRow, Page};
use crate::sequencer::TrailDraft;
use crate::tenant::{Shared, Tenant, storage};
use tabellion_core::access::Power;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, UserId};
use tabellion_core::item::Tier;
use tabellion_core::log::{Actor, AuditRecord, Entry, Event, LogName, Lsn, Payload};
use tabellion_core::time::{PAST_WORDS, Timestamp};
use tabellion_core::view::Views;
use tabellion_store::Record;

const PAGE_DEFAULT: u64 = 50;
/// Rows read at once while looking for those of one user.
const CHUNK: u64 = 512;
/// Rows looked at for one page: a user with few rows in a long trail pages on.
const SCAN_MAX: u64 = 65_536;
/// The action of rows that are left out unless they are asked for.
const COMPLETIONS: &str = "complete_id";

/// Every action that a row can have.
const ACTIONS: &[&str] = &[
    "accept_loss",
    "agent",
    "agents",
    "ask",
    "assign_role",
    "audit",
    "complete_id",
    "consistency",
    "create_agent",
    "create_key",
    "create_key_of_environment",
    "create_resource",
    "create_tenant",
    "create_user",
    "decide",
    "declare_round",
    "disable_user",
    "enable_user",
    "exchange_token",
    "explain",
    "feedback",
    "get",
    "get_review",
    "get_write",
    "grant",
    "head",
    "hold_pair",
    "inclusion",
    "keys",
    "list",
    "list_edges",
    "list_flagged",
    "list_policies",
    "list_reviews",
    "list_roles",
    "list_schemas",
    "list_writes",
    "moderate",
    "outcome",
    "paths",
    "pin",
    "promote",
    "provenance",
    "quarantine",
    "read_role",
    "recalibrate",
    "release",
    "remove_policy",
    "remove_role",
    "resource_call",
    "resources",
    "resume_agent",
    "retract",
    "reverify",
    "revert",
    "revert_agent",
    "revoke",
    "revoke_key",
    "rollback",
    "search",
    "set_agent_status",
    "set_policy",
    "set_resource_status",
    "set_role",
    "set_schema",
    "set_user_role",
    "storage",
    "suspend_agent",
    "trust",
    "unassign_role",
    "unpin",
    "user",
    "users",
    "verify",
    "versions",
    "weigh",
    "what",
    "who",
    "whoami",
    "withdraw",
    "write",
];

pub(crate) async fn audit(
    tenant: &Tenant,
    call: &Call,
    query: AuditQuery,
) -> Result<Page<AuditRow>, Refusal> {
    let result = Wanted::of(tenant, &query).and_then(|wanted| page(tenant, call, &query, &wanted));
    tenant.read_done(call, "audit", Vec::new(), result).await
}

/// Which rows are asked for.
struct Wanted {
    action: Option<String>,
    user: Option<UserId>,
    agent: Option<AgentId>,
    item: Option<String>,
    since: Timestamp,
    until: Timestamp,
}

impl Wanted {
    fn of(tenant: &Tenant, query: &AuditQuery) -> Result<Self, Refusal> {
        let views = tenant.shared.views.read();
        let mut faults = Vec::new();
        let mut fault =
            |path: &str, expected: String| faults.push(Fault::new(path, Code::ConstraintViolation, expected));
        if query.action.as_deref().is_some_and(|action| !ACTIONS.contains(&action)) {
            fault("/action", format!("one of {}", ACTIONS.join(", ")));
        }
        let user = query.user.as_deref().map(|name| views.identity.find_user(name).map(|user| user.id));
        let agent = query.agent.as_deref().map(|name| views.identity.find_agent(name).map(|agent| agent.id));
        if user == Some(None) {
            fault("/user", "the name or id of a user of this tenant".to_owned());
        }
        if agent == Some(None) {
            fault("/agent", "the name or id of an agent of this tenant".to_owned());
        }
        let mut time = |path: &str, text: Option<&str>| {
            let named = text.map(|text| tenant.now().looking_back(text));
            if named == Some(None) {
                fault(path, PAST_WORDS.to_owned());
            }
            named.flatten()
        };
        let (since, until) = (time("/since", query.since.as_deref()), time("/until", query.until.as_deref()));
        if !faults.is_empty() {
            return Err(Refusal::new(Code::SchemaInvalid, "the audit log is not asked for so").with(faults));
        }
        Ok(Self {
            action: query.action.clone(),
            user: user.flatten(),
            agent: agent.flatten(),
            item: query.item.clone(),
            since: since.unwrap_or_default(),
            until: until.unwrap_or(Timestamp::from_micros(u64::MAX)),
        })
    }

    /// A client that completes ids asks with nearly every command; such rows are shown to whoever asks for them.
    fn has(&self, entry: &Entry, row: &AuditRecord) -> bool {
        let of_action = match &self.action {
            Some(action) => *action == row.action,
            None => row.action != COMPLETIONS,
        };
        of_action
            && entry.time < self.until
            && self.user.is_none_or(|user| entry.actor.user == Some(user))
            && self.agent.is_none_or(|agent| entry.actor.agent == Some(agent))
            && self.item.as_ref().is_none_or(|item| row.ids.contains(item))
    }
}

/// Newest first. A cursor is the position before which the next page begins.
fn page(
    tenant: &Tenant,
    call: &Call,
    query: &AuditQuery,
    wanted: &Wanted,
) -> Result<Page<AuditRow>, Refusal> {
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
            let Ok(entry) = Entry::decode(&record.body) else { continue };
            if entry.time < wanted.since {
                return Ok(Page { rows, next: None });
            }
            rows.extend(row(tenant, call, (record, entry), wanted, &views));
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
fn row(
    tenant: &Tenant,
    call: &Call,
    (record, entry): (&Record, Entry),
    wanted: &Wanted,
    views: &Views,
) -> Option<AuditRow> {
    let Event::Audited(audited) = &entry.event else { return None };
    let all = call.caller.may(Power::Audit);
    let own = entry.actor.user == Some(call.caller.user());
    if !((all || own) && wanted.has(&entry, audited)) {
        return None;
    }
    let reason = match crate::fold::unseal(record, &entry, &tenant.shared.keys, tenant.shared.tenant) {
        Ok(Some(Payload::Reason(reason))) if own || !is_private(&audited.ids, call.caller.user(), views) => {
            Some(reason)
        }
        _ => None,
    };
    let Event::Audited(audited) = entry.event else { return None };
    let shaped = audited.shaped.unwrap_or_default();
    // The position of a row is that of the entry that it is about.
    let set = matches!(audited.action.as_str(), "set_policy" | "remove_policy").then_some(audited.memory);
    let named = |lsn: &Lsn| {
        let (name, version) = views.policies.set_there(*lsn)?;
        Some((crate::govern::policy_name(call, name).to_owned(), version))
    };
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
        policies: shaped.policies.iter().chain(&set).filter_map(named).collect(),
        transformed: shaped.transformed,
        lsn: all.then(|| entry.lsn.get()),
    })
}

/// Whether a row is about what another user keeps to themselves: nobody else reads why.
fn is_private(ids: &[String], caller: UserId, views: &Views) -> bool {
    let of_item = |id: &str| {
        let item = views.items.find_item(id.parse().ok()?)?;
        views.items.versions_of(item).next_back().map(|last| (last.tier, last.owner))
    };
    let of_review = |id: &str| {
        let review = views.reviews.find(id.parse().ok()?)?;
        Some((review.tier, review.owner))
    };
    let mut concerned = ids.iter().filter_map(|id| of_item(id).or_else(|| of_review(id)));
    concerned.any(|(tier, owner)| tier == Tier::Private && owner != caller)
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

#[cfg(test)]
mod tests {
    use super::ACTIONS;
    use std::path::Path;

    /// What stands before the name of an action where a row is made.
    const MAKERS: [&str; 10] = [
        "row(call, \"",
        "row_because(call, \"",
        "refused(call, \"",
        "refused(&call, \"",
        "read_done(call, \"",
        "read_shaped(call, \"",
        "server_row(\"",
        "found(drafts, \"",
        "ACTION: &str = \"",
        "let action = \"",
    ];

    fn check(folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for maker in MAKERS {
                for named in source.split(maker).skip(1) {
                    let action = named.split('"').next().unwrap();
                    let is_word = action.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                    assert!(
                        !is_word || ACTIONS.contains(&action),
                        "{action} of {} is not listed",
                        path.display()
                    );
                }
            }
        }
    }

    #[test]
    fn every_action_that_a_row_has_can_be_asked_for() {
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        assert!(ACTIONS.is_sorted());
    }
}
