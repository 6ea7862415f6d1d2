//! REST under `/v1`, and what watches the server.
//!
//! Converts between HTTP with JSON and the engine. Knows nothing of how a write is judged or who may see what.

pub(crate) mod body;
pub(crate) mod call;
mod convert;
pub(crate) mod dto;
mod openapi;
mod params;
mod path;
mod routes;

pub(crate) use path::{no_such_method, no_such_path};
pub(crate) use routes::probes::{healthz, readiness};

use crate::app::App;
use crate::refusal::Refused;
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::routing::{delete, get, post};
use path::Verb;
use routes::{batch, items, principals, probes, trail};
use std::sync::Arc;

/// The path behind which verbs stand.
const ITEM: &str = "/v1/items/{id}";

/// Every REST route.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(probes::healthz))
        .route("/readyz", get(probes::readyz))
        .route("/metrics", get(probes::read_metrics))
        .route("/openapi.json", get(probes::read_openapi))
        .route("/v1/test-clock", post(probes::set_test_clock))
        .route("/v1/tenants", post(principals::create_tenant))
        .route("/v1/users", get(principals::list_users).post(principals::create_user))
        .route("/v1/agents", get(principals::list_agents).post(principals::create_agent))
        .route("/v1/resources", get(principals::list_resources).post(principals::create_resource))
        .route("/v1/keys", get(principals::list_keys).post(principals::create_key))
        .route("/v1/keys/{id}", delete(principals::revoke_key))
        .route("/v1/whoami", get(principals::whoami))
        .route("/v1/items", get(items::list_items).post(items::write_item))
        .route("/v1/items:batch", post(batch::write_batch))
        .route(
            ITEM,
            get(items::read_item)
                .put(items::update_item)
                .delete(items::retract_item)
                .post(items::change_item),
        )
        .route("/v1/items/{id}/versions", get(items::list_versions))
        .route("/v1/items/{id}/provenance", get(items::read_provenance))
        .route("/v1/search", post(items::search))
        .route("/v1/audit", get(trail::read_audit))
        .route("/v1/audit:verify", post(trail::verify))
        .route("/v1/proofs/head", get(trail::read_head))
        .route("/v1/proofs/inclusion", get(trail::prove_inclusion))
        .route("/v1/proofs/consistency", get(trail::prove_consistency))
        .method_not_allowed_fallback(async || Refused(no_such_method()))
        .with_state(app)
}

/// The route that answers a request, as its template: good for a label or a log line, because no client can make one up.
pub(crate) fn route_of(request: &Request) -> String {
    let Some(matched) = request.extensions().get::<MatchedPath>() else { return "unmatched".to_owned() };
    let verb = if matched.as_str() == ITEM { Verb::at_end_of(request.uri().path()) } else { None };
    match verb {
        Some(verb) => format!("{ITEM}:{}", verb.as_str()),
        None => matched.as_str().to_owned(),
    }
}
