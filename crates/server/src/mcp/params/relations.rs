//! What do the tools of graph memory take?

use super::{Evidence, Layer, Tier};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Relations to remember.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct WriteRelations {
    /// The relations, each complete on its own.
    #[schemars(with = "Vec<Relation>", length(min = 1, max = 64))]
    pub(in crate::mcp) relations: Vec<Value>,
}

/// One relation: who or what is tied to whom or what, and how.
// Only its schema is used: `core::gate::read_relation` reads the arguments.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
struct Relation {
    /// Where it begins: a name, or the id of an item (itm_…).
    #[schemars(length(min = 1, max = 256))]
    subject: String,
    /// Its type, a verb such as works_at or depends_on. Use the same word for the same thing.
    #[schemars(length(min = 1, max = 64))]
    predicate: String,
    /// Where it leads: a name, or the id of an item (itm_…).
    #[schemars(length(min = 1, max = 256))]
    object: String,
    /// The relation as a sentence. Default: subject, predicate and object.
    #[schemars(length(min = 1, max = 65536))]
    text: Option<String>,
    /// Which memory: session, episodic (default), semantic or procedural. semantic and procedural need evidence.
    layer: Option<Layer>,
    /// Who may see it. auto (default): private unless a policy shares it.
    tier: Option<Tier>,
    /// Where it belongs, e.g. a project. Default: default.
    #[schemars(regex(pattern = r"^[a-z0-9_.-]{1,64}$"))]
    namespace: Option<String>,
    /// How sure you are, from 0 to 1. Default: 0.5.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// What it rests on.
    #[schemars(length(max = 32))]
    evidence: Option<Vec<Evidence>>,
    /// Names or ids of the resources you consulted for it.
    #[schemars(length(max = 32))]
    resources: Option<Vec<String>>,
    /// Ids of the versions it was concluded from.
    #[schemars(length(max = 32), inner(regex(pattern = r"^ver_[a-z2-7]{26}$")))]
    derived_from: Option<Vec<String>>,
    /// The trace that ties this to what you read before.
    #[schemars(length(min = 1, max = 128))]
    trace_id: Option<String>,
    /// The item or version that this relation replaces because it no longer holds.
    #[schemars(regex(pattern = r"^(itm|ver)_[a-z2-7]{26}$"))]
    supersedes: Option<String>,
}

/// Where to walk.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct FindPaths {
    /// The node where the walk begins: a name, capitals or not, or the id of an item (itm_…).
    #[schemars(length(min = 1, max = 256))]
    pub(in crate::mcp) from: String,
    /// The node where it ends. Default: anywhere.
    #[schemars(length(min = 1, max = 256))]
    pub(in crate::mcp) to: Option<String>,
    /// Only along these types. Default: any.
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    pub(in crate::mcp) types: Option<Vec<String>>,
    /// out (default): from subject to object. in: from object to subject. both: either way.
    #[schemars(with = "Option<Direction>")]
    pub(in crate::mcp) direction: Option<String>,
    /// At most this many relations in a path. Default: 3.
    #[schemars(range(min = 1, max = 8))]
    pub(in crate::mcp) depth: Option<u64>,
    /// At most this many paths. Default: 5.
    #[schemars(range(min = 1, max = 64))]
    pub(in crate::mcp) limit: Option<u64>,
    /// Only this namespace.
    pub(in crate::mcp) namespace: Option<String>,
    /// Walk the memory as it stood then: a time (RFC 3339) or a token.
    pub(in crate::mcp) as_of: Option<String>,
    /// The `token` of your write, to be sure that this walk sees it.
    pub(in crate::mcp) min_token: Option<String>,
    /// A name for the piece of work that this belongs to. Give the same to what you write from it.
    pub(in crate::mcp) trace_id: Option<String>,
}

/// Which way.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
enum Direction {
    Out,
    In,
    Both,
}
