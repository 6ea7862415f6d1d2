//! Two worlds that differ only in what an observer cannot see must give that observer the same replies.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use support::{Bench, call, draft, open};
use tabellion_core::gate::WriteDraft;
use tabellion_core::time::Period;
use tabellion_engine::Call;
use tabellion_engine::reply::{EdgeTerms, ListQuery, SearchQuery};

/// Few words, so that what is hidden often says the same as what is seen, or the opposite.
const TEXTS: [&str; 8] = [
    "The gateway listens on port 8080",
    "The gateway listens on port 9090",
    "The gateway does not listen on port 8080",
    "Ana lives in Lisbon",
    "Ana lives in Porto",
    "The depot opens at seven",
    "Write to jo@example.org about the depot",
    "The old mill burns spruce and birch",
];

#[derive(Debug, Clone)]
enum Step {
    /// Who is watched writes.
    Write(usize, Tier),
    Update(usize, usize),
    Retract(usize),
    /// Somebody shares what the observer may see.
    Share(usize),
    /// Somebody writes or changes what the observer can never see.
    Hidden(usize, Hide),
    Wait(u32),
}

#[derive(Debug, Clone, Copy)]
enum Tier {
    Private,
    Auto,
    Both,
    Shared,
}

#[derive(Debug, Clone, Copy)]
enum Hide {
    /// Private to another user, through the very agent of the observer.
    Private,
    /// Shared, but by an agent that the observer may not invoke.
    OtherAgent,
    /// Shared, but with a resource that the observer's agent may not use.
    OtherResource,
    /// Private to the observer's own user, but through an agent that uses more.
    OwnOther,
    /// A search by another user.
    Search,
    /// A grant that concerns others.
    Grant,
}

fn step() -> impl Strategy<Value = Step> {
    let text = 0..TEXTS.len();
    let tier = prop_oneof![Just(Tier::Private), Just(Tier::Auto), Just(Tier::Both), Just(Tier::Shared)];
    let hide = prop_oneof![
        3 => Just(Hide::Private),
        3 => Just(Hide::OtherAgent),
        2 => Just(Hide::OtherResource),
        3 => Just(Hide::OwnOther),
        1 => Just(Hide::Search),
        1 => Just(Hide::Grant),
    ];
    prop_oneof![
        4 => (text.clone(), tier).prop_map(|(text, tier)| Step::Write(text, tier)),
        1 => (0..4usize, text.clone()).prop_map(|(item, text)| Step::Update(item, text)),
        1 => (0..4usize).prop_map(Step::Retract),
        2 => text.clone().prop_map(Step::Share),
        6 => (text, hide).prop_map(|(text, hide)| Step::Hidden(text, hide)),
        1 => (1..3_000u32).prop_map(Step::Wait),
    ]
}

/// A memory with everybody in it.
struct World {
    bench: Bench,
    observer: Call,
    /// Another user, through the observer's agent.
    neighbour: Call,
    /// The same, through an agent that is a stranger to the observer.
    stranger: Call,
    /// The same, through an agent that uses more than the observer's.
    richer: Call,
    /// The observer's user, through that agent.
    own_richer: Call,
    items: Vec<String>,
    names: BTreeMap<String, String>,
    replies: Vec<String>,
}

async fn pair(bench: &Bench, user: &str, agent: &str) -> Call {
    let key = bench.engine.create_key(&bench.admin, Some(user), Some(agent), None).await.unwrap();
    call(&bench.engine, &key.secret)
}

impl World {
    async fn new(seed: u64) -> Self {
        let bench = open(None, seed);
        let (engine, admin) = (&bench.engine, &bench.admin);
        for user in ["watcher", "other"] {
            engine.create_user(admin, user, None).await.unwrap();
        }
        for agent in ["common", "strange", "rich"] {
            engine.create_agent(admin, agent, None, false).await.unwrap();
        }
        for resource in ["books", "vault"] {
            engine.create_resource(admin, resource, None, None).await.unwrap();
        }
        let share = json!({"kind": "write_shared", "share": "on"});
        engine.set_policy(admin, "share-all", share).await.unwrap();
        for (agent, resource) in
            [("common", "books"), ("strange", "books"), ("rich", "books"), ("rich", "vault")]
        {
            engine.grant(admin, ("ar", agent, resource), EdgeTerms::default()).await.unwrap();
        }
        let observer = pair(&bench, "watcher", "common").await;
        let neighbour = pair(&bench, "other", "common").await;
        let stranger = pair(&bench, "other", "strange").await;
        let richer = pair(&bench, "other", "rich").await;
        let own_richer = pair(&bench, "watcher", "rich").await;
        let (items, names, replies) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { bench, observer, neighbour, stranger, richer, own_richer, items, names, replies }
    }

    async fn hide(&self, text: &str, hide: Hide, serial: usize) {
        let engine = &self.bench.engine;
        let body =
            |tier: &str| draft(json!({"text": text, "tier": tier, "trace_id": format!("hidden-{serial}")}));
        match hide {
            Hide::Private => drop(engine.write(&self.neighbour, body("private")).await),
            Hide::OtherAgent => drop(engine.write(&self.stranger, body("both")).await),
            Hide::OtherResource => drop(engine.write(&self.richer, body("shared")).await),
            Hide::OwnOther => drop(engine.write(&self.own_richer, body("private")).await),
            Hide::Search => {
                let query = SearchQuery { query: Some(text.to_owned()), ..SearchQuery::default() };
                drop(engine.search(&self.stranger, query).await);
            }
            Hide::Grant => {
                let edge = ("ar", "strange", "vault");
                drop(engine.grant(&self.bench.admin, edge, EdgeTerms::default()).await);
            }
        }
    }

    /// What the observer does, and what it is told.
    async fn act(&mut self, step: &Step, serial: usize) {
        let engine = self.bench.engine.clone();
        self.bench.pass(Period::from_secs(1));
        // Searches of its own do not matter here: each write is a piece of work of its own.
        let trace = format!("work-{serial}");
        match step {
            Step::Write(text, tier) => {
                let tier = format!("{tier:?}").to_lowercase();
                let body = draft(json!({"text": TEXTS[*text], "tier": tier, "trace_id": trace}));
                let reply = engine.write(&self.observer, body).await;
                self.items.extend(reply.iter().filter_map(|written| written.id).map(|id| id.to_string()));
                self.told(&format!("{reply:?}"));
            }
            Step::Update(item, text) => {
                let Some(id) = self.items.get(*item).cloned() else { return };
                let body = draft(json!({"text": format!("{} now", TEXTS[*text]), "trace_id": trace}));
                let reply = engine.write(&self.observer, WriteDraft { item: Some(id), ..body }).await;
                self.told(&format!("{reply:?}"));
            }
            Step::Retract(item) => {
                let Some(id) = self.items.get(*item).cloned() else { return };
                let reply = engine.retract(&self.observer, &id, None).await;
                self.told(&format!("{reply:?}"));
            }
            Step::Share(text) => {
                let body = draft(json!({"text": TEXTS[*text], "tier": "shared", "trace_id": trace}));
                drop(engine.write(&self.neighbour, body).await);
            }
            Step::Wait(seconds) => self.bench.pass(Period::from_secs(u64::from(*seconds))),
            Step::Hidden(..) => {}
        }
    }

    /// Every read that there is.
    async fn look(&mut self) {
        let engine = self.bench.engine.clone();
        let list = engine.list(&self.observer, ListQuery { limit: Some(3), ..ListQuery::default() }).await;
        let ids: Vec<String> =
            list.iter().flat_map(|page| &page.rows).map(|item| item.id.to_string()).collect();
        self.told(&format!("{list:?}"));
        for text in ["gateway port 8080", "depot", "Ana Lisbon", "jo@example.org"] {
            for tier in [None, Some("shared".to_owned())] {
                let query = Some(text.to_owned());
                let query = SearchQuery { query, tier, exact: true, k: Some(4), ..SearchQuery::default() };
                let reply = engine.search(&self.observer, query).await;
                self.told(&format!("{reply:?}"));
            }
        }
        for id in ids {
            let reply = engine.get(&self.observer, &id, None).await;
            self.told(&format!("{reply:?}"));
            let reply = engine.versions(&self.observer, &id).await;
            self.told(&format!("{reply:?}"));
            let reply = engine.explain(&self.observer, &id).await;
            self.told(&format!("{reply:?}"));
        }
        let reply = engine.kept_writes(&self.observer).await;
        self.told(&format!("{reply:?}"));
    }

    /// Keeps a reply, with names in place of what is drawn by chance.
    fn told(&mut self, reply: &str) {
        let mut plain = String::new();
        for word in reply.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')) {
            let bare = word.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            let is_chance =
                bare.len() == 48 || bare.get(3..4) == Some("_") && bare.len() == 30 || bare.len() == 64;
            if is_chance {
                let next = format!("#{}", self.names.len());
                let name = self.names.entry(bare.to_owned()).or_insert(next);
                // A token is sealed anew each time it is given.
                plain.push_str(if bare.len() == 48 { "token" } else { name });
                plain.push_str(&word[bare.len()..]);
            } else {
                plain.push_str(word);
            }
        }
        self.replies.push(plain);
    }
}

async fn play(steps: &[Step], seed: u64, with_hidden: bool) -> Vec<String> {
    let mut world = World::new(seed).await;
    for (serial, step) in steps.iter().enumerate() {
        let Step::Hidden(text, hide) = step else {
            world.act(step, serial).await;
            continue;
        };
        if with_hidden {
            world.hide(TEXTS[*text], *hide, serial).await;
        }
    }
    world.look().await;
    world.replies
}

fn cases() -> u32 {
    if std::env::var_os("TABELLION_SOAK").is_some() { 10_000 } else { 500 }
}

/// Steps of a history: in a night up to 200, as many as the spec asks for.
fn steps_max() -> usize {
    if std::env::var_os("TABELLION_SOAK").is_some() { 200 } else { 30 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// SHARE-38 to 43, SHARE-48, SHARE-53: a history without what an observer can never see gives it the same replies, to the last
    /// digit of every score.
    #[test]
    fn what_is_hidden_changes_nothing(steps in prop::collection::vec(step(), 1..steps_max()), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let with = runtime.block_on(play(&steps, seed, true));
        let without = runtime.block_on(play(&steps, seed, false));
        prop_assert_eq!(with, without);
    }
}
