//! How a relation fits its ends (CAL-19): whether its type goes with what they have already.

use super::super::{NEUTRAL, Profile, mean};
use super::{Counts, Kind, Kinds, Links, Node, Proposed, VISITS_MAX};
use std::collections::BTreeSet;

/// What keeps a division from failing at a lonely node.
const EPSILON: f64 = 1e-9;

/// The share of what leaves its start, and of what comes to its end, that goes with it; the mean of the sides that have
/// anything, and a half where neither has. As published, its start alone, by neighbours rather than relations.
#[must_use]
pub fn local<L: Links>(links: &L, kinds: &Kinds<'_>, relation: &Proposed) -> f64 {
    let matrices = kinds.matrices();
    let leaving = relation.from.and_then(|from| matrices.out_of(from));
    let goes_out = |other| kinds.leave_together(relation.kind, other);
    match kinds.profile() {
        Profile::Ref => {
            let fitting = leaving.map_or(0, |counts| fitting(counts, &goes_out));
            let neighbours = relation.from.map_or(0, |from| neighbours(links, from));
            (fitting as f64 / (neighbours as f64 + EPSILON)).min(1.0)
        }
        Profile::Ship => {
            let coming = relation.to.and_then(|to| matrices.into_it(to));
            let goes_in = |other| kinds.come_together(relation.kind, other);
            let sides = [
                leaving.and_then(|counts| share(counts, &goes_out)),
                coming.and_then(|c| share(c, &goes_in)),
            ];
            mean(sides.into_iter().flatten()).unwrap_or(NEUTRAL)
        }
    }
}

fn fitting(counts: &Counts, goes: &dyn Fn(Kind) -> bool) -> u64 {
    counts.iter().filter(|(kind, _)| goes(**kind)).map(|(_, count)| u64::from(*count)).sum()
}

fn share(counts: &Counts, goes: &dyn Fn(Kind) -> bool) -> Option<f64> {
    let all: u64 = counts.values().map(|count| u64::from(*count)).sum();
    (all > 0).then(|| fitting(counts, goes) as f64 / all as f64)
}

fn neighbours<L: Links>(links: &L, node: Node) -> usize {
    links.out(node).take(VISITS_MAX).map(|link| link.other).collect::<BTreeSet<Node>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::graph::tests::Graph;
    use crate::trust::graph::{Matrices, Synonyms};

    /// Nodes 0..40 have types 0 and 1, nodes 40..80 have 2 and 3; node 90 has three of 0 and one of 2, the latter to 150.
    fn world() -> Graph {
        let mut relations = Vec::new();
        for node in 0..80 {
            let first = if node < 40 { 0 } else { 2 };
            relations.push((node, first, 100 + node % 40));
            relations.push((node, first + 1, 200 + node % 40));
        }
        relations.extend([(90, 0, 150), (90, 0, 151), (90, 0, 151), (90, 2, 152)]);
        Graph::of(300, &relations)
    }

    fn found(profile: Profile, from: Option<Node>, kind: Kind, to: Option<Node>) -> f64 {
        let graph = world();
        let (matrices, none) = (Matrices::of(&graph), Synonyms::default());
        let kinds = Kinds::new(profile, 300, &matrices, matrices.thresholds(profile, 300), &none);
        local(&graph, &kinds, &Proposed { from, kind: Some(kind), to })
    }

    /// CAL-19: each side that has anything counts the same, and relations count, not neighbours.
    #[test]
    fn sides_that_exist_count() {
        let check = |from, kind, to, expected: f64| {
            let found = found(Profile::Ship, from, kind, to);
            assert!((found - expected).abs() < 1e-9, "{from:?} {kind} {to:?}: {found}");
        };
        check(Some(3), 0, None, 1.0);
        check(Some(3), 2, None, 0.0);
        check(Some(90), 1, None, 0.75);
        check(None, 0, None, 0.5);
        // A node that is known but has nothing on this side is no side.
        check(Some(250), 0, None, 0.5);
        check(Some(90), 1, Some(250), 0.75);
        // Nothing but 1 and 3 comes to 205, and 1 never came to where 0 does.
        check(Some(3), 0, Some(205), 0.5);
        check(None, 1, Some(205), 1.0);
    }

    /// CAL-19, 45 (f): as published a new node has nothing.
    #[test]
    fn as_published_a_new_node_has_nothing() {
        assert_eq!(found(Profile::Ref, None, 0, None), 0.0);
        assert!(found(Profile::Ref, Some(3), 1, None) > 0.49);
    }
}
