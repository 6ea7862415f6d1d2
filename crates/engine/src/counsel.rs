//! What is said of a write outside this process: by gates that the operator runs, and by models (GOV-1.3, 2.3, 2.7, 11.4).
//!
//! Invariant (nothing leaves early): a write that a gate of this process refuses is shown to nobody, and one that a gate
//! outside does not accept is shown to no model. Nobody is asked while a view is locked. What is not answered stops nothing
//! that models were asked about, and puts off what a gate was asked about.

use crate::Call;
use crate::ports::{Advisers, GateQuestion, Judge, JudgeError, RemoteGate, Scribe};
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::{Asked, timed};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tabellion_core::claim::{Contradiction, Method};
use tabellion_core::error::Code;
use tabellion_core::gate::{
    Consensus, Force, GateFacts, Judged, Neighbour, RemoteAnswer, RemoteFinding, WriteRequest,
};
use tabellion_core::id::VersionId;
use tabellion_core::item::Content;
use tabellion_core::time::{Period, Timestamp};

/// Characters of a statement, of a known one and of an excerpt that a model is shown.
const STATEMENT_CHARS_MAX: usize = 8_000;
const KNOWN_CHARS_MAX: usize = 2_000;
const EXCERPT_CHARS_MAX: usize = 4_000;
/// Known statements, and excerpts, that a model is shown at once.
const KNOWN_MAX: usize = 50;
const EXCERPTS_MAX: usize = 16;
/// Models that verify.
const MODELS_MAX: usize = 5;
/// Between two lines about the same trouble.
const WARN_EVERY: Period = Period::from_secs(60);

/// What was said of one write.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counsel {
    remote: Vec<RemoteFinding>,
    /// What a model finds to contradict it, and how surely.
    opposed: BTreeMap<VersionId, f64>,
    consensus: Option<Consensus>,
}

impl Counsel {
    /// What was said when a held write was staged, as its findings have it: a person decides on what they saw.
    pub(crate) fn of_findings(findings: &Value) -> Self {
        let all = findings.get("contradictions").and_then(Value::as_array);
        let seen_by_model = |one: &Value| {
            let is_nli = one.get("method").and_then(Value::as_str) == Some(Method::Nli.as_str());
            let version = one.get("version").and_then(Value::as_str)?.parse().ok()?;
            Some((version, one.get("score")?.as_f64()?)).filter(|_| is_nli)
        };
        let opposed = all.into_iter().flatten().filter_map(seen_by_model).collect();
        Self { remote: Vec::new(), opposed, consensus: findings.get("consensus").and_then(consensus_of) }
    }

    /// Adds what was said to what the gates are told.
    pub(crate) fn tell(&self, request: &WriteRequest, facts: &mut GateFacts) {
        facts.remote.clone_from(&self.remote);
        facts.consensus.clone_from(&self.consensus);
        let Some(consensus) = &self.consensus else { return };
        for (weighed, cited) in facts.evidence.iter_mut().zip(&request.evidence) {
            if cited.excerpt.is_some() {
                weighed.support = consensus.support(weighed.support);
            }
        }
    }

    /// Adds the contradictions that a model sees; the surer of the two finders counts (D6).
    pub(crate) fn oppose(&self, neighbours: &mut [Neighbour]) {
        for neighbour in neighbours {
            let Some(score) = self.opposed.get(&neighbour.known.version) else { continue };
            if neighbour.contradiction.is_none_or(|found| found.score < *score) {
                let (score, similarity) = (*score, neighbour.similarity);
                neighbour.contradiction = Some(Contradiction { method: Method::Nli, score, similarity });
            }
        }
    }
}

/// What models said, as the findings of a held write keep it.
pub(crate) fn consensus_json(consensus: Option<&Consensus>) -> Value {
    consensus.map_or(
        Value::Null,
        |one| json!({"supported": one.supported, "answered": one.answered, "asked": one.asked}),
    )
}

fn consensus_of(value: &Value) -> Option<Consensus> {
    let number = |name: &str| value.get(name)?.as_u64().and_then(|number| usize::try_from(number).ok());
    let names = value.get("supported")?.as_array()?.iter();
    Some(Consensus {
        supported: names.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        answered: number("answered")?,
        asked: number("asked")?,
    })
}

/// Who is asked, and when trouble with them was last logged.
pub(crate) struct Advice {
    advisers: Advisers,
    warned: Mutex<BTreeMap<String, Timestamp>>,
}

impl Advice {
    pub(crate) fn new(advisers: Advisers) -> Self {
        Self { advisers, warned: Mutex::default() }
    }

    /// Whether anybody outside looks at writes like this one.
    pub(crate) fn concerns(&self, asked: &Asked) -> bool {
        let layer = asked.request.layer;
        self.advisers.gates.iter().any(|gate| gate.looks_at(layer))
            || (self.advisers.judge.is_some() && layer.is_durable())
    }

    /// The model that writes anew what policies ask it to.
    pub(crate) const fn scribe(&self) -> Option<&Arc<dyn Scribe>> {
        self.advisers.scribe.as_ref()
    }

    /// Whether trouble with one of them may be logged again.
    pub(crate) fn may_warn(&self, whom: &str, now: Timestamp) -> bool {
        let mut warned = self.warned.lock();
        let due = warned.get(whom).is_none_or(|last| now >= last.plus(WARN_EVERY));
        if due {
            warned.insert(whom.to_owned(), now);
        }
        due
    }
}

/// Asks everybody who is to be asked about a write that the gates of this process let through.
pub(crate) async fn hear(
    tenant: &Tenant,
    call: &Call,
    asked: &mut Asked,
    judged: &Judged,
    facts: &GateFacts,
) -> Counsel {
    let known = asked.counsel.take().unwrap_or_default();
    let remote = ask_gates(tenant, call, asked).await;
    let accepted = remote.iter().all(|finding| finding.answer == RemoteAnswer::Accepts);
    let judge = tenant.advice.advisers.judge.as_ref().filter(|_| accepted && asked.approval.is_none());
    let Some(judge) = judge else { return Counsel { remote, ..known } };
    let (opposed, consensus) = tokio::join!(
        compare(tenant, judge, asked, facts),
        verify(tenant, judge, asked, is_arguable(judged)),
    );
    Counsel { remote, opposed, consensus }
}

/// Whether every gate of its layer takes a write.
pub(crate) async fn is_accepted(tenant: &Tenant, call: &Call, asked: &Asked) -> bool {
    ask_gates(tenant, call, asked).await.iter().all(|finding| finding.answer == RemoteAnswer::Accepts)
}

/// Asks all gates of a layer at once.
async fn ask_gates(tenant: &Tenant, call: &Call, asked: &Asked) -> Vec<RemoteFinding> {
    let layer = asked.request.layer;
    let gates: Vec<&Arc<dyn RemoteGate>> =
        tenant.advice.advisers.gates.iter().filter(|gate| gate.looks_at(layer)).collect();
    if gates.is_empty() {
        return Vec::new();
    }
    let question = Arc::new(question(call, asked));
    let ask = |gate: &Arc<dyn RemoteGate>| {
        let (gate, question) = (Arc::clone(gate), Arc::clone(&question));
        let label = format!("remote:{}", gate.name());
        tokio::task::spawn_blocking(move || timed(label, || gate.ask(&question)))
    };
    let asking: Vec<_> = gates.iter().map(|gate| ask(gate)).collect();
    let mut findings = Vec::with_capacity(gates.len());
    for (gate, answer) in gates.into_iter().zip(asking) {
        let answer = match answer.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => unreachable_gate(tenant, gate.name(), &error.to_string()),
            Err(_) => unreachable_gate(tenant, gate.name(), "the thread that asked it ended"),
        };
        findings.push(RemoteFinding { name: gate.name().to_owned(), at: gate.at(), answer });
    }
    findings
}

fn unreachable_gate(tenant: &Tenant, gate: &str, error: &str) -> RemoteAnswer {
    metrics::counter!("tabellion_gate_unreachable_total", "gate" => gate.to_owned()).increment(1);
    if tenant.advice.may_warn(gate, tenant.now()) {
        tracing::warn!(gate, error, "a gate gives no answer; its writes wait");
    }
    RemoteAnswer::Unreachable
}

fn question(call: &Call, asked: &Asked) -> GateQuestion {
    let request = &asked.request;
    let canonical = request.content.canonical().unwrap_or_default();
    GateQuestion {
        request_id: call.request_id.clone().unwrap_or_default(),
        namespace: request.namespace.clone(),
        layer: request.layer,
        agent: call.caller.agent().to_string(),
        user: call.caller.user().to_string(),
        content: String::from_utf8(canonical).unwrap_or_default(),
        evidence: request.evidence.clone(),
        confidence: request.confidence,
    }
}

/// Whether a person would decide because the words of the evidence alone do not show enough (D7).
fn is_arguable(judged: &Judged) -> bool {
    match judged {
        Judged::Admitted(_) => false,
        Judged::Held(held) => held.causes.iter().any(|cause| cause.code == Code::EvidenceInsufficient),
    }
}

/// What a model finds among what is known that the rules did not: under the writer's predicate, as the facts are.
async fn compare(
    tenant: &Tenant,
    judge: &Arc<dyn Judge>,
    asked: &Asked,
    facts: &GateFacts,
) -> BTreeMap<VersionId, f64> {
    let request = &asked.request;
    let stops = asked.strictness.rules(request.layer).contradiction == Force::Stops;
    if !stops || request.is_utterance() {
        return BTreeMap::new();
    }
    let (versions, texts) = unflagged(tenant, facts);
    if texts.is_empty() {
        return BTreeMap::new();
    }
    let (judge, new) = (Arc::clone(judge), statement(&request.content, STATEMENT_CHARS_MAX));
    let answer =
        tokio::task::spawn_blocking(move || timed("judge".to_owned(), || judge.compare(&texts, &new)));
    match answer.await {
        Ok(Ok(scores)) => versions.into_iter().zip(scores).filter(|(_, score)| *score > 0.0).collect(),
        Ok(Err(error)) => {
            failed(tenant, &error);
            BTreeMap::new()
        }
        Err(_) => BTreeMap::new(),
    }
}

/// Neighbours that nothing was found against, with what they say. One whose text is gone is left out.
fn unflagged(tenant: &Tenant, facts: &GateFacts) -> (Vec<VersionId>, Vec<String>) {
    let replaced = facts.replaced.as_ref().map(|version| version.id);
    let open = |neighbour: &&Neighbour| {
        neighbour.contradiction.is_none() && Some(neighbour.known.version) != replaced
    };
    let places: Vec<_> = {
        let views = tenant.shared.views.read();
        let place =
            |one: &Neighbour| Some((one.known.version, views.items.find_version(one.known.version)?.lsn));
        facts.neighbours.iter().filter(open).take(KNOWN_MAX).filter_map(place).collect()
    };
    let read = |(version, lsn)| {
        let (known, _) = content(tenant, lsn).ok()?;
        Some((version, statement(&known, KNOWN_CHARS_MAX)))
    };
    places.into_iter().filter_map(read).unzip()
}

/// What a content says, behind what it is about.
fn statement(content: &Content, chars_max: usize) -> String {
    let text = &content.text;
    let whole = content.key.as_ref().map_or_else(|| text.clone(), |key| format!("{key}: {text}"));
    whole.chars().take(chars_max).collect()
}

/// Which models find the statement in its excerpts: asked for canonical layers, and where the words alone leave it open.
async fn verify(tenant: &Tenant, judge: &Arc<dyn Judge>, asked: &Asked, arguable: bool) -> Option<Consensus> {
    let request = &asked.request;
    let cut = |excerpt: &String| excerpt.chars().take(EXCERPT_CHARS_MAX).collect::<String>();
    let excerpts = request.evidence.iter().filter_map(|one| one.excerpt.as_ref().map(cut));
    let excerpts: Arc<Vec<String>> = Arc::new(excerpts.take(EXCERPTS_MAX).collect());
    if excerpts.is_empty() || !(request.layer.is_canonical() || arguable) {
        return None;
    }
    let new = statement(&request.content, STATEMENT_CHARS_MAX);
    let ask = |model: &String| {
        let (judge, model, new) = (Arc::clone(judge), model.clone(), new.clone());
        let excerpts = Arc::clone(&excerpts);
        tokio::task::spawn_blocking(move || {
            timed("judge".to_owned(), || judge.bears_out(&model, &new, &excerpts))
        })
    };
    let models: Vec<&String> = judge.models().iter().take(MODELS_MAX).collect();
    let asking: Vec<_> = models.iter().map(|model| ask(model)).collect();
    let mut consensus = Consensus { asked: models.len(), ..Consensus::default() };
    for (model, answer) in models.into_iter().zip(asking) {
        match answer.await {
            Ok(Ok(supports)) => {
                consensus.answered += 1;
                consensus.supported.extend(supports.then(|| model.clone()));
            }
            Ok(Err(error)) => failed(tenant, &error),
            Err(_) => {}
        }
    }
    Some(consensus)
}

fn failed(tenant: &Tenant, error: &JudgeError) {
    metrics::counter!("tabellion_memory_judge_failed_total", "reason" => error.reason()).increment(1);
    // No gate is called so: a name has no space.
    if tenant.advice.may_warn("the judge", tenant.now()) {
        tracing::warn!(%error, "the judge says nothing; writes are judged without it");
    }
}
