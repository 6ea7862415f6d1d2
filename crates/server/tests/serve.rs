//! The server on a real port: start, limits of HTTP itself, the clock of tests, the end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly"
)]

use std::net::SocketAddr;
use std::time::Duration;
use tabellion_server::{Config, Ready, Secrets, ServeError, serve_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const ADMIN: &str = "tab_admin_of_these_tests";

struct Running {
    address: SocketAddr,
    ready: Ready,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
    _data: tempfile::TempDir,
}

async fn start(change: impl FnOnce(&mut Config)) -> Running {
    let data = tempfile::tempdir().unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut config = Config { data: data.path().join("data"), listen, ..Config::default() };
    change(&mut config);
    let secrets = Secrets { admin_key: Some(ADMIN.to_owned()), ..Secrets::default() };
    let (ready, is_ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let told = async move {
        let _dropped_says_the_same = stopped.await;
    };
    let serving = tokio::spawn(serve_until(config, secrets, ready, told));
    let ready = is_ready.await.expect("ready");
    Running { address: ready.address, ready, stop, serving, _data: data }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes and reads until the server closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        everything(&mut stream).await
    }

    async fn call(&self, method: &str, path: &str, body: &str) -> String {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        let rest = format!("authorization: Bearer {ADMIN}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.exchange(format!("{head}{rest}").as_bytes()).await
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

async fn everything(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _reset_ends_it_too = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn it_starts_answers_and_ends() {
    let server = start(|_| {}).await;
    assert_eq!(server.ready.first_start.as_ref().unwrap().admin_key, ADMIN);
    assert!(server.call("GET", "/healthz", "").await.ends_with("{\"status\":\"ok\"}"));
    assert!(server.call("GET", "/readyz", "").await.ends_with("{\"status\":\"ready\"}"));
    assert!(server.call("POST", "/v1/items", "{\"text\":\"a\"}").await.starts_with("HTTP/1.1 201"));
    let metrics = server.call("GET", "/metrics", "").await;
    let counted = r#"tabellion_http_requests_total{method="POST",route="/v1/items",status="201"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    assert!(metrics.contains("tabellion_http_request_seconds_bucket{"), "{metrics}");
    let address = server.address;
    server.end().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn requests_under_way_are_finished() {
    let server = start(|_| {}).await;
    let mut stream = server.connect().await;
    let head = format!(
        "POST /v1/items HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN}\r\ncontent-length: 12\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stream.write_all(b"{\"text\":\"a\"}").await.unwrap();
    assert!(everything(&mut stream).await.starts_with("HTTP/1.1 201"));
    server.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_grace_has_an_end() {
    let server = start(|config| config.shutdown.grace_seconds = 1).await;
    let mut stream = server.connect().await;
    stream.write_all(b"POST /v1/items HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n").await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), server.end()).await.expect("it ends");
}

#[tokio::test]
async fn heads_are_bounded_in_size_number_and_time() {
    let server = start(|config| config.limits.header_seconds_max = 1).await;
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    let answer = server.exchange(format!("GET /healthz HTTP/1.1\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let large = format!("GET /healthz HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(70_000));
    let answer = server.exchange(large.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    for slow in ["", "PRI * HTT", "GET /healthz HTTP/1.1\r\nhost: "] {
        let closed = tokio::time::timeout(Duration::from_secs(5), server.exchange(slow.as_bytes())).await;
        assert!(closed.is_ok(), "{slow:?} is waited for");
    }
    server.end().await;
}

#[tokio::test]
async fn connections_are_bounded() {
    let server = start(|config| config.limits.connections_max = 1).await;
    let first = server.connect().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.call("GET", "/healthz", "").await, "");
    drop(first);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(server.call("GET", "/healthz", "").await.starts_with("HTTP/1.1 200"));
    server.end().await;
}

#[tokio::test]
async fn the_clock_of_tests_can_be_set_from_here() {
    let server = start(|config| config.test_clock = true).await;
    let answer = server.call("POST", "/v1/test-clock", "{\"now\":\"2030-01-02T03:04:05Z\"}").await;
    assert!(answer.ends_with("{\"now\":\"2030-01-02T03:04:05.000000Z\"}"), "{answer}");
    let written = server.call("POST", "/v1/items", "{\"text\":\"a\"}").await;
    let id = written.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let item = server.call("GET", &format!("/v1/items/{id}"), "").await;
    assert!(item.contains("\"created_at\":\"2030-01-02T03:04:05"), "{item}");
    let wrong = server.call("POST", "/v1/test-clock", "{\"now\":\"soon\"}").await;
    assert!(wrong.starts_with("HTTP/1.1 422") && wrong.contains("\"/now\""), "{wrong}");
    server.end().await;
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = start(|_| {}).await;
    let data = tempfile::tempdir().unwrap();
    let config = Config { data: data.path().join("data"), listen: server.address, ..Config::default() };
    let (ready, _) = oneshot::channel();
    let error = serve_until(config, Secrets::default(), ready, std::future::pending()).await.unwrap_err();
    assert!(error.to_string().contains(&server.address.to_string()), "{error}");
    assert!(!data.path().join("data").exists(), "nothing is made before the port is ours");
    server.end().await;
}
