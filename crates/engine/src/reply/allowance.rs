//! How much a caller may write, and how much of it is used.

use tabellion_core::item::Layer;

/// How much a user may write through an agent. It is told to the two of them alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// Whether no rate and no budget holds for the caller.
    pub exempt: bool,
    /// Writes of the last minute, by layer.
    pub rates: Vec<(Layer, Used)>,
    /// Writes of the session that was named, if one was.
    pub session: Option<Used>,
    /// Writes of any one session at most.
    pub session_max: u32,
    /// Writes that wait for their turn.
    pub queued: Used,
}

/// How much of something is used, and how much of it there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// So much is used.
    pub used: u32,
    /// So much may be used.
    pub limit: u32,
}
