//! What an engine is opened with.

use crate::ports;
use std::path::PathBuf;
use std::sync::Arc;
use tabellion_core::seal::Secret;

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

/// What an engine is opened with.
pub struct Options {
    /// The data directory; none keeps everything in memory.
    pub data: Option<PathBuf>,
    /// The master key; none takes it from the data directory, where the first start puts it.
    pub master_key: Option<Secret>,
    /// The admin key of the first start; none makes one.
    pub admin_key: Option<String>,
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
}
