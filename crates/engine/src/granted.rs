//! The operations on the access graphs, as the engine offers them.

use crate::identity::UserChange;
use crate::reply::{EdgeReply, EdgeTerms, ExplainReply, UserReply, WhoReply};
use crate::{Call, Engine, graph, identity};
use tabellion_core::error::Refusal;
use tabellion_core::id::ItemId;
use tabellion_core::log::{AgentStatus, ResourceStatus, UserStatus};

impl Engine {
    /// Grants an edge of a graph, `ua` (user, agent) or `ar` (agent, resource), or changes its times.
    ///
    /// # Errors
    /// When the caller is no admin, an end does not exist, or a time breaks a rule.
    pub async fn grant(
        &self,
        call: &Call,
        edge: (&str, &str, &str),
        terms: EdgeTerms,
    ) -> Result<String, Refusal> {
        graph::grant(&*self.tenant(call)?, call, edge, terms).await
    }

    /// Revokes an edge; the next read knows.
    ///
    /// # Errors
    /// When the caller is no admin, or there is no such edge.
    pub async fn revoke(
        &self,
        call: &Call,
        edge: (&str, &str, &str),
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        graph::revoke(&*self.tenant(call)?, call, edge, reason).await
    }

    /// Puts an agent to rest, or back to work.
    ///
    /// # Errors
    /// When the caller is no admin, or there is no such agent.
    pub async fn set_agent_status(
        &self,
        call: &Call,
        agent: &str,
        status: AgentStatus,
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        graph::set_status(&*self.tenant(call)?, call, agent, status, reason).await
    }

    /// Puts a resource to rest, back to work, or ends it.
    ///
    /// # Errors
    /// When the caller may not manage graphs, or there is no such resource.
    pub async fn set_resource_status(
        &self,
        call: &Call,
        resource: &str,
        status: ResourceStatus,
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        graph::set_resource_status(&*self.tenant(call)?, call, resource, status, reason).await
    }

    /// Reads a user, by name or id.
    ///
    /// # Errors
    /// When the caller may not manage principals, or there is no such user.
    pub async fn user(&self, call: &Call, name: &str) -> Result<UserReply, Refusal> {
        identity::user(&*self.tenant(call)?, call, name).await
    }

    /// Disables a user, or enables one again: no credential of a disabled user is taken, and no edge of theirs counts.
    ///
    /// # Errors
    /// When the caller may not, there is no such user, or no admin would be left.
    pub async fn set_user_status(
        &self,
        call: &Call,
        name: &str,
        status: UserStatus,
        reason: &str,
    ) -> Result<UserReply, Refusal> {
        let change = UserChange::Status(status);
        identity::change_user(&*self.tenant(call)?, call, name, change, reason).await
    }

    /// Changes what a user may administer.
    ///
    /// # Errors
    /// When the caller may not, there is no such user or role, or no admin would be left.
    pub async fn set_user_role(
        &self,
        call: &Call,
        name: &str,
        role: &str,
        reason: &str,
    ) -> Result<UserReply, Refusal> {
        let tenant = self.tenant(call)?;
        let role = match identity::role_named(role) {
            Ok(role) => role,
            Err(refusal) => return Err(tenant.refused(call, "set_user_role", Vec::new(), refusal).await),
        };
        identity::change_user(&tenant, call, name, UserChange::Role(role), reason).await
    }

    /// The edges that stand now or at a moment before.
    ///
    /// # Errors
    /// When the caller is no auditor.
    pub async fn edges(&self, call: &Call, at: Option<&str>) -> Result<Vec<EdgeReply>, Refusal> {
        graph::list(&*self.tenant(call)?, call, at).await
    }

    /// Who could see an item at a moment.
    ///
    /// # Errors
    /// When the caller is no auditor, or there is no such item.
    pub async fn who(&self, call: &Call, item: &str, at: Option<&str>) -> Result<Vec<WhoReply>, Refusal> {
        graph::who(&*self.tenant(call)?, call, item, at).await
    }

    /// What a user could see through an agent at a moment.
    ///
    /// # Errors
    /// When the caller is no auditor, or there is no such pair.
    pub async fn what(
        &self,
        call: &Call,
        pair: (&str, Option<&str>),
        at: Option<&str>,
    ) -> Result<Vec<ItemId>, Refusal> {
        graph::what(&*self.tenant(call)?, call, pair, at).await
    }

    /// Why the caller sees an item.
    ///
    /// # Errors
    /// When it is missing, or hidden and another's.
    pub async fn explain(&self, call: &Call, item: &str) -> Result<ExplainReply, Refusal> {
        graph::explain(&*self.tenant(call)?, call, item).await
    }

    /// Why a pair could see an item at a moment, or could not.
    ///
    /// # Errors
    /// When the caller is no auditor, or one of them is missing.
    pub async fn explain_pair(
        &self,
        call: &Call,
        item: &str,
        pair: (&str, Option<&str>),
        at: Option<&str>,
    ) -> Result<ExplainReply, Refusal> {
        graph::explain_pair(&*self.tenant(call)?, call, item, pair, at).await
    }
}
