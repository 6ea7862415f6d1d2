//! `/v1/items` and `/v1/search`.

use super::{Answer, written};
use crate::app::App;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::body::{Draft, Fields, MemoryBody};
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params, in_query};
use crate::rest::path::{Id, ItemVerb, Verbed};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tabellion_core::error::Refusal;
use tabellion_core::id::ItemId;
use tabellion_core::item::Layer;
use tabellion_core::provenance::Provenance;
use tabellion_engine::Call;
use tabellion_engine::reply::ListQuery;

/// Remember something
///
/// Passes every gate or is refused by one; what is answered with `committed` is durable. A write that a person has to look at
/// waits (202), and so does one that comes faster than its agent may write. Two writes are the same if
/// content, layer, namespace, tier, what they replace, user and agent are the same: within 24 h the second is a replay.
#[utoipa::path(
    post, path = "/v1/items", tag = "items", request_body = WriteBody,
    responses(
        (status = 201, description = "a new version is durable", body = WrittenBody),
        (status = 200, description = "it was durable already, or was added to an item that says the same", body = WrittenBody),
        (status = 202, description = "it waits, for a person or for its turn", body = DeferredBody),
        (status = 404, description = "what it supersedes is missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn write_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    Draft(draft): Draft,
) -> Result<Response, Refused> {
    Ok(written(app.engine().write(&call, draft).await?))
}

/// Replace an item by its next version
///
/// What the body leaves out has its default, as in a new item; `PATCH` keeps it.
#[utoipa::path(
    put, path = "/v1/items/{id}", tag = "items", request_body(content = ref("#/components/schemas/Update")),
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 201, description = "a new version is durable", body = WrittenBody),
        (status = 200, description = "it was durable already, or was added to an item that says the same", body = WrittenBody),
        (status = 202, description = "it waits, for a person or for its turn", body = DeferredBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn update_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    Draft(mut draft): Draft,
) -> Result<Response, Refused> {
    // The gate takes a draft without a readable item for an insert, so a text that is no id must stop here.
    id.parse::<ItemId>().map_err(|_| Refusal::not_found())?;
    draft.item = Some(id);
    Ok(written(app.engine().write(&call, draft).await?))
}

/// Change fields of an item
///
/// A JSON merge patch over the fields of a write: what it does not name stays, null takes a field away. It is written only while the
/// version it was merged into is the head, else merged anew. A patch that changes nothing answers `already_committed`.
#[utoipa::path(
    patch, path = "/v1/items/{id}", tag = "items", request_body(content = ref("#/components/schemas/Patch")),
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 201, description = "a new version is durable", body = WrittenBody),
        (status = 200, description = "it changes nothing, or was added to an item that says the same", body = WrittenBody),
        (status = 202, description = "it waits, for a person or for its turn", body = DeferredBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn patch_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    Fields(patch): Fields,
) -> Result<Response, Refused> {
    Ok(written(app.engine().patch(&call, &id, patch).await?))
}

/// List items
///
/// All that the caller may see, oldest first.
#[utoipa::path(
    get, path = "/v1/items", tag = "items",
    params(
        ("namespace" = Option<String>, Query, description = "only this namespace", nullable = false),
        ("layer" = Option<LayerWord>, Query, description = "only this layer", nullable = false),
        ("limit" = Option<u64>, Query, description = "at most this many", nullable = false, minimum = 1, maximum = 500),
        ("cursor" = Option<TokenText>, Query, description = "where the page before said to go on", nullable = false),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is shared, whatever its edges", nullable = false),
        ("quarantined" = Option<bool>, Query, description = "only what is in quarantine; needs `moderate`", nullable = false),
    ),
    responses((status = 200, description = "one page", body = ItemsBody))
)]
pub(crate) async fn list_items(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<ItemsBody> {
    let query = ListQuery {
        namespace: params.text("namespace"),
        layer: params.word("layer", Layer::from_word, &Layer::words()).map(|layer| layer.as_str().to_owned()),
        limit: params.number("limit"),
        cursor: params.text("cursor"),
        quarantined: params.flag("quarantined").unwrap_or(false),
    };
    let moderate = params.text("moderate");
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    Ok(Json(app.engine().list(&call, query).await.map_err(in_query)?.into()))
}

/// Read an item
#[utoipa::path(
    get, path = "/v1/items/{id}", tag = "items",
    params(
        ("id" = ItemIdText, Path, description = "the item"),
        ("as_of" = Option<AsOfText>, Query, description = "content as it stood at this time, or at this token", nullable = false),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is shared, whatever its edges", nullable = false),
    ),
    responses(
        (status = 200, description = "the item", body = ItemBody),
        (status = 404, description = "missing, hidden, or without a head", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn read_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    mut params: Params,
) -> Answer<ItemBody> {
    let (as_of, moderate) = (params.text("as_of"), params.text("moderate"));
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    Ok(Json(app.engine().get(&call, &id, as_of.as_deref()).await.map_err(in_query)?.into()))
}

/// List the versions of an item
#[utoipa::path(
    get, path = "/v1/items/{id}/versions", tag = "items",
    params(
        ("id" = ItemIdText, Path, description = "the item"),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is shared, whatever its edges", nullable = false),
    ),
    responses(
        (status = 200, description = "its versions", body = VersionsBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn list_versions(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    mut params: Params,
) -> Answer<VersionsBody> {
    let moderate = params.text("moderate");
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    let versions = app.engine().versions(&call, &id).await?;
    Ok(Json(VersionsBody { versions: versions.into_iter().map(Into::into).collect() }))
}

/// Read who wrote a version, how, and from what
#[utoipa::path(
    get, path = "/v1/items/{id}/provenance", tag = "items",
    params(
        ("id" = ItemIdText, Path, description = "the item"),
        ("version" = Option<VersionIdText>, Query, description = "the head unless given", nullable = false),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is shared, whatever its edges", nullable = false),
    ),
    responses(
        (status = 200, description = "the signed record", body = ProvenanceBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn read_provenance(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    mut params: Params,
) -> Answer<Provenance> {
    let (version, moderate) = (params.text("version"), params.text("moderate"));
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    Ok(Json(app.engine().provenance(&call, &id, version.as_deref()).await.map_err(in_query)?))
}

/// Retract an item
///
/// Its head stays in the log and in the list of versions, and is found no more.
#[utoipa::path(
    delete, path = "/v1/items/{id}", tag = "items",
    params(
        ("id" = ItemIdText, Path, description = "the item"),
        ("reason" = Option<ReasonText>, Query, description = "why", nullable = false),
    ),
    responses(
        (status = 200, description = "retracted", body = ChangedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn retract_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    mut params: Params,
) -> Answer<ChangedBody> {
    let reason = params.text("reason");
    params.finish()?;
    Ok(Json(app.engine().retract(&call, &id, reason).await.map_err(in_query)?.into()))
}

/// `POST /v1/items/{id}:verb`: one route, as many operations as there are verbs.
pub(crate) async fn change_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb }: Verbed<ItemVerb>,
    _: NoParams,
    request: Request,
) -> Result<Response, Refused> {
    let answer = match verb {
        ItemVerb::Rollback => rollback_item(&app, &call, &id, MemoryBody::from_request(request, &app).await?)
            .await?
            .into_response(),
        ItemVerb::Pin => {
            pin_item(&app, &call, &id, MemoryBody::from_request(request, &app).await?).await?.into_response()
        }
        ItemVerb::Unpin => unpin_item(&app, &call, &id, MemoryBody::from_request(request, &app).await?)
            .await?
            .into_response(),
        ItemVerb::Quarantine => {
            quarantine_item(&app, &call, &id, MemoryBody::from_request(request, &app).await?)
                .await?
                .into_response()
        }
        ItemVerb::Release => release_item(&app, &call, &id, MemoryBody::from_request(request, &app).await?)
            .await?
            .into_response(),
    };
    Ok(answer)
}

/// Take the head of an item back
///
/// What it replaced becomes the head again, as a new version.
#[utoipa::path(
    post, path = "/v1/items/{id}:rollback", tag = "items",
    request_body = RollbackBody,
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "rolled back", body = ChangedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "not the head", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
async fn rollback_item(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<RollbackBody>,
) -> Answer<ChangedBody> {
    Ok(Json(app.engine().rollback(call, id, body.version.as_deref(), body.reason).await?.into()))
}

/// Keep an item from garbage collection
#[utoipa::path(
    post, path = "/v1/items/{id}:pin", tag = "items",
    request_body = ReasonBody,
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "pinned", body = ChangedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
async fn pin_item(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<ReasonBody>,
) -> Answer<ChangedBody> {
    Ok(Json(app.engine().pin(call, id, body.reason).await?.into()))
}

/// Let garbage collection have an item again
#[utoipa::path(
    post, path = "/v1/items/{id}:unpin", tag = "items",
    request_body = ReasonBody,
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "unpinned", body = ChangedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
async fn unpin_item(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<ReasonBody>,
) -> Answer<ChangedBody> {
    Ok(Json(app.engine().unpin(call, id, body.reason).await?.into()))
}

/// Put an item under quarantine
///
/// It is kept, and no read or search finds it until it is released; what derives from it is named.
#[utoipa::path(
    post, path = "/v1/items/{id}:quarantine", tag = "items",
    request_body = ReasonBody,
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "under quarantine", body = QuarantinedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
async fn quarantine_item(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<ReasonBody>,
) -> Answer<QuarantinedBody> {
    Ok(Json(app.engine().quarantine(call, id, true, &body.reason.unwrap_or_default()).await?.into()))
}

/// Release an item from quarantine
#[utoipa::path(
    post, path = "/v1/items/{id}:release", tag = "items",
    request_body = ReasonBody,
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "released", body = QuarantinedBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
async fn release_item(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<ReasonBody>,
) -> Answer<QuarantinedBody> {
    Ok(Json(app.engine().quarantine(call, id, false, &body.reason.unwrap_or_default()).await?.into()))
}

/// Report an outcome
///
/// What of a search was used, and how it went: within a day, by the caller who searched. The same report again changes nothing.
#[utoipa::path(
    post, path = "/v1/outcomes", tag = "items", request_body = OutcomeBody,
    responses(
        (status = 200, description = "noted", body = OutcomeNotedBody),
        (status = 404, description = "no such search of this caller", body = RefusalBody),
        (status = 409, description = "another outcome was reported before", body = RefusalBody),
    )
)]
pub(crate) async fn report_outcome(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    MemoryBody(body): MemoryBody<OutcomeBody>,
) -> Answer<OutcomeNotedBody> {
    Ok(Json(app.engine().report_outcome(&call, body.into()).await?.into()))
}

/// Search
///
/// Best first, under what the caller may see.
#[utoipa::path(
    post, path = "/v1/search", tag = "items", request_body = SearchBody,
    responses((status = 200, description = "what was found", body = FoundBody))
)]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    MemoryBody(mut body): MemoryBody<SearchBody>,
) -> Answer<FoundBody> {
    let call = app.engine().moderating(call, body.moderate.take()).await?;
    Ok(Json(app.engine().search(&call, body.into()).await?.into()))
}
