//! S2, four roles with different reach: who profits from whom, and who must not (SHARE-50)?

use super::mean;
use super::oracle::{Outcome, Sharing, play};
use super::script::{Ask, Fact, Script, Step, distinct, shuffle};
use super::team::{self, Team};
use crate::commands::bar::{Bar, Bound};
use crate::commands::chance::Chance;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tabellion_core::item::TierWish;

/// Projects that the published figures are for.
pub(super) const PROJECTS: usize = 200;
const ROLES: [&str; 4] = ["Market Researcher", "Financial Analyst", "Logistics Lead", "Strategy Director"];
const AGENTS: [&str; 4] = ["market", "finance", "logistics", "decision"];
const MARKET: usize = 0;
const FINANCE: usize = 1;
const LOGISTICS: usize = 2;
const DECISION: usize = 3;
const RESOURCES: [&str; 4] =
    ["market_kb", "finance_forecaster", "logistics_comparator", "strategic_computation"];
const STRATEGIC: usize = 3;
/// Which user may invoke which agent.
const INVOKES: [(usize, usize); 9] = [
    (0, MARKET),
    (1, FINANCE),
    (1, DECISION),
    (2, LOGISTICS),
    (2, FINANCE),
    (3, MARKET),
    (3, FINANCE),
    (3, LOGISTICS),
    (3, DECISION),
];
/// Which agent may use which resource.
const USES: [(usize, usize); 10] = [
    (MARKET, 0),
    (MARKET, STRATEGIC),
    (FINANCE, 1),
    (FINANCE, STRATEGIC),
    (LOGISTICS, 2),
    (LOGISTICS, STRATEGIC),
    (DECISION, 0),
    (DECISION, 1),
    (DECISION, 2),
    (DECISION, STRATEGIC),
];
/// What each pair sees of one shared item for each edge between agent and resource.
const VISIBLE: [((usize, usize), usize); 9] = [
    ((0, MARKET), 2),
    ((1, FINANCE), 4),
    ((1, DECISION), 6),
    ((2, LOGISTICS), 3),
    ((2, FINANCE), 3),
    ((3, MARKET), 6),
    ((3, FINANCE), 6),
    ((3, LOGISTICS), 6),
    ((3, DECISION), 10),
];
/// The published calls a project, by user.
const PUBLISHED: [(&str, [f64; 4]); 3] = [
    ("isolated", [1.40, 2.69, 2.06, 5.66]),
    ("asymmetric", [1.40, 2.69, 1.43, 0.78]),
    ("unchecked", [1.40, 2.06, 1.43, 0.78]),
];

fn cast() -> Script {
    Script {
        users: ROLES.len(),
        agents: AGENTS.to_vec(),
        resources: RESOURCES.to_vec(),
        uses: BTreeSet::from(USES),
        steps: vec![Step::Invoke(BTreeSet::from(INVOKES))],
        k: 20,
        ..Script::default()
    }
}

/// The facts of a kind: where they begin, and how many they are.
#[derive(Clone, Copy)]
struct Kind(usize, usize);

impl Kind {
    fn draw(self, count: usize, chance: &mut Chance) -> Vec<usize> {
        distinct(count, self.1, chance).into_iter().map(|fact| self.0 + fact).collect()
    }
}

fn script(seed: u64, projects: usize) -> Script {
    let mut chance = Chance::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 2);
    let mut script = cast();
    let mut kind =
        |name: &str, resource| Kind(script.add_facts(name, resource, projects, &mut chance), projects);
    let three = [kind("market", 0), kind("forecast", 1), kind("comparison", 2)];
    let strategic = ["market strategy", "finance strategy", "logistics strategy", "decision strategy"];
    let strategic = strategic.map(|name| kind(name, STRATEGIC));
    let own = kind("director strategy", STRATEGIC);
    let mut hops: Vec<usize> = (0..projects).map(|number| 1 + usize::from(number * 2 >= projects)).collect();
    shuffle(&mut hops, &mut chance);
    for (query, hops) in hops.into_iter().enumerate() {
        let three = three.map(|kind| kind.draw(hops, &mut chance));
        let strategic = strategic.map(|kind| kind.draw(1, &mut chance));
        for (user, agent, fact) in project(&three, &strategic, &own.draw(hops, &mut chance)) {
            script.steps.push(Step::Ask(Ask { user, agent, fact, query }));
        }
    }
    script
}

/// Who asks which agent for which fact in a project, in order.
fn project(
    [market, forecasts, comparisons]: &[Vec<usize>; 3],
    [market_plan, finance_plan, logistics_plan, decision_plan]: &[Vec<usize>; 4],
    own: &[usize],
) -> Vec<(usize, usize, usize)> {
    let first = |facts: &[usize]| facts.iter().take(1).copied().collect::<Vec<_>>();
    let parts: [(usize, usize, Vec<usize>); 5] = [
        (0, MARKET, [market.as_slice(), market_plan].concat()),
        (1, FINANCE, [forecasts.as_slice(), finance_plan].concat()),
        (1, DECISION, [first(market), decision_plan.clone()].concat()),
        (2, LOGISTICS, [comparisons.as_slice(), logistics_plan].concat()),
        (2, FINANCE, first(forecasts)),
    ];
    let director = parts.iter().map(|(_, agent, facts)| (3, *agent, facts.clone()));
    let last = std::iter::once((3, DECISION, own.to_vec()));
    let all = parts.iter().cloned().chain(director).chain(last);
    all.flat_map(|(user, agent, facts)| facts.into_iter().map(move |fact| (user, agent, fact))).collect()
}

/// Calls a project, by user.
fn usage(script: &Script, outcomes: &[Outcome], projects: usize) -> [f64; 4] {
    let mut calls = [0.0; 4];
    for (ask, _) in script.asks().zip(outcomes).filter(|(_, outcome)| **outcome == Outcome::Called) {
        calls.get_mut(ask.user).into_iter().for_each(|calls| *calls += 1.0);
    }
    calls.map(|calls| calls / projects as f64)
}

fn means(all: &[[f64; 4]]) -> [f64; 4] {
    std::array::from_fn(|user| mean(all.iter().filter_map(|one| one.get(user).copied())))
}

/// Plays the projects with every seed, isolated and shared; the oracle plays them unchecked too.
pub(super) async fn measured(seeds: &[u64], projects: usize, done: &mut dyn FnMut()) -> Result<Value> {
    let mut engine = [Vec::new(), Vec::new()];
    let mut oracle = [Vec::new(), Vec::new(), Vec::new()];
    let mut violations = 0;
    for seed in seeds {
        let script = script(*seed, projects);
        for (usages, sharing) in engine.iter_mut().zip([Sharing::Isolated, Sharing::Checked]) {
            let played = team::play(&script, sharing).await?;
            violations += played.violations;
            usages.push(usage(&script, &played.outcomes, projects));
            done();
        }
        for (usages, sharing) in
            oracle.iter_mut().zip([Sharing::Isolated, Sharing::Checked, Sharing::Unchecked])
        {
            usages.push(usage(&script, &play(&script, sharing), projects));
        }
    }
    let [isolated, asymmetric] = engine.map(|all| means(&all));
    let [ideal_isolated, ideal_asymmetric, unchecked] = oracle.map(|all| means(&all));
    let saved = |without: &[f64], with: &[f64]| {
        100.0 * (1.0 - with.iter().sum::<f64>() / without.iter().sum::<f64>())
    };
    let published: serde_json::Map<String, Value> =
        PUBLISHED.into_iter().map(|(name, calls)| (name.to_owned(), json!(calls))).collect();
    let last = |usage: &[f64; 4]| [usage[3]];
    Ok(json!({
        "projects": projects, "seeds": seeds.len(), "roles": ROLES, "violations": violations,
        "isolated": isolated, "asymmetric": asymmetric,
        "reduction": saved(&isolated, &asymmetric),
        "director_reduction": saved(&last(&isolated), &last(&asymmetric)),
        "oracle": {"isolated": ideal_isolated, "asymmetric": ideal_asymmetric, "unchecked": unchecked},
        "published": published, "visible": visible().await?,
    }))
}

/// Writes one shared item for each edge between agent and resource, and counts what each pair can list of them.
async fn visible() -> Result<Value> {
    let mut script = cast();
    for (agent, resource) in USES {
        let name =
            format!("{} of {}", AGENTS.get(agent).unwrap_or(&""), RESOURCES.get(resource).unwrap_or(&""));
        script.add_facts(&name, resource, 1, &mut Chance::new((agent * 7 + resource) as u64));
    }
    let facts: Vec<Fact> = script.facts.clone();
    let mut team = Team::new(&script, Sharing::Checked).await?;
    team.set_invokes(&BTreeSet::from(INVOKES)).await?;
    for ((number, fact), (agent, _)) in facts.iter().enumerate().zip(USES) {
        let call = team.acting(3, agent)?;
        team.write(&call, &Ask { user: 3, agent, fact: number, query: 0 }, fact, TierWish::Shared).await?;
    }
    let mut rows = Vec::new();
    for ((user, agent), expected) in VISIBLE {
        let found = team.listed(user, agent).await?.len();
        rows.push(json!({
            "role": ROLES.get(user), "agent": AGENTS.get(agent), "visible": found, "expected": expected,
        }));
    }
    team.close().await?;
    Ok(json!(rows))
}

/// SHARE acceptance 4: what is seen, and how many calls it saves, to whom.
pub(super) fn bars(s2: &Value) -> Vec<Bar> {
    let number = |path: &str| s2.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let mut bars = Vec::new();
    let mut bar = |what: String, found: f64, bound: Bound| bars.push(Bar { what, found, bound });
    let seen = s2.get("visible").and_then(Value::as_array).cloned().unwrap_or_default();
    let right = seen.iter().filter(|row| row.get("visible") == row.get("expected")).count();
    bar("S2 pairs that see what they ought to, of 9".to_owned(), right as f64, Bound::AtLeast(9.0));
    let off = |found: f64, expected: f64| 100.0 * (found / expected - 1.0).abs();
    for (user, role) in ROLES.iter().enumerate() {
        for way in ["isolated", "asymmetric"] {
            let from_oracle =
                off(number(&format!("/{way}/{user}")), number(&format!("/oracle/{way}/{user}")));
            bar(format!("S2 {role}, {way}: % from the oracle"), from_oracle, Bound::AtMost(2.0));
        }
    }
    for (user, role) in ROLES.iter().enumerate().take(2) {
        let change = off(number(&format!("/asymmetric/{user}")), number(&format!("/isolated/{user}")));
        bar(format!("S2 {role}: % that sharing changes"), change, Bound::AtMost(2.0));
    }
    if number("/projects") as usize == PROJECTS {
        let (total, director) = (number("/reduction"), number("/director_reduction"));
        bar("S2 calls saved, points from 46.7%".to_owned(), (total - 46.7).abs(), Bound::AtMost(2.0));
        bar(
            "S2 director's calls saved, points from 86%".to_owned(),
            (director - 86.0).abs(),
            Bound::AtMost(3.0),
        );
    }
    bar("S2 violations".to_owned(), number("/violations"), Bound::AtMost(0.0));
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-50: the oracle's own figures are the published ones.
    #[test]
    fn the_oracle_reaches_the_published_figures() {
        for ((name, published), sharing) in
            PUBLISHED.into_iter().zip([Sharing::Isolated, Sharing::Checked, Sharing::Unchecked])
        {
            let of_seed = |seed| {
                let script = script(seed, PROJECTS);
                usage(&script, &play(&script, sharing), PROJECTS)
            };
            let found = means(&(0..10).map(of_seed).collect::<Vec<_>>());
            for (found, published) in found.into_iter().zip(published) {
                assert!((found - published).abs() < 0.04, "{name}: {found} where {published} is published");
            }
        }
    }
}
