//! MCP: the memory as tools of an agent, over HTTP at `/mcp` and over stdin and stdout.
//!
//! The same operations, refusals and JSON as REST. Invariant: each call has the caller of its own credential. Over HTTP
//! that is the `Authorization` of the very request, and no session outlives it; over stdio it is the key of the
//! environment, looked up again for every call, so that a revoked key stops at once (SHARE-28).

mod envelope;
mod handler;
mod operations;
mod params;
mod text;
mod tools;

pub use handler::StdioError;

use crate::app::App;
use crate::config;
use axum::Router;
use axum::middleware::from_fn_with_state;
use handler::Handler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;
use tabellion_engine::Engine;

/// The longest line that is read from stdin: a write's largest body and what JSON-RPC puts around it.
const LINE_BYTES_MAX: usize = 2 << 20;

/// The route of the streamable HTTP transport.
pub(crate) fn router(app: &Arc<App>, settings: &config::Mcp) -> Router {
    let handler = Handler::over_http(app.engine().clone());
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        transport(app, settings),
    );
    Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn_with_state(Arc::clone(app), envelope::admit))
}

/// Stateless, answers in JSON; asks hosts and origins against web pages that reach for servers near the browser.
fn transport(app: &Arc<App>, settings: &config::Mcp) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(app.limits().body_bytes_max)
        .with_allowed_origins(&settings.allowed_origins)
        .enforce_origin_validation();
    // To rmcp an empty list means any host; here it means what it says by default, this machine.
    if settings.allowed_hosts.is_empty() {
        config
    } else {
        config.with_allowed_hosts(&settings.allowed_hosts)
    }
}

/// Serves one client over stdin and stdout until it leaves.
///
/// # Errors
/// When the key is refused or the transport fails.
pub async fn stdio(engine: Engine, key: &str) -> Result<(), StdioError> {
    engine.recognise(key).await.map_err(StdioError::Refused)?;
    let (read, write) = rmcp::transport::stdio();
    handler::serve(Handler::over_stdio(engine, key.to_owned()), read, write, LINE_BYTES_MAX).await
}
