//! A walk by its best path: what an agent really used.

use tabellion_core::view::{Node, Row};

/// A path that was walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Its nodes, one more than relations.
    pub(crate) nodes: Vec<Node>,
    /// Its relations.
    pub(crate) rows: Vec<Row>,
}
