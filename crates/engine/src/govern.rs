//! What people set: policies and schemas, agents that may not write, items under suspicion (GOV-2.1, 11.9, 11.10).

mod own;
mod quarantine;
mod resume;
mod revert;
mod waiting;

pub(crate) use quarantine::quarantine;
pub(crate) use resume::resume;
pub(crate) use revert::{dependents, revert};

use crate::Call;
use crate::change::checked;
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use tabellion_core::access::Power;
use tabellion_core::canonical::{hex, unhex32};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{OnConflict, Strictness, WriteRequest, is_public_key};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Layer;
use tabellion_core::log::{Event, Lsn, Payload};
use tabellion_core::policy::{PolicyKind, SharingPolicy};
use tabellion_core::schema::{CompiledSchema, Schema};
use tabellion_core::view::Policy;

const NAME_CHARS_MAX: usize = 64;

/// Members of an unreadable policy that are tried, to find which of them is why.
const MEMBERS_TRIED_MAX: usize = 32;
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
        Ok((name, payload)) => {
            set(tenant, call, Event::PolicySet, payload, Touch::Name("policy", name), ("set_policy", None))
                .await
        }
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(token) => Ok(token),
        Err(refusal) => Err(tenant.refused(call, "set_policy", Vec::new(), refusal).await),
    }
}

/// The policy and the name that it is kept under.
fn checked_policy(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    body: Value,
) -> Result<(String, Payload), Refusal> {
    let is_own = !call.caller.may(Power::Policies);
    if is_own {
        own::may_have(call)?;
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.bytes().all(fits) {
        let fault = Fault::new("/id", Code::ConstraintViolation, "1 to 64 of a-z 0-9 _ . -");
        return Err(Refusal::new(Code::SchemaInvalid, "a policy needs a plain name").with(vec![fault]));
    }
    let name = if is_own { own::kept_name(call, name) } else { name.to_owned() };
    let policy = Policy::deserialize(&body).map_err(|error| {
        let fault = misfit_of_policy(&body, &error.to_string());
        let place = if fault.path.is_empty() { "the policy" } else { fault.path.as_str() };
        let expected = fault.expected.as_deref().unwrap_or("something else");
        let message = format!("this is no policy: {place} must be {expected}");
        Refusal::new(Code::SchemaInvalid, message).with(vec![fault])
    })?;
    if is_own {
        own::is_within_scope(tenant, call, (&name, &policy))?;
    }
    if let Policy::Cedar { text } = &policy {
        crate::cedar::checked(tenant, call, &name, text)?;
    }
    let policy = settled(tenant, &name, policy)?;
    let body = serde_json::to_vec(&policy)
        .map_err(|_| Refusal::new(Code::Internal, "the policy has no JSON form"))?;
    Ok((name.clone(), Payload::Policy { name, body: body.into() }))
}

/// Says which member of a policy could not be read, and why. A policy is read by its kind, and then serde does not tell where
/// it stopped: the member is the one without which it would have stopped elsewhere.
fn misfit_of_policy(body: &Value, words: &str) -> Fault {
    let none = Map::new();
    let fields = body.as_object().unwrap_or(&none);
    let words_without = |name: &str| {
        let mut others = fields.clone();
        others.remove(name);
        Policy::deserialize(Value::Object(others)).err().map(|error| error.to_string())
    };
    match fields.get("kind") {
        Some(Value::String(_)) if words.starts_with("unknown variant") => Fault::of_misfit("/kind", words),
        Some(Value::String(_)) if words.starts_with("missing field") => Fault::of_misfit("", words),
        Some(Value::String(_)) => {
            let mut members = fields.keys().filter(|name| *name != "kind").take(MEMBERS_TRIED_MAX);
            let member = members.find(|name| words_without(name).as_deref() != Some(words));
            let at = member.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
            Fault::of_misfit(&at.unwrap_or_default(), words)
        }
        other => {
            let mut named = fields.clone();
            named.insert("kind".to_owned(), Value::from(""));
            let kinds = Policy::deserialize(Value::Object(named)).err();
            let known = Fault::of_misfit("/kind", &kinds.map(|error| error.to_string()).unwrap_or_default());
            let missing = other.is_none_or(Value::is_null);
            Fault { code: if missing { Code::MissingRequiredField } else { Code::TypeMismatch }, ..known }
        }
    }
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
        let name = match call.caller.may(Power::Policies) {
            true => name.to_owned(),
            false => own::may_have(call).map(|()| own::kept_name(call, name))?,
        };
        checked(reason.as_deref())?;
        let known = tenant.shared.views.read().policies.all().any(|(one, _)| one == name);
        if known { Ok(name) } else { Err(Refusal::new(Code::NotFound, "no such policy")) }
    };
    let name = match plan() {
        Ok(name) => name,
        Err(refusal) => return Err(tenant.refused(call, "remove_policy", Vec::new(), refusal).await),
    };
    let payload = Payload::Policy { name: name.clone(), body: Vec::new().into() };
    let act = ("remove_policy", reason.as_deref());
    set(tenant, call, Event::PolicySet, payload, Touch::Name("policy", name), act).await
}

/// Every policy, by name, for auditors and those who set policies; their own for everybody else.
pub(crate) async fn policies(tenant: &Tenant, call: &Call) -> Result<Vec<(String, Policy)>, Refusal> {
    let sees_all = [Power::Audit, Power::Policies].into_iter().any(|power| call.caller.may(power));
    let all = || {
        let views = tenant.shared.views.read();
        let shown = views.policies.all().filter_map(|(name, policy)| {
            let name = if sees_all { Some(name) } else { own::shown_name(call, name) };
            Some((name?.to_owned(), policy))
        });
        shown.collect()
    };
    let allowed = if sees_all { Ok(()) } else { own::may_have(call) };
    let result = allowed.map(|()| all());
    tenant.read_done(call, "list_policies", Vec::new(), result).await
}

/// The name of a policy as the caller knows it: without the prefix of their own.
pub(crate) fn policy_name<'a>(call: &Call, name: &'a str) -> &'a str {
    let sees_all = [Power::Audit, Power::Policies].into_iter().any(|power| call.caller.may(power));
    own::shown_name(call, name).filter(|_| !sees_all).unwrap_or(name)
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
            set(tenant, call, Event::SchemaSet, payload, Touch::Name("schema", name), ("set_schema", None))
                .await
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
    (action, reason): (&str, Option<&str>),
) -> Result<String, Refusal> {
    let draft = tenant.draft(call.caller.actor(), event, Some(&payload))?;
    let ids = match &touch {
        Touch::Item(item) => vec![item.to_string()],
        Touch::Name("agent", id) => vec![id.clone()],
        // Names are texts that a caller made up, and texts are not kept in the clear.
        Touch::Name(..)
        | Touch::Token(_)
        | Touch::Request(_)
        | Touch::Key(_)
        | Touch::Print(_)
        | Touch::Review(_) => Vec::new(),
    };
    let trail = tenant.row_because(call, action, "ok", ids, reason);
    let proposal =
        Proposal { drafts: vec![draft], touches: vec![touch], check: Box::new(|_, _| Ok(())), trail };
    match tenant.sequencer.propose(proposal).await {
        Ok(committed) => Ok(tenant.token(&call.caller, committed.lsn)),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(crate::write::keeps_changing()),
    }
}

/// Forbids an agent to write, for everybody.
pub(crate) async fn suspend(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    reason: &str,
) -> Result<String, Refusal> {
    let found = call.caller.must(Power::Policies).and_then(|()| {
        checked(Some(reason))?;
        agent_id(tenant, agent)
    });
    match found {
        Ok(agent) => {
            set_agent(tenant, call, agent, Event::AgentSuspended { agent }, (reason, "suspend_agent")).await
        }
        Err(refusal) => Err(tenant.refused(call, "suspend_agent", named_agent(tenant, agent), refusal).await),
    }
}

async fn set_agent(
    tenant: &Tenant,
    call: &Call,
    agent: AgentId,
    event: Event,
    (reason, action): (&str, &str),
) -> Result<String, Refusal> {
    let touch = Touch::Name("agent", agent.to_string());
    set(tenant, call, event, Payload::Reason(reason.to_owned()), touch, (action, Some(reason))).await
}

/// The agent that an act is about, as the trail names it; nothing if there is none.
fn named_agent(tenant: &Tenant, name: &str) -> Vec<String> {
    agent_id(tenant, name).map(|agent| vec![agent.to_string()]).unwrap_or_default()
}

fn agent_id(tenant: &Tenant, name: &str) -> Result<AgentId, Refusal> {
    let views = tenant.shared.views.read();
    let missing = || Refusal::new(Code::NotFound, "no such agent");
    views.identity.find_agent(name).map(|agent| agent.id).ok_or_else(missing)
}
