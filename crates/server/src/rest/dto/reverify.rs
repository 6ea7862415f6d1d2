//! Bodies of verifying again.

use super::words::*;
use serde::{Deserialize, Serialize};
use tabellion_engine::reply::{Flag, Reverified};
use utoipa::ToSchema;

/// Where to go on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reverify)]
pub(crate) struct ReverifyBody {
    /// Where the last answer ended; from the beginning unless given.
    #[schema(value_type = Option<TokenText>)]
    pub(crate) cursor: Option<String>,
}

/// What a round of verifying again found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reverified)]
pub(crate) struct ReverifiedBody {
    /// How many were looked at.
    pub(crate) checked: u64,
    /// How many stand.
    pub(crate) passed: u64,
    /// How many do not.
    pub(crate) failed: u64,
    /// How many rest on evidence that has grown too old.
    pub(crate) aged: u64,
    /// Those of the last two that the caller may see.
    pub(crate) flagged: Vec<FlagBody>,
    /// Where to go on; `null` at the end.
    #[schema(value_type = Option<TokenText>, required)]
    pub(crate) next: Option<String>,
}

/// Items that a person should look at.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Flags)]
pub(crate) struct FlagsBody {
    /// Newest first.
    pub(crate) flagged: Vec<FlagBody>,
}

/// An item that did not stand when it was verified again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Flag)]
pub(crate) struct FlagBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Its head.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// Its layer.
    #[schema(value_type = LayerWord)]
    pub(crate) layer: &'static str,
    /// Why.
    #[schema(value_type = RecheckWord)]
    pub(crate) finding: &'static str,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) since: String,
}

impl From<Flag> for FlagBody {
    fn from(flag: Flag) -> Self {
        Self {
            id: flag.item.to_string(),
            version: flag.version.to_string(),
            layer: flag.layer.as_str(),
            finding: flag.finding.as_str(),
            since: flag.since.to_string(),
        }
    }
}

impl From<Vec<Flag>> for FlagsBody {
    fn from(flags: Vec<Flag>) -> Self {
        Self { flagged: flags.into_iter().map(Into::into).collect() }
    }
}

impl From<Reverified> for ReverifiedBody {
    fn from(reply: Reverified) -> Self {
        Self {
            checked: reply.checked,
            passed: reply.passed,
            failed: reply.failed,
            aged: reply.aged,
            flagged: reply.flagged.into_iter().map(Into::into).collect(),
            next: reply.next,
        }
    }
}
