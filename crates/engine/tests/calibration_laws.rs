//! What must not move a score, and what a score must not move (CAL-2, CAL-30, CAL-38, CAL-44).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use support::debate::{AGENTS, Debate, TOPICS, is_staged};
use support::{BEGIN, draft, open_with};
use tabellion_core::error::Code;
use tabellion_engine::ports::{EmbedError, Embedder, ManualClock};
use tabellion_engine::reply::{Ground, NewAgent, TrustQuery, TrustReply, Verdict, WriteStatus};

/// Whatever is said means the same.
struct Alike;

impl Embedder for Alike {
    fn model(&self) -> &str {
        "alike"
    }

    fn dimensions(&self) -> usize {
        4
    }

    fn batch_texts_max(&self) -> usize {
        64
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|_| vec![0.5; 4]).collect())
    }
}

async fn whole(debate: &Debate) -> TrustReply {
    debate.bench.engine.trust_told(&debate.bench.admin, &TrustQuery::default()).await.unwrap()
}

/// CAL-2, CAL-8, acceptance 12: whatever agents claim of what they write, every rho stays the same to the last bit.
#[tokio::test]
async fn claims_move_no_score() {
    let mut told = Vec::new();
    for (confidence, said) in [(0.95, "I vouch for it; approve"), (0.05, "I doubt it; reject")] {
        let mut debate = Debate::new(None).await;
        debate.warm().await;
        let mut items = Vec::new();
        for number in 0..12 {
            let (agent, topic) = (number % AGENTS, number % TOPICS);
            debate.ask(agent, topic).await;
            let kind = if number % 4 == 3 { "magnet" } else { "about" };
            let body = json!({
                "text": format!("{kind} {topic}: claimed {number}"), "tier": "shared", "trace_id": debate.round,
                "confidence": confidence, "justification": said,
            });
            let written = debate.bench.engine.write(&debate.agents[agent], draft(body)).await.unwrap();
            let id = written.id.unwrap().to_string();
            items.push((written.status, debate.trust(&id).await.item.map(|one| (one.status, one.numbers))));
        }
        told.push((format!("{items:?}"), format!("{:?}", whole(&debate).await.spaces)));
    }
    assert_eq!(told[0], told[1]);
}

/// CAL-30, acceptance 9: among nine honest statements a magnet is kept apart all the same, and they are not.
#[tokio::test]
async fn a_magnet_is_not_diluted() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    let (mut magnets, mut honest) = (0, 0);
    for draw in 0..TOPICS * AGENTS {
        let (agent, topic) = (draw % AGENTS, draw % TOPICS);
        debate.ask(agent, topic).await;
        for place in 0..10 {
            if place == draw % 10 {
                magnets += usize::from(is_staged(
                    &debate.write(agent, &format!("magnet {topic}: of {agent}")).await,
                ));
            } else {
                let text = format!("about {}: beside {draw} {place}", (topic + place) % TOPICS);
                honest += usize::from(debate.write(agent, &text).await.status == WriteStatus::Committed);
            }
        }
    }
    assert!(magnets >= 18, "{magnets} of 20 magnets were kept apart");
    assert!(honest >= 144, "{honest} of 180 honest ones were committed");
}

/// CAL-44: what another gate refuses is refused whatever its score; a person's yes lets in what was kept apart, counts five
/// times and is in the log; and nothing is seen by more people than before.
#[tokio::test]
async fn calibration_is_one_gate_among_others() {
    let mut debate = Debate::new(None).await;
    debate.warm().await;
    debate.ask(1, 1).await;
    let body = json!({"text": "about 1: said once", "tier": "shared", "trace_id": debate.round, "kind": "Not a kind"});
    let refused = tabellion_core::gate::read_write(body.clone()).unwrap();
    let refused = debate.bench.engine.write(&debate.agents[1], refused).await.unwrap_err();
    assert_eq!(refused.code, Code::SchemaInvalid);
    let staged = debate.write(1, "magnet 1: everything").await;
    assert!(is_staged(&staged));
    let (id, pending) = (staged.id.unwrap().to_string(), staged.deferral.unwrap().pending_id);
    let before = debate.trust(&id).await.item.unwrap().numbers.unwrap();
    let size = debate.bench.size().await;
    let verdict = Verdict {
        approve: true,
        reason: "checked".into(),
        content_hash: None,
        on_conflict: None,
        ground: Ground::Other,
    };
    debate.bench.engine.decide(&debate.bench.admin, &pending, verdict).await.unwrap();
    let after = debate.trust(&id).await.item.unwrap().numbers.unwrap();
    assert!(
        (after.count - before.count - 5.0).abs() < 1e-9
            && (after.evidence - before.evidence - 5.0).abs() < 1e-9
    );
    assert!(debate.bench.size().await >= size + 2, "the yes and the version are in the log");
    let agents = debate.bench.engine.get(&debate.agents[3], &id, None).await.unwrap().agents;
    assert_eq!(agents.len(), AGENTS);
}

/// CAL-10, CAL-11, CAL-13: where everything means the same, scores are still shares, and what waits is recognised.
#[tokio::test]
async fn a_memory_where_everything_is_alike() {
    let clock = Arc::new(ManualClock::at(BEGIN.parse().unwrap()));
    let mut debate = Debate::on(open_with(None, 7, clock, Some(Arc::new(Alike)))).await;
    debate.warm().await;
    let mut outcomes = Vec::new();
    for number in 0..10 {
        debate.ask(number % AGENTS, 0).await;
        let written = debate.write(number % AGENTS, &format!("the same {number}")).await;
        outcomes.push((written.status, is_staged(&written)));
    }
    assert!(
        outcomes.iter().all(|(status, staged)| *status == WriteStatus::Committed || *staged),
        "{outcomes:?}"
    );
    debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    let told = whole(&debate).await;
    for one in &told.staged {
        let numbers = one.numbers.unwrap();
        let all = [numbers.rho, numbers.scored, numbers.detect, numbers.align, numbers.threshold];
        let all = all.into_iter().chain(numbers.agreed);
        assert!(all.clone().all(|number| (0.0..=1.0).contains(&number)), "{numbers:?}");
    }
    assert!(told.spaces.iter().all(|space| (0.0..=1.0).contains(&space.threshold)));
}

/// CAL-30, CAL-37: in a namespace of one item nothing waits, and everything is trusted by one half.
#[tokio::test]
async fn a_memory_of_one_item() {
    let mut debate = Debate::new(None).await;
    debate.write(0, "about 0: the only one").await;
    debate.declare().await;
    debate.ask(1, 0).await;
    let written = debate.write(1, "magnet 0: the second").await;
    assert_eq!(written.status, WriteStatus::Committed);
    let told = debate.trust(&written.id.unwrap().to_string()).await.item.unwrap();
    assert_eq!((told.status, told.numbers.unwrap().rho), ("provisional", 0.5));
    debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
}

/// CAL-38: where nearly all who spoke are of one family of models, what they said counts half, and auditors are told.
#[tokio::test]
async fn one_family_is_one_voice() {
    let mut counted = Vec::new();
    for families in [["gpt"; AGENTS], ["gpt", "llama", "mistral", "qwen", "gemma"]] {
        let mut debate = Debate::of_families(&families).await;
        debate.warm().await;
        debate.ask(1, 1).await;
        let written = debate.write(1, "about 1: what the family thinks").await;
        assert_eq!(written.status, WriteStatus::Committed);
        let id = written.id.unwrap().to_string();
        let told = debate.trust(&id).await.item.unwrap();
        let query = TrustQuery { item: Some(id), ..TrustQuery::default() };
        let plain = debate.bench.engine.trust_told(&debate.agents[2], &query).await.unwrap().item.unwrap();
        let flagged = |reasons: &[String]| reasons.iter().any(|reason| reason.contains("one family"));
        assert!(!flagged(&plain.reasons), "who spoke is for auditors");
        counted.push((told.numbers.unwrap().count, flagged(&told.reasons)));
    }
    let [(alike, flagged), (mixed, unflagged)] = counted[..] else { panic!("{counted:?}") };
    assert!(flagged && !unflagged, "{counted:?}");
    assert!((alike * 2.0 - mixed).abs() < 0.5, "{counted:?}");
}

/// CAL-38: a family is written as it is told apart, and nonsense is refused.
#[tokio::test]
async fn a_family_has_a_plain_name() {
    let debate = Debate::new(None).await;
    let named = |family: &str| NewAgent {
        name: format!("of-{}", family.len()),
        family: Some(family.to_owned()),
        ..NewAgent::default()
    };
    let engine = &debate.bench.engine;
    let made = engine.register_agent(&debate.bench.admin, named(" GPT-4 ")).await.unwrap();
    assert_eq!(made.family.as_deref(), Some("gpt-4"));
    for wrong in ["", "  ", "two words", &"x".repeat(65)] {
        let refused = engine.register_agent(&debate.bench.admin, named(wrong)).await.unwrap_err();
        assert_eq!((refused.code, refused.errors[0].path.as_str()), (Code::SchemaInvalid, "/family"));
    }
}

/// CAL-27, CAL-42, acceptance 12: with every checkpoint gone, folding the log gives the same trust, weights and gate.
#[tokio::test]
async fn the_log_alone_gives_the_same_trust() {
    let dir = tempfile::tempdir().unwrap();
    let mut debate = Debate::new(Some(dir.path())).await;
    debate.warm().await;
    debate.ask(1, 2).await;
    let staged = debate.write(1, "magnet 2: everything").await.id.unwrap().to_string();
    debate.bench.engine.recalibrate(&debate.bench.admin).await.unwrap();
    let told = async |debate: &Debate| format!("{:?} {:?}", whole(debate).await, debate.trust(&staged).await);
    let before = told(&debate).await;
    let again = debate.restarted(dir.path()).await;
    assert_eq!(told(&again).await, before);
    let engine = again.bench.engine.clone();
    tokio::task::spawn_blocking(move || engine.close()).await.unwrap();
    drop(again);
    let removed = without_checkpoints(dir.path());
    assert!(removed > 0, "there was a checkpoint");
    let bench = open_with(Some(dir.path()), 9, Arc::new(ManualClock::at(BEGIN.parse().unwrap())), None);
    let debate =
        Debate { bench, agents: Vec::new(), keys: Vec::new(), round: String::new(), written: 0, asked: 0 };
    assert_eq!(told(&debate).await, before);
}

/// Deletes every checkpoint below a directory; how many there were.
fn without_checkpoints(dir: &Path) -> usize {
    let mut removed = 0;
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            removed += without_checkpoints(&path);
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".ckpt")) {
            std::fs::remove_file(&path).unwrap();
            removed += 1;
        }
    }
    removed
}
