//! Ask: a question, answered by those of a user's agents who know about it (SHARE-23 to 25, 27).
//!
//! A coordinator says who is asked what, agents answer from memory first and from their resources for what is missing, an
//! aggregator makes one answer of theirs. Each of the three is a model where the operator named one, and a rule where none
//! is named or it says nothing of use. Invariant (checked again): whom the user may invoke and what an agent may use is
//! looked up in every round and for every call, and once more before the answer is given; what was revoked meanwhile is left
//! out.

mod coordinate;
mod turn;
mod words;

use crate::equipment::Equipped;
use crate::ports::JudgeError;
use crate::read::within;
use crate::reply::{AskQuery, AskReply, Usage};
use crate::search::K_DEFAULT;
use crate::tenant::Tenant;
use crate::trace::Made;
use crate::visibility::predicate;
use crate::{Call, Engine};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::access::through;
use tabellion_core::canonical::hex;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::AgentId;
use tabellion_core::log::{AgentStatus, Edge};
use tabellion_core::orchestrate::{
    ANSWER_CHARS_MAX, History, Next, Progress, QUERY_CHARS_MAX, Step, Stopped, joined, read_step,
};
use tabellion_core::text::{LEGIBLE, is_legible};
use tokio::time::Instant;
use turn::Turn;

/// The name of this operation on the trail.
const ACTION: &str = "ask";
/// How often an answer is put together anew because access changed under it.
const ATTEMPTS_MAX: usize = 3;

impl Engine {
    /// Answers a question through the agents of the caller's user; through its own alone for a caller who has one.
    ///
    /// # Errors
    /// When the question breaks a rule, too many are under way, or the operator switched this off.
    pub async fn ask(&self, call: &Call, query: AskQuery) -> Result<AskReply, Refusal> {
        let (tenant, equipped) = (self.tenant(call)?, self.equipped());
        let print = tenant.fingerprint(&[b"query", query.query.as_bytes()]);
        let result = answered(&tenant, equipped, call, query).await;
        let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        let asked = result.as_ref().map(|reply| reply.turns.iter().map(|turn| turn.agent).collect());
        let asked: BTreeSet<AgentId> = asked.unwrap_or_default();
        let mut row = tenant.row(call, ACTION, outcome, asked.iter().map(ToString::to_string).collect());
        row.record.query = Some(print);
        tenant.sequencer.trail_now(row).await?;
        result
    }
}

async fn answered(
    tenant: &Tenant,
    equipped: &Equipped,
    call: &Call,
    query: AskQuery,
) -> Result<AskReply, Refusal> {
    if !equipped.equipment.enabled {
        let message = "the operator has switched this off; set orchestrator.enabled = true in the server's configuration";
        return Err(Refusal::new(Code::OrchestratorOff, message));
    }
    let asked = Asked::of(tenant, query)?;
    let _place = equipped.admit_ask()?;
    let patience = Duration::from_secs(equipped.equipment.limits.seconds_max);
    let mut asking = Asking {
        tenant,
        equipped,
        call,
        asked,
        id: hex(&tenant.entropy.bytes::<16>()),
        until: Instant::now() + patience,
        progress: Progress::default(),
        turns: Vec::new(),
    };
    let stopped = asking.rounds().await;
    let answer = asking.answer().await;
    Ok(asking.reply(answer, stopped))
}

/// A question that can be asked.
struct Asked {
    query: String,
    history: History,
    k: u64,
}

impl Asked {
    fn of(tenant: &Tenant, asked: AskQuery) -> Result<Self, Refusal> {
        let AskQuery { query, history, k } = asked;
        let mut faults = Vec::new();
        if !is_legible(&query) || query.chars().count() > QUERY_CHARS_MAX {
            let expected = format!("1 to {QUERY_CHARS_MAX} characters {LEGIBLE}");
            faults.push(Fault::new("/query", Code::ConstraintViolation, expected));
        }
        let history = history.as_deref().map_or(Some(History::Plan), History::from_word);
        if history.is_none() {
            let expected = format!("one of {}", History::WORDS);
            faults.push(Fault::new("/history", Code::ConstraintViolation, expected));
        }
        let k = within(k, K_DEFAULT, tenant.limits.k_max, "/k").unwrap_or_else(|refusal| {
            faults.extend(refusal.errors);
            K_DEFAULT
        });
        match history {
            Some(history) if faults.is_empty() => Ok(Self { query: query.trim().to_owned(), history, k }),
            _ => {
                let message = "the question cannot be asked as it is; `errors` says why";
                Err(Refusal::new(Code::SchemaInvalid, message).with(faults))
            }
        }
    }
}

/// An agent that may be asked.
#[derive(Debug, Clone)]
struct Specialist {
    id: AgentId,
    name: String,
    /// What it knows about; its name where nothing is said.
    specialisation: String,
}

/// A question under way.
struct Asking<'a> {
    tenant: &'a Tenant,
    equipped: &'a Equipped,
    call: &'a Call,
    asked: Asked,
    /// What the traces of its turns are named after: nobody can guess it.
    id: String,
    until: Instant,
    progress: Progress,
    turns: Vec<Turn>,
}

impl Asking<'_> {
    async fn rounds(&mut self) -> Stopped {
        loop {
            let agents = self.specialists();
            if let Err(stopped) = self.progress.begin(agents.len()) {
                return stopped;
            }
            if Instant::now() >= self.until {
                return Stopped::Time;
            }
            let Some(output) = self.coordinate(&agents).await else {
                return if self.turns.is_empty() { Stopped::NoAgents } else { Stopped::Complete };
            };
            let named = |name: &str| agents.iter().find(|one| one.name == name || one.id.to_string() == name);
            match self.progress.take(&output, |name| named(name).is_some()) {
                Next::Stop(stopped) => return stopped,
                Next::Again => {}
                Next::Ask { agent, subquery } => {
                    let turn = match named(&agent) {
                        Some(specialist) => self.turn(specialist, &subquery).await,
                        None => None,
                    };
                    let answer = turn.as_ref().and_then(|turn| turn.answer.clone());
                    self.progress.note(agent, subquery, answer);
                    self.turns.extend(turn);
                }
            }
        }
    }

    /// The agents that may be asked now: those of a person who work, but for the one that stands for nobody; an agent's own.
    fn specialists(&self) -> Vec<Specialist> {
        let views = self.tenant.shared.views.read();
        let (at, caller) = (self.tenant.moment(&views), &self.call.caller);
        let agents = views.graphs.agents_of(caller.user(), at);
        let direct = views.identity.direct_agent();
        let works = |agent: &&AgentId| {
            views.graphs.status_at(**agent, at.lsn) == AgentStatus::Active
                && Some(**agent) != direct
                && (caller.is_person() || caller.agent() == **agent)
        };
        let known = |agent: &AgentId| {
            let words = &views.identity.agent(*agent)?.words;
            let specialisation = words.kind.clone().unwrap_or_else(|| words.name.clone());
            Some(Specialist { id: *agent, name: words.name.clone(), specialisation })
        };
        agents.iter().filter(works).filter_map(known).collect()
    }

    /// The call of a turn: the pair of the user and an agent, in a trace of its own.
    fn pair(&self, agent: AgentId, trace: String) -> Option<Call> {
        let views = self.tenant.shared.views.read();
        let caller = through(&views, &self.call.caller, agent, self.tenant.now()).ok()?;
        Some(Call { caller, request_id: self.call.request_id.clone(), trace: Some(trace) })
    }

    /// What a model says, if there is one and it says something.
    async fn say(&self, rules: &'static str, document: Value) -> Option<String> {
        let chat = Arc::clone(self.equipped.equipment.chat.as_ref()?);
        let said = tokio::task::spawn_blocking(move || chat.say(rules, &document)).await;
        match said
            .unwrap_or_else(|_| Err(JudgeError::Unreachable("the thread that asked it ended".to_owned())))
        {
            Ok(said) => Some(said),
            Err(error) => {
                metrics::counter!("tabellion_orchestrator_failed_total", "reason" => error.reason())
                    .increment(1);
                tracing::warn!(%error, "the orchestrator's model says nothing; it goes on without");
                None
            }
        }
    }

    /// The one answer, of what still stands when it is given.
    async fn answer(&mut self) -> String {
        let epoch = || self.tenant.shared.views.read().access_epoch();
        for _ in 0..ATTEMPTS_MAX {
            let before = epoch();
            let standing: Vec<bool> = self.turns.iter().map(|turn| self.stands(turn)).collect();
            let pairs: Vec<(&str, &str)> = self
                .turns
                .iter()
                .zip(standing)
                .filter(|(_, stands)| *stands)
                .filter_map(|(turn, _)| Some((turn.subquery.as_str(), turn.answer.as_deref()?)))
                .collect();
            let answer = self.aggregate(&pairs).await;
            if epoch() == before {
                return self.leave_out(answer);
            }
        }
        let answer = joined(
            self.turns.iter().filter(|turn| self.stands(turn)).filter_map(|turn| turn.answer.as_deref()),
        );
        self.leave_out(answer)
    }

    /// Takes out of the turns what does not stand any more.
    fn leave_out(&mut self, answer: String) -> String {
        let standing: Vec<bool> = self.turns.iter().map(|turn| self.stands(turn)).collect();
        let mut stands = standing.into_iter();
        self.turns.retain(|_| stands.next().unwrap_or(false));
        answer
    }

    async fn aggregate(&self, pairs: &[(&str, &str)]) -> String {
        let plain = || joined(pairs.iter().map(|(_, answer)| *answer));
        if pairs.is_empty() {
            return plain();
        }
        let answers: Vec<Value> =
            pairs.iter().map(|(subquery, answer)| json!({"subquery": subquery, "answer": answer})).collect();
        let document = json!({"query": self.asked.query, "answers": answers});
        match self.say(words::AGGREGATE, document).await.as_deref().and_then(read_step) {
            Some(Step::Answer(answer)) if !answer.is_empty() => {
                answer.chars().take(ANSWER_CHARS_MAX).collect()
            }
            _ => plain(),
        }
    }

    /// Whether what went into a turn may still be shown to the pair that took it, and everybody whose answers it may rest on is
    /// still the user's.
    fn stands(&self, turn: &Turn) -> bool {
        let views = self.tenant.shared.views.read();
        let Ok(caller) = through(&views, &self.call.caller, turn.agent.id, self.tenant.now()) else {
            return false;
        };
        let predicate = predicate(self.tenant, &caller, &views);
        let at = self.tenant.moment(&views);
        let reach = views.graphs.resources_of(turn.agent.id, at);
        let theirs = |agent: &AgentId| views.graphs.has(Edge::Invoke(self.call.caller.user(), *agent), at);
        if !turn.made.agents.iter().all(theirs) {
            return false;
        }
        let seen = |version| views.items.find_version(version).is_some_and(|one| predicate.admits(one));
        turn.own.versions.iter().all(|version| seen(*version)) && turn.own.called.is_subset(&reach)
    }

    fn reply(self, answer: String, stopped: Stopped) -> AskReply {
        let mut made = Made::default();
        let mut usage = Usage::default();
        let agents: BTreeSet<AgentId> = self.turns.iter().map(|turn| turn.agent.id).collect();
        usage.agents = agents.len() as u64;
        for turn in &self.turns {
            made.join(&turn.made);
            usage.resource_calls += turn.resources.len() as u64;
            usage.hits_private += turn.hits.0;
            usage.hits_shared += turn.hits.1;
        }
        // An agent that is given an answer may write what it says: that inherits what the answer was made from. A person's own
        // word on that is taken.
        if !self.call.caller.is_person() {
            self.tenant.told(self.call, &made);
        }
        count(stopped, usage);
        AskReply { answer, turns: self.turns.into_iter().map(Turn::reply).collect(), stopped, usage }
    }
}

fn count(stopped: Stopped, usage: Usage) {
    metrics::counter!("tabellion_asks_total", "stopped" => stopped.as_str()).increment(1);
    metrics::counter!("tabellion_ask_agents_total").increment(usage.agents);
    metrics::counter!("tabellion_ask_resource_calls_total").increment(usage.resource_calls);
    metrics::counter!("tabellion_ask_hits_total", "tier" => "private").increment(usage.hits_private);
    metrics::counter!("tabellion_ask_hits_total", "tier" => "shared").increment(usage.hits_shared);
}
