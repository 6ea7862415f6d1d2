//! Bodies of the operations on tenants, users, agents, resources and keys.

use super::words::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new tenant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTenant)]
pub(crate) struct NewTenantBody {
    /// Its name.
    #[schema(value_type = NameText)]
    pub(crate) name: String,
}

/// A tenant that was made, and its admin's credential.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tenant)]
pub(crate) struct TenantBody {
    /// The tenant.
    #[schema(value_type = TenantIdText)]
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// The secret of its admin's key.
    #[schema(value_type = SecretText)]
    pub(crate) admin_key: String,
}

/// A new user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewUser)]
pub(crate) struct NewUserBody {
    /// Its name, the only one of its kind in the tenant.
    #[schema(value_type = NameText)]
    pub(crate) name: String,
    /// What it may administer; `member` unless given.
    #[schema(value_type = Option<RoleWord>)]
    pub(crate) role: Option<String>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserBody {
    /// Its id.
    #[schema(value_type = UserIdText)]
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// What it may administer.
    #[schema(value_type = RoleWord)]
    pub(crate) role: &'static str,
    /// Whether it may act.
    #[schema(value_type = UserStatusWord)]
    pub(crate) status: &'static str,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
}

/// What a user is to administer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewRoleOfUser)]
pub(crate) struct UserRoleBody {
    /// What it may administer from now on.
    #[schema(value_type = RoleWord)]
    pub(crate) role: String,
    /// Why.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) reason: Option<String>,
}

/// All users.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Users)]
pub(crate) struct UsersBody {
    /// In order of their making.
    pub(crate) users: Vec<UserBody>,
}

/// A new agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAgent)]
pub(crate) struct NewAgentBody {
    /// Its name, the only one of its kind in the tenant.
    #[schema(value_type = NameText)]
    pub(crate) name: String,
    /// What it is good at.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) specialisation: Option<String>,
    /// Its family of models, such as `gpt` or `llama`: agents of one family may share their mistakes.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    pub(crate) family: Option<String>,
    /// Whether its own word on what it used is taken; no unless given.
    pub(crate) trust_declared: Option<bool>,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agent)]
pub(crate) struct AgentBody {
    /// Its id.
    #[schema(value_type = AgentIdText)]
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// What it is good at.
    #[schema(required)]
    pub(crate) specialisation: Option<String>,
    /// Its family of models, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) family: Option<String>,
    /// Whether its own word on what it used is taken.
    pub(crate) trust_declared: bool,
    /// Whether it works.
    #[schema(value_type = AgentStatusWord)]
    pub(crate) status: &'static str,
    /// Who suspended it, when and why, if it may not write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suspended: Option<SuspensionBody>,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// For which users its writes are held or suspended now, because they are unlike those before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) holds: Vec<HoldBody>,
}

/// That writes of an agent for a user are held or suspended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgentHold)]
pub(crate) struct HoldBody {
    /// The user.
    pub(crate) user: NamedBody,
    /// Whether each waits for a person or is refused.
    #[schema(value_type = String, pattern = "^(held|suspended)$")]
    pub(crate) action: &'static str,
    /// What is unlike before (two or three of `burst`, `topic shift` and `contradictions`), or the pair's reputation.
    pub(crate) reason: String,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) since: String,
    /// When it ends by itself.
    #[schema(value_type = TimeText)]
    pub(crate) until: String,
}

/// That an agent may not write until it is resumed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Suspension)]
pub(crate) struct SuspensionBody {
    /// The user who suspended it; `null` if the server did by itself.
    #[schema(required)]
    pub(crate) by: Option<NamedBody>,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) since: String,
    /// Why.
    #[schema(required)]
    pub(crate) reason: Option<String>,
}

/// All agents.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agents)]
pub(crate) struct AgentsBody {
    /// In order of their making.
    pub(crate) agents: Vec<AgentBody>,
}

/// A new resource.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewResource)]
pub(crate) struct NewResourceBody {
    /// Its name, the only one of its kind in the tenant.
    #[schema(value_type = NameText)]
    pub(crate) name: String,
    /// What sort it is.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) kind: Option<String>,
    /// What it is.
    #[schema(min_length = 1, max_length = 1024, pattern = r"\S")]
    pub(crate) description: Option<String>,
}

/// A resource.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Resource)]
pub(crate) struct ResourceBody {
    /// Its id.
    #[schema(value_type = ResourceIdText)]
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// What sort it is.
    #[schema(required)]
    pub(crate) kind: Option<String>,
    /// What it is.
    #[schema(required)]
    pub(crate) description: Option<String>,
    /// Whether it can be used.
    #[schema(value_type = ResourceStatusWord)]
    pub(crate) status: &'static str,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
}

/// All resources.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Resources)]
pub(crate) struct ResourcesBody {
    /// In order of their making.
    pub(crate) resources: Vec<ResourceBody>,
}

/// A new credential: of a user, of an agent acting for a user, or of an agent alone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub(crate) struct NewKeyBody {
    /// For which user, by id or name. A key needs a user, an agent or both.
    #[schema(value_type = Option<ReferenceText>)]
    pub(crate) user: Option<String>,
    /// For which agent, by id or name.
    #[schema(value_type = Option<ReferenceText>)]
    pub(crate) agent: Option<String>,
    /// When it ends by itself.
    #[schema(value_type = Option<TimeGivenText>)]
    pub(crate) expires_at: Option<String>,
}

/// A credential that was made; its secret is shown this once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = IssuedKey)]
pub(crate) struct IssuedKeyBody {
    /// The credential without its secret.
    #[serde(flatten)]
    pub(crate) about: KeyBody,
    /// The secret.
    #[schema(value_type = SecretText)]
    pub(crate) key: String,
    /// Whether the user may invoke the agent since this key was made, and not before.
    pub(crate) granted: bool,
}

/// A credential without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyBody {
    /// Its id.
    #[schema(value_type = KeyIdText)]
    pub(crate) id: String,
    /// For which user.
    #[schema(value_type = Option<UserIdText>, required)]
    pub(crate) user: Option<String>,
    /// For which agent.
    #[schema(value_type = Option<AgentIdText>, required)]
    pub(crate) agent: Option<String>,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) created_at: String,
    /// When it ends by itself.
    #[schema(value_type = Option<TimeText>, required)]
    pub(crate) expires_at: Option<String>,
    /// When it was revoked.
    #[schema(value_type = Option<TimeText>, required)]
    pub(crate) revoked_at: Option<String>,
}

/// All credentials.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Keys)]
pub(crate) struct KeysBody {
    /// In order of their making.
    pub(crate) keys: Vec<KeyBody>,
}

/// The end of a credential.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevokedKey)]
pub(crate) struct RevokedKeyBody {
    /// The credential.
    #[schema(value_type = KeyIdText)]
    pub(crate) id: String,
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// Who the caller is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WhoAmI)]
pub(crate) struct WhoAmIBody {
    /// The tenant.
    #[schema(value_type = TenantIdText)]
    pub(crate) tenant: String,
    /// The user.
    pub(crate) user: NamedBody,
    /// The agent.
    pub(crate) agent: NamedBody,
    /// What the user may administer.
    #[schema(value_type = RoleWord)]
    pub(crate) role: &'static str,
    /// How much the caller may write, and how much of it is used.
    pub(crate) limits: AllowanceBody,
    /// Whether writes of this user through this agent are held or suspended now, why and until when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) holds: Vec<HoldBody>,
    /// Who suspended the agent for everybody, when and why, if it may not write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) suspended: Option<SuspensionBody>,
}

/// How much a user may write through an agent. It is told to the two of them alone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Allowance)]
pub(crate) struct AllowanceBody {
    /// No rate and no budget holds for the caller, who may import.
    pub(crate) exempt: bool,
    /// Writes of the last minute, by layer. What goes beyond is kept and committed by itself.
    pub(crate) writes_per_minute: Vec<LayerRateBody>,
    /// Writes of the session that `session_id` names, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) session: Option<UsedBody>,
    /// Writes of any one session at most.
    pub(crate) session_writes_max: u32,
    /// Writes that wait for their turn.
    pub(crate) queued: UsedBody,
}

/// Writes of the last minute in one layer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LayerRate)]
pub(crate) struct LayerRateBody {
    /// The layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// So many are used.
    pub(crate) used: u32,
    /// So many may be used.
    pub(crate) limit: u32,
}

/// How much of something is used, and how much of it there is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Used)]
pub(crate) struct UsedBody {
    /// So much is used.
    pub(crate) used: u32,
    /// So much may be used.
    pub(crate) limit: u32,
}

/// An id and its name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Named)]
pub(crate) struct NamedBody {
    /// The id.
    pub(crate) id: String,
    /// The name.
    pub(crate) name: String,
}

/// The time to show from now on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestClockBody {
    /// The time.
    pub(crate) now: String,
}

/// The time that is shown.
#[derive(Debug, Serialize)]
pub(crate) struct TestClockSetBody {
    /// The time.
    pub(crate) now: String,
}
