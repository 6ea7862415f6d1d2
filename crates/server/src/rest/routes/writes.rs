//! `/v1/writes`: writes that are not memory, because they were put off or refused.

use super::{Answer, written};
use crate::app::App;
use crate::guard::Patience;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use crate::rest::path::{Id, Verbed, WriteVerb};
use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// List writes that are not memory
///
/// The caller's own: put off, and tried again by themselves; or refused, and kept for a while. Newest first, at most 500.
#[utoipa::path(
    get, path = "/v1/writes", tag = "writes",
    responses((status = 200, description = "the caller's own", body = KeptWritesBody))
)]
pub(crate) async fn list_writes(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<KeptWritesBody> {
    let writes = app.engine().kept_writes(&call).await?;
    Ok(Json(KeptWritesBody { writes: writes.into_iter().map(Into::into).collect() }))
}

/// Read a write that is not memory
#[utoipa::path(
    get, path = "/v1/writes/{id}", tag = "writes",
    params(("id" = KeptIdText, Path, description = "the write")),
    responses(
        (status = 200, description = "the write", body = KeptBody),
        (status = 404, description = "not the caller's, or not kept any more", body = RefusalBody),
    )
)]
pub(crate) async fn read_write(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<KeptBody> {
    Ok(Json(app.engine().kept_write(&call, &id).await?.into()))
}

/// Send a write through the gates once more
///
/// It answers like any write, and is forgotten here if it is taken.
#[utoipa::path(
    post, path = "/v1/writes/{id}:reopen", tag = "writes",
    params(("id" = KeptIdText, Path, description = "the write")),
    responses(
        (status = 201, description = "a new version is durable", body = WrittenBody),
        (status = 200, description = "it was durable already, or was added to an item that says the same", body = WrittenBody),
        (status = 202, description = "it waits, for a person or for its turn", body = DeferredBody),
        (status = 404, description = "not the caller's, or not kept any more", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "what it replaces was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn reopen_write(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb: WriteVerb::Reopen }: Verbed<WriteVerb>,
    _: NoParams,
    patience: Option<Extension<Arc<Patience>>>,
) -> Result<Response, Refused> {
    patience.inspect(|Extension(patience)| patience.grant());
    Ok(written(app.engine().reopen(&call, &id).await?))
}
