//! What an export and a restore tell when they are done.

use tabellion_core::time::Timestamp;

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportReport {
    /// Tenants in it.
    pub tenants: u64,
    /// Entries in it.
    pub entries: u64,
    /// Writes in it that wait to be committed, or were refused.
    pub kept: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What a restore wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreReport {
    /// Tenants restored.
    pub tenants: u64,
    /// Entries restored.
    pub entries: u64,
    /// Writes restored that wait to be committed, or were refused.
    pub kept: u64,
    /// When the newest entry was made: what was revoked later is valid again.
    pub newest: Timestamp,
}
