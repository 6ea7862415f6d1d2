//! `/v1/reviews`: writes that wait for a person, and the person's word on them.

use super::{Answer, decided, written};
use crate::app::App;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::body::{Draft, MemoryBody};
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params, in_query};
use crate::rest::path::{Id, ReviewVerb, Verbed};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// List held writes
///
/// The caller's own, those of users whose reviewer the caller is, and those that speak against what the caller shares, as far as the
/// caller would see them in memory; the riskiest first, at most 500. What is kept apart by its
/// score is listed for 90 days; after that it is `archived`, and can be decided on all the same.
#[utoipa::path(
    get, path = "/v1/reviews", tag = "reviews",
    params(
        ("state" = Option<ReviewFilterWord>, Query, description = "only those that stand so", nullable = false),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is for the shared memory, of anybody", nullable = false),
    ),
    responses((status = 200, description = "held writes", body = ReviewsBody))
)]
pub(crate) async fn list_reviews(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<ReviewsBody> {
    let (state, moderate) = (params.text("state"), params.text("moderate"));
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    let reviews = app.engine().reviews(&call, state.as_deref()).await.map_err(in_query)?;
    Ok(Json(ReviewsBody { reviews: reviews.into_iter().map(Into::into).collect() }))
}

/// Read a held write
#[utoipa::path(
    get, path = "/v1/reviews/{id}", tag = "reviews",
    params(
        ("id" = ReviewIdText, Path, description = "the review"),
        ("moderate" = Option<ReasonText>, Query, description = "read as a moderator, for this reason: what is for the shared memory, of anybody", nullable = false),
    ),
    responses(
        (status = 200, description = "the held write", body = ReviewBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn read_review(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    mut params: Params,
) -> Answer<ReviewBody> {
    let moderate = params.text("moderate");
    params.finish()?;
    let call = app.engine().moderating(call, moderate).await.map_err(in_query)?;
    Ok(Json(app.engine().review(&call, &id).await?.into()))
}

/// Decide on a held write
///
/// A person alone decides, and never on what they wrote themselves; nor do they approve what their agent wrote against another user's
/// shared item: that user, a named reviewer or a moderator does. A yes sends the write through the gates once more; where
/// several people must consent, all but the last yes are answered with 202.
#[utoipa::path(
    post, path = "/v1/reviews/{id}:decide", tag = "reviews", request_body = DecideBody,
    params(("id" = ReviewIdText, Path, description = "the review")),
    responses(
        (status = 200, description = "approved and durable, or refused", body = DecidedWriteBody),
        (status = 202, description = "another person must say yes too", body = DeferredBody),
        (status = 404, description = "missing or hidden", body = RefusalBody),
        (status = 409, description = "decided already, or about another content", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn decide_review(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb: ReviewVerb::Decide }: Verbed<ReviewVerb>,
    _: NoParams,
    MemoryBody(body): MemoryBody<DecideBody>,
) -> Result<Response, Refused> {
    Ok(decided(app.engine().decide(&call, &id, body.into()).await?))
}

/// Change a held write
///
/// By its author: the review ends as withdrawn, and the new write goes through the gates and answers like any other.
#[utoipa::path(
    put, path = "/v1/reviews/{id}", tag = "reviews", request_body = WriteBody,
    params(("id" = ReviewIdText, Path, description = "the review")),
    responses(
        (status = 201, description = "a new version is durable", body = WrittenBody),
        (status = 200, description = "it was durable already, or was added to an item that says the same", body = WrittenBody),
        (status = 202, description = "it waits, in a review of its own", body = DeferredBody),
        (status = 404, description = "missing, hidden, or not the caller's", body = RefusalBody),
        (status = 409, description = "decided already, or the state of the memory forbids it", body = RefusalBody),
        (status = 410, description = "its content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn edit_review(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    Draft(draft): Draft,
) -> Result<Response, Refused> {
    Ok(written(app.engine().edit_held(&call, &id, draft).await?))
}

/// Take a held write back
///
/// By its author.
#[utoipa::path(
    delete, path = "/v1/reviews/{id}", tag = "reviews",
    params(("id" = ReviewIdText, Path, description = "the review")),
    responses(
        (status = 200, description = "taken back", body = WithdrawnBody),
        (status = 404, description = "missing, hidden, or not the caller's", body = RefusalBody),
        (status = 409, description = "decided already", body = RefusalBody),
    )
)]
pub(crate) async fn withdraw_review(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<WithdrawnBody> {
    app.engine().withdraw(&call, &id).await?;
    Ok(Json(WithdrawnBody { status: "withdrawn", id }))
}
