//! Load: so many writers at once, each with one write under way, against the engine or over REST.

use super::bare::now;
use super::latency::Latencies;
use anyhow::{Context as _, Result, bail};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tabellion_core::gate::read_write;
use tabellion_engine::{Call, Engine};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a load reached.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// A text of about 200 bytes that no other write has.
pub(super) fn text(serial: u64) -> String {
    format!(
        "fact {serial} about topic {} of user {}: the service answers on the port that the runbook of the team names, and the \
         on-call engineer confirmed it after the last change window of the week",
        serial % 200,
        serial % 50
    )
}

/// Writes through the engine in this process.
pub(super) async fn engine(
    engine: &Engine,
    call: &Call,
    writers: usize,
    time: Duration,
    serials: &Arc<AtomicU64>,
) -> Result<Reached> {
    let tasks = (0..writers).map(|_| {
        let (engine, call, serials) = (engine.clone(), call.clone(), Arc::clone(serials));
        tokio::spawn(async move {
            let mut latencies = Vec::new();
            let began = now();
            while began.elapsed() < time {
                let one = now();
                engine_once(&engine, &call, &serials).await?;
                latencies.push(one.elapsed());
            }
            Ok(latencies)
        })
    });
    gather(tasks.collect(), time).await
}

/// One write through the engine.
pub(super) async fn engine_once(engine: &Engine, call: &Call, serials: &AtomicU64) -> Result<()> {
    let draft = read_write(json!({"text": text(serials.fetch_add(1, Ordering::Relaxed))}));
    let written = match draft {
        Ok(draft) => engine.write(call, draft).await,
        Err(refusal) => Err(refusal),
    };
    let written = written.map_err(|refusal| anyhow::anyhow!(refusal.message))?;
    written.id.map(drop).context("a write was put off")
}

/// Writes over REST, one connection a writer.
pub(super) async fn rest(
    address: &str,
    key: &str,
    writers: usize,
    time: Duration,
    serials: &Arc<AtomicU64>,
) -> Result<Reached> {
    let tasks = (0..writers).map(|_| {
        let (address, key, serials) = (address.to_owned(), key.to_owned(), Arc::clone(serials));
        tokio::spawn(async move {
            let mut connection = Connection::open(&address, &key).await?;
            let mut latencies = Vec::new();
            let began = now();
            while began.elapsed() < time {
                let one = now();
                let body = json!({"text": text(serials.fetch_add(1, Ordering::Relaxed))}).to_string();
                let status = connection.post("/v1/items", &body).await?;
                if status != 201 {
                    bail!("the server answered {status}");
                }
                latencies.push(one.elapsed());
            }
            Ok(latencies)
        })
    });
    gather(tasks.collect(), time).await
}

async fn gather(
    tasks: Vec<tokio::task::JoinHandle<Result<Vec<Duration>>>>,
    time: Duration,
) -> Result<Reached> {
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let per_second = latencies.len() as f64 / time.as_secs_f64();
    let latencies = Latencies::from(latencies);
    Ok(Reached { per_second, p50_ms: latencies.ms(0.5), p99_ms: latencies.ms(0.99) })
}

/// One HTTP/1.1 connection that is kept: as little as a load generator needs, so that it does not measure itself.
pub(super) struct Connection {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: &str, key: &str) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("could not connect to {address}"))?;
        stream.set_nodelay(true)?;
        let head =
            format!("Host: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n");
        Ok(Self { stream, head, buffer: Vec::new() })
    }

    /// Posts a body and tells the status.
    pub(super) async fn post(&mut self, path: &str, body: &str) -> Result<u16> {
        let request =
            format!("POST {path} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.send(&request).await
    }

    /// Gets a path and tells the status; the whole answer is kept.
    pub(super) async fn get(&mut self, path: &str) -> Result<u16> {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head);
        self.send(&request).await
    }

    /// The last answer, head and body, as it came.
    pub(super) fn answer(&self) -> &[u8] {
        &self.buffer
    }

    async fn send(&mut self, request: &str) -> Result<u16> {
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if let Some(status) = complete(&self.buffer) {
                return Ok(status);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
        }
    }
}

/// The status of a response, once all of it is here.
fn complete(buffer: &[u8]) -> Option<u16> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(buffer.get(..end)?).ok()?.to_ascii_lowercase();
    let length: usize =
        head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (buffer.len() >= end + 4 + length).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_response_is_complete_when_its_body_is() {
        assert_eq!(complete(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"), Some(201));
        assert_eq!(complete(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{"), None);
        assert_eq!(complete(b"HTTP/1.1 201 Cre"), None);
    }
}
