//! What comes in after a write was scored moves its trust, where everyone who sees it may see why (CAL-33, CAL-34).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::{Value, json};
use support::debate::{AGENTS, Debate};
use support::{call, draft};
use tabellion_core::error::Code;
use tabellion_core::gate::OnConflict;
use tabellion_engine::Call;
use tabellion_engine::reply::{
    Ground, OutcomeReport, SearchQuery, TrustNumbers, Verdict, WriteStatus, Written,
};

/// How an agent searches before it says how it went.
#[derive(Clone, Copy)]
enum Manner {
    InTheRound,
    Flagged,
    Alone,
}

async fn numbers(debate: &Debate, item: &str) -> TrustNumbers {
    debate.trust(item).await.item.unwrap().numbers.unwrap()
}

/// Somebody finds an item, uses it, and says how that went.
async fn reports(debate: &Debate, who: &Call, (item, text): (&str, &str), good: bool, manner: Manner) {
    let query = SearchQuery {
        query: Some(text.to_owned()),
        mode: Some("dense".into()),
        namespace: Some("default".into()),
        trace_id: matches!(manner, Manner::InTheRound).then(|| debate.round.clone()),
        shared_work: matches!(manner, Manner::Flagged),
        k: Some(20),
        ..SearchQuery::default()
    };
    let search = debate.bench.engine.search(who, query).await.unwrap().search.to_string();
    let report = OutcomeReport { search, used: vec![item.to_owned()], success: Some(good) };
    debate.bench.engine.report_outcome(who, report).await.unwrap();
}

/// A statement that was scored and committed, with its text, by the agent of that number.
async fn committed(debate: &mut Debate, agent: usize, text: &str, more: Value) -> Written {
    debate.ask(agent, 1).await;
    let mut body = json!({"text": text, "tier": "shared", "trace_id": debate.round});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let written = debate.bench.engine.write(&debate.agents[agent], draft(body)).await.unwrap();
    assert_eq!(written.status, WriteStatus::Committed, "{written:?}");
    written
}

/// CAL-33, CAL-41, SHARE-45: a reported outcome counts as much as the reporter is believed, once for each party, never for its
/// own writes, and only if the search was shared work.
#[tokio::test]
async fn an_outcome_counts_once_for_each_party() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let text = "about 1: what was used";
    let item = committed(&mut debate, 1, text, json!({})).await.id.unwrap().to_string();
    let before = numbers(&debate, &item).await;
    let used = (item.as_str(), text);
    reports(&debate, &debate.agents[1], used, true, Manner::InTheRound).await;
    assert_eq!(numbers(&debate, &item).await, before, "nobody speaks for their own");
    reports(&debate, &debate.agents[2], used, true, Manner::Alone).await;
    assert_eq!(numbers(&debate, &item).await, before, "what is searched alone is nobody's evidence");
    let engine = &debate.bench.engine;
    engine.create_agent(&debate.bench.admin, "outsider", None, true).await.unwrap();
    let key = engine.create_key(&debate.bench.admin, Some("user-2"), Some("outsider"), None).await.unwrap();
    reports(&debate, &call(engine, &key.secret), used, true, Manner::Flagged).await;
    assert_eq!(numbers(&debate, &item).await, before, "who sees the item need not see that agent");
    for (agent, good, manner) in [(2, true, Manner::InTheRound), (3, false, Manner::Flagged)] {
        let before = numbers(&debate, &item).await;
        reports(&debate, &debate.agents[agent], used, good, manner).await;
        let after = numbers(&debate, &item).await;
        let (weight, gained) = (after.count - before.count, after.evidence - before.evidence);
        assert!(weight > 0.9 && weight <= 1.0 + 1e-12, "{weight}");
        assert!((gained - if good { weight } else { 0.0 }).abs() < 1e-12, "{gained}");
        reports(&debate, &debate.agents[agent], used, !good, manner).await;
        reports(&debate, &debate.agents[agent], used, good, Manner::Flagged).await;
        assert_eq!(numbers(&debate, &item).await, after, "once for each party");
    }
}

/// CAL-34: when enough others say that it went badly, it is demoted; it is found as before, at its weight. A restart knows who
/// has spoken.
#[tokio::test]
async fn bad_outcomes_demote() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    let text = "about 1: what misled";
    let item = committed(&mut debate, 0, text, json!({})).await.id.unwrap().to_string();
    assert_eq!(debate.trust(&item).await.item.unwrap().status, "scored");
    for agent in 1..AGENTS {
        reports(&debate, &debate.agents[agent], (&item, text), false, Manner::InTheRound).await;
    }
    let told = debate.trust(&item).await;
    assert_eq!(told.item.as_ref().unwrap().status, "demoted");
    assert!(debate.search(2, text).await.contains(&item));
    let debate = debate.restarted(dir.path()).await;
    assert_eq!(debate.trust(&item).await, told);
    reports(&debate, &debate.agents[2], (&item, text), false, Manner::Flagged).await;
    assert_eq!(debate.trust(&item).await, told, "who has spoken is known after a restart");
}

/// CAL-33: a contradiction that a person confirms by letting it in speaks against what it contradicts, where that stays.
#[tokio::test]
async fn a_confirmed_contradiction_counts_against() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let first = committed(&mut debate, 1, "about 1: bluefin is on", json!({"confidence": 0.4})).await;
    let item = first.id.unwrap().to_string();
    let engine = &debate.bench.engine;
    let policy = json!({"kind": "write_path", "strictness": "standard", "namespace": "default"});
    engine.set_policy(&debate.bench.admin, "stricter", policy).await.unwrap();
    debate.ask(2, 1).await;
    let body = json!({
        "text": "about 1: bluefin is not on", "tier": "shared", "confidence": 0.9, "trace_id": debate.round,
    });
    let engine = &debate.bench.engine;
    let held = engine.write(&debate.agents[2], draft(body)).await.unwrap().deferral.unwrap();
    assert_eq!(held.code, Code::Contradiction, "{held:?}");
    let before = numbers(&debate, &item).await;
    let verdict = Verdict {
        approve: true,
        reason: "checked".into(),
        content_hash: None,
        on_conflict: Some(OnConflict::KeepBoth),
        ground: Ground::Other,
    };
    engine.decide(&debate.bench.admin, &held.pending_id, verdict).await.unwrap();
    let after = numbers(&debate, &item).await;
    assert!((after.count - before.count - 2.0).abs() < 1e-9, "{before:?} {after:?}");
    assert!((after.evidence - before.evidence).abs() < 1e-9, "{before:?} {after:?}");
}

/// CAL-33, GOV-11.4: what a second look finds contradicted loses trust, once however often it is looked at.
#[tokio::test]
async fn a_sweep_that_finds_a_contradiction_counts_against() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let first = committed(&mut debate, 1, "about 1: marlin is on", json!({"confidence": 0.4})).await;
    let item = first.id.unwrap().to_string();
    let before = numbers(&debate, &item).await;
    committed(&mut debate, 1, "about 1: marlin is not on", json!({"confidence": 0.9})).await;
    for _ in 0..3 {
        debate.bench.engine.reverify(&debate.bench.admin, None).await.unwrap();
        let after = numbers(&debate, &item).await;
        assert!((after.count - before.count - 2.0).abs() < 1e-9, "{before:?} {after:?}");
    }
}
