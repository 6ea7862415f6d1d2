//! Are writes being taken? The standard health service, asked of the engine each time.

use super::call::Memory;
use super::proto::tabellion_server::TabellionServer;
use futures::{Stream, StreamExt};
use std::pin::Pin;
use std::time::Duration;
use tabellion_engine::Engine;
use tokio_stream::wrappers::IntervalStream;
use tonic::server::NamedService;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// How soon a watcher hears of a change.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// The health of the engine behind the services.
pub(super) struct EngineHealth(pub(super) Engine);

impl EngineHealth {
    fn known(service: &str) -> Result<(), Status> {
        let known = service.is_empty() || service == TabellionServer::<Memory>::NAME;
        if known { Ok(()) } else { Err(Status::not_found("no such service")) }
    }
}

fn answer(engine: &Engine) -> HealthCheckResponse {
    let status = if engine.is_ready() { ServingStatus::Serving } else { ServingStatus::NotServing };
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl Health for EngineHealth {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Self::known(&request.get_ref().service)?;
        Ok(Response::new(answer(&self.0)))
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Self::known(&request.get_ref().service)?;
        let engine = self.0.clone();
        let ticks = IntervalStream::new(tokio::time::interval(WATCH_EVERY));
        let mut told = None;
        let changes = ticks.filter_map(move |_| {
            let now = answer(&engine);
            let is_new = told != Some(now.status);
            told = Some(now.status);
            std::future::ready(is_new.then_some(Ok(now)))
        });
        Ok(Response::new(Box::pin(changes)))
    }
}
