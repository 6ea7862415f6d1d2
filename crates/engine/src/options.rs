//! What an engine is opened with.

use crate::ports;
use std::path::PathBuf;
use std::sync::Arc;
use tabellion_core::claim::Knowledge;
use tabellion_core::gate::Strictness;
use tabellion_core::item::Layer;
use tabellion_core::seal::Secret;
use tabellion_core::time::Period;
use tabellion_core::trust::{Parts, Profile};

/// When the trail's rows of reads are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditReads {
    /// Within a second.
    #[default]
    Async,
    /// Before the reply.
    Sync,
}

/// Bounds of what the engine takes on.
#[derive(Debug, Clone, Copy)]
pub struct EngineLimits {
    /// Writes waiting for the log, a tenant.
    pub queue_max: usize,
    /// Entries in one commit.
    pub batch_max: usize,
    /// Results of a search.
    pub k_max: u64,
    /// Rows of a page.
    pub page_max: u64,
    /// Working items, a user.
    pub working_max: usize,
    /// How long `min_token` waits, in milliseconds.
    pub min_token_wait_ms: u64,
    /// How long a search waits for the vector of its query, in milliseconds.
    pub embedding_wait_ms: u64,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            queue_max: 4096,
            batch_max: 256,
            k_max: 100,
            page_max: 500,
            working_max: 10_000,
            min_token_wait_ms: 2_000,
            embedding_wait_ms: 5_000,
        }
    }
}

/// How writes are governed, unless a policy of the tenant says otherwise.
#[derive(Debug, Clone)]
pub struct Governance {
    /// The write policy.
    pub strictness: Strictness,
    /// Writes an agent may make in a minute, by layer from working to procedural.
    pub rates: [u32; 5],
    /// Writes an agent may make in a session.
    pub budget: u32,
    /// Writes of an agent that may be put off at a time.
    pub deferrals_max: u32,
    /// Refused writes kept for an author.
    pub refusals_max: u32,
    /// How long they are kept.
    pub refusals_kept: Period,
    /// How long a writer waits for a person at most.
    pub sync_wait: Period,
    /// What is known for sure outside of memory.
    pub knowledge: Option<Arc<Knowledge>>,
    /// How often everything durable is verified again; none for never.
    pub reverify_every: Option<Period>,
    /// Documents whose address begins like this are official.
    pub official_sources: Vec<String>,
    /// How writes for others are held against what is known.
    pub calibration: Calibration,
}

/// What a score does to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationMode {
    /// Nothing is scored.
    Off,
    /// Writes are scored and weighed by it; none is kept back.
    Advise,
    /// What is below the gate is kept apart until more is known.
    Gate,
}

/// How writes for others are held against what is known (CAL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// What a score does.
    pub mode: CalibrationMode,
    /// Which formulas; the published ones are for comparison alone.
    pub profile: Profile,
    /// Which parts of it, to measure what each is worth.
    pub parts: Parts,
    /// Writes of an agent that may be kept apart at a time.
    pub staged_max: u32,
}

impl Default for Calibration {
    fn default() -> Self {
        let (mode, profile) = (CalibrationMode::Gate, Profile::Ship);
        Self { mode, profile, parts: Parts::default(), staged_max: 10_000 }
    }
}

impl Governance {
    /// Writes an agent may make in a minute in a layer.
    pub(crate) fn rate(&self, layer: Layer) -> u32 {
        self.rates.get(layer as usize).copied().unwrap_or(0)
    }
}

impl Default for Governance {
    fn default() -> Self {
        Self {
            strictness: Strictness::Standard,
            rates: [6_000, 3_000, 600, 60, 20],
            budget: 2_000,
            deferrals_max: 100,
            refusals_max: 1_000,
            refusals_kept: Period::from_days(30),
            sync_wait: Period::from_secs(300),
            knowledge: None,
            reverify_every: Some(Period::from_days(1)),
            official_sources: Vec::new(),
            calibration: Calibration::default(),
        }
    }
}

/// What an engine is opened with.
pub struct Options {
    /// The data directory; none keeps everything in memory.
    pub data: Option<PathBuf>,
    /// The master key; none takes it from the data directory, where the first start puts it.
    pub master_key: Option<Secret>,
    /// The admin key of the first start; none makes one.
    pub admin_key: Option<String>,
    /// Whether a data directory that lost something is opened all the same; the log then records what it lost.
    pub accept_loss: bool,
    /// The time.
    pub clock: Arc<dyn ports::Clock>,
    /// Chance.
    pub entropy: Arc<dyn ports::Entropy>,
    /// What turns texts into vectors; none, and search goes by words alone.
    pub embedder: Option<Arc<dyn ports::Embedder>>,
    /// Bounds.
    pub limits: EngineLimits,
    /// When rows of reads are durable.
    pub audit_reads: AuditReads,
    /// How writes are governed.
    pub governance: Governance,
    /// Who outside is asked about writes.
    pub advisers: ports::Advisers,
}
