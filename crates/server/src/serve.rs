//! How does a server start, and how does it end?
//!
//! It listens first and opens the engine then: whoever watches can tell a long start from a dead process. At the end it
//! stops listening, lets requests under way finish, and closes the engine.

use crate::app::{App, Phase};
use crate::config::{Config, ConfigError, Limits, Secrets};
use crate::intake::{self, Intake};
use crate::issuer::Trusted;
use crate::refusal::{Refused, Wire};
use crate::webhook::Webhook;
use crate::{console, grpc, guard, logs, mcp, metrics, rest};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum_server::accept::DefaultAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use hyper_util::rt::TokioTimer;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::ports::{Clock, ManualClock, SystemClock, SystemEntropy};
use tabellion_engine::{Engine, FirstStart, Governance, OpenError, Options};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tower::ServiceExt;

/// How often an idle HTTP/2 connection is asked whether it is still there, and how long it has to answer.
const PING_EVERY: Duration = Duration::from_secs(20);

/// How often the engine is reminded to look; by its own clock it looks more seldom.
const ESCALATE_EVERY: Duration = Duration::from_secs(1);

/// The exit code of a process that was told twice to stop.
const TOLD_TWICE: i32 = 130;

/// What is known once requests are taken.
#[derive(Debug)]
pub struct Ready {
    /// Where the server listens; the real port, if the system chose it.
    pub address: SocketAddr,
    /// What the first start made, if this is one.
    pub first_start: Option<FirstStart>,
    /// What the operator should know of this start.
    pub warnings: Vec<String>,
}

/// Why a server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration would not work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The engine could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The system refused something else.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The task that opened or closed the engine did not end well.
    #[error("the engine stopped unexpectedly")]
    Lost,
}

/// Serves until SIGINT or SIGTERM; a second signal ends the process at once.
///
/// # Errors
/// When it cannot start, or the listener breaks.
pub async fn serve(
    config: Config,
    secrets: Secrets,
    ready: oneshot::Sender<Ready>,
) -> Result<(), ServeError> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let told = async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            tracing::warn!("told twice to stop");
            std::process::exit(TOLD_TWICE);
        });
    };
    serve_until(config, secrets, ready, told).await
}

/// Serves until told to stop.
///
/// # Errors
/// As for `serve`.
pub async fn serve_until(
    config: Config,
    mut secrets: Secrets,
    ready: oneshot::Sender<Ready>,
    told: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    config.check()?;
    logs::start(config.log);
    metrics::start();
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    let tls = match config.tls.files()? {
        Some((cert, key)) => Some(intake::tls(cert, key).await?),
        None => None,
    };
    let listener = listen(config.listen)?;
    let address = listener.local_addr()?;
    let front = Arc::new(OnceLock::new());
    let handle = Handle::new();
    let server = bounded(axum_server::from_tcp(listener)?, &config.limits).handle(handle.clone());
    let mut listening = tokio::spawn(accept(server, tls, config.limits, Arc::clone(&front)));
    let _stops_when_dropped = AbortOnDrop(tokio::spawn(metrics::upkeep()));

    let webhook = Webhook::open(&config.governance.webhook_url, secrets.webhook_secret.take())?;
    let mut told = std::pin::pin!(told);
    let mut opening = std::pin::pin!(open(&config, secrets));
    // Opening cannot be broken off; told meanwhile, the server closes what it opened.
    let (opened, told_early) = tokio::select! {
        opened = &mut opening => (opened, false),
        () = &mut told => (opening.await, true),
    };
    let (app, first_start) = opened.inspect_err(|_| handle.shutdown())?;
    let app = Arc::new(app);
    webhook.map(|webhook| webhook.start(app.engine())).transpose()?;
    let _stops_when_dropped = AbortOnDrop(tokio::spawn(escalate(app.engine().clone())));
    let mut broke_off = None;
    if !told_early {
        let _set_once = front.set(router(Arc::clone(&app), &config));
        tracing::info!(%address, "ready");
        let mut warnings = app.engine().warnings();
        warnings.extend(config.warnings());
        let _nobody_waits = ready.send(Ready { address, first_start, warnings });
        tokio::select! {
            ended = &mut listening => broke_off = Some(ended),
            () = &mut told => {}
        }
    }
    tracing::info!("stopping");
    app.stop();
    handle.graceful_shutdown(Some(Duration::from_secs(config.shutdown.grace_seconds)));
    let ended = match broke_off {
        Some(ended) => ended,
        None => listening.await,
    };
    let engine = app.engine().clone();
    tokio::task::spawn_blocking(move || engine.close()).await.map_err(|_| ServeError::Lost)?;
    tracing::info!("stopped");
    ended.map_err(|_| ServeError::Lost)?
}

/// Reads the certificate and key that a configuration names, as a start would.
///
/// # Errors
/// When one of them is missing, cannot be read, or does not fit the other.
pub fn check_tls(config: &Config) -> Result<(), ServeError> {
    if let Some((cert, key)) = config.tls.files()? {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(intake::tls(cert, key))?;
    }
    Ok(())
}

/// Has held writes announced that nobody decided on in time.
async fn escalate(engine: Engine) {
    let mut often = tokio::time::interval(ESCALATE_EVERY);
    loop {
        often.tick().await;
        engine.escalate();
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listener = TcpListener::bind(address).map_err(|error| ServeError::Listen { address, error })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Opening replays what the views have not seen yet: off the threads that answer.
async fn open(config: &Config, secrets: Secrets) -> Result<(App, Option<FirstStart>), ServeError> {
    let trusted = Trusted::open(&config.identity)?;
    let clock = config.test_clock.then(|| Arc::new(ManualClock::at(SystemClock.now())));
    let advisers = config.advisers(&secrets, &tokio::runtime::Handle::current())?;
    let (embedding, key) = (config.embedding.beside(&config.data), secrets.embedding_key);
    let embedder = tokio::task::spawn_blocking(move || embedding.open(key));
    let embedder = embedder.await.map_err(|_| ServeError::Lost)??;
    if let Some(embedder) = &embedder {
        tracing::info!(model = embedder.model(), dimensions = embedder.dimensions(), "embedding model");
    }
    let governed = config.governance.clone();
    let knowledge = tokio::task::spawn_blocking(move || governed.facts());
    let knowledge = knowledge.await.map_err(|_| ServeError::Lost)??;
    if let Some(base) = &knowledge {
        tracing::info!(name = base.name(), facts = base.len(), edition = base.edition(), "knowledge base");
    }
    let (equipped, key) = (config.clone(), secrets.orchestrator_key);
    let equipment = tokio::task::spawn_blocking(move || equipped.equipment(key));
    let equipment = equipment.await.map_err(|_| ServeError::Lost)??;
    let options = Options {
        embedder,
        data: Some(config.data.clone()),
        master_key: secrets.master_key,
        admin_key: secrets.admin_key,
        accept_loss: secrets.accept_loss,
        clock: clock
            .clone()
            .map_or_else(|| Arc::new(SystemClock) as Arc<dyn Clock>, |clock| clock as Arc<dyn Clock>),
        entropy: Arc::new(SystemEntropy),
        limits: config.limits.engine(),
        audit_reads: config.audit_reads(),
        governance: Governance { knowledge, ..config.engine_governance() },
        advisers,
    };
    let opened =
        tokio::task::spawn_blocking(move || Engine::open(options)).await.map_err(|_| ServeError::Lost)?;
    let (engine, first_start) = opened?;
    engine.equip(equipment);
    trusted.by(&engine, &tokio::runtime::Handle::current());
    Ok((App::new(engine, config.limits, clock), first_start))
}

/// Every route of every transport, behind the layers that guard them.
pub fn router(app: Arc<App>, config: &Config) -> Router {
    let routes = rest::router(Arc::clone(&app))
        .merge(grpc::router(&app))
        .merge(mcp::router(&app, &config.mcp))
        .merge(console::router(&app, !config.tls.cert.as_os_str().is_empty()))
        .fallback(unknown_path);
    let patience = Duration::from_secs(config.governance.sync_wait_seconds);
    let bounds = guard::Bounds { app, patience };
    routes.layer(from_fn_with_state(bounds, guard::protect)).layer(from_fn(guard::observe))
}

/// A gRPC client that calls what is not there expects its own word for it.
async fn unknown_path(request: Request) -> Response {
    match Wire::of(request.headers()) {
        Wire::Json => Refused(rest::no_such_path()).into_response(),
        Wire::Grpc => tonic::Status::unimplemented("no such service").into_http(),
    }
}

/// What is answered until the engine is open.
fn starting() -> Router {
    Router::new()
        .route("/healthz", get(rest::healthz))
        .route("/readyz", get(async || rest::readiness(Phase::Starting, None)))
        .fallback(async || Refused(Refusal::new(Code::Overloaded, "the server is starting")))
        .layer(from_fn(guard::observe))
}

async fn accept(
    server: Server<SocketAddr>,
    tls: Option<RustlsConfig>,
    limits: Limits,
    front: Arc<OnceLock<Router>>,
) -> Result<(), ServeError> {
    let starting = starting();
    let service = Router::new().fallback(async move |request: Request| {
        let router = front.get().unwrap_or(&starting).clone();
        router.oneshot(request).await
    });
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    let (connections_max, patience) = (limits.connections_max, limits.header_time_max());
    match tls {
        None => {
            server
                .acceptor(Intake::new(DefaultAcceptor::new(), connections_max, patience))
                .serve(service)
                .await?
        }
        Some(tls) => {
            server
                .acceptor(Intake::new(RustlsAcceptor::new(tls), connections_max, patience))
                .serve(service)
                .await?;
        }
    }
    Ok(())
}

/// HTTP's own limits, before any route is looked at.
fn bounded(mut server: Server<SocketAddr>, limits: &Limits) -> Server<SocketAddr> {
    let builder = server.http_builder();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time_max())
        .max_headers(limits.headers_max)
        // hyper's buffer holds the head of a request; it refuses to be smaller than 8 KiB.
        .max_buf_size((limits.header_bytes_max as usize).max(8 << 10));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY)
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(limits.header_bytes_max);
    server
}
