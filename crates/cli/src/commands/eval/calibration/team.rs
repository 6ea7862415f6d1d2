//! Six agents of six users on an engine of their own: the same engine that a server has. Whatever is searched, written or kept
//! apart here goes through it; the simulation adds no rule of its own.

use crate::commands::cast::{Cast, told};
use anyhow::Result;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tabellion_core::error::Code;
use tabellion_core::gate::{Strictness, read_write};
use tabellion_core::time::Timestamp;
use tabellion_engine::ports::{Advisers, EmbedError, Embedder, ManualClock, SeededEntropy};
use tabellion_engine::reply::{OutcomeReport, RoundDraft, SearchQuery, TrustQuery, WriteStatus, Written};
use tabellion_engine::{AuditReads, Calibration, Call, EngineLimits, Governance, Options, Turns};

/// When every simulation begins.
const BEGIN_MICROS: u64 = 1_790_000_000_000_000;

/// What one search finds, at most: all relations of a type.
pub(super) const FOUND_MAX: u64 = 1_000;

/// How long vectors are.
pub(super) const DIMENSIONS: usize = 384;

/// The meaning of each text, as the world has placed it.
#[derive(Default)]
pub(super) struct Placed(Mutex<HashMap<String, Vec<f32>>>);

impl Placed {
    pub(super) fn put(&self, text: &str, vector: &[f32]) {
        let mut placed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        placed.insert(text.to_owned(), vector.to_vec());
    }
}

impl Embedder for Placed {
    fn model(&self) -> &str {
        "placed by a simulation"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch_texts_max(&self) -> usize {
        64
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let placed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || EmbedError::Unavailable("a text that the simulation has not placed".to_owned());
        texts.iter().map(|text| placed.get(*text).cloned().ok_or_else(unknown)).collect()
    }
}

/// Six agents of six users.
pub(super) struct Team {
    pub(super) cast: Cast,
    pub(super) placed: Arc<Placed>,
}

impl Team {
    pub(super) async fn new(agents: usize, seed: u64, calibration: Calibration) -> Result<Self> {
        let placed = Arc::new(Placed::default());
        let embedder = Some(Arc::clone(&placed) as Arc<dyn Embedder>);
        Self::with((agents, seed), calibration, placed, embedder).await
    }

    /// Agents in a world where nothing has a meaning but what is tied to what.
    pub(super) async fn without_model(agents: usize, seed: u64, calibration: Calibration) -> Result<Self> {
        Self::with((agents, seed), calibration, Arc::default(), None).await
    }

    async fn with(
        (agents, seed): (usize, u64),
        calibration: Calibration,
        placed: Arc<Placed>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        let options = Options {
            data: None,
            master_key: None,
            admin_key: None,
            accept_loss: false,
            clock: Arc::new(ManualClock::at(Timestamp::from_micros(BEGIN_MICROS))),
            entropy: Arc::new(SeededEntropy::new(seed)),
            limits: EngineLimits { k_max: FOUND_MAX, ..EngineLimits::default() },
            embedder,
            audit_reads: AuditReads::Async,
            // Calibration alone is measured.
            governance: Governance { strictness: Strictness::Open, calibration, ..Governance::default() },
            advisers: Advisers::default(),
        };
        Ok(Self { cast: Cast::new(options, agents).await?, placed })
    }

    pub(super) fn call(&self, agent: usize) -> Result<&Call> {
        self.cast.call(agent)
    }

    /// A person declares a round of all agents about these items; its id is the trace of what is done in it.
    pub(super) async fn declare(&self, goal: &str, items: &[String]) -> Result<String> {
        self.declared_by(&self.cast.admin, goal, items).await
    }

    /// An agent declares one: what is written there is the work of all, and nobody has to have asked anything.
    pub(super) async fn work_together(&self, goal: &str) -> Result<String> {
        self.declared_by(self.call(0)?, goal, &[]).await
    }

    async fn declared_by(&self, call: &Call, goal: &str, items: &[String]) -> Result<String> {
        let draft = RoundDraft {
            goal: goal.to_owned(),
            agents: self.cast.names.clone(),
            items: items.to_vec(),
            ..RoundDraft::default()
        };
        Ok(self.cast.engine.declare_round(call, draft).await.map_err(told)?.id)
    }

    /// What an agent finds; in a round, that is a probe.
    pub(super) async fn search(
        &self,
        agent: usize,
        vector: &[f32],
        round: Option<&str>,
    ) -> Result<Vec<String>> {
        let query = SearchQuery {
            vector: Some(vector.to_vec()),
            mode: Some("dense".to_owned()),
            namespace: Some("default".to_owned()),
            trace_id: round.map(str::to_owned),
            k: Some(5),
            exact: true,
            ..SearchQuery::default()
        };
        let found = self.cast.engine.search(self.call(agent)?, query).await.map_err(told)?;
        Ok(found.results.iter().map(|one| one.item.id.to_string()).collect())
    }

    /// An agent tells how it went with the item nearest to a place.
    pub(super) async fn report(&self, agent: usize, vector: &[f32], item: &str, good: bool) -> Result<()> {
        let query = SearchQuery {
            vector: Some(vector.to_vec()),
            mode: Some("dense".to_owned()),
            k: Some(1),
            exact: true,
            ..SearchQuery::default()
        };
        self.report_found(agent, query, vec![item.to_owned()], good).await
    }

    /// An agent tells how it went with what it found and used, as the work of all.
    pub(super) async fn report_found(
        &self,
        agent: usize,
        query: SearchQuery,
        used: Vec<String>,
        good: bool,
    ) -> Result<()> {
        let call = self.call(agent)?;
        let query = SearchQuery { shared_work: true, ..query };
        let search = self.cast.engine.search(call, query).await.map_err(told)?.search.to_string();
        let report = OutcomeReport { search, used, success: Some(good) };
        self.cast.engine.report_outcome(call, report).await.map_err(told)?;
        Ok(())
    }

    /// Writes a text that means this, for everybody.
    pub(super) async fn write(
        &self,
        agent: usize,
        text: &str,
        vector: &[f32],
        round: Option<&str>,
    ) -> Result<Written> {
        self.placed.put(text, vector);
        let mut body = json!({"text": text, "tier": "shared", "layer": "episodic"});
        if let (Some(round), Some(body)) = (round, body.as_object_mut()) {
            body.insert("trace_id".to_owned(), json!(round));
        }
        let draft = read_write(body).map_err(told)?;
        self.cast.engine.import(self.call(agent)?, draft, Turns::default().give()).await.map_err(told)
    }

    /// Whether an id is memory by now.
    pub(super) async fn is_known(&self, id: &str) -> Result<bool> {
        match self.cast.engine.get(self.call(0)?, id, None).await {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.code == Code::NotFound => Ok(false),
            Err(refusal) => Err(told(refusal)),
        }
    }

    /// How credible each agent is by now, by its number.
    pub(super) async fn credibility(&self) -> Result<BTreeMap<usize, f64>> {
        let told_of =
            self.cast.engine.trust_told(&self.cast.admin, &TrustQuery::default()).await.map_err(told)?;
        let widest = told_of.spaces.iter().max_by_key(|space| (space.agents.len(), space.rounds));
        let auditors = widest.map(|space| space.auditors.as_slice()).unwrap_or_default();
        let number = |name: &str| self.cast.names.iter().position(|known| known == name);
        Ok(auditors.iter().filter_map(|one| Some((number(&one.agent)?, one.credibility))).collect())
    }

    pub(super) async fn close(self) -> Result<()> {
        self.cast.close().await
    }
}

/// Whether a write is memory now.
pub(super) const fn is_in(written: &Written) -> bool {
    matches!(written.status, WriteStatus::Committed | WriteStatus::Merged | WriteStatus::AlreadyCommitted)
}
