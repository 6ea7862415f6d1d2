//! How a relation fits the graph that it would join (CAL-17 to 25, 36, 39).
//!
//! Two things are asked of it: whether its type goes with the types around its ends, and whether the paths between its ends
//! are of types that go with it. A new node is neither good nor bad.
//!
//! The graph comes in through `Links`, without the rows that may not count for what is scored: who may see a write may see
//! every cause of its trust (CAL-41). What is proposed is not among them. Every walk here has a limit.

mod components;
mod cooccurrence;
mod depth;
mod local;
mod path;
mod reach;
mod spread;

pub use components::Components;
pub use cooccurrence::{Cooccurrence, Counts, Kinds, Matrices, Synonyms, Thresholds};
pub use depth::{Depth, depth};
pub use local::local;
pub use path::{PATHS_MAX, Path, Step, Support, path_score, paths_between, strength, support};
pub use reach::{Walk, reach};

use super::{Profile, RelationFacts};
use spread::Spreading;

/// A node, numbered densely.
pub type Node = u32;
/// A type of relations, numbered densely.
pub type Kind = u32;

/// Looks at links, at most, to find the paths between two nodes.
const VISITS_MAX: usize = 4_096;

/// One relation, as one of its ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Its type.
    pub kind: Kind,
    /// The other end.
    pub other: Node,
    /// The row that holds it, which no other relation has.
    pub row: u32,
}

/// A graph, or the part of it that may count. No answer depends on the order of the links, except where there are more than a
/// walk may look at: then the first ones count.
pub trait Links {
    /// How many nodes there are.
    fn nodes(&self) -> usize;
    /// The relations that leave a node.
    fn out(&self, node: Node) -> impl Iterator<Item = Link>;
    /// The relations that come to a node; `other` is where they start.
    fn into(&self, node: Node) -> impl Iterator<Item = Link>;
    /// All relations of a node, whichever way they go. One from a node to itself may be there twice.
    fn all(&self, node: Node) -> impl Iterator<Item = Link> {
        self.out(node).chain(self.into(node))
    }
}

/// All links of a node, whichever way they go; those from it to itself aside.
fn around<L: Links>(links: &L, node: Node) -> impl Iterator<Item = Link> {
    links.all(node).filter(move |link| link.other != node)
}

/// A relation that is proposed. A node or type that memory does not hold yet has no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposed {
    /// Where it starts, unless that is new.
    pub from: Option<Node>,
    /// Its type, unless that is new.
    pub kind: Option<Kind>,
    /// Where it ends, unless that is new.
    pub to: Option<Node>,
}

/// What relations are held against.
pub struct Scene<'a, L> {
    /// The graph.
    pub links: &'a L,
    /// Which types go together.
    pub kinds: Kinds<'a>,
    /// How far paths are followed.
    pub depth: usize,
    /// The support that a path has to give.
    pub support_min: f64,
    /// The largest component holds half of the nodes or more, so that a missing path says something.
    pub connected: bool,
}

/// What was found about one relation.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What its trust is made of.
    pub facts: RelationFacts,
    /// How far each path between its ends supports it. If it is committed, these say what is usual.
    pub supports: Vec<f64>,
}

impl<L: Links> Scene<'_, L> {
    /// How a relation fits.
    #[must_use]
    pub fn check(&self, relation: &Proposed) -> Checked {
        let supports = self.supports(relation);
        let existed = relation.from.is_some() && relation.to.is_some();
        let telling = match self.kinds.profile() {
            Profile::Ref => true,
            Profile::Ship => existed && self.connected,
        };
        let path = path_score(&supports, self.support_min, telling);
        let local = local(self.links, &self.kinds, relation);
        Checked { facts: RelationFacts { local, path, existed }, supports }
    }

    fn supports(&self, relation: &Proposed) -> Vec<f64> {
        let (Some(from), Some(to)) = (relation.from, relation.to) else {
            return Vec::new();
        };
        let paths = paths_between(self.links, from, to, self.depth);
        paths.iter().map(|path| support(&self.kinds, relation.kind, path)).collect()
    }

    /// The relation that says the same already: between the same ends, of the same type or one that means the same. What is
    /// proposed then corroborates it (CAL-39). Of several, the one with the lowest row.
    #[must_use]
    pub fn said_before(&self, relation: &Proposed) -> Option<u32> {
        self.all_said_before(relation).first().copied()
    }

    /// Every relation that says the same already, in the order of their rows.
    #[must_use]
    pub fn all_said_before(&self, relation: &Proposed) -> Vec<u32> {
        let (Some(from), Some(kind), Some(to)) = (relation.from, relation.kind, relation.to) else {
            return Vec::new();
        };
        let same = |link: &Link| link.other == to && self.kinds.same(kind, link.kind);
        let mut rows: Vec<u32> =
            self.links.out(from).take(VISITS_MAX).filter(same).map(|link| link.row).collect();
        rows.sort_unstable();
        rows
    }
}

#[cfg(test)]
mod tests;
