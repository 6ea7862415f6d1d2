//! The whole path of a search by vector: an engine on disk, callers who own a share of its items each, and what the bare
//! index takes for the same vectors.

use super::bare::now;
use super::cloud::{Cloud, Drawn};
use super::latency::Latencies;
use super::search::{K, merge};
use super::{load, write};
use crate::Context;
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tabellion_core::gate::read_write;
use tabellion_core::vector::{Allowed, Effort, VectorView};
use tabellion_engine::reply::SearchQuery;
use tabellion_engine::{Call, Engine};

const QUERIES: u64 = 500;
const WRITERS: usize = 256;
/// What owners have, in thousandths; the last has the rest.
const OWNED: [u64; 5] = [500, 100, 10, 1, 389];
/// Work behind the log is over when the process used less than this share of a core for so long.
const IDLE_SHARE: f64 = 0.05;
const IDLE_FOR: Duration = Duration::from_millis(500);
const SETTLE_MAX: Duration = Duration::from_secs(300);

/// An owner of items.
struct Owner {
    call: Call,
    thousandths: u64,
}

/// Writes items through an engine and searches among them, by owner.
pub(super) fn measured(bare: &VectorView, cloud: &Cloud, items: u64) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (engine, admin) = write::open_with(folder.path(), Some(Arc::new(Drawn(cloud.clone()))))?;
    let began = now();
    let owners = Arc::new(runtime.block_on(owners(&engine, &admin))?);
    let token = runtime.block_on(fill(&engine, &owners, items))?;
    let filled_s = began.elapsed().as_secs_f64();
    let mut floor = Latencies::default();
    for number in 0..QUERIES {
        let query = cloud.query(number);
        let anyone = Allowed { rows: None, admits: &|_| true, weights: &[] };
        floor.time(|| bare.search(&query, &anyone, K, Effort::Planned))?;
    }
    let first = owners.first().context("no owner")?;
    runtime.block_on(async {
        // A dense search that demands the last write waits until every vector before it is made.
        search(&engine, &first.call, cloud.query(0), Some(token)).await
    })?;
    let made_s = began.elapsed().as_secs_f64();
    settle()?;
    let mut rows = Vec::new();
    for owner in owners.iter().take(OWNED.len() - 1) {
        let (latencies, short) = runtime.block_on(asked(&engine, owner, cloud, items))?;
        let mut row = latencies.json();
        let share = owner.thousandths as f64 / 1_000.0;
        let ratio = latencies.ms(0.5) / floor.ms(0.5);
        merge(
            &mut row,
            json!({"share": share, "qps_1": latencies.per_second(), "ratio": ratio, "short": short}),
        );
        rows.push(row);
    }
    engine.close();
    Ok(json!({
        "items": items, "writes_per_second": items as f64 / filled_s, "vectors_per_second": items as f64 / made_s,
        "bare": floor.json(), "owners": rows,
    }))
}

pub(super) fn print(row: &Value, context: &Context) -> std::io::Result<()> {
    let number = |row: &Value, path: &str| row.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    context.output.line(format!(
        "  through the engine: written at {:.0}/s, searchable at {:.0}/s; bare index p50 {:.3} ms",
        number(row, "/writes_per_second"),
        number(row, "/vectors_per_second"),
        number(row, "/bare/p50_ms"),
    ))?;
    for owner in row.get("owners").and_then(Value::as_array).into_iter().flatten() {
        context.output.line(format!(
            "  {:>5.1}% owned p50 {:>7.3} ms   p95 {:>7.3}   p99 {:>7.3}   {:>6.0}/s   {:.2}x bare   {} short",
            number(owner, "/share") * 100.0,
            number(owner, "/p50_ms"),
            number(owner, "/p95_ms"),
            number(owner, "/p99_ms"),
            number(owner, "/qps_1"),
            number(owner, "/ratio"),
            number(owner, "/short"),
        ))?;
    }
    Ok(())
}

async fn owners(engine: &Engine, admin: &Call) -> Result<Vec<Owner>> {
    let mut owners = Vec::new();
    for thousandths in OWNED {
        let name = format!("owner-{thousandths}");
        engine.create_user(admin, &name, None).await.map_err(|refusal| anyhow!(refusal.message))?;
        let key = engine.create_key(admin, Some(&name), None, None).await;
        let key = key.map_err(|refusal| anyhow!(refusal.message))?;
        let caller = engine.authenticate(&key.secret).map_err(|refusal| anyhow!(refusal.message))?;
        owners.push(Owner { call: Call { caller, request_id: None, trace: None }, thousandths });
    }
    Ok(owners)
}

/// Writes every item as the owner that its number falls to, and tells the last token of the first owner.
async fn fill(engine: &Engine, owners: &Arc<Vec<Owner>>, items: u64) -> Result<String> {
    let serials = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (engine, owners, serials) = (engine.clone(), Arc::clone(owners), Arc::clone(&serials));
            tokio::spawn(async move {
                loop {
                    let serial = serials.fetch_add(1, Ordering::Relaxed);
                    if serial >= items {
                        return anyhow::Ok(());
                    }
                    write_one(&engine, owner_of(&owners, serial)?, serial).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    write_one(engine, owners.first().context("no owner")?, items).await
}

fn owner_of(owners: &[Owner], serial: u64) -> Result<&Owner> {
    // A step that shares no factor with 1,000 spreads each owner's items over the log.
    let place = serial.wrapping_mul(387) % 1_000;
    let mut end = 0;
    let holds = |owner: &&Owner| {
        end += owner.thousandths;
        place < end
    };
    owners.iter().find(holds).context("no owner")
}

async fn write_one(engine: &Engine, owner: &Owner, serial: u64) -> Result<String> {
    let written = match read_write(json!({"text": load::text(serial)})) {
        Ok(draft) => engine.write(&owner.call, draft).await,
        Err(refusal) => Err(refusal),
    };
    let written = written.map_err(|refusal| anyhow!(refusal.message))?;
    written.token.context("a write was put off")
}

async fn asked(engine: &Engine, owner: &Owner, cloud: &Cloud, items: u64) -> Result<(Latencies, u64)> {
    let due = (items * owner.thousandths / 1_000).min(K as u64);
    let (mut latencies, mut short) = (Latencies::default(), 0);
    for number in 0..QUERIES {
        let vector = cloud.query(number);
        let began = now();
        let found = search(engine, &owner.call, vector, None).await?;
        latencies.note(began.elapsed());
        short += u64::from(found < due);
    }
    Ok((latencies, short))
}

async fn search(engine: &Engine, call: &Call, vector: Vec<f32>, min_token: Option<String>) -> Result<u64> {
    let query = SearchQuery { vector: Some(vector), k: Some(K as u64), min_token, ..SearchQuery::default() };
    let reply = engine.search(call, query).await.map_err(|refusal| anyhow!(refusal.message))?;
    Ok(reply.results.len() as u64)
}

/// Waits until nothing is done behind the log any more: lists are made, checkpoints written.
fn settle() -> Result<()> {
    let began = now();
    while began.elapsed() < SETTLE_MAX {
        let (before, started) = (cpu_ticks()?, now());
        std::thread::sleep(IDLE_FOR);
        // The kernel counts in hundredths of a second here.
        let used = (cpu_ticks()? - before) as f64 / 100.0;
        if used < IDLE_SHARE * started.elapsed().as_secs_f64() {
            return Ok(());
        }
    }
    bail!("the engine was not at rest within {} s", SETTLE_MAX.as_secs())
}

fn cpu_ticks() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name in brackets may hold spaces; user and system time are the 12th and 13th field behind it.
    let (_, fields) = stat.rsplit_once(')').context("no process status")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()?)
}
