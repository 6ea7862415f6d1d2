//! Each operation of the service: convert, delegate, convert back.

use super::call::{Memory, log_named};
use super::convert::draft;
use super::{import, proto};
use futures::Stream;
use proto::tabellion_server::Tabellion;
use std::pin::Pin;
use tonic::{Request, Response, Status, Streaming};

type Answer<A> = Result<Response<A>, Status>;

#[tonic::async_trait]
impl Tabellion for Memory {
    type ImportStream = Pin<Box<dyn Stream<Item = Result<proto::ImportReply, Status>> + Send>>;

    async fn import(&self, request: Request<Streaming<proto::WriteRequest>>) -> Answer<Self::ImportStream> {
        import::start(self, request).map(|outcomes| Response::new(Box::pin(outcomes) as Self::ImportStream))
    }

    async fn write(&self, request: Request<proto::WriteRequest>) -> Answer<proto::WriteReply> {
        self.answer(request, |engine, call, asked| async move { engine.write(&call, draft(asked)?).await })
            .await
    }

    async fn get(&self, request: Request<proto::GetRequest>) -> Answer<proto::Item> {
        self.answer(request, |engine, call, asked| async move {
            engine.get(&call, &asked.id, asked.as_of.as_deref()).await
        })
        .await
    }

    async fn list(&self, request: Request<proto::ListRequest>) -> Answer<proto::ListReply> {
        self.answer(request, |engine, call, asked| async move { engine.list(&call, asked.into()).await })
            .await
    }

    async fn versions(&self, request: Request<proto::VersionsRequest>) -> Answer<proto::VersionsReply> {
        self.answer(request, |engine, call, asked| async move { engine.versions(&call, &asked.id).await })
            .await
    }

    async fn get_provenance(
        &self,
        request: Request<proto::GetProvenanceRequest>,
    ) -> Answer<proto::Provenance> {
        self.answer(request, |engine, call, asked| async move {
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
        self.answer(request, |engine, call, asked| async move { engine.search(&call, asked.into()).await })
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
            engine.create_agent(&call, &asked.name, asked.specialisation, asked.trust_declared).await
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
        self.answer(request, |engine, call, _| async move { engine.whoami(&call).await }).await
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
            let log = log_named(asked.log.as_deref())?;
            engine.inclusion(&call, log, asked.lsn, asked.size).await
        })
        .await
    }

    async fn get_consistency(
        &self,
        request: Request<proto::GetConsistencyRequest>,
    ) -> Answer<proto::ConsistencyProof> {
        self.answer(request, |engine, call, asked| async move {
            let log = log_named(asked.log.as_deref())?;
            engine.consistency(&call, log, asked.from, asked.to).await
        })
        .await
    }
}
