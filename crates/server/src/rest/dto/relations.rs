//! Bodies of relations and of walks along them.

use super::words::*;
use super::{BatchOutcome, BatchStatusBody};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{Array, ArrayBuilder};

/// The schema of one relation; made of that of a write, beside which it is listed.
pub(crate) const RELATION_SCHEMA: &str = "Relation";

/// Relations to remember.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Relations)]
pub(crate) struct RelationsBody {
    /// 1 to 64; each becomes an item of its own.
    #[schema(schema_with = relations)]
    pub(crate) relations: Vec<Value>,
}

fn relations() -> Array {
    let one = Ref::from_schema_name(RELATION_SCHEMA);
    ArrayBuilder::new().items(one).min_items(Some(1)).max_items(Some(64)).build()
}

/// What became of the relations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RelationsWritten)]
pub(crate) struct RelatedBody {
    /// One for each, in order: what a write answers, or `rejected` and why.
    #[schema(value_type = Vec<BatchStatusBody>)]
    pub(crate) results: Vec<BatchOutcome>,
}

/// Where to walk.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Paths)]
pub(crate) struct PathsBody {
    /// The node where the walk begins: a name, or the id of an item.
    #[schema(value_type = NodeText)]
    pub(crate) from: String,
    /// The node where it ends; anywhere unless given.
    #[schema(value_type = Option<NodeText>)]
    pub(crate) to: Option<String>,
    /// Only along these types; any unless given.
    #[schema(value_type = Option<Vec<TagText>>, max_items = 32)]
    pub(crate) types: Option<Vec<String>>,
    /// Which way relations are walked; `out`, from subject to object, unless given.
    #[schema(value_type = Option<DirectionWord>)]
    pub(crate) direction: Option<String>,
    /// At most this many relations in a path; 3 unless given.
    #[schema(minimum = 1, maximum = 8)]
    pub(crate) depth: Option<u64>,
    /// At most this many paths; 5 unless given.
    #[schema(minimum = 1, maximum = 64)]
    pub(crate) limit: Option<u64>,
    /// Only relations of this namespace.
    pub(crate) namespace: Option<String>,
    /// Relations as they stood at this time, or at this token.
    #[schema(value_type = Option<AsOfText>)]
    pub(crate) as_of: Option<String>,
    /// Not before the views hold this token's position.
    #[schema(value_type = Option<TokenText>)]
    pub(crate) min_token: Option<String>,
    /// The piece of work that this belongs to: what is written with the same `trace_id` inherits where the paths come from.
    #[schema(max_length = 256)]
    pub(crate) trace_id: Option<String>,
}

/// The paths that a walk found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PathsFound)]
pub(crate) struct PathsFoundBody {
    /// Strongest first; of equals, the one with the newest relation.
    pub(crate) paths: Vec<PathBody>,
    /// Whether the walk stopped at a limit of its own: then there may be better paths.
    pub(crate) truncated: bool,
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// A path, in which no node comes twice.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Path)]
pub(crate) struct PathBody {
    /// The product of how far its relations are trusted.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) strength: f64,
    /// Its nodes, the first of them where it begins.
    pub(crate) nodes: Vec<String>,
    /// What leads from each node to the next.
    pub(crate) relations: Vec<StepBody>,
}

/// One relation of a path.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PathRelation)]
pub(crate) struct StepBody {
    /// The relation's item.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// Its version.
    #[schema(value_type = VersionIdText)]
    pub(crate) version: String,
    /// Its type: words in lower case, joined by `_`.
    pub(crate) r#type: String,
    /// `out` if it is walked from subject to object, `in` if the other way.
    #[schema(value_type = DirectionWord)]
    pub(crate) direction: &'static str,
    /// How far it is trusted.
    #[schema(value_type = String)]
    pub(crate) trust: &'static str,
}
