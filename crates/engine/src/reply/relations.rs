//! What walks along relations are asked for and answer.

use super::TrustBand;
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::view::Direction;

/// What a walk is asked for.
#[derive(Debug, Clone, Default)]
pub struct PathsQuery {
    /// The node where it begins: a name, or the id of an item.
    pub from: Option<String>,
    /// The node where it ends; anywhere, if not given.
    pub to: Option<String>,
    /// Only along these types; any, if none is given.
    pub types: Vec<String>,
    /// `out`, `in` or `both`.
    pub direction: Option<String>,
    /// At most this many relations in a path.
    pub depth: Option<u64>,
    /// At most this many paths.
    pub limit: Option<u64>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// As it stood at this time or token.
    pub as_of: Option<String>,
    /// Not before the views hold this token's position.
    pub min_token: Option<String>,
    /// The piece of work that it belongs to, where the call names none.
    pub trace_id: Option<String>,
}

/// One relation of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReply {
    /// The relation's item.
    pub id: ItemId,
    /// Its version.
    pub version: VersionId,
    /// Its type.
    pub kind: String,
    /// `Out` from subject to object, `In` the other way.
    pub direction: Direction,
    /// How far it is trusted.
    pub trust: TrustBand,
}

/// A path: one node more than relations.
#[derive(Debug, Clone, PartialEq)]
pub struct PathReply {
    /// The product of what its relations are trusted with.
    pub strength: f64,
    /// The nodes, as its relations write them.
    pub nodes: Vec<String>,
    /// What leads from each to the next.
    pub relations: Vec<StepReply>,
}

/// The answer to a walk.
#[derive(Debug, Clone, PartialEq)]
pub struct PathsReply {
    /// Strongest first; of equals, the one with the newest relation.
    pub paths: Vec<PathReply>,
    /// Whether the walk stopped early: then there may be better ones.
    pub truncated: bool,
    /// Where in the log, sealed for the caller.
    pub token: String,
}
