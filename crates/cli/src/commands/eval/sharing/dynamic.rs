//! S3, edges come and go: what is answered at each step, and does anybody ever see what they may not (SHARE-51)?

use super::oracle::{Outcome, Sharing, play};
use super::script::{Ask, Script, Step, distinct};
use super::team;
use crate::commands::bar::{Bar, Bound};
use crate::commands::chance::Chance;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const USERS: usize = 5;
const AGENTS: [&str; 5] = ["paper-wood", "ceramics", "energy", "chemistry", "mathematical-physics"];
const LETTERS: [char; 5] = ['P', 'C', 'E', 'K', 'M'];
const BASES: [&str; 5] = ["paper_wood_kb", "ceramics_kb", "energy_kb", "chemistry_kb", "mathematics_kb"];
/// The agents of each user, step by step.
const STEPS: [[&str; USERS]; 9] = [
    ["PC", "M", "", "P", "K"],
    ["PCE", "ME", "EK", "PE", "K"],
    ["PCE", "MEK", "EKC", "PEM", "KCE"],
    ["PCEK", "MEKC", "EKCM", "PEMC", "KCEM"],
    ["PCEKM", "PCEKM", "PCEKM", "PCEKM", "PCEKM"],
    ["EKM", "PCEK", "PCEKM", "CEKM", "PCEM"],
    ["E", "CEK", "PCKM", "CEKM", "PEM"],
    ["", "CEK", "PC", "CM", "PEM"],
    ["", "", "K", "C", "EM"],
];
const ANSWERED: [u64; 9] = [20, 40, 60, 80, 100, 80, 60, 40, 16];
const CALLS_ISOLATED: [u64; 9] = [20, 20, 20, 20, 20, 0, 0, 0, 0];
/// What all calls together come to at most where memory is shared.
const CALLS_SHARED_MAX: u64 = 40;
/// After this step nothing is called any more.
const LAST_CALLED: usize = 4;
const FACTS_EACH: usize = 8;
const NEEDED_EACH: usize = 4;

type Edges = BTreeSet<(usize, usize)>;

/// The edges of the table.
fn table() -> Vec<Edges> {
    let of_user = |(user, letters): (usize, &&str)| {
        let agent = |letter: char| LETTERS.iter().position(|one| *one == letter);
        letters.chars().filter_map(agent).map(|agent| (user, agent)).collect::<Vec<_>>()
    };
    STEPS.iter().map(|step| step.iter().enumerate().flat_map(of_user).collect()).collect()
}

/// Edges by chance: five more at each step until all stand, then five fewer until five are left.
fn generated(seed: u64) -> Vec<Edges> {
    let mut chance = Chance::new(seed.wrapping_mul(0x9fb2_1c65_1e98_df25) ^ 3);
    let all: Vec<(usize, usize)> =
        (0..USERS).flat_map(|user| (0..AGENTS.len()).map(move |agent| (user, agent))).collect();
    let mut edges = Edges::new();
    let mut steps = Vec::new();
    for step in 0..STEPS.len() {
        let wanted = 5 * (step + 1).min(STEPS.len() - step);
        while edges.len() != wanted {
            // Passes over what may change, each edge with a chance of one in five.
            for edge in &all {
                let adds = edges.len() < wanted;
                if edges.len() != wanted && edges.contains(edge) != adds && chance.next().is_multiple_of(5) {
                    if adds {
                        edges.insert(*edge)
                    } else {
                        edges.remove(edge)
                    };
                }
            }
        }
        steps.push(edges.clone());
    }
    steps
}

fn script(seed: u64, steps: Vec<Edges>) -> Script {
    let mut chance = Chance::new(seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 4);
    let mut script = Script {
        users: USERS,
        agents: AGENTS.to_vec(),
        resources: BASES.to_vec(),
        uses: (0..AGENTS.len()).map(|agent| (agent, agent)).collect(),
        k: 10,
        ..Script::default()
    };
    for (agent, name) in AGENTS.iter().enumerate() {
        script.add_facts(name, agent, FACTS_EACH, &mut chance);
    }
    let mut needs = Vec::new();
    for user in 0..USERS {
        for agent in 0..AGENTS.len() {
            let facts = distinct(NEEDED_EACH, FACTS_EACH, &mut chance);
            needs.extend(facts.into_iter().map(|fact| (user, agent, agent * FACTS_EACH + fact)));
        }
    }
    for (query, edges) in steps.into_iter().enumerate() {
        script.steps.push(Step::Invoke(edges));
        let asks =
            needs.iter().map(|(user, agent, fact)| Ask { user: *user, agent: *agent, fact: *fact, query });
        script.steps.extend(asks.map(Step::Ask));
    }
    script
}

/// What was answered and called at each step.
fn by_step(script: &Script, outcomes: &[Outcome]) -> (Vec<u64>, Vec<u64>) {
    let mut counts = [[0; 2]; STEPS.len()];
    for (ask, outcome) in script.asks().zip(outcomes) {
        if let Some([answered, called]) = counts.get_mut(ask.query) {
            *answered += u64::from(*outcome != Outcome::Refused);
            *called += u64::from(*outcome == Outcome::Called);
        }
    }
    counts.iter().map(|[answered, called]| (*answered, *called)).unzip()
}

/// Plays the table with every seed, and as many generated runs as asked for.
pub(super) async fn measured(seeds: &[u64], runs: u64, done: &mut dyn FnMut()) -> Result<Value> {
    let (mut wrong, mut violations) = (0, 0);
    let mut shown = json!({});
    for (place, seed) in seeds.iter().enumerate() {
        let script = script(*seed, table());
        let isolated = team::play(&script, Sharing::Isolated).await?;
        let shared = team::play(&script, Sharing::Checked).await?;
        violations += isolated.violations + shared.violations;
        let ((answered, calls), (answered_shared, calls_shared)) =
            (by_step(&script, &isolated.outcomes), by_step(&script, &shared.outcomes));
        let (_, ideal) = by_step(&script, &play(&script, Sharing::Checked));
        wrong += differences(&answered, &ANSWERED) + differences(&answered_shared, &ANSWERED);
        wrong += differences(&calls, &CALLS_ISOLATED) + differences(&calls_shared, &ideal);
        wrong += u64::from(calls_shared.iter().sum::<u64>() > CALLS_SHARED_MAX);
        wrong += u64::from(calls_shared.iter().skip(LAST_CALLED + 1).any(|calls| *calls > 0));
        if place == 0 {
            shown = json!({"answered": answered_shared, "calls_isolated": calls, "calls_shared": calls_shared,
                           "oracle": {"calls_shared": ideal},
                           "published": {"answered": ANSWERED, "calls_isolated": CALLS_ISOLATED}});
        }
        done();
    }
    let (mut unlike, mut generated_violations) = (0, 0);
    for run in 0..runs {
        let script = script(run, generated(run));
        let played = team::play(&script, Sharing::Checked).await?;
        generated_violations += played.violations;
        let ideal = play(&script, Sharing::Checked);
        unlike += played.outcomes.iter().zip(&ideal).filter(|(found, ideal)| found != ideal).count();
        done();
    }
    Ok(json!({
        "seeds": seeds.len(), "table": shown, "wrong_figures": wrong, "violations": violations,
        "generated": {"runs": runs, "violations": generated_violations, "unlike_the_oracle": unlike},
    }))
}

fn differences(found: &[u64], expected: &[u64]) -> u64 {
    let unequal = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
    (unequal + found.len().abs_diff(expected.len())) as u64
}

/// SHARE acceptance 5: the figures are exact, and nobody sees what they may not.
pub(super) fn bars(s3: &Value) -> Vec<Bar> {
    let none = |what: &str, path: &str| Bar {
        what: what.to_owned(),
        found: s3.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN),
        bound: Bound::AtMost(0.0),
    };
    vec![
        none("S3 figures that are not those of the table", "/wrong_figures"),
        none("S3 violations", "/violations"),
        none("S3 violations in generated runs", "/generated/violations"),
        none("S3 outcomes unlike the oracle's in generated runs", "/generated/unlike_the_oracle"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-51: the oracle's own figures are those of the table.
    #[test]
    fn the_oracle_reaches_the_published_figures() {
        for seed in 0..10 {
            let script = script(seed, table());
            let isolated = by_step(&script, &play(&script, Sharing::Isolated));
            assert_eq!(isolated, (ANSWERED.to_vec(), CALLS_ISOLATED.to_vec()));
            let (answered, calls) = by_step(&script, &play(&script, Sharing::Checked));
            assert_eq!(answered, ANSWERED);
            assert!(calls.iter().sum::<u64>() <= CALLS_SHARED_MAX, "{calls:?}");
            assert!(calls.iter().skip(LAST_CALLED + 1).all(|calls| *calls == 0), "{calls:?}");
        }
    }

    /// SHARE-51: five edges more at each step up to all of them, then five fewer.
    #[test]
    fn generated_edges_grow_and_shrink_by_five() {
        for seed in 0..20 {
            let steps = generated(seed);
            let counts: Vec<usize> = steps.iter().map(BTreeSet::len).collect();
            assert_eq!(counts, [5, 10, 15, 20, 25, 20, 15, 10, 5]);
            for (before, after) in steps.iter().zip(steps.iter().skip(1)) {
                assert!(before.is_subset(after) || after.is_subset(before));
            }
        }
    }
}
