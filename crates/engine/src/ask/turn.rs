//! One agent's turn: memory first, resources for what is missing, and the answer written down (SHARE-24, 25).
//!
//! A turn is a trace of its own. The server does all of it, so it knows what went in: the items that were used and the
//! resources that were called, no more (SHARE-9, 10). A model is believed in nothing: all that it was shown went in.

use super::{Asking, Specialist, words};
use crate::flow::Pace;
use crate::reply::{Found, SearchQuery, TurnReply, Written};
use crate::resource::{Usable, alike, called, configured, usable};
use crate::trace::Made;
use crate::{Call, search, write};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{EvidenceDraft, WriteDraft};
use tabellion_core::id::ItemId;
use tabellion_core::item::{Layer, Tier};
use tabellion_core::orchestrate::{
    ANSWER_CHARS_MAX, History, INVALID_MAX, Step, covers, cut, likeness, read_step,
};
use tokio::time::Instant;

/// Calls of resources in one turn.
const CALLS_MAX: usize = 4;
/// Items that an answer without a model is put together from.
const TEXTS_MAX: usize = 3;
/// A remembered text that is less like the question does not answer it, even if it has all of its words.
const LIKENESS_MIN: f64 = 0.35;
/// A document that holds a smaller share of the question's words does not answer it.
const SHARE_MIN: f64 = 0.5;
/// Characters of an item, of a result, of an excerpt and of a key.
const ITEM_CHARS_MAX: usize = 2_000;
const RESULT_CHARS_MAX: usize = 8_000;
const EXCERPT_CHARS_MAX: usize = 2_000;
const KEY_CHARS_MAX: usize = 256;
/// Versions that a write names; its trace knows all of them.
const NAMED_MAX: usize = 32;
/// How long a write is waited for; one that waits for a person goes on without.
const WRITE_WAIT: Duration = Duration::from_secs(15);
/// What sort of item an answer is.
const KIND: &str = "answer";

/// One agent's turn.
pub(super) struct Turn {
    pub(super) agent: Specialist,
    pub(super) subquery: String,
    pub(super) answer: Option<String>,
    pub(super) items: Vec<ItemId>,
    pub(super) resources: Vec<String>,
    /// What the agent itself was given.
    pub(super) own: Made,
    /// All that its answer may rest on: that, and what the question it was asked was made from.
    pub(super) made: Made,
    pub(super) hits: (u64, u64),
    written: Option<ItemId>,
    write: &'static str,
}

impl Turn {
    pub(super) fn reply(self) -> TurnReply {
        TurnReply {
            agent: self.agent.id,
            name: self.agent.name,
            subquery: self.subquery,
            answer: self.answer,
            items: self.items,
            resources: self.resources,
            written: self.written,
            write: self.write,
        }
    }
}

/// A call, and what came of it.
struct Tried {
    resource: String,
    /// The answer as text, or an object that says why there is none.
    result: Value,
    /// Whether it left: the resource was asked, whatever it said.
    sent: bool,
}

/// What one turn has come to.
#[derive(Default)]
struct Work {
    answer: Option<String>,
    /// Items that went into the answer.
    used: Vec<Found>,
    /// Calls, in order.
    calls: Vec<Tried>,
    made: Made,
    /// Whether the answer is what memory has, word for word.
    verbatim: bool,
}

impl Work {
    fn use_item(&mut self, found: Found) {
        self.made.versions.insert(found.item.version);
        self.used.push(found);
    }
}

impl Asking<'_> {
    /// Lets an agent answer; nothing if it may not be asked any more.
    pub(super) async fn turn(&self, agent: &Specialist, subquery: &str) -> Option<Turn> {
        let trace = format!("ask-{}-{}", self.id, self.progress.rounds());
        let pair = self.pair(agent.id, trace.clone())?;
        let k = Some(self.asked.k);
        // Scratch notes are in no log: nothing that is to last may rest on them.
        let layers = Layer::ALL
            .iter()
            .filter(|layer| layer.is_logged())
            .map(|layer| layer.as_str().to_owned())
            .collect();
        let query = SearchQuery {
            query: Some(subquery.to_owned()),
            k_user: k,
            k_cross: k,
            layers,
            ..SearchQuery::default()
        };
        let found =
            search::search(self.tenant, &pair, query).await.map(|reply| reply.results).unwrap_or_default();
        let mut work = Work::default();
        if !self.take_by_model(agent, &pair, subquery, &found, &mut work).await {
            self.take_by_rule(&pair, subquery, found, &mut work).await;
        }
        let mut made = work.made.clone();
        // What was shown of earlier answers is in the question that this turn was asked.
        if self.asked.history == History::Full {
            self.turns.iter().for_each(|turn| {
                made.join(&turn.made);
                made.agents.insert(turn.agent.id);
            });
        }
        let (written, write) = self.write_down(&pair, subquery, &work, &made).await;
        let count = |tier: Tier| work.used.iter().filter(|one| one.item.tier == tier).count() as u64;
        Some(Turn {
            hits: (count(Tier::Private), count(Tier::Shared)),
            agent: agent.clone(),
            subquery: subquery.to_owned(),
            items: work.used.iter().map(|one| one.item.id).collect(),
            resources: work.calls.iter().filter(|one| one.sent).map(|one| one.resource.clone()).collect(),
            answer: work.answer,
            own: work.made,
            made,
            written,
            write,
        })
    }

    /// Takes a turn without a model: what memory has of it, else what a resource that takes words says of it.
    async fn take_by_rule(&self, pair: &Call, subquery: &str, found: Vec<Found>, work: &mut Work) {
        for one in self.answering(pair, subquery, found).await {
            work.use_item(one);
        }
        if !work.used.is_empty() {
            let texts = work.used.iter().map(|one| one.item.content.text.as_str());
            work.answer = Some(tabellion_core::orchestrate::joined(texts));
            work.verbatim = work.used.len() == 1;
            return;
        }
        let mut resources: Vec<Usable> = usable(self.tenant, pair);
        let takes_words = |one: &Usable| {
            configured(self.tenant, self.equipped, one).is_ok_and(|known| known.args.takes_query())
        };
        resources.retain(takes_words);
        let about = |one: &Usable| format!("{} {}", one.name, one.description.as_deref().unwrap_or_default());
        resources.sort_by(|one, other| {
            likeness(subquery, &about(other))
                .total_cmp(&likeness(subquery, &about(one)))
                .then(one.name.cmp(&other.name))
        });
        for resource in resources {
            if work.calls.len() >= CALLS_MAX || Instant::now() >= self.until {
                return;
            }
            let args = [("query".to_owned(), Value::from(subquery))].into_iter().collect();
            let result = self.call(pair, &resource.name, args, work).await;
            work.answer = result.as_ref().and_then(said);
            if work.answer.is_some() {
                return;
            }
        }
    }

    /// The items that answer a question: they have all of its words, and are about it.
    async fn answering(&self, pair: &Call, subquery: &str, found: Vec<Found>) -> Vec<Found> {
        let content = |one: &Found| {
            format!("{} {}", one.item.content.key.as_deref().unwrap_or_default(), one.item.content.text)
        };
        let mut found: Vec<Found> = found.into_iter().filter(|one| covers(&content(one), subquery)).collect();
        let mut texts: Vec<String> = Vec::with_capacity(found.len() * 2);
        for one in &found {
            texts.push(one.item.content.key.clone().unwrap_or_else(|| one.item.content.text.clone()));
            texts.push(one.item.content.text.clone());
        }
        if let Some(alike) = alike(self.tenant, pair, subquery, texts).await {
            let mut near = alike.chunks(2).map(|two| two.iter().any(|likeness| *likeness >= LIKENESS_MIN));
            found.retain(|_| near.next().unwrap_or(false));
        }
        found.truncate(TEXTS_MAX);
        found
    }

    /// Takes a turn by a model; says whether that worked.
    async fn take_by_model(
        &self,
        agent: &Specialist,
        pair: &Call,
        subquery: &str,
        found: &[Found],
        work: &mut Work,
    ) -> bool {
        if self.equipped.equipment.chat.is_none() {
            return false;
        }
        let mut invalid = 0;
        while invalid < INVALID_MAX && Instant::now() < self.until {
            let may_call = work.calls.len() < CALLS_MAX;
            let document = self.shown(agent, pair, subquery, found, work, may_call);
            let Some(output) = self.say(words::TAKE_TURN, document).await else { return false };
            // Whatever it says next, it has seen all of this.
            work.made.versions.extend(found.iter().map(|one| one.item.version));
            match read_step(&output) {
                Some(Step::Answer(answer)) => {
                    if !answer.is_empty() {
                        work.answer = Some(answer);
                        work.used = found.to_vec();
                    }
                    return true;
                }
                Some(Step::Call { resource, args }) if may_call => {
                    invalid = 0;
                    self.call(pair, &resource, args, work).await;
                }
                Some(Step::Call { .. }) | None => invalid += 1,
            }
        }
        false
    }

    /// What a model is shown of a turn.
    fn shown(
        &self,
        agent: &Specialist,
        pair: &Call,
        subquery: &str,
        found: &[Found],
        work: &Work,
        may_call: bool,
    ) -> Value {
        let memory = |one: &Found| {
            let content = &one.item.content;
            json!({"id": one.item.id.to_string(), "key": content.key, "text": cut(&content.text, ITEM_CHARS_MAX)})
        };
        let resource = |one: Usable| {
            let known = configured(self.tenant, self.equipped, &one).ok()?;
            Some(json!({"name": one.name, "description": one.description, "args": known.args.schema()}))
        };
        let resources: Vec<Value> = match may_call {
            true => usable(self.tenant, pair).into_iter().filter_map(resource).collect(),
            false => Vec::new(),
        };
        let result = |one: &Tried| json!({"resource": one.resource, "result": one.result});
        json!({
            "query": subquery,
            "agent": {"name": agent.name, "specialisation": agent.specialisation},
            "memory": found.iter().map(memory).collect::<Vec<_>>(),
            "resources": resources,
            "results": work.calls.iter().map(result).collect::<Vec<_>>(),
        })
    }

    /// Calls a resource for a turn; what came of it is noted either way.
    async fn call(
        &self,
        pair: &Call,
        name: &str,
        args: Map<String, Value>,
        work: &mut Work,
    ) -> Option<Value> {
        match called(self.tenant, self.equipped, pair, name, args).await {
            Ok(reply) => {
                work.made.called.insert(reply.resource);
                let result = Value::from(cut(&reply.result.to_string(), RESULT_CHARS_MAX));
                work.calls.push(Tried { resource: reply.name, result, sent: true });
                Some(reply.result)
            }
            Err(refusal) => {
                // What it said of why it cannot is its own words; what gave no answer said nothing.
                let spoke = refusal.code == Code::ResourceFailed;
                let named = |one: &Usable| one.name == name || one.id.to_string() == name;
                let known = usable(self.tenant, pair).into_iter().find(|one| spoke && named(one));
                work.made.called.extend(known.map(|one| one.id));
                let sent = spoke || refusal.code == Code::ResourceUnavailable;
                work.calls.push(Tried { resource: name.to_owned(), result: why(&refusal), sent });
                None
            }
        }
    }

    /// Writes an answer down as the pair's own, through all gates. What memory has word for word is not written again.
    async fn write_down(
        &self,
        pair: &Call,
        subquery: &str,
        work: &Work,
        made: &Made,
    ) -> (Option<ItemId>, &'static str) {
        let Some(answer) = work.answer.as_ref().filter(|_| !work.verbatim) else { return (None, "none") };
        let answering: Vec<&Tried> = work.calls.iter().filter(|one| one.result.is_string()).collect();
        let evidence = |one: &&Tried| {
            let text = one.result.as_str().unwrap_or_default();
            let excerpt = if text.contains(answer.as_str()) { answer.as_str() } else { text };
            EvidenceDraft {
                source_type: Some("tool_output".to_owned()),
                source_uri: Some(format!("resource:{}", one.resource)),
                accessed_at: Some(self.tenant.now().to_string()),
                excerpt: Some(cut(excerpt, EXCERPT_CHARS_MAX).to_owned()),
                ..EvidenceDraft::default()
            }
        };
        let draft = WriteDraft {
            text: Some(cut(answer, ANSWER_CHARS_MAX).to_owned()),
            key: Some(cut(subquery, KEY_CHARS_MAX).to_owned()),
            kind: Some(KIND.to_owned()),
            evidence: answering.iter().map(evidence).collect(),
            resources: Some(answering.iter().map(|one| one.resource.clone()).collect()),
            derived_from: work.made.versions.iter().take(NAMED_MAX).map(ToString::to_string).collect(),
            trace_id: pair.trace.clone(),
            ..WriteDraft::default()
        };
        let write = write::write(self.tenant, pair, draft, Pace::Single);
        match self.tenant.making(pair, made, tokio::time::timeout(WRITE_WAIT, write)).await {
            Ok(Ok(Written { id, status, .. })) => (id, status.as_str()),
            Ok(Err(refusal)) => (None, refusal.code.as_str()),
            Err(_) => (None, "deferred"),
        }
    }
}

/// A refusal as a model is told of it.
fn why(refusal: &Refusal) -> Value {
    let fault = |one: &Fault| json!({"path": one.path, "expected": one.expected, "actual": one.actual});
    let errors: Vec<Value> = refusal.errors.iter().map(fault).collect();
    json!({"error": refusal.code.as_str(), "message": refusal.message, "errors": errors})
}

/// The text in an answer of a resource that takes words: a text, its `answer` or `text`, or the best of its `results`.
fn said(result: &Value) -> Option<String> {
    let text = match result {
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) => {
            let named = ["answer", "text"].iter().find_map(|name| fields.get(*name)?.as_str());
            named.or_else(|| fields.get("results").and_then(best))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    Some(cut(text, ANSWER_CHARS_MAX).to_owned())
}

fn best(results: &Value) -> Option<&str> {
    let first = results.as_array()?.first()?;
    let is_about = first.get("words").and_then(Value::as_f64).is_none_or(|share| share >= SHARE_MIN);
    first.get("text")?.as_str().filter(|_| is_about)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-24, 26: an answer is found in the forms that resources give, and a document far off is none.
    #[test]
    fn an_answer_is_found_in_a_result() {
        let check = |result: Value, expected: Option<&str>| {
            assert_eq!(said(&result).as_deref(), expected, "{result}")
        };
        check(json!(" 5 EUR "), Some("5 EUR"));
        check(json!({"answer": "5"}), Some("5"));
        check(json!({"text": "6"}), Some("6"));
        check(json!({"results": [{"text": "7", "words": 0.5}]}), Some("7"));
        check(json!({"results": [{"text": "7", "words": 0.4}, {"text": "8", "words": 1.0}]}), None);
        check(json!({"results": []}), None);
        for nothing in [json!(5), json!([]), json!({"answer": 5}), json!(""), json!(null)] {
            check(nothing, None);
        }
    }
}
