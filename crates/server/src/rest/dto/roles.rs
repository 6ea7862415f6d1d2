//! Bodies of the operations on roles.

use super::words::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a role bundles.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SetRole)]
pub(crate) struct SetRoleBody {
    /// Agents that a user who holds it may invoke, by id or name.
    #[serde(default)]
    #[schema(value_type = Vec<ReferenceText>, max_items = 1000)]
    pub(crate) agents: Vec<String>,
    /// Resources that an agent which holds it may use, by id or name.
    #[serde(default)]
    #[schema(value_type = Vec<ReferenceText>, max_items = 1000)]
    pub(crate) resources: Vec<String>,
    /// Roles that come with it, by id or name.
    #[serde(default)]
    #[schema(value_type = Vec<ReferenceText>, max_items = 1000)]
    pub(crate) includes: Vec<String>,
    /// Administrative actions of users who hold it.
    #[serde(default)]
    #[schema(value_type = Vec<PowerWord>, max_items = 1000)]
    pub(crate) actions: Vec<String>,
    /// How secret what they read may be, for those who hold it; who holds no role with a clearance reads up to `internal`.
    #[schema(value_type = Option<ClassificationWord>, nullable = false)]
    pub(crate) clearance: Option<String>,
    /// The domains of those who hold it: they read what is of no other, and write only what is of these.
    #[serde(default)]
    #[schema(value_type = Vec<TagText>, max_items = 1000)]
    pub(crate) domains: Vec<String>,
}

/// A role, and who holds it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RoleDescription)]
pub(crate) struct RoleBody {
    /// Its id.
    #[schema(value_type = RoleIdText)]
    pub(crate) id: String,
    /// Its name.
    #[schema(value_type = PolicyNameText)]
    pub(crate) name: String,
    /// Whether every tenant has it and nobody can change it.
    pub(crate) built_in: bool,
    /// Agents that a user who holds it may invoke.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
    /// Resources that an agent which holds it may use.
    #[schema(value_type = Vec<ResourceIdText>)]
    pub(crate) resources: Vec<String>,
    /// Roles that come with it, by name.
    #[schema(value_type = Vec<PolicyNameText>)]
    pub(crate) includes: Vec<String>,
    /// Administrative actions of users who hold it.
    #[schema(value_type = Vec<PowerWord>)]
    pub(crate) actions: Vec<String>,
    /// How secret what they read may be, for those who hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ClassificationWord>, nullable = false)]
    pub(crate) clearance: Option<String>,
    /// The domains of those who hold it.
    pub(crate) domains: Vec<String>,
    /// Who holds it.
    pub(crate) members: Vec<MemberBody>,
}

/// Somebody who holds a role.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RoleMember)]
pub(crate) struct MemberBody {
    /// The user or agent.
    pub(crate) id: String,
    /// When it began to count, if later than given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) not_before: Option<String>,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) expires_at: Option<String>,
}

/// All roles.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Roles)]
pub(crate) struct RolesBody {
    /// Built-in ones first.
    pub(crate) roles: Vec<RoleBody>,
}
