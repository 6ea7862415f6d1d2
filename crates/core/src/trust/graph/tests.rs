//! What a relation is worth in a graph that can be overlooked.

use super::*;
use crate::trust::{CalFacts, Delta, Gating, Parts, calibrate};

/// A graph in two lists.
pub(super) struct Graph {
    out: Vec<Vec<Link>>,
    into: Vec<Vec<Link>>,
}

impl Graph {
    /// Of so many nodes and these relations: from, type, to. Their rows are their places.
    pub(super) fn of(nodes: usize, relations: &[(Node, Kind, Node)]) -> Self {
        let mut graph = Self { out: vec![Vec::new(); nodes], into: vec![Vec::new(); nodes] };
        for (row, (from, kind, to)) in relations.iter().enumerate() {
            let row = row as u32;
            graph.out[*from as usize].push(Link { kind: *kind, other: *to, row });
            graph.into[*to as usize].push(Link { kind: *kind, other: *from, row });
        }
        graph
    }
}

impl Links for Graph {
    fn nodes(&self) -> usize {
        self.out.len()
    }

    fn out(&self, node: Node) -> impl Iterator<Item = Link> {
        self.out.get(node as usize).into_iter().flatten().copied()
    }

    fn into(&self, node: Node) -> impl Iterator<Item = Link> {
        self.into.get(node as usize).into_iter().flatten().copied()
    }
}

/// A ring of sixty nodes, each with a relation of type 0 to the next and of type 1 to the one after it; four nodes aside.
fn ring() -> Graph {
    let relations: Vec<(Node, Kind, Node)> =
        (0..60).flat_map(|node| [(node, 0, (node + 1) % 60), (node, 1, (node + 2) % 60)]).collect();
    Graph::of(64, &relations)
}

fn check(relation: Proposed, support_min: f64) -> Checked {
    let graph = ring();
    let (matrices, none) = (Matrices::of(&graph), Synonyms::default());
    let kinds = Kinds::new(Profile::Ship, 64, &matrices, matrices.thresholds(Profile::Ship, 64), &none);
    let connected = Components::of(&graph).largest_share(64) >= 0.5;
    Scene { links: &graph, kinds, depth: depth(64, 0), support_min, connected }.check(&relation)
}

fn detect(checked: &Checked) -> f64 {
    let delta = Delta { items: Vec::new(), relations: vec![checked.facts] };
    let facts = CalFacts {
        profile: Profile::Ship,
        parts: Parts::default(),
        memory: 120,
        auditors: Vec::new(),
        gating: Gating::Nothing,
        past: Vec::new(),
        parties: 1,
    };
    calibrate(&delta, &facts).detect()
}

/// CAL-19, 23, 24: from a known node to a new one, between new ones, and between known ones without a path.
#[test]
fn new_nodes_are_neither_good_nor_bad() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found}");
    let kind = Some(0);
    close(detect(&check(Proposed { from: Some(3), kind, to: None }, 0.0)), 0.875);
    close(detect(&check(Proposed { from: None, kind, to: Some(3) }, 0.0)), 0.875);
    close(detect(&check(Proposed { from: None, kind, to: None }, 0.0)), 0.5);
    // Known, in a graph that hangs together, and no way between them.
    let apart = check(Proposed { from: Some(3), kind, to: Some(62) }, 0.0);
    assert_eq!((apart.facts.path, apart.facts.existed), (0.0, true));
    close(detect(&apart), 0.25);
}

/// CAL-23: short ways of its own kind support a relation, long detours do not.
#[test]
fn short_ways_support() {
    let near = check(Proposed { from: Some(3), kind: Some(0), to: Some(5) }, 0.4);
    assert_eq!((near.facts.local, near.facts.path), (1.0, 1.0));
    assert_eq!(near.supports.len(), 2);
    let far = check(Proposed { from: Some(3), kind: Some(0), to: Some(11) }, 0.4);
    assert!(!far.supports.is_empty() && far.facts.path == 0.0);
    let new_kind = check(Proposed { from: Some(3), kind: None, to: Some(5) }, 0.4);
    assert_eq!(new_kind.facts.local, 1.0);
}

/// CAL-39: what is there under another name is said before.
#[test]
fn the_same_under_another_name_was_said_before() {
    let graph = ring();
    let (matrices, mut synonyms) = (Matrices::of(&graph), Synonyms::default());
    synonyms.add(7, 0);
    let kinds = Kinds::new(Profile::Ship, 64, &matrices, matrices.thresholds(Profile::Ship, 64), &synonyms);
    let scene = Scene { links: &graph, kinds, depth: 5, support_min: 0.0, connected: true };
    let said = |kind, to| scene.said_before(&Proposed { from: Some(3), kind: Some(kind), to: Some(to) });
    assert_eq!(said(0, 4), Some(6));
    assert_eq!(said(7, 4), Some(6));
    assert_eq!((said(7, 5), said(1, 4), said(1, 5)), (None, None, Some(7)));
}
