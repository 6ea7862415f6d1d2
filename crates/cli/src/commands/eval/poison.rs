//! `eval poison`: how far do liars get in what a team remembers of real conversations, and what do gates change about that?

mod bars;
mod crew;
mod lies;
mod play;
mod script;

use super::conversation::{Conversation, read_all};
use super::locomo::embedding;
use crate::Context;
use crate::commands::bar::Bar;
use crate::output::{Kind, Sheet};
use crate::progress::Progress;
use anyhow::{Context as _, Result, ensure};
use crew::Remembering;
use lies::Sort;
use play::{Gates, Played, Setup, play};
use script::{Cast, script};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tabellion_engine::ports::Embedder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Measure how far liars get in what a team remembers of real conversations
///
/// Six agents of six users remember what was observed in each conversation of LoCoMo, up to three of them write lies beside it, and
/// then questions are asked that nobody asked before. The same is played with nothing that keeps lies out, with calibration alone,
/// with the other gates alone and with all of it, each sort of lie by itself. Everything goes through an engine of its own, in
/// memory, with its default search. Ends with 1 if a bar is missed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion eval poison --data locomo
  tabellion eval poison --data locomo --conversations 1 --liars 0,3 --gates off,all --seeds 1 --json
  tabellion eval poison --data locomo --sorts magnets --listed fates.ndjson
  tabellion eval poison --data locomo --sorts magnets --liars 0,3 --gates off,calibration --no-round

docs/calibration.md says what is played and measured.")]
pub(crate) struct EvalPoison {
    /// The folder with the conversations, a JSON file each
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What turns texts into vectors (default: auto, which takes MiniLM if its files are there)
    #[arg(long, value_name = "MODEL", value_parser = ["auto", "minilm", "http", "hashed"])]
    embedder: Option<String>,
    /// The folder with the files of MiniLM (default: model, or target/model)
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// How many seeds the figures are means over
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// How many agents of six lie
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 2, 3], value_name = "N,…", value_parser = clap::value_parser!(u8).range(0..=3))]
    liars: Vec<u8>,
    /// What they write
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Sort::ALL, value_name = "SORT,…")]
    sorts: Vec<Sort>,
    /// What keeps it out
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Gates::EVERY, value_name = "GATES,…")]
    gates: Vec<Gates>,
    /// Only so many conversations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    conversations: Option<u64>,
    /// Measure at most so many questions about each conversation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    questions: Option<u64>,
    /// Searches of each other agent before a write
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16))]
    reads: u64,
    /// Declare no round: what is written is scored by how it lies alone, and only a magnet is kept apart
    #[arg(long)]
    no_round: bool,
    /// Write what became of each write and how it was scored, a JSON object a line
    #[arg(long, value_name = "FILE")]
    listed: Option<PathBuf>,
}

pub(super) fn run(args: &EvalPoison, context: &Context) -> Result<ExitCode> {
    let conversations: Arc<[Conversation]> = read(args)?.into();
    let model = embedding(args.embedder.as_deref(), args.model.as_ref())?.open(None)?;
    let model = model.context("without a model nothing is scored; take another --embedder")?;
    let named = model.model().to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cases = runtime.block_on(measured(args, &conversations, Arc::new(Remembering::new(model))))?;
    let bars = if args.no_round { bars::without_a_round(&cases) } else { bars::bars(&cases) };
    let bars: Vec<Bar> = bars.into_iter().filter(|bar| !bar.found.is_nan()).collect();
    let all_met = bars.iter().all(Bar::is_met);
    let report = report(args, &conversations, &named, &cases);
    if context.output.is_json() {
        let told: Vec<Value> = bars.iter().map(Bar::json).collect();
        let mut report = report;
        super::super::set(&mut report, "bars", Some(json!(told)));
        super::super::set(&mut report, "passed", Some(json!(all_met)));
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, &cases, context)?;
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(if all_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(args: &EvalPoison) -> Result<Vec<Conversation>> {
    let mut conversations = read_all(&args.data)?;
    conversations.retain(|one| !one.observations.is_empty());
    conversations
        .truncate(args.conversations.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)));
    ensure!(
        !conversations.is_empty(),
        "no conversation in {} has `observations`, so there is nothing to remember; docs/calibration.md says what they are",
        args.data.display()
    );
    Ok(conversations)
}

/// What was played; a figure is a mean over seeds.
struct Case {
    gates: Gates,
    /// None where nobody lies.
    sort: Option<Sort>,
    liars: usize,
    /// One for each seed.
    played: Vec<Played>,
}

impl Case {
    fn mean(&self, of: impl Fn(&Played) -> f64) -> (f64, f64) {
        super::seeds::mean(self.played.iter().map(of))
    }

    fn json(&self) -> Value {
        let told = |of: &dyn Fn(&Played) -> f64| {
            let (mean, deviation) = self.mean(of);
            json!({"mean": mean, "sd": deviation})
        };
        let mut sum = Played::default();
        self.played.iter().for_each(|one| sum.add(one));
        json!({
            "gates": self.gates.as_str(),
            "sort": self.sort.map(Sort::as_str),
            "liars": self.liars,
            "poison_top5": told(&|one| one.reached()[0]),
            "poison_top10": told(&|one| one.reached()[1]),
            "gold_recall5": told(&|one| one.recall()[0]),
            "gold_recall10": told(&|one| one.recall()[1]),
            "poison_in": told(&Played::poison_in),
            "honest_out": told(&Played::honest_out),
            "honest_staged": told(&Played::honest_staged),
            "audited_out": told(&Played::audited_out),
            "counts": {
                "poison": sum.poison, "poison_out": sum.poison_out, "honest": sum.honest, "audited": sum.audited, "honest_out": sum.honest_out,
                "questions": sum.questions,
            },
        })
    }
}

fn report(args: &EvalPoison, conversations: &[Conversation], model: &str, cases: &[Case]) -> Value {
    let cast = Cast { sort: None, liars: 0, seed: 0, reads: 1, questions_max: questions_max(args) };
    let scripts: Vec<_> = conversations.iter().map(|one| script(one, &cast)).collect();
    json!({
        "conversations": conversations.len(),
        "observations": scripts.iter().map(|one| one.observations.len()).sum::<usize>(),
        "known_before": scripts.iter().map(|one| one.before).sum::<usize>(),
        "questions": {
            "measured": scripts.iter().map(|one| one.measured.len()).sum::<usize>(),
            "probes": scripts.iter().map(|one| one.probes).sum::<usize>(),
            "split": "by seed: what is measured was never searched for before",
        },
        "model": model, "in_round": !args.no_round, "seeds": args.seeds, "reads": args.reads,
        "cases": cases.iter().map(Case::json).collect::<Vec<_>>(),
    })
}

fn questions_max(args: &EvalPoison) -> usize {
    args.questions.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

fn print(report: &Value, cases: &[Case], context: &Context) -> Result<()> {
    let number = |path: &str| report.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    context.output.line(format!(
        "{} questions about {} observations of {} conversations; {} other questions are what agents work on\n",
        number("/questions/measured"),
        number("/observations"),
        number("/conversations"),
        number("/questions/probes"),
    ))?;
    let mut sheet = Sheet::new([
        ("poison", Kind::Text),
        ("liars", Kind::Number),
        ("gates", Kind::Text),
        ("in top 5", Kind::Number),
        ("in top 10", Kind::Number),
        ("gold@5", Kind::Number),
        ("gold@10", Kind::Number),
        ("let in", Kind::Number),
        ("honest kept out", Kind::Number),
        ("of audited", Kind::Number),
    ]);
    let share = |(mean, deviation): (f64, f64)| format!("{:.1} ±{:.1} %", 100.0 * mean, 100.0 * deviation);
    for case in cases {
        sheet.row([
            case.sort.map_or("none", Sort::as_str).to_owned(),
            case.liars.to_string(),
            case.gates.as_str().to_owned(),
            share(case.mean(|one| one.reached()[0])),
            share(case.mean(|one| one.reached()[1])),
            share(case.mean(|one| one.recall()[0])),
            share(case.mean(|one| one.recall()[1])),
            if case.liars == 0 { "–".to_owned() } else { share(case.mean(Played::poison_in)) },
            share(case.mean(Played::honest_out)),
            share(case.mean(Played::audited_out)),
        ]);
    }
    Ok(context.output.sheet(&sheet)?)
}

/// A case as it is told apart while its runs come in.
type Place = (usize, Option<Sort>, Gates);
/// What one run came to: where, of which seed, and what became of each write.
type Run = (Place, u64, Played, Vec<Value>);

fn places(args: &EvalPoison) -> Vec<Place> {
    let mut places = Vec::new();
    for liars in args.liars.iter().map(|liars| usize::from(*liars)) {
        let sorts: Vec<Option<Sort>> = match liars {
            0 => vec![None],
            _ => args.sorts.iter().copied().map(Some).collect(),
        };
        for sort in sorts {
            places.extend(args.gates.iter().map(|gates| (liars, sort, *gates)));
        }
    }
    places.sort_unstable_by_key(|(liars, sort, gates)| (*sort, *liars, *gates));
    places.dedup();
    places
}

/// Plays everything, as many runs at a time as there are cores.
async fn measured(
    args: &EvalPoison,
    conversations: &Arc<[Conversation]>,
    embedder: Arc<dyn Embedder>,
) -> Result<Vec<Case>> {
    let places = places(args);
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let room = Arc::new(Semaphore::new(at_once));
    let mut runs: JoinSet<Result<Run>> = JoinSet::new();
    for seed in 0..args.seeds {
        for place in &places {
            let (liars, sort, gates) = *place;
            let (reads, questions_max) = (usize::try_from(args.reads)?, questions_max(args));
            let cast = Cast { sort, liars, seed, reads, questions_max };
            let (embedder, lists, in_round) = (Arc::clone(&embedder), args.listed.is_some(), !args.no_round);
            let setup = Setup { gates, seed, embedder, lists, in_round };
            let (room, conversations, place) = (Arc::clone(&room), Arc::clone(conversations), *place);
            runs.spawn(async move {
                let _held = room.acquire_owned().await?;
                let of =
                    |(number, one)| script(one, &Cast { seed: cast.seed ^ (number as u64) << 32, ..cast });
                let scripts: Vec<_> = conversations.iter().enumerate().map(of).collect();
                let (played, listed) = play(&scripts, setup).await?;
                Ok((place, seed, played, listed))
            });
        }
    }
    gathered(args, places, runs).await
}

async fn gathered(
    args: &EvalPoison,
    places: Vec<Place>,
    mut runs: JoinSet<Result<Run>>,
) -> Result<Vec<Case>> {
    let mut listed = args
        .listed
        .as_deref()
        .map(File::create)
        .transpose()
        .context("cannot write the list")?
        .map(BufWriter::new);
    let mut progress = Progress::of("playing");
    let (mut done, total) = (0, runs.len() as u64);
    let mut sums: BTreeMap<(Place, u64), Played> = BTreeMap::new();
    while let Some(run) = runs.join_next().await {
        let (place, seed, played, fates) = run??;
        sums.insert((place, seed), played);
        if let Some(file) = &mut listed {
            for fate in fates {
                let (liars, sort, gates) = place;
                let line = json!({"liars": liars, "sort": sort.map(Sort::as_str), "gates": gates.as_str(), "seed": seed, "write": fate});
                writeln!(file, "{line}")?;
            }
        }
        done += 1;
        progress.at(done, total);
    }
    if let Some(mut file) = listed {
        file.flush()?;
    }
    let case = |place: Place| {
        let (liars, sort, gates) = place;
        let played = (0..args.seeds).filter_map(|seed| sums.get(&(place, seed)).cloned()).collect();
        Case { gates, sort, liars, played }
    };
    Ok(places.into_iter().map(case).collect())
}
