//! Roles, between the engine's words and the wire's.

use crate::rest::dto::*;
use tabellion_engine::reply::{MemberReply, RoleDraft, RoleReply};

impl From<SetRoleBody> for RoleDraft {
    fn from(body: SetRoleBody) -> Self {
        Self {
            agents: body.agents,
            resources: body.resources,
            includes: body.includes,
            actions: body.actions,
            clearance: body.clearance,
            domains: body.domains,
        }
    }
}

impl From<RoleReply> for RoleBody {
    fn from(role: RoleReply) -> Self {
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
            members: role.members.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<MemberReply> for MemberBody {
    fn from(member: MemberReply) -> Self {
        Self {
            id: member.id,
            not_before: member.not_before.map(|time| time.to_string()),
            expires_at: member.expires_at.map(|time| time.to_string()),
        }
    }
}

impl From<Vec<RoleReply>> for RolesBody {
    fn from(roles: Vec<RoleReply>) -> Self {
        Self { roles: roles.into_iter().map(Into::into).collect() }
    }
}
