//! What is asked and answered about rounds and trust.

use tabellion_core::id::{ItemId, ReviewId};
use tabellion_core::time::Timestamp;
use tabellion_core::trust::{Band, RoundVisibility};

/// A round that is to be declared (CAL-40).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoundDraft {
    /// What it is about.
    pub goal: String,
    /// Who takes part, by name or id; an agent that declares it does anyway.
    pub agents: Vec<String>,
    /// Items that it is about.
    pub items: Vec<String>,
    /// Texts that it is about.
    pub texts: Vec<String>,
    /// Where it works; `default` where nothing is said.
    pub namespace: Option<String>,
    /// Who sees what is written in it: `all` where nothing is said, or `own`.
    pub visibility: Option<String>,
}

/// A round that was declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundReply {
    /// Its id: what is searched and written with it as `trace_id` belongs to the round.
    pub id: String,
    /// Who takes part.
    pub agents: Vec<String>,
    /// Where it works.
    pub namespace: String,
    /// Until when.
    pub expires_at: Timestamp,
    /// Who sees what is written in it.
    pub visibility: RoundVisibility,
}

/// What is asked about trust.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustQuery {
    /// Where; `default` where nothing is said.
    pub namespace: Option<String>,
    /// Of one item, or of a write that waits.
    pub item: Option<String>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrustReply {
    /// Where.
    pub namespace: String,
    /// The item, if one was asked for.
    pub item: Option<ItemTrust>,
    /// What was scored there, for those who audit.
    pub spaces: Vec<SpaceTrust>,
    /// Writes that are kept apart there and that the caller may see.
    pub staged: Vec<StagedWriteTrust>,
}

/// How far an item can be trusted, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemTrust {
    /// The item.
    pub id: ItemId,
    /// As everyone sees it.
    pub trust: Band,
    /// `unscored`, `provisional`, `scored`, `demoted` or `staged`.
    pub status: &'static str,
    /// In words.
    pub reasons: Vec<String>,
    /// In numbers, for those who audit.
    pub numbers: Option<TrustNumbers>,
}

/// What a trust is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrustNumbers {
    /// How far it is trusted today.
    pub rho: f64,
    /// What spoke for it.
    pub evidence: f64,
    /// What spoke at all.
    pub count: f64,
    /// How it was scored first.
    pub scored: f64,
    /// How little it crowds what is known.
    pub detect: f64,
    /// How little it changed what others found.
    pub align: f64,
    /// What it had to reach.
    pub threshold: f64,
    /// While it waits, how alike those are answered, with it and without it, whom it comes near.
    pub agreed: Option<f64>,
}

/// A write that is kept apart.
#[derive(Debug, Clone, PartialEq)]
pub struct StagedWriteTrust {
    /// Its review.
    pub review: ReviewId,
    /// The item that it will be.
    pub id: ItemId,
    /// As everyone who sees it sees it.
    pub trust: Band,
    /// In numbers, for those who audit.
    pub numbers: Option<TrustNumbers>,
}

/// What was scored in one space.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceTrust {
    /// `items` or `relations`.
    pub kind: &'static str,
    /// The agents whose work it is.
    pub agents: Vec<String>,
    /// Writes that were scored.
    pub rounds: u64,
    /// What a write has to reach.
    pub threshold: f64,
    /// Whether too little is known to tell.
    pub cold: bool,
    /// Commits that the threshold is made of.
    pub window: usize,
    /// How credible auditors are.
    pub auditors: Vec<AuditorTrust>,
}

/// How credible an auditor is.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditorTrust {
    /// The agent.
    pub agent: String,
    /// From 0 to 1.
    pub credibility: f64,
}
