//! `bench search`: nearest vectors under what a caller may see, beside the same index asked without any limit.

use super::bare::now;
use super::cloud::{Chance, Cloud, DIMENSIONS};
use super::latency::{Bar, Bound, Latencies};
use super::whole;
use crate::Context;
use anyhow::{Context as _, Result, anyhow};
use roaring::RoaringBitmap;
use serde_json::{Value, json};
use std::process::{Command, ExitCode, Stdio};
use tabellion_core::vector::{Allowed, Centroids, Effort, Lists, Near, VectorView};
use tabellion_core::view::Row;

/// Results of each query.
pub(super) const K: usize = 10;
/// Queries of a block; blocks of all callers take turns, so that a busy machine slows all of them alike.
const BLOCK: u64 = 100;
const BLOCKS: u64 = 10;
/// Queries answered exactly too.
const COMPARED: u64 = 200;
/// Vectors drawn before they are put in.
const DRAWN: u64 = 1_024;
/// Rows are dealt out in parts of this many: who sees a hundredth sees a thousand of them.
const PARTS: u64 = 100_000;
/// More items than this are not written through the engine: that would take minutes.
const WHOLE_ITEMS_MAX: u64 = 100_000;
/// The engine makes its lists from this seed.
const SEED: u64 = 1;

/// Measure search by meaning
///
/// For each number of items: vectors of 384 dimensions around 2,000 centers, searched by callers who see all of them, or
/// 50, 10, 1 or 0.1 in a hundred. Each is held against an exact search (recall) and against the same index asked without
/// any limit (p50). Up to 100,000 items the whole path through the engine is measured too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tabellion bench search\n  tabellion bench search --items 10000,100000 --no-engine --json"
)]
pub(crate) struct BenchSearch {
    /// How many items
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000], value_name = "N,…")]
    items: Vec<u64>,
    /// What callers see, in a hundred
    #[arg(long, value_delimiter = ',', default_values_t = [100.0, 50.0, 10.0, 1.0, 0.1], value_name = "SHARE,…")]
    seen: Vec<f64>,
    /// How far items lie from their center, where centers lie 1 from the middle
    #[arg(long, default_value_t = 0.5)]
    spread: f32,
    /// Leave out the path through the engine
    #[arg(long)]
    no_engine: bool,
}

pub(super) fn run(args: &BenchSearch, context: &Context) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for &items in &args.items {
        let row = if args.items.len() > 1 { in_a_process(args, items)? } else { one(args, items)? };
        if !context.output.is_json() {
            print(&row, context)?;
        }
        rows.push(row);
    }
    let bars = bars(&rows);
    if context.output.is_json() {
        let bars: Vec<Value> = bars.iter().map(Bar::json).collect();
        let report = json!({"spread": args.spread, "rows": rows, "bars": bars});
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Each number of items has a process of its own: memory that was used before would not show.
fn in_a_process(args: &BenchSearch, items: u64) -> Result<Value> {
    let seen: Vec<String> = args.seen.iter().map(ToString::to_string).collect();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "search", "--json", "--items", &items.to_string(), "--seen", &seen.join(",")]);
    command.args(["--spread", &args.spread.to_string()]).args(args.no_engine.then_some("--no-engine"));
    let done = command.stderr(Stdio::inherit()).output()?;
    let report: Value = serde_json::from_slice(&done.stdout).context("a benchmark process failed")?;
    report.pointer("/rows/0").cloned().context("a benchmark process measured nothing")
}

fn one(args: &BenchSearch, items: u64) -> Result<Value> {
    let cloud = Cloud::new(args.spread);
    let (built, build) = Built::new(&cloud, items)?;
    let mut row = measured(&built, &cloud, &args.seen)?;
    merge(&mut row, json!({"build": build}));
    if !args.no_engine && items <= WHOLE_ITEMS_MAX {
        progress(&format!("{items} items: through the engine"));
        merge(&mut row, json!({"engine": whole::measured(&built.view, &cloud, items)?}));
    }
    Ok(row)
}

/// What the engine knows of a row, as far as it decides who sees it.
struct Version {
    /// Its part: who sees a share of the rows sees the parts below it.
    place: u64,
    since: u64,
    until: u64,
}

/// An index, and what decides who sees what.
struct Built {
    view: VectorView,
    versions: Vec<Version>,
}

impl Built {
    /// Draws vectors and puts them in as the engine does, one by one and then into lists.
    fn new(cloud: &Cloud, items: u64) -> Result<(Self, Value)> {
        progress(&format!("{items} items: index"));
        // Room for what is drawn is taken before memory is measured.
        drop(drawn(cloud, 0..DRAWN));
        let before = resident_bytes()?;
        let mut view = VectorView::new(DIMENSIONS);
        let mut inserting = 0.0;
        for from in (0..items).step_by(DRAWN as usize) {
            let vectors = drawn(cloud, from..items.min(from + DRAWN));
            let began = now();
            for (number, vector) in (from..).zip(&vectors) {
                view.insert(Row::try_from(number)?, vector)?;
            }
            inserting += began.elapsed().as_secs_f64();
        }
        let began = now();
        if view.wants_lists() {
            let centroids = Centroids::train(&view.sample(SEED), view.lists_wanted(), SEED);
            let mut lists = Lists::new(centroids.context("no vectors to learn from")?);
            view.assign(&mut lists, 0..Row::try_from(items)?);
            view.adopt(lists);
        }
        let listing = began.elapsed().as_secs_f64();
        let bytes = resident_bytes()?.saturating_sub(before);
        let build = json!({
            "insert_s": inserting, "lists_s": listing, "per_second": items as f64 / (inserting + listing),
            "bytes": bytes, "bytes_per_vector": bytes as f64 / items as f64,
        });
        let mut places: Vec<u64> = (0..items).map(|number| number * PARTS / items.max(1)).collect();
        let mut chance = Chance::new(3);
        for at in (1..places.len()).rev() {
            places.swap(at, usize::try_from(chance.next() % (at as u64 + 1))?);
        }
        let version = |(since, place)| Version { place, since, until: u64::MAX };
        let versions = (0..).zip(places).map(version).collect();
        Ok((Self { view, versions }, build))
    }

    fn visible(&self, share: u64) -> RoaringBitmap {
        (0..).zip(&self.versions).filter(|(_, version)| version.place < share).map(|(row, _)| row).collect()
    }

    fn bare(&self, query: &[f32]) -> Result<Vec<Near>> {
        Ok(self.view.search(
            query,
            &Allowed { rows: None, admits: &|_| true, weights: &[] },
            K,
            Effort::Planned,
        )?)
    }
}

/// Who sees a share of the rows.
struct Caller<'a> {
    built: &'a Built,
    share: u64,
    rows: RoaringBitmap,
}

impl Caller<'_> {
    fn search(&self, query: &[f32], effort: Effort) -> Result<Vec<Near>> {
        let at = self.built.versions.len() as u64;
        let admits = |row: Row| {
            let version = self.built.versions.get(row as usize);
            version.is_some_and(|version| {
                version.place < self.share && version.since <= at && at < version.until
            })
        };
        Ok(self.built.view.search(
            query,
            &Allowed { rows: Some(&self.rows), admits: &admits, weights: &[] },
            K,
            effort,
        )?)
    }
}

fn measured(built: &Built, cloud: &Cloud, seen: &[f64]) -> Result<Value> {
    let items = built.view.len();
    progress(&format!("{items} items: queries"));
    let queries: Vec<Vec<f32>> = (0..BLOCK * BLOCKS).map(|number| cloud.query(number)).collect();
    let shares = seen.iter().map(|percent| (percent / 100.0 * PARTS as f64).round() as u64);
    let callers: Vec<Caller<'_>> =
        shares.map(|share| Caller { built, share, rows: built.visible(share) }).collect();
    let mut bare = Latencies::default();
    let mut latencies = vec![Latencies::default(); callers.len()];
    for block in queries.chunks(BLOCK as usize) {
        for query in block {
            bare.time(|| built.bare(query))?;
        }
        for (caller, latencies) in callers.iter().zip(&mut latencies) {
            for query in block {
                latencies.time(|| caller.search(query, Effort::Planned))?;
            }
        }
    }
    progress(&format!("{items} items: recall"));
    let compared = queries.get(..COMPARED as usize).unwrap_or(&queries);
    let rows = callers.iter().zip(&latencies).map(|(caller, latencies)| {
        let (recall, short) = recall(caller, compared)?;
        let mut row = latencies.json();
        let more = json!({
            "share": caller.share as f64 / PARTS as f64, "rows": caller.rows.len(),
            "qps_1": latencies.per_second(), "qps_2": qps_on_two(&queries, &|query| caller.search(query, Effort::Planned))?,
            "ratio": latencies.ms(0.5) / bare.ms(0.5), "ratio_p95": latencies.ms(0.95) / bare.ms(0.95),
            "recall": recall, "short": short,
        });
        merge(&mut row, more);
        Ok(row)
    });
    let rows: Vec<Value> = rows.collect::<Result<_>>()?;
    let mut floor = bare.json();
    let qps_2 = qps_on_two(&queries, &|query| built.bare(query))?;
    merge(&mut floor, json!({"qps_1": bare.per_second(), "qps_2": qps_2}));
    Ok(json!({"items": items, "bare": floor, "callers": rows}))
}

/// The share of the exact answers that were found, and how many answers were short.
fn recall(caller: &Caller<'_>, queries: &[Vec<f32>]) -> Result<(f64, u64)> {
    let (mut found, mut due, mut short) = (0, 0, 0);
    for query in queries {
        let planned = caller.search(query, Effort::Planned)?;
        let exact = caller.search(query, Effort::Exact)?;
        due += exact.len();
        found += exact.iter().filter(|one| planned.iter().any(|near| near.row == one.row)).count();
        short += u64::from((planned.len() as u64) < caller.rows.len().min(K as u64));
    }
    Ok((found as f64 / due.max(1) as f64, short))
}

/// Queries a second when two threads ask at once.
fn qps_on_two(queries: &[Vec<f32>], search: &(dyn Fn(&[f32]) -> Result<Vec<Near>> + Sync)) -> Result<f64> {
    let began = now();
    std::thread::scope(|scope| {
        let ask = |half: usize| {
            let mine = queries.iter().skip(half).step_by(2);
            scope.spawn(move || mine.into_iter().try_for_each(|query| search(query).map(drop)))
        };
        [ask(0), ask(1)]
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    Ok(queries.len() as f64 / began.elapsed().as_secs_f64())
}

/// What the figures have to reach: at the most items, and from the fewest to the most. Who sees a share of more items sees
/// more of them, so growth is held against its bound where all are seen, and is a mere figure elsewhere.
fn bars(rows: &[Value]) -> Vec<Bar> {
    let is_all = |share: f64| share > 99.999;
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let callers = |row: &Value| row.get("callers").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut bars = Vec::new();
    for row in rows {
        for caller in callers(row) {
            let share = number(&caller, "share") * 100.0;
            let least = if is_all(share) { 0.98 } else { 0.95 };
            let what = format!("recall at {} items, {share}% seen", number(row, "items"));
            bars.push(Bar { what, found: number(&caller, "recall"), bound: Bound::AtLeast(least) });
        }
        let short = callers(row).iter().map(|caller| number(caller, "short")).sum();
        let what = format!("short answers at {} items", number(row, "items"));
        bars.push(Bar { what, found: short, bound: Bound::AtMost(0.0) });
    }
    if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
        let (from, to) = (number(first, "items"), number(last, "items"));
        for (caller, before) in callers(last).iter().zip(callers(first)) {
            let share = number(caller, "share") * 100.0;
            let what = format!("p50 at {to} items to the bare index, {share}% seen");
            bars.push(Bar { what, found: number(caller, "ratio"), bound: Bound::AtMost(2.0) });
            if rows.len() > 1 && is_all(share) {
                let found = number(caller, "p50_ms") / number(&before, "p50_ms");
                let what = format!("p50 from {from} to {to} items, {share}% seen");
                bars.push(Bar { what, found, bound: Bound::AtMost(4.0) });
            }
        }
    }
    bars
}

fn print(row: &Value, context: &Context) -> std::io::Result<()> {
    let number = |row: &Value, path: &str| row.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    context.output.line(format!(
        "{} items: index of {:.0} bytes a vector, {:.0} vectors/s (put in {:.1} s, lists {:.1} s)",
        number(row, "/items"),
        number(row, "/build/bytes_per_vector"),
        number(row, "/build/per_second"),
        number(row, "/build/insert_s"),
        number(row, "/build/lists_s"),
    ))?;
    let speeds = |row: &Value| {
        format!(
            "p50 {:>7.3} ms   p95 {:>7.3}   p99 {:>7.3}   {:>6.0}/s on one thread {:>6.0}/s on two",
            number(row, "/p50_ms"),
            number(row, "/p95_ms"),
            number(row, "/p99_ms"),
            number(row, "/qps_1"),
            number(row, "/qps_2"),
        )
    };
    context.output.line(format!("  bare index   {}", speeds(row.get("bare").unwrap_or(&Value::Null))))?;
    for caller in row.get("callers").and_then(Value::as_array).into_iter().flatten() {
        context.output.line(format!(
            "  {:>5.1}% seen  {}   {:.2}x bare   recall {:.4}   {} short",
            number(caller, "/share") * 100.0,
            speeds(caller),
            number(caller, "/ratio"),
            number(caller, "/recall"),
            number(caller, "/short"),
        ))?;
    }
    row.get("engine").map_or(Ok(()), |engine| whole::print(engine, context))
}

/// Vectors by number, drawn on every core.
fn drawn(cloud: &Cloud, numbers: std::ops::Range<u64>) -> Vec<Vec<f32>> {
    let mut vectors = vec![Vec::new(); numbers.clone().count()];
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = vectors.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (slots, from) in vectors.chunks_mut(part).zip(numbers.step_by(part)) {
            scope.spawn(move || {
                for (slot, number) in slots.iter_mut().zip(from..) {
                    *slot = cloud.vector(number);
                }
            });
        }
    });
    vectors
}

pub(super) fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

pub(super) fn progress(text: &str) {
    // Nobody is left to tell if stderr is gone.
    let _gone = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}
