//! A trial: conversations told to a server, each by a user of its own, and questions asked of it.
//!
//! Everything goes through the public REST API. All conversations lie in one tenant, so what is measured includes that a
//! caller finds only their own.

use super::conversation::{Conversation, Question, Turn};
use super::recall::{Found, Recall};
use crate::client::{Ask, Client};
use crate::failure::Failure;
use crate::hosting::Hosted;
use crate::output::{field, rows};
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tabellion_core::rank::Knob;

/// The most results that a search gives.
const RESULTS: u64 = 100;
/// Lines of one batch.
const BATCH_LINES_MAX: usize = 1_000;
/// Between two looks at whether the vectors are made.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long all vectors of one conversation may take.
const VECTORS_MAX: Duration = Duration::from_secs(1_800);

#[expect(clippy::disallowed_methods, reason = "a measurement reads the real clock")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// A way to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Lexical,
    Dense,
    Hybrid,
    /// Hybrid, with something left out.
    Without(Knob),
}

impl Way {
    /// Its name among its kind.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Dense => "dense",
            Self::Hybrid => "hybrid",
            Self::Without(knob) => knob.as_str(),
        }
    }

    const fn mode(self) -> &'static str {
        match self {
            Self::Lexical | Self::Dense | Self::Hybrid => self.as_str(),
            Self::Without(_) => Self::Hybrid.as_str(),
        }
    }

    fn asked(self, question: &str) -> Value {
        let mut body = json!({"query": question, "k": RESULTS, "mode": self.mode()});
        if let Self::Without(knob) = self {
            super::super::set(&mut body, "without", Some(json!([knob.as_str()])));
        }
        body
    }
}

/// How one way did.
#[derive(Debug)]
pub(super) struct Score {
    pub(super) way: Way,
    pub(super) all: Recall,
    pub(super) categories: BTreeMap<u8, Recall>,
    /// How long each search took, shortest first.
    took: Vec<Duration>,
}

impl Score {
    /// The time within which this share of the searches was answered, in milliseconds.
    pub(super) fn within_ms(&self, share: f64) -> f64 {
        let place = (self.took.len() as f64 * share) as usize;
        let last = self.took.len().saturating_sub(1);
        self.took.get(place.min(last)).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    }
}

/// How long it took to take everything in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ingest {
    pub(super) turns: usize,
    /// Turns that were added to an item that says the same.
    pub(super) merged: usize,
    /// Turns that wait for a person, and so cannot be found.
    pub(super) deferred: usize,
    pub(super) writes: Duration,
    /// From the first write until every turn had its vector; none without a model.
    pub(super) vectors: Option<Duration>,
}

/// Conversations on a server.
pub(super) struct Trial<'a> {
    told: Vec<(Client, &'a Conversation)>,
    pub(super) ingest: Ingest,
}

impl<'a> Trial<'a> {
    /// Tells a server the conversations; returns when all of it can be found.
    pub(super) fn begin(
        hosted: &Hosted,
        conversations: &'a [Conversation],
        has_vectors: bool,
    ) -> Result<Self> {
        let key = hosted.admin_key().context("the first start gave no key")?;
        let admin = Client::new(&hosted.url(), Some(key.to_owned()), None)?;
        admin.ask(Ask::new("POST", "/v1/agents").json(&json!({"name": "listener"})))?;
        let users = (1..=conversations.len()).map(|number| user(&admin, number));
        let users = users.collect::<Result<Vec<Client>>>()?;
        let began = now();
        let mut tokens = Vec::new();
        let (mut merged, mut deferred) = (0, 0);
        let turns = conversations.iter().map(|conversation| conversation.turns.len()).sum();
        let mut progress = Progress::of("writing turns");
        let mut done = 0;
        for (client, conversation) in users.iter().zip(conversations) {
            let told = tell(client, &conversation.turns)?;
            merged += told.merged;
            deferred += told.deferred;
            tokens.push(told.token);
            done += conversation.turns.len() as u64;
            progress.at(done, turns as u64);
        }
        drop(progress);
        let writes = began.elapsed();
        let told: Vec<_> = users.into_iter().zip(conversations).collect();
        if has_vectors {
            await_vectors(&told, &tokens)?;
        }
        let vectors = has_vectors.then(|| began.elapsed());
        Ok(Self { told, ingest: Ingest { turns, merged, deferred, writes, vectors } })
    }

    /// Asks every question in one way; `seen` is told what each found.
    pub(super) fn ask(
        &self,
        way: Way,
        seen: &mut dyn FnMut(&Question, &[Found]) -> Result<()>,
    ) -> Result<Score> {
        let mut score = Score { way, all: Recall::default(), categories: BTreeMap::new(), took: Vec::new() };
        for (client, conversation) in &self.told {
            for question in &conversation.questions {
                let began = now();
                let reply =
                    client.ask(Ask::new("POST", "/v1/search").json(&way.asked(&question.text)))?.value;
                score.took.push(began.elapsed());
                // Without an answer of the model a hybrid search goes by words, and would be counted for what it is not.
                let mode = field(&reply, "mode");
                ensure!(
                    mode == way.mode(),
                    "a {} search was answered as {mode}: the model did not answer",
                    way.mode()
                );
                let found: Vec<Found> = rows(&reply, "results").iter().map(found).collect();
                score.all.add(question, &found);
                score.categories.entry(question.category).or_default().add(question, &found);
                seen(question, &found)?;
            }
        }
        score.took.sort_unstable();
        Ok(score)
    }
}

fn found(result: &Value) -> Found {
    Found { turn: field(result, "/fields/turn"), session: field(result, "/fields/session") }
}

/// A new user, and a key to act for them.
fn user(admin: &Client, number: usize) -> Result<Client> {
    let name = format!("conversation-{number}");
    admin.ask(Ask::new("POST", "/v1/users").json(&json!({"name": name})))?;
    let made = admin.ask(Ask::new("POST", "/v1/keys").json(&json!({"user": name, "agent": "listener"})))?;
    Ok(admin.acting_with(&field(&made.value, "key")))
}

/// What became of the turns of a conversation.
#[derive(Default)]
struct Told {
    merged: usize,
    deferred: usize,
    /// Where the last of them is in the log.
    token: String,
}

impl Told {
    fn count(&mut self, result: &Value) -> Result<()> {
        match field(result, "status").as_str() {
            "committed" => {}
            "merged" => self.merged += 1,
            "deferred" => self.deferred += 1,
            _ => bail!("a turn was not taken in: {result}"),
        }
        let token = field(result, "token");
        if !token.is_empty() {
            self.token = token;
        }
        Ok(())
    }
}

/// Writes the turns in order, one item each.
fn tell(client: &Client, turns: &[Turn]) -> Result<Told> {
    let mut told = Told::default();
    for chunk in turns.chunks(BATCH_LINES_MAX) {
        let body: String = chunk.iter().map(|turn| format!("{}\n", item(turn))).collect();
        let batch = Ask::new("POST", "/v1/items:batch").body("application/x-ndjson", body.into_bytes());
        let reply = client.ask(batch.long())?;
        let results = reply.text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        results.iter().try_for_each(|result| told.count(result))?;
        ensure!(
            results.len() == chunk.len(),
            "the server answered for {} of {} turns",
            results.len(),
            chunk.len()
        );
    }
    Ok(told)
}

fn item(turn: &Turn) -> Value {
    json!({
        "text": turn.text, "layer": "episodic",
        "fields": {"session": turn.session, "speaker": turn.speaker, "time": turn.time, "turn": turn.id},
    })
}

/// Waits until every turn has its vector. Only a dense search waits for that, as others find a turn without.
fn await_vectors(told: &[(Client, &Conversation)], tokens: &[String]) -> Result<()> {
    let total = told.iter().map(|(_, conversation)| conversation.turns.len() as u64).sum();
    let mut progress = Progress::of("making vectors");
    let mut done = 0;
    for ((client, conversation), token) in told.iter().zip(tokens) {
        let body = json!({"query": "is it there?", "k": 1, "mode": "dense", "min_token": token});
        let began = now();
        loop {
            progress.at(done, total);
            match client.ask(Ask::new("POST", "/v1/search").json(&body)) {
                Ok(_) => break,
                Err(failure) if is_behind(&failure) && began.elapsed() < VECTORS_MAX => {
                    std::thread::sleep(LOOK_AGAIN)
                }
                Err(failure) => return Err(failure).context("the vectors were not made in time"),
            }
        }
        done += conversation.turns.len() as u64;
    }
    Ok(())
}

fn is_behind(failure: &Failure) -> bool {
    failure.code() == "MIN_TOKEN_TIMEOUT"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_how() {
        assert_eq!(Way::Dense.asked("q"), json!({"query": "q", "k": 100, "mode": "dense"}));
        let without = Way::Without(Knob::Time).asked("q");
        assert_eq!(without, json!({"query": "q", "k": 100, "mode": "hybrid", "without": ["time"]}));
    }

    #[test]
    fn percentiles_are_of_the_searches_that_were_made() {
        let took = (1..=100).map(Duration::from_millis).collect();
        let mut score = Score { way: Way::Hybrid, all: Recall::default(), categories: BTreeMap::new(), took };
        assert_eq!((score.within_ms(0.5), score.within_ms(0.95), score.within_ms(1.0)), (51.0, 96.0, 100.0));
        score.took.clear();
        assert_eq!(score.within_ms(0.5), 0.0);
    }
}
