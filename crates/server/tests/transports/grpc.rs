//! The operations over gRPC, with the generated client.

use crate::agree::{Outcome, Transport};
use crate::server::Connection;
use axum::body::Body;
use prost::Message;
use prost_types::value::Kind;
use serde_json::{Map, Value, json};
use std::pin::Pin;
use std::task::{Context, Poll};
use tabellion_core::error::Code;
use tabellion_server::grpc::proto::tabellion_client::TabellionClient;
use tabellion_server::grpc::proto::{
    ChangeReply, Contradiction, Evidence, EvidenceDraft, Fault, GetRequest, Item, LayerRate, ListRequest,
    Named, PatchRequest, PinRequest, Refusal, RetractRequest, RollbackRequest, SearchRequest, SearchResult,
    Triple, UnpinRequest, Version, VersionsRequest, WhoAmIRequest, WriteReply, WriteRequest,
};
use tabellion_server::status;
use tonic::codegen::{Service, http};
use tonic::{Request, Response, Status};

pub(crate) struct Grpc(pub(crate) Connection);

/// A connection as the generated client wants it.
#[derive(Clone)]
pub(crate) struct Channel(Connection);

impl Service<http::Request<tonic::body::Body>> for Channel {
    type Response = http::Response<hyper::body::Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.clone().start(request.map(Body::new)))
    }
}

impl Grpc {
    pub(crate) fn channel(&self) -> (Channel, http::Uri) {
        (Channel(self.0.clone()), self.0.url("").parse().unwrap())
    }

    pub(crate) fn client(&self) -> TabellionClient<Channel> {
        let (channel, origin) = self.channel();
        TabellionClient::with_origin(channel, origin)
    }
}

pub(crate) fn with_key<T>(key: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
    request
}

/// `google.rpc.Status`, written down once more: what any other client would read.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The refusal in a status, which must say the same three times.
pub(crate) fn refusal(status: &Status) -> Value {
    let details = RpcStatus::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (i32::from(status.code()), status.message()));
    assert_eq!(details.details[0].type_url, "type.googleapis.com/tabellion.v1.Refusal");
    let refusal = Refusal::decode(details.details[0].value.as_slice()).unwrap();
    let code = Code::ALL.iter().find(|code| code.as_str() == refusal.code).unwrap();
    assert_eq!(i32::from(status.code()), status::grpc(code.kind()));
    assert_eq!(status.metadata().get("tabellion-code").unwrap(), code.as_str());
    assert!(refusal.request_id.as_ref().is_some_and(|id| !id.is_empty()));
    refusal_json(refusal)
}

pub(crate) fn refusal_json(refusal: Refusal) -> Value {
    let fault = |fault: Fault| json!({"path": fault.path, "code": fault.code, "expected": fault.expected, "actual": fault.actual});
    let errors: Vec<Value> = refusal.errors.into_iter().map(fault).collect();
    let against: Vec<Value> = refusal.contradictions.into_iter().map(contradiction_json).collect();
    json!({
        "code": refusal.code, "message": refusal.message, "gate": refusal.gate, "errors": errors,
        "existing_ref": refusal.existing_ref, "refusal_id": refusal.refusal_id,
        "contradictions": (!against.is_empty()).then_some(against)
    })
}

fn outcome<T>(answer: Result<Response<T>, Status>, json: impl FnOnce(T) -> Value) -> Outcome {
    match answer {
        Ok(response) => Outcome::Done(json(response.into_inner())),
        Err(status) => Outcome::Refused(refusal(&status)),
    }
}

/// The fields that the scenario uses.
pub(crate) fn write_request(body: &Value) -> WriteRequest {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let texts = |name: &str| -> Vec<String> {
        body[name].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let triple = body.get("triple").map(|triple| Triple {
        subject: text(triple, "subject"),
        predicate: text(triple, "predicate"),
        object: text(triple, "object"),
    });
    let evidence = body["evidence"].as_array().into_iter().flatten().map(|evidence| EvidenceDraft {
        source_type: text(evidence, "source_type"),
        source_uri: text(evidence, "source_uri"),
        accessed_at: text(evidence, "accessed_at"),
        excerpt: text(evidence, "excerpt"),
        ..Default::default()
    });
    WriteRequest {
        text: text(body, "text"),
        key: text(body, "key"),
        layer: text(body, "layer"),
        confidence: body["confidence"].as_f64(),
        triple,
        fields: body["fields"].as_object().map(to_struct),
        tags: texts("tags"),
        classification: text(body, "classification"),
        domains: texts("domains"),
        evidence: evidence.collect(),
        resources: texts("resources"),
        expected_version: text(body, "expected_version"),
        supersedes: text(body, "supersedes"),
        ..Default::default()
    }
}

fn to_struct(fields: &Map<String, Value>) -> prost_types::Struct {
    let value = |value: &Value| match value {
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        other => panic!("the scenario has no {other}"),
    };
    let field =
        |(name, inner): (&String, &Value)| (name.clone(), prost_types::Value { kind: Some(value(inner)) });
    prost_types::Struct { fields: fields.iter().map(field).collect() }
}

fn from_struct(fields: prost_types::Struct) -> Value {
    let value = |value: prost_types::Value| match value.kind {
        Some(Kind::NumberValue(number)) => json!(number),
        Some(Kind::StringValue(text)) => json!(text),
        Some(Kind::BoolValue(flag)) => json!(flag),
        other => panic!("the scenario has no {other:?}"),
    };
    Value::Object(fields.fields.into_iter().map(|(name, inner)| (name, value(inner))).collect())
}

pub(crate) fn written_json(written: WriteReply) -> Value {
    let contradictions: Vec<Value> = written.contradictions.into_iter().map(contradiction_json).collect();
    let errors = written.pending_id.is_some().then(Vec::<Value>::new);
    json!({
        "status": written.status, "id": written.id, "version": written.version, "trust": written.trust,
        "token": written.token, "pending_id": written.pending_id, "gate": written.gate, "code": written.code,
        "message": written.message, "retry_after": written.retry_after, "errors": errors,
        "contradictions": (!contradictions.is_empty()).then_some(contradictions)
    })
}

fn contradiction_json(one: Contradiction) -> Value {
    json!({"id": one.id, "version": one.version, "method": one.method, "score": one.score, "similarity": one.similarity})
}

fn changed_json(changed: ChangeReply) -> Value {
    let ChangeReply { status, id, version, token } = changed;
    json!({"status": status, "id": id, "version": version, "token": token})
}

fn evidence_json(evidence: Evidence) -> Value {
    json!({
        "source_type": evidence.source_type, "source_uri": evidence.source_uri,
        "source_version": evidence.source_version, "accessed_at": evidence.accessed_at,
        "authority": evidence.authority, "excerpt": evidence.excerpt, "excerpt_hash": evidence.excerpt_hash,
        "source_item_id": evidence.source_item_id
    })
}

fn item_json(item: Item) -> Value {
    let contradictions: Vec<Value> = item.contradictions.into_iter().map(contradiction_json).collect();
    let triple = item.triple.map(
        |triple| json!({"subject": triple.subject, "predicate": triple.predicate, "object": triple.object}),
    );
    json!({
        "id": item.id, "version": item.version, "key": item.key, "text": item.text, "kind": item.kind,
        "layer": item.layer, "tier": item.tier, "namespace": item.namespace, "confidence": item.confidence,
        "trust": item.trust, "fields": from_struct(item.fields.unwrap()), "tags": item.tags, "triple": triple,
        "classification": item.classification, "domains": item.domains,
        "evidence": item.evidence.into_iter().map(evidence_json).collect::<Vec<_>>(),
        "operation": item.operation, "status": item.status, "parents": item.parents, "agents": item.agents,
        "resources": item.resources, "pinned": item.pinned, "created_at": item.created_at,
        "updated_at": item.updated_at, "expires_at": item.expires_at, "token": item.token,
        "contradictions": (!contradictions.is_empty()).then_some(contradictions)
    })
}

fn version_json(version: Version) -> Value {
    json!({
        "version": version.version, "operation": version.operation, "status": version.status,
        "parents": version.parents, "agents": version.agents, "layer_version": version.layer_version,
        "created_at": version.created_at, "ended_at": version.ended_at, "token": version.token
    })
}

fn result_json(result: SearchResult) -> Value {
    let mut item = item_json(result.item.unwrap());
    item["score"] = json!(result.score);
    item["relevance"] = json!(result.relevance);
    item
}

impl Transport for Grpc {
    async fn write(&self, key: &str, mut body: Value) -> Outcome {
        let id = body.as_object_mut().unwrap().remove("id");
        if let Some(id) = id.as_ref().and_then(Value::as_str) {
            let asked = PatchRequest { id: id.to_owned(), patch: body.as_object().map(to_struct) };
            return outcome(self.client().patch(with_key(key, asked)).await, written_json);
        }
        outcome(self.client().write(with_key(key, write_request(&body))).await, written_json)
    }

    async fn get(&self, key: &str, id: &str, as_of: Option<&str>) -> Outcome {
        let asked = GetRequest { id: id.to_owned(), as_of: as_of.map(str::to_owned), moderate: None };
        outcome(self.client().get(with_key(key, asked)).await, item_json)
    }

    async fn list(&self, key: &str, limit: u64) -> Outcome {
        let asked = ListRequest { limit: Some(limit), ..Default::default() };
        outcome(
            self.client().list(with_key(key, asked)).await,
            |reply| json!({"items": reply.items.into_iter().map(item_json).collect::<Vec<_>>(), "next": reply.next}),
        )
    }

    async fn versions(&self, key: &str, id: &str) -> Outcome {
        let asked = VersionsRequest { id: id.to_owned(), moderate: None };
        outcome(
            self.client().versions(with_key(key, asked)).await,
            |reply| json!({"versions": reply.versions.into_iter().map(version_json).collect::<Vec<_>>()}),
        )
    }

    async fn search(&self, key: &str, query: &str, k: u64) -> Outcome {
        let asked = SearchRequest {
            mode: Some("lexical".to_owned()),
            query: Some(query.to_owned()),
            k: Some(k),
            ..Default::default()
        };
        outcome(self.client().search(with_key(key, asked)).await, |reply| {
            let results: Vec<Value> = reply.results.into_iter().map(result_json).collect();
            json!({"results": results, "mode": reply.mode, "search": reply.search, "token": reply.token})
        })
    }

    async fn retract(&self, key: &str, id: &str, reason: &str) -> Outcome {
        let asked = RetractRequest { id: id.to_owned(), reason: Some(reason.to_owned()) };
        outcome(self.client().retract(with_key(key, asked)).await, changed_json)
    }

    async fn rollback(&self, key: &str, id: &str, version: Option<&str>) -> Outcome {
        let asked = RollbackRequest { id: id.to_owned(), version: version.map(str::to_owned), reason: None };
        outcome(self.client().rollback(with_key(key, asked)).await, changed_json)
    }

    async fn pin(&self, key: &str, id: &str) -> Outcome {
        outcome(
            self.client().pin(with_key(key, PinRequest { id: id.to_owned(), reason: None })).await,
            changed_json,
        )
    }

    async fn unpin(&self, key: &str, id: &str) -> Outcome {
        outcome(
            self.client().unpin(with_key(key, UnpinRequest { id: id.to_owned(), reason: None })).await,
            changed_json,
        )
    }

    async fn whoami(&self, key: &str) -> Outcome {
        outcome(self.client().who_am_i(with_key(key, WhoAmIRequest::default())).await, |who| {
            let named = |named: Option<Named>| named.map(|named| json!({"id": named.id, "name": named.name}));
            let limits = who.limits.unwrap();
            let rate = |one: &LayerRate| json!({"layer": one.layer, "used": one.used, "limit": one.limit});
            let queued = limits.queued.map(|one| json!({"used": one.used, "limit": one.limit}));
            let rates: Vec<Value> = limits.writes_per_minute.iter().map(rate).collect();
            json!({"tenant": who.tenant, "user": named(who.user), "agent": named(who.agent), "role": who.role,
                   "limits": {"exempt": limits.exempt, "writes_per_minute": rates, "queued": queued,
                              "session_writes_max": limits.session_writes_max}})
        })
    }
}
