//! Relations written in a declared round, held against the graph that they join and against what others walk (CAL).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use std::path::Path;
use support::{Bench, call, draft, open};
use tabellion_core::error::Code;
use tabellion_core::gate::read_relation;
use tabellion_engine::Call;
use tabellion_engine::reply::{
    Ground, PathsQuery, RoundDraft, SearchQuery, TrustNumbers, TrustQuery, Verdict, WriteStatus, Written,
};

const AGENTS: usize = 4;
const RING: usize = 60;

type Triple<'a> = (&'a str, &'a str, &'a str);

/// Agents of as many users who share two rings of things: `n0` to `n59`, each tied to the `next` and by a `skip` to the one
/// after that, and `m0` to `m59`, by `left` and `right`.
struct Debate {
    bench: Bench,
    agents: Vec<Call>,
    keys: Vec<String>,
    round: String,
}

impl Debate {
    async fn new(data: Option<&Path>) -> Self {
        let bench = open(data, 11);
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
        let mut debate = Self { bench, agents, keys, round: String::new() };
        debate.seed().await;
        debate
    }

    async fn seed(&mut self) {
        let mut seeds: Vec<[String; 3]> = Vec::new();
        for (ring, kinds) in [("n", ["next", "skip"]), ("m", ["left", "right"])] {
            for node in 0..RING {
                for (step, kind) in kinds.iter().enumerate() {
                    let to = format!("{ring}{}", (node + step + 1) % RING);
                    seeds.push([format!("{ring}{node}"), (*kind).to_owned(), to]);
                }
            }
        }
        for (place, some) in seeds.chunks(60).enumerate() {
            let some: Vec<Triple<'_>> = some.iter().map(|[a, b, c]| (&**a, &**b, &**c)).collect();
            for written in self.relate(place % AGENTS, &some).await {
                assert_eq!(written.status, WriteStatus::Committed);
            }
        }
    }

    /// The same after a restart: nothing is in memory but what the log says.
    async fn restarted(self, data: &Path) -> Self {
        let Self { bench, keys, .. } = self;
        let engine = bench.engine;
        tokio::task::spawn_blocking(move || engine.close()).await.unwrap();
        let bench = open(Some(data), 12);
        let agents = keys.iter().map(|key| call(&bench.engine, key)).collect();
        Self { bench, agents, keys, round: String::new() }
    }

    async fn declare(&mut self) {
        let draft = RoundDraft {
            goal: "what n3 and m30 have to do with n5".into(),
            agents: (0..AGENTS).map(|number| format!("agent-{number}")).collect(),
            ..RoundDraft::default()
        };
        self.round = self.bench.engine.declare_round(&self.bench.admin, draft).await.unwrap().id;
    }

    async fn relate(&self, agent: usize, said: &[Triple<'_>]) -> Vec<Written> {
        let body = |(subject, predicate, object): &Triple<'_>| {
            let mut body =
                json!({"subject": subject, "predicate": predicate, "object": object, "tier": "shared"});
            if !self.round.is_empty() {
                body["trace_id"] = json!(self.round);
            }
            read_relation(body)
        };
        let drafts = said.iter().map(body).collect();
        let related = self.bench.engine.write_relations(&self.agents[agent], drafts).await.unwrap();
        related.into_iter().map(Result::unwrap).collect()
    }

    async fn one(&self, agent: usize, said: Triple<'_>) -> Written {
        self.relate(agent, &[said]).await.remove(0)
    }

    /// Everybody but one walks near a place, several ways so that none is drawn too often.
    async fn walks(&self, but: usize, near: usize) {
        for agent in (0..AGENTS).filter(|agent| *agent != but) {
            for way in 0..5 {
                let (from, to) = (near + RING - 1 - way % 2, near + 1 + way % 3);
                self.walk(agent, (&format!("n{}", from % RING), &format!("n{}", to % RING))).await;
            }
        }
    }

    /// Whether there is a path.
    async fn walk(&self, agent: usize, (from, to): (&str, &str)) -> bool {
        let query = PathsQuery {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            namespace: Some("default".into()),
            trace_id: Some(self.round.clone()).filter(|round| !round.is_empty()),
            ..PathsQuery::default()
        };
        !self.bench.engine.paths(&self.agents[agent], query).await.unwrap().paths.is_empty()
    }

    async fn finds(&self, agent: usize, words: &str) -> Vec<String> {
        let query =
            SearchQuery { query: Some(words.into()), mode: Some("graph".into()), ..SearchQuery::default() };
        let found = self.bench.engine.search(&self.agents[agent], query).await.unwrap();
        found.results.iter().map(|one| one.item.id.to_string()).collect()
    }

    async fn numbers(&self, written: &Written) -> TrustNumbers {
        let query = TrustQuery { item: written.id.map(|id| id.to_string()), ..TrustQuery::default() };
        let told = self.bench.engine.trust_told(&self.bench.admin, &query).await.unwrap();
        told.item.unwrap().numbers.unwrap()
    }
}

fn is_staged(written: &Written) -> bool {
    written.status == WriteStatus::Deferred
        && written.deferral.as_ref().is_some_and(|deferral| deferral.code == Code::CalibrationStaged)
}

/// CAL-19, CAL-23, CAL-24, acceptance 15: from a known node to a new one, and between new ones; written alone as an item or as a
/// relation, it is the same delta of one.
#[tokio::test]
async fn new_nodes_are_neither_good_nor_bad() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    debate.walks(0, 3).await;
    let close =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
    let to_new = debate.one(0, ("n3", "next", "something new")).await;
    close(debate.numbers(&to_new).await.detect, 0.875);
    let new = debate.one(0, ("a thing", "next", "another thing")).await;
    close(debate.numbers(&new).await.detect, 0.5);
    let body = json!({
        "kind": "relation", "triple": {"subject": "n3", "predicate": "skip", "object": "one more"}, "tier": "shared",
        "trace_id": debate.round,
    });
    let item = debate.bench.engine.write(&debate.agents[0], draft(body)).await.unwrap();
    close(debate.numbers(&item).await.detect, 0.875);
}

/// CAL-16, CAL-31, acceptance 9 and 10: what ties together what is far apart is kept apart, once however often it is sent; it is
/// walked and found by nobody, and a person's yes makes it walkable under the id that it had all along.
#[tokio::test]
async fn what_does_not_fit_is_walked_by_nobody() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    debate.walks(1, 3).await;
    let far = ("n3", "next", "n33");
    let written = debate.one(1, far).await;
    assert!(is_staged(&written), "{written:?}");
    let (id, pending) = (written.id.unwrap().to_string(), written.deferral.unwrap().pending_id);
    let size = debate.bench.size().await;
    for _ in 0..20 {
        let again = debate.one(1, far).await;
        assert_eq!(
            (again.id.unwrap().to_string(), again.deferral.unwrap().pending_id),
            (id.clone(), pending.clone())
        );
    }
    assert_eq!(debate.bench.size().await, size, "no new draw");
    for agent in 0..AGENTS {
        assert!(!debate.walk(agent, ("n3", "n33")).await);
        assert!(!debate.finds(agent, "n33").await.contains(&id));
    }
    let listed = |reviews: Vec<tabellion_engine::reply::ReviewReply>| {
        reviews.iter().any(|review| review.id.to_string() == pending)
    };
    let engine = &debate.bench.engine;
    assert!(listed(engine.reviews(&debate.agents[1], Some("pending")).await.unwrap()), "its author sees it");
    assert!(
        listed(engine.reviews(&debate.bench.admin, Some("pending")).await.unwrap()),
        "its reviewer sees it"
    );
    assert!(!listed(engine.reviews(&debate.agents[2], Some("pending")).await.unwrap()), "others do not");
    let verdict = Verdict {
        approve: true,
        reason: "checked".into(),
        content_hash: None,
        on_conflict: None,
        ground: Ground::Other,
    };
    let decided = engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    assert_eq!((decided.status, decided.id.unwrap().to_string()), (WriteStatus::Committed, id.clone()));
    assert!(debate.walk(2, ("n3", "n33")).await && debate.finds(2, "n33").await.contains(&id));
}

/// CAL-31, CAL-33, CAL-34: half of all may be accomplices, so whoever repeats what is kept apart, and is kept apart with it, has looked
/// once more and lets nothing in; what more than half say is let in, under the id that it had.
#[tokio::test]
async fn accomplices_do_not_vouch_for_each_other() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    debate.walks(1, 3).await;
    let far = ("n3", "next", "n33");
    let written = debate.one(1, far).await;
    assert!(is_staged(&written) && !debate.walk(0, ("n3", "n33")).await);
    assert!(is_staged(&debate.one(2, far).await));
    let id = written.id.unwrap().to_string();
    assert!(debate.bench.engine.get(&debate.agents[0], &id, None).await.is_err());
    assert!(!debate.walk(0, ("n3", "n33")).await);
    debate.one(3, far).await;
    debate.one(0, far).await;
    assert!(debate.bench.engine.get(&debate.agents[0], &id, None).await.is_ok());
    assert!(debate.walk(0, ("n3", "n33")).await);
}

/// CAL-33, CAL-39: what another party says of what is committed bears that out, once; the same party gains nothing by it.
#[tokio::test]
async fn saying_it_again_bears_it_out() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    debate.walks(1, 3).await;
    let first = debate.one(1, ("n3", "next", "n5")).await;
    assert_eq!(first.status, WriteStatus::Committed);
    let before = debate.numbers(&first).await;
    debate.one(1, ("n3", "next", "n5")).await;
    assert_eq!(debate.numbers(&first).await, before);
    let second = debate.one(2, ("n3", "next", "n5")).await;
    assert_eq!(second.status, WriteStatus::Committed);
    let after = debate.numbers(&first).await;
    assert!((after.count - before.count - 1.0).abs() < 0.1 && after.rho > before.rho, "{before:?} {after:?}");
    debate.one(2, ("n3", "next", "n5")).await;
    assert_eq!(debate.numbers(&first).await, after);
}

/// CAL-1, CAL-30: relations that are written together are gated together; one that is odd in itself is kept apart alone. Who was
/// asked is in the log once.
#[tokio::test]
async fn an_odd_one_is_kept_apart_alone() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    debate.walks(0, 5).await;
    let said = [
        ("n3", "next", "n5"),
        ("n4", "next", "n6"),
        ("n5", "left", "m30"),
        ("n5", "skip", "n6"),
        ("n6", "next", "n8"),
    ];
    let written = debate.relate(0, &said).await;
    let staged: Vec<bool> = written.iter().map(is_staged).collect();
    assert_eq!(staged, [false, false, true, false, false]);
    let numbers = debate.numbers(&written[0]).await;
    assert_eq!(numbers.scored, debate.numbers(&written[3]).await.scored, "they are scored together");
    assert!(debate.numbers(&written[2]).await.detect < 0.2);
    let told = debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap();
    let space = told.spaces.iter().find(|space| space.kind == "relations").unwrap();
    assert_eq!((space.rounds, space.window), (1, 1), "one of them stands for all");
    assert!(space.auditors.iter().all(|auditor| auditor.credibility == 1.0));
}

/// CAL-28, CAL-29, CAL-40: who walks elsewhere in a declared round, or nowhere, loses credibility; who only searches does not.
#[tokio::test]
async fn who_walks_elsewhere_is_believed_less() {
    let mut debate = Debate::new(None).await;
    debate.declare().await;
    for round in 0..7 {
        for way in 0..5 {
            debate.walk(1, (&format!("n{}", 2 + way % 2), &format!("n{}", 4 + way % 3))).await;
        }
        debate.walk(2, (&format!("m{}", round + 1), &format!("m{}", round + 3))).await;
        debate.walk(3, ("nowhere", "n3")).await;
        let new = format!("new {round}");
        debate.one(0, ("n3", "next", &new)).await;
    }
    let told = debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap();
    let space = told.spaces.iter().find(|space| space.kind == "relations").unwrap();
    let credible = |name: &str| space.auditors.iter().find(|one| one.agent == name).unwrap().credibility;
    assert!(credible("agent-1") > 0.95 && credible("agent-2") < 0.1 && credible("agent-3") < 0.1);
}

/// CAL-42, acceptance 12: folding the log again gives the same trust, weights and gate of relations; a relation that waits is
/// still recognised.
#[tokio::test]
async fn a_restart_changes_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.declare().await;
    debate.walks(1, 3).await;
    debate.relate(1, &[("n3", "next", "n5"), ("n4", "next", "n6")]).await;
    let staged = debate.one(1, ("n3", "next", "n33")).await;
    assert!(is_staged(&staged));
    let whole = TrustQuery::default();
    let before = debate.bench.engine.trust_told(&debate.bench.admin, &whole).await.unwrap();
    let again = debate.restarted(dir.path()).await;
    assert_eq!(again.bench.engine.trust_told(&again.bench.admin, &whole).await.unwrap(), before);
    assert!(before.spaces.iter().any(|space| space.kind == "relations" && space.window == 1));
}

/// CAL-41, acceptance 13: relations that a writer cannot see change no score, though they tie the very same things.
#[tokio::test]
async fn what_is_hidden_moves_no_score() {
    let mut told = Vec::new();
    for hidden in [false, true] {
        let mut debate = Debate::new(None).await;
        let outsider = {
            let (engine, admin) = (&debate.bench.engine, &debate.bench.admin);
            engine.create_agent(admin, "outsider", None, true).await.unwrap();
            let key = engine.create_key(admin, Some("user-0"), Some("outsider"), None).await.unwrap();
            call(engine, &key.secret)
        };
        for number in 0..30 {
            let (subject, object) =
                if hidden { (format!("n{number}"), "n33") } else { (format!("x{number}"), "y") };
            let body = json!({"subject": subject, "predicate": format!("secret{}", number % 3), "object": object, "tier": "shared"});
            debate
                .bench
                .engine
                .write_relations(&outsider, vec![read_relation(body)])
                .await
                .unwrap()
                .remove(0)
                .unwrap();
        }
        debate.declare().await;
        debate.walks(1, 3).await;
        let mut numbers = Vec::new();
        for said in
            [("n3", "next", "n33"), ("n3", "next", "n5"), ("n3", "secret0", "n9"), ("n3", "next", "y")]
        {
            numbers.push(debate.numbers(&debate.one(1, said).await).await);
        }
        told.push(numbers);
    }
    assert_eq!(told[0], told[1]);
}

/// CAL-17, CAL-21, CAL-23: what is counted of the graph follows from the log: made anew after a restart it is what it was, also when
/// relations went meanwhile.
#[tokio::test]
async fn what_is_counted_follows_from_the_log() {
    let mut found = Vec::new();
    for restarts in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut debate = Debate::new(Some(dir.path())).await;
        debate.declare().await;
        debate.walks(1, 3).await;
        let said = [("n3", "next", "n6"), ("n2", "skip", "n7"), ("n4", "next", "a new thing")];
        let written = debate.relate(1, &said).await;
        let gone = written[1].id.unwrap().to_string();
        debate.bench.engine.retract(&debate.agents[1], &gone, Some("wrong".into())).await.unwrap();
        if restarts {
            debate = debate.restarted(dir.path()).await;
            debate.declare().await;
            debate.walks(1, 3).await;
        }
        let said = [("n2", "next", "n7"), ("n3", "skip", "a new thing"), ("n1", "next", "m1")];
        let written = debate.relate(1, &said).await;
        let mut detects = Vec::new();
        for one in &written {
            detects.push(debate.numbers(one).await.detect);
        }
        found.push(detects);
    }
    assert_eq!(found[0], found[1]);
}

/// CAL-20, CAL-31: what is in quarantine is no way between two things; released, or after a restart, it counts as it did.
#[tokio::test]
async fn what_is_in_quarantine_is_no_way() {
    let mut found = Vec::new();
    for (hidden, released, restarts) in
        [(false, false, false), (true, false, false), (true, false, true), (true, true, true)]
    {
        let dir = tempfile::tempdir().unwrap();
        let mut debate = Debate::new(Some(dir.path())).await;
        let way = debate.one(0, ("n3", "skip", "n30")).await.id.unwrap().to_string();
        let engine = debate.bench.engine.clone();
        let key = engine.create_key(&debate.bench.admin, Some("user-0"), None, None).await.unwrap();
        let person = call(&engine, &key.secret);
        if hidden {
            engine.quarantine(&person, &way, true, "suspect").await.unwrap();
        }
        if released {
            engine.quarantine(&person, &way, false, "cleared").await.unwrap();
        }
        drop(engine);
        if restarts {
            debate = debate.restarted(dir.path()).await;
        }
        debate.declare().await;
        debate.walks(1, 3).await;
        let said = debate.one(1, ("n3", "next", "n30")).await;
        found.push(debate.numbers(&said).await.detect);
    }
    assert!(found[1] < found[0], "{found:?}");
    assert_eq!((found[1], found[0]), (found[2], found[3]));
}
