//! Through the engine and over HTTP: how soon a read knows of a grant or a revocation, and whether a hidden item takes as long
//! to be missing as one that never was.

use super::super::bare::now;
use super::super::cloud::Chance;
use super::super::latency::Latencies;
use super::super::write;
use super::compiled::policy;
use super::over_http;
use crate::commands::cast::told;
use crate::progress::Progress;
use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::read_write;
use tabellion_core::id::ItemId;
use tabellion_engine::reply::EdgeTerms;
use tabellion_engine::{Call, Engine, Turns};

/// Resources whose pairs make the classes.
const RESOURCES: usize = 200;
/// Writes under way at a time.
const AT_ONCE: usize = 64;
/// Grants and revocations that are timed.
const CHANGES: usize = 100;
/// How long a full queue is given, and how often.
const PAUSE: Duration = Duration::from_millis(20);
const RETRIES_MAX: usize = 1_000;

/// An engine with a user whose items are of so many classes, and a stranger.
struct Through {
    engine: Engine,
    admin: Call,
    reader: Call,
    stranger: Call,
    /// The stranger's key.
    key: String,
    agent: String,
    resources: Vec<String>,
    /// Each with the numbers of its resources.
    items: Vec<(ItemId, usize)>,
}

/// Measures changes of the graphs and reads of what is hidden.
pub(super) fn measured(folder: &Path, classes: u64, gets: u64) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let through = Through::new(folder, usize::try_from(classes)?).await?;
        let changes = through.changes().await?;
        let gets = usize::try_from(gets)?;
        let absent = through.absent(gets).await?;
        through.engine.set_policy(&through.admin, "secrets", policy("resource-0")).await.map_err(told)?;
        let changes_cedar = through.changes().await?;
        let Through { engine, key, items, .. } = through;
        tokio::task::spawn_blocking(move || engine.close()).await?;
        let items: Vec<ItemId> = items.into_iter().map(|(item, _)| item).collect();
        let http = over_http::absent(folder, &key, &items, gets).await?;
        let changes = json!({"plain": changes, "cedar": changes_cedar});
        Ok(json!({"classes": classes, "changes": changes, "absent": {"engine": absent, "http": http}}))
    })
}

impl Through {
    async fn new(folder: &Path, classes: usize) -> Result<Self> {
        let (engine, admin) = write::open(folder)?;
        let by = engine.create_agent(&admin, "writer", None, true).await.map_err(told)?;
        let mut resources = Vec::new();
        for number in 0..RESOURCES {
            let name = format!("resource-{number}");
            let made = engine.create_resource(&admin, &name, None, None).await.map_err(told)?;
            let edge = ("ar", &*by.id.to_string(), &*made.id.to_string());
            engine.grant(&admin, edge, EdgeTerms::default()).await.map_err(told)?;
            resources.push(made.id.to_string());
        }
        let (reader, _) = caller(&engine, &admin, "reader").await?;
        let (stranger, key) = caller(&engine, &admin, "stranger").await?;
        let (agent, items) = (by.id.to_string(), Vec::new());
        let mut through = Self { engine, admin, reader, stranger, key, agent, resources, items };
        through.fill(classes).await?;
        Ok(through)
    }

    /// One item a class: every pair of resources is one.
    async fn fill(&mut self, classes: usize) -> Result<()> {
        let pairs =
            (0..RESOURCES).flat_map(|first| (first + 1..RESOURCES).map(move |second| (first, second)));
        let pairs: Vec<(usize, usize)> = pairs.take(classes).collect();
        ensure!(pairs.len() == classes, "at most {} classes", RESOURCES * (RESOURCES - 1) / 2);
        let mut progress = Progress::of("writing classes");
        for chunk in pairs.chunks(AT_ONCE) {
            let writes: Vec<_> = chunk.iter().map(|pair| tokio::spawn(self.write(*pair))).collect();
            for (write, (first, _)) in writes.into_iter().zip(chunk) {
                self.items.push((write.await??, *first));
            }
            progress.at(self.items.len() as u64, classes as u64);
        }
        Ok(())
    }

    fn write(&self, (first, second): (usize, usize)) -> impl Future<Output = Result<ItemId>> + 'static {
        let (engine, call) = (self.engine.clone(), self.reader.clone());
        let used: Vec<Option<String>> = [first, second].map(|at| self.resources.get(at).cloned()).into();
        async move {
            let text = format!("what number {first} and number {second} said when they were asked");
            let draft = read_write(json!({"text": text, "resources": used})).map_err(told)?;
            let written = engine.import(&call, draft, Turns::default().give()).await.map_err(told)?;
            written.id.context("a write was put off")
        }
    }

    /// Revokes and grants an edge in turn, and times the first read after each, which must know.
    async fn changes(&self) -> Result<Value> {
        let (mut revoked, mut granted) = (Latencies::default(), Latencies::default());
        for change in 0..CHANGES {
            let (item, resource) = self.items.get(change * 7 % self.items.len()).context("no item")?;
            let resource = self.resources.get(*resource).context("no resource")?;
            let edge = ("ar", self.agent.as_str(), resource.as_str());
            let id = item.to_string();
            self.engine.revoke(&self.admin, edge, None).await.map_err(told)?;
            let began = now();
            let answer = self.engine.get(&self.reader, &id, None).await;
            revoked.note(began.elapsed());
            must_be_missing(answer, "a read did not know of a revocation")?;
            self.engine.grant(&self.admin, edge, EdgeTerms::default()).await.map_err(told)?;
            let began = now();
            let answer = self.engine.get(&self.reader, &id, None).await;
            granted.note(began.elapsed());
            answer.map_err(told)?;
        }
        Ok(json!({"revoked": revoked.json(), "granted": granted.json()}))
    }

    /// Reads what is another's and what never was, in turn.
    async fn absent(&self, gets: usize) -> Result<Value> {
        let (mut hidden, mut random) = (Latencies::default(), Latencies::default());
        let mut chance = Chance::new(17);
        for number in 0..gets {
            let (item, _) = self.items.get(out_of_order(number, self.items.len())).context("no item")?;
            let never = never(&mut chance);
            for (id, latencies) in in_turn(number, (*item, &mut hidden), (never, &mut random)) {
                self.must_miss(&id.to_string(), latencies).await?;
            }
        }
        Ok(missed(&hidden, &random))
    }

    /// Reads what must be missing. Reads come faster here than their rows can be put on the trail: a queue that is full is
    /// given time, and the read is made again.
    async fn must_miss(&self, id: &str, latencies: &mut Latencies) -> Result<()> {
        for _ in 0..RETRIES_MAX {
            let began = now();
            let answer = self.engine.get(&self.stranger, id, None).await;
            let took = began.elapsed();
            if answer.as_ref().is_err_and(|refusal| refusal.code == Code::Overloaded) {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            latencies.note(took);
            return must_be_missing(answer, "an item that is hidden or never was is not missing");
        }
        Err(anyhow!("the queue of the log stayed full"))
    }
}

/// The place of a number among so many, neighbours far apart: who guesses ids does not go by the order of rows.
pub(super) const fn out_of_order(number: usize, many: usize) -> usize {
    match number.wrapping_mul(7_919).checked_rem(many) {
        Some(place) => place,
        None => 0,
    }
}

/// An id that never was.
pub(super) fn never(chance: &mut Chance) -> ItemId {
    let mut bytes = [0; 16];
    bytes.chunks_mut(8).for_each(|half| half.copy_from_slice(&chance.next().to_be_bytes()));
    ItemId::from_bytes(bytes)
}

/// Times of what is hidden beside those of what never was.
pub(super) fn missed(hidden: &Latencies, random: &Latencies) -> Value {
    let ratio = hidden.ms(0.5) / random.ms(0.5);
    json!({"gets": hidden.len(), "hidden": hidden.json(), "random": random.json(), "ratio_p50": ratio})
}

/// Both, now one first, now the other.
pub(super) fn in_turn<T>(number: usize, one: T, other: T) -> [T; 2] {
    if number.is_multiple_of(2) { [one, other] } else { [other, one] }
}

/// A user with a key.
async fn caller(engine: &Engine, admin: &Call, name: &str) -> Result<(Call, String)> {
    engine.create_user(admin, name, None).await.map_err(told)?;
    let key = engine.create_key(admin, Some(name), Some("writer"), None).await.map_err(told)?;
    let caller = engine.authenticate(&key.secret).map_err(told)?;
    Ok((Call { caller, request_id: None, trace: None }, key.secret))
}

/// Refuses any answer but the one for what is missing.
fn must_be_missing<T>(answer: Result<T, Refusal>, what: &str) -> Result<()> {
    match answer {
        Err(refusal) if refusal.code == Code::NotFound => Ok(()),
        Err(refusal) => Err(told(refusal)),
        Ok(_) => Err(anyhow!("{what}")),
    }
}
