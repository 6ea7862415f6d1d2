//! `/v1/ask` and `/v1/resources/{id}:call`.

use super::Answer;
use crate::app::App;
use crate::guard::Patience;
use crate::refusal::RefusalBody;
use crate::rest::body::MemoryBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use crate::rest::path::{ResourceVerb, Verbed};
use axum::Extension;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

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
pub(crate) async fn call_resource(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb: ResourceVerb::Call }: Verbed<ResourceVerb>,
    _: NoParams,
    patience: Option<Extension<Arc<Patience>>>,
    MemoryBody(body): MemoryBody<ResourceCallBody>,
) -> Answer<ResourceAnswerBody> {
    patience.inspect(|Extension(patience)| patience.grant());
    Ok(Json(app.engine().call_resource(&call, &id, body.args, body.trace_id).await?.into()))
}
