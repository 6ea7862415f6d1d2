//! How do the engine's answers become messages? Field by field, in the words of `proto/`.

use super::proto;
use crate::rest::convert::wait_text;
use prost_types::value::Kind;
use serde::Serialize;
use serde_json::{Map, Value};
use tabellion_core::canonical::hex;
use tabellion_core::gate::Against;
use tabellion_core::item::{Layer, Triple};
use tabellion_core::provenance::{Evidence, Provenance};
use tabellion_engine::reply;

impl From<reply::Written> for proto::WriteReply {
    fn from(written: reply::Written) -> Self {
        let is_memory = written.version.is_some();
        let mut reply = Self {
            status: written.status.as_str().to_owned(),
            id: written.id.as_ref().map(ToString::to_string),
            version: written.version.as_ref().map(ToString::to_string),
            trust: is_memory.then(|| written.trust.as_str().to_owned()),
            token: written.token,
            shared_id: written.shared.as_ref().map(ToString::to_string),
            shared_pending_id: written.owed.map(|owed| owed.pending_id),
            contradictions: written.against.into_iter().map(Into::into).collect(),
            superseded: written.superseded.into_iter().map(Into::into).collect(),
            replaces_review: written.replaces.as_ref().map(ToString::to_string),
            ..Self::default()
        };
        if let Some(deferral) = written.deferral {
            reply.pending_id = Some(deferral.pending_id);
            reply.gate = Some(deferral.gate.as_str().to_owned());
            reply.code = Some(deferral.code.as_str().to_owned());
            reply.message = Some(deferral.message);
            reply.retry_after = deferral.retry_after.map(wait_text);
        }
        reply
    }
}

impl From<Against> for proto::Contradiction {
    fn from(against: Against) -> Self {
        Self {
            id: against.known.item.to_string(),
            version: against.known.version.to_string(),
            method: against.method.as_str().to_owned(),
            score: against.score,
            similarity: against.similarity,
            text: against.text,
        }
    }
}

impl From<reply::Superseded> for proto::Superseded {
    fn from(superseded: reply::Superseded) -> Self {
        Self {
            id: superseded.item.to_string(),
            version: superseded.version.to_string(),
            text: superseded.text,
        }
    }
}

impl From<reply::Changed> for proto::ChangeReply {
    fn from(changed: reply::Changed) -> Self {
        Self {
            status: changed.status.as_str().to_owned(),
            id: changed.id.to_string(),
            version: changed.version.to_string(),
            token: changed.token,
        }
    }
}

impl From<reply::ItemReply> for proto::Item {
    fn from(item: reply::ItemReply) -> Self {
        let (contributed_by, quarantine) = super::govern::contributed(item.contributed);
        Self {
            contributed_by,
            quarantine,
            id: item.id.to_string(),
            version: item.version.to_string(),
            key: item.content.key,
            text: item.content.text,
            kind: item.content.kind,
            layer: item.layer.as_str().to_owned(),
            tier: item.tier.as_str().to_owned(),
            namespace: item.namespace,
            confidence: item.confidence,
            trust: item.trust.as_str().to_owned(),
            rho: item.rho,
            fields: Some(from_object(item.content.fields)),
            tags: item.content.tags,
            classification: item.content.secrecy.classification.as_str().to_owned(),
            domains: item.content.secrecy.domains.into_iter().collect(),
            triple: item.content.triple.map(Into::into),
            evidence: item.evidence.into_iter().map(Into::into).collect(),
            operation: item.operation.as_str().to_owned(),
            status: item.status.as_str().to_owned(),
            parents: texts(&item.parents),
            agents: texts(&item.agents),
            resources: texts(&item.resources),
            pinned: item.pinned,
            created_at: item.created_at.to_string(),
            updated_at: item.updated_at.to_string(),
            expires_at: item.expires_at.as_ref().map(ToString::to_string),
            token: item.token,
            contradictions: item.against.into_iter().map(Into::into).collect(),
            valid_until: item.valid_until.as_ref().map(ToString::to_string),
            shared_id: item.shared.as_ref().map(ToString::to_string),
        }
    }
}

impl From<Triple> for proto::Triple {
    fn from(triple: Triple) -> Self {
        Self { subject: Some(triple.subject), predicate: Some(triple.predicate), object: Some(triple.object) }
    }
}

impl From<Evidence> for proto::Evidence {
    fn from(evidence: Evidence) -> Self {
        Self {
            source_type: word(evidence.source_type),
            source_uri: evidence.source_uri,
            source_version: evidence.source_version,
            accessed_at: evidence.accessed_at,
            authority: evidence.authority,
            excerpt: evidence.excerpt,
            excerpt_hash: evidence.excerpt_hash,
            source_item_id: evidence.source_item_id,
        }
    }
}

impl From<reply::Page<reply::ItemReply>> for proto::ListReply {
    fn from(page: reply::Page<reply::ItemReply>) -> Self {
        Self { items: page.rows.into_iter().map(Into::into).collect(), next: page.next }
    }
}

impl From<Vec<reply::VersionReply>> for proto::VersionsReply {
    fn from(versions: Vec<reply::VersionReply>) -> Self {
        Self { versions: versions.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::VersionReply> for proto::Version {
    fn from(version: reply::VersionReply) -> Self {
        Self {
            version: version.version.to_string(),
            operation: version.operation.as_str().to_owned(),
            status: version.standing().to_owned(),
            parents: texts(&version.parents),
            agents: texts(&version.agents),
            layer_version: version.layer_version,
            created_at: version.created_at.to_string(),
            ended_at: version.ended_at.as_ref().map(ToString::to_string),
            valid_until: version.valid_until.as_ref().map(ToString::to_string),
            token: version.token,
        }
    }
}

impl From<Provenance> for proto::Provenance {
    fn from(record: Provenance) -> Self {
        Self {
            provenance_id: record.provenance_id,
            memory_item_id: record.memory_item_id,
            version_id: record.version_id,
            source_user_id: record.source_user_id,
            source_agent_id: record.source_agent_id,
            source_agent_version: record.source_agent_version,
            source_task_id: record.source_task_id,
            source_session_id: record.source_session_id,
            trace_id: record.trace_id,
            evidence_refs: record.evidence_refs.into_iter().map(Into::into).collect(),
            evidence_quality: word(record.evidence_quality),
            derived_from: record.derived_from,
            retrieval_query: record.retrieval_query,
            retrieval_scores: record.retrieval_scores,
            agent_confidence: record.agent_confidence,
            validation_score: record.validation_score,
            verified_by_models: record.verified_by_models,
            human_approval_state: word(record.human_approval_state),
            approver_id: record.approver_id,
            approval_timestamp: record.approval_timestamp,
            approval_justification: record.approval_justification,
            agent_justification: record.agent_justification,
            created_at: record.created_at,
            updated_at: record.updated_at,
            supersedes: record.supersedes,
            content_hash: record.content_hash,
            key_id: record.key_id,
            provenance_signature: record.provenance_signature,
            superseded_by: record.superseded_by,
            fact_score: record.fact_score,
            adjusted_confidence: record.adjusted_confidence,
        }
    }
}

impl From<reply::SearchReply> for proto::SearchReply {
    fn from(found: reply::SearchReply) -> Self {
        let results = found.results.into_iter().map(|found| proto::SearchResult {
            item: Some(found.item.into()),
            score: found.score,
            relevance: found.relevance,
        });
        Self {
            results: results.collect(),
            mode: found.mode.to_owned(),
            token: found.token,
            search: found.search.to_string(),
        }
    }
}

impl From<reply::OutcomeReply> for proto::ReportOutcomeReply {
    fn from(noted: reply::OutcomeReply) -> Self {
        let reply::OutcomeReply { search, retrieved, used, precision } = noted;
        Self { search, retrieved, used, precision }
    }
}

impl From<reply::NewTenant> for proto::CreateTenantReply {
    fn from(tenant: reply::NewTenant) -> Self {
        Self { id: tenant.id.to_string(), name: tenant.name, admin_key: tenant.admin_key }
    }
}

impl From<reply::UserReply> for proto::User {
    fn from(user: reply::UserReply) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name,
            role: user.role.as_str().to_owned(),
            status: user.status.as_str().to_owned(),
            created_at: user.created_at.to_string(),
        }
    }
}

impl From<reply::AgentReply> for proto::Agent {
    fn from(agent: reply::AgentReply) -> Self {
        Self {
            id: agent.id.to_string(),
            name: agent.name,
            specialisation: agent.specialisation,
            family: agent.family,
            trust_declared: agent.trust_declared,
            status: agent.status.as_str().to_owned(),
            suspended: agent.suspended.map(Into::into),
            created_at: agent.created_at.to_string(),
            holds: agent.holds.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<reply::HoldReply> for proto::AgentHold {
    fn from(hold: reply::HoldReply) -> Self {
        let (id, name) = hold.user;
        Self {
            user: Some(proto::Named { id: id.to_string(), name }),
            action: hold.action.as_str().to_owned(),
            reason: hold.reason,
            since: hold.since.to_string(),
            until: hold.until.to_string(),
        }
    }
}

impl From<reply::SuspensionReply> for proto::Suspension {
    fn from(suspension: reply::SuspensionReply) -> Self {
        Self {
            by: suspension.by.map(|(id, name)| proto::Named { id: id.to_string(), name }),
            since: suspension.since.to_string(),
            reason: suspension.reason,
        }
    }
}

impl From<reply::ResourceReply> for proto::Resource {
    fn from(resource: reply::ResourceReply) -> Self {
        Self {
            id: resource.id.to_string(),
            name: resource.name,
            kind: resource.kind,
            description: resource.description,
            status: resource.status.as_str().to_owned(),
            created_at: resource.created_at.to_string(),
        }
    }
}

impl From<reply::NewKey> for proto::CreateKeyReply {
    fn from(new: reply::NewKey) -> Self {
        Self { secret: new.secret, key: Some(new.key.into()), granted: new.granted }
    }
}

impl From<reply::KeyReply> for proto::Key {
    fn from(key: reply::KeyReply) -> Self {
        Self {
            id: key.id.to_string(),
            user: key.user.as_ref().map(ToString::to_string),
            agent: key.agent.as_ref().map(ToString::to_string),
            created_at: key.created_at.to_string(),
            expires_at: key.expires_at.as_ref().map(ToString::to_string),
            revoked_at: key.revoked_at.as_ref().map(ToString::to_string),
        }
    }
}

impl From<Vec<reply::UserReply>> for proto::ListUsersReply {
    fn from(users: Vec<reply::UserReply>) -> Self {
        Self { users: users.into_iter().map(Into::into).collect() }
    }
}

impl From<Vec<reply::AgentReply>> for proto::ListAgentsReply {
    fn from(agents: Vec<reply::AgentReply>) -> Self {
        Self { agents: agents.into_iter().map(Into::into).collect() }
    }
}

impl From<Vec<reply::ResourceReply>> for proto::ListResourcesReply {
    fn from(resources: Vec<reply::ResourceReply>) -> Self {
        Self { resources: resources.into_iter().map(Into::into).collect() }
    }
}

impl From<Vec<reply::KeyReply>> for proto::ListKeysReply {
    fn from(keys: Vec<reply::KeyReply>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::RevokedKey> for proto::RevokeKeyReply {
    fn from(revoked: reply::RevokedKey) -> Self {
        Self { id: revoked.id.to_string(), token: revoked.token }
    }
}

impl proto::WhoAmIRequest {
    /// The session that it names.
    pub(super) fn named(&self) -> Option<&str> {
        self.session_id.as_deref()
    }
}

impl From<reply::WhoAmI> for proto::WhoAmIReply {
    fn from(who: reply::WhoAmI) -> Self {
        Self {
            tenant: who.tenant.to_string(),
            user: Some(proto::Named { id: who.user.0.to_string(), name: who.user.1 }),
            agent: Some(proto::Named { id: who.agent.0.to_string(), name: who.agent.1 }),
            role: who.role.as_str().to_owned(),
            limits: Some(who.allowance.into()),
            holds: who.holds.into_iter().map(Into::into).collect(),
            suspended: who.suspended.map(Into::into),
        }
    }
}

impl From<reply::Allowance> for proto::Allowance {
    fn from(allowance: reply::Allowance) -> Self {
        let rate = |(layer, rate): (Layer, reply::Used)| proto::LayerRate {
            layer: layer.as_str().to_owned(),
            used: rate.used,
            limit: rate.limit,
        };
        Self {
            exempt: allowance.exempt,
            writes_per_minute: allowance.rates.into_iter().map(rate).collect(),
            session: allowance.session.map(Into::into),
            session_writes_max: allowance.session_max,
            queued: Some(allowance.queued.into()),
        }
    }
}

impl From<reply::Used> for proto::Used {
    fn from(used: reply::Used) -> Self {
        Self { used: used.used, limit: used.limit }
    }
}

impl From<reply::Page<reply::AuditRow>> for proto::ListAuditReply {
    fn from(page: reply::Page<reply::AuditRow>) -> Self {
        Self { rows: page.rows.into_iter().map(Into::into).collect(), next: page.next }
    }
}

impl From<reply::AuditRow> for proto::AuditRow {
    fn from(row: reply::AuditRow) -> Self {
        Self {
            time: row.time.to_string(),
            user: row.user.as_ref().map(ToString::to_string),
            agent: row.agent.as_ref().map(ToString::to_string),
            action: row.action,
            outcome: row.outcome,
            ids: row.ids,
            request_id: row.request_id,
            epoch: row.epoch,
            lsn: row.lsn,
            policies: row
                .policies
                .into_iter()
                .map(|(id, version)| proto::AuditPolicy { id, version })
                .collect(),
            transformed: row.transformed,
            reason: row.reason,
            author: row.author.map(|(user, agent)| proto::AuditAuthor {
                user: user.to_string(),
                agent: agent.as_ref().map(ToString::to_string),
            }),
        }
    }
}

impl From<reply::VerifyReport> for proto::VerifyReply {
    fn from(report: reply::VerifyReport) -> Self {
        Self {
            ok: report.is_ok(),
            tenant: report.tenant.to_string(),
            name: report.name.unwrap_or_default(),
            logs: report.logs.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<reply::LogReport> for proto::LogReport {
    fn from(report: reply::LogReport) -> Self {
        let fault = |fault: reply::LogFault| proto::LogFault { lsn: fault.lsn, what: fault.what };
        Self {
            log: report.log.as_str().to_owned(),
            size: report.size,
            root: hex(&report.root),
            faults: report.faults.into_iter().map(fault).collect(),
            losses: report.losses.into_iter().map(fault).collect(),
        }
    }
}

impl From<reply::HeadReply> for proto::Head {
    fn from(reply: reply::HeadReply) -> Self {
        Self {
            log: reply.log.as_str().to_owned(),
            tenant: reply.tenant.to_string(),
            size: reply.signed.head.size,
            time: reply.signed.head.time.to_string(),
            root: hex(&reply.signed.head.root),
            signature: hex(&reply.signed.signature),
            public_key: hex(&reply.public_key),
        }
    }
}

impl From<reply::InclusionReply> for proto::InclusionProof {
    fn from(proof: reply::InclusionReply) -> Self {
        Self {
            log: proof.log.as_str().to_owned(),
            lsn: proof.lsn,
            size: proof.size,
            leaf: hex(&proof.leaf),
            path: proof.path.iter().map(|hash| hex(hash)).collect(),
            root: hex(&proof.root),
        }
    }
}

impl From<reply::ConsistencyReply> for proto::ConsistencyProof {
    fn from(proof: reply::ConsistencyReply) -> Self {
        Self {
            log: proof.log.as_str().to_owned(),
            from: proof.from,
            to: proof.to,
            path: proof.path.iter().map(|hash| hex(hash)).collect(),
            from_root: hex(&proof.from_root),
            to_root: hex(&proof.to_root),
        }
    }
}

pub(super) fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

/// The word for an enum of the record, as its JSON has it.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(super) fn from_object(fields: Map<String, Value>) -> prost_types::Struct {
    prost_types::Struct { fields: fields.into_iter().map(|(name, value)| (name, from_json(value))).collect() }
}

pub(super) fn from_json(value: Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text),
        Value::Array(values) => {
            Kind::ListValue(prost_types::ListValue { values: values.into_iter().map(from_json).collect() })
        }
        Value::Object(fields) => Kind::StructValue(from_object(fields)),
    };
    prost_types::Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::provenance::{EvidenceQuality, SourceType};

    #[test]
    fn enums_of_the_record_keep_their_words() {
        assert_eq!(word(SourceType::ApiResponse), "api_response");
        assert_eq!(word(EvidenceQuality::Inferred), "inferred");
    }
}
