//! The operations of governance, as the engine offers them: kept and held writes, policies, schemas, quarantine, reverting.

use crate::change::{checked, needs_reason};
use crate::reply::{
    AgentReply, Feedback, Flag, KeptReply, NewAgent, Quarantined, Reverified, RevertQuery, Reverted,
    ReviewReply, Verdict, Written,
};
use crate::tenant::Tenant;
use crate::{Call, Engine, Notice, govern, identity, kept, reverify, review};
use serde_json::Value;
use std::sync::Arc;
use tabellion_core::error::Refusal;
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::TenantId;
use tabellion_core::time::Timestamp;
use tabellion_core::view::Policy;

impl Engine {
    /// Makes an agent of which more is known. Admins only.
    ///
    /// # Errors
    /// As for users.
    pub async fn register_agent(&self, call: &Call, new: NewAgent) -> Result<AgentReply, Refusal> {
        identity::create_agent(&*self.tenant(call)?, call, new).await
    }

    /// Lists the caller's writes that are not memory: put off, or refused.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn kept_writes(&self, call: &Call) -> Result<Vec<KeptReply>, Refusal> {
        kept::list(&*self.tenant(call)?, call).await
    }

    /// Tells the time by the clock of the engine.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.options.clock.now()
    }

    /// Reads one of them.
    ///
    /// # Errors
    /// When it is not the caller's, or not kept any more.
    pub async fn kept_write(&self, call: &Call, id: &str) -> Result<KeptReply, Refusal> {
        kept::get(&*self.tenant(call)?, call, id).await
    }

    /// Sends a refused write through the gates once more.
    ///
    /// # Errors
    /// As for a write.
    pub async fn reopen(&self, call: &Call, id: &str) -> Result<Written, Refusal> {
        kept::reopen(&*self.tenant(call)?, call, id).await
    }

    /// Lists held writes that the caller may see, the riskiest first.
    ///
    /// # Errors
    /// When there is no such state.
    pub async fn reviews(&self, call: &Call, state: Option<&str>) -> Result<Vec<ReviewReply>, Refusal> {
        review::list(&*self.tenant(call)?, call, state).await
    }

    /// Reads a held write.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn review(&self, call: &Call, id: &str) -> Result<ReviewReply, Refusal> {
        review::get(&*self.tenant(call)?, call, id).await
    }

    /// Decides on a held write.
    ///
    /// # Errors
    /// When the caller may not, the review is closed, or a gate refuses the write by now.
    pub async fn decide(&self, call: &Call, id: &str, verdict: Verdict) -> Result<Written, Refusal> {
        review::decide(&*self.tenant(call)?, call, id, verdict).await
    }

    /// Takes a held write back.
    ///
    /// # Errors
    /// When it is not the caller's, or closed.
    pub async fn withdraw(&self, call: &Call, id: &str) -> Result<(), Refusal> {
        review::withdraw(&*self.tenant(call)?, call, id).await
    }

    /// Changes a held write: it becomes another review.
    ///
    /// # Errors
    /// As for withdraw and write.
    pub async fn edit_held(&self, call: &Call, id: &str, draft: WriteDraft) -> Result<Written, Refusal> {
        review::edit(&*self.tenant(call)?, call, id, draft).await
    }

    /// Tells what people said of an agent's writes.
    ///
    /// # Errors
    /// When there is no such agent.
    pub async fn feedback(&self, call: &Call, agent: &str) -> Result<Feedback, Refusal> {
        review::feedback(&*self.tenant(call)?, call, agent).await
    }

    /// Sets a policy in place of the one of the same name.
    ///
    /// # Errors
    /// When the body is no policy, or the caller may not manage policies and it is not one for their own scope that only tightens.
    pub async fn set_policy(&self, call: &Call, name: &str, body: Value) -> Result<String, Refusal> {
        govern::set_policy(&*self.tenant(call)?, call, name, body).await
    }

    /// Takes a policy away.
    ///
    /// # Errors
    /// When the caller may not manage policies, or there is none of this name.
    pub async fn remove_policy(
        &self,
        call: &Call,
        name: &str,
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        govern::remove_policy(&*self.tenant(call)?, call, name, reason).await
    }

    /// Lists policies by name: all of them for auditors and admins, their own for other people.
    ///
    /// # Errors
    /// When an agent without these powers asks.
    pub async fn policies(&self, call: &Call) -> Result<Vec<(String, Policy)>, Refusal> {
        govern::policies(&*self.tenant(call)?, call).await
    }

    /// Registers a schema in place of the one of the same kind and layer.
    ///
    /// # Errors
    /// When the caller is no admin, or the body is no schema.
    pub async fn set_schema(&self, call: &Call, body: Value) -> Result<String, Refusal> {
        govern::set_schema(&*self.tenant(call)?, call, body).await
    }

    /// Lists schemas.
    ///
    /// # Errors
    /// When the trail cannot be written.
    pub async fn schemas(&self, call: &Call) -> Result<Vec<Value>, Refusal> {
        govern::schemas(&*self.tenant(call)?, call).await
    }

    /// Forbids an agent to write, for everybody.
    ///
    /// # Errors
    /// When the caller is no admin, or there is no such agent.
    pub async fn suspend(&self, call: &Call, agent: &str, reason: &str) -> Result<String, Refusal> {
        govern::suspend(&*self.tenant(call)?, call, agent, reason).await
    }

    /// Allows an agent to write again, for everybody or only for the user whose writes are held.
    ///
    /// # Errors
    /// When the caller is no admin and it is not their own writes that are held, or there is no such agent or user.
    pub async fn resume(
        &self,
        call: &Call,
        agent: &str,
        user: Option<&str>,
        reason: &str,
    ) -> Result<String, Refusal> {
        govern::resume(&*self.tenant(call)?, call, agent, user, reason).await
    }

    /// Puts an item under quarantine, or releases it.
    ///
    /// # Errors
    /// When it is missing or hidden, or is so already.
    pub async fn quarantine(
        &self,
        call: &Call,
        id: &str,
        on: bool,
        reason: &str,
    ) -> Result<Quarantined, Refusal> {
        govern::quarantine(&*self.tenant(call)?, call, id, on, reason).await
    }

    /// The same call as a moderator's: its reads show what is shared, whatever its edges, and nothing private. Without a reason
    /// the call as it is.
    ///
    /// # Errors
    /// When an agent acts, the caller may not moderate, or the reason is blank or too long.
    pub async fn moderating(&self, call: Call, reason: Option<String>) -> Result<Call, Refusal> {
        let Some(reason) = reason else { return Ok(call) };
        let moderating = || {
            let is_said = !reason.trim().is_empty() && checked(Some(&reason)).is_ok();
            if is_said { call.caller.moderating(&reason) } else { Err(needs_reason("/moderate")) }
        };
        match moderating() {
            Ok(caller) => Ok(Call { caller, ..call }),
            Err(refusal) => Err(self.tenant(&call)?.refused(&call, "moderate", Vec::new(), refusal).await),
        }
    }

    /// How many agents are suspended, over all tenants.
    #[must_use]
    pub fn suspended_agents(&self) -> usize {
        let tenants = self.inner.tenants.read();
        tenants.values().map(|tenant| tenant.shared.views.read().policies.suspensions().len()).sum()
    }

    /// Takes back all that an agent wrote in a period and what derives from it: one's own, and for a moderator what is shared.
    ///
    /// # Errors
    /// When there is no such agent or user.
    pub async fn revert(&self, call: &Call, agent: &str, query: RevertQuery) -> Result<Reverted, Refusal> {
        govern::revert(&*self.tenant(call)?, call, agent, query).await
    }

    /// Verifies again what is durable, from a place on. Admins only.
    ///
    /// # Errors
    /// For everyone else, and when a content cannot be read.
    pub async fn reverify(&self, call: &Call, cursor: Option<&str>) -> Result<Reverified, Refusal> {
        reverify::now(&*self.tenant(call)?, call, cursor).await
    }

    /// Lists what did not stand when it was last verified, as far as the caller may see it; newest first.
    ///
    /// # Errors
    /// When the trail cannot be written.
    pub async fn flagged(&self, call: &Call) -> Result<Vec<Flag>, Refusal> {
        reverify::flagged(&*self.tenant(call)?, call).await
    }

    /// How often each gate ran since the start and what that took in all, the gathering of facts included.
    ///
    /// # Errors
    /// When the tenant is gone.
    pub fn gate_times(&self, call: &Call) -> Result<Vec<(&'static str, u64, std::time::Duration)>, Refusal> {
        Ok(self.tenant(call)?.gate_times.all())
    }

    /// News of held writes, as they come.
    ///
    /// # Errors
    /// When the tenant is gone.
    pub fn notices(&self, call: &Call) -> Result<tokio::sync::broadcast::Receiver<Notice>, Refusal> {
        Ok(self.tenant(call)?.notices.subscribe())
    }

    /// News of held writes of every tenant, as they come: for the operator of this process, and nobody else.
    #[must_use]
    pub fn news(&self) -> tokio::sync::broadcast::Receiver<(TenantId, Notice)> {
        self.inner.news.subscribe()
    }

    /// Whether a caller may hear of this.
    #[must_use]
    pub fn may_hear(&self, call: &Call, notice: &Notice) -> bool {
        self.tenant(call).is_ok_and(|tenant| review::may_hear(&tenant, call, notice))
    }

    /// Announces the held writes that nobody decided on in time, each once. To be called often: it looks once a minute.
    pub fn escalate(&self) {
        let tenants: Vec<Arc<Tenant>> = self.inner.tenants.read().values().cloned().collect();
        tenants.iter().for_each(|tenant| review::escalate(tenant));
    }
}
