//! How does a refusal look over HTTP?
//!
//! A handler only says which refusal; the outermost layer renders it, because it alone knows the request's number and
//! whether a REST or a gRPC client is waiting. So every refusal has one shape, wherever it was made.

use crate::status;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tabellion_core::error::{Fault, Kind, Refusal};
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
    pub(crate) request_id: String,
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
    pub(crate) fn new(refusal: Refusal, request_id: &str) -> Self {
        Self {
            code: refusal.code.as_str(),
            message: refusal.message,
            gate: refusal.gate.map(|gate| gate.as_str()),
            errors: faults(refusal.errors),
            request_id: request_id.to_owned(),
        }
    }
}

/// Faults as they are sent, the first of them if they are many.
pub(crate) fn faults(faults: Vec<Fault>) -> Vec<FaultBody> {
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

fn json(mut response: Response, refusal: Refusal, request_id: &str) -> Response {
    let (kind, retry_after) = (refusal.code.kind(), refusal.retry_after);
    let body = serde_json::to_vec(&RefusalBody::new(refusal, request_id)).unwrap_or_default();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if kind == Kind::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if matches!(kind, Kind::RateLimited | Kind::Unavailable) {
        let seconds = retry_after.map_or(1, |period: Period| period.as_micros().div_ceil(1_000_000).max(1));
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
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
