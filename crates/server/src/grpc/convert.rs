//! How do messages become what the engine takes, and its answers messages?
//!
//! Nothing is judged here: what a message cannot say in JSON becomes a fault of the draft, and the schema gate reports it
//! with the rest.

use super::proto;
use prost_types::value::Kind;
use serde::Serialize;
use serde_json::{Map, Number, Value};
use tabellion_core::canonical::hex;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{EvidenceDraft, TripleDraft, WriteDraft};
use tabellion_core::id::ItemId;
use tabellion_core::item::Triple;
use tabellion_core::provenance::{Evidence, Provenance};
use tabellion_engine::reply;

/// Beyond this a double no longer holds every whole number.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A write as drafted; with an `id`, an update of that item.
pub(super) fn draft(asked: proto::WriteRequest) -> Result<WriteDraft, Refusal> {
    // The gate takes a draft without a readable item for an insert, so a text that is no id must stop here.
    if let Some(id) = &asked.id {
        id.parse::<ItemId>().map_err(|_| Refusal::not_found())?;
    }
    Ok(asked.into())
}

impl From<proto::WriteRequest> for WriteDraft {
    fn from(asked: proto::WriteRequest) -> Self {
        let (fields, faults) = fields(asked.fields.unwrap_or_default());
        Self {
            text: asked.text,
            key: asked.key,
            kind: asked.kind,
            layer: asked.layer,
            tier: asked.tier,
            namespace: asked.namespace,
            confidence: asked.confidence,
            triple: asked.triple.map(Into::into),
            fields,
            tags: asked.tags,
            evidence: asked.evidence.into_iter().map(Into::into).collect(),
            resources: asked.resources,
            derived_from: asked.derived_from,
            justification: asked.justification,
            session_id: asked.session_id,
            task_id: asked.task_id,
            trace_id: asked.trace_id,
            agent_version: asked.agent_version,
            ttl: asked.ttl,
            request_id: asked.request_id,
            idempotency_token: asked.idempotency_token,
            deadline: asked.deadline,
            supersedes: asked.supersedes,
            expected_version: asked.expected_version,
            item: asked.id,
            faults,
        }
    }
}

impl From<proto::Triple> for TripleDraft {
    fn from(triple: proto::Triple) -> Self {
        Self { subject: triple.subject, predicate: triple.predicate, object: triple.object }
    }
}

impl From<proto::EvidenceDraft> for EvidenceDraft {
    fn from(evidence: proto::EvidenceDraft) -> Self {
        Self {
            source_type: evidence.source_type,
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

fn fields(given: prost_types::Struct) -> (Map<String, Value>, Vec<Fault>) {
    let mut faults = Vec::new();
    let fields = object(given, &mut faults);
    (fields, faults)
}

/// INVARIANT (bounded depth): prost reads messages at most 100 deep, so this recursion ends.
fn object(given: prost_types::Struct, faults: &mut Vec<Fault>) -> Map<String, Value> {
    given.fields.into_iter().map(|(name, value)| (name, json(value, faults))).collect()
}

fn json(given: prost_types::Value, faults: &mut Vec<Fault>) -> Value {
    match given.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(|value| json(value, faults)).collect(),
        Some(Kind::StructValue(inner)) => Value::Object(object(inner, faults)),
        Some(Kind::NumberValue(number)) => number_json(number).unwrap_or_else(|| {
            if faults.is_empty() {
                let fault = Fault::new("/fields", Code::ConstraintViolation, "numbers that JSON can carry");
                faults.push(fault.found(number.to_string()));
            }
            Value::Null
        }),
    }
}

/// 8080.0 is 8080, as a JSON client would have written it.
fn number_json(number: f64) -> Option<Value> {
    #[expect(clippy::cast_possible_truncation, reason = "INVARIANT (whole): checked on the same line")]
    let whole = (number.fract() == 0.0 && number.abs() <= WHOLE_MAX).then_some(number as i64);
    whole.map(Number::from).or_else(|| Number::from_f64(number)).map(Value::Number)
}

fn from_object(fields: Map<String, Value>) -> prost_types::Struct {
    prost_types::Struct { fields: fields.into_iter().map(|(name, value)| (name, from_json(value))).collect() }
}

fn from_json(value: Value) -> prost_types::Value {
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

impl From<proto::ListRequest> for reply::ListQuery {
    fn from(asked: proto::ListRequest) -> Self {
        Self { namespace: asked.namespace, layer: asked.layer, limit: asked.limit, cursor: asked.cursor }
    }
}

impl From<proto::SearchRequest> for reply::SearchQuery {
    fn from(asked: proto::SearchRequest) -> Self {
        Self {
            query: asked.query,
            k: asked.k,
            mode: asked.mode,
            layers: asked.layers,
            namespace: asked.namespace,
            as_of: asked.as_of,
            min_token: asked.min_token,
        }
    }
}

impl From<proto::ListAuditRequest> for reply::AuditQuery {
    fn from(asked: proto::ListAuditRequest) -> Self {
        Self { action: asked.action, limit: asked.limit, cursor: asked.cursor }
    }
}

impl From<reply::Written> for proto::WriteReply {
    fn from(written: reply::Written) -> Self {
        Self {
            status: written.status.as_str().to_owned(),
            id: written.id.to_string(),
            version: written.version.to_string(),
            trust: written.trust.as_str().to_owned(),
            token: written.token,
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
        Self {
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
            fields: Some(from_object(item.content.fields)),
            tags: item.content.tags,
            triple: item.content.triple.map(Into::into),
            evidence: item.evidence.into_iter().map(Into::into).collect(),
            operation: item.operation.as_str().to_owned(),
            status: item.status.as_str().to_owned(),
            parents: texts(item.parents),
            agents: texts(item.agents),
            resources: texts(item.resources),
            pinned: item.pinned,
            created_at: item.created_at.to_string(),
            updated_at: item.updated_at.to_string(),
            expires_at: item.expires_at.as_ref().map(ToString::to_string),
            token: item.token,
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
            status: version.status.as_str().to_owned(),
            parents: texts(version.parents),
            agents: texts(version.agents),
            layer_version: version.layer_version,
            created_at: version.created_at.to_string(),
            ended_at: version.ended_at.as_ref().map(ToString::to_string),
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
        Self { results: results.collect(), mode: found.mode.to_owned(), token: found.token }
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
            trust_declared: agent.trust_declared,
            created_at: agent.created_at.to_string(),
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
            created_at: resource.created_at.to_string(),
        }
    }
}

impl From<reply::NewKey> for proto::CreateKeyReply {
    fn from(new: reply::NewKey) -> Self {
        Self { secret: new.secret, key: Some(new.key.into()) }
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

impl From<reply::WhoAmI> for proto::WhoAmIReply {
    fn from(who: reply::WhoAmI) -> Self {
        Self {
            tenant: who.tenant.to_string(),
            user: Some(proto::Named { id: who.user.0.to_string(), name: who.user.1 }),
            agent: Some(proto::Named { id: who.agent.0.to_string(), name: who.agent.1 }),
            role: who.role.as_str().to_owned(),
        }
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
        }
    }
}

impl From<reply::VerifyReport> for proto::VerifyReply {
    fn from(report: reply::VerifyReport) -> Self {
        Self { ok: report.is_ok(), logs: report.logs.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::LogReport> for proto::LogReport {
    fn from(report: reply::LogReport) -> Self {
        let faults = report.faults.into_iter().map(|fault| proto::LogFault { lsn: fault.lsn, what: fault.what });
        Self {
            log: report.log.as_str().to_owned(),
            size: report.size,
            root: hex(&report.root),
            faults: faults.collect(),
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

fn texts<T: ToString>(values: Vec<T>) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

/// The word for an enum of the record, as its JSON has it.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tabellion_core::gate::read_write;
    use tabellion_core::provenance::{EvidenceQuality, SourceType};

    fn number(value: f64) -> prost_types::Value {
        prost_types::Value { kind: Some(Kind::NumberValue(value)) }
    }

    fn with_field(value: prost_types::Value) -> WriteDraft {
        let fields = prost_types::Struct { fields: [("n".to_owned(), value)].into() };
        proto::WriteRequest { text: Some("a".into()), fields: Some(fields), ..Default::default() }.into()
    }

    /// GOV-1.3: the typed request says what the JSON body says.
    #[test]
    fn a_message_drafts_what_its_json_does() {
        let body = json!({
            "text": "Port 8080 serves the API", "key": "API port", "kind": "fact", "layer": "semantic",
            "tier": "private", "namespace": "ops", "confidence": 0.8,
            "triple": {"subject": "api", "predicate": "port", "object": "8080"},
            "fields": {"port": 8080, "ratio": 0.5, "open": true, "by": null, "hosts": ["a", {"b": -1}]},
            "tags": ["api"], "resources": ["kb"], "derived_from": ["ver_a"], "justification": "asked often",
            "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "source_version": "3",
                "accessed_at": "2026-11-15T00:00:00Z", "authority": 0.7, "excerpt": "port 8080",
                "excerpt_hash": "ab", "source_item_id": "itm_a"}],
            "session_id": "s", "task_id": "t", "trace_id": "r", "agent_version": "1.2.3", "ttl": "P90D",
            "request_id": "u", "idempotency_token": "i", "deadline": "d", "supersedes": "itm_b",
            "expected_version": "ver_c"
        });
        let Value::Object(fields) = body["fields"].clone() else { unreachable!() };
        let some = |name: &str| body[name].as_str().map(str::to_owned);
        let evidence = |name: &str| body["evidence"][0][name].as_str().map(str::to_owned);
        let part = |name: &str| body["triple"][name].as_str().map(str::to_owned);
        let asked = proto::WriteRequest {
            text: some("text"),
            key: some("key"),
            kind: some("kind"),
            layer: some("layer"),
            tier: some("tier"),
            namespace: some("namespace"),
            confidence: Some(0.8),
            triple: Some(proto::Triple {
                subject: part("subject"),
                predicate: part("predicate"),
                object: part("object"),
            }),
            fields: Some(from_object(fields)),
            tags: vec!["api".into()],
            evidence: vec![proto::EvidenceDraft {
                source_type: evidence("source_type"),
                source_uri: evidence("source_uri"),
                source_version: evidence("source_version"),
                accessed_at: evidence("accessed_at"),
                authority: Some(0.7),
                excerpt: evidence("excerpt"),
                excerpt_hash: evidence("excerpt_hash"),
                source_item_id: evidence("source_item_id"),
            }],
            resources: vec!["kb".into()],
            derived_from: vec!["ver_a".into()],
            justification: some("justification"),
            session_id: some("session_id"),
            task_id: some("task_id"),
            trace_id: some("trace_id"),
            agent_version: some("agent_version"),
            ttl: some("ttl"),
            request_id: some("request_id"),
            idempotency_token: some("idempotency_token"),
            deadline: some("deadline"),
            supersedes: some("supersedes"),
            expected_version: some("expected_version"),
            id: None,
        };
        assert_eq!(WriteDraft::from(asked), read_write(body).unwrap());
    }

    #[test]
    fn what_is_not_set_is_absent_and_what_is_empty_is_not() {
        assert_eq!(WriteDraft::from(proto::WriteRequest::default()), read_write(json!({})).unwrap());
        let empty = proto::WriteRequest { text: Some(String::new()), ..Default::default() };
        assert_eq!(WriteDraft::from(empty), read_write(json!({"text": ""})).unwrap());
    }

    /// SHARE-41: what is no id is missing, like an id of nothing; it does not become a new item.
    #[test]
    fn an_update_of_what_is_no_id_finds_nothing() {
        let update = |id: &str| draft(proto::WriteRequest { id: Some(id.to_owned()), ..Default::default() });
        for bad in ["", "itm_x", "ver_aaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(update(bad).unwrap_err(), Refusal::not_found(), "{bad}");
        }
        let id = ItemId::from_bytes([7; 16]).to_string();
        assert_eq!(update(&id).unwrap().item, Some(id));
    }

    #[test]
    fn numbers_that_json_cannot_carry_are_faults_not_panics() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refusal = with_field(number(bad)).check().unwrap_err();
            assert_eq!(refusal.errors[0].path, "/fields", "{bad}");
            let asked = proto::WriteRequest { text: Some("a".into()), confidence: Some(bad), ..Default::default() };
            let refusal = WriteDraft::from(asked).check().unwrap_err();
            assert_eq!(refusal.errors[0].path, "/confidence", "{bad}");
        }
    }

    #[test]
    fn whole_numbers_come_out_whole() {
        let check = |given: f64, expected: Value| {
            assert_eq!(with_field(number(given)).fields["n"], expected, "{given}");
        };
        check(8080.0, json!(8080));
        check(-1.0, json!(-1));
        check(0.5, json!(0.5));
        check(9_007_199_254_740_992.0, json!(9_007_199_254_740_992_i64));
        check(1e300, json!(1e300));
        assert_eq!(with_field(prost_types::Value { kind: None }).fields["n"], Value::Null);
    }

    #[test]
    fn enums_of_the_record_keep_their_words() {
        assert_eq!(word(SourceType::ApiResponse), "api_response");
        assert_eq!(word(EvidenceQuality::Inferred), "inferred");
    }
}
