//! `/v1/rounds` and `/v1/trust`: work that agents share, and how far what came of it can be trusted.

use super::{Answer, Created};
use crate::app::App;
use crate::refusal::RefusalBody;
use crate::rest::body::MemoryBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use tabellion_engine::reply::TrustQuery;

/// Declare a round
///
/// A piece of work that several agents share, such as a debate. Use its id as `trace_id` in searches and writes: what is written
/// there is the work of all who take part, and is held against what the others searched for there. It lasts a day, and is
/// forgotten when the server stops.
#[utoipa::path(
    post, path = "/v1/rounds", tag = "trust", request_body = RoundDraftBody,
    responses((status = 201, description = "declared", body = RoundBody))
)]
pub(crate) async fn declare_round(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    MemoryBody(body): MemoryBody<RoundDraftBody>,
) -> Created<RoundBody> {
    let round = app.engine().declare_round(&call, body.into()).await?;
    Ok((StatusCode::CREATED, Json(round.into())))
}

/// Tell how far things can be trusted
///
/// In a namespace: the writes that are kept apart, and for auditors the gate, its window and the credibility of agents. Of one
/// item: its trust, and why. Numbers are for auditors alone.
#[utoipa::path(
    get, path = "/v1/trust", tag = "trust",
    params(
        ("namespace" = Option<String>, Query, description = "where; `default` unless given"),
        ("item" = Option<ItemIdText>, Query, description = "of this item alone, or of the one that a waiting write will be"),
    ),
    responses(
        (status = 200, description = "how far, and why", body = TrustBody),
        (status = 404, description = "no such item, or hidden", body = RefusalBody),
    )
)]
pub(crate) async fn read_trust(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<TrustBody> {
    let query = TrustQuery { namespace: params.text("namespace"), item: params.text("item") };
    params.finish()?;
    Ok(Json(app.engine().trust_told(&call, &query).await?.into()))
}

/// Score again what is due
///
/// For those who manage policies. At most 32 a call: the writes that are kept apart, the oldest first, then what the least is known
/// of. The server does the same by itself after every 64 writes that it scored.
#[utoipa::path(
    post, path = "/v1/trust:recalibrate", tag = "trust",
    responses((status = 200, description = "how many moved", body = RecalibratedBody))
)]
pub(crate) async fn recalibrate(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<RecalibratedBody> {
    let moved = app.engine().recalibrate(&call).await? as u64;
    Ok(Json(RecalibratedBody { moved }))
}
