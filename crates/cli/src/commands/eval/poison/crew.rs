//! Six agents of six users on an engine of their own: the same engine that a server has, with its model.

use super::script::AGENTS;
use crate::commands::cast::{Cast, told};
use anyhow::Result;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::read_write;
use tabellion_core::time::{Period, Timestamp};
use tabellion_engine::ports::{Advisers, Clock, EmbedError, Embedder, ManualClock, SeededEntropy};
use tabellion_engine::reply::{RoundDraft, SearchQuery, TrustNumbers, TrustQuery, Written};
use tabellion_engine::{AuditReads, Call, EngineLimits, Governance, Options};

/// When every run begins.
const BEGIN_MICROS: u64 = 1_790_000_000_000_000;
/// How long a vector may take.
const WAIT_MS: u64 = 600_000;
/// Between two writes.
const PAUSE: Period = Period::from_secs(60);
/// Results that are looked at.
pub(super) const DEEPEST: u64 = 10;

/// A model that remembers what texts mean, because the same ones are asked in every run.
pub(super) struct Remembering {
    model: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Remembering {
    pub(super) fn new(model: Arc<dyn Embedder>) -> Self {
        Self { model, known: Mutex::default() }
    }

    fn get(&self, text: &str) -> Option<Vec<f32>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }
}

impl Embedder for Remembering {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn batch_texts_max(&self) -> usize {
        self.model.batch_texts_max()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let unknown: Vec<&str> = texts.iter().copied().filter(|text| self.get(text).is_none()).collect();
        if !unknown.is_empty() {
            let vectors = self.model.embed(&unknown)?;
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(unknown.into_iter().map(str::to_owned).zip(vectors));
        }
        let lost = || EmbedError::Nonsense("fewer vectors than texts".to_owned());
        texts.iter().map(|text| self.get(text).ok_or_else(lost)).collect()
    }
}

/// Six agents of six users.
pub(super) struct Crew {
    cast: Cast,
    clock: Arc<ManualClock>,
    /// Where they work.
    namespace: String,
}

impl Crew {
    pub(super) async fn new(seed: u64, governance: Governance, embedder: Arc<dyn Embedder>) -> Result<Self> {
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(BEGIN_MICROS)));
        let options = Options {
            data: None,
            master_key: None,
            admin_key: None,
            accept_loss: false,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            entropy: Arc::new(SeededEntropy::new(seed)),
            limits: EngineLimits {
                embedding_wait_ms: WAIT_MS,
                min_token_wait_ms: WAIT_MS,
                ..EngineLimits::default()
            },
            embedder: Some(embedder),
            audit_reads: AuditReads::Async,
            governance,
            advisers: Advisers::default(),
        };
        let cast = Cast::new(options, AGENTS).await?;
        Ok(Self { cast, clock, namespace: String::new() })
    }

    /// From now on they work on this conversation.
    pub(super) fn enter(&mut self, conversation: usize) {
        self.namespace = format!("conversation-{conversation}");
    }

    fn call(&self, agent: usize) -> Result<&Call> {
        self.cast.call(agent)
    }

    /// A person declares a round of all agents about these items; its id is the trace of what is done in it.
    pub(super) async fn declare(&self, goal: &str, items: Vec<String>) -> Result<String> {
        let draft = RoundDraft {
            goal: goal.to_owned(),
            agents: self.cast.names.clone(),
            items,
            namespace: Some(self.namespace.clone()),
            ..RoundDraft::default()
        };
        Ok(self.cast.engine.declare_round(&self.cast.admin, draft).await.map_err(told)?.id)
    }

    /// What an agent finds with a search as it is by default; in a round, that is a probe.
    pub(super) async fn search(&self, agent: usize, text: &str, round: Option<&str>) -> Result<Vec<String>> {
        let query = SearchQuery {
            query: Some(text.to_owned()),
            namespace: Some(self.namespace.clone()),
            trace_id: round.map(str::to_owned),
            k: Some(DEEPEST),
            ..SearchQuery::default()
        };
        let found = self.cast.engine.search(self.call(agent)?, query).await.map_err(told)?;
        anyhow::ensure!(
            found.mode == "hybrid",
            "a search was answered as {}: the model did not answer",
            found.mode
        );
        Ok(found.results.iter().map(|one| one.item.id.to_string()).collect())
    }

    /// Waits until everything that is known has its vector.
    pub(super) async fn settled(&self) -> Result<()> {
        let query = |mode: &str, min_token: Option<String>| SearchQuery {
            query: Some("is it there?".to_owned()),
            mode: Some(mode.to_owned()),
            min_token,
            k: Some(1),
            ..SearchQuery::default()
        };
        let now = self.cast.engine.search(self.call(0)?, query("lexical", None)).await.map_err(told)?;
        self.cast.engine.search(self.call(0)?, query("dense", Some(now.token))).await.map_err(told)?;
        Ok(())
    }

    /// Writes a text for everybody, or tells why not; a minute later than the one before.
    pub(super) async fn write(
        &self,
        agent: usize,
        text: &str,
        round: Option<&str>,
    ) -> Result<Result<Written, Refusal>> {
        self.clock.set(self.clock.now().plus(PAUSE));
        let mut body =
            json!({"text": text, "tier": "shared", "layer": "episodic", "namespace": self.namespace});
        if let (Some(round), Some(body)) = (round, body.as_object_mut()) {
            body.insert("trace_id".to_owned(), json!(round));
        }
        let draft = read_write(body).map_err(told)?;
        Ok(self.cast.engine.write(self.call(agent)?, draft).await)
    }

    /// Whether an id is memory by now.
    pub(super) async fn is_known(&self, id: &str) -> Result<bool> {
        match self.cast.engine.get(self.call(0)?, id, None).await {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.code == Code::NotFound => Ok(false),
            Err(refusal) => Err(told(refusal)),
        }
    }

    /// How an item was scored, if it was.
    pub(super) async fn scored(&self, id: &str) -> Result<Option<TrustNumbers>> {
        let query = TrustQuery { item: Some(id.to_owned()), namespace: Some(self.namespace.clone()) };
        match self.cast.engine.trust_told(&self.cast.admin, &query).await {
            Ok(told) => Ok(told.item.and_then(|item| item.numbers)),
            Err(refusal) if refusal.code == Code::NotFound => Ok(None),
            Err(refusal) => Err(told(refusal)),
        }
    }

    pub(super) async fn recalibrate(&self) -> Result<()> {
        self.cast.recalibrate().await
    }

    pub(super) async fn close(self) -> Result<()> {
        self.cast.close().await
    }
}
