//! What a predicate costs: found out anew, and after an edge changed, without and with a policy in Cedar that must be asked.

use super::super::latency::Latencies;
use super::world::{AGENTS, Memory, RESOURCES, agent, resource, user};
use serde_json::{Value, json};
use tabellion_core::access::{Sight, visible_to_pair};
use tabellion_core::log::{Edge, Event};
use tabellion_core::view::Opened;

/// Predicates that are compiled, and edges that change.
const COMPILED: u64 = 100;
/// As many where every class is asked about.
const COMPILED_CEDAR: u64 = 20;

/// A policy that every class has to be held against: it goes by the agents and resources of each.
pub(super) fn policy(resource: &str) -> Value {
    let when = format!(
        "resource.resources.contains(Resource::\"{resource}\") && !resource.agents.contains(context.agent)"
    );
    let text = format!("forbid(principal, action == Action::\"read\", resource) when {{ {when} }};");
    json!({"kind": "cedar", "text": text})
}

/// How long it takes to find out anew what a caller may see among so many classes: for pairs, for people, who see what any of
/// their agents would show them, and for a pair that sees all, for which Cedar is asked about each. Then how long it takes to
/// know of an edge that changed.
pub(super) fn measured(classes: u64) -> Value {
    let mut memory = Memory::default();
    memory.tie();
    (0..classes).for_each(|number| memory.take_class(number, classes));
    let (mut pairs, mut people, mut widest) =
        (Latencies::default(), Latencies::default(), Latencies::default());
    for number in 0..COMPILED {
        let (user_number, through) = (user(number), agent(number % AGENTS));
        pairs.time(|| visible_to_pair(user_number, Some(through), &memory.views, memory.now()));
        people.time(|| visible_to_pair(user_number, None, &memory.views, memory.now()));
        widest.time(|| visible_to_pair(user(0), Some(agent(0)), &memory.views, memory.now()));
    }
    let plain = changed(&mut memory);
    let body = policy(&resource(0).to_string()).to_string().into_bytes();
    memory.apply(Event::PolicySet, &Opened::Policy("secrets".to_owned(), body), None);
    let mut cedar = Latencies::default();
    for _ in 0..COMPILED_CEDAR {
        cedar.time(|| visible_to_pair(user(0), Some(agent(0)), &memory.views, memory.now()));
    }
    let after_cedar = changed(&mut memory);
    json!({
        "classes": classes, "pair": pairs.json(), "person": people.json(), "all": widest.json(), "cedar": cedar.json(),
        "changed": {"plain": plain, "cedar": after_cedar},
    })
}

/// How long the pair that sees all takes to know of an edge that was revoked, and granted again.
fn changed(memory: &mut Memory) -> Value {
    let mut sight = Sight::of(user(0), Some(agent(0)), &memory.views, memory.now());
    let (mut revoked, mut granted) = (Latencies::default(), Latencies::default());
    for number in 0..COMPILED {
        let edge = Edge::Use(agent(0), resource(number % RESOURCES));
        memory.apply(Event::EdgeRevoked { edge, support: None }, &Opened::Nothing, None);
        revoked.time(|| sight.follow(&memory.views, memory.now()));
        memory.grant(edge);
        granted.time(|| sight.follow(&memory.views, memory.now()));
    }
    json!({"revoked": revoked.json(), "granted": granted.json()})
}
