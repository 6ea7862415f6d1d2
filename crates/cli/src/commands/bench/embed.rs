//! `bench embed`: what the embedding model costs a question and an import, beside the model alone.

use super::bare::now;
use super::cloud::Chance;
use super::latency::{Bar, Bound, Latencies};
use super::search::progress;
use super::write;
use crate::Context;
use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tabellion_core::gate::read_write;
use tabellion_engine::ports::Embedder;
use tabellion_engine::reply::SearchQuery;
use tabellion_engine::{Call, Engine};
use tabellion_models::MiniLm;

const WRITERS: usize = 64;
/// Where the model is looked for.
const FOLDERS: [&str; 2] = ["model", "target/model"];
/// What texts are made of.
const WORDS: &str = "the team moved its weekly review to thursday because the new deployment window opens after lunch and \
    nobody wants to wait for a broken build while customers in berlin still report slow searches on their phones anna \
    likes green tea with lemon but keeps coffee for guests who arrive early at the office her brother plays violin in a \
    small orchestra near the river every summer they travel north by train to visit old friends hike around lakes cook \
    fish over open fire then return rested with stories about storms foxes missed connections invoices must be paid \
    within thirty days otherwise the supplier adds two percent interest each month passwords rotate quarterly backups \
    run nightly alerts go to the engineer on call";

/// Measure the embedding model
///
/// The model alone, in batches; an import through the engine until every text can be found by meaning; then questions one
/// by one, from their words to their answers.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tabellion bench embed\n  tabellion bench embed --model target/model --texts 5000 --json"
)]
pub(crate) struct BenchEmbed {
    /// The folder of the model (default: `model`, then `target/model`)
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// How many texts are imported
    #[arg(long, default_value_t = 2_000)]
    texts: usize,
    /// How many questions are asked
    #[arg(long, default_value_t = 200)]
    queries: usize,
}

pub(super) fn run(args: &BenchEmbed, context: &Context) -> Result<ExitCode> {
    let folder = args.model.clone().unwrap_or_else(default_folder);
    let model: Arc<dyn Embedder> = Arc::new(MiniLm::open(&folder)?);
    let mut chance = Chance::new(5);
    let texts: Vec<String> = (0..args.texts).map(|number| text(&mut chance, number)).collect();
    let queries: Vec<String> = (0..args.queries).map(|_| words(&mut chance, 8)).collect();
    // Half before and half after the import: a machine that slows down slows both.
    let (one, other) = texts.split_at(texts.len() / 2);
    progress("the model alone");
    let mut alone_s = seconds(&*model, one)?;
    progress("an import");
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (engine, call) = write::open_with(scratch.path(), Some(Arc::clone(&model)))?;
    let (written_s, import_s) = runtime.block_on(import(&engine, &call, &texts))?;
    progress("the model alone, again");
    alone_s += seconds(&*model, other)?;
    let on_two_s = seconds_on_two(&*model, &texts)?;
    progress("questions");
    let (asked, embedded) = runtime.block_on(asked(&engine, &call, &*model, &queries))?;
    engine.close();
    let per_second = |seconds: f64| texts.len() as f64 / seconds;
    let bars = [
        bar("p50 of a question, ms", asked.ms(0.5), Bound::AtMost(25.0)),
        bar("import to the model alone", alone_s / import_s, Bound::AtLeast(0.8)),
    ];
    let report = json!({
        "model": model.model(), "texts": texts.len(), "texts_per_batch": model.batch_texts_max(),
        "alone_per_second": per_second(alone_s), "alone_on_two_threads_per_second": per_second(on_two_s),
        "written_per_second": per_second(written_s), "import_per_second": per_second(import_s), "ratio": alone_s / import_s,
        "question": asked.json(), "question_embedded": embedded.json(),
        "bars": bars.iter().map(Bar::json).collect::<Vec<Value>>(),
    });
    if context.output.is_json() {
        context.output.raw_json(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, context)?;
        for bar in &bars {
            context.output.line(bar.line())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(report: &Value, context: &Context) -> std::io::Result<()> {
    let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let line = |what: &str, value: String| context.output.line(format!("  {what:<28}{value}"));
    context.output.line(format!("{} texts", number("/texts")))?;
    line("the model alone", format!("{:>8.0} texts/s", number("/alone_per_second")))?;
    line("on two threads", format!("{:>8.0} texts/s", number("/alone_on_two_threads_per_second")))?;
    line("written", format!("{:>8.0} texts/s", number("/written_per_second")))?;
    line(
        "imported and found",
        format!("{:>8.0} texts/s   {:.2}x the model alone", number("/import_per_second"), number("/ratio")),
    )?;
    for (what, path) in
        [("a question, embedded alone", "question_embedded"), ("a question, answered", "question")]
    {
        let at = |share: &str| number(&format!("/{path}/{share}"));
        line(what, format!("p50 {:>7.2} ms   p95 {:>7.2} ms", at("p50_ms"), at("p95_ms")))?;
    }
    Ok(())
}

fn bar(what: &str, found: f64, bound: Bound) -> Bar {
    Bar { what: what.to_owned(), found, bound }
}

fn default_folder() -> PathBuf {
    let present = FOLDERS.iter().map(PathBuf::from).find(|folder| folder.join("model.safetensors").exists());
    present.unwrap_or_else(|| PathBuf::from("model"))
}

/// A text that no other is like: some twenty words.
fn text(chance: &mut Chance, number: usize) -> String {
    format!("note {number}: {}", words(chance, 18))
}

fn words(chance: &mut Chance, count: usize) -> String {
    let all: Vec<&str> = WORDS.split_whitespace().collect();
    let mut draw = || all.get(chance.next() as usize % all.len().max(1)).copied().unwrap_or_default();
    (0..count).map(|_| draw()).collect::<Vec<_>>().join(" ")
}

/// How long the model takes for these texts, in batches of its liking.
fn seconds(model: &dyn Embedder, texts: &[String]) -> Result<f64> {
    let began = now();
    for batch in texts.chunks(model.batch_texts_max().max(1)) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        model.embed(&batch)?;
    }
    Ok(began.elapsed().as_secs_f64())
}

fn seconds_on_two(model: &dyn Embedder, texts: &[String]) -> Result<f64> {
    let (one, other) = texts.split_at(texts.len() / 2);
    let began = now();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| seconds(model, one));
        seconds(model, other)?;
        thread.join().map_err(|_| anyhow!("a thread panicked"))?
    })?;
    Ok(began.elapsed().as_secs_f64())
}

/// Writes every text, and waits until the last can be found by meaning: seconds until written, and until then.
async fn import(engine: &Engine, call: &Call, texts: &[String]) -> Result<(f64, f64)> {
    let next = Arc::new(AtomicUsize::new(0));
    let texts: Arc<[String]> = texts.into();
    let began = now();
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (engine, call, next, texts) =
                (engine.clone(), call.clone(), Arc::clone(&next), Arc::clone(&texts));
            tokio::spawn(async move {
                while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    write_one(&engine, &call, text).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let written_s = began.elapsed().as_secs_f64();
    let token = write_one(engine, call, "the last of the import").await?;
    let first = texts.first().context("no text")?;
    let mut query =
        SearchQuery { query: Some(first.clone()), mode: Some("dense".into()), ..SearchQuery::default() };
    query.min_token = Some(token);
    engine.search(call, query).await.map_err(|refusal| anyhow!(refusal.message))?;
    Ok((written_s, began.elapsed().as_secs_f64()))
}

async fn write_one(engine: &Engine, call: &Call, text: &str) -> Result<String> {
    let written = match read_write(json!({"text": text})) {
        Ok(draft) => engine.write(call, draft).await,
        Err(refusal) => Err(refusal),
    };
    let written = written.map_err(|refusal| anyhow!(refusal.message))?;
    written.token.context("a write was put off")
}

/// Asks one question after the other, by words and meaning: how long each took, and how long its vector alone takes.
async fn asked(
    engine: &Engine,
    call: &Call,
    model: &dyn Embedder,
    queries: &[String],
) -> Result<(Latencies, Latencies)> {
    let (mut asked, mut embedded) = (Latencies::default(), Latencies::default());
    for words in queries {
        embedded.time(|| model.embed(&[words.as_str()]))?;
        let query = SearchQuery { query: Some(words.clone()), ..SearchQuery::default() };
        let began = now();
        engine.search(call, query).await.map_err(|refusal| anyhow!(refusal.message))?;
        asked.note(began.elapsed());
    }
    Ok((asked, embedded))
}
