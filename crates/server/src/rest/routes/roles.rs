//! `/v1/roles` and who holds them.

use super::Answer;
use crate::app::App;
use crate::refusal::RefusalBody;
use crate::rest::body::AdminBody;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use crate::rest::path::{Id, MemberAt};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// Set a role
///
/// Needs `manage_roles`. It takes the place of the one of the same name; the edges of those who hold it follow in the same
/// commit.
#[utoipa::path(
    put, path = "/v1/roles/{id}", tag = "access", request_body = SetRoleBody,
    params(("id" = PolicyNameText, Path, description = "its name")),
    responses(
        (status = 200, description = "set", body = SetBody),
        (status = 404, description = "no such path", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn set_role(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    AdminBody(body): AdminBody<SetRoleBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().set_role(&call, &id, body.into()).await? }))
}

/// Read a role
///
/// Needs `manage_roles` or `audit`.
#[utoipa::path(
    get, path = "/v1/roles/{id}", tag = "access",
    params(("id" = ReferenceText, Path, description = "the role, by id or name")),
    responses(
        (status = 200, description = "the role", body = RoleBody),
        (status = 404, description = "no such role", body = RefusalBody),
    )
)]
pub(crate) async fn read_role(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
) -> Answer<RoleBody> {
    Ok(Json(app.engine().role(&call, &id).await?.into()))
}

/// List roles
///
/// Needs `manage_roles` or `audit`.
#[utoipa::path(
    get, path = "/v1/roles", tag = "access",
    responses((status = 200, description = "all roles", body = RolesBody))
)]
pub(crate) async fn list_roles(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    _: NoParams,
) -> Answer<RolesBody> {
    Ok(Json(app.engine().roles(&call).await?.into()))
}

/// End a role
///
/// Needs `manage_roles`. Whoever holds it loses what it brought, unless something else brings it too.
#[utoipa::path(
    delete, path = "/v1/roles/{id}", tag = "access", request_body = ReasonBody,
    params(("id" = ReferenceText, Path, description = "the role, by id or name")),
    responses(
        (status = 200, description = "ended", body = SetBody),
        (status = 404, description = "no such role", body = RefusalBody),
        (status = 409, description = "another role includes it", body = RefusalBody),
    )
)]
pub(crate) async fn remove_role(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    Id(id): Id,
    _: NoParams,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().remove_role(&call, &id, body.reason).await? }))
}

/// Give a role to a user or an agent
///
/// Needs `manage_roles`. Giving it again replaces its times.
#[utoipa::path(
    put, path = "/v1/roles/{id}/members/{member}", tag = "access", request_body = GrantBody,
    params(
        ("id" = ReferenceText, Path, description = "the role, by id or name"),
        ("member" = ReferenceText, Path, description = "the user or agent, by id or name"),
    ),
    responses(
        (status = 200, description = "given", body = SetBody),
        (status = 404, description = "no such role, user or agent", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn assign_role(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    member: MemberAt,
    _: NoParams,
    AdminBody(body): AdminBody<GrantBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().assign_role(&call, member.parts(), body.into()).await? }))
}

/// Take a role away from a user or an agent
///
/// Needs `manage_roles`. What it brought goes, unless something else brings it too; the next read knows.
#[utoipa::path(
    delete, path = "/v1/roles/{id}/members/{member}", tag = "access", request_body = ReasonBody,
    params(
        ("id" = ReferenceText, Path, description = "the role, by id or name"),
        ("member" = ReferenceText, Path, description = "the user or agent, by id or name"),
    ),
    responses(
        (status = 200, description = "taken away", body = SetBody),
        (status = 404, description = "no such role, or they do not hold it", body = RefusalBody),
        (status = 409, description = "the state forbids it", body = RefusalBody),
    )
)]
pub(crate) async fn unassign_role(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    member: MemberAt,
    _: NoParams,
    AdminBody(body): AdminBody<ReasonBody>,
) -> Answer<SetBody> {
    Ok(Json(SetBody { token: app.engine().unassign_role(&call, member.parts(), body.reason).await? }))
}
