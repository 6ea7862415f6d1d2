//! Every walk that is answered is noted once, by its best path: what an agent really used.

use crate::Call;
use crate::tenant::Tenant;
use tabellion_core::log::Lsn;
use tabellion_core::view::{Node, Row};

/// A path that was walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Its nodes, one more than relations.
    pub(crate) nodes: Vec<Node>,
    /// Its relations.
    pub(crate) rows: Vec<Row>,
    /// The position at which it was walked.
    pub(crate) lsn: Lsn,
}

/// Notes the best path of an answered walk. What it says of is not logged.
pub(crate) fn note_walk(tenant: &Tenant, call: &Call, walk: &Walk) {
    tracing::trace!(
        tenant = %tenant.shared.tenant,
        agent = %call.caller.agent(),
        nodes = walk.nodes.len(),
        relations = walk.rows.len(),
        lsn = walk.lsn.get(),
        "memory.walk"
    );
}
