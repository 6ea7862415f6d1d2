//! How a relation fits the paths between its ends (CAL-20, 22, 23).

use super::super::{ENOUGH, NEUTRAL, median};
use super::{Kind, Kinds, Links, Node, Spreading, VISITS_MAX, around};
use std::collections::{HashMap, VecDeque};

/// This many paths are enough.
pub const PATHS_MAX: usize = 16;
/// How much less each further hop supports.
const HOP: f64 = 0.7;
/// The supports of committed relations that say what is usual.
const SUPPORTS_MAX: usize = 512;

/// A way from one node to another, direction aside. It passes no node twice.
pub type Path = Vec<Step>;

/// One hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The row that holds the relation.
    pub row: u32,
    /// Where it leads.
    pub node: Node,
    /// Its type.
    pub kind: Kind,
}

/// The shortest paths between two nodes and those one hop longer, shortest first, none longer than `depth`; at most 16.
///
/// It looks at 2,048 links from either end; in a graph denser than that it may miss some.
#[must_use]
pub fn paths_between<L: Links>(links: &L, from: Node, to: Node, depth: usize) -> Vec<Path> {
    if from == to {
        return Vec::new();
    }
    let (mut ahead, mut back) = (Ball::around(from), Ball::around(to));
    let mut hops = 0;
    while !ahead.met && !back.met {
        hops += 1;
        if hops > depth || !Ball::grow_smaller(&mut ahead, &mut back, links, Growth::Further) {
            return Vec::new();
        }
    }
    let paths = Search::new(&Known::of(&ahead, &back, hops), from, to, hops).paths();
    if paths.len() >= PATHS_MAX || hops == depth {
        return paths;
    }
    hops += 1;
    Ball::grow_smaller(&mut ahead, &mut back, links, Growth::Last);
    Search::new(&Known::of(&ahead, &back, hops), from, to, hops).paths()
}

/// Nothing follows from the order in it.
type Distances = HashMap<Node, usize, Spreading>;

/// Whether there is a hop after this one. After the last, only what the other ball holds is on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Further,
    Last,
}

/// What lies around a node, as far as it was looked at.
struct Ball {
    distances: Distances,
    frontier: Vec<Node>,
    radius: usize,
    visits: usize,
    seen: Vec<(Node, Step)>,
    /// It reached what another ball holds.
    met: bool,
}

impl Ball {
    fn around(node: Node) -> Self {
        let distances = Distances::from_iter([(node, 0)]);
        Self { distances, frontier: vec![node], radius: 0, visits: 0, seen: Vec::new(), met: false }
    }

    /// Takes one hop on the side that has less before it, or on the other once that one has looked at enough; whether there
    /// was anything to look at.
    fn grow_smaller<L: Links>(one: &mut Self, other: &mut Self, links: &L, growth: Growth) -> bool {
        let (smaller, larger) =
            if other.frontier.len() < one.frontier.len() { (other, one) } else { (one, other) };
        let (next, still) = if smaller.is_spent() { (larger, smaller) } else { (smaller, larger) };
        if next.frontier.is_empty() || next.is_spent() {
            return false;
        }
        next.grow(links, &still.distances, growth);
        true
    }

    const fn is_spent(&self) -> bool {
        self.visits >= VISITS_MAX / 2
    }

    fn grow<L: Links>(&mut self, links: &L, others: &Distances, growth: Growth) {
        self.radius += 1;
        let mut reached = Vec::new();
        for node in std::mem::take(&mut self.frontier) {
            for link in around(links, node).take((VISITS_MAX / 2).saturating_sub(self.visits)) {
                self.visits += 1;
                if growth == Growth::Last && !others.contains_key(&link.other) {
                    continue;
                }
                self.seen.push((node, Step { row: link.row, node: link.other, kind: link.kind }));
                self.distances.entry(link.other).or_insert_with(|| {
                    self.met |= others.contains_key(&link.other);
                    reached.push(link.other);
                    self.radius
                });
            }
        }
        self.frontier = reached;
    }

    /// How far a node is, or at least is.
    fn distance(&self, node: Node) -> usize {
        self.distances.get(&node).copied().unwrap_or(self.radius + 1)
    }

    /// What was seen and can be part of a path to the other ball's node that is not longer than this.
    fn towards<'a>(&'a self, other: &'a Self, longest: usize) -> impl Iterator<Item = &'a (Node, Step)> {
        let length = |(node, step): &(Node, Step)| self.distance(*node) + 1 + other.distance(step.node);
        self.seen.iter().filter(move |hop| length(hop) <= longest)
    }
}

/// The hops that were seen from either end, both ways, by the node that they start at.
struct Known(Vec<(Node, Step)>);

impl Known {
    fn of(ahead: &Ball, back: &Ball, longest: usize) -> Self {
        let seen = ahead.towards(back, longest).chain(back.towards(ahead, longest));
        let both_ways =
            seen.flat_map(|(node, step)| [(*node, *step), (step.node, Step { node: *node, ..*step })]);
        let mut hops: Vec<(Node, Step)> = both_ways.collect();
        hops.sort_unstable();
        hops.dedup();
        Self(hops)
    }

    fn from(&self, node: Node) -> impl Iterator<Item = &Step> {
        let start = self.0.partition_point(|(start, _)| *start < node);
        self.0.iter().skip(start).take_while(move |(start, _)| *start == node).map(|(_, step)| step)
    }

    /// How far each node is from this one, up to a distance.
    fn distances(&self, node: Node, most: usize) -> Distances {
        let mut distances = Distances::from_iter([(node, 0)]);
        let mut frontier = vec![node];
        for distance in 1..=most {
            let mut reached = Vec::new();
            for step in frontier.iter().flat_map(|node| self.from(*node)) {
                distances.entry(step.node).or_insert_with(|| {
                    reached.push(step.node);
                    distance
                });
            }
            frontier = reached;
        }
        distances
    }
}

/// Goes from one node towards another, over nodes alone from which it can still be reached.
struct Search<'a> {
    known: &'a Known,
    from: Node,
    longest: usize,
    left: Distances,
    visits: usize,
    found: Vec<Path>,
}

impl<'a> Search<'a> {
    fn new(known: &'a Known, from: Node, to: Node, longest: usize) -> Self {
        let left = known.distances(to, longest);
        Self { known, from, longest, left, visits: 0, found: Vec::new() }
    }

    fn paths(mut self) -> Vec<Path> {
        let shortest = self.left.get(&self.from).copied().unwrap_or(usize::MAX);
        for length in shortest..=self.longest.min(shortest.saturating_add(1)) {
            self.extend(&mut Vec::with_capacity(length), length);
        }
        self.found
    }

    /// Every way to the goal in exactly so many further hops. It calls itself once a hop, of which there are eight at most.
    ///
    /// INVARIANT (simple paths): no node is passed twice, because a way back to one takes two hops more than the shortest
    /// path, and no path here has more than one.
    fn extend(&mut self, path: &mut Path, hops: usize) {
        let here = path.last().map_or(self.from, |step| step.node);
        let known = self.known;
        for step in known.from(here) {
            if self.found.len() >= PATHS_MAX || self.visits >= VISITS_MAX {
                return;
            }
            self.visits += 1;
            if self.left.get(&step.node).is_none_or(|left| *left >= hops) {
                continue;
            }
            path.push(*step);
            if hops == 1 {
                self.found.push(path.clone());
            } else {
                self.extend(path, hops - 1);
            }
            path.pop();
        }
    }
}

/// How far a path supports a relation between its ends: how well its types go with it, less for each hop more.
#[must_use]
pub fn support(kinds: &Kinds<'_>, kind: Option<Kind>, path: &[Step]) -> f64 {
    let Some(further) = path.len().checked_sub(1) else {
        return 0.0;
    };
    let product: f64 = path.iter().map(|step| kinds.likeness(kind, step.kind)).product();
    let hops = i32::try_from(further).unwrap_or(i32::MAX);
    product.powf(1.0 / path.len() as f64) * HOP.powi(hops)
}

/// The share of the paths that support a relation enough. Without any it is nothing where one could be expected, and a half
/// elsewhere.
#[must_use]
pub fn path_score(supports: &[f64], support_min: f64, expected: bool) -> f64 {
    let enough = supports.iter().filter(|support| **support >= support_min).count();
    match (supports.len(), expected) {
        (0, true) => 0.0,
        (0, false) => NEUTRAL,
        (all, _) => enough as f64 / all as f64,
    }
}

/// How strong a path is: the product of the trust of its relations (CAL-36).
#[must_use]
pub fn strength(trusts: impl IntoIterator<Item = f64>) -> f64 {
    trusts.into_iter().product()
}

/// Which support is usual: that of the relations that were committed lately.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Support {
    values: VecDeque<f64>,
}

impl FromIterator<f64> for Support {
    fn from_iter<I: IntoIterator<Item = f64>>(supports: I) -> Self {
        let mut all = Self::default();
        supports.into_iter().for_each(|support| all.add(support));
        all
    }
}

impl Support {
    /// A relation was committed that had a path of this support.
    pub fn add(&mut self, support: f64) {
        if self.values.len() >= SUPPORTS_MAX {
            self.values.pop_front();
        }
        self.values.push_back(support);
    }

    /// The support that a path has to give: the median, and none while little is known.
    #[must_use]
    pub fn least(&self) -> f64 {
        if self.values.len() < ENOUGH {
            return 0.0;
        }
        median(&mut self.values.iter().copied().collect::<Vec<f64>>()).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Profile;
    use crate::trust::graph::tests::Graph;
    use crate::trust::graph::{Link, Matrices, Synonyms};
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::BTreeSet;

    fn rows(graph: &Graph, from: Node, to: Node, depth: usize) -> Vec<Vec<u32>> {
        let paths = paths_between(graph, from, to, depth);
        paths.iter().map(|path| path.iter().map(|step| step.row).collect()).collect()
    }

    /// CAL-20: direction aside, shortest first, one hop longer at most, no node twice.
    #[test]
    fn paths_are_short_and_simple() {
        // Rows: 0-1-4 (0, 1), against the direction 4-2-0 (2, 3), three hops 1-3-4 (4, 5), five hops aside.
        let graph =
            Graph::of(20, &[(0, 0, 1), (1, 0, 4), (4, 1, 2), (2, 1, 0), (1, 2, 3), (3, 2, 4), (3, 0, 3)]);
        assert_eq!(rows(&graph, 0, 4, 7), [vec![0, 1], vec![3, 2], vec![0, 4, 5]]);
        assert_eq!(rows(&graph, 4, 0, 7), [vec![1, 0], vec![2, 3], vec![5, 4, 0]]);
        assert_eq!(rows(&graph, 0, 4, 2), [vec![0, 1], vec![3, 2]]);
        assert!(rows(&graph, 0, 4, 1).is_empty() && rows(&graph, 0, 9, 7).is_empty());
        assert!(rows(&graph, 0, 0, 7).is_empty() && rows(&graph, 700, 0, 7).is_empty());
    }

    /// CAL-20: relations between the same nodes are paths of their own; 16 are enough.
    #[test]
    fn parallel_relations_are_paths() {
        let graph = Graph::of(2, &[(0, 0, 1), (1, 1, 0), (0, 2, 1)]);
        assert_eq!(rows(&graph, 0, 1, 7), [[0], [1], [2]]);
        let many: Vec<(u32, u32, u32)> = (0..40).map(|kind| (0, kind, 1)).collect();
        assert_eq!(rows(&Graph::of(2, &many), 0, 1, 7).len(), PATHS_MAX);
    }

    /// CAL-20: a hub does not take the whole search: what the other end sees is found.
    #[test]
    fn a_hub_has_its_limit() {
        let mut relations: Vec<(u32, u32, u32)> = (10..20_000).map(|node| (0, 0, node)).collect();
        relations.extend([(0, 1, 5), (5, 1, 1)]);
        let last = relations.len() as u32;
        assert_eq!(rows(&Graph::of(20_000, &relations), 0, 1, 8), [[last - 2, last - 1]]);
    }

    /// Counts the links that are looked at.
    struct Counted(Graph, Cell<usize>);

    impl Links for Counted {
        fn nodes(&self) -> usize {
            self.0.nodes()
        }

        fn out(&self, node: Node) -> impl Iterator<Item = Link> {
            self.0.out(node).inspect(|_| self.1.set(self.1.get() + 1))
        }

        fn into(&self, node: Node) -> impl Iterator<Item = Link> {
            Links::into(&self.0, node).inspect(|_| self.1.set(self.1.get() + 1))
        }
    }

    /// CAL-20: two hubs without a path between them are not looked at whole.
    #[test]
    fn looks_have_their_limit() {
        let relations: Vec<(u32, u32, u32)> = (10..20_000).map(|node| (node % 2, 0, node)).collect();
        let graph = Counted(Graph::of(20_000, &relations), Cell::new(0));
        assert!(paths_between(&graph, 0, 1, 8).is_empty());
        assert!((1_000..=VISITS_MAX).contains(&graph.1.get()), "{}", graph.1.get());
    }

    /// Every simple path up to a length, by trying all.
    fn by_trying(graph: &Graph, from: Node, to: Node, longest: usize) -> BTreeSet<Vec<u32>> {
        let mut found = BTreeSet::new();
        let mut open = vec![(from, Vec::<(Node, u32)>::new())];
        while let Some((here, path)) = open.pop() {
            if here == to {
                found.insert(path.iter().map(|(_, row)| *row).collect());
            } else if path.len() < longest {
                for link in around(graph, here) {
                    if link.other != from && path.iter().all(|(node, _)| *node != link.other) {
                        let mut further = path.clone();
                        further.push((link.other, link.row));
                        open.push((link.other, further));
                    }
                }
            }
        }
        found
    }

    proptest! {
        /// CAL-20: in a small graph, exactly the shortest paths and those one hop longer.
        #[test]
        fn all_short_paths_are_found(
            relations in prop::collection::vec((0_u32..9, 0_u32..3, 0_u32..9), 0..12), depth in 1..6_usize,
        ) {
            let graph = Graph::of(9, &relations);
            let found = rows(&graph, 0, 1, depth);
            let all = by_trying(&graph, 0, 1, depth);
            let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
            let due: BTreeSet<Vec<u32>> = all.into_iter().filter(|path| path.len() <= shortest + 1).collect();
            prop_assert!(found.is_sorted_by_key(Vec::len));
            if due.len() <= PATHS_MAX {
                prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), due);
            } else {
                prop_assert_eq!(found.len(), PATHS_MAX);
            }
        }
    }

    fn step(kind: Kind) -> Step {
        Step { row: 0, node: 0, kind }
    }

    /// CAL-22: the geometric mean of how well types go with it, and .7 for each hop more.
    #[test]
    fn detours_support_less() {
        let (matrices, none) = (Matrices::default(), Synonyms::default());
        let kinds = Kinds::new(Profile::Ship, 100, &matrices, matrices.thresholds(Profile::Ship, 100), &none);
        let check = |path: &[Step], expected: f64| {
            let found = support(&kinds, Some(1), path);
            assert!((found - expected).abs() < 1e-9, "{found}");
        };
        check(&[step(1)], 1.0);
        check(&[step(1), step(1)], 0.7);
        check(&[step(1), step(1), step(1)], 0.49);
        // An unknown type meets it by chance: a half.
        check(&[step(2)], 0.5);
        check(&[step(1), step(2)], 0.7 * 0.5_f64.sqrt());
        check(&[], 0.0);
    }

    /// CAL-23: the share of paths that support it; without any, it depends on whether there should be one.
    #[test]
    fn a_score_is_a_share_of_paths() {
        assert_eq!(path_score(&[0.7, 0.4, 0.3, 0.2], 0.4, true), 0.5);
        assert_eq!(path_score(&[], 0.4, true), 0.0);
        assert_eq!(path_score(&[], 0.4, false), 0.5);
        assert_eq!(path_score(&[0.0], 0.0, true), 1.0);
    }

    /// CAL-23: the median of the last 512, nothing while little is known.
    #[test]
    fn usual_support_is_learnt() {
        let mut support = Support::default();
        for _ in 0..29 {
            support.add(0.9);
        }
        assert_eq!(support.least(), 0.0);
        support.add(0.9);
        assert_eq!(support.least(), 0.9);
        for _ in 0..600 {
            support.add(0.3);
        }
        assert_eq!((support.least(), support.values.len()), (0.3, SUPPORTS_MAX));
    }

    /// CAL-36: multiplied along the way.
    #[test]
    fn a_path_is_as_strong_as_all_its_hops() {
        assert!((strength([0.5, 0.8]) - 0.4).abs() < 1e-12);
        assert_eq!(strength([]), 1.0);
    }
}
