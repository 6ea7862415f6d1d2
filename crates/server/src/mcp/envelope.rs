//! Is this an authenticated JSON-RPC message?
//!
//! Asked before the MCP layer sees the request. Who has no credential is answered like a REST client (401); what is not
//! JSON-RPC gets a JSON-RPC error. What the message asks for is not looked at.

use crate::app::App;
use crate::refusal::Refused;
use crate::rest::body::{parse, read};
use crate::rest::call::Authenticated;
use crate::status;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// What rmcp wants a client to accept; the answer is JSON either way.
const BOTH_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Lets in a message with a credential; the call it proves travels with the request.
pub(super) async fn admit(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, mut body) = request.into_parts();
    if parts.method == Method::POST {
        let bytes = match read(&parts.headers, body, app.limits().body_bytes_max).await {
            Ok(bytes) => bytes,
            Err(refusal) => return Refused(refusal).into_response(),
        };
        if let Err(error) = check(&bytes) {
            return (StatusCode::BAD_REQUEST, axum::Json(error)).into_response();
        }
        body = Body::from(bytes);
    }
    if takes_json(&parts.headers) {
        parts.headers.insert(header::ACCEPT, BOTH_TYPES);
    }
    parts.extensions.insert(call);
    next.run(Request::from_parts(parts, body)).await
}

/// Whether a client can read the answers, also if it says so more loosely than the protocol asks.
fn takes_json(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(header::ACCEPT) else { return true };
    accept.to_str().is_ok_and(|accept| accept.contains("application/json") || accept.contains("*/*"))
}

/// The error to send for bytes that are no message.
fn check(bytes: &[u8]) -> Result<(), Value> {
    let message = parse(bytes).map_err(|refusal| unreadable(&refusal))?;
    let is_text = |name: &str| message.get(name).is_some_and(Value::is_string);
    let faults = [
        (message.is_array(), "batches are not part of this protocol version"),
        (!message.is_object(), "a message is a JSON object"),
        (message.get("jsonrpc") != Some(&json!("2.0")), "`jsonrpc` must be \"2.0\""),
        (
            message.get("id").is_some_and(|id| !id.is_string() && !id.is_i64()),
            "`id` must be a string or a whole number",
        ),
        (
            !is_text("method") && message.get("result").or(message.get("error")).is_none(),
            "`method` must be a string",
        ),
        (message.get("params").is_some_and(|params| !params.is_object()), "`params` must be an object"),
    ];
    match faults.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, message)) => Err(error(INVALID_REQUEST, message, None)),
        None => Ok(()),
    }
}

fn unreadable(refusal: &Refusal) -> Value {
    let number =
        if refusal.code == Code::Malformed { PARSE_ERROR } else { status::json_rpc(refusal.code.kind()) };
    error(number, &refusal.message, Some(json!({"code": refusal.code.as_str()})))
}

fn error(code: i32, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({"code": code, "message": message});
    if let (Some(data), Some(fields)) = (data, error.as_object_mut()) {
        fields.insert("data".to_owned(), data);
    }
    json!({"jsonrpc": "2.0", "id": null, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(message: &str, expected: Option<i64>) {
        let code = check(message.as_bytes()).err().map(|error| error["error"]["code"].as_i64().unwrap());
        assert_eq!(code, expected, "{message}");
    }

    #[test]
    fn what_is_no_message_gets_the_error_of_json_rpc() {
        check_code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, None);
        check_code(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None);
        check_code(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#, None);
        check_code(r#"{"jsonrpc":"2.0","id":1,"method"#, Some(-32700));
        check_code(&"[".repeat(100), Some(-32602));
        check_code("[]", Some(-32600));
        check_code("5", Some(-32600));
        check_code("", Some(-32600));
        check_code(r#"{"id":1,"method":"tools/list"}"#, Some(-32600));
        check_code(r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, Some(-32600));
        check_code(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, Some(-32600));
        check_code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, Some(-32600));
    }
}
