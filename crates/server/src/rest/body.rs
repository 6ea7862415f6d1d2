//! What does a body say?
//!
//! Reads bytes under the limits, then JSON, then the fields of an operation. What cannot be read is `MALFORMED`; what can
//! be read but is not what the operation takes is told by JSON pointer. The content type is not asked: every body here is
//! JSON, and a client that forgot to say so means the same.

use crate::app::App;
use crate::guard::Patience;
use crate::refusal::Refused;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{IDENTITY_FIELDS, JSON_DEPTH_MAX, WriteDraft, read_write};

/// What is still read of a body past its limit, in multiples of it: a client that is cut off while it sends may never see
/// the answer.
const DISCARD_FACTOR: usize = 4;

/// A write, as drafted.
pub(crate) struct Draft(pub(crate) WriteDraft);

/// The body of a memory operation: it names nobody.
pub(crate) struct MemoryBody<T>(pub(crate) T);

/// The body of an administrative operation: naming users and agents is its point.
pub(crate) struct AdminBody<T>(pub(crate) T);

impl FromRequest<Arc<App>> for Draft {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refused> {
        let patience = request.extensions().get::<Arc<Patience>>().cloned();
        let fields = object(request, app).await?;
        patience.inspect(|patience| patience.grant());
        Ok(Self(read_write(Value::Object(fields))?))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for MemoryBody<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refused> {
        let fields = object(request, app).await?;
        no_identity(&fields)?;
        Ok(Self(typed(fields)?))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for AdminBody<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refused> {
        Ok(Self(typed(object(request, app).await?)?))
    }
}

async fn object(request: Request, app: &Arc<App>) -> Result<Map<String, Value>, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = read(&parts.headers, body, app.limits().body_bytes_max).await?;
    match parse(&bytes)? {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Refusal::new(Code::Malformed, "the body must be a JSON object"))
        }
    }
}

/// The fields of a body that is JSON, or a form if it says so: what OAuth clients send.
pub(crate) async fn object_or_form(request: Request, app: &Arc<App>) -> Result<Map<String, Value>, Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        return object(request, app).await;
    }
    let (parts, body) = request.into_parts();
    let bytes = read(&parts.headers, body, app.limits().body_bytes_max).await?;
    let fields = form_urlencoded::parse(&bytes);
    Ok(fields.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect())
}

/// A body under its limit.
pub(crate) async fn read(headers: &HeaderMap, body: Body, bytes_max: usize) -> Result<Bytes, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::with_capacity(announced(headers).unwrap_or(0).min(bytes_max));
    let mut seen = 0_usize;
    while let Some(chunk) = chunks.next().await {
        let chunk =
            chunk.map_err(|_| Refusal::new(Code::Malformed, "the body ended before it was complete"))?;
        seen = seen.saturating_add(chunk.len());
        if seen <= bytes_max {
            bytes.extend_from_slice(&chunk);
        } else if seen > bytes_max.saturating_mul(DISCARD_FACTOR) {
            break;
        }
    }
    if seen > bytes_max { Err(too_large(bytes_max)) } else { Ok(bytes.into()) }
}

/// What the client said its body would take.
pub(super) fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(super) fn too_large(bytes_max: usize) -> Refusal {
    Refusal::new(Code::TooLarge, format!("the body may have at most {bytes_max} bytes"))
}

/// JSON, nested no deeper than the limit. Nothing at all says the same as an object without fields.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    if depth(bytes) > JSON_DEPTH_MAX {
        return Err(Refusal::new(Code::TooDeep, format!("JSON may nest at most {JSON_DEPTH_MAX} deep")));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::new(Code::Malformed, format!("the body is not JSON: {error}")))
}

/// How deep brackets nest, strings aside. Right for JSON; for anything else the parser has the last word.
fn depth(bytes: &[u8]) -> usize {
    let (mut now, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in bytes {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => {
                now += 1;
                deepest = deepest.max(now);
            }
            (false, b'}' | b']') => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Refuses fields that would claim an identity.
pub(crate) fn no_identity(fields: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(name) = IDENTITY_FIELDS.iter().find(|name| fields.contains_key(**name)) else { return Ok(()) };
    let fault =
        Fault::new(format!("/{name}"), Code::IdentityInBody, "no such field: the credential says who acts");
    let message = "identity comes from the credential, not from the body";
    Err(Refusal::new(Code::IdentityInBody, message).with(vec![fault]))
}

/// The fields of an operation.
pub(crate) fn typed<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let at = pointer(error.path());
        let fault = Fault::of_misfit(&at, &error.inner().to_string());
        let message = format!("1 field(s) break a rule: {}", fault.path);
        Refusal::new(Code::SchemaInvalid, message).with(vec![fault])
    })
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", step(key)),
        Segment::Enum { variant } => format!("/{}", step(variant)),
        Segment::Unknown => String::new(),
    };
    path.iter().map(step).collect()
}

/// A name as a step of a JSON pointer, cut to a length that fits an answer.
pub(super) fn step(name: &str) -> String {
    name.chars().take(64).collect::<String>().replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::dto::{NewUserBody, SearchBody};
    use serde_json::json;

    fn faults<T: DeserializeOwned>(body: Value) -> Vec<(String, Code)> {
        let Value::Object(fields) = body else { panic!("an object") };
        match typed::<T>(fields) {
            Ok(_) => Vec::new(),
            Err(refusal) => refusal.errors.into_iter().map(|fault| (fault.path, fault.code)).collect(),
        }
    }

    fn check<T: DeserializeOwned>(body: Value, path: &str, code: Code) {
        assert_eq!(faults::<T>(body), [(path.to_owned(), code)]);
    }

    #[test]
    fn faults_are_named_by_their_place() {
        check::<NewUserBody>(json!({}), "/name", Code::MissingRequiredField);
        check::<SearchBody>(json!({"query": 5}), "/query", Code::TypeMismatch);
        check::<SearchBody>(json!({"query": "a", "k": -1}), "/k", Code::ConstraintViolation);
        check::<SearchBody>(json!({"query": "a", "k": 1.5}), "/k", Code::TypeMismatch);
        check::<SearchBody>(
            json!({"query": "a", "layers": ["semantic", 3]}),
            "/layers/1",
            Code::TypeMismatch,
        );
        check::<SearchBody>(json!({"query": "a", "a/b": 1}), "/a~1b", Code::UnknownField);
        check::<NewUserBody>(json!({"name": null}), "/name", Code::TypeMismatch);
        assert!(faults::<SearchBody>(json!({"query": "a", "k": null, "mode": null})).is_empty());
    }

    /// SHARE-28: who acts is what the credential says, in every memory operation.
    #[test]
    fn identity_in_a_memory_operation_is_refused() {
        for name in IDENTITY_FIELDS {
            let Value::Object(fields) = json!({"query": "a", name: "x"}) else { panic!("an object") };
            assert_eq!(no_identity(&fields).unwrap_err().code, Code::IdentityInBody, "{name}");
        }
    }

    #[test]
    fn what_is_not_json_is_malformed() {
        for bad in
            [&b"{"[..], b"{\"a\":", b"\xff", b"{\"a\":\"\xff\"}", b"NaN", b"{\"a\":1e999}", b"{}x", b"'a'"]
        {
            let refusal = parse(bad).unwrap_err();
            assert_eq!(refusal.code, Code::Malformed, "{bad:?}");
            assert!(refusal.message.contains("line 1 column"), "{}", refusal.message);
        }
        assert_eq!(parse(b" \n").unwrap(), json!({}));
        assert_eq!(parse(b"{\"a\":1,\"a\":2}").unwrap(), json!({"a": 2}));
    }

    #[test]
    fn depth_is_bounded_before_anything_is_built() {
        let nested = |levels: usize| [vec![b'['; levels], vec![b']'; levels]].concat();
        assert!(parse(&nested(JSON_DEPTH_MAX)).is_ok());
        assert_eq!(parse(&nested(JSON_DEPTH_MAX + 1)).unwrap_err().code, Code::TooDeep);
        assert_eq!(parse(&nested(1_000_000)).unwrap_err().code, Code::TooDeep);
        assert!(
            parse(format!("[\"{}\"]", "[\\\"".repeat(100)).as_bytes()).is_ok(),
            "brackets in strings do not nest"
        );
    }
}
