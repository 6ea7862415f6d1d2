//! `eval calibration`: do lies reach shared memory, and what does keeping them out cost? Two worlds, LLM-free.

mod bars;
mod graph;
mod graph_bars;
mod graph_play;
mod picture;
mod play;
mod prototype;
mod team;
mod ties;
mod vectors;

use crate::Context;
use crate::commands::bar::Bar;
use crate::output::{Kind, Sheet};
use crate::progress::Progress;
use anyhow::{Context as _, Result};
use play::{Attack, Defence, Played, Setup};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_core::trust::{Parts, Profile};

/// Measure whether lies reach shared memory, and what keeping them out costs
///
/// Six agents of six users write into one memory, some of whom lie. Every search and write goes through an engine of its own, in
/// memory; the simulation only places texts. Each figure is a mean over seeds and stands beside that of a prototype. Ends with 1 if a
/// bar is missed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion eval calibration
  tabellion eval calibration --seeds 1 --rounds 60 --json
  tabellion eval calibration --only 'A2 persistent' --svg rounds.svg

docs/eval.md says what is played and measured.")]
pub(crate) struct EvalCalibration {
    /// How many seeds the figures are means over
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Rounds of a run
    #[arg(long, default_value_t = prototype::ROUNDS, value_name = "N", value_parser = clap::value_parser!(u64).range(12..=10_000))]
    rounds: u64,
    /// Searches of each agent before a write
    #[arg(long, default_value_t = prototype::READS, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16))]
    reads: u64,
    /// Which world is played: texts as vectors (v), relations as a graph (g), or both
    #[arg(long, value_enum, default_value_t = World::Both)]
    world: World,
    /// Only cases whose name holds one of these words
    #[arg(long, value_delimiter = ',', value_name = "WORD,…")]
    only: Vec<String>,
    /// Draw hits, poison and credibility over the rounds into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum World {
    /// Texts, as vectors
    V,
    /// Relations, as a graph
    G,
    /// One after the other
    Both,
}

impl World {
    const fn holds(self, world: Self) -> bool {
        matches!((self, world), (Self::Both, _) | (Self::V, Self::V) | (Self::G, Self::G))
    }
}

pub(super) fn run(args: &EvalCalibration, context: &Context) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cases = runtime.block_on(measured(args))?;
    let mut bars = Vec::new();
    let is_comparable = (args.rounds, args.reads) == (prototype::ROUNDS, prototype::READS);
    for world in [World::V, World::G].into_iter().filter(|world| args.world.holds(*world)) {
        let is_graph = world == World::G;
        bars.extend(if is_graph { graph_bars::bars(&cases) } else { bars::bars(&cases) });
        let played = cases.iter().filter(|case| case.name.starts_with(graph_bars::WORLD) == is_graph);
        bars.extend(prototype::bar(if is_graph { "G" } else { "V" }, played).filter(|_| is_comparable));
    }
    if !args.only.is_empty() {
        bars.retain(|bar| !bar.found.is_nan());
    }
    let all_met = bars.iter().all(Bar::is_met);
    if let Some(path) = &args.svg {
        std::fs::write(path, picture::drawn(&cases))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    if context.output.is_json() {
        let all: Vec<Value> = cases.iter().map(Case::json).collect();
        let told: Vec<Value> = bars.iter().map(Bar::json).collect();
        let report = json!({
            "world": if args.world == World::Both { "V and G" } else if args.world == World::V { "V" } else { "G" }, "seeds": args.seeds, "rounds": args.rounds, "reads": args.reads,
            "cases": all, "bars": told, "passed": all_met,
        });
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&cases, context)?;
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(if all_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was played, and what each seed came to.
struct Case {
    name: String,
    /// Whether it is what a server does.
    shipped: bool,
    adversaries: usize,
    played: Vec<Played>,
    /// What a prototype came to: hits, poison let in, honest writes kept apart.
    prototype: Option<[Option<f64>; 3]>,
}

impl Case {
    /// The mean over seeds, and how far they lie apart.
    fn mean(&self, of: impl Fn(&Played) -> f64) -> (f64, f64) {
        super::seeds::mean(self.played.iter().map(of))
    }

    fn json(&self) -> Value {
        let told = |(mean, deviation): (f64, f64)| json!({"mean": mean, "sd": deviation});
        json!({
            "name": self.name,
            "adversaries": self.adversaries,
            "poison_in": told(self.mean(Played::poison_in)),
            "weighed_poison_in": told(self.mean(Played::weighed_poison_in)),
            "honest_staged": told(self.mean(Played::honest_staged)),
            "poison_promoted": told(self.mean(|played| played.promoted.0 as f64)),
            "honest_promoted": told(self.mean(|played| played.promoted.1 as f64)),
            "hit_before": told(self.mean(|played| played.hit_before)),
            "hit": told(self.mean(|played| played.hit)),
            "caught": told(self.mean(|played| played.caught(self.adversaries, bars::LAST))),
            "each": self.played.iter().map(|played| json!([played.hit, played.poison_in(), played.honest_staged()])).collect::<Vec<_>>(),
            "hit_hubs": told(self.mean(|played| played.hit_hubs)),
            "muted_after": told(self.mean(|played| played.muted_after(self.adversaries))),
            "credibility": self.played.first().map(|played| &played.credibility),
            "prototype": self.prototype.map(|[hit, poison, staged]| json!({
                "hit": hit, "poison_in": poison, "honest_staged": staged,
            })),
        })
    }
}

fn print(cases: &[Case], context: &Context) -> Result<()> {
    let mut sheet = Sheet::new([
        ("world", Kind::Text),
        ("hit@5", Kind::Number),
        ("poison in", Kind::Number),
        ("honest kept apart", Kind::Number),
        ("prototype", Kind::Text),
    ]);
    for case in cases {
        let share =
            |(mean, deviation): (f64, f64)| format!("{:.1} ±{:.1} %", 100.0 * mean, 100.0 * deviation);
        let of = |value: Option<f64>| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
        };
        let prototype = case.prototype.map_or_else(String::new, |figures| figures.map(of).join(" / "));
        let cells = [
            case.name.clone(),
            share(case.mean(|played| played.hit)),
            share(case.mean(Played::poison_in)),
            share(case.mean(Played::honest_staged)),
            prototype,
        ];
        sheet.row(cells);
    }
    Ok(context.output.sheet(&sheet)?)
}

type Figures = Option<[Option<f64>; 3]>;
/// A case: its name, how liars lie, how many, what keeps them out, and what a prototype came to.
type Planned = (String, Attack, usize, Defence, Figures);

/// What is played: its name, how liars lie, how many, what keeps them out, and what a prototype came to.
fn cases() -> Vec<Planned> {
    let ship = Defence::ship();
    let mut cases =
        vec![("ship k=0".to_owned(), Attack::None, 0, ship, Some([Some(0.961), None, Some(0.088)]))];
    let known = |attack: Attack, k: usize| match (attack, k) {
        (Attack::Local, 1) => Some([Some(0.974), Some(0.01), Some(0.07)]),
        (Attack::Local, 3) => Some([Some(0.981), Some(0.05), Some(0.05)]),
        (Attack::Persistent, 1) => Some([Some(0.974), Some(0.01), Some(0.07)]),
        (Attack::Persistent, 3) => Some([Some(0.971), Some(0.03), Some(0.09)]),
        _ => None,
    };
    for k in [1, 2, 3] {
        for (name, attack) in [
            ("A1 global", Attack::Global),
            ("A1 local", Attack::Local),
            ("A2 persistent", Attack::Persistent),
            ("A2 selective", Attack::Selective),
            ("A2 adaptive", Attack::Adaptive),
            ("A3 targeted", Attack::Targeted),
        ] {
            cases.push((format!("ship {name} k={k}"), attack, k, ship, known(attack, k)));
        }
    }
    for (name, defence, at_rest, attacked) in [
        ("vanilla", Defence::Vanilla, None, Some([Some(0.43), Some(1.0), Some(0.0)])),
        ("majority", Defence::Majority, None, Some([Some(0.32), Some(0.96), Some(1.0)])),
        ("isolated", Defence::Isolated, None, None),
        (
            "ref",
            Defence::Calibrated(Profile::Ref, Parts::default()),
            Some([Some(0.64), None, Some(0.70)]),
            Some([Some(0.80), Some(0.15), Some(0.49)]),
        ),
    ] {
        cases.push((format!("{name} k=0"), Attack::None, 0, defence, at_rest));
        cases.push((format!("{name} A1 local k=3"), Attack::Local, 3, defence, attacked));
    }
    let all = Parts::default();
    for (name, parts, poison) in [
        ("detect", Parts { detect: false, ..all }, Some(0.87)),
        ("align", Parts { align: false, ..all }, Some(0.07)),
        ("weights", Parts { weights: false, ..all }, None),
    ] {
        let defence = Defence::Calibrated(Profile::Ship, parts);
        let figures = poison.map(|poison| [None, Some(poison), None]);
        cases.push((format!("ship without {name} A1 local k=3"), Attack::Local, 3, defence, figures));
    }
    cases
}

async fn measured(args: &EvalCalibration) -> Result<Vec<Case>> {
    let mut progress = Progress::of("playing rounds");
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|word| name.contains(word));
    let mut cases = if args.world.holds(World::V) { cases() } else { Vec::new() };
    if args.world.holds(World::G) {
        cases.extend(graph_bars::cases());
    }
    cases.retain(|(name, ..)| wanted(name));
    let total = cases.len() as u64 * args.seeds;
    let (rounds, reads) = (usize::try_from(args.rounds)?, usize::try_from(args.reads)?);
    let (mut all, mut done) = (Vec::new(), 0);
    for (name, attack, adversaries, defence, prototype) in cases {
        let mut played = Vec::new();
        for seed in 0..args.seeds {
            let setup = Setup { attack, adversaries, defence, seed, rounds, reads };
            let is_graph = name.starts_with(graph_bars::WORLD);
            played.push(if is_graph { graph_play::play(&setup).await? } else { play::play(&setup).await? });
            done += 1;
            progress.at(done, total);
        }
        let shipped = defence == Defence::ship();
        all.push(Case { name, shipped, adversaries, played, prototype });
    }
    Ok(all)
}
