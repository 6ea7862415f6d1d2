//! Which handler answers which path? One file a family.
//!
//! Handlers convert and delegate; they decide nothing.

pub(super) mod access;
pub(super) mod ask;
pub(super) mod batch;
pub(super) mod events;
pub(super) mod govern;
pub(super) mod ids;
pub(super) mod items;
pub(super) mod principals;
pub(super) mod probes;
pub(super) mod relations;
pub(super) mod reverify;
pub(super) mod reviews;
pub(super) mod roles;
pub(super) mod token;
pub(super) mod trail;
pub(super) mod trust;
pub(super) mod writes;

use super::dto::WriteAnswer;
use crate::refusal::{Refused, whole_seconds};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tabellion_engine::reply::{WriteStatus, Written};

/// What a handler answers.
type Answer<T> = Result<Json<T>, Refused>;

/// What a handler answers that made something.
type Created<T> = Result<(StatusCode, Json<T>), Refused>;

/// The answer to a write, wherever it was sent.
fn written(written: Written) -> Response {
    let status = match written.status {
        WriteStatus::Committed => StatusCode::CREATED,
        WriteStatus::Merged
        | WriteStatus::AlreadyCommitted
        | WriteStatus::Quarantined
        | WriteStatus::Rejected => StatusCode::OK,
        WriteStatus::Deferred => StatusCode::ACCEPTED,
    };
    answered(status, written)
}

/// The answer to a decision: the write is the author's, so nothing was created for the caller.
fn decided(written: Written) -> Response {
    let status = if written.deferral.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
    answered(status, written)
}

fn answered(status: StatusCode, written: Written) -> Response {
    let wait = written.deferral.as_ref().and_then(|deferral| deferral.retry_after);
    let mut response = (status, Json(WriteAnswer::from(written))).into_response();
    if let Some(wait) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    response
}
