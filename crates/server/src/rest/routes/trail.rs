//! `/v1/audit` and `/v1/proofs`.

use super::Answer;
use crate::app::App;
use crate::refusal::RefusalBody;
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params, in_query};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use tabellion_core::log::LogName;
use tabellion_engine::reply::AuditQuery;

/// Read the trail
///
/// Newest first. Users read their own rows; auditors and admins all of them, with `lsn`. A page may be empty and have a next one:
/// the server looks at 65,536 rows for each.
#[utoipa::path(
    get, path = "/v1/audit", tag = "trail",
    params(
        ("action" = Option<String>, Query, description = "only this action", nullable = false),
        ("user" = Option<String>, Query, description = "only what this user did, by name or id", nullable = false),
        ("agent" = Option<String>, Query, description = "only what was done through this agent, by name or id", nullable = false),
        ("item" = Option<String>, Query, description = "only what concerned this item, or what else has this id", nullable = false),
        ("since" = Option<String>, Query, description = "only from this time on: RFC 3339, a date, `yesterday`, `2 days ago`, P2D (so long ago)", nullable = false),
        ("until" = Option<String>, Query, description = "only before this time, named likewise", nullable = false),
        ("limit" = Option<u64>, Query, description = "at most this many", nullable = false, minimum = 1, maximum = 500),
        ("cursor" = Option<TokenText>, Query, description = "where the page before said to go on", nullable = false),
    ),
    responses((status = 200, description = "one page", body = AuditBody))
)]
pub(crate) async fn read_audit(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<AuditBody> {
    let query = AuditQuery {
        action: params.text("action"),
        user: params.text("user"),
        agent: params.text("agent"),
        item: params.text("item"),
        since: params.text("since"),
        until: params.text("until"),
        limit: params.number("limit"),
        cursor: params.text("cursor"),
    };
    params.finish()?;
    Ok(Json(app.engine().audit(&call, query).await.map_err(in_query)?.into()))
}

/// An operation that takes no fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoFields {}

/// Verify both logs
///
/// For auditors and admins.
#[utoipa::path(
    post, path = "/v1/audit:verify", tag = "trail",
    responses((status = 200, description = "what was found", body = VerificationBody))
)]
pub(crate) async fn verify(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(NoFields {}): AdminBody<NoFields>,
) -> Answer<VerificationBody> {
    Ok(Json(app.engine().verify(&call).await?.into()))
}

/// The log that is asked for; the memory log unless one is named.
fn log(params: &mut Params) -> LogName {
    params.word("log", LogName::from_word, "memory, audit").unwrap_or(LogName::Memory)
}

/// Read the signed head of a log
///
/// For auditors and admins.
#[utoipa::path(
    get, path = "/v1/proofs/head", tag = "trail",
    params(("log" = Option<LogWord>, Query, description = "`memory` unless given", nullable = false)),
    responses(
        (status = 200, description = "the head", body = HeadBody),
        (status = 404, description = "nothing was signed yet", body = RefusalBody),
    )
)]
pub(crate) async fn read_head(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<HeadBody> {
    let log = log(&mut params);
    params.finish()?;
    Ok(Json(app.engine().head(&call, log).await.map_err(in_query)?.into()))
}

/// Prove that an entry is in a log
///
/// For auditors and admins.
#[utoipa::path(
    get, path = "/v1/proofs/inclusion", tag = "trail",
    params(
        ("log" = Option<LogWord>, Query, description = "`memory` unless given", nullable = false),
        ("lsn" = u64, Query, description = "the entry, from 1", minimum = 1),
        ("size" = Option<u64>, Query, description = "the size of the tree; all of it unless given", nullable = false, minimum = 1),
    ),
    responses(
        (status = 200, description = "the proof", body = InclusionBody),
        (status = 404, description = "no such entry", body = RefusalBody),
    )
)]
pub(crate) async fn prove_inclusion(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<InclusionBody> {
    let (log, lsn, size) = (log(&mut params), params.required("lsn"), params.number("size"));
    params.finish()?;
    Ok(Json(app.engine().inclusion(&call, log, lsn, size).await.map_err(in_query)?.into()))
}

/// Prove that a log is the beginning of a longer one
///
/// For auditors and admins.
#[utoipa::path(
    get, path = "/v1/proofs/consistency", tag = "trail",
    params(
        ("log" = Option<LogWord>, Query, description = "`memory` unless given", nullable = false),
        ("from" = u64, Query, description = "the earlier size", minimum = 1),
        ("to" = Option<u64>, Query, description = "the later size; all of it unless given", nullable = false, minimum = 1),
    ),
    responses((status = 200, description = "the proof", body = ConsistencyBody))
)]
pub(crate) async fn prove_consistency(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<ConsistencyBody> {
    let (log, from, to) = (log(&mut params), params.required("from"), params.number("to"));
    params.finish()?;
    Ok(Json(app.engine().consistency(&call, log, from, to).await.map_err(in_query)?.into()))
}
