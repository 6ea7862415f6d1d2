//! What people set: policies and schemas, agents that may not write, items under suspicion (GOV-2.1, 11.9, 11.10).

use crate::Call;
use crate::change::checked;
use crate::read::item_id;
use crate::reply::{ChangeStatus, Changed, Quarantined, Reverted};
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use tabellion_core::access::Power;
use tabellion_core::canonical::{hex, unhex32};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{OnConflict, Strictness, WriteRequest, is_public_key};
use tabellion_core::id::{AgentId, ItemId, UserId, VersionId};
use tabellion_core::item::Layer;
use tabellion_core::log::{Event, Lsn, Payload};
use tabellion_core::policy::{PolicyKind, SharingPolicy};
use tabellion_core::schema::{CompiledSchema, Schema};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Policy, Version, Views};

const NAME_CHARS_MAX: usize = 64;
/// Items that one revert or one flagging of dependents touches at most.
const ITEMS_MAX: usize = 100_000;

/// Namespaces or tags that an agent is bound to.
const BOUNDS_MAX: usize = 100;

/// Schemas that were compiled, by where they were registered.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<HashMap<Lsn, Arc<CompiledSchema>>>);

impl Tenant {
    /// The schema that a write must obey, if one is registered.
    pub(crate) fn schema(&self, request: &WriteRequest) -> Option<Arc<CompiledSchema>> {
        let views = self.shared.views.read();
        let (lsn, json) = views.policies.schema(&request.content.kind, request.layer)?;
        let mut known = self.schemas.0.lock();
        if let Some(schema) = known.get(&lsn) {
            return Some(Arc::clone(schema));
        }
        let schema = serde_json::from_str::<Schema>(json).ok()?.compile().ok().map(Arc::new)?;
        known.insert(lsn, Arc::clone(&schema));
        Some(schema)
    }
}

/// Sets a policy in place of the one of the same name.
pub(crate) async fn set_policy(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    body: Value,
) -> Result<String, Refusal> {
    let result = match checked_policy(tenant, call, name, body) {
        Ok(payload) => {
            set(tenant, call, Event::PolicySet, payload, Touch::Name("policy", name.to_owned()), "set_policy")
                .await
        }
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(token) => Ok(token),
        Err(refusal) => Err(tenant.refused(call, "set_policy", Vec::new(), refusal).await),
    }
}

fn checked_policy(tenant: &Tenant, call: &Call, name: &str, body: Value) -> Result<Payload, Refusal> {
    call.caller.must(Power::Policies)?;
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.bytes().all(fits) {
        let fault = Fault::new("/id", Code::ConstraintViolation, "1 to 64 of a-z 0-9 _ . -");
        return Err(Refusal::new(Code::SchemaInvalid, "a policy needs a plain name").with(vec![fault]));
    }
    let policy: Policy = serde_json::from_value(body).map_err(|error| {
        let kinds = "kind: write_path | official_sources | approval | reviewer | runner | bounds | read | write_private | write_shared | cedar, with the fields of that kind";
        let fault = Fault::new("", Code::ConstraintViolation, kinds).found(error.to_string());
        Refusal::new(Code::SchemaInvalid, "this is no policy; see errors").with(vec![fault])
    })?;
    if let Policy::Cedar { text } = &policy {
        crate::cedar::checked(tenant, call, name, text)?;
    }
    let policy = settled(tenant, name, policy)?;
    let body = serde_json::to_vec(&policy)
        .map_err(|_| Refusal::new(Code::Internal, "the policy has no JSON form"))?;
    Ok(Payload::Policy { name: name.to_owned(), body: body.into() })
}

/// A policy of sharing with ids in place of names, proven.
fn settled_sharing(
    tenant: &Tenant,
    name: &str,
    kind: PolicyKind,
    mut policy: SharingPolicy,
) -> Result<SharingPolicy, Refusal> {
    let views = tenant.shared.views.read();
    let found = |path: &str, id: Option<String>| {
        id.ok_or_else(|| {
            vec![Fault::new(path, Code::ConstraintViolation, "the name or id of one of this tenant")]
        })
    };
    let user = policy
        .scope
        .user
        .take()
        .map(|name| found("/scope/user", views.identity.find_user(&name).map(|one| one.id.to_string())));
    let agent =
        policy.scope.agent.take().map(|name| {
            found("/scope/agent", views.identity.find_agent(&name).map(|one| one.id.to_string()))
        });
    let check = || -> Result<SharingPolicy, Vec<Fault>> {
        policy.scope.user = user.transpose()?;
        policy.scope.agent = agent.transpose()?;
        policy.check(name, kind)?;
        Ok(policy)
    };
    check().map_err(|faults| {
        Refusal::new(Code::SchemaInvalid, "a value of the policy breaks a rule").with(faults)
    })
}

/// The policy with names in place of ids, and every value within its rule.
fn settled(tenant: &Tenant, name: &str, policy: Policy) -> Result<Policy, Refusal> {
    let wrong = |path: &str, expected: String| {
        let fault = Fault::new(path, Code::ConstraintViolation, expected);
        Refusal::new(Code::SchemaInvalid, "a value of the policy breaks a rule").with(vec![fault])
    };
    Ok(match policy {
        Policy::WritePath { strictness, on_conflict, namespace } => {
            let unknown = |word: &Option<String>, known: bool| word.is_some() && !known;
            let strict = strictness.as_deref().and_then(Strictness::from_word).is_some();
            if unknown(&strictness, strict) || (strictness.is_none() && on_conflict.is_none()) {
                return Err(wrong("/strictness", format!("one of {}", Strictness::words())));
            }
            if unknown(&on_conflict, on_conflict.as_deref().and_then(OnConflict::from_word).is_some()) {
                return Err(wrong("/on_conflict", format!("one of {}", OnConflict::words())));
            }
            Policy::WritePath { strictness, on_conflict, namespace }
        }
        Policy::OfficialSources { prefixes } => {
            if prefixes.len() > 1_000
                || prefixes.iter().any(|prefix| prefix.is_empty() || prefix.len() > 2_048)
            {
                return Err(wrong("/prefixes", "up to 1,000 beginnings of addresses, none empty".to_owned()));
            }
            Policy::OfficialSources { prefixes }
        }
        Policy::Approval { approvals } if !(1..=10).contains(&approvals) => {
            return Err(wrong("/approvals", "1 to 10".to_owned()));
        }
        Policy::Approval { approvals } => Policy::Approval { approvals },
        Policy::Read(sharing) => Policy::Read(settled_sharing(tenant, name, PolicyKind::Read, sharing)?),
        Policy::WritePrivate(sharing) => {
            Policy::WritePrivate(settled_sharing(tenant, name, PolicyKind::WritePrivate, sharing)?)
        }
        Policy::WriteShared(sharing) => {
            Policy::WriteShared(settled_sharing(tenant, name, PolicyKind::WriteShared, sharing)?)
        }
        Policy::Reviewer { reviewer, user } => {
            let views = tenant.shared.views.read();
            let found = |name: &str, path: &str| -> Result<UserId, Refusal> {
                let user = views.identity.find_user(name).map(|user| user.id);
                user.ok_or_else(|| wrong(path, "the name or id of a user".to_owned()))
            };
            let (reviewer, user) = (found(&reviewer, "/reviewer")?, found(&user, "/user")?);
            Policy::Reviewer { reviewer: reviewer.to_string(), user: user.to_string() }
        }
        Policy::Cedar { text } => Policy::Cedar { text },
        Policy::Runner { public_key } => match unhex32(&public_key).filter(is_public_key) {
            Some(key) => Policy::Runner { public_key: hex(&key) },
            None => return Err(wrong("/public_key", "an Ed25519 public key as 64 hex digits".to_owned())),
        },
        Policy::Bounds { agent, layers, namespaces, tags } => {
            let unknown = layers.iter().any(|word| Layer::from_word(word).is_none());
            if unknown || layers.len() > Layer::ALL.len() {
                return Err(wrong("/layers", format!("each one of {}, once", Layer::words())));
            }
            for (path, texts) in [("/namespaces", &namespaces), ("/tags", &tags)] {
                if texts.len() > BOUNDS_MAX || texts.iter().any(|text| text.is_empty() || text.len() > 256) {
                    return Err(wrong(path, format!("up to {BOUNDS_MAX} words, none empty")));
                }
            }
            let agent = agent_id(tenant, &agent)
                .map_err(|_| wrong("/agent", "the name or id of an agent".to_owned()))?;
            Policy::Bounds { agent: agent.to_string(), layers, namespaces, tags }
        }
    })
}

/// Takes a policy away.
pub(crate) async fn remove_policy(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    reason: Option<String>,
) -> Result<String, Refusal> {
    let plan = || {
        call.caller.must(Power::Policies)?;
        checked(reason.as_deref())?;
        let known = tenant.shared.views.read().policies.all().any(|(one, _)| one == name);
        if known { Ok(()) } else { Err(Refusal::new(Code::NotFound, "no such policy")) }
    };
    if let Err(refusal) = plan() {
        return Err(tenant.refused(call, "remove_policy", Vec::new(), refusal).await);
    }
    let payload = Payload::Policy { name: name.to_owned(), body: Vec::new().into() };
    set(tenant, call, Event::PolicySet, payload, Touch::Name("policy", name.to_owned()), "remove_policy")
        .await
}

/// Every policy, by name.
pub(crate) async fn policies(tenant: &Tenant, call: &Call) -> Result<Vec<(String, Policy)>, Refusal> {
    let all = || {
        tenant.shared.views.read().policies.all().map(|(name, policy)| (name.to_owned(), policy)).collect()
    };
    let result = call.caller.must_audit().map(|()| all());
    tenant.read_done(call, "list_policies", Vec::new(), result).await
}

/// Registers a schema in place of the one of the same kind and layer.
pub(crate) async fn set_schema(tenant: &Tenant, call: &Call, body: Value) -> Result<String, Refusal> {
    let checked = || {
        call.caller.must(Power::Policies)?;
        let schema = Schema::read(body)?;
        schema.compile()?;
        let name = format!("{}/{}", schema.kind, schema.layer.map_or("any", |layer| layer.as_str()));
        let json = serde_json::to_vec(&schema)
            .map_err(|_| Refusal::new(Code::Internal, "the schema has no JSON form"))?;
        Ok((name, Payload::Schema(json.into())))
    };
    let result = match checked() {
        Ok((name, payload)) => {
            set(tenant, call, Event::SchemaSet, payload, Touch::Name("schema", name), "set_schema").await
        }
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(token) => Ok(token),
        Err(refusal) => Err(tenant.refused(call, "set_schema", Vec::new(), refusal).await),
    }
}

/// Every schema, as JSON.
pub(crate) async fn schemas(tenant: &Tenant, call: &Call) -> Result<Vec<Value>, Refusal> {
    let result = {
        let views = tenant.shared.views.read();
        Ok(views.policies.schemas().filter_map(|json| serde_json::from_str(json).ok()).collect())
    };
    tenant.read_done(call, "list_schemas", Vec::new(), result).await
}

async fn set(
    tenant: &Tenant,
    call: &Call,
    event: Event,
    payload: Payload,
    touch: Touch,
    action: &str,
) -> Result<String, Refusal> {
    let draft = tenant.draft(call.caller.actor(), event, Some(&payload))?;
    let trail = tenant.row(call, action, "ok", Vec::new());
    let proposal =
        Proposal { drafts: vec![draft], touches: vec![touch], check: Box::new(|_, _| Ok(())), trail };
    match tenant.sequencer.propose(proposal).await {
        Ok(committed) => Ok(tenant.token(&call.caller, committed.lsn)),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(crate::write::keeps_changing()),
    }
}

/// Forbids an agent to write, or allows it again.
pub(crate) async fn suspend(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    suspended: bool,
    reason: &str,
) -> Result<String, Refusal> {
    let found = call.caller.must(Power::Policies).and_then(|()| {
        checked(Some(reason))?;
        agent_id(tenant, agent)
    });
    let action = if suspended { "suspend_agent" } else { "resume_agent" };
    let agent = match found {
        Ok(agent) => agent,
        Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
    };
    let event = if suspended { Event::AgentSuspended { agent } } else { Event::AgentResumed { agent } };
    let touch = Touch::Name("agent", agent.to_string());
    set(tenant, call, event, Payload::Reason(reason.to_owned()), touch, action).await
}

fn agent_id(tenant: &Tenant, name: &str) -> Result<AgentId, Refusal> {
    let views = tenant.shared.views.read();
    let missing = || Refusal::new(Code::NotFound, "no such agent");
    views.identity.find_agent(name).map(|agent| agent.id).ok_or_else(missing)
}

/// Puts an item under quarantine: it is kept and not retrievable, and what depends on it is named.
pub(crate) async fn quarantine(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    on: bool,
    reason: &str,
) -> Result<Quarantined, Refusal> {
    let action = if on { "quarantine" } else { "release" };
    let planned = checked(Some(reason)).and_then(|_| plan(tenant, call, id, on));
    let (item, version, dependents) = match planned {
        Ok(planned) => planned,
        Err(refusal) => return Err(tenant.refused(call, action, crate::read::named(id), refusal).await),
    };
    let event = if on { Event::ItemQuarantined { item } } else { Event::ItemReleased { item } };
    let token =
        set(tenant, call, event, Payload::Reason(reason.to_owned()), Touch::Item(item), action).await?;
    let status = if on { ChangeStatus::Quarantined } else { ChangeStatus::Released };
    Ok(Quarantined { changed: Changed { status, id: item, version, token }, dependents })
}

fn plan(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    on: bool,
) -> Result<(ItemId, VersionId, Vec<ItemId>), Refusal> {
    let item = item_id(id)?;
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, &views);
    let found = views.items.visible_item(item, &predicate).ok_or_else(Refusal::not_found)?;
    if found.is_quarantined_at(views.lsn()) == on {
        let state = if on { "in quarantine already" } else { "not in quarantine" };
        return Err(Refusal::new(Code::NotTheHead, format!("the item is {state}")));
    }
    let last = views.items.versions_of(found).next_back().filter(|version| predicate.admits(version));
    let last = last.ok_or_else(Refusal::not_found)?;
    crate::write::contributed(last, &predicate)?;
    let seen = |version: &Version| predicate.admits(version);
    let versions: Vec<VersionId> = views.items.versions_of(found).map(|version| version.id).collect();
    let dependents = dependents(&views, &versions, &seen);
    Ok((item, last.id, dependents.into_iter().filter(|one| *one != item).collect()))
}

/// The items that derive, over however many steps, from these versions.
fn dependents(views: &Views, from: &[VersionId], seen: &dyn Fn(&Version) -> bool) -> Vec<ItemId> {
    let mut items = BTreeSet::new();
    let mut visited = BTreeSet::new();
    let mut open: VecDeque<VersionId> = from.iter().copied().collect();
    while let Some(version) = open.pop_front() {
        for dependent in views.items.dependents_of(version).filter(|version| seen(version)) {
            if visited.len() < ITEMS_MAX && visited.insert(dependent.id) {
                items.extend(views.items.item_of(dependent).map(|item| item.id));
                open.push_back(dependent.id);
            }
        }
    }
    items.into_iter().collect()
}

/// Retracts all that an agent wrote in a period, and what was derived from it, as far as the caller may see it.
pub(crate) async fn revert(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    (since, until): (Timestamp, Timestamp),
    reason: &str,
    dry_run: bool,
) -> Result<Reverted, Refusal> {
    let found = checked(Some(reason)).and_then(|_| agent_id(tenant, agent));
    let found = found.map(|agent| concerned(tenant, call, agent, since, until));
    let concerned = match found {
        Ok(concerned) => concerned,
        Err(refusal) => return Err(tenant.refused(call, "revert", Vec::new(), refusal).await),
    };
    let mut reverted = Reverted { written: concerned.0, derived: concerned.1, retracted: 0, dry_run };
    if dry_run {
        return tenant.read_done(call, "revert", Vec::new(), Ok(reverted)).await;
    }
    for item in reverted.written.iter().chain(&reverted.derived) {
        let change = crate::change::Change::Retract;
        match crate::change::change(tenant, call, &item.to_string(), change, Some(reason.to_owned())).await {
            Ok(_) => reverted.retracted += 1,
            // Gone meanwhile, which is what was wanted.
            Err(refusal) if refusal.code == Code::NotFound => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(reverted)
}

fn concerned(
    tenant: &Tenant,
    call: &Call,
    agent: AgentId,
    since: Timestamp,
    until: Timestamp,
) -> (Vec<ItemId>, Vec<ItemId>) {
    let views = tenant.shared.views.read();
    let at = Moment { lsn: views.lsn(), time: tenant.now() };
    let predicate = predicate(tenant, &call.caller, &views);
    let seen = |version: &Version| predicate.admits(version);
    let written: Vec<&Version> = views
        .items
        .written_by(agent)
        .filter(|version| (since..until).contains(&version.time) && seen(version))
        .take(ITEMS_MAX)
        .collect();
    let versions: Vec<VersionId> = written.iter().map(|version| version.id).collect();
    let active = written.iter().filter(|version| views.items.is_active_at(version, at));
    let mut items: Vec<ItemId> =
        active.filter_map(|version| views.items.item_of(version)).map(|item| item.id).collect();
    items.sort_unstable();
    items.dedup();
    let lives = |item: &ItemId| {
        views.items.find_item(*item).is_some_and(|item| views.items.head_at(item, at).is_some())
    };
    let derived = dependents(&views, &versions, &seen).into_iter();
    let derived = derived.filter(|item| !items.contains(item) && lives(item)).collect();
    (items, derived)
}
