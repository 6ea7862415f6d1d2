//! Between the engine's words and the wire's, field by field.

mod access;
mod allowance;
pub(crate) mod govern;
mod relations;
mod roles;

use super::dto::*;
use crate::refusal::whole_seconds;
use serde_json::{Value, json};
use tabellion_core::canonical::{Hash, hex};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::item::Triple;
use tabellion_core::provenance::Evidence;
use tabellion_core::time::{PAST_WORDS, Period, Timestamp};
use tabellion_engine::Notice;
use tabellion_engine::reply::{
    AgentReply, AuditRow, Changed, ConsistencyReply, Decided, Deferral, Feedback, Found, HeadReply,
    InclusionReply, ItemReply, KeptReply, KeyReply, LogReport, NewKey, NewTenant, OutcomeReply,
    OutcomeReport, Page, ResourceReply, ReviewReply, RevokedKey, SearchQuery, SearchReply, Superseded,
    UserReply, VerifyReport, VersionReply, WriteStatus, Written,
};

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn hashes(values: &[Hash]) -> Vec<String> {
    values.iter().map(|hash| hex(hash)).collect()
}

impl From<Written> for WriteAnswer {
    fn from(written: Written) -> Self {
        let status = written.status.as_str();
        if let Some(deferral) = written.deferral {
            let id = written.id.map(|id| id.to_string());
            let contradictions = written.against.into_iter().map(Into::into).collect();
            let replaces_review = written.replaces.map(|id| id.to_string());
            return Self::Deferred(DeferredBody { id, contradictions, replaces_review, ..deferral.into() });
        }
        match (written.id, written.version) {
            (Some(id), Some(version)) => Self::Written(WrittenBody {
                status,
                id: id.to_string(),
                version: version.to_string(),
                trust: written.trust.as_str(),
                token: written.token.unwrap_or_default(),
                shared_id: written.shared.map(|id| id.to_string()),
                shared_pending_id: written.owed.map(|owed| owed.pending_id),
                contradictions: written.against.into_iter().map(Into::into).collect(),
                superseded: written.superseded.into_iter().map(Into::into).collect(),
                replaces_review: written.replaces.map(|id| id.to_string()),
            }),
            _ => Self::Rejected(RejectedBody { status }),
        }
    }
}

impl From<Superseded> for SupersededBody {
    fn from(superseded: Superseded) -> Self {
        Self {
            id: superseded.item.to_string(),
            version: superseded.version.to_string(),
            text: superseded.text,
        }
    }
}

impl From<Deferral> for DeferredBody {
    fn from(deferral: Deferral) -> Self {
        Self {
            status: WriteStatus::Deferred.as_str(),
            pending_id: deferral.pending_id,
            id: None,
            gate: deferral.gate.as_str(),
            code: deferral.code.as_str(),
            message: deferral.message,
            retry_after: deferral.retry_after.map(wait_text),
            errors: Vec::new(),
            contradictions: Vec::new(),
            replaces_review: None,
        }
    }
}

/// A wait as a duration of whole seconds.
pub(crate) fn wait_text(wait: Period) -> String {
    format!("PT{}S", whole_seconds(wait))
}

impl BatchLine {
    pub(crate) fn new(line: usize, result: Result<Written, Refusal>) -> Self {
        Self { line, outcome: result.into() }
    }
}

impl From<Changed> for ChangedBody {
    fn from(changed: Changed) -> Self {
        Self {
            status: changed.status.as_str(),
            id: changed.id.to_string(),
            version: changed.version.to_string(),
            token: changed.token,
        }
    }
}

impl From<KeptReply> for KeptBody {
    fn from(kept: KeptReply) -> Self {
        Self {
            id: kept.id,
            state: if kept.due.is_some() { "deferred" } else { "refused" },
            write: kept.write,
            gate: kept.gate,
            code: kept.code,
            message: kept.message,
            due: kept.due.map(|time| time.to_string()),
            created_at: kept.made.to_string(),
            expires_at: kept.ends.to_string(),
            attempts: kept.attempts,
        }
    }
}

impl From<ReviewReply> for ReviewBody {
    fn from(review: ReviewReply) -> Self {
        let mut findings = review.findings;
        let mut found = |name: &str| findings.get_mut(name).map(Value::take);
        let mut rows = |name: &str| found(name).unwrap_or_else(|| Value::Array(Vec::new()));
        let (factors, causes, contradictions) = (rows("factors"), rows("causes"), rows("contradictions"));
        let mut number = |name: &str| found(name).unwrap_or_default();
        Self {
            id: review.id.to_string(),
            state: review.state.as_str(),
            hold: review.hold.as_str(),
            risk: review.risk,
            trust: review.trust.map(|band| band.as_str()),
            factors,
            causes,
            item: review.write,
            contradictions,
            adjusted_confidence: number("adjusted_confidence"),
            fact_score: number("fact_score"),
            validation_score: number("validation_score"),
            proposal: found("proposal").unwrap_or_else(|| json!({"operation": "insert"})),
            replaces: review.item.map(|id| id.to_string()),
            content_hash: review.content_hash,
            layer: review.layer.as_str(),
            tier: review.tier.as_str(),
            for_others: review.for_others,
            owner: review.owner.to_string(),
            agent: review.agent.to_string(),
            created_at: review.created_at.to_string(),
            deadline: review.deadline.to_string(),
            overdue: review.overdue,
            approvals: texts(&review.approvals),
            approvals_min: review.approvals_min,
            version: review.version.map(|id| id.to_string()),
            decision: review.decision.map(|decision| decision.as_str()),
            reason: review.reason,
            decided_at: review.decided_at.map(|time| time.to_string()),
            decided_by: review.decided_by.map(|id| id.to_string()),
        }
    }
}

impl From<Notice> for NoticeBody {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Review(notice) => Self::Review(ReviewNoticeBody {
                what: notice.what,
                review: notice.review.to_string(),
                layer: notice.layer.as_str(),
                hold: notice.hold.as_str(),
                risk: notice.risk,
                deadline: notice.deadline.to_string(),
            }),
            Notice::Pair(notice) => Self::Pair(PairNoticeBody {
                what: notice.what,
                user: notice.user.to_string(),
                agent: notice.agent.to_string(),
                reason: notice.reason,
                until: notice.until.to_string(),
            }),
        }
    }
}

impl From<Decided> for TopicBody {
    fn from(decided: Decided) -> Self {
        let Decided { layer, topic, approved, rejected } = decided;
        Self { layer: layer.as_str(), topic, approved, rejected }
    }
}

impl From<Feedback> for FeedbackBody {
    fn from(feedback: Feedback) -> Self {
        let decided = feedback.decided.into_iter().map(|(layer, approved, rejected)| DecidedBody {
            layer: layer.as_str(),
            approved,
            rejected,
        });
        Self {
            agent: feedback.agent.to_string(),
            reputation: feedback.reputation,
            decided: decided.collect(),
            topics: feedback.topics.into_iter().map(Into::into).collect(),
            rejections: feedback.rejections.into_iter().map(Into::into).collect(),
        }
    }
}

/// A period from its two ends; without the second it goes on for ever.
pub(crate) fn period(
    now: Timestamp,
    since: &str,
    until: Option<&str>,
) -> Result<(Timestamp, Timestamp), Refusal> {
    let mut faults = Vec::new();
    let mut time = |text: &str, path: &str| {
        now.looking_back(text).unwrap_or_else(|| {
            faults.push(Fault::new(path, Code::ConstraintViolation, PAST_WORDS));
            Timestamp::from_micros(0)
        })
    };
    let since = time(since, "/since");
    let until = until.map_or(Timestamp::from_micros(u64::MAX), |text| time(text, "/until"));
    if faults.is_empty() {
        return Ok((since, until));
    }
    let places: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    let message = format!("{} field(s) break a rule: {}", faults.len(), places.join(", "));
    Err(Refusal::new(Code::SchemaInvalid, message).with(faults))
}

impl From<ItemReply> for ItemBody {
    fn from(item: ItemReply) -> Self {
        let (contributed_by, quarantine) = govern::contributed(item.contributed);
        Self {
            contributed_by,
            quarantine,
            id: item.id.to_string(),
            key: item.content.key,
            text: item.content.text,
            kind: item.content.kind,
            layer: item.layer.as_str(),
            tier: item.tier.as_str(),
            namespace: item.namespace,
            confidence: item.confidence,
            trust: item.trust.as_str(),
            rho: item.rho,
            fields: item.content.fields,
            tags: item.content.tags,
            classification: item.content.secrecy.classification.as_str(),
            domains: item.content.secrecy.domains.into_iter().collect(),
            triple: item.content.triple.map(Into::into),
            evidence: item.evidence.into_iter().map(Into::into).collect(),
            version: item.version.to_string(),
            operation: item.operation.as_str(),
            status: item.status.as_str(),
            parents: texts(&item.parents),
            agents: texts(&item.agents),
            resources: texts(&item.resources),
            pinned: item.pinned,
            created_at: item.created_at.to_string(),
            updated_at: item.updated_at.to_string(),
            expires_at: item.expires_at.map(|time| time.to_string()),
            valid_until: item.valid_until.map(|time| time.to_string()),
            token: item.token,
            contradictions: item.against.into_iter().map(Into::into).collect(),
            shared_id: item.shared.as_ref().map(ToString::to_string),
        }
    }
}

impl From<Triple> for TripleBody {
    fn from(Triple { subject, predicate, object }: Triple) -> Self {
        Self { subject, predicate, object }
    }
}

impl From<Evidence> for EvidenceBody {
    fn from(evidence: Evidence) -> Self {
        Self {
            source_type: serde_json::to_value(evidence.source_type).unwrap_or_default(),
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

impl From<Page<ItemReply>> for ItemsBody {
    fn from(page: Page<ItemReply>) -> Self {
        Self { items: page.rows.into_iter().map(Into::into).collect(), next: page.next }
    }
}

impl From<VersionReply> for VersionBody {
    fn from(version: VersionReply) -> Self {
        Self {
            version: version.version.to_string(),
            operation: version.operation.as_str(),
            status: version.standing(),
            parents: texts(&version.parents),
            agents: texts(&version.agents),
            layer_version: version.layer_version,
            created_at: version.created_at.to_string(),
            ended_at: version.ended_at.map(|time| time.to_string()),
            valid_until: version.valid_until.map(|time| time.to_string()),
            token: version.token,
        }
    }
}

impl From<SearchBody> for SearchQuery {
    fn from(body: SearchBody) -> Self {
        Self {
            query: body.query,
            vector: body.vector,
            k: body.k,
            tier: body.tier,
            k_user: body.k_user,
            k_cross: body.k_cross,
            trace_id: body.trace_id,
            mode: body.mode,
            layers: body.layers.unwrap_or_default(),
            namespace: body.namespace,
            as_of: body.as_of,
            min_token: body.min_token,
            exact: body.exact.unwrap_or(false),
            without: body.without.unwrap_or_default(),
            diversity: body.diversity,
            shared_work: body.shared_work.unwrap_or(false),
        }
    }
}

impl From<Found> for ResultBody {
    fn from(found: Found) -> Self {
        Self { item: found.item.into(), score: found.score, relevance: found.relevance }
    }
}

impl From<SearchReply> for FoundBody {
    fn from(reply: SearchReply) -> Self {
        Self {
            results: reply.results.into_iter().map(Into::into).collect(),
            mode: reply.mode,
            search: reply.search.to_string(),
            token: reply.token,
        }
    }
}

impl From<OutcomeBody> for OutcomeReport {
    fn from(body: OutcomeBody) -> Self {
        Self { search: body.search, used: body.used.unwrap_or_default(), success: body.success }
    }
}

impl From<OutcomeReply> for OutcomeNotedBody {
    fn from(noted: OutcomeReply) -> Self {
        let OutcomeReply { search, retrieved, used, precision } = noted;
        Self { search, retrieved, used, precision }
    }
}

impl From<NewTenant> for TenantBody {
    fn from(tenant: NewTenant) -> Self {
        Self { id: tenant.id.to_string(), name: tenant.name, admin_key: tenant.admin_key }
    }
}

impl From<UserReply> for UserBody {
    fn from(user: UserReply) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name,
            role: user.role.as_str(),
            status: user.status.as_str(),
            created_at: user.created_at.to_string(),
        }
    }
}

impl From<AgentReply> for AgentBody {
    fn from(agent: AgentReply) -> Self {
        Self {
            id: agent.id.to_string(),
            name: agent.name,
            specialisation: agent.specialisation,
            family: agent.family,
            trust_declared: agent.trust_declared,
            status: agent.status.as_str(),
            suspended: agent.suspended.map(Into::into),
            created_at: agent.created_at.to_string(),
            holds: agent.holds.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ResourceReply> for ResourceBody {
    fn from(resource: ResourceReply) -> Self {
        Self {
            id: resource.id.to_string(),
            name: resource.name,
            kind: resource.kind,
            description: resource.description,
            status: resource.status.as_str(),
            created_at: resource.created_at.to_string(),
        }
    }
}

impl From<KeyReply> for KeyBody {
    fn from(key: KeyReply) -> Self {
        Self {
            id: key.id.to_string(),
            user: key.user.map(|id| id.to_string()),
            agent: key.agent.map(|id| id.to_string()),
            created_at: key.created_at.to_string(),
            expires_at: key.expires_at.map(|time| time.to_string()),
            revoked_at: key.revoked_at.map(|time| time.to_string()),
        }
    }
}

impl From<NewKey> for IssuedKeyBody {
    fn from(new: NewKey) -> Self {
        Self { about: new.key.into(), key: new.secret, granted: new.granted }
    }
}

impl From<RevokedKey> for RevokedKeyBody {
    fn from(revoked: RevokedKey) -> Self {
        Self { id: revoked.id.to_string(), token: revoked.token }
    }
}

impl From<Page<AuditRow>> for AuditBody {
    fn from(page: Page<AuditRow>) -> Self {
        Self { rows: page.rows.into_iter().map(Into::into).collect(), next: page.next }
    }
}

impl From<AuditRow> for AuditRowBody {
    fn from(row: AuditRow) -> Self {
        Self {
            time: row.time.to_string(),
            user: row.user.map(|id| id.to_string()),
            agent: row.agent.map(|id| id.to_string()),
            action: row.action,
            outcome: row.outcome,
            ids: row.ids,
            reason: row.reason,
            author: row.author.map(|(user, agent)| AuditAuthorBody {
                user: user.to_string(),
                agent: agent.map(|id| id.to_string()),
            }),
            request_id: row.request_id,
            epoch: row.epoch,
            policies: row.policies.into_iter().map(|(id, version)| AuditPolicyBody { id, version }).collect(),
            transformed: row.transformed,
            lsn: row.lsn,
        }
    }
}

impl From<VerifyReport> for VerificationBody {
    fn from(report: VerifyReport) -> Self {
        Self {
            ok: report.is_ok(),
            tenant: report.tenant.to_string(),
            name: report.name.unwrap_or_default(),
            logs: report.logs.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<LogReport> for LogReportBody {
    fn from(report: LogReport) -> Self {
        let fault =
            |fault: tabellion_engine::reply::LogFault| LogFaultBody { lsn: fault.lsn, what: fault.what };
        Self {
            log: report.log.as_str(),
            size: report.size,
            root: hex(&report.root),
            faults: report.faults.into_iter().map(fault).collect(),
            losses: report.losses.into_iter().map(fault).collect(),
        }
    }
}

impl From<HeadReply> for HeadBody {
    fn from(reply: HeadReply) -> Self {
        let head = reply.signed.head;
        Self {
            log: reply.log.as_str(),
            tenant: reply.tenant.to_string(),
            size: head.size,
            time: head.time.to_string(),
            root: hex(&head.root),
            signature: hex(&reply.signed.signature),
            public_key: hex(&reply.public_key),
        }
    }
}

impl From<InclusionReply> for InclusionBody {
    fn from(proof: InclusionReply) -> Self {
        Self {
            log: proof.log.as_str(),
            lsn: proof.lsn,
            size: proof.size,
            leaf: hex(&proof.leaf),
            path: hashes(&proof.path),
            root: hex(&proof.root),
        }
    }
}

impl From<ConsistencyReply> for ConsistencyBody {
    fn from(proof: ConsistencyReply) -> Self {
        Self {
            log: proof.log.as_str(),
            from: proof.from,
            to: proof.to,
            path: hashes(&proof.path),
            from_root: hex(&proof.from_root),
            to_root: hex(&proof.to_root),
        }
    }
}
