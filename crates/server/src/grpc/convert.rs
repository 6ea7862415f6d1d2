//! How do messages become what the engine takes?
//!
//! Nothing is judged here: what a message cannot say in JSON becomes a fault of the draft, and the schema gate reports it
//! with the rest.

use super::proto;
use crate::rest::body::no_identity;
use prost_types::value::Kind;
use serde_json::{Map, Number, Value};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{EvidenceDraft, ReportDraft, TripleDraft, WriteDraft};
use tabellion_core::id::ItemId;
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

/// The fields of a patch, which name nobody.
pub(super) fn patch(given: prost_types::Struct) -> Result<Map<String, Value>, Refusal> {
    let (fields, faults) = fields(given);
    no_identity(&fields)?;
    if faults.is_empty() {
        return Ok(fields);
    }
    let faults = faults.into_iter().map(|fault| Fault { path: "/patch".to_owned(), ..fault }).collect();
    Err(Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /patch").with(faults))
}

impl From<proto::WriteRequest> for WriteDraft {
    fn from(asked: proto::WriteRequest) -> Self {
        let (fields, mut faults) = fields(asked.fields.unwrap_or_default());
        let tests = tests(asked.tests, &mut faults);
        Self {
            text: asked.text,
            key: asked.key,
            kind: asked.kind,
            layer: asked.layer,
            tier: asked.tier,
            namespace: asked.namespace,
            write_policy: asked.write_policy,
            confidence: asked.confidence,
            triple: asked.triple.map(Into::into),
            fields,
            tags: asked.tags,
            classification: asked.classification,
            domains: asked.domains,
            tests,
            test_reports: asked.test_reports.into_iter().map(Into::into).collect(),
            evidence: asked.evidence.into_iter().map(Into::into).collect(),
            resources: (asked.no_resources || !asked.resources.is_empty()).then_some(asked.resources),
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
            on_conflict: asked.on_conflict,
            item: asked.id,
            patch: None,
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

impl From<proto::TestReport> for ReportDraft {
    fn from(report: proto::TestReport) -> Self {
        Self {
            runner: report.runner,
            content_hash: report.content_hash,
            passed: report.passed,
            ran_at: report.ran_at,
            signature: report.signature,
        }
    }
}

fn tests(given: Vec<prost_types::Value>, faults: &mut Vec<Fault>) -> Vec<Value> {
    let mut found = Vec::new();
    let tests = given.into_iter().map(|value| json(value, &mut found)).collect();
    faults.extend(found.into_iter().map(|fault| Fault { path: "/tests".to_owned(), ..fault }));
    tests
}

fn fields(given: prost_types::Struct) -> (Map<String, Value>, Vec<Fault>) {
    let mut faults = Vec::new();
    let fields = object(given, &mut faults);
    (fields, faults)
}

/// INVARIANT (bounded depth): prost reads messages at most 100 deep, so this recursion ends.
pub(super) fn object(given: prost_types::Struct, faults: &mut Vec<Fault>) -> Map<String, Value> {
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

impl From<proto::ListRequest> for reply::ListQuery {
    fn from(asked: proto::ListRequest) -> Self {
        Self {
            namespace: asked.namespace,
            layer: asked.layer,
            limit: asked.limit,
            cursor: asked.cursor,
            quarantined: asked.quarantined,
        }
    }
}

impl From<proto::SearchRequest> for reply::SearchQuery {
    fn from(asked: proto::SearchRequest) -> Self {
        Self {
            query: asked.query,
            vector: (!asked.vector.is_empty()).then_some(asked.vector),
            k: asked.k,
            tier: asked.tier,
            k_user: asked.k_user,
            k_cross: asked.k_cross,
            trace_id: asked.trace_id,
            mode: asked.mode,
            layers: asked.layers,
            namespace: asked.namespace,
            as_of: asked.as_of,
            min_token: asked.min_token,
            exact: asked.exact.unwrap_or(false),
            without: asked.without,
            diversity: asked.diversity,
            shared_work: asked.shared_work.unwrap_or(false),
        }
    }
}

impl From<proto::ReportOutcomeRequest> for reply::OutcomeReport {
    fn from(asked: proto::ReportOutcomeRequest) -> Self {
        Self { search: asked.search, used: asked.used, success: asked.success }
    }
}

impl From<proto::ListAuditRequest> for reply::AuditQuery {
    fn from(asked: proto::ListAuditRequest) -> Self {
        let proto::ListAuditRequest { action, limit, cursor, user, agent, item, since, until } = asked;
        Self { action, user, agent, item, since, until, limit, cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::answer::{from_json, from_object};
    use serde_json::json;
    use tabellion_core::gate::read_write;

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
            "tier": "private", "namespace": "ops", "write_policy": "strict", "confidence": 0.8,
            "triple": {"subject": "api", "predicate": "port", "object": "8080"},
            "fields": {"port": 8080, "ratio": 0.5, "open": true, "by": null, "hosts": ["a", {"b": -1}]},
            "tests": [{"name": "short", "expect": {"properties": {"text": {"maxLength": 80}}}}],
            "test_reports": [{"runner": "ci", "content_hash": "ab", "passed": true, "ran_at": "now", "signature": "cd"}],
            "tags": ["api"], "classification": "confidential", "domains": ["ops"], "resources": ["kb"], "derived_from": ["ver_a"], "justification": "asked often",
            "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "source_version": "3",
                "accessed_at": "2026-11-15T00:00:00Z", "authority": 0.7, "excerpt": "port 8080",
                "excerpt_hash": "ab", "source_item_id": "itm_a"}],
            "session_id": "s", "task_id": "t", "trace_id": "r", "agent_version": "1.2.3", "ttl": "P90D",
            "request_id": "u", "idempotency_token": "i", "deadline": "d", "supersedes": "itm_b",
            "expected_version": "ver_c", "on_conflict": "keep_both"
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
            write_policy: some("write_policy"),
            confidence: Some(0.8),
            triple: Some(proto::Triple {
                subject: part("subject"),
                predicate: part("predicate"),
                object: part("object"),
            }),
            fields: Some(from_object(fields)),
            tags: vec!["api".into()],
            classification: some("classification"),
            domains: vec!["ops".into()],
            tests: body["tests"].as_array().unwrap().iter().cloned().map(from_json).collect(),
            test_reports: vec![proto::TestReport {
                runner: Some("ci".into()),
                content_hash: Some("ab".into()),
                passed: Some(true),
                ran_at: Some("now".into()),
                signature: Some("cd".into()),
            }],
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
            no_resources: false,
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
            on_conflict: some("on_conflict"),
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
            let asked =
                proto::WriteRequest { text: Some("a".into()), confidence: Some(bad), ..Default::default() };
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
}
