//! `/v1/policies`, `/v1/schemas`, and what is done about an agent.

use super::{Answer, access};
use crate::app::App;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::convert::govern::revert_query;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use crate::rest::path::{AgentVerb, Id, Verbed};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use std::sync::Arc;
use tabellion_engine::Call;

/// Set a policy
///
/// It takes the place of the one of the same name. Without `manage_policies` a person sets policies of sharing for their own scope alone,
/// which only tighten.
#[utoipa::path(
    put, path = "/v1/policies/{id}", tag = "governance", request_body = PolicyBody,
    params(("id" = PolicyNameText, Path, description = "its name")),
    responses(
        (status = 200, description = "set", body = SetBody),
        (status = 404, description = "no such path", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn set_policy(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    AdminBody(body): AdminBody<Map<String, Value>>,
) -> Answer<SetBody> {
    let token = app.engine().set_policy(&call, &id, Value::Object(body)).await?;
    Ok(Json(SetBody { token }))
}

/// Take a policy away
///
/// Needs `manage_policies`, but for a person's own.
#[utoipa::path(
    delete, path = "/v1/policies/{id}", tag = "governance", request_body = ReasonBody,
    params(("id" = PolicyNameText, Path, description = "its name")),
    responses(
        (status = 200, description = "taken away", body = SetBody),
        (status = 404, description = "no such policy", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn remove_policy(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().remove_policy(&call, &id, body.reason).await? }))
}

/// List policies
///
/// All of them for auditors and those who manage policies, their own for other people.
#[utoipa::path(
    get, path = "/v1/policies", tag = "governance",
    responses((status = 200, description = "all policies", body = PoliciesBody))
)]
pub(crate) async fn list_policies(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<PoliciesBody> {
    let policies = app.engine().policies(&call).await?;
    let policies = policies.into_iter().map(|(id, policy)| NamedPolicyBody { id, policy });
    Ok(Json(PoliciesBody { policies: policies.collect() }))
}

/// Register a schema
///
/// For admins. It takes the place of the one of the same kind and layer; items of that kind must keep to it from then on.
#[utoipa::path(
    put, path = "/v1/schemas", tag = "governance", request_body = SchemaBody,
    responses(
        (status = 200, description = "registered", body = SetBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn set_schema(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<Map<String, Value>>,
) -> Answer<SetBody> {
    let token = app.engine().set_schema(&call, Value::Object(body)).await?;
    Ok(Json(SetBody { token }))
}

/// List schemas
#[utoipa::path(
    get, path = "/v1/schemas", tag = "governance",
    responses((status = 200, description = "all schemas", body = SchemasBody))
)]
pub(crate) async fn list_schemas(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<SchemasBody> {
    Ok(Json(SchemasBody { schemas: app.engine().schemas(&call).await? }))
}

/// Tell what people said of an agent's writes
#[utoipa::path(
    get, path = "/v1/agents/{id}/feedback", tag = "governance",
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "as far as the caller may see it", body = FeedbackBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 410, description = "a content was destroyed", body = RefusalBody),
    )
)]
pub(crate) async fn read_feedback(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<FeedbackBody> {
    Ok(Json(app.engine().feedback(&call, &id).await?.into()))
}

/// `POST /v1/agents/{id}:verb`: one route, as many operations as there are verbs.
pub(crate) async fn act_on_agent(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb }: Verbed<AgentVerb>,
    _: NoParams,
    request: Request,
) -> Result<Response, Refused> {
    let answer = match verb {
        AgentVerb::Suspend => suspend_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
            .await?
            .into_response(),
        AgentVerb::Resume => resume_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
            .await?
            .into_response(),
        AgentVerb::Retire => {
            access::retire_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
                .await?
                .into_response()
        }
        AgentVerb::Activate => {
            access::activate_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
                .await?
                .into_response()
        }
        AgentVerb::Delete => {
            access::delete_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
                .await?
                .into_response()
        }
        AgentVerb::Revert => revert_agent(&app, &call, &id, AdminBody::from_request(request, &app).await?)
            .await?
            .into_response(),
    };
    Ok(answer)
}

/// Forbid an agent to write
///
/// For admins. Until it is resumed its writes are refused (`WRITES_SUSPENDED`).
#[utoipa::path(
    post, path = "/v1/agents/{id}:suspend", tag = "governance", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "suspended", body = SetBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn suspend_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<WhyBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().suspend(call, id, &body.reason).await? }))
}

/// Allow an agent to write again
///
/// For admins, for everybody or one user; and for a person whose own writes through it are held.
#[utoipa::path(
    post, path = "/v1/agents/{id}:resume", tag = "governance", request_body = ResumeBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "resumed", body = SetBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn resume_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<ResumeBody>,
) -> Answer<SetBody> {
    let reason = body.reason.unwrap_or_default();
    let token = app.engine().resume(call, id, body.user.as_deref(), &reason).await?;
    Ok(Json(SetBody { token }))
}

/// Take back what an agent wrote in a period
///
/// Each item that it wrote and each that derives from one goes back to the newest version that is neither, or is retracted if there
/// is none: the caller's own, and for a moderator all that is shared; with `user` only what it wrote for that user. With `dry_run`
/// it only names them, with their texts and users. What was left is told with
/// the reason; the same request again goes on with it.
#[utoipa::path(
    post, path = "/v1/agents/{id}:revert", tag = "governance", request_body = RevertBody,
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "taken back, or named", body = RevertedBody),
        (status = 404, description = "no such agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
        (status = 410, description = "a content was destroyed", body = RefusalBody),
    )
)]
async fn revert_agent(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<RevertBody>,
) -> Answer<RevertedBody> {
    Ok(Json(app.engine().revert(call, id, revert_query(app.engine().now(), body)?).await?.into()))
}
