//! `/healthz`, `/readyz`, `/metrics`, `/openapi.json`, and the clock of tests.

use crate::app::{App, Phase};
use crate::metrics;
use crate::refusal::Refused;
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::openapi;
use crate::rest::params::NoParams;
use crate::rest::path::no_such_path;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::time::Timestamp;

/// Tell whether the process runs
#[utoipa::path(
    get, path = "/healthz", tag = "operations", security(()),
    responses((status = 200, description = "it does", body = HealthBody))
)]
pub(crate) async fn healthz() -> Json<HealthBody> {
    Json(HealthBody { status: "ok", reason: None })
}

/// Tell whether requests are taken
#[utoipa::path(
    get, path = "/readyz", tag = "operations", security(()),
    responses(
        (status = 200, description = "they are", body = HealthBody),
        (status = 503, description = "not yet, or not any more", body = HealthBody),
    )
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    readiness(app.phase(), app.storage_trouble())
}

/// The answer of `/readyz` in a phase, with the reason where there is one.
pub(crate) fn readiness(phase: Phase, reason: Option<String>) -> Response {
    let status = if phase == Phase::Ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reason = reason.filter(|_| phase != Phase::Ready);
    (status, Json(HealthBody { status: phase.as_str(), reason })).into_response()
}

/// Read the metrics, as Prometheus text
#[utoipa::path(
    get, path = "/metrics", tag = "operations", security(()),
    responses((status = 200, description = "all of them", body = String, content_type = "text/plain"))
)]
pub(crate) async fn read_metrics(State(app): State<Arc<App>>) -> ([(HeaderName, &'static str); 1], String) {
    metrics::kept_apart(app.engine().kept_apart());
    metrics::suspended_agents(app.engine().suspended_agents());
    metrics::held_pairs(app.engine().held_pairs());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::render())
}

/// Read the description of this interface
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations", security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub(crate) async fn read_openapi() -> ([(HeaderName, &'static str); 1], Bytes) {
    ([(header::CONTENT_TYPE, "application/json")], openapi::bytes())
}

/// `POST /v1/test-clock`: sets the time of a server that was started for tests, from this machine alone. Anywhere else
/// there is no such path.
pub(crate) async fn set_test_clock(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let is_local = peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback());
    let Some(clock) = app.clock().filter(|_| is_local) else { return Err(no_such_path().into()) };
    Authenticated::from_request_parts(&mut parts, &app).await?;
    NoParams::from_request_parts(&mut parts, &app).await?;
    let request = Request::from_parts(parts, body);
    let AdminBody(TestClockBody { now }) = AdminBody::from_request(request, &app).await?;
    let now: Timestamp = now.parse().map_err(|_| not_a_time())?;
    clock.set(now);
    Ok(Json(TestClockSetBody { now: now.to_string() }).into_response())
}

fn not_a_time() -> Refusal {
    let fault =
        Fault::new("/now", Code::ConstraintViolation, "an RFC 3339 time such as 2026-11-15T00:00:00Z");
    Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /now").with(vec![fault])
}
