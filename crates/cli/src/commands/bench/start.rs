//! `bench start`: how long a start takes with many items, and how much memory they hold.

use super::bare::now;
use super::{load, write};
use crate::Context;
use anyhow::{Context as _, Result, bail};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const KEY: &str = "tab_of_a_benchmark_on_loopback_0123456789abcdef0123456789abcdef";

/// Measure starting with many items
///
/// Fills a scratch directory through the engine, then starts a server process on it three times: after a clean stop, after
/// a kill, and with its checkpoint deleted. Memory is what the process holds beyond an empty server, divided by items.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion bench start\n  tabellion bench start --items 1000000 --json")]
pub(crate) struct BenchStart {
    /// How many items
    #[arg(long, default_value_t = 100_000)]
    items: u64,
}

pub(super) fn run(args: &BenchStart, context: &Context) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let empty = Child::start(&folder.path().join("empty"))?.resident_kib()?;
    let data = folder.path().join("full");
    fill(&data, args.items)?;
    let tenant = tabellion_engine::offline::tenants(&data)?.first().copied().context("no tenant")?;
    let checkpoint = data.join("tenants").join(tenant.to_string()).join("views.ckpt");
    let clean = Child::start(&data)?;
    let (clean_s, resident) = (clean.took.as_secs_f64(), clean.resident_kib()?);
    // Dropping the child kills it: the next start is one after a crash.
    drop(clean);
    let killed_s = Child::start(&data)?.took.as_secs_f64();
    std::fs::remove_file(&checkpoint)?;
    let rebuilt_s = Child::start(&data)?.took.as_secs_f64();
    let per_item = (resident.saturating_sub(empty) * 1024) as f64 / args.items as f64;
    let report = json!({
        "items": args.items, "start_after_stop_s": clean_s, "start_after_kill_s": killed_s, "start_without_checkpoint_s": rebuilt_s,
        "resident_kib": resident, "resident_empty_kib": empty, "bytes_per_item": per_item,
    });
    if context.output.is_json() {
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        context.output.line(format!("{} items", args.items))?;
        context.output.line(format!("  start after a clean stop    {clean_s:.2} s"))?;
        context.output.line(format!("  start after a kill          {killed_s:.2} s"))?;
        context.output.line(format!("  start without a checkpoint  {rebuilt_s:.2} s"))?;
        context.output.line(format!("  memory                      {per_item:.0} bytes an item beyond an empty server ({resident} KiB in all)"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn fill(data: &Path, items: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (engine, call) = write::open(data)?;
    let serials = Arc::new(AtomicU64::new(0));
    let filled = runtime.block_on(async {
        let tasks: Vec<_> = (0..256)
            .map(|_| {
                let (engine, call, serials) = (engine.clone(), call.clone(), Arc::clone(&serials));
                tokio::spawn(async move {
                    while serials.load(Ordering::Relaxed) < items {
                        load::engine_once(&engine, &call, &serials).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        anyhow::Ok(())
    });
    engine.close();
    filled
}

/// A server process on loopback, killed when dropped.
pub(super) struct Child {
    process: std::process::Child,
    pub(super) address: String,
    pub(super) key: String,
    /// From its start until it was ready.
    took: Duration,
}

impl Child {
    pub(super) fn start(data: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let began = now();
        let process = Command::new(std::env::current_exe()?)
            .args(["serve", "--listen", &address, "--data"])
            .arg(data)
            .env("TABELLION_ADMIN_KEY", KEY)
            .env("TABELLION_LOG__LEVEL", "error")
            // Writes and starts are measured without a model: vectors are made behind the acknowledgement.
            .env("TABELLION_EMBEDDING__PROVIDER", "none")
            // The benchmark's one agent would run into its rate.
            .env("TABELLION_GOVERNANCE__POLICY", "open")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut child = Self { process, address, key: KEY.to_owned(), took: Duration::ZERO };
        while !child.is_ready() {
            if child.process.try_wait()?.is_some() {
                bail!("the server ended before it was ready");
            }
            if began.elapsed() > Duration::from_secs(120) {
                bail!("the server was not ready within two minutes");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        child.took = began.elapsed();
        Ok(child)
    }

    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer.starts_with("HTTP/1.1 200"))
        };
        ask().unwrap_or(false)
    }

    fn resident_kib(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
