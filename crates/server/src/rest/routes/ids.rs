//! `/v1/ids`: the rest of an id that somebody typed in part.

use super::Answer;
use crate::app::App;
use crate::rest::call::Authenticated;
use crate::rest::dto::IdsBody;
use crate::rest::params::{Params, in_query};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// Complete an id
///
/// For those who type: tells the ids that begin so, of items, versions, reviews, kept writes and keys that the caller may see.
#[utoipa::path(
    get, path = "/v1/ids", tag = "items",
    params(("prefix" = String, Query, description = "the prefix of the kind, `_`, and at least 8 digits", pattern = "^(itm|ver|rev|def|ref|key)_[a-z2-7]{8,26}$")),
    responses(
        (status = 200, description = "at most 8; none if nothing that the caller may see begins so", body = IdsBody),
    )
)]
pub(crate) async fn complete_id(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<IdsBody> {
    let prefix = params.required_text("prefix", "the beginning of an id");
    params.finish()?;
    let ids = app.engine().complete_id(&call, &prefix).await.map_err(in_query)?;
    Ok(Json(IdsBody { ids }))
}
