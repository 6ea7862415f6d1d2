//! `bench write`: durable writes per second, through the engine and over REST, beside bare SQLite.

use super::{bare, load, start::Child};
use crate::Context;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tabellion_core::gate::Strictness;
use tabellion_engine::ports::{Advisers, Embedder, SystemClock, SystemEntropy};
use tabellion_engine::{AuditReads, Call, Engine, EngineLimits, Governance, Options};

/// Long enough for a model to read all that was written.
const VECTORS_WAIT_MS: u64 = 600_000;

/// Measure durable writes
///
/// For each number of concurrent writers: bare SQLite (one table, primary key, unique token index) appending rows of the
/// same bytes in batches of that size, then the engine in this process, then a server process over REST. Each write is
/// one item, durable before it is acknowledged, its row on the audit trail included.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tabellion bench write\n  tabellion bench write --writers 64 --seconds 10 --json\n  \
                  tabellion bench write --gates --items 10000,100000"
)]
pub(crate) struct BenchWrite {
    /// How many write at once
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64], value_name = "N,…")]
    writers: Vec<usize>,
    /// How long each measurement takes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Measure what the gates add to one write instead, among so many items of one namespace
    #[arg(long)]
    gates: bool,
    /// How many items the gates compare with
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000], value_name = "N,…", requires = "gates")]
    items: Vec<u64>,
    /// Where scratch files go: the disk that is measured (default: the system's folder for them)
    #[arg(long, value_name = "DIR")]
    scratch: Option<std::path::PathBuf>,
}

pub(super) fn run(args: &BenchWrite, context: &Context) -> Result<ExitCode> {
    let folder = match &args.scratch {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if args.gates {
        return super::gates::run(&runtime, folder.path(), &args.items, context);
    }
    let time = Duration::from_secs(args.seconds);
    let row_bytes = runtime.block_on(row_bytes(folder.path()))?;
    let mut rows = Vec::new();
    for &writers in &args.writers {
        let row = runtime.block_on(one(folder.path(), writers, row_bytes, time))?;
        if !context.output.is_json() {
            print(&row, context)?;
        }
        rows.push(row);
    }
    if context.output.is_json() {
        let report = json!({"bytes_per_write": row_bytes, "rows": rows});
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(row: &Value, context: &Context) -> std::io::Result<()> {
    let number = |path: &str| row.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    context.output.line(format!("{} writers, durable writes/s", number("/writers")))?;
    context.output.line(format!("  bare SQLite  {:>8.0}", number("/bare/per_second")))?;
    for way in ["engine", "rest"] {
        context.output.line(format!(
            "  {way:<11}  {:>8.0}   {:.2}x bare   p50 {:.2} ms   p99 {:.2} ms",
            number(&format!("/{way}/per_second")),
            number(&format!("/{way}/ratio")),
            number(&format!("/{way}/p50_ms")),
            number(&format!("/{way}/p99_ms")),
        ))?;
    }
    Ok(())
}

async fn one(folder: &Path, writers: usize, row_bytes: usize, time: Duration) -> Result<Value> {
    let serials = Arc::new(AtomicU64::new(0));
    let bare = {
        let folder = folder.to_owned();
        tokio::task::spawn_blocking(move || bare::appends(&folder, writers, row_bytes, time)).await??
    };
    let engine = {
        let (engine, call) = open(&folder.join(format!("engine-{writers}")))?;
        let reached = load::engine(&engine, &call, writers, time, &serials).await?;
        tokio::task::spawn_blocking(move || engine.close()).await?;
        reached
    };
    let rest = {
        let server = Child::start(&folder.join(format!("rest-{writers}")))?;
        load::rest(&server.address, &server.key, writers, time, &serials).await?
    };
    let way = |reached: &load::Reached| json!({"per_second": reached.per_second, "ratio": reached.per_second / bare, "p50_ms": reached.p50_ms, "p99_ms": reached.p99_ms});
    Ok(json!({"writers": writers, "bare": {"per_second": bare}, "engine": way(&engine), "rest": way(&rest)}))
}

pub(super) fn open(data: &Path) -> Result<(Engine, Call)> {
    open_with(data, None)
}

/// An engine on a scratch directory, and its admin. With a model, a read waits for as many vectors as it takes.
pub(super) fn open_with(data: &Path, embedder: Option<Arc<dyn Embedder>>) -> Result<(Engine, Call)> {
    let options = Options {
        data: Some(data.to_owned()),
        master_key: None,
        admin_key: None,
        accept_loss: false,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        limits: EngineLimits { min_token_wait_ms: VECTORS_WAIT_MS, ..EngineLimits::default() },
        embedder,
        audit_reads: AuditReads::Async,
        // Speed is measured, not judgement.
        governance: Governance { strictness: Strictness::Open, ..Governance::default() },
        advisers: Advisers::default(),
    };
    let (engine, first) = Engine::open(options)?;
    let first = first.ok_or_else(|| anyhow!("the scratch directory was not empty"))?;
    let caller = engine.authenticate(&first.admin_key).map_err(|refusal| anyhow!(refusal.message))?;
    Ok((engine, Call { caller, request_id: None, trace: None }))
}

/// How many bytes one write puts into the log file's rows, trail included: what the bare rows must hold too.
async fn row_bytes(folder: &Path) -> Result<usize> {
    const WRITES: u64 = 64;
    let data = folder.join("bytes");
    let (engine, call) = open(&data)?;
    let serials = Arc::new(AtomicU64::new(0));
    let sum = || -> Result<u64> {
        let tenant = tabellion_engine::offline::tenants(&data)?
            .first()
            .copied()
            .ok_or_else(|| anyhow!("no tenant"))?;
        let log = rusqlite::Connection::open(data.join("tenants").join(tenant.to_string()).join("log.db"))?;
        let sql = "SELECT (SELECT total(length(body) + coalesce(length(sealed), 0) + length(leaf)) FROM memory_entry)
                        + (SELECT total(length(body) + length(leaf)) FROM audit_entry)";
        Ok(log.query_row(sql, [], |row| row.get::<_, f64>(0))? as u64)
    };
    let before = sum()?;
    for _ in 0..WRITES {
        load::engine_once(&engine, &call, &serials).await?;
    }
    let bytes = (sum()? - before) / WRITES;
    tokio::task::spawn_blocking(move || engine.close()).await?;
    Ok(usize::try_from(bytes)?)
}
