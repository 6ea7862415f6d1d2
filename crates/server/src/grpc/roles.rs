//! Roles as messages.

use super::proto;
use tabellion_engine::reply;

impl From<proto::SetRoleRequest> for reply::RoleDraft {
    fn from(asked: proto::SetRoleRequest) -> Self {
        Self {
            agents: asked.agents,
            resources: asked.resources,
            includes: asked.includes,
            actions: asked.actions,
            clearance: asked.clearance,
            domains: asked.domains,
        }
    }
}

impl From<reply::RoleReply> for proto::Role {
    fn from(role: reply::RoleReply) -> Self {
        let member = |one: reply::MemberReply| proto::RoleMember {
            id: one.id,
            not_before: one.not_before.as_ref().map(ToString::to_string),
            expires_at: one.expires_at.as_ref().map(ToString::to_string),
        };
        Self {
            id: role.id.to_string(),
            name: role.name,
            built_in: role.built_in,
            agents: role.bundle.agents,
            resources: role.bundle.resources,
            includes: role.bundle.includes,
            actions: role.bundle.actions,
            clearance: role.bundle.clearance,
            domains: role.bundle.domains,
            members: role.members.into_iter().map(member).collect(),
        }
    }
}

impl From<Vec<reply::RoleReply>> for proto::ListRolesReply {
    fn from(roles: Vec<reply::RoleReply>) -> Self {
        Self { roles: roles.into_iter().map(Into::into).collect() }
    }
}
