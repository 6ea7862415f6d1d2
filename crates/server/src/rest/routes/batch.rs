//! `POST /v1/items:batch`: many writes, one answer a line, in order.
//!
//! Lines are written while the body still arrives, many at once, so that they share commits. A task of its own reads and
//! writes: a client that sends everything before it reads anything must not stop its own batch. Its answers are bounded
//! by the lines that it may send.

use crate::app::{App, UnderWay};
use crate::refusal::Refused;
use crate::rest::body::{announced, parse, too_large};
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use axum::Extension;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use std::convert::Infallible;
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::read_write;
use tabellion_engine::reply::Written;
use tabellion_engine::{Call, Turn, Turns};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

/// Writes under way at once: enough to fill commits, few enough to leave the queue to others.
const WRITES_AT_ONCE: usize = 64;

/// Write many items
///
/// NDJSON: each line is the body of a write, each line of the answer its result, in the same order. Blank lines are
/// skipped, but counted. A refused line does not stop the others; past a limit, one last line says so.
#[utoipa::path(
    post, path = "/v1/items:batch", tag = "items",
    request_body(content = String, content_type = "application/x-ndjson", description = "one write a line"),
    responses((status = 200, description = "one result a line", body = BatchLine, content_type = "application/x-ndjson"))
)]
pub(crate) async fn write_batch(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    under_way: Option<Extension<Arc<UnderWay>>>,
    request: Request,
) -> Result<Response, Refused> {
    let limits = *app.limits();
    if announced(request.headers()).is_some_and(|bytes| bytes > limits.batch_bytes_max) {
        return Err(too_large(limits.batch_bytes_max).into());
    }
    let bounds = Bounds {
        bytes: limits.batch_bytes_max,
        line_bytes: limits.batch_line_bytes_max,
        lines: limits.batch_lines_max,
    };
    let lines = Lines::new(request.into_body(), bounds);
    // Room for every answer and the last line: the task never waits for a slow reader.
    let (answers, results) = mpsc::channel(bounds.lines.saturating_add(1));
    tokio::spawn(async move {
        let _held_to_the_end = under_way;
        write_all(&app, &call, lines, answers).await;
    });
    let body = Body::from_stream(ReceiverStream::new(results).map(|line| Ok::<_, Infallible>(encode(&line))));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

async fn write_all(app: &App, call: &Call, lines: Lines, answers: mpsc::Sender<BatchLine>) {
    let mut turns = Turns::default();
    let results = lines.stream().map(|(number, line)| {
        let turn = turns.give();
        async move {
            match line {
                Ok(bytes) => BatchLine::new(number, write_line(app, call, &bytes, turn).await),
                Err(refusal) => BatchLine::new(number, Err(refusal)),
            }
        }
    });
    let mut results = std::pin::pin!(results.buffered(WRITES_AT_ONCE));
    let deadline = Instant::now() + app.limits().batch_time_max();
    let mut next = 1;
    loop {
        let result = match tokio::time::timeout_at(deadline, results.next()).await {
            Ok(Some(result)) => result,
            Ok(None) => return,
            Err(_) => {
                let _nobody_listens = answers.send(BatchLine::new(next, Err(too_late()))).await;
                return;
            }
        };
        next = result.line + 1;
        if answers.send(result).await.is_err() {
            return;
        }
    }
}

fn too_late() -> Refusal {
    Refusal::new(
        Code::Timeout,
        "the batch took longer than the server allows; from this line on, nothing is known",
    )
}

async fn write_line(app: &App, call: &Call, bytes: &[u8], turn: Turn) -> Result<Written, Refusal> {
    app.engine().import(call, read_write(parse(bytes)?)?, turn).await
}

fn encode(line: &BatchLine) -> Bytes {
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}

#[derive(Clone, Copy)]
struct Bounds {
    bytes: usize,
    line_bytes: usize,
    lines: usize,
}

/// A numbered line, or why it cannot be taken.
type Numbered = (usize, Result<Vec<u8>, Refusal>);

/// Cuts a body into lines as it arrives.
struct Lines {
    chunks: BodyDataStream,
    bounds: Bounds,
    /// What arrived; what was cut from it goes when more arrives.
    arrived: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no line break after `start`.
    searched: usize,
    seen: usize,
    number: usize,
    taken: usize,
    /// The line that is arriving is too long; its end is still to come.
    skipping: bool,
    ended: bool,
}

impl Lines {
    fn new(body: Body, bounds: Bounds) -> Self {
        Self {
            chunks: body.into_data_stream(),
            bounds,
            arrived: Vec::new(),
            start: 0,
            searched: 0,
            seen: 0,
            number: 0,
            taken: 0,
            skipping: false,
            ended: false,
        }
    }

    fn stream(self) -> impl Stream<Item = Numbered> {
        futures::stream::unfold(self, |mut lines| async move { Some((lines.next().await?, lines)) })
    }

    async fn next(&mut self) -> Option<Numbered> {
        loop {
            if let Some(line) = self.cut() {
                if let Some(numbered) = self.take(line) {
                    return Some(numbered);
                }
                continue;
            }
            if self.ended {
                return None;
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => {
                    if let Some(refusal) = self.arrive(&chunk) {
                        return Some(refusal);
                    }
                }
                Some(Err(_)) => {
                    return Some(
                        self.end(Refusal::new(Code::Malformed, "the body ended before it was complete")),
                    );
                }
                None => self.ended = true,
            }
        }
    }

    fn arrive(&mut self, chunk: &[u8]) -> Option<Numbered> {
        self.seen = self.seen.saturating_add(chunk.len());
        if self.seen > self.bounds.bytes {
            return Some(self.end(too_large(self.bounds.bytes)));
        }
        self.arrived.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.arrived.extend_from_slice(chunk);
        None
    }

    /// The next whole line; at the end, what is left.
    fn cut(&mut self) -> Option<Cut> {
        let unsearched = self.arrived.get(self.searched..).unwrap_or_default();
        let line_break = unsearched.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
        let rest = self.arrived.get(self.start..line_break.unwrap_or(self.arrived.len())).unwrap_or_default();
        let is_last = self.ended && (!rest.is_empty() || self.skipping);
        if line_break.is_some() || is_last {
            let too_long = std::mem::take(&mut self.skipping) || rest.len() > self.bounds.line_bytes;
            let cut = if too_long { Cut::TooLong } else { Cut::Line(rest.to_vec()) };
            self.go_on_at(line_break.map_or(self.arrived.len(), |at| at + 1));
            return Some(cut);
        }
        if rest.len() > self.bounds.line_bytes {
            self.skipping = true;
            self.go_on_at(self.arrived.len());
        }
        self.searched = self.arrived.len();
        None
    }

    const fn go_on_at(&mut self, place: usize) {
        self.start = place;
        self.searched = place;
    }

    fn take(&mut self, cut: Cut) -> Option<Numbered> {
        self.number += 1;
        let line = match cut {
            Cut::Line(line) if line.iter().all(u8::is_ascii_whitespace) => return None,
            Cut::Line(line) => Ok(line),
            Cut::TooLong => {
                let message = format!("a line may have at most {} bytes", self.bounds.line_bytes);
                Err(Refusal::new(Code::TooLarge, message))
            }
        };
        if self.taken == self.bounds.lines {
            let message = format!(
                "a batch may have at most {} lines; this one and those after it were not read",
                self.bounds.lines
            );
            let number = self.number;
            self.stop();
            return Some((number, Err(Refusal::new(Code::TooLarge, message))));
        }
        self.taken += 1;
        Some((self.number, line))
    }

    /// The last answer: nothing after this was read.
    fn end(&mut self, refusal: Refusal) -> Numbered {
        self.stop();
        (self.number + 1, Err(refusal))
    }

    fn stop(&mut self) {
        self.ended = true;
        self.skipping = false;
        self.go_on_at(self.arrived.len());
    }
}

enum Cut {
    Line(Vec<u8>),
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { bytes: 100, line_bytes: 10, lines: 4 };

    async fn lines(chunks: &[&str]) -> Vec<(usize, Result<String, Code>)> {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, Infallible>((*chunk).to_owned())).collect();
        let body = Body::from_stream(futures::stream::iter(chunks));
        let text = |line: Result<Vec<u8>, Refusal>| {
            line.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|refusal| refusal.code)
        };
        Lines::new(body, BOUNDS).stream().map(|(number, line)| (number, text(line))).collect().await
    }

    fn line(number: usize, text: &str) -> (usize, Result<String, Code>) {
        (number, Ok(text.to_owned()))
    }

    #[tokio::test]
    async fn lines_are_cut_wherever_chunks_end() {
        let expected = [line(1, "one"), line(2, "two"), line(4, "four")];
        assert_eq!(lines(&["one\ntwo\n\nfour\n"]).await, expected);
        assert_eq!(lines(&["o", "ne\nt", "wo", "\n", "\n", "four"]).await, expected);
        assert_eq!(lines(&["one\r\n", "two\r\n \r\nfour"]).await.len(), 3);
        assert!(lines(&[]).await.is_empty());
        assert!(lines(&["\n\n"]).await.is_empty());
    }

    #[tokio::test]
    async fn a_long_line_costs_only_itself() {
        let expected = [(1, Err(Code::TooLarge)), line(2, "two")];
        assert_eq!(lines(&["0123456789x\ntwo"]).await, expected);
        assert_eq!(lines(&["01234567", "89x", "more", "of it\n", "two"]).await, expected);
        assert_eq!(lines(&["two\n", "0123456789xyz"]).await, [line(1, "two"), (2, Err(Code::TooLarge))]);
        assert_eq!(lines(&["0123456789\n"]).await, [line(1, "0123456789")]);
    }

    #[tokio::test]
    async fn past_a_limit_one_last_line_says_so() {
        let many = lines(&["a\nb\nc\nd\ne\nf\n"]).await;
        assert_eq!(many, [line(1, "a"), line(2, "b"), line(3, "c"), line(4, "d"), (5, Err(Code::TooLarge))]);
        let large = lines(&["a\n", &"x".repeat(100)]).await;
        assert_eq!(large, [line(1, "a"), (2, Err(Code::TooLarge))]);
    }
}
