//! Short ids and names: what people type and read in place of ids of 30 characters.
//!
//! Invariant: an id is completed only for who may see what it names, so that what is hidden looks like what is missing.

use crate::Call;
use crate::read;
use crate::review::is_visible;
use crate::sharing::Chain;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use std::collections::BTreeMap;
use tabellion_core::access::Power;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, KeyId, ResourceId, ReviewId, RoleId, TenantId, UserId, VersionId};
use tabellion_core::item::Tier;
use tabellion_core::log::Lsn;
use tabellion_core::view::Item;

/// Digits that a short id has at least.
const DIGITS_MIN: usize = 8;
/// Kinds of ids that can be given in part to be completed.
const SHORT: [&str; 6] = ["itm", "ver", "rev", "def", "ref", "key"];
/// Digits of a whole id.
const DIGITS: usize = 26;
/// Ids that are told for one beginning.
const FOUND_MAX: usize = 8;
/// Names that are told with one answer.
const NAMES_MAX: usize = 10_000;

/// Completes the beginning of an id: every id that begins so and names something that the caller may see.
pub(crate) async fn complete(tenant: &Tenant, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
    let result = read::settled(tenant, || completed(tenant, call, prefix));
    let ids = result.clone().unwrap_or_default();
    tenant.read_done(call, "complete_id", ids, result).await
}

fn completed(tenant: &Tenant, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
    let kind = prefix.split('_').next().unwrap_or_default();
    let digits = prefix.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_')).unwrap_or_default();
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte));
    if !are_digits || !(DIGITS_MIN..=DIGITS).contains(&digits.len()) {
        return Err(no_short_id());
    }
    let mut ids = match kind {
        ItemId::PREFIX => items(tenant, call, prefix)?,
        VersionId::PREFIX => versions(tenant, call, prefix)?,
        ReviewId::PREFIX => reviews(tenant, call, prefix),
        "def" | "ref" => crate::kept::ids(tenant, call, prefix)?,
        KeyId::PREFIX => keys(tenant, call, prefix),
        _ => return Err(no_short_id()),
    };
    ids.truncate(FOUND_MAX);
    Ok(ids)
}

/// The answer to an id that names nothing. One that is only the beginning of an id says so; that tells nothing about what is
/// there.
pub(crate) fn not_whole(id: &str, missing: Refusal) -> Refusal {
    let is_digit = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
    let is_short = id.split_once('_').is_some_and(|(kind, digits)| {
        SHORT.contains(&kind) && (DIGITS_MIN..DIGITS).contains(&digits.len()) && digits.bytes().all(is_digit)
    });
    if !is_short {
        return missing;
    }
    let message = format!(
        "{}: `{id}` is only the beginning of an id; give the whole one, GET /v1/ids?prefix={id} completes it",
        missing.message
    );
    Refusal { message, ..missing }
}

fn no_short_id() -> Refusal {
    let expected = format!(
        "itm_, ver_, rev_, def_, ref_ or key_ and {DIGITS_MIN} to {DIGITS} of a-z 2-7: the beginning of an id"
    );
    let fault = Fault::new("/prefix", Code::ConstraintViolation, expected);
    Refusal::new(Code::SchemaInvalid, "this is not the beginning of an id").with(vec![fault])
}

/// The items that begin so: those that are seen, those of the caller's own user, and for auditors all.
fn items(tenant: &Tenant, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
    let working = tenant.working.ids(&call.caller, tenant.now()).into_iter();
    let mut ids: Vec<String> = working.map(|id| id.to_string()).filter(|id| id.starts_with(prefix)).collect();
    let found: Vec<(String, Lsn)> = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, &call.caller, &views);
        let named = |item: &Item| {
            let id = item.id.to_string();
            id.starts_with(prefix).then_some(id)
        };
        let last = |item: &Item| views.items.versions_of(item).next_back().map(|version| version.lsn);
        if call.caller.may(Power::Audit) {
            // Auditors name any item, as `who` and `explain` do, and read none of its text by it.
            ids.extend(views.items.all().filter_map(named).take(FOUND_MAX));
            return Ok(ids);
        }
        // Who moderates names shared items, whatever their edges, and gives a reason for what they then read.
        let moderates = call.caller.may(Power::Moderate);
        let seen = |item: &Item| {
            views.items.versions_of(item).any(|version| {
                predicate.admits(version)
                    || version.owner == call.caller.user()
                    || (moderates && version.tier == Tier::Shared)
            })
        };
        let visible = views.items.visible_items(&predicate, 0).map(|(_, item)| item);
        let found = visible.filter_map(|item| Some((named(item).filter(|_| seen(item))?, last(item)?)));
        found.take(FOUND_MAX).collect()
    };
    let reading = Chain::of_reading(tenant, &call.caller, &tenant.shared.views.read());
    for (id, lsn) in found {
        // A policy may hide what the graphs admit.
        if read::content(tenant, lsn).is_ok_and(|(content, _)| !reading.denies(&content)) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn versions(tenant: &Tenant, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
    let found: Vec<(String, Lsn)> = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, &call.caller, &views);
        let visible = views.items.visible_items(&predicate, 0);
        let versions = visible.flat_map(|(_, item)| views.items.versions_of(item));
        let named = versions.filter_map(|version| {
            let id = version.id.to_string();
            (id.starts_with(prefix) && predicate.admits(version)).then_some((id, version.lsn))
        });
        named.take(FOUND_MAX).collect()
    };
    let reading = Chain::of_reading(tenant, &call.caller, &tenant.shared.views.read());
    let shown = found
        .into_iter()
        .filter(|(_, lsn)| read::content(tenant, *lsn).is_ok_and(|(content, _)| !reading.denies(&content)));
    Ok(shown.map(|(id, _)| id).collect())
}

fn reviews(tenant: &Tenant, call: &Call, prefix: &str) -> Vec<String> {
    let views = tenant.shared.views.read();
    let visible = views.reviews.all().filter(|review| is_visible(&views, &call.caller, review));
    visible.map(|review| review.id.to_string()).filter(|id| id.starts_with(prefix)).take(FOUND_MAX).collect()
}

fn keys(tenant: &Tenant, call: &Call, prefix: &str) -> Vec<String> {
    if !call.caller.may(Power::Principals) {
        return Vec::new();
    }
    let views = tenant.shared.views.read();
    let keys = views.identity.keys().iter().map(|key| key.issued.key.to_string());
    keys.filter(|id| id.starts_with(prefix)).take(FOUND_MAX).collect()
}

/// The names behind the ids of an answer that the caller was given: of users, agents, resources, roles and the tenant.
pub(crate) fn names<'a>(tenant: &Tenant, ids: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let views = tenant.shared.views.read();
    let name = |id: &str| {
        let user = || Some(views.identity.user(id.parse::<UserId>().ok()?)?.name.clone());
        let agent = || Some(views.identity.agent(id.parse::<AgentId>().ok()?)?.words.name.clone());
        let resource = || {
            let is_id = id.parse::<ResourceId>().is_ok();
            is_id.then(|| views.identity.find_resource(id)).flatten().map(|found| found.words.name.clone())
        };
        let role = || views.roles.name_of(id.parse::<RoleId>().ok()?).map(str::to_owned);
        let own = || {
            let is_own = id.parse::<TenantId>().ok() == Some(tenant.shared.tenant);
            is_own.then(|| views.identity.tenant_name().to_owned())
        };
        user().or_else(agent).or_else(resource).or_else(role).or_else(own)
    };
    ids.take(NAMES_MAX).filter_map(|id| Some((id.to_owned(), name(id)?))).collect()
}
