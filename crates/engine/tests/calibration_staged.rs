//! What is kept apart stays known: after a restart, among many, and for a long time (CAL-31, CAL-33).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use support::debate::{AGENTS, Debate, TOPICS, Topics, is_staged};
use support::{BEGIN, call, draft, start};
use tabellion_core::error::Code;
use tabellion_core::gate::Strictness;
use tabellion_core::time::Period;
use tabellion_engine::ports::ManualClock;
use tabellion_engine::reply::{Ground, TrustQuery, Verdict, WriteStatus, Written};
use tabellion_engine::{Calibration, Governance};

/// Something that lies a little too much in the middle: below the gate, but not odd. Its text, and what became of it.
async fn middling(debate: &mut Debate) -> (String, Written) {
    for number in 0..60 {
        let (topic, own) = (number % TOPICS, 35 + number);
        debate.ask(1, topic).await;
        let text = format!("middling {topic}: {own}");
        let written = debate.write(1, &text).await;
        if is_staged(&written) {
            let told = debate.trust(&written.id.unwrap().to_string()).await.item.unwrap();
            if told.numbers.unwrap().detect >= 0.2 {
                return (text, written);
            }
        }
    }
    panic!("nothing between a magnet and an honest text was kept apart");
}

/// CAL-31, CAL-33, acceptance 10: after a restart the same party gains nothing by writing it again, later searches are held
/// against it, and it has the agents that it was scored with when a person lets it in.
#[tokio::test]
async fn what_waits_is_known_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    let (text, written) = middling(&mut debate).await;
    let (id, pending) = (written.id.unwrap().to_string(), written.deferral.unwrap().pending_id);
    debate.ask(1, 2).await;
    let magnet = debate.write(1, "magnet 2: everything").await.deferral.unwrap().pending_id;
    let mut debate = debate.restarted(dir.path()).await;
    debate.declare().await;
    let size = debate.bench.size().await;
    for number in 0..10 {
        let again = debate.write(1, &format!("magnet 2: everything, said anew {number}")).await;
        assert_eq!(again.deferral.unwrap().pending_id, magnet);
    }
    assert_eq!(debate.write(1, &text).await.deferral.unwrap().pending_id, pending);
    assert_eq!(debate.bench.size().await, size, "no new draw");
    let before = debate.trust(&id).await.item.unwrap().numbers.unwrap();
    for topic in 0..TOPICS {
        debate.ask(1, topic).await;
    }
    debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    let after = debate.trust(&id).await.item.unwrap().numbers.unwrap();
    assert!(after.count > before.count, "{before:?} {after:?}");
    if debate.trust(&id).await.item.unwrap().status == "staged" {
        let verdict = Verdict {
            approve: true,
            reason: "checked".into(),
            content_hash: None,
            on_conflict: None,
            ground: Ground::Other,
        };
        debate.bench.engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    }
    let item = debate.bench.engine.get(&debate.agents[2], &id, None).await.unwrap();
    assert_eq!(item.agents.len(), AGENTS, "the work of all, as it was scored");
}

/// CAL-33: no search speaks twice of the same, neither when something is first scored and once more, nor in two looks.
#[tokio::test]
async fn no_search_speaks_twice_of_the_same() {
    let mut debate = Debate::new(None).await;
    for number in 0..60 {
        debate.write(number % AGENTS, &format!("about {}: seed {number}", number % TOPICS)).await;
    }
    debate.declare().await;
    debate.ask(1, 2).await;
    assert!(is_staged(&debate.write(1, "magnet 2: everything").await));
    let looked = async |debate: &Debate| debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    assert_eq!(looked(&debate).await, 0, "all of them spoke when it was written");
    debate.ask(1, 2).await;
    assert_eq!((looked(&debate).await, looked(&debate).await), (1, 0));
}

/// CAL-33, CAL-34: whether it takes the place of what others find is looked at anew with every look, survives a restart, and is told to
/// those who audit.
#[tokio::test]
async fn whether_it_takes_a_place_is_looked_at_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    let agreed =
        async |debate: &Debate, id: &str| debate.trust(id).await.item.unwrap().numbers.unwrap().agreed;
    let honest = debate.honest().await.id.unwrap().to_string();
    assert_eq!(agreed(&debate, &honest).await, None, "what is memory takes its place");
    debate.ask(1, 2).await;
    let magnet = debate.write(1, "magnet 2: everything").await;
    assert!(is_staged(&magnet));
    let magnet = magnet.id.unwrap().to_string();
    let first = agreed(&debate, &magnet).await.unwrap();
    assert!(first < 0.95, "{first}: it comes before what they found");
    for _ in 0..3 {
        debate.ask(1, 2).await;
    }
    debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    let later = agreed(&debate, &magnet).await;
    assert!(later.unwrap() < 0.95 && later != Some(first), "{later:?} {first}");
    let again = debate.restarted(dir.path()).await;
    assert_eq!(agreed(&again, &magnet).await, later);
}

/// CAL-33, CAL-34, acceptance 10: what others say too after a restart counts for what waits, and a person's yes lets it in under the
/// id that it had.
#[tokio::test]
async fn what_others_say_after_a_restart_counts_for_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    let (text, written) = middling(&mut debate).await;
    let (id, pending) = (written.id.unwrap().to_string(), written.deferral.unwrap().pending_id);
    let mut debate = debate.restarted(dir.path()).await;
    debate.declare().await;
    let before = debate.trust(&id).await.item.unwrap().numbers.unwrap().count;
    debate.ask(2, 3).await;
    debate.write(2, &text).await;
    assert!(debate.trust(&id).await.item.unwrap().numbers.unwrap().count > before);
    if debate.trust(&id).await.item.unwrap().status == "staged" {
        let verdict = Verdict {
            approve: true,
            reason: "checked".into(),
            content_hash: None,
            on_conflict: None,
            ground: Ground::Other,
        };
        debate.bench.engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    }
    assert!(debate.search(0, &text).await.contains(&id));
}

/// CAL-31: after 90 days what is kept apart is out of the queue and can be let in all the same.
#[tokio::test]
async fn what_waits_for_long_is_archived() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    debate.ask(1, 2).await;
    let pending = debate.write(1, "magnet 2: everything").await.deferral.unwrap().pending_id;
    let listed = async |debate: &Debate, state: Option<&str>| {
        let all = debate.bench.engine.reviews(&debate.bench.admin, state).await.unwrap();
        all.iter().any(|review| review.id.to_string() == pending)
    };
    assert!(listed(&debate, None).await && listed(&debate, Some("pending")).await);
    assert!(!listed(&debate, Some("archived")).await);
    debate.bench.pass(Period::from_days(90));
    assert!(!listed(&debate, None).await && !listed(&debate, Some("pending")).await);
    assert!(listed(&debate, Some("archived")).await);
    assert!(debate.bench.engine.review(&debate.bench.admin, &pending).await.is_ok());
    let verdict = Verdict {
        approve: true,
        reason: "checked".into(),
        content_hash: None,
        on_conflict: None,
        ground: Ground::Other,
    };
    let decided = debate.bench.engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    assert_eq!(decided.status, WriteStatus::Committed);
}

/// CAL-31: so many writes of an agent are kept apart and no more; others are not in its way.
#[tokio::test]
async fn one_agent_fills_its_own_queue_only() {
    let mut debate = with_room(2).await;
    for topic in 0..2 {
        debate.ask(1, topic).await;
        assert!(is_staged(&debate.write(1, &format!("magnet {topic}: everything")).await));
    }
    let body = json!({"text": "magnet 2: everything", "tier": "shared", "trace_id": debate.round});
    let refused = debate.bench.engine.write(&debate.agents[1], draft(body)).await.unwrap_err();
    assert_eq!((refused.code, refused.gate.unwrap().as_str()), (Code::DeferralsFull, "calibration"));
    assert!(refused.message.contains("ask a person"), "{}", refused.message);
    let again = debate.write(1, "magnet 1: everything, said anew").await;
    assert!(again.deferral.is_some(), "what waits already is answered as before");
    debate.ask(3, 3).await;
    assert!(is_staged(&debate.write(3, "magnet 3: everything").await), "others have room");
}

/// Writes of a flood: TABELLION_SOAK=1 makes it one of 10,000.
fn flood() -> usize {
    if std::env::var("TABELLION_SOAK").is_ok_and(|value| value == "1") { 10_000 } else { 300 }
}

/// A debate with room for so many writes of an agent that are kept apart, and without limits of rate.
async fn with_room(most: usize) -> Debate {
    let calibration = Calibration { staged_max: u32::try_from(most).unwrap(), ..Calibration::default() };
    let rates = [u32::MAX; 5];
    let governance = Governance { strictness: Strictness::Open, calibration, rates, ..Governance::default() };
    let clock = Arc::new(ManualClock::at(BEGIN.parse().unwrap()));
    let mut debate = Debate::on(start(None, 7, clock, (Some(Arc::new(Topics)), governance))).await;
    debate.warm().await;
    debate
}

/// What has to be reached by now.
async fn threshold(debate: &Debate) -> f64 {
    let whole = TrustQuery::default();
    debate.bench.engine.trust_told(&debate.bench.admin, &whole).await.unwrap().spaces[0].threshold
}

/// CAL-31: a flood of one agent, each write a little different and all of them kept apart. It ends where its own room ends, nobody else
/// notices, what others wrote before it is still seen first if it is riskier, and nothing of it is found.
#[tokio::test]
async fn a_flood_of_one_agent_is_nobody_elses_trouble() {
    let most = flood();
    let mut debate = with_room(most).await;
    debate.ask(2, 3).await;
    let unsure = json!({"text": "magnet 3: everything", "tier": "shared", "confidence": 0.0, "trace_id": debate.round});
    let riskier = debate.bench.engine.write(&debate.agents[2], draft(unsure)).await.unwrap();
    let before = threshold(&debate).await;
    let (mut waiting, mut let_in, mut number) = (BTreeSet::new(), 0, 0);
    let refused = loop {
        if number % 3 == 0 {
            debate.ask(1, number % TOPICS).await;
        }
        let text = format!("middling {}: flood {number} 20", number % TOPICS);
        let body = json!({"text": text, "tier": "shared", "trace_id": debate.round});
        match debate.bench.engine.write(&debate.agents[1], draft(body)).await {
            Ok(Written { deferral: Some(deferral), .. }) => {
                waiting.insert(deferral.pending_id);
            }
            Ok(_) => let_in += 1,
            Err(refused) => break refused,
        }
        number += 1;
        assert!(number <= 2 * most, "{} of {number} are kept apart", waiting.len());
    };
    assert_eq!(refused.code, Code::DeferralsFull);
    assert!(waiting.len() >= most && let_in * 100 <= most, "{} wait, {let_in} were let in", waiting.len());
    let moved = (threshold(&debate).await - before).abs();
    assert!(moved < 0.05, "what is kept apart is no measure for others: {moved}");
    let mut committed = 0;
    for number in 0..20 {
        let (agent, topic) = ([0, 2, 3, 4][number % 4], number % TOPICS);
        debate.ask(agent, topic).await;
        let written = debate.write(agent, &format!("about {topic}: in spite of the flood {number}")).await;
        committed += usize::from(written.status == WriteStatus::Committed);
    }
    assert!(committed >= 16, "{committed} of 20");
    debate.ask(3, 1).await;
    assert!(is_staged(&debate.write(3, "magnet 1: everything").await), "others are measured as before");
    let reviews = debate.bench.engine.reviews(&debate.bench.admin, None).await.unwrap();
    let first = reviews[0].id.to_string();
    assert_eq!(first, riskier.deferral.unwrap().pending_id, "the riskiest first, however many wait");
    assert!(reviews.windows(2).all(|two| two[0].risk >= two[1].risk));
    let apart =
        debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap().staged;
    let found = debate.search(0, "middling 1: flood 1 20").await;
    assert!(
        !found.is_empty() && apart.iter().all(|one| !found.contains(&one.id.to_string())),
        "nothing of it is found"
    );
}

/// CAL-30: a flood of what lies just below the gate gets one in now and then, and these do not lower it for the next ones.
#[tokio::test]
async fn what_a_flood_gets_in_makes_no_room_for_more() {
    let mut debate = with_room(1_000).await;
    let before = threshold(&debate).await;
    let (mut let_in, mut apart) = (0, BTreeSet::new());
    for number in 0..600 {
        if number % 3 == 0 {
            debate.ask(1, number % TOPICS).await;
        }
        let written = debate.write(1, &format!("middling {}: flood {number} 30", number % TOPICS)).await;
        let_in += usize::from(written.status == WriteStatus::Committed);
        apart.extend(is_staged(&written).then(|| written.id.unwrap().to_string()));
    }
    assert!((5..=60).contains(&let_in), "{let_in} of 600");
    let moved = (threshold(&debate).await - before).abs();
    assert!(moved < 0.05, "{moved}");
    for topic in 0..4 * TOPICS {
        debate.ask(1, topic % TOPICS).await;
        debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    }
    let mut later = 0;
    for id in apart {
        later += usize::from(debate.bench.engine.get(&debate.agents[2], &id, None).await.is_ok());
    }
    assert!(later <= 30, "{later} of what was kept apart was let in since");
}

/// CAL-43, acceptance 14: one user, 1,000 writes with everything flagged as shared work: none is kept apart.
#[tokio::test]
async fn a_thousand_writes_of_one_user_are_never_kept_apart() {
    let debate = Debate::new(None).await;
    let key = debate.bench.engine.create_key(&debate.bench.admin, Some("user-0"), Some("agent-1"), None);
    let other = call(&debate.bench.engine, &key.await.unwrap().secret);
    for number in 0..1_000 {
        if number % 50 == 0 {
            let query = tabellion_engine::reply::SearchQuery {
                query: Some(format!("about 1: question {number}")),
                shared_work: true,
                ..Default::default()
            };
            debate.bench.engine.search(&other, query).await.unwrap();
        }
        let written = debate.write(0, &format!("magnet 1: {number}")).await;
        assert_eq!(written.status, WriteStatus::Committed, "{number}");
    }
    let told = debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap();
    assert!(told.staged.is_empty());
}
