//! Writes in a declared round, held against what is known and what others search for (CAL).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use support::debate::{AGENTS, Debate, TOPICS, is_staged, opened};
use support::{call, draft};
use tabellion_engine::reply::{Ground, SearchQuery, TrustQuery, Verdict, WriteStatus, Written};

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
    let verdict = Verdict {
        approve: true,
        reason: "checked".into(),
        content_hash: None,
        on_conflict: None,
        ground: Ground::Other,
    };
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

/// CAL-33, CAL-34, acceptance 10: what other parties say too, and are let in with, is let in without a person, under the same id.
#[tokio::test]
async fn what_others_bear_out_is_let_in() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    // Something that lies a little too much in the middle: below the gate, but not odd.
    for number in 0..90 {
        let (topic, own) = (number % TOPICS, 35 + number);
        debate.ask(1, topic).await;
        let text = format!("middling {topic}: {own}");
        let written = debate.write(1, &text).await;
        if !is_staged(&written) || detect(&debate, &written).await < 0.2 {
            continue;
        }
        let id = written.id.unwrap().to_string();
        for other in [2, 3, 4, 0] {
            debate.ask(other, (topic + other) % TOPICS).await;
            debate.write(other, &text).await;
        }
        if debate.trust(&id).await.item.unwrap().status != "staged" {
            return;
        }
    }
    panic!("whatever others said too was kept apart all the same");
}

/// CAL-31, CAL-33: accomplices who repeat a lie that is kept apart speak for nothing, as long as theirs is kept apart too.
#[tokio::test]
async fn accomplices_do_not_vouch_for_each_other() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let mut apart = Vec::new();
    for topic in 0..TOPICS {
        for agent in [1, 2, 3] {
            debate.ask(agent, topic).await;
            let written = debate.write(agent, &format!("magnet {topic}: x")).await;
            apart.extend(written.id.filter(|_| is_staged(&written)));
        }
    }
    assert!(apart.len() > 2 * TOPICS, "{} of {}", apart.len(), 3 * TOPICS);
    for id in apart {
        assert_eq!(debate.trust(&id.to_string()).await.item.unwrap().status, "staged");
    }
}

/// CAL-14 (acceptance), AM-11: the first write into nothing commits; a user's writes outside of rounds that are like each other are
/// never kept apart.
#[tokio::test]
async fn one_user_alone_is_never_kept_back() {
    let debate = Debate::new(None).await;
    let first = debate.write(0, "about 1: the first").await;
    assert_eq!(first.status, WriteStatus::Committed);
    assert_eq!(debate.trust(&first.id.unwrap().to_string()).await.item.unwrap().status, "provisional");
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
