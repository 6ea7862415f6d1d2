//! `/v1/edges`, `/v1/access`, the explanations, and whether an agent works.

use super::{Answer, Created};
use crate::app::App;
use crate::refusal::RefusalBody;
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params, in_query};
use crate::rest::path::{EdgeAt, Id};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use tabellion_core::log::AgentStatus;
use tabellion_engine::Call;

/// Grant an edge
///
/// For admins. In graph `ua` a user may invoke an agent, in `ar` an agent may use a resource. Granting what stands already
/// replaces its times.
#[utoipa::path(
    post, path = "/v1/edges/{graph}/{source}/{target}", tag = "access", request_body = GrantBody,
    params(
        ("graph" = GraphWord, Path, description = "which graph"),
        ("source" = ReferenceText, Path, description = "the user of `ua` or agent of `ar`, by id or name"),
        ("target" = ReferenceText, Path, description = "the agent of `ua` or resource of `ar`, by id or name"),
    ),
    responses(
        (status = 201, description = "granted", body = SetBody),
        (status = 404, description = "no such graph, user, agent or resource", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn grant_edge(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    edge: EdgeAt,
    _: NoParams,
    AdminBody(body): AdminBody<GrantBody>,
) -> Created<SetBody> {
    let token = app.engine().grant(&call, edge.parts(), body.into()).await?;
    Ok((StatusCode::CREATED, Json(SetBody { token })))
}

/// Grant an edge, or replace its times
///
/// The same as `POST`, for clients that put what should be.
#[utoipa::path(
    put, path = "/v1/edges/{graph}/{source}/{target}", tag = "access", request_body = GrantBody,
    params(
        ("graph" = GraphWord, Path, description = "which graph"),
        ("source" = ReferenceText, Path, description = "the user of `ua` or agent of `ar`, by id or name"),
        ("target" = ReferenceText, Path, description = "the agent of `ua` or resource of `ar`, by id or name"),
    ),
    responses(
        (status = 200, description = "granted", body = SetBody),
        (status = 404, description = "no such graph, user, agent or resource", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn put_edge(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    edge: EdgeAt,
    _: NoParams,
    AdminBody(body): AdminBody<GrantBody>,
) -> Answer<SetBody> {
    let token = app.engine().grant(&call, edge.parts(), body.into()).await?;
    Ok(Json(SetBody { token }))
}

/// Revoke an edge
///
/// For admins. It counts from the next read on, for what was written before as well.
#[utoipa::path(
    delete, path = "/v1/edges/{graph}/{source}/{target}", tag = "access", request_body = ReasonBody,
    params(
        ("graph" = GraphWord, Path, description = "which graph"),
        ("source" = ReferenceText, Path, description = "the user of `ua` or agent of `ar`, by id or name"),
        ("target" = ReferenceText, Path, description = "the agent of `ua` or resource of `ar`, by id or name"),
    ),
    responses(
        (status = 200, description = "revoked", body = SetBody),
        (status = 404, description = "no such edge", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn revoke_edge(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    edge: EdgeAt,
    _: NoParams,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().revoke(&call, edge.parts(), body.reason).await? }))
}

/// List the edges that stand
///
/// For auditors and admins.
#[utoipa::path(
    get, path = "/v1/edges", tag = "access",
    params(("at" = Option<AsOfText>, Query, description = "as of then; now unless given", nullable = false)),
    responses((status = 200, description = "at most 10,000", body = EdgesBody))
)]
pub(crate) async fn list_edges(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<EdgesBody> {
    let at = params.text("at");
    params.finish()?;
    Ok(Json(app.engine().edges(&call, at.as_deref()).await.map_err(in_query)?.into()))
}

/// Tell who sees an item
///
/// For auditors and admins: ids alone.
#[utoipa::path(
    get, path = "/v1/access/who", tag = "access",
    params(
        ("item" = ItemIdText, Query, description = "the item"),
        ("at" = Option<AsOfText>, Query, description = "as of then; now unless given", nullable = false),
    ),
    responses(
        (status = 200, description = "each user who does, with the agents through which", body = WhoSeesBody),
        (status = 404, description = "no such item", body = RefusalBody),
    )
)]
pub(crate) async fn who_sees(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<WhoSeesBody> {
    let (item, at) = (params.required_text("item", "the id of an item"), params.text("at"));
    params.finish()?;
    Ok(Json(app.engine().who(&call, &item, at.as_deref()).await.map_err(in_query)?.into()))
}

/// Tell what a user sees through an agent
///
/// For auditors and admins: ids alone.
#[utoipa::path(
    get, path = "/v1/access/what", tag = "access",
    params(
        ("user" = ReferenceText, Query, description = "the user, by id or name"),
        ("agent" = Option<ReferenceText>, Query, description = "the agent, by id or name; the person unless given", nullable = false),
        ("at" = Option<AsOfText>, Query, description = "as of then; now unless given", nullable = false),
    ),
    responses(
        (status = 200, description = "at most 10,000", body = WhatIsSeenBody),
        (status = 404, description = "no such user or agent", body = RefusalBody),
    )
)]
pub(crate) async fn what_is_seen(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<WhatIsSeenBody> {
    let user = params.required_text("user", "the name or id of a user");
    let (agent, at) = (params.text("agent"), params.text("at"));
    params.finish()?;
    let seen = app.engine().what(&call, (&user, agent.as_deref()), at.as_deref()).await;
    Ok(Json(seen.map_err(in_query)?.into()))
}

/// Explain why the caller sees an item
///
/// What is hidden looks like what is missing; only who contributed it is told what hides it.
#[utoipa::path(
    get, path = "/v1/items/{id}/explain", tag = "access",
    params(("id" = ItemIdText, Path, description = "the item")),
    responses(
        (status = 200, description = "why", body = ExplanationBody),
        (status = 404, description = "no such item, or hidden", body = RefusalBody),
    )
)]
pub(crate) async fn explain_item(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<ExplanationBody> {
    Ok(Json(app.engine().explain(&call, &id).await?.into()))
}

/// Explain why a user sees an item through an agent, or does not
///
/// For auditors and admins.
#[utoipa::path(
    post, path = "/v1/explain", tag = "access", request_body = ExplainPairBody,
    responses(
        (status = 200, description = "why", body = ExplanationBody),
        (status = 404, description = "no such user, agent or item", body = RefusalBody),
    )
)]
pub(crate) async fn explain_pair(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<ExplainPairBody>,
) -> Answer<ExplanationBody> {
    let pair = (body.user.as_str(), body.agent.as_deref());
    Ok(Json(app.engine().explain_pair(&call, &body.item, pair, body.at.as_deref()).await?.into()))
}

/// Retire an agent
///
/// For admins. Nobody can act through it any more (`AGENT_NOT_GRANTED`); what it taught is still read.
#[utoipa::path(
    post, path = "/v1/agents/{id}:retire", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "retired", body = SetBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(super) async fn retire_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<WhyBody>,
) -> Answer<SetBody> {
    set_status(app, call, id, AgentStatus::Retired, body).await
}

/// Put a retired agent back to work
///
/// For admins.
#[utoipa::path(
    post, path = "/v1/agents/{id}:activate", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "active", body = SetBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(super) async fn activate_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<WhyBody>,
) -> Answer<SetBody> {
    set_status(app, call, id, AgentStatus::Active, body).await
}

/// Delete an agent
///
/// For admins, and for good: its edges end and what it taught is hidden. Its name and id are not given again.
#[utoipa::path(
    post, path = "/v1/agents/{id}:delete", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "deleted", body = SetBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(super) async fn delete_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<WhyBody>,
) -> Answer<SetBody> {
    set_status(app, call, id, AgentStatus::Deleted, body).await
}

async fn set_status(
    app: &App,
    call: &Call,
    id: &str,
    status: AgentStatus,
    WhyBody { reason }: WhyBody,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().set_agent_status(call, id, status, Some(reason)).await? }))
}
