//! Random histories of a team against a reference that knows nothing but sets: what each pair and each person is shown, by every
//! read that there is, is exactly what the specification says.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use support::{Bench, call, draft, open};
use tabellion_core::error::Code;
use tabellion_core::gate::WriteDraft;
use tabellion_core::log::AgentStatus;
use tabellion_core::time::{Period, Timestamp};
use tabellion_engine::Call;
use tabellion_engine::reply::{EdgeTerms, ListQuery, SearchQuery};

const USERS: usize = 3;
const AGENTS: usize = 3;
const RESOURCES: usize = 3;
const IDLE_MINUTES: u64 = 30;

#[derive(Debug, Clone)]
enum Step {
    Grant(Graph, usize, usize, Option<u64>),
    Revoke(Graph, usize, usize),
    Status(usize, bool),
    Share(usize, bool),
    Write { user: usize, agent: Option<usize>, tier: usize, parent: Option<usize> },
    Update { user: usize, agent: Option<usize>, item: usize },
    Retract { user: usize, agent: Option<usize>, item: usize },
    Look { user: usize, agent: Option<usize> },
    Wait(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Graph {
    Ua,
    Ar,
}

fn step() -> impl Strategy<Value = Step> {
    let graph = prop_oneof![Just(Graph::Ua), Just(Graph::Ar)];
    let agent = prop_oneof![1 => Just(None), 4 => (0..AGENTS).prop_map(Some)];
    let edge = (graph, 0..3usize, 0..3usize);
    prop_oneof![
        4 => (edge.clone(), prop::option::weighted(0.3, 1..120u64))
            .prop_map(|((graph, from, to), minutes)| Step::Grant(graph, from, to, minutes)),
        3 => edge.prop_map(|(graph, from, to)| Step::Revoke(graph, from, to)),
        1 => (0..AGENTS, any::<bool>()).prop_map(|(agent, works)| Step::Status(agent, works)),
        1 => (0..USERS, any::<bool>()).prop_map(|(user, on)| Step::Share(user, on)),
        6 => (0..USERS, agent.clone(), 0..4usize, prop::option::weighted(0.3, 0..8usize))
            .prop_map(|(user, agent, tier, parent)| Step::Write { user, agent, tier, parent }),
        2 => (0..USERS, agent.clone(), 0..12usize)
            .prop_map(|(user, agent, item)| Step::Update { user, agent, item }),
        1 => (0..USERS, agent.clone(), 0..12usize)
            .prop_map(|(user, agent, item)| Step::Retract { user, agent, item }),
        5 => (0..USERS, agent).prop_map(|(user, agent)| Step::Look { user, agent }),
        2 => (1..45u64).prop_map(Step::Wait),
    ]
}

/// A fragment as the specification has it.
#[derive(Debug, Clone)]
struct Fragment {
    id: String,
    version: String,
    text: String,
    shared: bool,
    owner: usize,
    /// The agent that wrote it as it is.
    writer: Option<usize>,
    agents: BTreeSet<String>,
    resources: BTreeSet<usize>,
    live: bool,
    /// Whether it has an older version, which others may see than those who see this one.
    updated: bool,
    /// For a shared copy, the id of what it is a copy of.
    origin: Option<String>,
}

/// A(m) and R(m).
type Provenance = (BTreeSet<String>, BTreeSet<usize>);

/// Sets, and V as it is written down (SHARE-11, 12).
#[derive(Debug, Default)]
struct Model {
    edges: BTreeMap<(Graph, usize, usize), Option<Timestamp>>,
    retired: BTreeSet<usize>,
    shares: BTreeSet<usize>,
    fragments: Vec<Fragment>,
    /// Where what a pair was given without a name for its work came from, and when that was last (SHARE-9).
    given: BTreeMap<(usize, Option<usize>), (Provenance, Timestamp)>,
}

impl Model {
    fn has(&self, graph: Graph, from: usize, to: usize, now: Timestamp) -> bool {
        self.edges.get(&(graph, from, to)).is_some_and(|end| end.is_none_or(|end| now < end))
    }

    fn works(&self, user: usize, agent: usize, now: Timestamp) -> bool {
        self.has(Graph::Ua, user, agent, now) && !self.retired.contains(&agent)
    }

    /// V(u, a, t) for an agent; H(u, t) for a person.
    fn sees(&self, user: usize, agent: Option<usize>, m: &Fragment, now: Timestamp) -> bool {
        let acting: Vec<Option<usize>> = match agent {
            Some(agent) => vec![Some(agent)],
            None => std::iter::once(None).chain((0..AGENTS).map(Some)).collect(),
        };
        let agents_fit = m.agents.iter().all(|name| {
            name == "direct"
                || (0..AGENTS).any(|a| agent_name(a) == *name && self.has(Graph::Ua, user, a, now))
        });
        let resources_fit = acting.iter().any(|acting| match acting {
            None => m.resources.is_empty(),
            Some(a) => {
                self.works(user, *a, now) && m.resources.iter().all(|r| self.has(Graph::Ar, *a, *r, now))
            }
        });
        m.live && agents_fit && resources_fit && (m.shared || m.owner == user)
    }

    fn seen(&self, user: usize, agent: Option<usize>, now: Timestamp) -> Vec<usize> {
        (0..self.fragments.len()).filter(|at| self.sees(user, agent, &self.fragments[*at], now)).collect()
    }

    fn give(&mut self, user: usize, agent: Option<usize>, fragments: &[usize], now: Timestamp) {
        let mut given = self.given(user, agent, now);
        for at in fragments {
            given.0.extend(self.fragments[*at].agents.iter().cloned());
            given.1.extend(&self.fragments[*at].resources);
        }
        self.given.insert((user, agent), (given, now));
    }

    fn given(&self, user: usize, agent: Option<usize>, now: Timestamp) -> Provenance {
        let given = self.given.get(&(user, agent));
        let given = given.filter(|(_, last)| now.since(*last) < Period::from_secs(IDLE_MINUTES * 60));
        // A person is believed.
        given.filter(|_| agent.is_some()).map(|(given, _)| given.clone()).unwrap_or_default()
    }
}

fn agent_name(agent: usize) -> String {
    format!("agent-{agent}")
}

struct Team {
    bench: Bench,
    model: Model,
    keys: BTreeMap<(usize, Option<usize>), String>,
    names: BTreeMap<String, String>,
    resources: BTreeMap<String, usize>,
    serial: usize,
}

impl Team {
    async fn new(seed: u64) -> Self {
        let bench = open(None, seed);
        let (engine, admin) = (&bench.engine, &bench.admin);
        let (mut names, mut resources, mut keys) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for user in 0..USERS {
            engine.create_user(admin, &format!("person-{user}"), None).await.unwrap();
        }
        for agent in 0..AGENTS {
            let made = engine.create_agent(admin, &agent_name(agent), None, false).await.unwrap();
            names.insert(made.id.to_string(), agent_name(agent));
        }
        for agent in engine.agents(admin).await.unwrap() {
            names.insert(agent.id.to_string(), agent.name);
        }
        for resource in 0..RESOURCES {
            let made =
                engine.create_resource(admin, &format!("resource-{resource}"), None, None).await.unwrap();
            resources.insert(made.id.to_string(), resource);
        }
        for user in 0..USERS {
            for agent in std::iter::once(None).chain((0..AGENTS).map(Some)) {
                let (who, by) = (format!("person-{user}"), agent.map(agent_name));
                let key = engine.create_key(admin, Some(&who), by.as_deref(), None).await.unwrap();
                keys.insert((user, agent), key.secret);
            }
        }
        let mut model = Model::default();
        for edge in (0..USERS).flat_map(|user| (0..AGENTS).map(move |agent| (Graph::Ua, user, agent))) {
            model.edges.insert(edge, None);
        }
        Self { bench, model, keys, names, resources, serial: 0 }
    }

    fn now(&self) -> Timestamp {
        self.bench.now()
    }

    /// The call of a pair or person; nothing if the agent is not granted, which the reference must say as well.
    fn call(&self, user: usize, agent: Option<usize>) -> Option<Call> {
        let allowed = agent.is_none_or(|agent| self.model.works(user, agent, self.now()));
        let answer = self.bench.engine.authenticate(&self.keys[&(user, agent)]);
        assert_eq!(answer.is_ok(), allowed, "{answer:?}");
        match answer {
            Ok(_) => Some(call(&self.bench.engine, &self.keys[&(user, agent)])),
            Err(refusal) => {
                assert_eq!(refusal.code, Code::AgentNotGranted);
                None
            }
        }
    }

    async fn take(&mut self, step: &Step) {
        self.serial += 1;
        match step {
            Step::Grant(graph, from, to, minutes) => self.grant((*graph, *from, *to), *minutes).await,
            Step::Revoke(graph, from, to) => {
                let names = edge_names((*graph, *from, *to));
                let edge = (names.0, names.1.as_str(), names.2.as_str());
                drop(self.bench.engine.revoke(&self.bench.admin, edge, None).await);
                self.model.edges.remove(&(*graph, *from, *to));
            }
            Step::Status(agent, works) => {
                let status = if *works { AgentStatus::Active } else { AgentStatus::Retired };
                let name = agent_name(*agent);
                drop(self.bench.engine.set_agent_status(&self.bench.admin, &name, status, None).await);
                if *works {
                    self.model.retired.remove(agent);
                } else {
                    self.model.retired.insert(*agent);
                }
            }
            Step::Share(user, on) => self.share(*user, *on).await,
            Step::Write { user, agent, tier, parent } => self.write((*user, *agent), *tier, *parent).await,
            Step::Update { user, agent, item } => self.update((*user, *agent), *item).await,
            Step::Retract { user, agent, item } => self.retract((*user, *agent), *item).await,
            Step::Look { user, agent } => self.look(*user, *agent).await,
            Step::Wait(minutes) => self.bench.pass(Period::from_secs(minutes * 60)),
        }
    }

    async fn grant(&mut self, edge: (Graph, usize, usize), minutes: Option<u64>) {
        let end = minutes.map(|minutes| self.now().plus(Period::from_secs(minutes * 60)));
        let terms = EdgeTerms { expires_at: end.map(|end| end.to_string()), ..EdgeTerms::default() };
        let names = edge_names(edge);
        let named = (names.0, names.1.as_str(), names.2.as_str());
        self.bench.engine.grant(&self.bench.admin, named, terms).await.unwrap();
        self.model.edges.insert(edge, end);
    }

    async fn share(&mut self, user: usize, on: bool) {
        let body = json!({"kind": "write_shared", "share": if on { "on" } else { "off" }, "scope": {"user": format!("person-{user}")}});
        self.bench.engine.set_policy(&self.bench.admin, &format!("share-{user}"), body).await.unwrap();
        if on {
            self.model.shares.insert(user);
        } else {
            self.model.shares.remove(&user);
        }
    }

    async fn write(&mut self, (user, agent): (usize, Option<usize>), tier: usize, parent: Option<usize>) {
        let Some(who) = self.call(user, agent) else { return };
        let tier = ["auto", "private", "both", "shared"][tier];
        let parent = parent.filter(|at| {
            let known = self.model.fragments.get(*at).filter(|m| m.origin.is_none());
            known.is_some_and(|m| self.model.sees(user, agent, m, self.now()))
        });
        let text = format!("note {} of the archive", self.serial);
        let derived: Vec<&str> = parent.iter().map(|at| self.model.fragments[*at].version.as_str()).collect();
        let body = draft(json!({"text": text, "tier": tier, "derived_from": derived}));
        let reply = self.bench.engine.write(&who, body).await;
        let shares = self.model.shares.contains(&user);
        if !shares && matches!(tier, "both" | "shared") {
            assert_eq!(reply.unwrap_err().code, Code::SharingOff);
            return;
        }
        let written = reply.unwrap();
        let (agents, resources) = self.provenance((user, agent), parent);
        let kept = Fragment {
            id: written.id.unwrap().to_string(),
            version: written.version.unwrap().to_string(),
            text,
            shared: tier == "shared",
            owner: user,
            writer: agent,
            agents,
            resources,
            live: true,
            updated: false,
            origin: None,
        };
        assert_eq!(written.shared.is_some(), shares && matches!(tier, "auto" | "both"));
        if let Some(copy) = written.shared {
            let origin = Some(kept.id.clone());
            let copy = Fragment {
                id: copy.to_string(),
                version: String::new(),
                shared: true,
                origin,
                ..kept.clone()
            };
            self.model.fragments.push(kept);
            self.model.fragments.push(copy);
        } else {
            self.model.fragments.push(kept);
        }
    }

    /// A(m) and R(m) of what a pair writes now (SHARE-9, 10).
    fn provenance(&self, (user, agent): (usize, Option<usize>), parent: Option<usize>) -> Provenance {
        let now = self.now();
        let (mut agents, mut resources) = self.model.given(user, agent, now);
        agents.insert(agent.map_or_else(|| "direct".to_owned(), agent_name));
        resources
            .extend((0..RESOURCES).filter(|r| agent.is_some_and(|a| self.model.has(Graph::Ar, a, *r, now))));
        if let Some(parent) = parent.map(|at| &self.model.fragments[at]) {
            agents.extend(parent.agents.iter().cloned());
            resources.extend(&parent.resources);
        }
        (agents, resources)
    }

    /// Only private items that have no copy: what becomes of copies is tested from outside.
    async fn update(&mut self, (user, agent): (usize, Option<usize>), at: usize) {
        let Some(who) = self.call(user, agent) else { return };
        let Some(m) = self.model.fragments.get(at).cloned() else { return };
        let copied = self.model.fragments.iter().any(|other| other.origin.as_ref() == Some(&m.id));
        if m.shared || copied || self.model.shares.contains(&user) {
            return;
        }
        let text = format!("note {} of the archive", self.serial);
        let body = WriteDraft { item: Some(m.id.clone()), ..draft(json!({"text": text, "tier": "private"})) };
        let reply = self.bench.engine.write(&who, body).await;
        if !self.model.sees(user, agent, &m, self.now()) {
            assert_eq!(reply.unwrap_err().code, Code::NotFound);
            return;
        }
        let (agents, resources) = self.provenance((user, agent), Some(at));
        let version = reply.unwrap().version.unwrap().to_string();
        self.model.fragments[at] =
            Fragment { text, version, writer: agent, agents, resources, updated: true, ..m };
    }

    async fn retract(&mut self, (user, agent): (usize, Option<usize>), at: usize) {
        let Some(who) = self.call(user, agent) else { return };
        let Some(m) = self.model.fragments.get(at).cloned() else { return };
        let reply = self.bench.engine.retract(&who, &m.id, None).await;
        if !self.model.sees(user, agent, &m, self.now()) {
            assert_eq!(reply.unwrap_err().code, Code::NotFound);
        } else if m.owner != user {
            assert_eq!(reply.unwrap_err().code, Code::NotContributor);
        } else if agent.is_some() && m.writer != agent {
            // A new agent takes back what it wrote itself, and nothing else (GOV-8.2).
            assert_eq!(reply.unwrap_err().code, Code::Forbidden);
        } else {
            reply.unwrap();
            // What others have of it goes with it.
            let is_taken = |one: &&mut Fragment| one.id == m.id || one.origin.as_ref() == Some(&m.id);
            self.model.fragments.iter_mut().filter(is_taken).for_each(|one| one.live = false);
        }
    }

    /// Every read of one caller: each must be sound and complete.
    async fn look(&mut self, user: usize, agent: Option<usize>) {
        let Some(who) = self.call(user, agent) else { return };
        let (engine, now) = (self.bench.engine.clone(), self.now());
        let seen = self.model.seen(user, agent, now);
        let ids = |all: &[usize]| -> BTreeSet<String> {
            all.iter().map(|at| self.model.fragments[*at].id.clone()).collect()
        };
        let page = engine.list(&who, ListQuery { limit: Some(100), ..ListQuery::default() }).await.unwrap();
        assert_eq!(page.rows.iter().map(|item| item.id.to_string()).collect::<BTreeSet<_>>(), ids(&seen));
        for item in &page.rows {
            let m = self.model.fragments.iter().find(|m| m.id == item.id.to_string()).unwrap();
            assert_eq!(item.content.text, m.text);
            let agents: BTreeSet<String> =
                item.agents.iter().map(|id| self.names[&id.to_string()].clone()).collect();
            let used: BTreeSet<usize> =
                item.resources.iter().map(|id| self.resources[&id.to_string()]).collect();
            assert_eq!((&agents, &used), (&m.agents, &m.resources), "{m:?}");
        }
        // Its own copies give way to what it keeps.
        let gives_way = |at: &usize| {
            let m = &self.model.fragments[*at];
            let kept = |other: &&usize| Some(&self.model.fragments[**other].id) == m.origin.as_ref();
            m.owner == user && m.origin.is_some() && seen.iter().any(|other| kept(&other))
        };
        let found_by_all: Vec<usize> = seen.iter().copied().filter(|at| !gives_way(at)).collect();
        for k in [3, 100] {
            let query =
                SearchQuery { query: Some("archive".to_owned()), k: Some(k), ..SearchQuery::default() };
            let reply = engine.search(&who, query).await.unwrap();
            let found: BTreeSet<String> = reply.results.iter().map(|one| one.item.id.to_string()).collect();
            assert!(found.is_subset(&ids(&found_by_all)), "{found:?}");
            assert_eq!(found.len(), found_by_all.len().min(usize::try_from(k).unwrap()), "no short result");
        }
        for m in self.model.fragments.iter().filter(|m| m.live) {
            let visible = self.model.sees(user, agent, m, now);
            assert!(m.updated || engine.versions(&who, &m.id).await.is_ok() == visible, "{m:?}");
            assert_eq!(engine.get(&who, &m.id, None).await.is_ok(), visible, "{m:?}");
            let explained = engine.explain(&who, &m.id).await;
            assert_eq!(explained.is_ok(), visible || m.owner == user, "{m:?} {explained:?}");
        }
        self.model.give(user, agent, &seen, now);
    }

    /// What auditors are told is what everybody sees.
    async fn audit(&self) {
        for user in 0..USERS {
            for agent in std::iter::once(None).chain((0..AGENTS).map(Some)) {
                let (who, by) = (format!("person-{user}"), agent.map(agent_name));
                let told =
                    self.bench.engine.what(&self.bench.admin, (&who, by.as_deref()), None).await.unwrap();
                let told: BTreeSet<String> = told.iter().map(ToString::to_string).collect();
                let seen = self.model.seen(user, agent, self.now());
                let seen: BTreeSet<String> =
                    seen.iter().map(|at| self.model.fragments[*at].id.clone()).collect();
                assert_eq!(told, seen, "{who} {by:?}");
            }
        }
    }
}

fn edge_names((graph, from, to): (Graph, usize, usize)) -> (&'static str, String, String) {
    match graph {
        Graph::Ua => ("ua", format!("person-{from}"), agent_name(to)),
        Graph::Ar => ("ar", agent_name(from), format!("resource-{to}")),
    }
}

fn cases() -> u32 {
    if std::env::var_os("TABELLION_SOAK").is_some() { 10_000 } else { 500 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// SHARE-3 to 13, SHARE-19, SHARE-22, SHARE-32, SHARE-36, SHARE-37, SHARE-40, SHARE-41, SHARE-52: no leak, no over-denial,
    /// no short result.
    #[test]
    fn everybody_sees_what_the_sets_say(steps in prop::collection::vec(step(), 1..200), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut team = Team::new(seed).await;
            for step in &steps {
                team.take(step).await;
            }
            for user in 0..USERS {
                for agent in std::iter::once(None).chain((0..AGENTS).map(Some)) {
                    team.look(user, agent).await;
                }
            }
            team.audit().await;
        });
    }
}
