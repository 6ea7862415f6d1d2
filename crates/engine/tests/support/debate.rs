//! A debate: agents of as many users who share everything, with texts whose meaning the test chooses.
#![allow(clippy::indexing_slicing, reason = "a failure is a panic")]

use super::{BEGIN, Bench, call, draft, open_with};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tabellion_core::canonical::sha256;
use tabellion_core::error::Code;
use tabellion_engine::Call;
use tabellion_engine::ports::{EmbedError, Embedder, ManualClock};
use tabellion_engine::reply::{
    NewAgent, RoundDraft, SearchQuery, TrustQuery, TrustReply, WriteStatus, Written,
};

pub(crate) const DIMENSIONS: usize = 384;
pub(crate) const TOPICS: usize = 4;
pub(crate) const AGENTS: usize = 5;

/// Texts such as `about 2: forty` lie around their topic, each at a place of its own; `magnet 2: x` lies in the very middle of it.
pub(crate) struct Topics;

/// A direction of its own for each name: four bytes a number, near enough to normal.
fn direction(name: &str) -> Vec<f32> {
    let hashes = (0..DIMENSIONS / 8).map(|part| sha256(format!("{name}/{part}").as_bytes()));
    let bytes: Vec<u8> = hashes.flatten().collect();
    let number = |four: &[u8]| four.iter().map(|byte| f32::from(*byte)).sum::<f32>() - 510.0;
    unit(&bytes.chunks(4).map(number).collect::<Vec<f32>>())
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter().map(|number| number / length).collect()
}

pub(crate) fn placed(text: &str) -> Vec<f32> {
    let topic = text.split([' ', ':']).nth(1).unwrap_or_default();
    // `middling 2: 40` has two fifths of its own.
    let share = text.rsplit(' ').next().and_then(|last| last.parse::<f32>().ok());
    let own = match (text.split(' ').next(), share) {
        (Some("magnet"), _) => 0.02,
        (Some("middling"), Some(percent)) => percent / 100.0,
        _ => 0.55_f32.sqrt(),
    };
    let parts =
        [(0.12_f32.sqrt(), direction("all")), (0.33_f32.sqrt(), direction(topic)), (own, direction(text))];
    let mut all = vec![0.0; DIMENSIONS];
    for (weight, part) in parts {
        all.iter_mut().zip(part).for_each(|(sum, number)| *sum += weight * number);
    }
    unit(&all)
}

impl Embedder for Topics {
    fn model(&self) -> &str {
        "topics"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch_texts_max(&self) -> usize {
        64
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| placed(text)).collect())
    }
}

/// Agents of as many users who share everything.
pub(crate) struct Debate {
    pub(crate) bench: Bench,
    pub(crate) agents: Vec<Call>,
    pub(crate) keys: Vec<String>,
    pub(crate) round: String,
    pub(crate) written: usize,
    pub(crate) asked: usize,
}

pub(crate) fn opened(data: Option<&Path>) -> Bench {
    open_with(data, 7, Arc::new(ManualClock::at(BEGIN.parse().unwrap())), Some(Arc::new(Topics)))
}

impl Debate {
    pub(crate) async fn new(data: Option<&Path>) -> Self {
        Self::on(opened(data)).await
    }

    pub(crate) async fn on(bench: Bench) -> Self {
        Self::with(bench, &[None; AGENTS]).await
    }

    /// With agents of these families of models.
    pub(crate) async fn of_families(families: &[&str; AGENTS]) -> Self {
        Self::with(opened(None), &families.map(Some)).await
    }

    async fn with(bench: Bench, families: &[Option<&str>; AGENTS]) -> Self {
        let (engine, admin) = (&bench.engine, &bench.admin);
        engine.set_policy(admin, "share", json!({"kind": "write_shared", "share": "on"})).await.unwrap();
        let own = admin.caller.user().to_string();
        for (number, family) in families.iter().enumerate() {
            let new = NewAgent {
                name: format!("agent-{number}"),
                family: family.map(str::to_owned),
                trust_declared: true,
                ..NewAgent::default()
            };
            engine.register_agent(admin, new).await.unwrap();
            let edge = ("ua", own.as_str(), &*format!("agent-{number}"));
            engine.grant(admin, edge, Default::default()).await.unwrap();
        }
        let (mut agents, mut keys) = (Vec::new(), Vec::new());
        for number in 0..AGENTS {
            let user = format!("user-{number}");
            engine.create_user(admin, &user, None).await.unwrap();
            let body = json!({"kind": "reviewer", "reviewer": own, "user": user});
            engine.set_policy(admin, &format!("reviews-{number}"), body).await.unwrap();
            for place in 0..AGENTS {
                let agent = format!("agent-{place}");
                let key = engine.create_key(admin, Some(&user), Some(&agent), None).await.unwrap();
                if place == number {
                    agents.push(call(engine, &key.secret));
                    keys.push(key.secret);
                }
            }
        }
        Self { bench, agents, keys, round: String::new(), written: 0, asked: 0 }
    }

    pub(crate) async fn declare(&mut self) {
        let draft = RoundDraft {
            goal: "about 0: what we know".into(),
            agents: (0..AGENTS).map(|number| format!("agent-{number}")).collect(),
            texts: (0..TOPICS).map(|topic| format!("about {topic}: declared")).collect(),
            ..RoundDraft::default()
        };
        self.round = self.bench.engine.declare_round(&self.bench.admin, draft).await.unwrap().id;
    }

    pub(crate) async fn write(&self, agent: usize, text: &str) -> Written {
        let mut body = json!({"text": text, "tier": "shared"});
        if !self.round.is_empty() {
            body["trace_id"] = json!(self.round);
        }
        self.bench.engine.write(&self.agents[agent], draft(body)).await.unwrap()
    }

    /// Everybody but one asks something about a topic.
    pub(crate) async fn ask(&mut self, but: usize, topic: usize) {
        for agent in (0..AGENTS).filter(|agent| *agent != but) {
            self.asked += 1;
            let question = format!("about {topic}: question {}", self.asked);
            self.search(agent, &question).await;
        }
    }

    pub(crate) async fn search(&self, agent: usize, question: &str) -> Vec<String> {
        let query = SearchQuery {
            query: Some(question.to_owned()),
            mode: Some("dense".into()),
            namespace: Some("default".into()),
            trace_id: Some(self.round.clone()).filter(|round| !round.is_empty()),
            k: Some(5),
            ..SearchQuery::default()
        };
        let found = self.bench.engine.search(&self.agents[agent], query).await.unwrap();
        found.results.iter().map(|one| one.item.id.to_string()).collect()
    }

    /// What is known before the first round, and enough rounds for the gate to know what is usual.
    pub(crate) async fn warm(&mut self) {
        for number in 0..60 {
            self.write(number % AGENTS, &format!("about {}: seed {number}", number % TOPICS)).await;
        }
        self.declare().await;
        for _ in 0..40 {
            self.honest().await;
        }
    }

    pub(crate) async fn honest(&mut self) -> Written {
        self.written += 1;
        let (agent, topic) = (self.written % AGENTS, self.written % TOPICS);
        self.ask(agent, topic).await;
        self.write(agent, &format!("about {topic}: honest {}", self.written)).await
    }

    /// The same debate on an engine that was closed and opened again. Rounds and searches are forgotten.
    pub(crate) async fn restarted(self, data: &Path) -> Self {
        let Self { bench, keys, round, written, asked, .. } = self;
        let engine = bench.engine;
        tokio::task::spawn_blocking(move || engine.close()).await.unwrap();
        let bench = open_with(Some(data), 8, bench.clock, Some(Arc::new(Topics)));
        let agents = keys.iter().map(|key| call(&bench.engine, key)).collect();
        Self { bench, agents, keys, round, written, asked }
    }

    pub(crate) async fn trust(&self, item: &str) -> TrustReply {
        let query = TrustQuery { item: Some(item.to_owned()), ..TrustQuery::default() };
        self.bench.engine.trust_told(&self.bench.admin, &query).await.unwrap()
    }
}

pub(crate) fn is_staged(written: &Written) -> bool {
    written.status == WriteStatus::Deferred
        && written.deferral.as_ref().is_some_and(|deferral| deferral.code == Code::CalibrationStaged)
}
