//! Held and kept writes, policies and schemas as messages, both ways.

use super::answer::{from_json, from_object, texts};
use super::convert::object;
use super::proto;
use crate::rest::body::typed;
use crate::rest::convert::period;
use crate::rest::dto::{DecideBody, KeptBody};
use serde_json::{Map, Value, json};
use tabellion_core::error::Refusal;
use tabellion_core::policy::SharingPolicy;
use tabellion_core::time::Timestamp;
use tabellion_core::view::Policy;
use tabellion_engine::reply;

impl From<reply::Quarantined> for proto::QuarantineReply {
    fn from(quarantined: reply::Quarantined) -> Self {
        let reply::Quarantined { changed, dependents } = quarantined;
        Self {
            status: changed.status.as_str().to_owned(),
            id: changed.id.to_string(),
            version: changed.version.to_string(),
            token: changed.token,
            dependents: texts(&dependents),
        }
    }
}

impl From<reply::Flag> for proto::Flag {
    fn from(flag: reply::Flag) -> Self {
        Self {
            id: flag.item.to_string(),
            version: flag.version.to_string(),
            layer: flag.layer.as_str().to_owned(),
            finding: flag.finding.as_str().to_owned(),
            since: flag.since.to_string(),
        }
    }
}

impl From<Vec<reply::Flag>> for proto::ListFlaggedReply {
    fn from(flags: Vec<reply::Flag>) -> Self {
        Self { flagged: flags.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::Reverified> for proto::ReverifyReply {
    fn from(reply: reply::Reverified) -> Self {
        Self {
            checked: reply.checked,
            passed: reply.passed,
            failed: reply.failed,
            aged: reply.aged,
            flagged: reply.flagged.into_iter().map(Into::into).collect(),
            next: reply.next,
        }
    }
}

impl From<reply::KeptReply> for proto::KeptWrite {
    fn from(kept: reply::KeptReply) -> Self {
        let kept = KeptBody::from(kept);
        Self {
            id: kept.id,
            state: kept.state.to_owned(),
            write: as_struct(kept.write),
            gate: kept.gate,
            code: kept.code,
            message: kept.message,
            due: kept.due,
            created_at: kept.created_at,
            expires_at: kept.expires_at,
            attempts: kept.attempts,
        }
    }
}

impl From<Vec<reply::KeptReply>> for proto::ListWritesReply {
    fn from(writes: Vec<reply::KeptReply>) -> Self {
        Self { writes: writes.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::ReviewReply> for proto::Review {
    fn from(review: reply::ReviewReply) -> Self {
        let findings = &review.findings;
        let number = |name: &str| findings.get(name).and_then(Value::as_f64);
        Self {
            id: review.id.to_string(),
            state: review.state.as_str().to_owned(),
            hold: review.hold.as_str().to_owned(),
            risk: review.risk,
            trust: review.trust.map(|band| band.as_str().to_owned()),
            factors: rows(findings, "factors").iter().map(factor).collect(),
            causes: rows(findings, "causes").iter().map(cause).collect(),
            contradictions: rows(findings, "contradictions").iter().map(contradiction).collect(),
            proposal: findings.get("proposal").map(proposal),
            adjusted_confidence: number("adjusted_confidence"),
            fact_score: number("fact_score"),
            validation_score: number("validation_score"),
            item: as_struct(review.write),
            replaces: review.item.as_ref().map(ToString::to_string),
            content_hash: review.content_hash,
            layer: review.layer.as_str().to_owned(),
            tier: review.tier.as_str().to_owned(),
            for_others: review.for_others,
            owner: review.owner.to_string(),
            agent: review.agent.to_string(),
            created_at: review.created_at.to_string(),
            deadline: review.deadline.to_string(),
            overdue: review.overdue,
            approvals: texts(&review.approvals),
            approvals_min: review.approvals_min,
            version: review.version.as_ref().map(ToString::to_string),
            decision: review.decision.map(|decision| decision.as_str().to_owned()),
            reason: review.reason,
            decided_at: review.decided_at.as_ref().map(ToString::to_string),
            decided_by: review.decided_by.as_ref().map(ToString::to_string),
        }
    }
}

fn rows<'a>(findings: &'a Value, name: &str) -> &'a [Value] {
    findings.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_default()
}

fn factor(value: &Value) -> proto::RiskFactor {
    proto::RiskFactor {
        factor: text(value, "factor"),
        weight: number(value, "weight"),
        value: number(value, "value"),
    }
}

fn cause(value: &Value) -> proto::Cause {
    proto::Cause { gate: text(value, "gate"), code: text(value, "code"), message: text(value, "message") }
}

fn contradiction(value: &Value) -> proto::Contradiction {
    proto::Contradiction {
        id: text(value, "id"),
        version: text(value, "version"),
        method: text(value, "method"),
        score: number(value, "score"),
        similarity: number(value, "similarity"),
        text: value.get("text").and_then(Value::as_str).map(str::to_owned),
    }
}

fn proposal(value: &Value) -> proto::Proposal {
    let items = rows(value, "items").iter().filter_map(Value::as_str).map(str::to_owned);
    proto::Proposal { operation: text(value, "operation"), items: items.collect() }
}

impl From<Vec<reply::ReviewReply>> for proto::ListReviewsReply {
    fn from(reviews: Vec<reply::ReviewReply>) -> Self {
        Self { reviews: reviews.into_iter().map(Into::into).collect() }
    }
}

impl From<reply::Decided> for proto::DecidedTopic {
    fn from(decided: reply::Decided) -> Self {
        let reply::Decided { layer, topic, approved, rejected } = decided;
        Self { layer: layer.as_str().to_owned(), topic, approved, rejected }
    }
}

impl From<reply::Feedback> for proto::Feedback {
    fn from(feedback: reply::Feedback) -> Self {
        let decided = feedback.decided.into_iter().map(|(layer, approved, rejected)| proto::Decided {
            layer: layer.as_str().to_owned(),
            approved,
            rejected,
        });
        Self {
            agent: feedback.agent.to_string(),
            reputation: feedback.reputation,
            decided: decided.collect(),
            rejections: feedback.rejections.into_iter().map(Into::into).collect(),
            topics: feedback.topics.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<reply::Skipped> for proto::Skipped {
    fn from(reply::Skipped { id, code, message }: reply::Skipped) -> Self {
        Self { id: id.to_string(), code: code.as_str().to_owned(), message }
    }
}

fn named((id, name): (impl ToString, String)) -> proto::Named {
    proto::Named { id: id.to_string(), name }
}

/// What a moderator is told of an item: who contributed it, and its quarantine.
pub(super) fn contributed(
    of: Option<Box<reply::Contributed>>,
) -> (Option<proto::Contributor>, Option<proto::Quarantine>) {
    let Some(reply::Contributed { user, agent, quarantine }) = of.map(|of| *of) else { return (None, None) };
    let quarantine = quarantine.map(|one| proto::Quarantine {
        by: one.by.map(named),
        since: one.since.to_string(),
        reason: one.reason,
    });
    (Some(proto::Contributor { user: Some(named(user)), agent: agent.map(named) }), quarantine)
}

impl From<reply::RevertedItem> for proto::RevertedItem {
    fn from(item: reply::RevertedItem) -> Self {
        Self {
            id: item.id.to_string(),
            user: Some(named(item.user)),
            agent: item.agent.map(named),
            text: item.text,
            derived: item.derived,
        }
    }
}

/// What of an agent's writes is taken back.
pub(super) fn revert_query(
    now: Timestamp,
    asked: &proto::RevertAgentRequest,
) -> Result<reply::RevertQuery, Refusal> {
    let (since, until) = period(now, &asked.since, asked.until.as_deref())?;
    let (user, reason) = (asked.user.clone(), asked.reason.clone());
    let (dry_run, found_false) = (asked.dry_run, asked.found_false);
    Ok(reply::RevertQuery { user, since, until, reason, dry_run, found_false })
}

impl From<reply::LeftPrivate> for proto::LeftPrivate {
    fn from(left: reply::LeftPrivate) -> Self {
        let (id, name) = left.user;
        Self { user: Some(proto::Named { id: id.to_string(), name }), count: left.count as u64 }
    }
}

impl From<reply::Reverted> for proto::RevertAgentReply {
    fn from(reverted: reply::Reverted) -> Self {
        Self {
            written: texts(&reverted.written),
            derived: texts(&reverted.derived),
            retracted: reverted.retracted as u64,
            dry_run: reverted.dry_run,
            rolled_back: reverted.rolled_back as u64,
            skipped: reverted.skipped.into_iter().map(Into::into).collect(),
            items: reverted.items.into_iter().map(Into::into).collect(),
            held: reverted.held as u64,
            queued: reverted.queued as u64,
            flagged: reverted.flagged as u64,
            private: reverted.private.into_iter().map(Into::into).collect(),
        }
    }
}

/// The token of what was set.
pub(super) struct Token(pub(super) String);

impl From<Token> for proto::SetReply {
    fn from(Token(token): Token) -> Self {
        Self { token }
    }
}

/// The review that was taken back.
pub(super) struct Withdrawn(pub(super) String);

impl From<Withdrawn> for proto::WithdrawReviewReply {
    fn from(Withdrawn(id): Withdrawn) -> Self {
        Self { status: "withdrawn".to_owned(), id }
    }
}

impl From<Vec<(String, Policy)>> for proto::ListPoliciesReply {
    fn from(policies: Vec<(String, Policy)>) -> Self {
        Self { policies: policies.into_iter().map(policy).collect() }
    }
}

fn policy((id, policy): (String, Policy)) -> proto::Policy {
    let named = |kind: &str| proto::Policy { id, kind: kind.to_owned(), ..Default::default() };
    match policy {
        Policy::WritePath { strictness, on_conflict, namespace } => {
            proto::Policy { strictness, on_conflict, namespace, ..named("write_path") }
        }
        Policy::OfficialSources { prefixes } => proto::Policy { prefixes, ..named("official_sources") },
        Policy::Approval { approvals } => proto::Policy { approvals: Some(approvals), ..named("approval") },
        Policy::Read(sharing) => proto::Policy { sharing: rules(&sharing), ..named("read") },
        Policy::WritePrivate(sharing) => proto::Policy { sharing: rules(&sharing), ..named("write_private") },
        Policy::WriteShared(sharing) => proto::Policy { sharing: rules(&sharing), ..named("write_shared") },
        Policy::Reviewer { reviewer, user } => {
            proto::Policy { reviewer: Some(reviewer), user: Some(user), ..named("reviewer") }
        }
        Policy::Cedar { text } => proto::Policy { text: Some(text), ..named("cedar") },
        Policy::Runner { public_key } => proto::Policy { public_key: Some(public_key), ..named("runner") },
        Policy::Bounds { agent, layers, namespaces, tags } => {
            proto::Policy { agent: Some(agent), layers, namespaces, tags, ..named("bounds") }
        }
    }
}

fn rules(sharing: &SharingPolicy) -> Option<prost_types::Struct> {
    as_struct(serde_json::to_value(sharing).ok()?)
}

/// The body of a policy, as REST has it: what is not set is not there.
pub(super) fn policy_body(asked: proto::Policy) -> Value {
    let mut body = Map::from_iter([("kind".to_owned(), Value::String(asked.kind.clone()))]);
    let mut put = |name: &str, value: Option<Value>| {
        body.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("strictness", asked.strictness.map(Value::String));
    put("on_conflict", asked.on_conflict.map(Value::String));
    put("namespace", asked.namespace.map(Value::String));
    let is_of_sources = asked.kind == "official_sources" || !asked.prefixes.is_empty();
    put("prefixes", is_of_sources.then(|| json!(asked.prefixes)));
    put("approvals", asked.approvals.map(Value::from));
    put("reviewer", asked.reviewer.map(Value::String));
    put("user", asked.user.map(Value::String));
    put("public_key", asked.public_key.map(Value::String));
    put("agent", asked.agent.map(Value::String));
    put("text", asked.text.map(Value::String));
    for (name, texts) in [("layers", asked.layers), ("namespaces", asked.namespaces), ("tags", asked.tags)] {
        put(name, (!texts.is_empty()).then(|| json!(texts)));
    }
    body.extend(asked.sharing.map(|rules| object(rules, &mut Vec::new())).into_iter().flatten());
    Value::Object(body)
}

/// A schema as JSON.
pub(super) fn schema_body(asked: proto::SetSchemaRequest) -> Value {
    Value::Object(object(asked.schema.unwrap_or_default(), &mut Vec::new()))
}

impl From<Vec<Value>> for proto::ListSchemasReply {
    fn from(schemas: Vec<Value>) -> Self {
        Self { schemas: schemas.into_iter().filter_map(as_struct).collect() }
    }
}

/// A decision, read like the body of REST: its faults have the same words.
pub(super) fn verdict(asked: proto::DecideReviewRequest) -> Result<reply::Verdict, Refusal> {
    let fields = [
        ("decision", Some(asked.decision)),
        ("reason", Some(asked.reason)),
        ("category", asked.category),
        ("content_hash", asked.content_hash),
        ("on_conflict", asked.on_conflict),
    ];
    let fields = fields.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::String(text?))));
    typed::<DecideBody>(fields.collect()).map(Into::into)
}

fn as_struct(value: Value) -> Option<prost_types::Struct> {
    match from_json(value).kind {
        Some(prost_types::value::Kind::StructValue(fields)) => Some(fields),
        _ => Some(from_object(Map::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::error::Code;

    #[test]
    fn a_policy_says_what_its_json_says() {
        let check = |body: Value| {
            let kept: Policy = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(policy_body(policy(("a".to_owned(), kept))), body);
        };
        check(json!({"kind": "write_path", "strictness": "strict"}));
        check(json!({"kind": "write_path", "strictness": "open", "namespace": "notes"}));
        check(json!({"kind": "write_path", "on_conflict": "review", "namespace": "notes"}));
        check(json!({"kind": "official_sources", "prefixes": []}));
        check(json!({"kind": "approval", "approvals": 2}));
        check(json!({"kind": "reviewer", "reviewer": "usr_a", "user": "usr_b"}));
        check(json!({"kind": "runner", "public_key": "ab"}));
        check(json!({"kind": "cedar", "text": "permit(principal, action, resource);"}));
        check(json!({"kind": "write_shared", "share": "off", "scope": {"agent": "agt_a"}}));
        check(
            json!({"kind": "read", "steps": [{"step": "redact", "classes": ["email"]}, {"step": "anonymise"}]}),
        );
        check(json!({"kind": "bounds", "agent": "agt_a", "layers": ["episodic"], "tags": ["medical"]}));
    }

    #[test]
    fn a_decision_is_yes_or_no() {
        let asked = |decision: &str, category: Option<&str>| proto::DecideReviewRequest {
            decision: decision.to_owned(),
            reason: "seen".to_owned(),
            category: category.map(str::to_owned),
            ..Default::default()
        };
        assert!(verdict(asked("approve", None)).unwrap().approve);
        let ground = |category| verdict(asked("reject", category)).unwrap().ground;
        assert_eq!(ground(Some("FACTUAL_ERROR")), reply::Ground::Falsehood);
        assert_eq!(ground(Some("POLICY_VIOLATION")), reply::Ground::Violation);
        assert_eq!(ground(None), reply::Ground::Other);
        for (bad, path) in [(asked("maybe", None), "/decision"), (asked("reject", Some("x")), "/category")] {
            let fault = verdict(bad).unwrap_err().errors.remove(0);
            assert_eq!((fault.path.as_str(), fault.code), (path, Code::ConstraintViolation));
        }
    }
}
