//! Each operation of the service: convert, delegate, convert back.

use super::access::terms;
use super::ask::arguments;
use super::call::{Memory, log_named, patient};
use super::convert::{draft, patch};
use super::govern::{Token, Withdrawn, policy_body, revert_query, schema_body, verdict};
use super::trust::Moved;
use super::{import, proto, relations};
use futures::Stream;
use proto::tabellion_server::Tabellion;
use std::pin::Pin;
use tabellion_core::log::{AgentStatus, ResourceStatus, UserStatus};
use tabellion_engine::reply::NewAgent;
use tonic::{Request, Response, Status, Streaming};

type Answer<A> = Result<Response<A>, Status>;

#[tonic::async_trait]
impl Tabellion for Memory {
    type ImportStream = Pin<Box<dyn Stream<Item = Result<proto::ImportReply, Status>> + Send>>;

    async fn import(&self, request: Request<Streaming<proto::WriteRequest>>) -> Answer<Self::ImportStream> {
        import::start(self, request).map(|outcomes| Response::new(Box::pin(outcomes) as Self::ImportStream))
    }

    async fn write(&self, request: Request<proto::WriteRequest>) -> Answer<proto::WriteReply> {
        self.answer(patient(request), |engine, call, asked| async move {
            engine.write(&call, draft(asked)?).await
        })
        .await
    }

    async fn patch(&self, request: Request<proto::PatchRequest>) -> Answer<proto::WriteReply> {
        self.answer(patient(request), |engine, call, asked| async move {
            let patch = patch(asked.patch.unwrap_or_default())?;
            engine.patch(&call, &asked.id, patch).await
        })
        .await
    }

    async fn get(&self, request: Request<proto::GetRequest>) -> Answer<proto::Item> {
        self.answer(request, |engine, call, asked| async move {
            let call = engine.moderating(call, asked.moderate).await?;
            engine.get(&call, &asked.id, asked.as_of.as_deref()).await
        })
        .await
    }

    async fn list(&self, request: Request<proto::ListRequest>) -> Answer<proto::ListReply> {
        self.answer(request, |engine, call, mut asked| async move {
            let call = engine.moderating(call, asked.moderate.take()).await?;
            engine.list(&call, asked.into()).await
        })
        .await
    }

    async fn versions(&self, request: Request<proto::VersionsRequest>) -> Answer<proto::VersionsReply> {
        self.answer(request, |engine, call, asked| async move {
            let call = engine.moderating(call, asked.moderate).await?;
            engine.versions(&call, &asked.id).await
        })
        .await
    }

    async fn get_provenance(
        &self,
        request: Request<proto::GetProvenanceRequest>,
    ) -> Answer<proto::Provenance> {
        self.answer(request, |engine, call, asked| async move {
            let call = engine.moderating(call, asked.moderate).await?;
            engine.provenance(&call, &asked.id, asked.version.as_deref()).await
        })
        .await
    }

    async fn retract(&self, request: Request<proto::RetractRequest>) -> Answer<proto::ChangeReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.retract(&call, &asked.id, asked.reason).await
        })
        .await
    }

    async fn rollback(&self, request: Request<proto::RollbackRequest>) -> Answer<proto::ChangeReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.rollback(&call, &asked.id, asked.version.as_deref(), asked.reason).await
        })
        .await
    }

    async fn pin(&self, request: Request<proto::PinRequest>) -> Answer<proto::ChangeReply> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.pin(&call, &asked.id, asked.reason).await },
        )
        .await
    }

    async fn unpin(&self, request: Request<proto::UnpinRequest>) -> Answer<proto::ChangeReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.unpin(&call, &asked.id, asked.reason).await
        })
        .await
    }

    async fn search(&self, request: Request<proto::SearchRequest>) -> Answer<proto::SearchReply> {
        self.answer(request, |engine, call, mut asked| async move {
            let call = engine.moderating(call, asked.moderate.take()).await?;
            engine.search(&call, asked.into()).await
        })
        .await
    }

    async fn write_relations(
        &self,
        request: Request<proto::WriteRelationsRequest>,
    ) -> Answer<proto::WriteRelationsReply> {
        self.answer(patient(request), |engine, call, asked| async move {
            let drafts = asked.relations.into_iter().map(|relation| Ok(relation.into())).collect();
            let related = engine.write_relations(&call, drafts).await?;
            Ok(relations::related(related, call.request_id.as_deref()))
        })
        .await
    }

    async fn find_paths(&self, request: Request<proto::FindPathsRequest>) -> Answer<proto::FindPathsReply> {
        self.answer(request, |engine, call, asked| async move { engine.paths(&call, asked.into()).await })
            .await
    }

    async fn report_outcome(
        &self,
        request: Request<proto::ReportOutcomeRequest>,
    ) -> Answer<proto::ReportOutcomeReply> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.report_outcome(&call, asked.into()).await },
        )
        .await
    }

    async fn ask(&self, request: Request<proto::AskRequest>) -> Answer<proto::AskReply> {
        self.answer(
            patient(request),
            |engine, call, asked| async move { engine.ask(&call, asked.into()).await },
        )
        .await
    }

    async fn call_resource(
        &self,
        request: Request<proto::CallResourceRequest>,
    ) -> Answer<proto::CallResourceReply> {
        self.answer(patient(request), |engine, call, asked| async move {
            engine.call_resource(&call, &asked.id, arguments(asked.args)?, asked.trace_id).await
        })
        .await
    }

    async fn declare_round(&self, request: Request<proto::DeclareRoundRequest>) -> Answer<proto::Round> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.declare_round(&call, asked.into()).await },
        )
        .await
    }

    async fn get_trust(&self, request: Request<proto::GetTrustRequest>) -> Answer<proto::GetTrustReply> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.trust_told(&call, &asked.into()).await },
        )
        .await
    }

    async fn recalibrate(
        &self,
        request: Request<proto::RecalibrateRequest>,
    ) -> Answer<proto::RecalibrateReply> {
        self.answer(request, |engine, call, _| async move { engine.recalibrate(&call).await.map(Moved) })
            .await
    }

    async fn quarantine(&self, request: Request<proto::QuarantineRequest>) -> Answer<proto::QuarantineReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.quarantine(&call, &asked.id, true, &asked.reason.unwrap_or_default()).await
        })
        .await
    }

    async fn release(&self, request: Request<proto::ReleaseRequest>) -> Answer<proto::QuarantineReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.quarantine(&call, &asked.id, false, &asked.reason.unwrap_or_default()).await
        })
        .await
    }

    async fn reverify(&self, request: Request<proto::ReverifyRequest>) -> Answer<proto::ReverifyReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.reverify(&call, asked.cursor.as_deref()).await
        })
        .await
    }

    async fn list_flagged(
        &self,
        request: Request<proto::ListFlaggedRequest>,
    ) -> Answer<proto::ListFlaggedReply> {
        self.answer(request, |engine, call, _| async move { engine.flagged(&call).await }).await
    }

    async fn list_writes(
        &self,
        request: Request<proto::ListWritesRequest>,
    ) -> Answer<proto::ListWritesReply> {
        self.answer(request, |engine, call, _| async move { engine.kept_writes(&call).await }).await
    }

    async fn get_write(&self, request: Request<proto::GetWriteRequest>) -> Answer<proto::KeptWrite> {
        self.answer(request, |engine, call, asked| async move { engine.kept_write(&call, &asked.id).await })
            .await
    }

    async fn reopen_write(&self, request: Request<proto::ReopenWriteRequest>) -> Answer<proto::WriteReply> {
        self.answer(
            patient(request),
            |engine, call, asked| async move { engine.reopen(&call, &asked.id).await },
        )
        .await
    }

    async fn list_reviews(
        &self,
        request: Request<proto::ListReviewsRequest>,
    ) -> Answer<proto::ListReviewsReply> {
        self.answer(request, |engine, call, asked| async move {
            let call = engine.moderating(call, asked.moderate).await?;
            engine.reviews(&call, asked.state.as_deref()).await
        })
        .await
    }

    async fn get_review(&self, request: Request<proto::GetReviewRequest>) -> Answer<proto::Review> {
        self.answer(request, |engine, call, asked| async move {
            let call = engine.moderating(call, asked.moderate).await?;
            engine.review(&call, &asked.id).await
        })
        .await
    }

    async fn decide_review(&self, request: Request<proto::DecideReviewRequest>) -> Answer<proto::WriteReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.decide(&call, &asked.id.clone(), verdict(asked)?).await
        })
        .await
    }

    async fn edit_review(&self, request: Request<proto::EditReviewRequest>) -> Answer<proto::WriteReply> {
        self.answer(patient(request), |engine, call, asked| async move {
            engine.edit_held(&call, &asked.id, asked.write.unwrap_or_default().into()).await
        })
        .await
    }

    async fn withdraw_review(
        &self,
        request: Request<proto::WithdrawReviewRequest>,
    ) -> Answer<proto::WithdrawReviewReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.withdraw(&call, &asked.id).await.map(|()| Withdrawn(asked.id))
        })
        .await
    }

    async fn get_feedback(&self, request: Request<proto::GetFeedbackRequest>) -> Answer<proto::Feedback> {
        self.answer(request, |engine, call, asked| async move { engine.feedback(&call, &asked.id).await })
            .await
    }

    async fn suspend_agent(&self, request: Request<proto::SuspendAgentRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.suspend(&call, &asked.id, &asked.reason).await.map(Token)
        })
        .await
    }

    async fn resume_agent(&self, request: Request<proto::ResumeAgentRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.resume(&call, &asked.id, asked.user.as_deref(), &asked.reason).await.map(Token)
        })
        .await
    }

    async fn revert_agent(
        &self,
        request: Request<proto::RevertAgentRequest>,
    ) -> Answer<proto::RevertAgentReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.revert(&call, &asked.id, revert_query(engine.now(), &asked)?).await
        })
        .await
    }

    async fn set_policy(&self, request: Request<proto::Policy>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            let id = asked.id.clone();
            engine.set_policy(&call, &id, policy_body(asked)).await.map(Token)
        })
        .await
    }

    async fn list_policies(
        &self,
        request: Request<proto::ListPoliciesRequest>,
    ) -> Answer<proto::ListPoliciesReply> {
        self.answer(request, |engine, call, _| async move { engine.policies(&call).await }).await
    }

    async fn set_schema(&self, request: Request<proto::SetSchemaRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.set_schema(&call, schema_body(asked)).await.map(Token)
        })
        .await
    }

    async fn list_schemas(
        &self,
        request: Request<proto::ListSchemasRequest>,
    ) -> Answer<proto::ListSchemasReply> {
        self.answer(request, |engine, call, _| async move { engine.schemas(&call).await }).await
    }

    async fn grant_edge(&self, request: Request<proto::GrantEdgeRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            let edge = (asked.graph.as_str(), asked.source.as_str(), asked.target.as_str());
            let terms = terms(asked.not_before, asked.expires_at, asked.reason);
            engine.grant(&call, edge, terms).await.map(Token)
        })
        .await
    }

    async fn revoke_edge(&self, request: Request<proto::RevokeEdgeRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            let edge = (asked.graph.as_str(), asked.source.as_str(), asked.target.as_str());
            engine.revoke(&call, edge, asked.reason).await.map(Token)
        })
        .await
    }

    async fn list_edges(&self, request: Request<proto::ListEdgesRequest>) -> Answer<proto::ListEdgesReply> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.edges(&call, asked.at.as_deref()).await },
        )
        .await
    }

    async fn remove_policy(&self, request: Request<proto::RemovePolicyRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.remove_policy(&call, &asked.id, asked.reason).await.map(Token)
        })
        .await
    }

    async fn set_role(&self, request: Request<proto::SetRoleRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            let name = asked.id.clone();
            engine.set_role(&call, &name, asked.into()).await.map(Token)
        })
        .await
    }

    async fn get_role(&self, request: Request<proto::GetRoleRequest>) -> Answer<proto::Role> {
        self.answer(request, |engine, call, asked| async move { engine.role(&call, &asked.id).await }).await
    }

    async fn list_roles(&self, request: Request<proto::ListRolesRequest>) -> Answer<proto::ListRolesReply> {
        self.answer(request, |engine, call, _| async move { engine.roles(&call).await }).await
    }

    async fn remove_role(&self, request: Request<proto::RemoveRoleRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.remove_role(&call, &asked.id, asked.reason).await.map(Token)
        })
        .await
    }

    async fn assign_role(&self, request: Request<proto::AssignRoleRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            let terms = terms(asked.not_before, asked.expires_at, asked.reason);
            engine.assign_role(&call, (&asked.id, &asked.member), terms).await.map(Token)
        })
        .await
    }

    async fn unassign_role(&self, request: Request<proto::UnassignRoleRequest>) -> Answer<proto::SetReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.unassign_role(&call, (&asked.id, &asked.member), asked.reason).await.map(Token)
        })
        .await
    }

    async fn who_sees(&self, request: Request<proto::WhoSeesRequest>) -> Answer<proto::WhoSeesReply> {
        self.answer(request, |engine, call, asked| async move {
            engine.who(&call, &asked.item, asked.at.as_deref()).await
        })
        .await
    }

    async fn what_is_seen(
        &self,
        request: Request<proto::WhatIsSeenRequest>,
    ) -> Answer<proto::WhatIsSeenReply> {
        self.answer(request, |engine, call, asked| async move {
            let pair = (asked.user.as_str(), asked.agent.as_deref());
            engine.what(&call, pair, asked.at.as_deref()).await
        })
        .await
    }

    async fn explain_item(&self, request: Request<proto::ExplainItemRequest>) -> Answer<proto::Explanation> {
        self.answer(request, |engine, call, asked| async move { engine.explain(&call, &asked.id).await })
            .await
    }

    async fn explain_pair(&self, request: Request<proto::ExplainPairRequest>) -> Answer<proto::Explanation> {
        self.answer(request, |engine, call, asked| async move {
            let pair = (asked.user.as_str(), asked.agent.as_deref());
            engine.explain_pair(&call, &asked.item, pair, asked.at.as_deref()).await
        })
        .await
    }

    async fn retire_agent(&self, request: Request<proto::RetireAgentRequest>) -> Answer<proto::SetReply> {
        self.set_agent(request, AgentStatus::Retired, |asked| (asked.id, asked.reason)).await
    }

    async fn activate_agent(&self, request: Request<proto::ActivateAgentRequest>) -> Answer<proto::SetReply> {
        self.set_agent(request, AgentStatus::Active, |asked| (asked.id, asked.reason)).await
    }

    async fn delete_agent(&self, request: Request<proto::DeleteAgentRequest>) -> Answer<proto::SetReply> {
        self.set_agent(request, AgentStatus::Deleted, |asked| (asked.id, asked.reason)).await
    }

    async fn retire_resource(
        &self,
        request: Request<proto::RetireResourceRequest>,
    ) -> Answer<proto::SetReply> {
        self.set_resource(request, ResourceStatus::Retired, |asked| (asked.id, asked.reason)).await
    }

    async fn activate_resource(
        &self,
        request: Request<proto::ActivateResourceRequest>,
    ) -> Answer<proto::SetReply> {
        self.set_resource(request, ResourceStatus::Active, |asked| (asked.id, asked.reason)).await
    }

    async fn delete_resource(
        &self,
        request: Request<proto::DeleteResourceRequest>,
    ) -> Answer<proto::SetReply> {
        self.set_resource(request, ResourceStatus::Deleted, |asked| (asked.id, asked.reason)).await
    }

    async fn get_user(&self, request: Request<proto::GetUserRequest>) -> Answer<proto::User> {
        self.answer(request, |engine, call, asked| async move { engine.user(&call, &asked.id).await }).await
    }

    async fn disable_user(&self, request: Request<proto::DisableUserRequest>) -> Answer<proto::User> {
        self.set_user(request, UserStatus::Disabled, |asked| (asked.id, asked.reason)).await
    }

    async fn enable_user(&self, request: Request<proto::EnableUserRequest>) -> Answer<proto::User> {
        self.set_user(request, UserStatus::Active, |asked| (asked.id, asked.reason)).await
    }

    async fn set_user_role(&self, request: Request<proto::SetUserRoleRequest>) -> Answer<proto::User> {
        self.answer(request, |engine, call, asked| async move {
            engine.set_user_role(&call, &asked.id, &asked.role, &asked.reason).await
        })
        .await
    }

    async fn create_tenant(
        &self,
        request: Request<proto::CreateTenantRequest>,
    ) -> Answer<proto::CreateTenantReply> {
        self.answer(
            request,
            |engine, call, asked| async move { engine.create_tenant(&call, &asked.name).await },
        )
        .await
    }

    async fn create_user(&self, request: Request<proto::CreateUserRequest>) -> Answer<proto::User> {
        self.answer(request, |engine, call, asked| async move {
            engine.create_user(&call, &asked.name, asked.role.as_deref()).await
        })
        .await
    }

    async fn create_agent(&self, request: Request<proto::CreateAgentRequest>) -> Answer<proto::Agent> {
        self.answer(request, |engine, call, asked| async move {
            let proto::CreateAgentRequest { name, specialisation, trust_declared, family } = asked;
            engine.register_agent(&call, NewAgent { name, specialisation, trust_declared, family }).await
        })
        .await
    }

    async fn create_resource(
        &self,
        request: Request<proto::CreateResourceRequest>,
    ) -> Answer<proto::Resource> {
        self.answer(request, |engine, call, asked| async move {
            engine.create_resource(&call, &asked.name, asked.kind, asked.description).await
        })
        .await
    }

    async fn create_key(&self, request: Request<proto::CreateKeyRequest>) -> Answer<proto::CreateKeyReply> {
        self.answer(request, |engine, call, asked| async move {
            let (user, agent) = (asked.user.as_deref(), asked.agent.as_deref());
            engine.create_key(&call, user, agent, asked.expires_at.as_deref()).await
        })
        .await
    }

    async fn revoke_key(&self, request: Request<proto::RevokeKeyRequest>) -> Answer<proto::RevokeKeyReply> {
        self.answer(request, |engine, call, asked| async move { engine.revoke_key(&call, &asked.id).await })
            .await
    }

    async fn list_users(&self, request: Request<proto::ListUsersRequest>) -> Answer<proto::ListUsersReply> {
        self.answer(request, |engine, call, _| async move { engine.users(&call).await }).await
    }

    async fn get_agent(&self, request: Request<proto::GetAgentRequest>) -> Answer<proto::Agent> {
        self.answer(request, |engine, call, asked| async move { engine.agent(&call, &asked.id).await }).await
    }

    async fn list_agents(
        &self,
        request: Request<proto::ListAgentsRequest>,
    ) -> Answer<proto::ListAgentsReply> {
        self.answer(request, |engine, call, _| async move { engine.agents(&call).await }).await
    }

    async fn list_resources(
        &self,
        request: Request<proto::ListResourcesRequest>,
    ) -> Answer<proto::ListResourcesReply> {
        self.answer(request, |engine, call, _| async move { engine.resources(&call).await }).await
    }

    async fn list_keys(&self, request: Request<proto::ListKeysRequest>) -> Answer<proto::ListKeysReply> {
        self.answer(request, |engine, call, _| async move { engine.keys(&call).await }).await
    }

    async fn who_am_i(&self, request: Request<proto::WhoAmIRequest>) -> Answer<proto::WhoAmIReply> {
        self.answer(request, |engine, call, who| async move { engine.whoami(&call, who.named()).await }).await
    }

    async fn list_audit(&self, request: Request<proto::ListAuditRequest>) -> Answer<proto::ListAuditReply> {
        self.answer(request, |engine, call, asked| async move { engine.audit(&call, asked.into()).await })
            .await
    }

    async fn verify(&self, request: Request<proto::VerifyRequest>) -> Answer<proto::VerifyReply> {
        self.answer(request, |engine, call, _| async move { engine.verify(&call).await }).await
    }

    async fn get_head(&self, request: Request<proto::GetHeadRequest>) -> Answer<proto::Head> {
        self.answer(request, |engine, call, asked| async move {
            engine.head(&call, log_named(asked.log.as_deref())?).await
        })
        .await
    }

    async fn get_inclusion(
        &self,
        request: Request<proto::GetInclusionRequest>,
    ) -> Answer<proto::InclusionProof> {
        self.answer(request, |engine, call, asked| async move {
            engine.inclusion(&call, log_named(asked.log.as_deref())?, asked.lsn, asked.size).await
        })
        .await
    }

    async fn get_consistency(
        &self,
        request: Request<proto::GetConsistencyRequest>,
    ) -> Answer<proto::ConsistencyProof> {
        self.answer(request, |engine, call, asked| async move {
            engine.consistency(&call, log_named(asked.log.as_deref())?, asked.from, asked.to).await
        })
        .await
    }
}
