//! Names beside ids: a client that sends `Prefer: names` gets with an answer the names of those whose ids are in it.
//!
//! Invariant: only ids that the answer itself disclosed are named.

use crate::app::App;
use crate::guard::bearer;
use crate::readable::ids_in;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Map, Value};
use std::sync::Arc;
use tabellion_engine::Call;

/// Larger answers go out without names.
const ANSWER_BYTES_MAX: u64 = 32 << 20;

/// Adds `names` to an answer that is a JSON object, if the client prefers that.
pub(super) async fn add_names(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let secret = bearer(request.headers()).filter(|_| prefers_names(request.headers())).map(str::to_owned);
    let response = next.run(request).await;
    match secret {
        Some(secret) if has_room(&response) => with_names(&app, &secret, response).await,
        Some(_) | None => response,
    }
}

fn prefers_names(headers: &HeaderMap) -> bool {
    headers.get("prefer").is_some_and(|value| value.as_bytes() == b"names")
}

fn has_room(response: &Response) -> bool {
    let is_json =
        response.headers().get(header::CONTENT_TYPE) == Some(&HeaderValue::from_static("application/json"));
    let is_small = response.body().size_hint().exact().is_some_and(|bytes| bytes <= ANSWER_BYTES_MAX);
    response.status().is_success() && is_json && is_small
}

async fn with_names(app: &App, secret: &str, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    let Some(named) = named(app, secret, &bytes).await else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(named))
}

/// The answer with one more member at its end; the rest of it stays byte for byte.
async fn named(app: &App, secret: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let answer: Value = serde_json::from_slice(bytes).ok()?;
    let call = Call { caller: app.engine().recognise(secret).await.ok()?, request_id: None, trace: None };
    let names = app.engine().names(&call, ids_in(&answer).into_iter()).ok()?;
    let members = answer.as_object()?;
    if names.is_empty() || members.is_empty() || members.contains_key("names") {
        return None;
    }
    let names: Map<String, Value> = names.into_iter().map(|(id, name)| (id, Value::String(name))).collect();
    let mut whole = bytes.strip_suffix(b"}")?.to_vec();
    whole.extend_from_slice(b",\"names\":");
    serde_json::to_writer(&mut whole, &names).ok()?;
    whole.push(b'}');
    Some(whole)
}
