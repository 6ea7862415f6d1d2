//! Bodies of the operations on the access graphs.

use super::words::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// On what terms an edge is granted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GrantEdge)]
pub(crate) struct GrantBody {
    /// It counts from then on; at once unless given.
    #[schema(value_type = Option<TimeGivenText>)]
    pub(crate) not_before: Option<String>,
    /// It ends by itself then; never unless given.
    #[schema(value_type = Option<TimeGivenText>)]
    pub(crate) expires_at: Option<String>,
    /// Why.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) reason: Option<String>,
}

/// An edge that stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Edge)]
pub(crate) struct EdgeBody {
    /// Which graph.
    #[schema(value_type = GraphWord)]
    pub(crate) graph: &'static str,
    /// Who may: a user of `ua`, an agent of `ar`.
    pub(crate) source: String,
    /// What: an agent of `ua`, a resource of `ar`.
    pub(crate) target: String,
    /// Why it exists: `direct`, or `role:` and the role's id. An edge stands for as long as anything supports it.
    pub(crate) support: String,
    /// When it was granted.
    #[schema(value_type = Option<TimeText>, required)]
    pub(crate) since: Option<String>,
    /// When it began to count, if later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) not_before: Option<String>,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeText>, nullable = false)]
    pub(crate) expires_at: Option<String>,
}

/// The edges that stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Edges)]
pub(crate) struct EdgesBody {
    /// In the order in which they were granted.
    pub(crate) edges: Vec<EdgeBody>,
}

/// A user who sees an item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SeeingPair)]
pub(crate) struct SeeingBody {
    /// The user.
    #[schema(value_type = UserIdText)]
    pub(crate) user: String,
    /// The agents through which.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
}

/// Who sees an item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WhoSees)]
pub(crate) struct WhoSeesBody {
    /// By user.
    pub(crate) pairs: Vec<SeeingBody>,
}

/// What a pair sees.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WhatIsSeen)]
pub(crate) struct WhatIsSeenBody {
    /// The items, oldest first.
    #[schema(value_type = Vec<ItemIdText>)]
    pub(crate) items: Vec<String>,
}

/// Whose view of which item is to be explained.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExplainPair)]
pub(crate) struct ExplainPairBody {
    /// The user, by id or name.
    #[schema(value_type = ReferenceText)]
    pub(crate) user: String,
    /// The agent, by id or name; the person without an agent unless given.
    #[schema(value_type = Option<ReferenceText>)]
    pub(crate) agent: Option<String>,
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) item: String,
    /// As of then; now unless given.
    #[schema(value_type = Option<AsOfText>)]
    pub(crate) at: Option<String>,
}

/// Why an item is seen, or is not.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Explanation)]
pub(crate) struct ExplanationBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Its head.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// Whether it is seen.
    pub(crate) visible: bool,
    /// Where it lives.
    #[schema(value_type = TierWord)]
    pub(crate) tier: &'static str,
    /// Who contributed: the user must be allowed to invoke all of them.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
    /// What was consulted: the agent must be allowed to use all of it.
    #[schema(value_type = Vec<ResourceIdText>)]
    pub(crate) resources: Vec<String>,
    /// What stands in the way; nothing if it is seen.
    pub(crate) hindrances: Vec<HindranceBody>,
}

/// What stands in the way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hindrance)]
pub(crate) struct HindranceBody {
    /// What sort: another's own item, an agent or a resource that is not granted, the agent's roles, a policy.
    #[schema(value_type = HindranceWord)]
    pub(crate) reason: &'static str,
    /// The agent or resource; to auditors, the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) id: Option<String>,
}
