//! Calls of resources: checked against the graph, sent where the operator said, put on the trail, and remembered as what
//! later writes of the pair may rest on (SHARE-26).

use crate::equipment::{Configured, Equipped, How};
use crate::ports::CallError;
use crate::reply::CallReply;
use crate::tenant::Tenant;
use crate::trace::Made;
use crate::{Call, Engine};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::ResourceId;
use tabellion_core::log::{AgentStatus, Edge, ResourceStatus};
use tabellion_core::orchestrate::{Documents, cut};
use tabellion_core::rank::dot;
use tabellion_core::time::Period;

/// The name of this operation on the trail.
pub(crate) const ACTION: &str = "resource_call";
/// The name of a trace.
const TRACE_BYTES_MAX: usize = 256;
/// Documents that are compared by meaning, of those that have most of the words.
const COMPARED_MAX: usize = 32;
/// Documents that are given unless the call says how many.
const TOP_K_DEFAULT: u64 = 5;
/// What is told of a resource's own words on why it refused.
const REFUSED_CHARS_MAX: usize = 300;

impl Engine {
    /// Calls a resource for a pair.
    ///
    /// # Errors
    /// When the agent may not use it or it is not there, which look the same; when nobody said how it is reached; when the
    /// arguments are not of its schema; when it gives no answer.
    pub async fn call_resource(
        &self,
        call: &Call,
        id: &str,
        args: Map<String, Value>,
        trace: Option<String>,
    ) -> Result<CallReply, Refusal> {
        if trace.as_ref().is_some_and(|trace| trace.is_empty() || trace.len() > TRACE_BYTES_MAX) {
            let expected = format!("1 to {TRACE_BYTES_MAX} bytes");
            let fault = Fault::new("/trace_id", Code::ConstraintViolation, expected);
            return Err(
                Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /trace_id").with(vec![fault])
            );
        }
        let call = Call { trace: trace.or_else(|| call.trace.clone()), ..call.clone() };
        called(&*self.tenant(&call)?, self.equipped(), &call, id, args).await
    }
}

/// A resource that the caller may use now.
pub(crate) struct Usable {
    pub(crate) id: ResourceId,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// The resources that a pair may use now.
pub(crate) fn usable(tenant: &Tenant, call: &Call) -> Vec<Usable> {
    let views = tenant.shared.views.read();
    let (at, caller) = (tenant.moment(&views), &call.caller);
    let invoked = caller.is_person() || views.graphs.has(Edge::Invoke(caller.user(), caller.agent()), at);
    if !invoked || views.graphs.status_at(caller.agent(), at.lsn) != AgentStatus::Active {
        return Vec::new();
    }
    let reach = views.graphs.resources_of(caller.agent(), at);
    let works = |one: &&tabellion_core::view::Resource| {
        views.graphs.resource_at(one.id, at.lsn) == ResourceStatus::Active
    };
    let known = views.identity.resources().iter().filter(|one| reach.contains(&one.id)).filter(works);
    let one = |one: &tabellion_core::view::Resource| Usable {
        id: one.id,
        name: one.words.name.clone(),
        description: one.words.description.clone(),
    };
    known.map(one).collect()
}

/// The one of this name or id, or the one answer for what is missing and what is not theirs.
fn usable_as(tenant: &Tenant, call: &Call, id: &str) -> Result<Usable, Refusal> {
    let found = usable(tenant, call).into_iter().find(|one| one.name == id || one.id.to_string() == id);
    found.ok_or_else(|| {
        Refusal::new(
            Code::NotFound,
            "no such resource, or this agent may not use it; an admin can grant that",
        )
    })
}

/// Calls a resource: one row on the trail, durable before the answer is given.
pub(crate) async fn called(
    tenant: &Tenant,
    equipped: &Equipped,
    call: &Call,
    id: &str,
    args: Map<String, Value>,
) -> Result<CallReply, Refusal> {
    let print = tenant.fingerprint(&[b"args", Value::Object(args.clone()).to_string().as_bytes()]);
    let found = usable_as(tenant, call, id);
    let ids = found.as_ref().map(|one| vec![one.id.to_string()]).unwrap_or_default();
    let result = match found {
        Ok(resource) => answered(tenant, equipped, call, resource, args).await,
        Err(refusal) => Err(refusal),
    };
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    let mut row = tenant.row(call, ACTION, outcome, ids);
    row.record.query = Some(print);
    tenant.sequencer.trail_now(row).await?;
    result
}

async fn answered(
    tenant: &Tenant,
    equipped: &Equipped,
    call: &Call,
    resource: Usable,
    args: Map<String, Value>,
) -> Result<CallReply, Refusal> {
    let configured = configured(tenant, equipped, &resource)?;
    configured.args.check(&args)?;
    let _place = equipped.admit_call()?;
    // Before anything leaves: whatever becomes of the call, what is written from now on may rest on it.
    tenant.told(call, &Made { called: [resource.id].into(), ..Made::default() });
    let result = match &configured.how {
        How::Documents(documents) => Ok(search(tenant, call, Arc::clone(documents), &args).await),
        How::Outside(outside) => {
            let outside = Arc::clone(outside);
            let asked = tokio::task::spawn_blocking(move || outside.call(&args)).await;
            asked.unwrap_or_else(|_| Err(CallError::Unreachable("the thread that asked it ended".to_owned())))
        }
    };
    count(configured.kind, &result);
    let result = result.map_err(|error| failed(&resource.name, &error))?;
    // What was revoked while it was asked is not given any more.
    usable_as(tenant, call, &resource.id.to_string())?;
    Ok(CallReply { resource: resource.id, name: resource.name, result })
}

/// How a resource is called.
pub(crate) fn configured<'a>(
    tenant: &Tenant,
    equipped: &'a Equipped,
    resource: &Usable,
) -> Result<&'a Configured, Refusal> {
    let views = tenant.shared.views.read();
    equipped.find(&views.identity, &resource.id.to_string(), &resource.name).ok_or_else(|| {
        let name = &resource.name;
        let message = format!(
            "nobody said how `{name}` is reached; the operator adds [[resources]] with name = \"{name}\" to the server's configuration"
        );
        Refusal::new(Code::ResourceNotConfigured, message)
    })
}

fn count(kind: &'static str, result: &Result<Value, CallError>) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(CallError::Unreachable(_)) => "unreachable",
        Err(CallError::Slow) => "timeout",
        Err(CallError::Status(_)) => "status",
        Err(CallError::TooLarge) => "too_large",
        Err(CallError::Nonsense(_)) => "nonsense",
        Err(CallError::Refused(_)) => "refused",
    };
    metrics::counter!("tabellion_resource_calls_total", "kind" => kind, "outcome" => outcome).increment(1);
}

fn failed(name: &str, error: &CallError) -> Refusal {
    if let CallError::Refused(words) = error {
        let fault = Fault::new("/args", Code::ResourceFailed, "what the resource can do");
        let message = format!("`{name}` says that it cannot do this");
        let fault = fault.found(cut(words, REFUSED_CHARS_MAX));
        return Refusal::new(Code::ResourceFailed, message).with(vec![fault]);
    }
    tracing::warn!(resource = name, %error, "a resource gives no answer");
    Refusal::new(Code::ResourceUnavailable, format!("`{name}` gives no answer: {error}; try again later"))
        .retry_after(Period::from_secs(5))
}

/// The documents that are most about a question: by their words, and by meaning among those.
async fn search(tenant: &Tenant, call: &Call, documents: Arc<Documents>, args: &Map<String, Value>) -> Value {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let top_k = args.get("top_k").and_then(Value::as_u64).unwrap_or(TOP_K_DEFAULT);
    let top_k = usize::try_from(top_k).unwrap_or(usize::MAX);
    let mut found: Vec<_> =
        documents.about(query, COMPARED_MAX.max(top_k)).into_iter().map(|one| (one, one.share)).collect();
    let texts: Vec<String> = found.iter().map(|(one, _)| one.document.text.clone()).collect();
    if let Some(alike) = alike(tenant, call, query, texts).await {
        for ((_, score), cosine) in found.iter_mut().zip(alike) {
            *score = f64::midpoint(*score, cosine.max(0.0));
        }
    }
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    found.truncate(top_k);
    let row = |(one, score): (tabellion_core::orchestrate::Passage<'_>, f64)| {
        let document = one.document;
        json!({"id": document.id, "title": document.title, "text": document.text, "score": score, "words": one.share})
    };
    json!({"results": found.into_iter().map(row).collect::<Vec<_>>()})
}

/// How alike texts are to another, by meaning; none where no model says so.
pub(crate) async fn alike(tenant: &Tenant, call: &Call, one: &str, texts: Vec<String>) -> Option<Vec<f64>> {
    let embedding = Arc::clone(tenant.shared.vectors.as_ref()?.embedding());
    let (tenant_id, user) = (tenant.shared.tenant, call.caller.user());
    let wait = Duration::from_millis(tenant.limits.embedding_wait_ms);
    let owned: Vec<(_, String)> =
        std::iter::once(one.to_owned()).chain(texts).map(|text| (user, text)).collect();
    let made = tokio::task::spawn_blocking(move || embedding.many(tenant_id, &owned));
    let vectors = tokio::time::timeout(wait, made).await.ok()?.ok()?.ok()?;
    let (first, rest) = vectors.split_first()?;
    Some(rest.iter().map(|vector| f64::from(dot(first, vector))).collect())
}
