//! Six agents of six users on an engine of their own: the same engine that a server has. Whatever is searched, written or kept
//! apart here goes through it; the simulation adds no rule of its own.

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Strictness, read_write};
use tabellion_core::time::Timestamp;
use tabellion_engine::ports::{Advisers, EmbedError, Embedder, ManualClock, SeededEntropy};
use tabellion_engine::reply::{RoundDraft, SearchQuery, TrustQuery, WriteStatus, Written};
use tabellion_engine::{AuditReads, Calibration, Call, Engine, EngineLimits, Governance, Options, Turns};

/// When every simulation begins.
const BEGIN_MICROS: u64 = 1_790_000_000_000_000;

/// How long vectors are.
pub(super) const DIMENSIONS: usize = 384;

pub(super) fn told(Refusal { code, message, .. }: Refusal) -> anyhow::Error {
    anyhow!("{}: {message}", code.as_str())
}

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
    engine: Engine,
    admin: Call,
    pub(super) placed: Arc<Placed>,
    names: Vec<String>,
    calls: Vec<Call>,
}

impl Team {
    pub(super) async fn new(agents: usize, seed: u64, calibration: Calibration) -> Result<Self> {
        let placed = Arc::new(Placed::default());
        let options = Options {
            data: None,
            master_key: None,
            admin_key: None,
            clock: Arc::new(ManualClock::at(Timestamp::from_micros(BEGIN_MICROS))),
            entropy: Arc::new(SeededEntropy::new(seed)),
            limits: EngineLimits::default(),
            embedder: Some(Arc::clone(&placed) as Arc<dyn Embedder>),
            audit_reads: AuditReads::Async,
            // Calibration alone is measured.
            governance: Governance { strictness: Strictness::Open, calibration, ..Governance::default() },
            advisers: Advisers::default(),
        };
        let (engine, first) = tokio::task::spawn_blocking(move || Engine::open(options)).await??;
        let first = first.context("an engine in memory always starts anew")?;
        let caller = engine.authenticate(&first.admin_key).map_err(told)?;
        let admin = Call { caller, request_id: None, trace: None };
        let mut team = Self { engine, admin, placed, names: Vec::new(), calls: Vec::new() };
        team.cast(agents).await?;
        Ok(team)
    }

    /// Makes users and agents; everybody may invoke every agent, so that everybody sees everything.
    async fn cast(&mut self, agents: usize) -> Result<()> {
        let (engine, admin) = (&self.engine, &self.admin);
        let body = json!({"kind": "write_shared", "share": "on"});
        engine.set_policy(admin, "sharing", body).await.map_err(told)?;
        for number in 0..agents {
            let name = format!("agent-{number}");
            engine.create_agent(admin, &name, None, true).await.map_err(told)?;
            self.names.push(name);
        }
        for number in 0..agents {
            let user = engine.create_user(admin, &format!("user-{number}"), None).await.map_err(told)?;
            let user = user.id.to_string();
            for (place, agent) in self.names.iter().enumerate() {
                let key = engine.create_key(admin, Some(&user), Some(agent), None).await.map_err(told)?;
                if place == number {
                    let caller = engine.authenticate(&key.secret).map_err(told)?;
                    self.calls.push(Call { caller, request_id: None, trace: None });
                }
            }
        }
        let own = admin.caller.user().to_string();
        for agent in &self.names {
            engine.grant(admin, ("ua", &own, agent), Default::default()).await.map_err(told)?;
        }
        Ok(())
    }

    fn call(&self, agent: usize) -> Result<&Call> {
        self.calls.get(agent).context("no such agent")
    }

    /// A person declares a round of all agents about these items; its id is the trace of what is done in it.
    pub(super) async fn declare(&self, goal: &str, items: &[String]) -> Result<String> {
        let draft = RoundDraft {
            goal: goal.to_owned(),
            agents: self.names.clone(),
            items: items.to_vec(),
            ..RoundDraft::default()
        };
        Ok(self.engine.declare_round(&self.admin, draft).await.map_err(told)?.id)
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
        let found = self.engine.search(self.call(agent)?, query).await.map_err(told)?;
        Ok(found.results.iter().map(|one| one.item.id.to_string()).collect())
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
        self.engine.import(self.call(agent)?, draft, Turns::default().give()).await.map_err(told)
    }

    /// Whether an id is memory by now.
    pub(super) async fn is_known(&self, id: &str) -> Result<bool> {
        match self.engine.get(self.call(0)?, id, None).await {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.code == Code::NotFound => Ok(false),
            Err(refusal) => Err(told(refusal)),
        }
    }

    /// How credible each agent is by now, by its number.
    pub(super) async fn credibility(&self) -> Result<BTreeMap<usize, f64>> {
        let told_of = self.engine.trust_told(&self.admin, &TrustQuery::default()).await.map_err(told)?;
        let widest = told_of.spaces.iter().max_by_key(|space| (space.agents.len(), space.rounds));
        let auditors = widest.map(|space| space.auditors.as_slice()).unwrap_or_default();
        let number = |name: &str| self.names.iter().position(|known| known == name);
        Ok(auditors.iter().filter_map(|one| Some((number(&one.agent)?, one.credibility))).collect())
    }

    pub(super) async fn close(self) -> Result<()> {
        let engine = self.engine;
        Ok(tokio::task::spawn_blocking(move || engine.close()).await?)
    }
}

/// Whether a write is memory now.
pub(super) const fn is_in(written: &Written) -> bool {
    matches!(written.status, WriteStatus::Committed | WriteStatus::Merged | WriteStatus::AlreadyCommitted)
}
