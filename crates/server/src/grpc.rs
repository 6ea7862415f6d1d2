//! gRPC: `tabellion.v1`, with health and reflection.
//!
//! Answers what `proto/` promises, through the same engine as REST. Handlers convert and delegate; they decide nothing.
//! Invariant: who acts is what the metadata's credential says, and no message can say otherwise (SHARE-28).

mod access;
mod answer;
mod ask;
mod call;
mod convert;
mod govern;
mod health;
mod import;
mod refusal;
mod relations;
mod roles;
mod service;
mod trust;

pub(crate) use refusal::status;

use crate::app::App;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any_service;
use proto::tabellion_server::TabellionServer;
use std::convert::Infallible;
use std::sync::Arc;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;
use tower::ServiceExt;

/// The messages and services of `proto/tabellion/v1`, as generated.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::needless_pass_by_value,
    reason = "generated"
)]
pub mod proto {
    tonic::include_proto!("tabellion.v1");

    /// The description of every message and service, for reflection.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tabellion.v1.bin"));
}

/// The routes of the gRPC services.
///
/// Each service has its own, so that a path of no service is left to the other transports. Health and reflection are
/// open, as the probes and the description of REST are.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let most = app.limits().body_bytes_max;
    let memory = TabellionServer::new(call::Memory::new(Arc::clone(app))).max_decoding_message_size(most);
    let memory = add(Router::new(), memory).route_layer(from_fn_with_state(Arc::clone(app), call::admit));
    let router = add(memory, HealthServer::new(health::EngineHealth(app.engine().clone())));
    let router = match described().build_v1() {
        Ok(reflection) => add(router, reflection),
        Err(error) => without_reflection(router, &error),
    };
    match described().build_v1alpha() {
        Ok(reflection) => add(router, reflection),
        Err(error) => without_reflection(router, &error),
    }
}

fn described() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

fn without_reflection(router: Router, error: &tonic_reflection::server::Error) -> Router {
    tracing::error!(%error, "grpc reflection is off");
    router
}

fn add<S>(router: Router, service: S) -> Router
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    let path = format!("/{}/{{*method}}", S::NAME);
    let service = service.map_request(|request: http::Request<axum::body::Body>| request.map(Body::new));
    router.route(&path, any_service(service))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A faulty description would only be noticed by whoever asks for it.
    #[test]
    fn the_description_is_complete() {
        assert!(described().build_v1().is_ok());
        assert!(described().build_v1alpha().is_ok());
    }
}
