//! Writes in a declared round, held against what is known and what others search for (CAL).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use support::{BEGIN, Bench, call, draft, open_with};
use tabellion_core::canonical::sha256;
use tabellion_core::error::Code;
use tabellion_engine::Call;
use tabellion_engine::ports::{EmbedError, Embedder, ManualClock};
use tabellion_engine::reply::{
    Ground, RoundDraft, SearchQuery, TrustQuery, TrustReply, Verdict, WriteStatus, Written,
};

const DIMENSIONS: usize = 384;
const TOPICS: usize = 4;
const AGENTS: usize = 5;

/// Texts such as `about 2: forty` lie around their topic, each at a place of its own; `magnet 2: x` lies in the very middle of it.
struct Topics;

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

fn placed(text: &str) -> Vec<f32> {
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
struct Debate {
    bench: Bench,
    agents: Vec<Call>,
    keys: Vec<String>,
    round: String,
    written: usize,
    asked: usize,
}

fn opened(data: Option<&Path>) -> Bench {
    open_with(data, 7, Arc::new(ManualClock::at(BEGIN.parse().unwrap())), Some(Arc::new(Topics)))
}

impl Debate {
    async fn new(data: Option<&Path>) -> Self {
        let bench = opened(data);
        let (engine, admin) = (&bench.engine, &bench.admin);
        engine.set_policy(admin, "share", json!({"kind": "write_shared", "share": "on"})).await.unwrap();
        let own = admin.caller.user().to_string();
        for number in 0..AGENTS {
            engine.create_agent(admin, &format!("agent-{number}"), None, true).await.unwrap();
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

    async fn declare(&mut self) {
        let draft = RoundDraft {
            goal: "about 0: what we know".into(),
            agents: (0..AGENTS).map(|number| format!("agent-{number}")).collect(),
            texts: (0..TOPICS).map(|topic| format!("about {topic}: declared")).collect(),
            ..RoundDraft::default()
        };
        self.round = self.bench.engine.declare_round(&self.bench.admin, draft).await.unwrap().id;
    }

    async fn write(&self, agent: usize, text: &str) -> Written {
        let mut body = json!({"text": text, "tier": "shared"});
        if !self.round.is_empty() {
            body["trace_id"] = json!(self.round);
        }
        self.bench.engine.write(&self.agents[agent], draft(body)).await.unwrap()
    }

    /// Everybody but one asks something about a topic.
    async fn ask(&mut self, but: usize, topic: usize) {
        for agent in (0..AGENTS).filter(|agent| *agent != but) {
            self.asked += 1;
            let question = format!("about {topic}: question {}", self.asked);
            self.search(agent, &question).await;
        }
    }

    async fn search(&self, agent: usize, question: &str) -> Vec<String> {
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
    async fn warm(&mut self) {
        for number in 0..60 {
            self.write(number % AGENTS, &format!("about {}: seed {number}", number % TOPICS)).await;
        }
        self.declare().await;
        for _ in 0..40 {
            self.honest().await;
        }
    }

    async fn honest(&mut self) -> Written {
        self.written += 1;
        let (agent, topic) = (self.written % AGENTS, self.written % TOPICS);
        self.ask(agent, topic).await;
        self.write(agent, &format!("about {topic}: honest {}", self.written)).await
    }

    async fn trust(&self, item: &str) -> TrustReply {
        let query = TrustQuery { item: Some(item.to_owned()), ..TrustQuery::default() };
        self.bench.engine.trust_told(&self.bench.admin, &query).await.unwrap()
    }
}

fn is_staged(written: &Written) -> bool {
    written.status == WriteStatus::Deferred
        && written.deferral.as_ref().is_some_and(|deferral| deferral.code == Code::CalibrationStaged)
}

/// CAL-11, CAL-30, CAL-31, CAL-34, acceptance 9 and 10: what crowds a topic is kept apart, once however often it is sent, is found
/// by nobody, and a person's yes makes it retrievable under the id that it had all along.
#[tokio::test]
async fn a_magnet_is_kept_apart_until_a_person_lets_it_in() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    debate.ask(1, 2).await;
    let written = debate.write(1, "magnet 2: everything").await;
    assert!(is_staged(&written), "{written:?}");
    let (id, pending) = (written.id.unwrap().to_string(), written.deferral.unwrap().pending_id);
    let size = debate.bench.size().await;
    for number in 0..100 {
        let again = debate.write(1, &format!("magnet 2: everything, said anew {number}")).await;
        assert_eq!(again.deferral.unwrap().pending_id, pending);
    }
    assert_eq!(debate.bench.size().await, size, "no new draw");
    assert!(!debate.search(0, "magnet 2: everything").await.contains(&id));
    assert_eq!(debate.trust(&id).await.item.unwrap().status, "staged");
    let waiting = debate.bench.engine.reviews(&debate.bench.admin, Some("pending")).await.unwrap();
    assert!(waiting.iter().any(|review| review.id.to_string() == pending));
    let verdict =
        Verdict { approve: true, reason: "checked".into(), content_hash: None, ground: Ground::Other };
    let decided = debate.bench.engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    assert_eq!((decided.status, decided.id.unwrap().to_string()), (WriteStatus::Committed, id.clone()));
    assert!(debate.search(0, "magnet 2: everything").await.contains(&id));
}

/// CAL-30, acceptance 5: what honest agents write passes, nearly always.
#[tokio::test]
async fn honest_writes_pass() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let mut staged = 0;
    for _ in 0..40 {
        staged += usize::from(is_staged(&debate.honest().await));
    }
    assert!(staged <= 6, "{staged} of 40");
}

async fn detect(debate: &Debate, written: &Written) -> f64 {
    debate.trust(&written.id.unwrap().to_string()).await.item.unwrap().numbers.unwrap().detect
}

/// CAL-33, CAL-34, acceptance 10: what other parties say too is let in without a person, under the same id.
#[tokio::test]
async fn what_others_bear_out_is_let_in() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    // Something that lies a little too much in the middle: below the gate, but not odd.
    let mut staged = None;
    for number in 0..60 {
        let (topic, own) = (number % TOPICS, 35 + number);
        debate.ask(1, topic).await;
        let text = format!("middling {topic}: {own}");
        let written = debate.write(1, &text).await;
        if is_staged(&written) && detect(&debate, &written).await >= 0.2 {
            staged = Some((text, written));
            break;
        }
    }
    let (text, written) = staged.expect("something between a magnet and an honest text is kept apart");
    let id = written.id.unwrap().to_string();
    for agent in [2, 3, 4, 2, 3] {
        debate.write(agent, &text).await;
    }
    let status = debate.trust(&id).await.item.unwrap().status;
    assert_ne!(status, "staged");
}

/// CAL-14 (acceptance): the first write into nothing commits; one user's writes outside of rounds are never kept apart.
#[tokio::test]
async fn one_user_alone_is_never_kept_back() {
    let debate = Debate::new(None).await;
    let first = debate.write(0, "about 1: the first").await;
    assert_eq!(first.status, WriteStatus::Committed);
    assert_eq!(debate.trust(&first.id.unwrap().to_string()).await.item.unwrap().status, "unscored");
    for number in 0..200 {
        let written = debate.write(0, &format!("magnet 1: {number}")).await;
        assert_eq!(written.status, WriteStatus::Committed, "{number}");
    }
}

/// CAL-42, acceptance 12: folding the log again gives the same trust, weights and gate; what waits still does after a restart.
#[tokio::test]
async fn a_restart_changes_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    debate.ask(1, 2).await;
    let written = debate.write(1, "magnet 2: everything").await;
    let id = written.id.unwrap().to_string();
    let whole = TrustQuery::default();
    let before = debate.bench.engine.trust_told(&debate.bench.admin, &whole).await.unwrap();
    let item = debate.trust(&id).await;
    let Debate { bench, keys, .. } = debate;
    let (admin_key, engine) = (bench.admin_key.clone(), bench.engine);
    tokio::task::spawn_blocking(move || engine.close()).await.unwrap();
    let again = opened(Some(dir.path()));
    let admin = call(&again.engine, &admin_key);
    assert_eq!(again.engine.trust_told(&admin, &whole).await.unwrap(), before);
    let query = TrustQuery { item: Some(id.clone()), ..TrustQuery::default() };
    assert_eq!(again.engine.trust_told(&admin, &query).await.unwrap(), item);
    assert!(!before.spaces.is_empty() && before.staged.iter().any(|one| one.id.to_string() == id));
    drop(keys);
}

/// CAL-29, CAL-40: who asks about something else in a declared round loses credibility, and who asks about it does not.
#[tokio::test]
async fn who_looks_away_is_believed_less() {
    let mut debate = Debate::new(None).await;
    for number in 0..60 {
        debate.write(number % AGENTS, &format!("about {}: seed {number}", number % TOPICS)).await;
    }
    debate.declare().await;
    for round in 0..8 {
        // Several questions each, so that none is drawn too often.
        for agent in [1, 2, 3].repeat(4) {
            debate.asked += 1;
            let question = format!("about {}: question {}", round % TOPICS, debate.asked);
            debate.search(agent, &question).await;
        }
        debate.search(4, &format!("about elsewhere-{round}: nothing of this")).await;
        debate.write(0, &format!("about {}: honest {round}", round % TOPICS)).await;
    }
    let told = debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap();
    let space = told.spaces.iter().max_by_key(|space| space.agents.len()).unwrap();
    let credible = |name: &str| space.auditors.iter().find(|one| one.agent == name).unwrap().credibility;
    assert!(credible("agent-4") < 0.1, "{}", credible("agent-4"));
    assert!((1..4).all(|agent| credible(&format!("agent-{agent}")) > 0.95));
}

/// CAL-41, acceptance 13: what a writer cannot see, and what others search for by themselves, changes nothing that they are told.
#[tokio::test]
async fn what_is_hidden_moves_no_trust() {
    let mut told = Vec::new();
    for hidden in [false, true] {
        let mut debate = Debate::new(None).await;
        let outsider = {
            let (engine, admin) = (&debate.bench.engine, &debate.bench.admin);
            engine.create_agent(admin, "outsider", None, true).await.unwrap();
            let key = engine.create_key(admin, Some("user-0"), Some("outsider"), None).await.unwrap();
            call(engine, &key.secret)
        };
        debate.warm().await;
        let mut replies = Vec::new();
        for number in 0..20 {
            if hidden {
                // By an agent that the others may not invoke, and searches that are nobody's but its own.
                let body = json!({"text": format!("magnet 1: hidden {number}"), "tier": "shared"});
                debate.bench.engine.write(&outsider, draft(body)).await.unwrap();
                let query = SearchQuery {
                    query: Some("about 3: hidden".into()),
                    shared_work: true,
                    ..SearchQuery::default()
                };
                debate.bench.engine.search(&outsider, query).await.unwrap();
            }
            let written = debate.honest().await;
            replies.push((written.status, written.trust));
        }
        let spaces =
            debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap().spaces;
        let widest = spaces.into_iter().max_by_key(|space| (space.agents.len(), space.rounds)).unwrap();
        told.push((replies, widest));
    }
    assert_eq!(told[0], told[1]);
}
