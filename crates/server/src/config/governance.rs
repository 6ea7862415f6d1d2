//! `[governance]`: how writes are governed, unless a policy of the tenant says otherwise.

use super::ConfigError;
use super::advisers::{self, Gate, JudgeModels};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tabellion_core::claim::Knowledge;
use tabellion_core::gate::Strictness;
use tabellion_core::time::Period;
use tabellion_engine::ports::Advisers;
use tokio::runtime::Handle;

/// Bytes of a file of facts.
const KNOWLEDGE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How writes are governed, unless a policy of the tenant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Governance {
    /// How strict the write path is.
    pub policy: WritePolicy,
    /// Writes of an agent in a minute, by layer from working to procedural.
    pub writes_per_minute: [u32; 5],
    /// Writes of an agent in a session.
    pub session_budget: u32,
    /// Writes of an agent that may be put off at a time.
    pub deferrals_max: u32,
    /// Refused writes kept for an author.
    pub refusals_max: u32,
    /// How long they are kept.
    pub refusals_days: u64,
    /// How long a writer waits for a person at most.
    pub sync_wait_seconds: u64,
    /// A file of facts that writes are held against, one JSON object a line; empty for none.
    pub knowledge: PathBuf,
    /// Hours between two rounds of verifying again what is durable; 0 for never.
    pub reverify_hours: u64,
    /// Documents whose address begins like this are official.
    pub official_sources: Vec<String>,
    /// Where news of held writes is sent; empty for nowhere.
    pub webhook_url: String,
    /// Gates outside this process.
    pub gates: Vec<Gate>,
    /// Models that read what a write says.
    pub judge: JudgeModels,
}

/// How strict the write path is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WritePolicy {
    /// For one person.
    Open,
    /// Canonical layers in full, episodic writes weighed.
    #[default]
    Standard,
    /// Every rule stops.
    Strict,
}

impl WritePolicy {
    /// The policy of this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "open" => Some(Self::Open),
            "standard" => Some(Self::Standard),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    const fn strictness(self) -> Strictness {
        match self {
            Self::Open => Strictness::Open,
            Self::Standard => Strictness::Standard,
            Self::Strict => Strictness::Strict,
        }
    }
}

/// What the command line says of how writes are governed.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "as for Flags")]
pub struct GovernanceFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<WritePolicy>,
}

impl GovernanceFlags {
    pub(super) const fn is_empty(&self) -> bool {
        self.policy.is_none()
    }
}

impl Default for Governance {
    fn default() -> Self {
        let engine = tabellion_engine::Governance::default();
        let secs = |period: Period| period.as_micros() / 1_000_000;
        Self {
            policy: WritePolicy::default(),
            writes_per_minute: engine.rates,
            session_budget: engine.budget,
            deferrals_max: engine.deferrals_max,
            refusals_max: engine.refusals_max,
            refusals_days: secs(engine.refusals_kept) / 86_400,
            sync_wait_seconds: secs(engine.sync_wait),
            knowledge: PathBuf::new(),
            reverify_hours: engine.reverify_every.map_or(0, |every| secs(every) / 3_600),
            official_sources: engine.official_sources,
            webhook_url: String::new(),
            gates: Vec::new(),
            judge: JudgeModels::default(),
        }
    }
}

impl Governance {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let least_one = [
            ("writes_per_minute", self.writes_per_minute.iter().all(|rate| *rate > 0)),
            ("session_budget", self.session_budget > 0),
            ("sync_wait_seconds", self.sync_wait_seconds > 0),
        ];
        if let Some((name, _)) = least_one.into_iter().find(|(_, is_fine)| !is_fine) {
            return Err(ConfigError::NoRoom("governance", name));
        }
        let is_address = ["http://", "https://"].iter().any(|scheme| self.webhook_url.starts_with(scheme));
        if !is_address && !self.webhook_url.is_empty() {
            return Err(ConfigError::Webhook);
        }
        advisers::check(&self.gates, &self.judge)
    }

    /// Who outside this process is asked about writes, over connections on this runtime. Contacts nobody.
    ///
    /// # Errors
    /// When one of them could not be asked as configured.
    pub fn advisers(&self, judge_key: Option<String>, runtime: &Handle) -> Result<Advisers, ConfigError> {
        advisers::open(&self.gates, &self.judge, judge_key, runtime)
    }

    /// The facts that writes are held against, if a file of them is named. Blocking.
    ///
    /// # Errors
    /// When it cannot be read, is too large, or holds something else.
    pub fn facts(&self) -> Result<Option<Arc<Knowledge>>, ConfigError> {
        if self.knowledge.as_os_str().is_empty() {
            return Ok(None);
        }
        let wrong = |why: String| ConfigError::Knowledge(self.knowledge.clone(), why);
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&self.knowledge).map_err(|error| wrong(error.to_string()))?;
        file.take(KNOWLEDGE_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| wrong(error.to_string()))?;
        if bytes.len() as u64 > KNOWLEDGE_BYTES_MAX {
            return Err(wrong(format!("larger than {KNOWLEDGE_BYTES_MAX} bytes")));
        }
        let name = self.knowledge.file_stem().unwrap_or_default().to_string_lossy();
        Knowledge::read(&name, &bytes)
            .map(|base| Some(Arc::new(base)))
            .map_err(|error| wrong(error.to_string()))
    }

    /// What the engine is opened with; the facts are read apart, because that takes a while.
    #[must_use]
    pub(super) fn engine(&self) -> tabellion_engine::Governance {
        tabellion_engine::Governance {
            calibration: tabellion_engine::Calibration::default(),
            strictness: self.policy.strictness(),
            rates: self.writes_per_minute,
            budget: self.session_budget,
            deferrals_max: self.deferrals_max,
            refusals_max: self.refusals_max,
            refusals_kept: Period::from_days(self.refusals_days),
            sync_wait: Period::from_secs(self.sync_wait_seconds),
            knowledge: None,
            reverify_every: (self.reverify_hours > 0)
                .then(|| Period::from_secs(self.reverify_hours.saturating_mul(3_600))),
            official_sources: self.official_sources.clone(),
        }
    }
}
