//! `bench calibrate`: what it costs to score writes and to weigh what is read by their trust, beside the same memory without.

mod graph;
mod heard;
mod team;

use super::bare::now;
use super::cloud::Cloud;
use super::latency::{Bar, Bound, Latencies};
use super::search::{merge, progress};
use crate::Context;
use crate::progress::Progress;
use anyhow::Result;
use graph::Graph;
use heard::Heard;
use serde_json::{Value, json};
use std::ops::Range;
use std::process::ExitCode;
use tabellion_core::rank::Knob;
use tabellion_engine::CalibrationMode;
use team::{AGENTS, Team};

/// Reads of each agent in a round.
const READS: usize = 4;
/// Writes between two reads of everybody while memory is filled, so that there are probes of late.
const FILL_READS_EVERY: u64 = 64;
/// Writes under way at a time, where they need not wait for each other.
const AT_ONCE: u64 = 64;
/// Reads with and without take turns in blocks.
const BLOCK: u64 = 50;

/// Measure what calibration costs
///
/// Six agents of six users write items of 384 dimensions in a round that they share, into two engines in memory: one scores the
/// last of them, one does not. Reads by meaning of the first take turns, with trust and without. Then rounds are played, in each of which
/// everybody reads four times and one writes: what a score and its parts take is heard from the engine's own metrics. The same is
/// done with relations of a graph, beside walks of three steps.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tabellion bench calibrate\n  tabellion bench calibrate --items 10000 --nodes 10000 --json\n  \
                  tabellion bench calibrate --items 500 --nodes 500 --queries 50 --rounds 6 --json"
)]
pub(crate) struct BenchCalibrate {
    /// How many items
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    items: u64,
    /// How many of them are scored, the last ones; what is scored is written one after the other
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    scored: u64,
    /// How many reads, with and without
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    queries: u64,
    /// How many nodes of a graph, each with five relations
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    nodes: u64,
    /// How many rounds: each is one write, and four reads of everybody
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rounds: u64,
}

pub(super) fn run(args: &BenchCalibrate, context: &Context) -> Result<ExitCode> {
    let heard = Heard::listen()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(measured(args, &heard))?;
    let bars = bars(&report);
    if context.output.is_json() {
        let bars: Vec<Value> = bars.iter().map(Bar::json).collect();
        let mut report = report;
        merge(&mut report, json!({"bars": bars}));
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, context)?;
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn measured(args: &BenchCalibrate, heard: &Heard) -> Result<Value> {
    let cloud = Cloud::new(0.5);
    progress(&format!("{} items, not scored", args.items));
    let plain = Team::new(&cloud, CalibrationMode::Off).await?;
    fill_at_once(&plain, &cloud, args.items).await?;
    let unscored = args.items.saturating_sub(args.scored);
    progress(&format!("{unscored} items, not scored, and {} that are", args.items - unscored));
    let weighed = Team::new(&cloud, CalibrationMode::Advise).await?;
    fill_at_once(&weighed, &cloud, unscored).await?;
    let filled_s = fill(&weighed, &cloud, unscored..args.items).await?;
    progress(&format!("{} reads of each, then {} rounds", args.queries, args.rounds));
    let reads = reads(args, &cloud, &weighed).await?;
    let rounds = rounds(args, &cloud, [&plain, &weighed], heard).await?;
    plain.close().await?;
    weighed.close().await?;
    progress(&format!("{} nodes with their relations, then {} rounds", args.nodes, args.rounds));
    let mut graph = Graph::new(args.nodes).await?;
    let relations = graph.rounds(args.rounds, heard).await?;
    graph.close().await?;
    let delta = number(&rounds, "/delta/vector/p50_ms") / number(&reads, "/baseline/p50_ms");
    let mut report =
        json!({"items": args.items, "dimensions": super::cloud::DIMENSIONS, "auditors": AGENTS - 1});
    merge(
        &mut report,
        json!({"scored": args.items - unscored, "scored_per_second": (args.items - unscored) as f64 / filled_s, "delta_to_baseline_p50": delta}),
    );
    merge(&mut report, reads);
    merge(&mut report, rounds);
    merge(&mut report, relations);
    Ok(report)
}

/// Writes everything, many at a time.
async fn fill_at_once(team: &Team, cloud: &Cloud, items: u64) -> Result<()> {
    let mut progress = Progress::of("writing items");
    for from in (0..items).step_by(AT_ONCE as usize) {
        let mut writes = Vec::new();
        for number in from..items.min(from + AT_ONCE) {
            writes.push(tokio::spawn(team.write(number as usize, number, false)?));
        }
        for write in writes {
            write.await??;
        }
        progress.at(from, items);
    }
    team.settled(cloud.query(0)).await
}

/// Writes everything in the round, one after the other, as scores are made.
async fn fill(team: &Team, cloud: &Cloud, items: Range<u64>) -> Result<f64> {
    let mut progress = Progress::of("writing and scoring items");
    let mut unused = Latencies::default();
    let began = now();
    let end = items.end;
    for number in items {
        if number.is_multiple_of(FILL_READS_EVERY) {
            for agent in 0..AGENTS {
                team.read(agent, cloud.query(number + agent as u64), &mut unused).await?;
            }
        }
        team.write(number as usize, number, true)?.await?;
        progress.at(number, end);
    }
    team.settled(cloud.query(0)).await?;
    Ok(began.elapsed().as_secs_f64())
}

/// Reads without and with trust, in turns and of the same memory: two that are filled alike still lie differently.
async fn reads(args: &BenchCalibrate, cloud: &Cloud, team: &Team) -> Result<Value> {
    let mut took = [Latencies::default(), Latencies::default()];
    for from in (0..args.queries).step_by(BLOCK as usize) {
        let queries: Vec<Vec<f32>> =
            (from..args.queries.min(from + BLOCK)).map(|number| cloud.query(1_000_000 + number)).collect();
        for (without, took) in [&[Knob::Trust][..], &[]].into_iter().zip(&mut took) {
            for (number, query) in queries.iter().enumerate() {
                team.read_without(without, number, query.clone(), took).await?;
            }
        }
    }
    let [plain, weighed] = took;
    Ok(json!({
        "baseline": plain.json(), "weighed": weighed.json(),
        "weighed_to_baseline_p50": weighed.ms(0.5) / plain.ms(0.5),
    }))
}

/// Rounds in which everybody reads and one writes, with and without.
async fn rounds(args: &BenchCalibrate, cloud: &Cloud, teams: [&Team; 2], heard: &Heard) -> Result<Value> {
    let mut writes = [Latencies::default(), Latencies::default()];
    let mut reads = [Latencies::default(), Latencies::default()];
    let mut scored =
        (Latencies::default(), [Latencies::default(), Latencies::default(), Latencies::default()]);
    let mut progress = Progress::of("playing rounds");
    for round in 0..args.rounds {
        for (place, team) in teams.into_iter().enumerate() {
            let (Some(reads), Some(writes)) = (reads.get_mut(place), writes.get_mut(place)) else { continue };
            for number in 0..AGENTS * READS {
                let query = cloud.query(2_000_000 + round * 64 + number as u64);
                team.read(number, query, reads).await?;
            }
            let write = team.write(round as usize, args.items + round, true)?;
            drop(heard.take("tabellion_memory_calibration_seconds"));
            for stage in STAGES {
                drop(heard.take(&format!("tabellion_memory_calibration_stage_seconds {stage}")));
            }
            let began = now();
            write.await?;
            writes.note(began.elapsed());
            scored.0.extend(&heard.take("tabellion_memory_calibration_seconds"));
            for (all, stage) in scored.1.iter_mut().zip(STAGES) {
                all.extend(&heard.take(&format!("tabellion_memory_calibration_stage_seconds {stage}")));
            }
        }
        progress.at(round, args.rounds);
    }
    Ok(told(&writes, &reads, &scored))
}

/// The parts of a score, as the engine's metrics name them.
const STAGES: [&str; 3] = ["density", "alignment", "gate"];

fn told(writes: &[Latencies; 2], reads: &[Latencies; 2], scored: &(Latencies, [Latencies; 3])) -> Value {
    let [_, own_writes] = writes;
    let [_, own_reads] = reads;
    let (whole, stages) = scored;
    let stages: serde_json::Map<String, Value> =
        STAGES.into_iter().zip(stages).map(|(name, took)| (name.to_owned(), took.json())).collect();
    let memory_s = own_writes.sum_s() + own_reads.sum_s();
    json!({
        "delta": {"vector": whole.json(), "scored": whole.len()},
        "stages": stages,
        "write": {"without": writes[0].json(), "with": own_writes.json()},
        "memory": {
            "reads_per_agent": READS, "seconds": memory_s, "calibration_seconds": whole.sum_s(),
            "calibration_share": whole.sum_s() / memory_s.max(f64::EPSILON),
        },
    })
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// What the figures have to reach (CAL acceptance 16, CAL-35).
fn bars(report: &Value) -> Vec<Bar> {
    let bar = |what: &str, path: &str, most: f64| Bar {
        what: what.to_owned(),
        found: number(report, path),
        bound: Bound::AtMost(most),
    };
    vec![
        bar("p50 of a read with trust, to one without", "/weighed_to_baseline_p50", 1.05),
        bar("p50 of a whole score, to a read without trust", "/delta_to_baseline_p50", 0.5),
        bar("scores, of the time that memory takes", "/memory/calibration_share", 0.10),
        bar("p50 of a score of five relations, to a walk of three steps", "/graph/delta_to_walk_p50", 1.0),
    ]
}

fn print(report: &Value, context: &Context) -> std::io::Result<()> {
    let line = |name: &str, path: &str| {
        let of = |place: &str| number(report, &format!("{path}/{place}"));
        format!(
            "  {name:<28} p50 {:>8.3} ms   p95 {:>8.3}   p99 {:>8.3}",
            of("p50_ms"),
            of("p95_ms"),
            of("p99_ms")
        )
    };
    let items = number(report, "/items");
    context
        .output
        .line(format!("{items} items, {} auditors, engines in memory", number(report, "/auditors")))?;
    for (name, path) in [
        ("read, without trust", "/baseline"),
        ("read, with trust", "/weighed"),
        ("score of a write", "/delta/vector"),
        ("  density", "/stages/density"),
        ("  alignment", "/stages/alignment"),
        ("  weights and gate", "/stages/gate"),
        ("write, not scored", "/write/without"),
        ("write, scored", "/write/with"),
        ("walk of three steps", "/graph/walk"),
        ("score of five relations", "/graph/delta"),
        ("write of five relations", "/graph/write"),
    ] {
        context.output.line(line(name, path))?;
    }
    Ok(())
}
