//! Who saw what: what auditors are told of any past moment is what was so then.
//!
//! `TABELLION_SOAK=1` asks about 1,000 positions in place of 60.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use support::{Bench, call, draft, open, open_at};
use tabellion_core::log::AgentStatus;
use tabellion_core::time::{Period, Timestamp};
use tabellion_engine::Call;
use tabellion_engine::reply::EdgeTerms;

const USERS: usize = 3;
const AGENTS: usize = 3;
/// Items that `who` is asked about at each position.
const ASKED: usize = 4;

/// The same numbers each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, many: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % many as u64).unwrap()
    }
}

/// What auditors were told at one position: what each pair and person sees, and who sees some of the items.
#[derive(Debug, Clone, Default, PartialEq)]
struct Told {
    what: BTreeMap<(usize, Option<usize>), BTreeSet<String>>,
    who: BTreeMap<String, BTreeSet<String>>,
}

struct Team {
    bench: Bench,
    keys: BTreeMap<(usize, usize), String>,
    items: Vec<String>,
    chance: Chance,
}

impl Team {
    async fn new(bench: Bench) -> Self {
        let (engine, admin) = (&bench.engine, &bench.admin);
        let mut keys = BTreeMap::new();
        for number in 0..USERS {
            engine.create_user(admin, &format!("user-{number}"), None).await.unwrap();
            engine.create_agent(admin, &format!("agent-{number}"), None, false).await.unwrap();
            engine.create_resource(admin, &format!("resource-{number}"), None, None).await.unwrap();
        }
        let share = json!({"kind": "write_shared", "share": "on"});
        engine.set_policy(admin, "share-all", share).await.unwrap();
        for user in 0..USERS {
            for agent in 0..AGENTS {
                let (who, by) = (format!("user-{user}"), format!("agent-{agent}"));
                let key = engine.create_key(admin, Some(&who), Some(&by), None).await.unwrap();
                keys.insert((user, agent), key.secret);
            }
        }
        Self { bench, keys, items: Vec::new(), chance: Chance(11) }
    }

    /// One thing that somebody does. Whatever is refused changes nothing.
    async fn step(&mut self, serial: usize) {
        self.bench.pass(Period::from_secs(1 + self.chance.below(90) as u64));
        let (engine, admin) = (self.bench.engine.clone(), self.bench.admin.clone());
        let (from, to, graph) = (self.chance.below(3), self.chance.below(3), self.chance.below(2));
        let (source, target) = [
            (format!("user-{from}"), format!("agent-{to}")),
            (format!("agent-{from}"), format!("resource-{to}")),
        ][graph]
            .clone();
        let edge = (["ua", "ar"][graph], source.as_str(), target.as_str());
        match self.chance.below(10) {
            0..4 => self.write((from, to), serial).await,
            4 | 5 => drop(engine.revoke(&admin, edge, None).await),
            6 | 7 => {
                let minutes = self.chance.below(30) as u64;
                let end = self.bench.now().plus(Period::from_secs(60 * minutes));
                let expires_at = (minutes > 10).then(|| end.to_string());
                drop(engine.grant(&admin, edge, EdgeTerms { expires_at, ..EdgeTerms::default() }).await);
            }
            8 => {
                let status = [AgentStatus::Active, AgentStatus::Retired][self.chance.below(2)];
                drop(engine.set_agent_status(&admin, &format!("agent-{to}"), status, None).await);
            }
            _ => self.retract((from, to)).await,
        }
    }

    fn call(&self, pair: (usize, usize)) -> Option<Call> {
        let key = &self.keys[&pair];
        self.bench.engine.authenticate(key).is_ok().then(|| call(&self.bench.engine, key))
    }

    async fn write(&mut self, pair: (usize, usize), serial: usize) {
        let Some(who) = self.call(pair) else { return };
        let tier = ["private", "shared", "both"][self.chance.below(3)];
        let body = json!({"text": format!("note {serial} of the archive"), "tier": tier});
        let written = self.bench.engine.write(&who, draft(body)).await.unwrap();
        self.items.extend(written.id.iter().chain(&written.shared).map(ToString::to_string));
    }

    async fn retract(&mut self, pair: (usize, usize)) {
        let Some(who) = self.call(pair) else { return };
        if !self.items.is_empty() {
            let item = self.items[self.chance.below(self.items.len())].clone();
            drop(self.bench.engine.retract(&who, &item, None).await);
        }
    }

    /// What auditors are told of a moment, or of now.
    async fn told(bench: &Bench, items: &[String], at: Option<&str>) -> Told {
        let mut told = Told::default();
        for user in 0..USERS {
            for agent in std::iter::once(None).chain((0..AGENTS).map(Some)) {
                let (who, by) = (format!("user-{user}"), agent.map(|agent| format!("agent-{agent}")));
                let seen = bench.engine.what(&bench.admin, (&who, by.as_deref()), at).await.unwrap();
                told.what.insert((user, agent), seen.iter().map(ToString::to_string).collect());
            }
        }
        for item in items {
            let seen = bench.engine.who(&bench.admin, item, at).await.unwrap();
            let pairs =
                seen.iter().flat_map(|one| one.agents.iter().map(move |by| format!("{} {by}", one.user)));
            told.who.insert(item.clone(), pairs.collect());
        }
        told
    }
}

fn positions() -> usize {
    if std::env::var_os("TABELLION_SOAK").is_some() { 1_000 } else { 60 }
}

/// SHARE-2, SHARE-13, acceptance 12: `who` and `what` at every past position answer what they answered when it was the last
/// one, from the running server and from one that folds the log anew.
#[tokio::test]
async fn who_and_what_of_the_past_are_what_was_so_then() {
    let folder = tempfile::tempdir().unwrap();
    let mut team = Team::new(open(Some(folder.path()), 3)).await;
    let mut past: Vec<(Timestamp, Vec<String>, Told)> = Vec::new();
    for serial in 0..positions() {
        team.step(serial).await;
        let count = team.items.len().min(ASKED);
        let asked: Vec<String> = (0..count)
            .map(|_| team.chance.below(team.items.len()))
            .map(|at| team.items[at].clone())
            .collect();
        let told = Team::told(&team.bench, &asked, None).await;
        past.push((team.bench.now(), asked, told));
    }
    let different: BTreeSet<usize> =
        past.iter().map(|(.., told)| told.what.values().map(BTreeSet::len).sum()).collect();
    assert!(different.len() > 10, "a history in which hardly anything changes proves nothing");
    team.bench.pass(Period::from_days(1));
    let Team { bench, .. } = team;
    let clock = std::sync::Arc::clone(&bench.clock);
    for (time, asked, told) in &past {
        assert_eq!(Team::told(&bench, asked, Some(&time.to_string())).await, *told, "at {time}");
    }
    bench.engine.close();
    drop(bench);
    let anew = open_at(Some(folder.path()), 4, clock);
    for (time, asked, told) in &past {
        assert_eq!(Team::told(&anew, asked, Some(&time.to_string())).await, *told, "folded anew, at {time}");
    }
    anew.engine.close();
}
