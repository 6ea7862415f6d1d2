//! `eval calibration`: do lies reach shared memory, and what does keeping them out cost? Two worlds, LLM-free.

mod play;
mod team;
mod vectors;

use crate::Context;
use crate::progress::Progress;
use anyhow::Result;
use play::{Attack, Defence, Played, Setup};
use serde_json::{Value, json};
use std::process::ExitCode;
use tabellion_core::trust::{Parts, Profile};

/// Measure whether lies reach shared memory, and what keeping them out costs
///
/// Six agents of six users write into one memory, some of whom lie. Every search and write goes through an engine of its own, in
/// memory; the simulation only places texts. Each figure is a mean over seeds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion eval calibration
  tabellion eval calibration --seeds 1 --rounds 60 --json

docs/eval.md says what is played and measured.")]
pub(crate) struct EvalCalibration {
    /// How many seeds the figures are means over
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Rounds of a run
    #[arg(long, default_value_t = 240, value_name = "N", value_parser = clap::value_parser!(u64).range(12..=10_000))]
    rounds: u64,
    /// Searches of each agent before a write
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16))]
    reads: u64,
}

pub(super) fn run(args: &EvalCalibration, context: &Context) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(measured(args))?;
    context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    Ok(ExitCode::SUCCESS)
}

fn cases() -> Vec<(String, Attack, usize, Defence)> {
    let ship = Defence::ship();
    let mut cases = vec![("ship k=0".to_owned(), Attack::None, 0, ship)];
    for k in [1, 3] {
        for (name, attack) in [
            ("A1 global", Attack::Global),
            ("A1 local", Attack::Local),
            ("A2 persistent", Attack::Persistent),
            ("A2 selective", Attack::Selective),
            ("A2 adaptive", Attack::Adaptive),
            ("A3 targeted", Attack::Targeted),
        ] {
            cases.push((format!("ship {name} k={k}"), attack, k, ship));
        }
    }
    for (name, defence) in [
        ("vanilla", Defence::Vanilla),
        ("majority", Defence::Majority),
        ("isolated", Defence::Isolated),
        ("ref", Defence::Calibrated(Profile::Ref, Parts::default())),
    ] {
        cases.push((format!("{name} k=0"), Attack::None, 0, defence));
        cases.push((format!("{name} A1 local k=3"), Attack::Local, 3, defence));
    }
    let all = Parts::default();
    for (name, parts) in [
        ("detect", Parts { detect: false, ..all }),
        ("align", Parts { align: false, ..all }),
        ("weights", Parts { weights: false, ..all }),
    ] {
        let defence = Defence::Calibrated(Profile::Ship, parts);
        cases.push((format!("ship without {name} A1 local k=3"), Attack::Local, 3, defence));
    }
    cases
}

async fn measured(args: &EvalCalibration) -> Result<Value> {
    let mut progress = Progress::of("playing rounds");
    let cases = cases();
    let total = cases.len() as u64 * args.seeds;
    let mut report = serde_json::Map::new();
    let mut done = 0;
    for (name, attack, adversaries, defence) in cases {
        let mut all = Vec::new();
        for seed in 0..args.seeds {
            let (rounds, reads) = (usize::try_from(args.rounds)?, usize::try_from(args.reads)?);
            all.push(play::play(&Setup { attack, adversaries, defence, seed, rounds, reads }).await?);
            done += 1;
            progress.at(done, total);
        }
        report.insert(name, summed(&all));
    }
    Ok(Value::Object(report))
}

fn summed(all: &[Played]) -> Value {
    let mean = |of: &dyn Fn(&Played) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let last = all.first().and_then(|played| played.credibility.last().cloned()).unwrap_or_default();
    json!({
        "poison_in": mean(&|played| share(played.poison_in, played.poison)),
        "honest_staged": mean(&|played| share(played.honest_staged, played.honest)),
        "hit_before": mean(&|played| played.hit_before),
        "hit": mean(&|played| played.hit),
        "credibility": last.iter().map(|(agent, weight)| (agent.to_string(), json!(weight))).collect::<serde_json::Map<_, _>>(),
    })
}
