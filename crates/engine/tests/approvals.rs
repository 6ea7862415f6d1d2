//! Approvals under every order of events: nothing becomes memory that a person other than its author did not consent to.
//!
//! `TABELLION_SOAK=1` plays 100,000 rounds in place of 1,500.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::{Value, json};
use std::sync::Arc;
use support::{Bench, call, draft, open};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::time::Period;
use tabellion_core::view::ReviewState;
use tabellion_engine::reply::{Ground, ListQuery, Verdict, WriteStatus, Written};
use tabellion_engine::{Call, Engine};

const ACTS: usize = 11;

/// Small numbers in a fixed order.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

struct Cast {
    engine: Engine,
    /// The agent whose writes are held, and the person it writes for.
    agent: Call,
    owner: Call,
    /// People who may review that person's writes.
    reviewers: Vec<Call>,
    /// Someone who may not.
    stranger: Call,
}

async fn cast(bench: &Bench) -> Cast {
    let engine = bench.engine.clone();
    let owner = bench.member("ana").await;
    bench.engine.create_agent(&bench.admin, "writer", None, false).await.unwrap();
    let key = engine.create_key(&bench.admin, Some("ana"), Some("writer"), None).await.unwrap();
    let agent = call(&engine, &key.secret);
    let mut reviewers = Vec::new();
    for name in ["rex", "ria"] {
        reviewers.push(bench.member(name).await);
        let body = json!({"kind": "reviewer", "reviewer": name, "user": "ana"});
        engine.set_policy(&bench.admin, &format!("reviewer-{name}"), body).await.unwrap();
    }
    Cast { engine, agent, owner, reviewers, stranger: bench.member("sam").await }
}

fn held(text: &str, now: &str) -> Value {
    let words =
        json!({"source_type": "human_input", "source_uri": "chat://1", "excerpt": text, "accessed_at": now});
    json!({"text": text, "layer": "semantic", "confidence": 0.8, "evidence": [words]})
}

fn verdict(approve: bool) -> Verdict {
    Verdict {
        approve,
        reason: "looked at".into(),
        ground: Ground::Other,
        content_hash: None,
        on_conflict: None,
    }
}

/// What one actor was told.
#[derive(Default)]
struct Told {
    /// The review that was committed, or ended otherwise.
    done: Option<bool>,
    /// What it became by an edit.
    became: Option<String>,
}

/// What happened to a review as the ones who acted saw it.
#[derive(Default, Debug)]
struct Seen {
    committed: usize,
    ended: usize,
}

/// One round: a write is held, several act on it at once in a random order, and what they saw must fit together.
async fn round(cast: &Arc<Cast>, bench: &Bench, number: usize, chance: &mut Chance) {
    let now = bench.now().to_string();
    let text = format!("Rule {} of department {}", words(number), words(number / 7 + 3));
    let staged = cast.engine.write(&cast.agent, draft(held(&text, &now))).await.unwrap();
    assert_eq!(staged.status, WriteStatus::Deferred, "{staged:?}");
    let id = staged.deferral.unwrap().pending_id;
    let mut acts = Vec::new();
    for place in 0..2 + chance.below(5) {
        let (cast, id, text, now) = (Arc::clone(cast), id.clone(), text.clone(), now.clone());
        let act = chance.below(ACTS);
        acts.push(tokio::spawn(async move { perform(&cast, act, place, &id, &text, &now).await }));
    }
    let mut seen = Seen::default();
    let mut became = Vec::new();
    for act in acts {
        let told = act.await.unwrap();
        match told.done {
            Some(true) => seen.committed += 1,
            Some(false) => seen.ended += 1,
            None => {}
        }
        became.extend(told.became);
    }
    assert!(seen.committed <= 1, "{id} was committed {} times", seen.committed);
    assert!(seen.committed == 0 || seen.ended == 0, "{id} was both committed and ended: {seen:?}");
    check(cast, &seen, &id).await;
    check_edits(cast, &became, &id).await;
}

/// Digits in words: numbers that name things must not look like values that contradict each other.
fn words(number: usize) -> String {
    number
        .to_string()
        .bytes()
        .map(|digit| (digit - b'0' + b'a') as char)
        .map(|one| format!("q{one}"))
        .collect()
}

/// What one actor does, and is told.
async fn perform(cast: &Cast, act: usize, place: usize, id: &str, text: &str, now: &str) -> Told {
    let ended = Told { done: Some(false), ..Told::default() };
    let decided = |result: Result<Written, Refusal>| match result {
        Ok(written) => Told { done: Some(written.status == WriteStatus::Committed), ..Told::default() },
        Err(refusal) => {
            assert!(
                matches!(refusal.code, Code::ReviewDecided | Code::ExactDuplicate | Code::VersionConflict),
                "{refusal:?}"
            );
            Told::default()
        }
    };
    let refused = |result: Result<Written, Refusal>, code: Code| {
        assert_eq!(result.unwrap_err().code, code, "an act that nobody may do");
        Told::default()
    };
    let reviewer = &cast.reviewers[place % cast.reviewers.len()];
    match act {
        0 | 1 => decided(cast.engine.decide(reviewer, id, verdict(true)).await),
        2 => decided(cast.engine.decide(reviewer, id, verdict(false)).await),
        3 => decided(cast.engine.decide(&cast.owner, id, verdict(true)).await),
        4 => refused(cast.engine.decide(&cast.agent, id, verdict(true)).await, Code::HumanRequired),
        5 => refused(cast.engine.decide(&cast.stranger, id, verdict(true)).await, Code::NotFound),
        6 => match cast.engine.withdraw(&cast.agent, id).await {
            Ok(()) => ended,
            Err(refusal) => {
                assert_eq!(refusal.code, Code::ReviewDecided);
                Told::default()
            }
        },
        7 | 8 => {
            // Another text, or the same one with another reason for it: either way another review.
            let mut changed = held(text, now);
            if act == 7 {
                changed = held(&format!("{text} and its annex {place}"), now);
            }
            changed["justification"] = json!(format!("changed by {place}"));
            match cast.engine.edit_held(&cast.agent, id, draft(changed)).await {
                Ok(written) => Told { became: Some(written.deferral.unwrap().pending_id), ..ended },
                Err(refusal) => {
                    assert_eq!(refusal.code, Code::ReviewDecided, "{refusal:?}");
                    Told::default()
                }
            }
        }
        9 => {
            let unfounded = draft(json!({"text": format!("{text}, they say"), "layer": "semantic"}));
            let refusal = cast.engine.edit_held(&cast.agent, id, unfounded).await.unwrap_err();
            assert!(
                matches!(refusal.code, Code::EvidenceNotIndependent | Code::ReviewDecided),
                "{refusal:?}"
            );
            Told::default()
        }
        _ => {
            // A replay says where the write waits, or what became of it; it never commits by itself.
            let replay = cast.engine.write(&cast.agent, draft(held(text, now))).await.unwrap();
            assert!(
                matches!(replay.status, WriteStatus::Deferred | WriteStatus::AlreadyCommitted),
                "{replay:?}"
            );
            Told::default()
        }
    }
}

/// The review says what those who acted saw, and exactly the approved ones are memory.
async fn check(cast: &Cast, seen: &Seen, id: &str) {
    let review = cast.engine.review(&cast.owner, id).await.unwrap();
    let saw = (seen.committed, seen.ended);
    let expected = match review.state {
        ReviewState::Approved => (1, 0),
        ReviewState::Rejected | ReviewState::Withdrawn => (0, 1),
        ReviewState::Pending | ReviewState::TimedOut => (0, 0),
    };
    assert_eq!(saw, expected, "{review:?}");
    if let Some(version) = review.version {
        assert_eq!(review.state, ReviewState::Approved);
        let by = review.approvals.last().unwrap();
        assert_ne!(*by, cast.stranger.caller.user());
        let record = cast
            .engine
            .list(&cast.owner, ListQuery { limit: Some(1), ..ListQuery::default() })
            .await
            .unwrap();
        assert!(!record.rows.is_empty(), "{version} is there");
    }
}

/// Of a review and what an edit made of it, one waits or was decided on by a person; the other is withdrawn, or was never there.
async fn check_edits(cast: &Cast, became: &[String], id: &str) {
    assert!(became.len() <= 1, "{id} became {became:?}");
    for new in became {
        let old = cast.engine.review(&cast.owner, id).await.unwrap();
        assert_eq!(old.state, ReviewState::Withdrawn, "{old:?}");
        let new = cast.engine.review(&cast.owner, new).await.unwrap();
        assert_eq!(new.state, ReviewState::Pending, "{new:?}");
        assert!(new.write["justification"].as_str().unwrap().starts_with("changed by"), "{new:?}");
    }
}

/// GOV-1.6, GOV-6.3, GOV-6.4, GOV-6.6, D3: submit, edit, approve, reject, withdraw, replay and self-approval in every order, at once: no
/// write becomes memory without one consent of a person who may give it, and none twice; an edit is done whole or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_becomes_memory_without_consent() {
    let soak = std::env::var("TABELLION_SOAK").is_ok_and(|value| value == "1");
    let rounds = if soak { 100_000 } else { 1_500 };
    let mut chance = Chance(7);
    let mut number = 0;
    while number < rounds {
        // A fresh memory now and then keeps each round as quick as the first.
        let bench = open(None, number as u64);
        let cast = Arc::new(cast(&bench).await);
        for _ in 0..500.min(rounds - number) {
            round(&cast, &bench, number, &mut chance).await;
            bench.pass(Period::from_secs(60));
            number += 1;
        }
        let all = cast.engine.reviews(&cast.owner, Some("approved")).await.unwrap();
        for review in &all {
            assert!(!review.approvals.is_empty() && review.version.is_some(), "{review:?}");
        }
    }
}
