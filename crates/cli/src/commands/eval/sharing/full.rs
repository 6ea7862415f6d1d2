//! S1, everyone may ask everyone's agents: how many calls of resources does shared memory save (SHARE-49)?

use super::oracle::{Outcome, Sharing, play};
use super::script::{Ask, Script, Step, distinct, shuffle};
use super::{mean, team};
use crate::commands::bar::{Bar, Bound};
use crate::commands::chance::Chance;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const USERS: usize = 5;
/// Each desk has an agent and a knowledge base, and so many of the facts.
const DESKS: [(&str, u64); 6] = [
    ("entertainment", 114),
    ("business", 81),
    ("sports", 211),
    ("technology", 172),
    ("health", 10),
    ("science", 21),
];
const BASES: [&str; 6] =
    ["entertainment_kb", "business_kb", "sports_kb", "technology_kb", "health_kb", "science_kb"];
const CLUSTERS: usize = 10;
const FACTS_EACH: usize = 200;
const BINS: usize = 5;
/// Queries a user that the published figures are for.
pub(super) const QUERIES: usize = 100;
/// Of a hundred queries, those that all users have in common; the published calls a query where memory is shared, and the
/// published reduction in a hundred.
pub(super) const COMMON: [(usize, f64, f64); 4] =
    [(0, 2.12, 24.0), (25, 1.81, 35.0), (50, 1.45, 48.0), (75, 1.05, 63.0)];
const ISOLATED: f64 = 2.80;
/// What the reference reached, in a hundred.
const REFERENCE: [(usize, f64); 2] = [(50, 61.0), (75, 59.0)];

/// Who asks what, if so many queries in a hundred are common.
fn script(seed: u64, common: usize, queries: usize) -> Script {
    let mut chance = Chance::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ common as u64);
    let mut script = Script {
        users: USERS,
        agents: DESKS.iter().map(|(name, _)| *name).collect(),
        resources: BASES.to_vec(),
        uses: (0..DESKS.len()).map(|desk| (desk, desk)).collect(),
        k: 10,
        ..Script::default()
    };
    for _ in 0..CLUSTERS * FACTS_EACH {
        let (desk, name) = drawn_desk(&mut chance);
        script.add_facts(name, desk, 1, &mut chance);
    }
    let shared: Vec<Vec<usize>> = (0..queries * common / 100).map(|_| query(&mut chance)).collect();
    let of_user = |_| {
        let mut own = shared.clone();
        own.resize_with(queries, || query(&mut chance));
        shuffle(&mut own, &mut chance);
        own
    };
    let asked: Vec<Vec<Vec<usize>>> = (0..USERS).map(of_user).collect();
    let everyone = (0..USERS).flat_map(|user| (0..DESKS.len()).map(move |desk| (user, desk)));
    script.steps.push(Step::Invoke(everyone.collect::<BTreeSet<_>>()));
    for place in 0..queries {
        for (user, own) in asked.iter().enumerate() {
            for fact in own.get(place).into_iter().flatten() {
                let agent = script.facts.get(*fact).map_or(0, |fact| fact.resource);
                script.steps.push(Step::Ask(Ask { user, agent, fact: *fact, query: place }));
            }
        }
    }
    script
}

/// Two to four facts of one cluster.
fn query(chance: &mut Chance) -> Vec<usize> {
    let cluster = (chance.next() % CLUSTERS as u64) as usize;
    let count = 2 + (chance.next() % 3) as usize;
    distinct(count, FACTS_EACH, chance).into_iter().map(|fact| cluster * FACTS_EACH + fact).collect()
}

fn drawn_desk(chance: &mut Chance) -> (usize, &'static str) {
    let total: u64 = DESKS.iter().map(|(_, weight)| weight).sum();
    let mut left = chance.next() % total;
    for (desk, (name, weight)) in DESKS.iter().enumerate() {
        if left < *weight {
            return (desk, name);
        }
        left -= weight;
    }
    (0, "entertainment")
}

/// Calls a query, over all of them and in each fifth, and the share of needs that were answered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Usage {
    calls: f64,
    bins: [f64; BINS],
    accuracy: f64,
}

impl Usage {
    fn of(script: &Script, outcomes: &[Outcome], queries: usize) -> Self {
        let mut calls = [0.0; BINS];
        for (ask, outcome) in script.asks().zip(outcomes) {
            if let Some(bin) = calls.get_mut(ask.query * BINS / queries.max(1)) {
                *bin += f64::from(u8::from(*outcome == Outcome::Called));
            }
        }
        let asked = (USERS * queries) as f64;
        let answered = outcomes.iter().filter(|outcome| **outcome != Outcome::Refused).count();
        Self {
            calls: calls.iter().sum::<f64>() / asked,
            bins: calls.map(|calls| calls * BINS as f64 / asked),
            accuracy: answered as f64 / outcomes.len().max(1) as f64,
        }
    }

    fn mean(all: &[Self]) -> Self {
        Self {
            calls: mean(all.iter().map(|one| one.calls)),
            bins: std::array::from_fn(|bin| mean(all.iter().filter_map(|one| one.bins.get(bin).copied()))),
            accuracy: mean(all.iter().map(|one| one.accuracy)),
        }
    }

    fn json(&self) -> Value {
        json!({"calls_per_query": self.calls, "bins": self.bins, "accuracy": self.accuracy})
    }
}

/// What is saved, in a hundred: in all, and in the last fifth.
fn reduction(isolated: &Usage, shared: &Usage) -> [f64; 2] {
    let saved = |without: f64, with: f64| 100.0 * (1.0 - with / without);
    let last = |usage: &Usage| usage.bins.last().copied().unwrap_or(f64::NAN);
    [saved(isolated.calls, shared.calls), saved(last(isolated), last(shared))]
}

/// Plays every mix of common queries with every seed, isolated and shared, on the engine and by the oracle.
pub(super) async fn measured(
    seeds: &[u64],
    queries: usize,
    common: &[usize],
    done: &mut dyn FnMut(),
) -> Result<Value> {
    let mut rows = Vec::new();
    for of_hundred in common {
        let mut engine = [Vec::new(), Vec::new()];
        let mut oracle = [Vec::new(), Vec::new()];
        let mut violations = 0;
        for seed in seeds {
            let script = script(*seed, *of_hundred, queries);
            for (place, sharing) in [Sharing::Isolated, Sharing::Checked].into_iter().enumerate() {
                let played = team::play(&script, sharing).await?;
                violations += played.violations;
                let ideal = Usage::of(&script, &play(&script, sharing), queries);
                engine
                    .get_mut(place)
                    .into_iter()
                    .for_each(|all| all.push(Usage::of(&script, &played.outcomes, queries)));
                oracle.get_mut(place).into_iter().for_each(|all| all.push(ideal));
                done();
            }
        }
        let [isolated, shared] = engine.map(|all| Usage::mean(&all));
        let [ideal_isolated, ideal_shared] = oracle.map(|all| Usage::mean(&all));
        let ([saved, last], [ideal, ideal_last]) =
            (reduction(&isolated, &shared), reduction(&ideal_isolated, &ideal_shared));
        rows.push(json!({
            "common": of_hundred, "isolated": isolated.json(), "shared": shared.json(),
            "reduction": saved, "last_bin_reduction": last, "violations": violations,
            "oracle": {"isolated": ideal_isolated.calls, "shared": ideal_shared.calls,
                       "reduction": ideal, "last_bin_reduction": ideal_last},
            "published": published(*of_hundred),
        }));
    }
    Ok(json!({"queries": queries, "seeds": seeds.len(), "mixes": rows}))
}

fn published(common: usize) -> Value {
    let row = COMMON.iter().find(|(one, ..)| *one == common);
    let reference = REFERENCE.iter().find(|(one, _)| *one == common);
    json!({
        "isolated": ISOLATED, "shared": row.map(|(_, calls, _)| calls), "reduction": row.map(|(_, _, saved)| saved),
        "reference_reduction": reference.map(|(_, saved)| saved),
    })
}

/// SHARE acceptance 3: within three points of the oracle, 55 in a hundred in the last fifth, every need answered.
pub(super) fn bars(s1: &Value) -> Vec<Bar> {
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let mut bars = Vec::new();
    let mut bar = |what: String, found: f64, bound: Bound| bars.push(Bar { what, found, bound });
    let whole = number(s1, "/queries") as usize == QUERIES;
    for mix in s1.get("mixes").and_then(Value::as_array).into_iter().flatten() {
        let common = number(mix, "/common");
        let off = (number(mix, "/reduction") - number(mix, "/oracle/reduction")).abs();
        bar(format!("S1 {common}% common: points from the oracle"), off, Bound::AtMost(3.0));
        let accuracy = number(mix, "/shared/accuracy").min(number(mix, "/isolated/accuracy"));
        bar(format!("S1 {common}% common: accuracy"), accuracy, Bound::AtLeast(1.0));
        bar(format!("S1 {common}% common: violations"), number(mix, "/violations"), Bound::AtMost(0.0));
        if whole && common == 50.0 {
            let last = number(mix, "/last_bin_reduction");
            bar("S1 50% common: reduction in the last fifth".to_owned(), last, Bound::AtLeast(55.0));
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-49: the oracle's own figures are the published ones.
    #[test]
    fn the_oracle_reaches_the_published_figures() {
        for (common, shared, saved) in COMMON {
            let mut usages = [Vec::new(), Vec::new()];
            for seed in 0..10 {
                let script = script(seed, common, QUERIES);
                assert!(script.asks().count() >= 2 * USERS * QUERIES);
                for (usage, sharing) in usages.iter_mut().zip([Sharing::Isolated, Sharing::Checked]) {
                    usage.push(Usage::of(&script, &play(&script, sharing), QUERIES));
                }
            }
            let [isolated, together] = usages.map(|all| Usage::mean(&all));
            assert!((isolated.calls - ISOLATED).abs() < 0.05, "{common}: {}", isolated.calls);
            assert!((together.calls - shared).abs() < 0.06, "{common}: {}", together.calls);
            let [all, last] = reduction(&isolated, &together);
            assert!((all - saved).abs() < 2.0, "{common}: {all}");
            assert!(common != 50 || (last - 62.0).abs() < 3.0, "{last}");
        }
    }
}
