//! Which types of relations go together (CAL-17, 18): those that leave one node, or come to one, more often than chance.

use super::super::{Profile, median};
use super::{Kind, Links, Node, Spreading};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Under so many relations every type goes with every other.
const RELATIONS_MIN: usize = 50;

/// How many relations of each type a node has, on one side. A type that it has none of is not there.
pub type Counts = BTreeMap<Kind, u32>;

/// How many nodes have relations of both of two types, on one side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cooccurrence {
    /// Symmetric, so that the lower type stands first.
    counts: BTreeMap<(Kind, Kind), u32>,
    /// Over all types, itself among them.
    sums: BTreeMap<Kind, u32>,
}

impl Cooccurrence {
    /// A node that has these relations gets one of this type.
    pub fn add(&mut self, kind: Kind, before: &Counts) {
        if before.contains_key(&kind) {
            return;
        }
        for other in before.keys().copied().chain([kind]) {
            *self.counts.entry(pair(kind, other)).or_default() += 1;
            *self.sums.entry(kind).or_default() += 1;
            if other != kind {
                *self.sums.entry(other).or_default() += 1;
            }
        }
    }

    /// A node that has these relations left has lost one of this type.
    pub fn remove(&mut self, kind: Kind, after: &Counts) {
        if after.contains_key(&kind) {
            return;
        }
        for other in after.keys().copied().chain([kind]) {
            less(&mut self.counts, &pair(kind, other));
            less(&mut self.sums, &kind);
            if other != kind {
                less(&mut self.sums, &other);
            }
        }
    }

    /// How many nodes have both; of one type with itself, how many have it.
    #[must_use]
    pub fn both(&self, one: Kind, other: Kind) -> u32 {
        self.counts.get(&pair(one, other)).copied().unwrap_or(0)
    }

    /// How many times as often as by chance two types meet, in a graph of so many nodes. Shipped, a type that was never seen
    /// meets every other as often as chance has it.
    #[must_use]
    pub fn lift(&self, profile: Profile, one: Kind, other: Kind, nodes: usize) -> f64 {
        let both = f64::from(self.both(one, other));
        match profile {
            Profile::Ref => {
                let nodes = nodes.max(1) as f64;
                let sum = |kind| f64::from(self.sums.get(&kind).copied().unwrap_or(0));
                let chance = sum(one) * sum(other) / nodes;
                if chance > 0.0 { both / chance } else { 0.0 }
            }
            Profile::Ship => {
                let alone = |kind| f64::from(self.both(kind, kind));
                beyond_chance(both, [alone(one), alone(other)], nodes)
            }
        }
    }

    /// How often two types have to meet to go together: as often as the median of what meets, and no more than by chance.
    fn threshold(&self, profile: Profile, nodes: usize) -> f64 {
        match profile {
            Profile::Ref => {
                let lift = |(one, other): (Kind, Kind)| self.lift(profile, one, other, nodes);
                let kinds: Vec<Kind> = self.sums.keys().copied().collect();
                let pairs = kinds
                    .iter()
                    .enumerate()
                    .flat_map(|(at, one)| kinds.iter().skip(at).map(|other| (*one, *other)));
                median(&mut pairs.map(lift).collect::<Vec<f64>>()).unwrap_or(0.0)
            }
            Profile::Ship => {
                let alone = self.counts.iter().filter(|((one, other), _)| one == other);
                let alone: HashMap<Kind, u32, Spreading> =
                    alone.map(|((kind, _), count)| (*kind, *count)).collect();
                let alone = |kind: &Kind| f64::from(alone.get(kind).copied().unwrap_or(0));
                let met = self.counts.iter().filter(|((one, other), _)| one != other);
                let lift = |((one, other), both): (&(Kind, Kind), &u32)| {
                    beyond_chance(f64::from(*both), [alone(one), alone(other)], nodes)
                };
                median(&mut met.map(lift).collect::<Vec<f64>>()).map_or(1.0, |middle| middle.min(1.0))
            }
        }
    }
}

/// How many times as often as by chance two types meet that so many nodes have, shipped.
fn beyond_chance(both: f64, alone: [f64; 2], nodes: usize) -> f64 {
    let [one, other] = alone;
    (both + 1.0) / (one * other / nodes.max(1) as f64 + 1.0)
}

fn pair(one: Kind, other: Kind) -> (Kind, Kind) {
    (one.min(other), one.max(other))
}

/// One less, and nothing where there was one.
fn less<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        _ => {
            counts.remove(key);
        }
    }
}

/// Both sides of a graph: what leaves nodes together, and what comes to them together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrices {
    out: Side,
    into: Side,
    relations: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Side {
    met: Cooccurrence,
    nodes: BTreeMap<Node, Counts>,
}

impl Side {
    fn add(&mut self, node: Node, kind: Kind) {
        let counts = self.nodes.entry(node).or_default();
        self.met.add(kind, counts);
        *counts.entry(kind).or_default() += 1;
    }

    /// Whether there was one to remove.
    fn remove(&mut self, node: Node, kind: Kind) -> bool {
        let Some(counts) = self.nodes.get_mut(&node).filter(|counts| counts.contains_key(&kind)) else {
            return false;
        };
        less(counts, &kind);
        self.met.remove(kind, counts);
        if counts.is_empty() {
            self.nodes.remove(&node);
        }
        true
    }
}

impl Matrices {
    /// Those of a graph.
    #[must_use]
    pub fn of<L: Links>(links: &L) -> Self {
        let mut matrices = Self::default();
        for node in 0..Node::try_from(links.nodes()).unwrap_or(Node::MAX) {
            for link in links.out(node) {
                matrices.add(node, link.kind, link.other);
            }
        }
        matrices
    }

    /// A relation comes.
    pub fn add(&mut self, from: Node, kind: Kind, to: Node) {
        self.out.add(from, kind);
        self.into.add(to, kind);
        self.relations += 1;
    }

    /// A relation goes. One that was never there changes nothing.
    pub fn remove(&mut self, from: Node, kind: Kind, to: Node) {
        if self.out.remove(from, kind) {
            self.into.remove(to, kind);
            self.relations = self.relations.saturating_sub(1);
        }
    }

    /// How many relations there are.
    #[must_use]
    pub const fn relations(&self) -> usize {
        self.relations
    }

    /// What a node has of relations that leave it.
    #[must_use]
    pub fn out_of(&self, node: Node) -> Option<&Counts> {
        self.out.nodes.get(&node)
    }

    /// What a node has of relations that come to it.
    #[must_use]
    pub fn into_it(&self, node: Node) -> Option<&Counts> {
        self.into.nodes.get(&node)
    }

    /// What leaves nodes together.
    #[must_use]
    pub const fn leaving(&self) -> &Cooccurrence {
        &self.out.met
    }

    /// What comes to nodes together.
    #[must_use]
    pub const fn coming(&self) -> &Cooccurrence {
        &self.into.met
    }

    /// From when on types go together. It looks at every pair of types, so it may be kept for some rounds.
    #[must_use]
    pub fn thresholds(&self, profile: Profile, nodes: usize) -> Thresholds {
        Thresholds {
            out: self.out.met.threshold(profile, nodes),
            into: self.into.met.threshold(profile, nodes),
            any: self.relations < RELATIONS_MIN,
        }
    }
}

/// From when on types go together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    out: f64,
    into: f64,
    /// There are too few relations to tell, so that all do.
    any: bool,
}

/// Types whose names mean the same (CAL-39).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Synonyms(BTreeSet<(Kind, Kind)>);

impl Synonyms {
    /// These two mean the same.
    pub fn add(&mut self, one: Kind, other: Kind) {
        self.0.insert(pair(one, other));
    }

    fn holds(&self, one: Kind, other: Kind) -> bool {
        self.0.contains(&pair(one, other))
    }
}

/// Which types go together, in one round.
#[derive(Debug, Clone, Copy)]
pub struct Kinds<'a> {
    profile: Profile,
    nodes: usize,
    matrices: &'a Matrices,
    thresholds: Thresholds,
    synonyms: &'a Synonyms,
}

impl<'a> Kinds<'a> {
    /// By these counts, in a graph of so many nodes.
    #[must_use]
    pub const fn new(
        profile: Profile,
        nodes: usize,
        matrices: &'a Matrices,
        thresholds: Thresholds,
        synonyms: &'a Synonyms,
    ) -> Self {
        Self { profile, nodes, matrices, thresholds, synonyms }
    }

    /// By which formulas.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// What both sides are counted in.
    #[must_use]
    pub const fn matrices(&self) -> &'a Matrices {
        self.matrices
    }

    /// Whether both leave the same nodes. A type that is new goes with every other.
    #[must_use]
    pub fn leave_together(&self, one: Option<Kind>, other: Kind) -> bool {
        self.together(&self.matrices.out.met, self.thresholds.out, one, other)
    }

    /// Whether both come to the same nodes.
    #[must_use]
    pub fn come_together(&self, one: Option<Kind>, other: Kind) -> bool {
        self.together(&self.matrices.into.met, self.thresholds.into, one, other)
    }

    /// Whether they mean the same.
    #[must_use]
    pub fn same(&self, one: Kind, other: Kind) -> bool {
        one == other || self.synonyms.holds(one, other)
    }

    /// How far a hop of the other type speaks for a relation of this one, from 0 to 1.
    #[must_use]
    pub fn likeness(&self, one: Option<Kind>, other: Kind) -> f64 {
        if one == Some(other) {
            return 1.0;
        }
        let lift = match (one, self.profile) {
            (Some(one), profile) => self.matrices.out.met.lift(profile, one, other, self.nodes),
            (None, Profile::Ship) => 1.0,
            (None, Profile::Ref) => 0.0,
        };
        lift / (1.0 + lift)
    }

    fn together(&self, met: &Cooccurrence, threshold: f64, one: Option<Kind>, other: Kind) -> bool {
        if self.thresholds.any {
            return true;
        }
        let lift = |one| met.lift(self.profile, one, other, self.nodes);
        match (one, self.profile) {
            (None, Profile::Ship) => true,
            (None, Profile::Ref) => false,
            (Some(one), Profile::Ref) => lift(one) >= threshold,
            (Some(one), Profile::Ship) => self.same(one, other) || lift(one) >= threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::graph::tests::Graph;
    use proptest::prelude::*;

    /// CAL-17: the formulas on a graph that can be counted by hand: four nodes have 0, two of them 1 too; one has 2 alone.
    #[test]
    fn types_meet_more_or_less_than_by_chance() {
        let mut matrices = Matrices::default();
        for (from, kind) in [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0), (4, 2)] {
            matrices.add(from, kind, 9);
        }
        let met = matrices.leaving();
        assert_eq!(
            [met.both(0, 0), met.both(1, 0), met.both(0, 1), met.both(2, 0), met.both(2, 2)],
            [4, 2, 2, 0, 1]
        );
        let check = |profile, one, other, expected: f64| {
            let found = met.lift(profile, one, other, 10);
            assert!((found - expected).abs() < 1e-9, "{one} {other}: {found}");
        };
        check(Profile::Ship, 0, 1, 3.0 / 1.8);
        check(Profile::Ship, 0, 2, 1.0 / 1.4);
        check(Profile::Ship, 0, 7, 1.0);
        // As published, by sums over a row: 4 + 2 and 2 + 2.
        check(Profile::Ref, 0, 1, 2.0 / 2.4);
        check(Profile::Ref, 0, 2, 0.0);
        check(Profile::Ref, 0, 7, 0.0);
        assert_eq!(matrices.coming().both(0, 2), 1);
    }

    fn kinds<'a>(profile: Profile, matrices: &'a Matrices, synonyms: &'a Synonyms) -> Kinds<'a> {
        Kinds::new(profile, 100, matrices, matrices.thresholds(profile, 100), synonyms)
    }

    /// Two worlds of types that never meet: 0 and 1, 2 and 3. Each node of a world has both.
    fn two_worlds() -> Matrices {
        let mut matrices = Matrices::default();
        for node in 0..80 {
            let first = if node < 40 { 0 } else { 2 };
            matrices.add(node, first, 100 + node);
            matrices.add(node, first + 1, 200 + node);
        }
        matrices
    }

    /// CAL-18: what meets more often than by chance goes together; a type goes with itself, and a new one with all.
    #[test]
    fn what_meets_goes_together() {
        let (matrices, none) = (two_worlds(), Synonyms::default());
        let kinds = kinds(Profile::Ship, &matrices, &none);
        assert!(kinds.leave_together(Some(0), 1) && kinds.leave_together(Some(2), 3));
        assert!(!kinds.leave_together(Some(0), 2) && !kinds.leave_together(Some(1), 3));
        assert!(kinds.leave_together(Some(0), 0) && kinds.leave_together(None, 2));
        assert!(kinds.leave_together(Some(77), 2));
    }

    /// CAL-18, 39: types whose names mean the same go together, wherever they were met.
    #[test]
    fn synonyms_go_together() {
        let (matrices, mut synonyms) = (two_worlds(), Synonyms::default());
        synonyms.add(2, 0);
        let kinds = kinds(Profile::Ship, &matrices, &synonyms);
        assert!(kinds.leave_together(Some(0), 2) && kinds.come_together(Some(2), 0) && kinds.same(0, 2));
        assert!(!kinds.leave_together(Some(0), 3));
    }

    /// CAL-18: a small graph tells nothing.
    #[test]
    fn few_relations_go_with_all() {
        let mut matrices = Matrices::default();
        for node in 0..49 {
            matrices.add(node, node % 2, 99);
        }
        let none = Synonyms::default();
        assert!(kinds(Profile::Ship, &matrices, &none).leave_together(Some(0), 1));
        matrices.add(49, 1, 99);
        assert!(!kinds(Profile::Ship, &matrices, &none).leave_together(Some(0), 1));
    }

    /// CAL-22: a hop of the same type speaks fully, one that meets it by chance a half.
    #[test]
    fn likeness_is_a_share() {
        let (matrices, none) = (two_worlds(), Synonyms::default());
        let kinds = kinds(Profile::Ship, &matrices, &none);
        assert_eq!(kinds.likeness(Some(0), 0), 1.0);
        assert_eq!(kinds.likeness(Some(50), 0), 0.5);
        assert_eq!(kinds.likeness(None, 0), 0.5);
        assert!(kinds.likeness(Some(0), 1) > 0.5 && kinds.likeness(Some(0), 2) < 0.5);
    }

    proptest! {
        /// CAL-17: adding and removing leaves what was never removed, as if made of the graph at once.
        #[test]
        fn counts_follow_the_graph(
            relations in prop::collection::vec((0_u32..6, 0_u32..4, 0_u32..6), 0..40), keep in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut matrices = Matrices::default();
            for (from, kind, to) in &relations {
                matrices.add(*from, *kind, *to);
            }
            let mut kept = Vec::new();
            for (relation, keep) in relations.iter().zip(&keep) {
                if *keep {
                    kept.push(*relation);
                } else {
                    matrices.remove(relation.0, relation.1, relation.2);
                }
            }
            prop_assert_eq!(&matrices, &Matrices::of(&Graph::of(6, &kept)));
            matrices.remove(50, 1, 51);
            prop_assert_eq!(matrices.relations(), kept.len());
        }
    }
}
