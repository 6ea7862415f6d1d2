//! `/v1/items:reverify` and `/v1/items:flagged`: what was admitted once, looked at again.

use super::Answer;
use crate::app::App;
use crate::rest::body::MemoryBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// Verify again what is durable
///
/// For admins. Looks at some 1,000 items a call, of every user; goes on from `cursor`. Nothing is taken back: what does not
/// stand is flagged.
#[utoipa::path(
    post, path = "/v1/items:reverify", tag = "governance", request_body = ReverifyBody,
    responses((status = 200, description = "what was found", body = ReverifiedBody))
)]
pub(crate) async fn reverify_items(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    MemoryBody(body): MemoryBody<ReverifyBody>,
) -> Answer<ReverifiedBody> {
    Ok(Json(app.engine().reverify(&call, body.cursor.as_deref()).await?.into()))
}

/// List what a person should look at
///
/// Items that did not stand when they were last verified, as far as the caller may see them; at most 500.
#[utoipa::path(
    get, path = "/v1/items:flagged", tag = "governance",
    responses((status = 200, description = "newest first", body = FlagsBody))
)]
pub(crate) async fn list_flagged(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<FlagsBody> {
    Ok(Json(app.engine().flagged(&call).await?.into()))
}
