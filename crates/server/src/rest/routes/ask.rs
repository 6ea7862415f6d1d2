//! `/v1/ask`, and what is done with a resource.

use super::Answer;
use crate::app::App;
use crate::guard::Patience;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::body::{AdminBody, MemoryBody};
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use crate::rest::path::{ResourceVerb, Verbed};
use axum::Extension;
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tabellion_core::log::ResourceStatus;
use tabellion_engine::Call;

/// Ask the agents of a user
///
/// A person asks all of their working agents, a pair its own agent alone. Each is asked for what it knows about; it answers from
/// memory first and from its resources for what is missing, and its answer is remembered. Who may be asked, and what may be
/// used, is looked up in every round; what is revoked meanwhile is left out of the answer.
#[utoipa::path(
    post, path = "/v1/ask", tag = "items", request_body = AskBody,
    responses(
        (status = 200, description = "the answer, also where nobody could answer", body = AnsweredBody),
        (status = 409, description = "the operator has switched this off", body = RefusalBody),
    )
)]
pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    patience: Option<Extension<Arc<Patience>>>,
    MemoryBody(body): MemoryBody<AskBody>,
) -> Answer<AnsweredBody> {
    patience.inspect(|Extension(patience)| patience.grant());
    Ok(Json(app.engine().ask(&call, body.into()).await?.into()))
}

/// Call a resource
///
/// For the agent of the caller, who must be allowed to use it. What the pair writes afterwards in the same trace counts as made
/// from it.
#[utoipa::path(
    post, path = "/v1/resources/{id}:call", tag = "access", request_body = ResourceCallBody,
    params(("id" = ReferenceText, Path, description = "the resource, by id or name")),
    responses(
        (status = 200, description = "its answer", body = ResourceAnswerBody),
        (status = 404, description = "no such resource, or not for this agent", body = RefusalBody),
        (status = 409, description = "the operator has not said how it is reached", body = RefusalBody),
    )
)]
async fn call_resource(
    app: &App,
    call: &Call,
    id: &str,
    MemoryBody(body): MemoryBody<ResourceCallBody>,
) -> Answer<ResourceAnswerBody> {
    Ok(Json(app.engine().call_resource(call, id, body.args, body.trace_id).await?.into()))
}

/// `POST /v1/resources/{id}:verb`: one route, as many operations as there are verbs.
pub(crate) async fn act_on_resource(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb }: Verbed<ResourceVerb>,
    _: NoParams,
    patience: Option<Extension<Arc<Patience>>>,
    request: Request,
) -> Result<Response, Refused> {
    let why = async |request| AdminBody::<WhyBody>::from_request(request, &app).await;
    let answer = match verb {
        ResourceVerb::Call => {
            patience.inspect(|Extension(patience)| patience.grant());
            let body = MemoryBody::from_request(request, &app).await?;
            return Ok(call_resource(&app, &call, &id, body).await?.into_response());
        }
        ResourceVerb::Retire => retire_resource(&app, &call, &id, why(request).await?).await?,
        ResourceVerb::Activate => activate_resource(&app, &call, &id, why(request).await?).await?,
        ResourceVerb::Delete => delete_resource(&app, &call, &id, why(request).await?).await?,
    };
    Ok(answer.into_response())
}

/// Retire a resource
///
/// Needs `manage_graphs`. Nobody can call it any more; what was made with it is read as before.
#[utoipa::path(
    post, path = "/v1/resources/{id}:retire", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the resource, by id or name")),
    responses(
        (status = 200, description = "retired", body = SetBody),
        (status = 404, description = "no such resource", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn retire_resource(app: &App, call: &Call, id: &str, body: AdminBody<WhyBody>) -> Answer<SetBody> {
    set_status(app, call, id, ResourceStatus::Retired, body).await
}

/// Put a retired resource back to work
///
/// Needs `manage_graphs`.
#[utoipa::path(
    post, path = "/v1/resources/{id}:activate", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the resource, by id or name")),
    responses(
        (status = 200, description = "active", body = SetBody),
        (status = 404, description = "no such resource", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn activate_resource(app: &App, call: &Call, id: &str, body: AdminBody<WhyBody>) -> Answer<SetBody> {
    set_status(app, call, id, ResourceStatus::Active, body).await
}

/// Delete a resource
///
/// Needs `manage_graphs`, and for good: its edges end and what was made with it is hidden. Its name and id are not given again.
#[utoipa::path(
    post, path = "/v1/resources/{id}:delete", tag = "access", request_body = WhyBody,
    params(("id" = ReferenceText, Path, description = "the resource, by id or name")),
    responses(
        (status = 200, description = "deleted", body = SetBody),
        (status = 404, description = "no such resource", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn delete_resource(app: &App, call: &Call, id: &str, body: AdminBody<WhyBody>) -> Answer<SetBody> {
    set_status(app, call, id, ResourceStatus::Deleted, body).await
}

async fn set_status(
    app: &App,
    call: &Call,
    id: &str,
    status: ResourceStatus,
    AdminBody(WhyBody { reason }): AdminBody<WhyBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().set_resource_status(call, id, status, Some(reason)).await? }))
}
