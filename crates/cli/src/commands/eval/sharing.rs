//! `eval sharing`: what does shared memory save, and does anybody see what they may not? Three scenarios, LLM-free.

mod asymmetric;
mod dynamic;
mod full;
mod oracle;
mod script;
mod team;

use crate::Context;
use crate::commands::bar::Bar;
use crate::output::{Kind, Sheet};
use crate::progress::Progress;
use anyhow::Result;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Measure what shared memory saves, and that nobody sees what they may not
///
/// Three teams of users and agents ask for facts: memory is searched first, a resource is called for what is missing, and what it
/// said is remembered. S1: everyone may invoke every agent. S2: four roles with different reach. S3: edges come and go.
/// Every figure stands beside that of an oracle in plain sets and beside the published one; whatever a caller is shown is
/// held against the oracle too. Each run has an engine of its own, in memory. Ends with 1 if a bar is missed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion eval sharing
  tabellion eval sharing --scenarios s3 --json
  tabellion eval sharing --seeds 1 --queries 20 --projects 20 --runs 2

docs/eval.md says what is played and measured.")]
pub(crate) struct EvalSharing {
    /// Which scenarios
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Scenario::S1, Scenario::S2, Scenario::S3], value_name = "NAME,…")]
    scenarios: Vec<Scenario>,
    /// How many seeds the figures are means over
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// S1: queries of a user
    #[arg(long, default_value_t = full::QUERIES as u64, value_name = "N", value_parser = clap::value_parser!(u64).range(5..=1_000))]
    queries: u64,
    /// S1: of a hundred queries, those that all users have in common
    #[arg(long, value_delimiter = ',', default_values_t = full::COMMON.map(|(common, ..)| common as u64), value_name = "PERCENT,…", value_parser = clap::value_parser!(u64).range(0..=100))]
    common: Vec<u64>,
    /// S2: projects
    #[arg(long, default_value_t = asymmetric::PROJECTS as u64, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1_000))]
    projects: u64,
    /// S3: runs with edges by chance, beside the table
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_000))]
    runs: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// Everyone may invoke every agent
    S1,
    /// Four roles with different reach
    S2,
    /// Edges come and go
    S3,
}

/// The mean; of nothing, nothing.
fn mean(all: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = all.fold((0.0, 0u32), |(sum, count), one| (sum + one, count + 1));
    sum / f64::from(count.max(1))
}

pub(super) fn run(args: &EvalSharing, context: &Context) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(measured(args))?;
    let mut bars = report.get("s1").map(full::bars).unwrap_or_default();
    bars.extend(report.get("s2").map(asymmetric::bars).unwrap_or_default());
    bars.extend(report.get("s3").map(dynamic::bars).unwrap_or_default());
    let all_met = bars.iter().all(Bar::is_met);
    if context.output.is_json() {
        let mut report = report;
        let told: Vec<Value> = bars.iter().map(Bar::json).collect();
        super::super::set(&mut report, "bars", Some(json!(told)));
        super::super::set(&mut report, "passed", Some(json!(all_met)));
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, context)?;
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(if all_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measured(args: &EvalSharing) -> Result<Value> {
    let plays = |scenario: Scenario| args.scenarios.contains(&scenario);
    let seeds: Vec<u64> = (0..args.seeds).collect();
    let common = args.common.iter().map(|common| usize::try_from(*common)).collect::<Result<Vec<_>, _>>()?;
    let total = u64::from(plays(Scenario::S1)) * 2 * args.seeds * common.len() as u64
        + u64::from(plays(Scenario::S2)) * 2 * args.seeds
        + u64::from(plays(Scenario::S3)) * (args.seeds + args.runs);
    let mut progress = Progress::of("playing scenarios");
    let mut played = 0;
    let mut done = || {
        played += 1;
        progress.at(played, total);
    };
    let mut report = json!({});
    if plays(Scenario::S1) {
        let s1 = full::measured(&seeds, usize::try_from(args.queries)?, &common, &mut done).await?;
        super::super::set(&mut report, "s1", Some(s1));
    }
    if plays(Scenario::S2) {
        let s2 = asymmetric::measured(&seeds, usize::try_from(args.projects)?, &mut done).await?;
        super::super::set(&mut report, "s2", Some(s2));
    }
    if plays(Scenario::S3) {
        let s3 = dynamic::measured(&seeds, args.runs, &mut done).await?;
        super::super::set(&mut report, "s3", Some(s3));
    }
    Ok(report)
}

fn number(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_f64).map_or_else(String::new, |number| format!("{number:.2}"))
}

fn print(report: &Value, context: &Context) -> std::io::Result<()> {
    let output = &context.output;
    if let Some(s1) = report.get("s1") {
        output
            .line("S1, everyone may invoke every agent: calls a query, and what sharing saves in percent")?;
        output.sheet(&s1_sheet(s1))?;
        output.line("")?;
    }
    if let Some(s2) = report.get("s2") {
        output.line("S2, four roles with different reach: calls a project")?;
        output.sheet(&s2_sheet(s2))?;
        output.line("")?;
    }
    if let Some(s3) = report.get("s3") {
        output.line("S3, edges come and go: of 100 queries at each step")?;
        output.sheet(&s3_sheet(s3))?;
        output.line("")?;
    }
    Ok(())
}

fn s1_sheet(s1: &Value) -> Sheet {
    let mut sheet = Sheet::new([
        ("common %", Kind::Number),
        ("isolated", Kind::Number),
        ("shared", Kind::Number),
        ("saved", Kind::Number),
        ("oracle", Kind::Number),
        ("published", Kind::Number),
        ("last fifth", Kind::Number),
        ("oracle's", Kind::Number),
        ("reference", Kind::Number),
    ]);
    for mix in s1.get("mixes").and_then(Value::as_array).into_iter().flatten() {
        sheet.row([
            number(mix, "/common"),
            number(mix, "/isolated/calls_per_query"),
            number(mix, "/shared/calls_per_query"),
            number(mix, "/reduction"),
            number(mix, "/oracle/reduction"),
            number(mix, "/published/reduction"),
            number(mix, "/last_bin_reduction"),
            number(mix, "/oracle/last_bin_reduction"),
            number(mix, "/published/reference_reduction"),
        ]);
    }
    sheet
}

fn s2_sheet(s2: &Value) -> Sheet {
    let mut sheet = Sheet::new([
        ("role", Kind::Text),
        ("isolated", Kind::Number),
        ("oracle", Kind::Number),
        ("asymmetric", Kind::Number),
        ("oracle", Kind::Number),
        ("published", Kind::Number),
        ("unchecked", Kind::Number),
    ]);
    for (user, role) in s2.get("roles").and_then(Value::as_array).into_iter().flatten().enumerate() {
        sheet.row([
            role.as_str().unwrap_or_default().to_owned(),
            number(s2, &format!("/isolated/{user}")),
            number(s2, &format!("/oracle/isolated/{user}")),
            number(s2, &format!("/asymmetric/{user}")),
            number(s2, &format!("/oracle/asymmetric/{user}")),
            number(s2, &format!("/published/asymmetric/{user}")),
            number(s2, &format!("/oracle/unchecked/{user}")),
        ]);
    }
    sheet
}

fn s3_sheet(s3: &Value) -> Sheet {
    let mut sheet = Sheet::new([
        ("step", Kind::Text),
        ("answered", Kind::Number),
        ("published", Kind::Number),
        ("calls, isolated", Kind::Number),
        ("calls, shared", Kind::Number),
        ("oracle", Kind::Number),
    ]);
    let whole = |path: String| {
        s3.pointer(&path).and_then(Value::as_u64).map_or_else(String::new, |count| count.to_string())
    };
    let steps = s3.pointer("/table/answered").and_then(Value::as_array).map_or(0, Vec::len);
    for step in 0..steps {
        sheet.row([
            format!("t{step}"),
            whole(format!("/table/answered/{step}")),
            whole(format!("/table/published/answered/{step}")),
            whole(format!("/table/calls_isolated/{step}")),
            whole(format!("/table/calls_shared/{step}")),
            whole(format!("/table/oracle/calls_shared/{step}")),
        ]);
    }
    sheet
}
