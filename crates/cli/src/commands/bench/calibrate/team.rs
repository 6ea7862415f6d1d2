//! Agents of as many users who share their work, on an engine in memory.

use super::super::bare::now;
use super::super::cloud::{Cloud, Drawn};
use super::super::latency::Latencies;
use crate::commands::cast::{Cast, told};
use anyhow::Result;
use serde_json::json;
use std::sync::Arc;
use tabellion_core::gate::{Strictness, read_write};
use tabellion_core::rank::Knob;
use tabellion_engine::ports::{Advisers, Embedder, SeededEntropy, SystemClock};
use tabellion_engine::reply::{RoundDraft, SearchQuery};
use tabellion_engine::{
    AuditReads, Calibration, CalibrationMode, Call, EngineLimits, Governance, Options, Turns,
};

/// Who takes part: whoever writes has five auditors.
pub(super) const AGENTS: usize = 6;
/// Results of a read, as many as are compared when a write is scored.
const RESULTS: u64 = 5;
/// Vectors of everything may take so long.
const VECTORS_WAIT_MS: u64 = 600_000;

pub(super) struct Team {
    pub(super) cast: Cast,
    round: String,
}

/// An engine in memory that measures calibration alone: nobody is too fast for it.
pub(super) fn options(embedder: Option<Arc<dyn Embedder>>, mode: CalibrationMode) -> Options {
    let calibration = Calibration { mode, ..Calibration::default() };
    let (strictness, rates) = (Strictness::Open, [u32::MAX; 5]);
    Options {
        data: None,
        master_key: None,
        admin_key: None,
        accept_loss: false,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SeededEntropy::new(1)),
        limits: EngineLimits { min_token_wait_ms: VECTORS_WAIT_MS, ..EngineLimits::default() },
        embedder,
        audit_reads: AuditReads::Async,
        governance: Governance { strictness, calibration, rates, ..Governance::default() },
        advisers: Advisers::default(),
    }
}

impl Team {
    /// A team whose writes are scored and weighed, or not; none is kept back, so that both remember the same.
    pub(super) async fn new(cloud: &Cloud, mode: CalibrationMode) -> Result<Self> {
        let cast = Cast::new(options(Some(Arc::new(Drawn(cloud.clone()))), mode), AGENTS).await?;
        let (goal, agents) = ("what number 1 said".to_owned(), cast.names.clone());
        let draft = RoundDraft { goal, agents, ..RoundDraft::default() };
        let round = cast.engine.declare_round(&cast.admin, draft).await.map_err(told)?.id;
        Ok(Self { cast, round })
    }

    fn call(&self, agent: usize) -> Result<Call> {
        self.cast.call(agent % AGENTS).cloned()
    }

    /// A read by meaning of the shared work.
    pub(super) async fn read(&self, agent: usize, vector: Vec<f32>, took: &mut Latencies) -> Result<()> {
        self.read_without(&[], agent, vector, took).await
    }

    /// A read by meaning that leaves something out.
    pub(super) async fn read_without(
        &self,
        without: &[Knob],
        agent: usize,
        vector: Vec<f32>,
        took: &mut Latencies,
    ) -> Result<()> {
        let query = SearchQuery {
            vector: Some(vector),
            mode: Some("dense".to_owned()),
            namespace: Some("default".to_owned()),
            trace_id: Some(self.round.clone()),
            k: Some(RESULTS),
            without: without.iter().map(|knob| knob.as_str().to_owned()).collect(),
            ..SearchQuery::default()
        };
        let call = self.call(agent)?;
        let began = now();
        let found = self.cast.engine.search(&call, query).await.map_err(told)?;
        took.note(began.elapsed());
        drop(found);
        Ok(())
    }

    /// A write for everybody, in the round or outside of it.
    pub(super) fn write(
        &self,
        agent: usize,
        number: u64,
        in_round: bool,
    ) -> Result<impl Future<Output = Result<()>> + use<>> {
        let (engine, call) = (self.cast.engine.clone(), self.call(agent)?);
        let mut body =
            json!({"text": format!("what number {number} said"), "tier": "shared", "layer": "episodic"});
        if let (true, Some(body)) = (in_round, body.as_object_mut()) {
            body.insert("trace_id".to_owned(), json!(self.round));
        }
        let draft = read_write(body).map_err(told)?;
        Ok(async move {
            engine.import(&call, draft, Turns::default().give()).await.map_err(told)?;
            Ok(())
        })
    }

    /// Waits until everything that is known has its vector.
    pub(super) async fn settled(&self, vector: Vec<f32>) -> Result<()> {
        let query = |mode: &str, vector: Option<Vec<f32>>, min_token: Option<String>| SearchQuery {
            query: vector.is_none().then(|| "number".to_owned()),
            vector,
            mode: Some(mode.to_owned()),
            min_token,
            k: Some(1),
            ..SearchQuery::default()
        };
        let call = self.call(0)?;
        let now = self.cast.engine.search(&call, query("lexical", None, None)).await.map_err(told)?;
        self.cast.engine.search(&call, query("dense", Some(vector), Some(now.token))).await.map_err(told)?;
        Ok(())
    }

    pub(super) async fn close(self) -> Result<()> {
        self.cast.close().await
    }
}
