//! `/v1/relations` and `/v1/paths`: graph memory.

use super::Answer;
use crate::app::App;
use crate::guard::Patience;
use crate::rest::body::MemoryBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use axum::extract::State;
use axum::{Extension, Json};
use std::sync::Arc;

/// Remember relations
///
/// Each is an item of kind `relation` and passes every gate like any write; one that is refused does not stop the others.
#[utoipa::path(
    post, path = "/v1/relations", tag = "items", request_body = RelationsBody,
    responses((status = 200, description = "what became of each, in order", body = RelatedBody))
)]
pub(crate) async fn write_relations(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    patience: Option<Extension<Arc<Patience>>>,
    MemoryBody(body): MemoryBody<RelationsBody>,
) -> Answer<RelatedBody> {
    patience.inspect(|Extension(patience)| patience.grant());
    Ok(Json(app.engine().write_relations(&call, body.drafts()).await?.into()))
}

/// Walk along relations
///
/// The strongest paths from a node, under what the caller may see. A node that is not known leads nowhere.
#[utoipa::path(
    post, path = "/v1/paths", tag = "items", request_body = PathsBody,
    responses((status = 200, description = "the paths that were found", body = PathsFoundBody))
)]
pub(crate) async fn find_paths(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    MemoryBody(body): MemoryBody<PathsBody>,
) -> Answer<PathsFoundBody> {
    Ok(Json(app.engine().paths(&call, body.into()).await?.into()))
}
