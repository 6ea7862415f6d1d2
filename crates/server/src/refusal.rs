//! How does a refusal look over HTTP?
//!
//! A handler only says which refusal; the outermost layer renders it, because it alone knows the request's number and
//! whether a REST or a gRPC client is waiting. So every refusal has one shape, wherever it was made.

use crate::rest::dto::{ItemIdText, RefusalIdText, VersionIdText};
use crate::status;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tabellion_core::error::{Fault, Kind, Refusal};
use tabellion_core::gate::Against;
use tabellion_core::time::Period;
use utoipa::ToSchema;

/// Faults shown of one refusal; a body can hold more mistakes than are worth sending back.
const FAULTS_MAX: usize = 64;

/// A refusal as the answer of a handler.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = status::http(self.0.code).into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}

/// Why a request was refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Refusal)]
pub(crate) struct RefusalBody {
    /// A word for programs; codes are never renamed.
    #[schema(pattern = "^[A-Z_]+$")]
    pub(crate) code: &'static str,
    /// What happened and what would help, for people.
    pub(crate) message: String,
    /// The gate that refused, on a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gate: Option<&'static str>,
    /// What is wrong, and where.
    pub(crate) errors: Vec<FaultBody>,
    /// The request's number, as in the header `x-request-id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required, nullable = false)]
    pub(crate) request_id: Option<String>,
    /// The item that says the same, on a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ItemIdText>, nullable = false)]
    pub(crate) existing_ref: Option<String>,
    /// What is known and speaks against a write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) contradictions: Vec<ContradictionBody>,
    /// Where a refused write is kept for its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RefusalIdText>, nullable = false)]
    pub(crate) refusal_id: Option<String>,
}

/// Something known that speaks against a write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Contradiction)]
pub(crate) struct ContradictionBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Its version.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// How it was found.
    #[schema(value_type = String)]
    pub(crate) method: &'static str,
    /// How surely.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) score: f64,
    /// How close the topics are.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) similarity: f64,
    /// What it says, where the caller may see it: at most 1,000 characters of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) text: Option<String>,
}

impl From<Against> for ContradictionBody {
    fn from(against: Against) -> Self {
        Self {
            id: against.known.item.to_string(),
            version: against.known.version.to_string(),
            method: against.method.as_str(),
            score: against.score,
            similarity: against.similarity,
            text: against.text,
        }
    }
}

/// One thing wrong with a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fault)]
pub(crate) struct FaultBody {
    /// JSON pointer into the body; `/query/…` for a query parameter.
    pub(crate) path: String,
    /// What is wrong there.
    #[schema(pattern = "^[A-Z_]+$")]
    pub(crate) code: &'static str,
    /// What would pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<String>,
    /// What came instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) actual: Option<String>,
}

impl RefusalBody {
    pub(crate) fn new(refusal: Refusal, request_id: Option<&str>) -> Self {
        let in_the_way = refusal.in_the_way.map(|in_the_way| *in_the_way).unwrap_or_default();
        Self {
            existing_ref: in_the_way.existing.map(|item| item.to_string()),
            contradictions: in_the_way.against.into_iter().map(Into::into).collect(),
            refusal_id: refusal.kept.map(|id| id.to_string()),
            code: refusal.code.as_str(),
            message: refusal.message,
            gate: refusal.gate.map(|gate| gate.as_str()),
            errors: faults(refusal.errors),
            request_id: request_id.map(str::to_owned),
        }
    }
}

/// Faults as they are sent, the first of them if they are many.
fn faults(faults: Vec<Fault>) -> Vec<FaultBody> {
    let body = |fault: Fault| FaultBody {
        path: fault.path,
        code: fault.code.as_str(),
        expected: fault.expected,
        actual: fault.actual,
    };
    faults.into_iter().take(FAULTS_MAX).map(body).collect()
}

/// Which client is waiting for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// One that reads JSON.
    Json,
    /// One that reads the status of gRPC.
    Grpc,
}

impl Wire {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let grpc = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
        if grpc { Self::Grpc } else { Self::Json }
    }
}

/// Gives a refused response its body and headers; others pass as they are.
pub(crate) fn render(mut response: Response, request_id: &str, wire: Wire) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else { return response };
    match wire {
        Wire::Json => json(response, refusal, request_id),
        Wire::Grpc => crate::grpc::status(refusal, Some(request_id.to_owned())).into_http(),
    }
}

/// A wait as clients are told it: not shorter than it is, and not nothing.
pub(crate) const fn whole_seconds(wait: Period) -> u64 {
    let seconds = wait.as_micros().div_ceil(1_000_000);
    if seconds == 0 { 1 } else { seconds }
}

fn json(mut response: Response, refusal: Refusal, request_id: &str) -> Response {
    let (kind, retry_after) = (refusal.code.kind(), refusal.retry_after);
    let body = serde_json::to_vec(&RefusalBody::new(refusal, Some(request_id))).unwrap_or_default();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if kind == Kind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if matches!(kind, Kind::RateLimited | Kind::Unavailable) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after.map_or(1, whole_seconds)));
    }
    *response.body_mut() = Body::from(body);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::error::Code;

    async fn rendered(refusal: Refusal) -> (Response, serde_json::Value) {
        let mut response = render(Refused(refusal).into_response(), "r1", Wire::Json);
        let bytes = axum::body::to_bytes(std::mem::take(response.body_mut()), 1 << 20).await.unwrap();
        (response, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn every_code_has_the_one_shape() {
        for code in Code::ALL {
            let (response, body) = rendered(Refusal::new(*code, "why")).await;
            assert_eq!(response.status(), status::http(*code));
            let expected = serde_json::json!({"code": code.as_str(), "message": "why", "errors": [], "request_id": "r1"});
            assert_eq!(body, expected);
        }
    }

    #[tokio::test]
    async fn those_who_may_come_back_are_told_when() {
        let waiting = Refusal::new(Code::RateLimited, "why").retry_after(Period::from_secs(3));
        assert_eq!(rendered(waiting).await.0.headers()[header::RETRY_AFTER], "3");
        assert_eq!(
            rendered(Refusal::new(Code::Overloaded, "why")).await.0.headers()[header::RETRY_AFTER],
            "1"
        );
        let (response, _) = rendered(Refusal::new(Code::Unauthenticated, "why")).await;
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
    }

    #[tokio::test]
    async fn faults_are_bounded() {
        let many = (0..1000).map(|n| Fault::new(format!("/{n}"), Code::UnknownField, "nothing")).collect();
        let (_, body) = rendered(Refusal::new(Code::SchemaInvalid, "why").with(many)).await;
        assert_eq!(body["errors"].as_array().unwrap().len(), FAULTS_MAX);
        assert_eq!(
            body["errors"][0],
            serde_json::json!({"path": "/0", "code": "UNKNOWN_FIELD", "expected": "nothing"})
        );
    }

    #[test]
    fn grpc_clients_get_a_grpc_status() {
        let refusal = Refused(Refusal::new(Code::Overloaded, "busy")).into_response();
        let response = render(refusal, "r1", Wire::Grpc);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["grpc-status"], "14");
    }
}
