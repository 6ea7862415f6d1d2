//! Whether a relation lies where an auditor walks (CAL-25).

use super::super::{Probing, Profile, mean};
use super::{Kind, Kinds, Link, Links, Node, Proposed, Spreading, around};
use std::collections::{BTreeSet, HashMap};

/// Looks at links, at most, around a walk; half as many around each end of the relation.
const VISITS_AROUND_WALK: usize = 128;
const VISITS_AROUND_END: usize = 64;

/// A path that an auditor walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Where it started.
    pub start: Node,
    /// Its hops: the type, and where each led.
    pub hops: Vec<(Kind, Node)>,
}

impl Walk {
    fn nodes(&self) -> impl Iterator<Item = Node> {
        std::iter::once(self.start).chain(self.hops.iter().map(|(_, node)| *node))
    }
}

/// What a walk says of a relation: how many of its ends that were there lie within two hops of the walk, over types that go
/// with it. A walk from which none of them is near by any type says nothing.
#[must_use]
pub fn reach<L: Links>(links: &L, kinds: &Kinds<'_>, relation: &Proposed, walk: &Walk) -> Probing {
    match kinds.profile() {
        Profile::Ref => heard(f64::from(u8::from(joins(kinds, relation, walk)))),
        Profile::Ship => {
            let mut fitting = Fitting { kinds, relation, known: HashMap::default() };
            let near = Near::walk(links, &mut fitting, walk);
            let ends: Vec<Option<bool>> =
                ends(relation).map(|end| near.end(links, &mut fitting, end)).collect();
            if ends.iter().all(Option::is_none) {
                return Probing::Silent;
            }
            let fits = |end: &Option<bool>| if *end == Some(true) { 1.0 } else { 0.0 };
            heard(mean(ends.iter().map(fits)).unwrap_or(0.0))
        }
    }
}

const fn heard(agreement: f64) -> Probing {
    Probing::Valid { agreement, informative: true }
}

/// Its ends that were there before.
fn ends(relation: &Proposed) -> impl Iterator<Item = Node> {
    let again = relation.to.filter(|to| relation.from != Some(*to));
    [relation.from, again].into_iter().flatten()
}

/// As published: it starts or ends where the walk does, and goes with the hop there.
fn joins(kinds: &Kinds<'_>, relation: &Proposed, walk: &Walk) -> bool {
    let first = walk.hops.first().map(|(kind, _)| (walk.start, *kind));
    let last = walk.hops.last().map(|(kind, node)| (*node, *kind));
    let joins =
        |(node, kind): (Node, Kind)| ends(relation).any(|end| end == node) && goes(kinds, relation, kind);
    [first, last].into_iter().flatten().any(joins)
}

fn goes(kinds: &Kinds<'_>, relation: &Proposed, kind: Kind) -> bool {
    kinds.leave_together(relation.kind, kind) || kinds.come_together(relation.kind, kind)
}

/// Which types go with a relation: each is asked about once.
struct Fitting<'a> {
    kinds: &'a Kinds<'a>,
    relation: &'a Proposed,
    known: HashMap<Kind, bool, Spreading>,
}

impl Fitting<'_> {
    fn goes(&mut self, kind: Kind) -> bool {
        *self.known.entry(kind).or_insert_with(|| goes(self.kinds, self.relation, kind))
    }
}

/// The nodes on a walk and one hop from it, and whether a type leads there that goes with the relation. Two hops lead from a
/// walk to an end where one from each meets.
struct Near(HashMap<Node, bool, Spreading>);

impl Near {
    fn walk<L: Links>(links: &L, fitting: &mut Fitting<'_>, walk: &Walk) -> Self {
        let nodes: BTreeSet<Node> = walk.nodes().take(VISITS_AROUND_WALK).collect();
        let each = VISITS_AROUND_WALK / nodes.len().max(1);
        let mut near: HashMap<Node, bool, Spreading> = nodes.iter().map(|node| (*node, true)).collect();
        for link in nodes.iter().flat_map(|node| around(links, *node).take(each)) {
            *near.entry(link.other).or_default() |= fitting.goes(link.kind);
        }
        Self(near)
    }

    /// Whether an end is near over types that go with the relation; none if it is not near at all.
    fn end<L: Links>(&self, links: &L, fitting: &mut Fitting<'_>, end: Node) -> Option<bool> {
        let here = self.0.get(&end).copied();
        let over = |link: Link| Some(*self.0.get(&link.other)? && fitting.goes(link.kind));
        let there = around(links, end).take(VISITS_AROUND_END).filter_map(over);
        // Near over any type is `Some(false)`, which comes before `Some(true)`.
        there.map(Some).chain([here]).max().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::graph::tests::Graph;
    use crate::trust::graph::{Matrices, Synonyms};

    /// Types 0 and 1 meet at nodes 100 on, 2 and 3 at others. A line 0-1-2-3-4-5 of type 0, and 2-6-7 of type 2.
    fn world() -> Graph {
        let mut relations = vec![(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4), (4, 0, 5), (2, 2, 6), (6, 2, 7)];
        for node in 100..140 {
            let first = if node < 120 { 0 } else { 2 };
            relations.extend([(node, first, 200 + node), (node, first + 1, 200 + node)]);
        }
        Graph::of(400, &relations)
    }

    fn found(profile: Profile, from: Option<Node>, kind: Kind, to: Option<Node>) -> Probing {
        let graph = world();
        let (matrices, none) = (Matrices::of(&graph), Synonyms::default());
        let kinds = Kinds::new(profile, 400, &matrices, matrices.thresholds(profile, 400), &none);
        let walk = Walk { start: 0, hops: vec![(0, 1), (0, 2)] };
        reach(&graph, &kinds, &Proposed { from, kind: Some(kind), to }, &walk)
    }

    /// CAL-25: ends within two hops, over types that go with the relation.
    #[test]
    fn near_ends_agree() {
        let check =
            |from, kind, to, expected| assert_eq!(found(Profile::Ship, from, kind, to), heard(expected));
        check(Some(1), 0, Some(2), 1.0);
        check(Some(3), 1, Some(4), 1.0);
        check(Some(3), 0, Some(5), 0.5);
        check(Some(3), 0, None, 1.0);
        // Near, but over types that do not go with it.
        check(Some(7), 0, None, 0.0);
        check(Some(6), 0, None, 0.0);
        check(Some(7), 3, None, 1.0);
        check(Some(7), 0, Some(4), 0.5);
    }

    /// CAL-25: what is near by no type is not spoken of.
    #[test]
    fn far_walks_are_silent() {
        assert_eq!(found(Profile::Ship, Some(5), 0, Some(100)), Probing::Silent);
        assert_eq!(found(Profile::Ship, None, 0, None), Probing::Silent);
    }

    /// CAL-25: as published, it has to join an end of the walk.
    #[test]
    fn as_published_it_joins_an_end() {
        let check =
            |from, kind, expected| assert_eq!(found(Profile::Ref, Some(from), kind, None), heard(expected));
        check(2, 0, 1.0);
        check(0, 0, 1.0);
        check(1, 0, 0.0);
        check(2, 2, 0.0);
    }
}
