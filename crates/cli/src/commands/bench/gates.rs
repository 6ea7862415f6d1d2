//! `bench write --gates`: what the gates add to one durable write, and each gate's share.
//!
//! The engine holds so many items of one namespace; then writes under the strict policy and writes without comparisons
//! follow each other, one at a time, in the same engine, so that the disk is the same for both.

use super::bare::now;
use super::latency::Latencies;
use super::write::open;
use crate::Context;
use crate::progress::Progress;
use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use tabellion_core::gate::read_write;
use tabellion_engine::reply::{WriteStatus, Written};
use tabellion_engine::{Call, Engine, Turns};

/// Writes of each kind that are timed.
const TIMED: u64 = 400;
/// Imports under way at a time.
const AT_ONCE: u64 = 64;

pub(super) fn run(
    runtime: &tokio::runtime::Runtime,
    folder: &Path,
    items: &[u64],
    context: &Context,
) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for count in items {
        let row = runtime.block_on(one(folder, *count))?;
        if !context.output.is_json() {
            print(&row, context)?;
        }
        rows.push(row);
    }
    if context.output.is_json() {
        context.output.raw_json(&serde_json::to_string_pretty(&json!({"rows": rows}))?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(row: &Value, context: &Context) -> std::io::Result<()> {
    let number = |path: &str| row.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    context
        .output
        .line(format!("{} items of one namespace, one durable episodic write", number("/items")))?;
    for way in ["without_gates", "with_gates", "gates"] {
        context.output.line(format!(
            "  {:<14} p50 {:>7.3} ms   p99 {:>7.3} ms",
            way.replace('_', " "),
            number(&format!("/{way}/p50_ms")),
            number(&format!("/{way}/p99_ms")),
        ))?;
    }
    for gate in row.get("shares").and_then(Value::as_array).into_iter().flatten() {
        let name = gate.get("gate").and_then(Value::as_str).unwrap_or_default();
        let mean = gate.get("mean_ms").and_then(Value::as_f64).unwrap_or(0.0);
        context.output.line(format!("    {name:<14} mean {mean:>7.4} ms"))?;
    }
    Ok(())
}

async fn one(folder: &Path, items: u64) -> Result<Value> {
    let (engine, call) = open(&folder.join(format!("gates-{items}")))?;
    fill(&engine, &call, items).await?;
    let before = times(&engine, &call)?;
    let (mut with, mut without) = (Latencies::default(), Latencies::default());
    let mut gates = Latencies::default();
    let mut serial = items;
    for _ in 0..TIMED {
        let counted = total(&times(&engine, &call)?);
        timed(&engine, &call, serial, Some("strict"), &mut with).await?;
        gates.note(total(&times(&engine, &call)?).saturating_sub(counted));
        timed(&engine, &call, serial + 1, None, &mut without).await?;
        serial += 2;
    }
    let shares = shares(&before, &times(&engine, &call)?);
    tokio::task::spawn_blocking(move || engine.close()).await?;
    Ok(json!({
        "items": items,
        "without_gates": without.json(),
        "with_gates": with.json(),
        "gates": gates.json(),
        "shares": shares,
    }))
}

type Times = Vec<(&'static str, u64, std::time::Duration)>;

fn times(engine: &Engine, call: &Call) -> Result<Times> {
    engine.gate_times(call).map_err(|refusal| anyhow!(refusal.message))
}

fn total(times: &Times) -> std::time::Duration {
    times.iter().map(|(_, _, took)| *took).sum()
}

/// What each gate took on average since the times before. Those of the ungated writes are in it too, and small.
fn shares(before: &Times, after: &Times) -> Vec<Value> {
    let known = |gate: &str| {
        before
            .iter()
            .find(|(name, ..)| *name == gate)
            .map_or((0, 0.0), |(_, count, took)| (*count, took.as_secs_f64()))
    };
    after
        .iter()
        .map(|(gate, count, took)| {
            let (then, took_then) = known(gate);
            let mean = (took.as_secs_f64() - took_then) / count.saturating_sub(then).max(1) as f64;
            json!({"gate": gate, "mean_ms": mean * 1e3})
        })
        .collect()
}

async fn fill(engine: &Engine, call: &Call, items: u64) -> Result<()> {
    let mut progress = Progress::of("writing items");
    let mut serial = 0;
    while serial < items {
        let batch = AT_ONCE.min(items - serial);
        let writes = (serial..serial + batch).map(|serial| {
            let (engine, call) = (engine.clone(), call.clone());
            tokio::spawn(async move { write(&engine, &call, serial, None).await })
        });
        for write in writes.collect::<Vec<_>>() {
            write.await??;
        }
        serial += batch;
        progress.at(serial, items);
    }
    Ok(())
}

async fn timed(
    engine: &Engine,
    call: &Call,
    serial: u64,
    policy: Option<&str>,
    latencies: &mut Latencies,
) -> Result<()> {
    let began = now();
    let written = write(engine, call, serial, policy).await?;
    latencies.note(began.elapsed());
    ensure!(
        matches!(written.status, WriteStatus::Committed | WriteStatus::Merged),
        "a write was not committed: {written:?}"
    );
    Ok(())
}

async fn write(engine: &Engine, call: &Call, serial: u64, policy: Option<&str>) -> Result<Written> {
    let text = sentence(serial);
    let mut body = json!({
        "text": text, "confidence": 0.8,
        "evidence": [{"source_type": "human_input", "source_uri": "chat://1", "excerpt": text,
                      "accessed_at": "2026-11-15T00:00:00Z"}],
    });
    if let (Some(policy), Some(body)) = (policy, body.as_object_mut()) {
        body.insert("write_policy".to_owned(), json!(policy));
    }
    let draft = read_write(body).map_err(|refusal| anyhow!(refusal.message))?;
    engine
        .import(call, draft, Turns::default().give())
        .await
        .map_err(|refusal| anyhow!("{}: {}", refusal.code.as_str(), refusal.message))
}

const NAMES: [&str; 32] = [
    "Marta", "Ivan", "Chen", "Aisha", "Tomas", "Ines", "Oskar", "Lena", "Pavel", "Noor", "Hugo", "Sara",
    "Emil", "Rosa", "Anton", "Mina", "Felix", "Dora", "Kofi", "Elsa", "Bruno", "Yuki", "Omar", "Vera",
    "Luis", "Petra", "Amir", "Greta", "Nils", "Zoe", "Igor", "Carla",
];
const VERBS: [&str; 24] = [
    "repaired",
    "sold",
    "borrowed",
    "painted",
    "described",
    "ordered",
    "photographed",
    "cleaned",
    "designed",
    "mentioned",
    "unpacked",
    "measured",
    "tested",
    "shipped",
    "cancelled",
    "praised",
    "moved",
    "inspected",
    "recorded",
    "replaced",
    "labelled",
    "returned",
    "sketched",
    "weighed",
];
const KINDS: [&str; 24] = [
    "copper", "wooden", "broken", "spare", "blue", "heavy", "antique", "portable", "digital", "rusty",
    "ceramic", "foldable", "silver", "leaking", "oval", "steel", "narrow", "quiet", "borrowed", "striped",
    "glass", "solar", "tiny", "velvet",
];
const THINGS: [&str; 40] = [
    "kettle",
    "ladder",
    "printer",
    "lantern",
    "bicycle",
    "turbine",
    "cabinet",
    "violin",
    "compressor",
    "telescope",
    "router",
    "carpet",
    "generator",
    "mirror",
    "valve",
    "camera",
    "bench",
    "pump",
    "helmet",
    "sensor",
    "boiler",
    "trailer",
    "antenna",
    "sofa",
    "hammer",
    "freezer",
    "globe",
    "scanner",
    "wardrobe",
    "compass",
    "keyboard",
    "barrel",
    "curtain",
    "engine",
    "microscope",
    "tent",
    "anchor",
    "clock",
    "drill",
    "fountain",
];
const PLACES: [&str; 24] = [
    "the north workshop",
    "the harbour office",
    "the old library",
    "the second floor",
    "the garden shed",
    "the main hall",
    "the loading dock",
    "the clinic",
    "the school kitchen",
    "the observatory",
    "the market square",
    "the archive",
    "the greenhouse",
    "the ferry terminal",
    "the radio studio",
    "the town museum",
    "the bakery",
    "the control room",
    "the guest house",
    "the chapel",
    "the print shop",
    "the stable",
    "the reading room",
    "the depot",
];

/// A sentence like those that people tell: who did what to which thing, where and with whom.
fn sentence(serial: u64) -> String {
    let mut state = serial.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut pick = |words: &[&'static str]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (state >> 33) as usize % words.len().max(1);
        words.get(place).copied().unwrap_or_default()
    };
    let (who, with) = (pick(&NAMES), pick(&NAMES));
    let (did, kind, thing, place) = (pick(&VERBS), pick(&KINDS), pick(&THINGS), pick(&PLACES));
    let (kind2, thing2) = (pick(&KINDS), pick(&THINGS));
    format!(
        "{who} {did} the {kind} {thing} and the {kind2} {thing2} in {place} with {with} on visit {serial}"
    )
}
