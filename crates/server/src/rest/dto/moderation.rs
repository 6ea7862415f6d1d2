//! Bodies of what is done about agents and items: stopping, taking back, quarantine; and who contributed what.

use super::words::*;
use super::{ChangedBody, NamedBody};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why an agent is stopped, or may go on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Why)]
pub(crate) struct WhyBody {
    /// Why.
    #[schema(value_type = ReasonText)]
    pub(crate) reason: String,
}

/// Why an agent may write again, and for whom.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Resume)]
pub(crate) struct ResumeBody {
    /// Why.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) reason: Option<String>,
    /// Only for this user, by id or name; for everybody unless given.
    #[schema(value_type = Option<ReferenceText>)]
    pub(crate) user: Option<String>,
}

/// What of an agent's writes is taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Revert)]
pub(crate) struct RevertBody {
    /// What was written from then on.
    #[schema(value_type = TimeGivenText)]
    pub(crate) since: String,
    /// What was written before then; all that was written since unless given.
    #[schema(value_type = Option<TimeGivenText>)]
    pub(crate) until: Option<String>,
    /// Why.
    #[schema(value_type = ReasonText)]
    pub(crate) reason: String,
    /// Whether only to say what would be taken back; no unless given.
    pub(crate) dry_run: Option<bool>,
    /// Only what it wrote for this user, by id or name; for everybody unless given.
    #[schema(value_type = Option<ReferenceText>)]
    pub(crate) user: Option<String>,
    /// Whether what the agent wrote was found false, which counts against it for the users concerned. Unless given: for the user who
    /// is named, and for nobody if none is.
    pub(crate) found_false: Option<bool>,
}

/// An item that reverting would take back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevertedItem)]
pub(crate) struct RevertedItemBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// The user who contributed it.
    pub(crate) user: NamedBody,
    /// The agent that wrote it.
    #[schema(required)]
    pub(crate) agent: Option<NamedBody>,
    /// What it says, shortened; `null` if a policy hides it.
    #[schema(required)]
    pub(crate) text: Option<String>,
    /// Whether it is there because it derives from what the agent wrote.
    pub(crate) derived: bool,
}

/// Who contributed an item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Contributor)]
pub(crate) struct ContributorBody {
    /// The user.
    pub(crate) user: NamedBody,
    /// The agent that wrote it.
    #[schema(required)]
    pub(crate) agent: Option<NamedBody>,
}

/// Who put an item under quarantine, when and why.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Quarantine)]
pub(crate) struct QuarantineBody {
    /// The user; `null` if the server did by itself.
    #[schema(required)]
    pub(crate) by: Option<NamedBody>,
    /// Since when.
    #[schema(value_type = TimeText)]
    pub(crate) since: String,
    /// Why.
    #[schema(required)]
    pub(crate) reason: Option<String>,
}

/// An item that was left as it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Skipped)]
pub(crate) struct SkippedBody {
    /// The item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Why, for programs.
    #[schema(value_type = String)]
    pub(crate) code: &'static str,
    /// Why, for people.
    pub(crate) message: String,
}

/// Private writes of an agent for a user, which a revert by somebody else leaves.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeftPrivate)]
pub(crate) struct LeftPrivateBody {
    /// The user.
    pub(crate) user: NamedBody,
    /// How many hold.
    pub(crate) count: usize,
}

/// What was, or would be, taken back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reverted)]
pub(crate) struct RevertedBody {
    /// Items that the agent wrote in the period.
    #[schema(value_type = Vec<ItemIdText>)]
    pub(crate) written: Vec<String>,
    /// Items that derive from those.
    #[schema(value_type = Vec<ItemIdText>)]
    pub(crate) derived: Vec<String>,
    /// How many were retracted.
    pub(crate) retracted: usize,
    /// How many went back to a version that is neither the agent's nor derived from what it wrote.
    pub(crate) rolled_back: usize,
    /// Those that were left as they are, and why; the same request again goes on with them.
    pub(crate) skipped: Vec<SkippedBody>,
    /// The oldest 500 of them with their texts and users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) items: Vec<RevertedItemBody>,
    /// How many held writes of the agent were ended, or would be.
    pub(crate) held: usize,
    /// How many queued writes of the agent were ended, or would be.
    pub(crate) queued: usize,
    /// How many items that rest on them were flagged (`source_withdrawn`), as far as the caller may see them.
    pub(crate) flagged: usize,
    /// For a moderator: what the agent wrote then for the private memory of others and still holds. Only they take it back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) private: Vec<LeftPrivateBody>,
    /// Whether nothing was done.
    pub(crate) dry_run: bool,
}

/// The answer to quarantine and release.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Quarantined)]
pub(crate) struct QuarantinedBody {
    /// What was done.
    #[serde(flatten)]
    pub(crate) changed: ChangedBody,
    /// The items that derive from it and should be looked at again.
    #[schema(value_type = Vec<ItemIdText>)]
    pub(crate) dependents: Vec<String>,
}
