//! Bodies of searches and of what came of them.

use super::ItemBody;
use super::words::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to search for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Search)]
pub(crate) struct SearchBody {
    /// Words: at most 8,192 bytes, with a visible character and without NUL. A run of words in double quotes is looked for as it stands. Needed
    /// unless `vector` is given.
    #[schema(min_length = 1, max_length = 8192, pattern = r"\S")]
    pub(crate) query: Option<String>,
    /// What is meant, as a vector of the server's model; without it the server makes one of the words.
    #[schema(max_items = 8192)]
    pub(crate) vector: Option<Vec<f32>>,
    /// At most this many results; 10 unless given.
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) k: Option<u64>,
    /// Only this tier.
    #[schema(value_type = Option<TierWord>)]
    pub(crate) tier: Option<String>,
    /// At most this many of one's own items, and beside them `k_cross` of what others share; in place of `k` and `tier`.
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) k_user: Option<u64>,
    /// At most this many of what others share; 10 unless given.
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) k_cross: Option<u64>,
    /// The piece of work that this belongs to: what is written with the same `trace_id` inherits where the results come from.
    #[schema(max_length = 256)]
    pub(crate) trace_id: Option<String>,
    /// How to search; `hybrid` unless given.
    #[schema(value_type = Option<ModeWord>)]
    pub(crate) mode: Option<String>,
    /// Only these layers.
    #[schema(value_type = Option<Vec<LayerWord>>)]
    pub(crate) layers: Option<Vec<String>>,
    /// Only this namespace.
    pub(crate) namespace: Option<String>,
    /// Content as it stood at this time, or at this token.
    #[schema(value_type = Option<AsOfText>)]
    pub(crate) as_of: Option<String>,
    /// Not before the views hold this token's position.
    #[schema(value_type = Option<TokenText>)]
    pub(crate) min_token: Option<String>,
    /// Whether every vector that the caller may see is compared, whatever it costs. Few are always compared, many only
    /// if this is asked for.
    pub(crate) exact: Option<bool>,
    /// What the search leaves out, to see what it brings: `trust` in any mode, the rest in a hybrid search.
    #[schema(value_type = Option<Vec<KnobWord>>, max_items = 8)]
    pub(crate) without: Option<Vec<String>>,
    /// How much results should differ from each other: 0, the default, not at all; 1, at any price.
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) diversity: Option<f64>,
    /// Whether it is work that may say something of what others share: later writes to what is shared may be held against it. What
    /// is searched in a declared round is so anyway.
    pub(crate) shared_work: Option<bool>,
    /// Search as a moderator, for this reason: all that is shared, whatever its edges, and nothing private. Needs `moderate`, by a
    /// key without an agent.
    #[schema(value_type = Option<ReasonText>)]
    pub(crate) moderate: Option<String>,
}

/// What a search found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchResults)]
pub(crate) struct FoundBody {
    /// Best first.
    pub(crate) results: Vec<ResultBody>,
    /// How it was searched.
    #[schema(value_type = String)]
    pub(crate) mode: &'static str,
    /// What its outcome is reported under.
    #[schema(value_type = SearchIdText)]
    pub(crate) search: String,
    /// Where in the log.
    #[schema(value_type = TokenText)]
    pub(crate) token: String,
}

/// An item, and how well it fits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchResult)]
pub(crate) struct ResultBody {
    /// The item.
    #[serde(flatten)]
    pub(crate) item: ItemBody,
    /// What results are ordered by.
    pub(crate) score: f64,
    /// How well it fits the query.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) relevance: f64,
}

/// What came of a search.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Outcome)]
pub(crate) struct OutcomeBody {
    /// The search, as its reply called it.
    #[schema(value_type = SearchIdText)]
    pub(crate) search: String,
    /// The items that were used, of those that it found.
    #[schema(value_type = Option<Vec<ItemIdText>>, max_items = 1000)]
    pub(crate) used: Option<Vec<String>>,
    /// Whether what they were used for succeeded; left out if that is not known.
    pub(crate) success: Option<bool>,
}

/// An outcome as it was noted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutcomeNoted)]
pub(crate) struct OutcomeNotedBody {
    /// The search.
    #[schema(value_type = SearchIdText)]
    pub(crate) search: String,
    /// How many items it had found.
    pub(crate) retrieved: u64,
    /// How many of them were used.
    pub(crate) used: u64,
    /// The share that was used.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) precision: f64,
}
