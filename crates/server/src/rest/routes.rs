//! Which handler answers which path? One file a family.
//!
//! Handlers convert and delegate; they decide nothing.

pub(super) mod batch;
pub(super) mod items;
pub(super) mod principals;
pub(super) mod probes;
pub(super) mod trail;

use crate::refusal::Refused;
use axum::Json;
use axum::http::StatusCode;

/// What a handler answers.
type Answer<T> = Result<Json<T>, Refused>;

/// What a handler answers that made something.
type Created<T> = Result<(StatusCode, Json<T>), Refused>;
