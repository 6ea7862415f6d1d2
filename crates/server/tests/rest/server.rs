//! One router over an engine in memory, and callers of it.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;
use tabellion_core::gate::Strictness;
use tabellion_engine::ports::{Advisers, ManualClock, SeededEntropy};
use tabellion_engine::{AuditReads, Engine, Governance, Options};
use tabellion_server::app::App;
use tabellion_server::config::{Config, Limits};
use tower::ServiceExt;

const ADMIN: &str = "tab_admin_of_these_tests";

pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) key: String,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// Checks the shape of every refusal.
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status.as_u16(), self.code().as_str()), (status, code), "{}", self.text);
        let body = self.json();
        assert!(body["message"].is_string() && body["errors"].is_array(), "{body}");
        assert_eq!(body["request_id"].as_str().unwrap(), self.headers["x-request-id"].to_str().unwrap());
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/json");
        let known = [
            "code",
            "message",
            "gate",
            "errors",
            "request_id",
            "existing_ref",
            "contradictions",
            "refusal_id",
        ];
        assert!(body.as_object().unwrap().keys().all(|name| known.contains(&name.as_str())), "{body}");
    }

    pub(crate) fn fault_at(&self, path: &str, code: &str) {
        let errors = self.json()["errors"].clone();
        let found =
            errors.as_array().unwrap().iter().any(|fault| fault["path"] == path && fault["code"] == code);
        assert!(found, "no {code} at {path}: {errors}");
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let options = Options {
            data: None,
            master_key: None,
            admin_key: Some(ADMIN.to_owned()),
            accept_loss: false,
            clock: Arc::new(ManualClock::at("2026-11-15T00:00:00Z".parse().unwrap())),
            entropy: Arc::new(SeededEntropy::new(7)),
            limits: tabellion_engine::EngineLimits::default(),
            embedder: None,
            audit_reads: AuditReads::Sync,
            governance: Governance { strictness: Strictness::Open, ..Governance::default() },
            advisers: Advisers::default(),
        };
        let (engine, _) = Engine::open(options).unwrap();
        let config = Config { limits, ..Config::default() };
        let router = tabellion_server::router(Arc::new(App::new(engine, limits, None)), &config);
        Self { router, key: ADMIN.to_owned() }
    }

    /// The same server with another caller.
    pub(crate) fn caller(&self, key: &Value) -> Self {
        Self { router: self.router.clone(), key: key["key"].as_str().unwrap().to_owned() }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), 256 << 20).await.unwrap();
        Answer { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
        let request = Request::builder().method(method).uri(path);
        request.header(header::AUTHORIZATION, format!("Bearer {}", self.key)).body(body.into()).unwrap()
    }

    pub(crate) async fn raw(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        self.send(self.request(method, path, body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.raw("GET", path, Body::empty()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.raw("POST", path, body.to_string()).await
    }

    pub(crate) async fn write(&self, text: &str) -> Value {
        self.post("/v1/items", json!({"text": text})).await.expect(201)
    }

    pub(crate) async fn member(&self, name: &str) -> Self {
        self.post("/v1/users", json!({"name": name})).await.expect(201);
        self.caller(&self.post("/v1/keys", json!({"user": name})).await.expect(201))
    }
}
