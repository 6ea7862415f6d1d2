//! What stands between a connection and a handler?
//!
//! Two layers around every route of every transport. `observe`, the outer one, numbers the request, renders a refusal,
//! counts and logs; `protect` sheds load, keeps rates and time, and catches panics. Neither looks at a body.

use crate::app::App;
use crate::metrics;
use crate::refusal::{Refused, Wire, render};
use crate::rest::route_of;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tabellion_core::canonical::hex;
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::ports::{Entropy, SystemEntropy};
use tokio::time::Instant;

/// The request's number, in both directions.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const REQUEST_ID_CHARS_MAX: usize = 128;

/// A longer name of a trace is none.
const TRACE_BYTES_MAX: usize = 256;

/// What the log says of a request whose client went away: as nginx says it.
const CLIENT_GONE: u16 = 499;

/// The number of a request, among its extensions.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// The secret in `Authorization: Bearer …`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim()).filter(|secret| !secret.is_empty())
}

/// The piece of work that a request belongs to, as its caller names it in `X-Trace-Id`.
pub(crate) fn trace(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("x-trace-id")?.to_str().ok()?;
    (!value.is_empty() && value.len() <= TRACE_BYTES_MAX).then(|| value.to_owned())
}

/// Numbers, renders, counts and logs.
pub(crate) async fn observe(mut request: Request, next: Next) -> Response {
    let wire = Wire::of(request.headers());
    let id = request_id(request.headers());
    let mut line = Line::new(&request, &id);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = render(next.run(request).await, &id, wire);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    line.answered(response.status());
    response
}

/// The client's number if it is one that can stand in a log, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if (1..=REQUEST_ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(fits) => id.to_owned(),
        _ => hex(&<dyn Entropy>::bytes::<16>(&SystemEntropy)),
    }
}

/// The log line of one request; written when it is answered, or dropped unanswered.
struct Line {
    method: &'static str,
    route: String,
    id: String,
    started: Instant,
    is_written: bool,
}

impl Line {
    fn new(request: &Request, id: &str) -> Self {
        let method = metrics::method_label(request.method());
        Self {
            method,
            route: route_of(request),
            id: id.to_owned(),
            started: Instant::now(),
            is_written: false,
        }
    }

    fn answered(&mut self, status: StatusCode) {
        let took = self.started.elapsed();
        metrics::answered(self.method, &self.route, status, took);
        self.write(status.as_u16(), took);
    }

    fn write(&mut self, status: u16, took: Duration) {
        self.is_written = true;
        let latency_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let Self { method, route, id, .. } = self;
        tracing::info!(method = *method, route = %route, status, latency_us, request_id = %id, "request");
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.is_written {
            self.write(CLIENT_GONE, self.started.elapsed());
        }
    }
}

/// Leave to take longer than others, which a write has once its body is here: it may have to wait for a person.
#[derive(Debug, Default)]
pub(crate) struct Patience(AtomicBool);

impl Patience {
    /// Gives leave.
    pub(crate) fn grant(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_granted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What bounds requests.
#[derive(Clone)]
pub(crate) struct Bounds {
    pub(crate) app: Arc<App>,
    /// What a request with leave may take beyond the time of others.
    pub(crate) patience: Duration,
}

/// Sheds load, keeps rates and time, catches panics.
///
/// Probes are let through: what watches the server must see it when it is full.
pub(crate) async fn protect(
    State(Bounds { app, patience: more }): State<Bounds>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_probe(request.uri().path()) {
        return next.run(request).await;
    }
    let under_way = match app.admit() {
        Ok(under_way) => under_way,
        Err(refusal) => return Refused(refusal).into_response(),
    };
    if let Some(Err(refusal)) = bearer(request.headers()).map(|secret| app.take(secret)) {
        return Refused(refusal).into_response();
    }
    request.extensions_mut().insert(Arc::clone(&under_way));
    let patience = Arc::new(Patience::default());
    request.extensions_mut().insert(Arc::clone(&patience));
    let mut answer = pin!(AssertUnwindSafe(next.run(request)).catch_unwind());
    let mut answered = tokio::time::timeout(app.limits().request_time_max(), answer.as_mut()).await;
    if answered.is_err() && patience.is_granted() {
        // Whoever waits for a person does no work: others may have the place.
        drop(under_way);
        answered = tokio::time::timeout(more, answer).await;
    }
    match answered {
        Ok(Ok(response)) => response,
        Ok(Err(_logged_by_the_hook)) => {
            Refused(Refusal::new(Code::Internal, "something broke here; the log has more")).into_response()
        }
        Err(_) => Refused(Refusal::new(Code::Timeout, "the request took longer than the server allows"))
            .into_response(),
    }
}

fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::{from_fn, from_fn_with_state};
    use axum::routing::get;
    use tabellion_core::gate::Strictness;
    use tabellion_engine::ports::{Advisers, SeededEntropy, SystemClock};
    use tabellion_engine::{AuditReads, Engine, EngineLimits, Governance, Options};
    use tower::ServiceExt;

    fn app() -> Arc<App> {
        let options = Options {
            data: None,
            master_key: None,
            admin_key: None,
            accept_loss: false,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SeededEntropy::new(1)),
            limits: EngineLimits::default(),
            embedder: None,
            audit_reads: AuditReads::Async,
            governance: Governance { strictness: Strictness::Open, ..Governance::default() },
            advisers: Advisers::default(),
        };
        Arc::new(App::new(Engine::open(options).unwrap().0, Limits::default(), None))
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        async fn breaks() -> &'static str {
            panic!("the text that it stumbled over")
        }
        let router = Router::new().route("/breaks", get(breaks));
        let bounds = Bounds { app: app(), patience: Duration::ZERO };
        let router = router.layer(from_fn_with_state(bounds, protect)).layer(from_fn(observe));
        let request = Request::builder().uri("/breaks").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.contains("INTERNAL") && !text.contains("stumbled"), "{text}");
    }

    #[tokio::test]
    async fn places_are_free_again() {
        let app = app();
        for _ in 0..3 {
            let all: Vec<_> = (0..app.limits().in_flight_max).map(|_| app.admit()).collect();
            assert!(all.iter().all(Result::is_ok) && app.admit().is_err());
        }
    }

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_number_from_outside_must_fit_a_log() {
        let check = |given: &str, kept: bool| {
            let id = request_id(&headers(REQUEST_ID, given));
            assert_eq!(id == given, kept, "{given}");
            assert!(kept || (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
        };
        check("abc-1.2_3", true);
        check(&"a".repeat(128), true);
        check(&"a".repeat(129), false);
        check("a b", false);
        check("", false);
        check("a\"b", false);
    }

    #[test]
    fn only_a_bearer_is_a_credential() {
        let check = |given: &str, expected: Option<&str>| {
            assert_eq!(bearer(&headers(header::AUTHORIZATION, given)), expected, "{given}");
        };
        check("Bearer tab_x", Some("tab_x"));
        check("bearer  tab_x ", Some("tab_x"));
        check("Basic tab_x", None);
        check("Bearer", None);
        check("Bearer  ", None);
        check("tab_x", None);
    }
}
