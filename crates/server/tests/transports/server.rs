//! A whole server on a port of its own, and connections to it.

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::net::SocketAddr;
use tabellion_server::config::{GovernanceFlags, WritePolicy};
use tabellion_server::{Config, Flags, Secrets};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

const OPERATOR: &str = "tab_operator_of_these_tests";

pub(crate) struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    stopped: tokio::task::JoinHandle<()>,
    _data: tempfile::TempDir,
}

/// One HTTP/2 connection, without TLS: REST, gRPC and MCP all go through it.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: http2::SendRequest<Body>,
    address: SocketAddr,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A tenant with the same people in it as any other.
pub(crate) struct Tenant {
    pub(crate) admin: String,
    pub(crate) ana: String,
    pub(crate) ana_key: String,
    pub(crate) ben: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let flags = Flags {
            data: Some(data.path().join("data")),
            listen: Some("127.0.0.1:0".parse().unwrap()),
            test_clock: true,
            governance: GovernanceFlags { policy: Some(WritePolicy::Open) },
            ..Flags::default()
        };
        let config = Config::load(None, &flags).unwrap();
        let secrets = Secrets { admin_key: Some(OPERATOR.to_owned()), ..Secrets::default() };
        let (ready, started) = oneshot::channel();
        let (stop, told) = oneshot::channel::<()>();
        let stopped = tokio::spawn(async move {
            let told = async move { drop(told.await) };
            tabellion_server::serve_until(config, secrets, ready, told).await.unwrap();
        });
        let address = started.await.unwrap().address;
        // The server's hook keeps texts out of its log; a failed test has to say why.
        drop(std::panic::take_hook());
        Self { address, stop: Some(stop), stopped, _data: data }
    }

    pub(crate) async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Connection { sender, address: self.address }
    }

    /// Makes a tenant with ana, who acts through the agent `market`, and ben.
    pub(crate) async fn tenant(&self, name: &str) -> Tenant {
        let connection = self.connect().await;
        let made = async |key: &str, path: &str, body: Value| {
            let answer = connection.json(Method::POST, path, key, &body).await;
            assert_eq!(answer.status, StatusCode::CREATED, "{path}: {}", answer.text());
            answer.value()
        };
        let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
        let admin = text(&made(OPERATOR, "/v1/tenants", json!({"name": name})).await, "admin_key");
        for (path, name) in [("/v1/users", "ana"), ("/v1/users", "ben"), ("/v1/agents", "market")] {
            made(&admin, path, json!({"name": name})).await;
        }
        made(&admin, "/v1/resources", json!({"name": "market_kb"})).await;
        made(&admin, "/v1/edges/ar/market/market_kb", Value::Null).await;
        let ana = made(&admin, "/v1/keys", json!({"user": "ana", "agent": "market"})).await;
        let ben = made(&admin, "/v1/keys", json!({"user": "ben"})).await;
        Tenant { admin, ana: text(&ana, "key"), ana_key: text(&ana, "id"), ben: text(&ben, "key") }
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.stopped.await.unwrap();
    }
}

impl Connection {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn json(&self, method: Method, path: &str, key: &str, body: &Value) -> Answer {
        let request = Request::builder().method(method).uri(self.url(path));
        let request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request.header(header::CONTENT_TYPE, "application/json").body(body).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.clone().start(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(Body::new(body), 64 << 20).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn start(
        mut self,
        request: Request<Body>,
    ) -> Result<axum::http::Response<hyper::body::Incoming>, hyper::Error> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
