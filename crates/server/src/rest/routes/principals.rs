//! `/v1/tenants`, `/v1/users`, `/v1/agents`, `/v1/resources`, `/v1/keys` and `/v1/whoami`.

use super::{Answer, Created};
use crate::app::App;
use crate::refusal::RefusalBody;
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::{NoParams, Params};
use crate::rest::path::{Id, UserVerb, Verbed};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use std::sync::Arc;
use tabellion_core::log::UserStatus;
use tabellion_engine::Call;
use tabellion_engine::reply::NewAgent;

/// Make a tenant
///
/// For the operator: the admin of the tenant that the first start made.
#[utoipa::path(
    post, path = "/v1/tenants", tag = "principals", request_body = NewTenantBody,
    responses(
        (status = 201, description = "made; the key is shown this once", body = TenantBody),
        (status = 409, description = "the name is taken", body = RefusalBody),
    )
)]
pub(crate) async fn create_tenant(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<NewTenantBody>,
) -> Created<TenantBody> {
    Ok((StatusCode::CREATED, Json(app.engine().create_tenant(&call, &body.name).await?.into())))
}

/// Make a user
#[utoipa::path(
    post, path = "/v1/users", tag = "principals", request_body = NewUserBody,
    responses(
        (status = 201, description = "made", body = UserBody),
        (status = 409, description = "the name is taken", body = RefusalBody),
    )
)]
pub(crate) async fn create_user(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<NewUserBody>,
) -> Created<UserBody> {
    let user = app.engine().create_user(&call, &body.name, body.role.as_deref()).await?;
    Ok((StatusCode::CREATED, Json(user.into())))
}

/// List users
#[utoipa::path(
    get, path = "/v1/users", tag = "principals",
    responses((status = 200, description = "all users", body = UsersBody))
)]
pub(crate) async fn list_users(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<UsersBody> {
    let users = app.engine().users(&call).await?;
    Ok(Json(UsersBody { users: users.into_iter().map(Into::into).collect() }))
}

/// Read a user
#[utoipa::path(
    get, path = "/v1/users/{id}", tag = "principals",
    params(("id" = ReferenceText, Path, description = "the user, by id or name")),
    responses(
        (status = 200, description = "the user", body = UserBody),
        (status = 404, description = "no such user", body = RefusalBody),
    )
)]
pub(crate) async fn read_user(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<UserBody> {
    Ok(Json(app.engine().user(&call, &id).await?.into()))
}

/// `POST /v1/users/{id}:verb`: one route, as many operations as there are verbs.
pub(crate) async fn act_on_user(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Verbed { id, verb }: Verbed<UserVerb>,
    _: NoParams,
    request: Request,
) -> Answer<UserBody> {
    match verb {
        UserVerb::Disable => {
            disable_user(&app, &call, &id, AdminBody::from_request(request, &app).await?).await
        }
        UserVerb::Enable => {
            enable_user(&app, &call, &id, AdminBody::from_request(request, &app).await?).await
        }
        UserVerb::Role => {
            set_user_role(&app, &call, &id, AdminBody::from_request(request, &app).await?).await
        }
    }
}

/// Disable a user
///
/// From the next request on no key or token of the user is taken, no edge of the user counts, and what the user wrote that still waits is not
/// committed. What the user shared stays.
#[utoipa::path(
    post, path = "/v1/users/{id}:disable", tag = "principals", request_body = ReasonBody,
    params(("id" = ReferenceText, Path, description = "the user, by id or name")),
    responses(
        (status = 200, description = "disabled", body = UserBody),
        (status = 404, description = "no such user", body = RefusalBody),
        (status = 409, description = "it is the last active admin", body = RefusalBody),
    )
)]
async fn disable_user(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<UserBody> {
    set_user_status(app, call, id, UserStatus::Disabled, body).await
}

/// Enable a user again
#[utoipa::path(
    post, path = "/v1/users/{id}:enable", tag = "principals", request_body = ReasonBody,
    params(("id" = ReferenceText, Path, description = "the user, by id or name")),
    responses(
        (status = 200, description = "active", body = UserBody),
        (status = 404, description = "no such user", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
async fn enable_user(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<UserBody> {
    set_user_status(app, call, id, UserStatus::Active, body).await
}

async fn set_user_status(
    app: &App,
    call: &Call,
    id: &str,
    status: UserStatus,
    ReasonBody { reason }: ReasonBody,
) -> Answer<UserBody> {
    let reason = reason.unwrap_or_default();
    Ok(Json(app.engine().set_user_status(call, id, status, &reason).await?.into()))
}

/// Change what a user may administer
///
/// For who holds all that the user may administer before and after.
#[utoipa::path(
    post, path = "/v1/users/{id}:role", tag = "principals", request_body = UserRoleBody,
    params(("id" = ReferenceText, Path, description = "the user, by id or name")),
    responses(
        (status = 200, description = "changed", body = UserBody),
        (status = 404, description = "no such user", body = RefusalBody),
        (status = 409, description = "it is the last active admin", body = RefusalBody),
    )
)]
async fn set_user_role(
    app: &App,
    call: &Call,
    id: &str,
    AdminBody(UserRoleBody { role, reason }): AdminBody<UserRoleBody>,
) -> Answer<UserBody> {
    let reason = reason.unwrap_or_default();
    Ok(Json(app.engine().set_user_role(call, id, &role, &reason).await?.into()))
}

/// Make an agent
#[utoipa::path(
    post, path = "/v1/agents", tag = "principals", request_body = NewAgentBody,
    responses(
        (status = 201, description = "made", body = AgentBody),
        (status = 409, description = "the name is taken", body = RefusalBody),
    )
)]
pub(crate) async fn create_agent(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<NewAgentBody>,
) -> Created<AgentBody> {
    let NewAgentBody { name, specialisation, family, trust_declared } = body;
    let new = NewAgent { name, specialisation, family, trust_declared: trust_declared.unwrap_or(false) };
    let agent = app.engine().register_agent(&call, new).await?;
    Ok((StatusCode::CREATED, Json(agent.into())))
}

/// List agents
#[utoipa::path(
    get, path = "/v1/agents", tag = "principals",
    responses((status = 200, description = "all agents", body = AgentsBody))
)]
pub(crate) async fn list_agents(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<AgentsBody> {
    let agents = app.engine().agents(&call).await?;
    Ok(Json(AgentsBody { agents: agents.into_iter().map(Into::into).collect() }))
}

/// Read an agent
///
/// For who makes agents, sets policies or moderates.
#[utoipa::path(
    get, path = "/v1/agents/{id}", tag = "principals",
    params(("id" = ReferenceText, Path, description = "the agent, by id or name")),
    responses(
        (status = 200, description = "the agent", body = AgentBody),
        (status = 404, description = "no such agent", body = RefusalBody),
    )
)]
pub(crate) async fn read_agent(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<AgentBody> {
    Ok(Json(app.engine().agent(&call, &id).await?.into()))
}

/// Make a resource
#[utoipa::path(
    post, path = "/v1/resources", tag = "principals", request_body = NewResourceBody,
    responses(
        (status = 201, description = "made", body = ResourceBody),
        (status = 409, description = "the name is taken", body = RefusalBody),
    )
)]
pub(crate) async fn create_resource(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<NewResourceBody>,
) -> Created<ResourceBody> {
    let resource = app.engine().create_resource(&call, &body.name, body.kind, body.description).await?;
    Ok((StatusCode::CREATED, Json(resource.into())))
}

/// List resources
#[utoipa::path(
    get, path = "/v1/resources", tag = "principals",
    responses((status = 200, description = "all resources", body = ResourcesBody))
)]
pub(crate) async fn list_resources(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<ResourcesBody> {
    let resources = app.engine().resources(&call).await?;
    Ok(Json(ResourcesBody { resources: resources.into_iter().map(Into::into).collect() }))
}

/// Make a credential
///
/// Of a user, who then acts through the built-in agent `direct`; of an agent acting for a user; or of an agent alone.
#[utoipa::path(
    post, path = "/v1/keys", tag = "principals", request_body = NewKeyBody,
    responses(
        (status = 201, description = "made; the key is shown this once", body = IssuedKeyBody),
    )
)]
pub(crate) async fn create_key(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
    AdminBody(body): AdminBody<NewKeyBody>,
) -> Created<IssuedKeyBody> {
    let NewKeyBody { user, agent, expires_at } = body;
    let key =
        app.engine().create_key(&call, user.as_deref(), agent.as_deref(), expires_at.as_deref()).await?;
    Ok((StatusCode::CREATED, Json(key.into())))
}

/// List credentials
#[utoipa::path(
    get, path = "/v1/keys", tag = "principals",
    responses((status = 200, description = "all credentials, without their secrets", body = KeysBody))
)]
pub(crate) async fn list_keys(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<KeysBody> {
    let keys = app.engine().keys(&call).await?;
    Ok(Json(KeysBody { keys: keys.into_iter().map(Into::into).collect() }))
}

/// Revoke a credential
#[utoipa::path(
    delete, path = "/v1/keys/{id}", tag = "principals",
    params(("id" = KeyIdText, Path, description = "the credential")),
    responses(
        (status = 200, description = "revoked", body = RevokedKeyBody),
        (status = 404, description = "no such credential", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn revoke_key(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<RevokedKeyBody> {
    Ok(Json(app.engine().revoke_key(&call, &id).await?.into()))
}

/// Tell who the caller is
#[utoipa::path(
    get, path = "/v1/whoami", tag = "principals",
    params(("session_id" = Option<String>, Query, description = "a session whose writes are counted as well, as writes name it")),
    responses((status = 200, description = "the caller", body = WhoAmIBody))
)]
pub(crate) async fn whoami(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    mut params: Params,
) -> Answer<WhoAmIBody> {
    let session = params.text("session_id");
    params.finish()?;
    Ok(Json(app.engine().whoami(&call, session.as_deref()).await?.into()))
}
