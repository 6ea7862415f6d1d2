//! What people said of an agent's writes: by layer, and by what the writes were about (GOV-6.7).

use super::{PAGE, Staged, is_visible, not_found, reply};
use crate::Call;
use crate::reply::{Decided, Feedback};
use crate::tenant::Tenant;
use serde_json::Value;
use std::collections::BTreeMap;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::AgentId;
use tabellion_core::item::Layer;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, ReviewState};

/// Decided writes that are opened to see what they are about: the latest.
const OPENED_MAX: usize = 1_000;
/// Topics that are told: the busiest.
const TOPICS_MAX: usize = 20;
/// Characters of a topic that are told.
const TOPIC_CHARS_MAX: usize = 128;
/// The kind that says nothing about what an item is about.
const PLAIN_KIND: &str = "note";

/// What people said of an agent's writes, as far as the caller may see them.
pub(crate) async fn feedback(tenant: &Tenant, call: &Call, agent: &str) -> Result<Feedback, Refusal> {
    let result = collect(tenant, call, agent);
    tenant.read_done(call, "feedback", Vec::new(), result).await
}

fn collect(tenant: &Tenant, call: &Call, name: &str) -> Result<Feedback, Refusal> {
    let now = tenant.now();
    let (agent, mut reviews) = {
        let views = tenant.shared.views.read();
        let agent: AgentId = views.identity.find_agent(name).map(|agent| agent.id).ok_or_else(not_found)?;
        let of_agent = |review: &&Review| review.agent == agent && is_visible(&views, &call.caller, review);
        (agent, views.reviews.all().filter(of_agent).cloned().collect::<Vec<_>>())
    };
    reviews.retain(|review| verdict(review, now).is_some());
    reviews.sort_by_key(|review| std::cmp::Reverse(review.decided));
    let decided = [Layer::Episodic, Layer::Semantic, Layer::Procedural].map(|layer| {
        let count = |yes: bool| {
            reviews.iter().filter(|one| one.layer == layer && verdict(one, now) == Some(yes)).count() as u64
        };
        (layer, count(true), count(false))
    });
    let rejected = reviews.iter().filter(|review| verdict(review, now) == Some(false)).take(PAGE);
    let rejections = rejected.map(|review| reply(tenant, call, review, now)).collect::<Result<_, _>>()?;
    let topics = topics(tenant, &reviews, now)?;
    let reputation = tenant.reputation_of_agent(agent, now);
    Ok(Feedback { agent, reputation, decided: decided.to_vec(), topics, rejections })
}

/// Whether people said yes or no; nothing if they did not, or not yet.
fn verdict(review: &Review, now: Timestamp) -> Option<bool> {
    match review.state_at(now) {
        ReviewState::Approved => Some(true),
        ReviewState::Rejected => Some(false),
        ReviewState::Pending | ReviewState::Withdrawn | ReviewState::TimedOut => None,
    }
}

fn topics(tenant: &Tenant, decided: &[Review], now: Timestamp) -> Result<Vec<Decided>, Refusal> {
    let mut counts: BTreeMap<(Layer, String), (u64, u64)> = BTreeMap::new();
    for review in decided.iter().take(OPENED_MAX) {
        let staged = match Staged::read(tenant, review.lsn) {
            Ok(staged) => staged,
            Err(refusal) if refusal.code == Code::Gone => continue,
            Err(refusal) => return Err(refusal),
        };
        let Some(topic) = topic(&staged.write) else { continue };
        let (approved, rejected) = counts.entry((review.layer, topic)).or_default();
        match verdict(review, now) {
            Some(true) => *approved += 1,
            Some(false) => *rejected += 1,
            None => {}
        }
    }
    let told = |((layer, topic), (approved, rejected))| Decided { layer, topic, approved, rejected };
    let mut topics: Vec<Decided> = counts.into_iter().map(told).collect();
    // The busiest first; those alike stay in order of layer and topic.
    topics.sort_by_key(|one| std::cmp::Reverse(one.approved + one.rejected));
    topics.truncate(TOPICS_MAX);
    Ok(topics)
}

/// What a write is about, as it says itself: the subject of its triple, else its key, else its kind. Nothing for a plain note.
fn topic(write: &Value) -> Option<String> {
    let text = |pointer: &str| write.pointer(pointer).and_then(Value::as_str);
    let kind = || text("/kind").filter(|kind| *kind != PLAIN_KIND);
    let said = text("/triple/subject").or_else(|| text("/key")).or_else(kind)?;
    let plain = said.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    (!plain.is_empty()).then(|| plain.chars().take(TOPIC_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// GOV-6.7: the topic is what the write names most exactly, however it is spelt.
    #[test]
    fn a_topic_is_what_the_write_names() {
        let check = |write: Value, expected: Option<&str>| assert_eq!(topic(&write).as_deref(), expected);
        let triple = json!({"subject": " Billing  API ", "predicate": "port", "object": "1"});
        check(json!({"text": "x", "triple": triple, "key": "k", "kind": "fact"}), Some("billing api"));
        check(json!({"text": "x", "key": "Deploy how", "kind": "fact"}), Some("deploy how"));
        check(json!({"text": "x", "kind": "fact"}), Some("fact"));
        check(json!({"text": "x", "kind": "note"}), None);
        check(json!({"text": "x"}), None);
        check(json!({"text": "x", "key": "k".repeat(999)}), Some("k".repeat(TOPIC_CHARS_MAX).as_str()));
    }
}
