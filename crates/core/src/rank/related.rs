//! Relevance along relations: what is tied to the things that a question names.
//!
//! A question finds nodes by the words of their names, and by meaning those that the best texts name. From these seeds two
//! steps are taken along relations, either way. A relation counts what its end counts, weakened by how far it is trusted;
//! one that is reached from both ends counts both. Invariant (statistics from what is seen): only rows that may be
//! walked are looked at, and no order hangs on how nodes are numbered.

use super::hybrid::{Knob, depth, hybrid, nearest};
use super::is_stop;
use super::question::{Places, Question, Relevant, best};
use crate::view::{Link, Masked, Node, Row};
use std::collections::HashMap;

/// Steps from a node that the question names.
const HOPS: usize = 2;
/// Nodes that a walk begins at.
const SEEDS_MAX: usize = 64;
/// Texts whose nodes are seeds.
const TEXTS_MAX: usize = 32;
/// Relations that are looked at.
const VISITS_MAX: usize = 20_000;

/// The best `k` relations, and items that are nodes, around what the question names.
#[must_use]
pub fn related(
    places: &Places<'_>,
    question: &Question<'_>,
    k: usize,
    without: &[Knob],
    trust: impl Fn(Row) -> f64,
) -> Vec<Relevant> {
    let index = places.index;
    let walks = |row: Row| index.may_walk(places.items, places.scope, row);
    let graph = index.relations.masked(places.scope.at.lsn < index.lsn(), walks);
    let mut spreading = Spreading { graph: &graph, trust, nodes: HashMap::new(), relations: HashMap::new() };
    spreading.spread(seeds(places, question, without, &graph));
    let score =
        |(row, [one, other]): (Row, [f64; 2])| Relevant { row, relevance: 1.0 - (1.0 - one) * (1.0 - other) };
    let items = spreading.nodes.iter().filter_map(|(node, value)| {
        let item = index.relations.item(*node)?;
        let (_, head) = places.items.visible_head(item, places.scope.predicate, places.scope.at)?;
        let row = places.items.row_of(head.id).filter(|row| places.scope.admits_row(places.items, *row))?;
        Some(Relevant { row, relevance: *value })
    });
    let mut found: HashMap<Row, f64> = items.map(|one| (one.row, one.relevance)).collect();
    for one in spreading.relations.into_iter().map(score) {
        let known = found.entry(one.row).or_default();
        *known = known.max(one.relevance);
    }
    best(found.into_iter().map(|(row, relevance)| Relevant { row, relevance }).collect(), k)
}

/// A node to go on from.
#[derive(Clone, Copy)]
struct Reached {
    node: Node,
    value: f64,
    /// The relation that led here, or for a seed its newest; and which end of it this is.
    by: (Row, usize),
}

/// Best first, ties to the newer.
fn in_order(reached: &mut [Reached]) {
    reached.sort_unstable_by(|a, b| b.value.total_cmp(&a.value).then_with(|| b.by.cmp(&a.by)));
}

/// The nodes that the question names, best first.
fn seeds<F: Fn(Row) -> bool>(
    places: &Places<'_>,
    question: &Question<'_>,
    without: &[Knob],
    graph: &Masked<'_, F>,
) -> Vec<Reached> {
    let relations = &places.index.relations;
    let telling: Vec<String> = question.words.iter().filter(|word| !is_stop(word)).cloned().collect();
    let mut values: HashMap<Node, f64> = relations.named(&telling).into_iter().collect();
    let texts = match question.vector {
        Some(_) => {
            let nearest = nearest(places, question, depth(TEXTS_MAX));
            hybrid(places, question, &nearest, TEXTS_MAX, without)
        }
        None => Vec::new(),
    };
    for text in texts {
        let version = places.items.version(text.row);
        let item = version.and_then(|version| places.items.item_of(version)).map(|item| item.id.to_string());
        let itself = item.and_then(|item| relations.node(&item));
        let ends = relations.ends(text.row).map(|(subject, object)| [subject, object]);
        for node in ends.into_iter().flatten().chain(itself) {
            let known = values.entry(node).or_default();
            *known = known.max(text.relevance);
        }
    }
    let newest = |node: Node| links(graph, node).map(|(link, end)| (link.row, end)).max();
    let seed = |(node, value)| Some(Reached { node, value, by: newest(node)? });
    let mut seeds: Vec<Reached> = values.into_iter().filter_map(seed).collect();
    in_order(&mut seeds);
    seeds.truncate(SEEDS_MAX);
    seeds
}

/// What is tied to a node, each with the end that the node is: 0 for its subject, 1 for its object.
fn links<F: Fn(Row) -> bool>(graph: &Masked<'_, F>, node: Node) -> impl Iterator<Item = (Link, usize)> {
    graph.leaving(node).map(|link| (link, 0)).chain(graph.entering(node).map(|link| (link, 1)))
}

struct Spreading<'a, F, T> {
    graph: &'a Masked<'a, F>,
    trust: T,
    /// What a node counts.
    nodes: HashMap<Node, f64>,
    /// What a relation counts from its subject, and from its object.
    relations: HashMap<Row, [f64; 2]>,
}

impl<F: Fn(Row) -> bool, T: Fn(Row) -> f64> Spreading<'_, F, T> {
    fn spread(&mut self, seeds: Vec<Reached>) {
        self.nodes.extend(seeds.iter().map(|seed| (seed.node, seed.value)));
        let mut visits = 0;
        let mut open: Vec<(Reached, Option<Row>)> = seeds.into_iter().map(|seed| (seed, None)).collect();
        for _ in 0..HOPS {
            let mut next: Vec<Reached> = Vec::new();
            for (from, by) in &open {
                for (link, end) in links(self.graph, from.node).filter(|(link, _)| Some(link.row) != *by) {
                    visits += 1;
                    if visits > VISITS_MAX {
                        return;
                    }
                    next.extend(self.reach(from, link, end));
                }
            }
            in_order(&mut next);
            open = next.into_iter().map(|reached| (reached, Some(reached.by.0))).collect();
        }
    }

    /// Counts a relation; the node that it leads to, if it is worth more than before.
    fn reach(&mut self, from: &Reached, link: Link, end: usize) -> Option<Reached> {
        let value = from.value * (self.trust)(link.row).clamp(0.0, 1.0);
        if let Some(known) = self.relations.entry(link.row).or_default().get_mut(end) {
            *known = known.max(value);
        }
        let known = self.nodes.entry(link.other).or_default();
        if value <= *known {
            return None;
        }
        *known = value;
        Some(Reached { node: link.other, value, by: (link.row, 1 - end) })
    }
}
