//! Duplicates by meaning: vectors propose, words decide, and nobody is told of what is not theirs.
#![allow(clippy::unwrap_used, reason = "a failure is a panic")]

mod support;

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{BEGIN, Bench, call, draft, open_with};
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::Call;
use tabellion_engine::ports::{EmbedError, Embedder, ManualClock};
use tabellion_engine::reply::{Ground, SearchQuery, Verdict, WriteStatus, Written};

/// To this model all texts mean the same, but those about an automobile; and it can fall silent.
#[derive(Default)]
struct AllAlike {
    silent: AtomicBool,
}

impl Embedder for AllAlike {
    fn model(&self) -> &str {
        "all alike"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn batch_texts_max(&self) -> usize {
        16
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.silent.load(Ordering::Relaxed) {
            return Err(EmbedError::Unavailable("it is silent".into()));
        }
        let meaning = |text: &&str| if text.contains("automobile") { vec![0.0, 1.0] } else { vec![1.0, 0.0] };
        Ok(texts.iter().map(meaning).collect())
    }
}

struct Stage {
    bench: Bench,
    model: Arc<AllAlike>,
    owner: Call,
    agent: Call,
}

async fn stage() -> Stage {
    let model = Arc::new(AllAlike::default());
    let clock = Arc::new(ManualClock::at(BEGIN.parse().unwrap()));
    let bench = open_with(None, 3, clock, Some(Arc::clone(&model) as Arc<dyn Embedder>));
    let owner = bench.member("ana").await;
    bench.engine.create_agent(&bench.admin, "writer", None, false).await.unwrap();
    let agent = agent(&bench, "ana").await;
    Stage { bench, model, owner, agent }
}

async fn agent(bench: &Bench, user: &str) -> Call {
    let key = bench.engine.create_key(&bench.admin, Some(user), Some("writer"), None).await.unwrap();
    call(&bench.engine, &key.secret)
}

impl Stage {
    fn fact(&self, text: &str, fields: &Value) -> Value {
        let now = self.bench.now().to_string();
        let words = json!({"source_type": "human_input", "source_uri": "chat://1", "excerpt": text, "accessed_at": now});
        json!({"text": text, "layer": "semantic", "confidence": 0.8, "evidence": [words], "fields": fields})
    }

    async fn write(&self, who: &Call, text: &str, fields: Value) -> Result<Written, Refusal> {
        self.bench.engine.write(who, draft(self.fact(text, &fields))).await
    }

    /// A fact that its owner has agreed to, with its vector.
    async fn remembered(&self, text: &str) -> Written {
        let held = self.write(&self.agent, text, json!({"a": 1})).await.unwrap();
        let id = held.deferral.unwrap().pending_id;
        let yes = Verdict {
            approve: true,
            reason: "so it is".into(),
            ground: Ground::Other,
            content_hash: None,
            on_conflict: None,
        };
        let made = self.bench.engine.decide(&self.owner, &id, yes).await.unwrap();
        let (query, mode) = (Some("anything".to_owned()), Some("dense".to_owned()));
        let query = SearchQuery { query, mode, min_token: made.token.clone(), ..SearchQuery::default() };
        self.bench.engine.search(&self.owner, query).await.unwrap();
        made
    }
}

/// GOV-3.4: of texts that all mean the same to the model, those whose words agree are duplicates, and what they add decides
/// what becomes of them; the others are facts of their own.
#[tokio::test]
async fn the_model_proposes_and_the_words_decide() {
    let stage = stage().await;
    let known = stage.remembered("Alice bought a big house").await;
    let same = "Alice purchased a large house";
    let refused = stage.write(&stage.agent, same, json!({"a": 1})).await.unwrap_err();
    assert_eq!(refused.code, Code::SemanticDuplicate);
    assert_eq!(refused.in_the_way.unwrap().existing, known.id);
    let merged = stage.write(&stage.agent, same, json!({"a": 1, "b": 2})).await.unwrap();
    assert_eq!(merged.deferral.map(|one| one.code), Some(Code::ApprovalRequired));
    let differs = stage.write(&stage.agent, same, json!({"a": 2})).await.unwrap();
    assert_eq!(differs.deferral.unwrap().code, Code::SemanticConflict);
    for other in [
        "Alice purchased a large boat",
        "Bob purchased a large house",
        "Alice never purchased a large house",
        "Alice purchased 2 large houses",
    ] {
        let held = stage.write(&stage.agent, other, json!({"a": 1})).await.unwrap();
        assert_eq!(held.status, WriteStatus::Deferred, "{other}");
        assert_ne!(held.deferral.unwrap().code, Code::SemanticConflict, "{other}");
    }
    stage.bench.engine.close();
}

/// GOV-3.4: the words alone do not make a duplicate of what the model finds far apart.
#[tokio::test]
async fn what_is_far_apart_is_no_duplicate() {
    let stage = stage().await;
    stage.remembered("Alice bought a big automobile").await;
    let held = stage.write(&stage.agent, "Alice purchased a large car", json!({"a": 1})).await.unwrap();
    assert_eq!(held.deferral.unwrap().code, Code::ApprovalRequired);
    stage.bench.engine.close();
}

/// GOV-3.4, SHARE-42: what another user holds is no duplicate, nor what lies in another namespace.
#[tokio::test]
async fn nobody_learns_what_others_hold() {
    let stage = stage().await;
    stage.remembered("Alice bought a big house").await;
    stage.bench.member("ben").await;
    let other = agent(&stage.bench, "ben").await;
    let held = stage.write(&other, "Alice purchased a large house", json!({"a": 1})).await.unwrap();
    assert_eq!(held.deferral.unwrap().code, Code::ApprovalRequired);
    let mut elsewhere = stage.fact("Alice purchased a large house", &json!({"a": 1}));
    elsewhere["namespace"] = json!("elsewhere");
    let held = stage.bench.engine.write(&stage.agent, draft(elsewhere)).await.unwrap();
    assert_eq!(held.deferral.unwrap().code, Code::ApprovalRequired);
    stage.bench.engine.close();
}

/// GOV-3.4: a model that does not answer costs a duplicate at most, never a write.
#[tokio::test]
async fn without_a_model_the_words_have_to_do() {
    let stage = stage().await;
    stage.remembered("Alice bought a big house").await;
    stage.model.silent.store(true, Ordering::Relaxed);
    let held = stage.write(&stage.agent, "Alice purchased a large house", json!({"a": 1})).await.unwrap();
    assert_eq!(held.deferral.unwrap().code, Code::ApprovalRequired);
    let refused = stage.write(&stage.agent, "Alice bought a big house.", json!({"a": 1})).await.unwrap_err();
    assert_eq!(refused.code, Code::SemanticDuplicate);
    stage.bench.engine.close();
}
