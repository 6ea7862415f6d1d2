//! World G: communities of things that are tied together by a schema, and lies that tie a hub to something far away.

use crate::commands::chance::Chance;
use std::collections::{BTreeMap, BTreeSet};

/// Communities, and the nodes of each.
pub(super) const COMMUNITIES: usize = 30;
const NODES: usize = 20;
/// Types of nodes, and of relations between them.
const NODE_TYPES: usize = 8;
pub(super) const TYPES: usize = 24;
/// Relations that are there in the beginning.
pub(super) const SEEDS: usize = 2_400;
/// How often a relation stays in its community, and how often it does not follow the schema.
const INSIDE: f64 = 0.9;
const NOISE: f64 = 0.05;
/// How often an honest relation leads to something new.
const NEW: f64 = 0.15;
/// The nodes that a liar ties something to.
pub(super) const HUBS: usize = 20;
/// How far away the other end of a lie is, at least.
const FAR: usize = 3;
/// Tries at finding something that is not there yet.
const TRIES: usize = 64;

/// From where, by which type, to where.
pub(super) type Tie = (usize, usize, usize);
/// Two steps that lead somewhere: from where, the types, and to where.
pub(super) type Gold = (usize, usize, usize, usize);

/// Where lies lead: so far away that nothing supports it, or just nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    Far,
    Near,
}

/// The world that a seed makes, and everything in it that is memory.
pub(super) struct Graph {
    /// The types of nodes that a type of relations leads from and to.
    schema: Vec<(usize, usize)>,
    known: BTreeSet<Tie>,
    around: BTreeMap<usize, BTreeSet<usize>>,
    out: BTreeMap<usize, Vec<(usize, usize)>>,
    /// Nodes so far; those after the first are new ones.
    nodes: usize,
    home: BTreeMap<usize, usize>,
    chance: Chance,
}

impl Graph {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ 0x6ea9_0f0f);
        let schema = (0..TYPES).map(|kind| (kind % NODE_TYPES, below(&mut chance, NODE_TYPES))).collect();
        let home = (0..COMMUNITIES * NODES).map(|node| (node, node / NODES)).collect();
        let (known, around, out) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { schema, known, around, out, nodes: COMMUNITIES * NODES, home, chance }
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        below(&mut self.chance, n)
    }

    /// Whether something happens that happens this often.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        (self.chance.next() >> 11) as f64 / (1_u64 << 53) as f64 <= share
    }

    /// What a node is called.
    pub(super) fn name(node: usize) -> String {
        format!("thing{node}")
    }

    /// What a type of relations is called.
    pub(super) fn kind_name(kind: usize) -> String {
        format!("kind{kind}")
    }

    /// Something is memory from now on.
    pub(super) fn learn(&mut self, tie: Tie) {
        let (from, kind, to) = tie;
        if self.known.insert(tie) {
            self.around.entry(from).or_default().insert(to);
            self.around.entry(to).or_default().insert(from);
            self.out.entry(from).or_default().push((kind, to));
        }
    }

    pub(super) fn community_of(&self, node: usize) -> usize {
        self.home.get(&node).copied().unwrap_or(0)
    }

    fn node_of(&mut self, community: usize, of_type: usize) -> usize {
        let members = (0..NODES).filter(|place| place % NODE_TYPES == of_type).count();
        let place = self.below(members) * NODE_TYPES + of_type;
        community * NODES + place.min(NODES - 1)
    }

    /// A relation of a community as the schema has it, that is not there yet.
    pub(super) fn honest(&mut self, community: usize) -> Tie {
        for _ in 0..TRIES {
            let kind = self.below(TYPES);
            let (from_type, to_type) = self.schema.get(kind).copied().unwrap_or((0, 0));
            let there = if self.happens(INSIDE) {
                community
            } else {
                (community + if self.happens(0.5) { 1 } else { COMMUNITIES - 1 }) % COMMUNITIES
            };
            let (from, to) = (self.node_of(community, from_type), self.node_of(there, to_type));
            let kind = if self.happens(NOISE) { self.below(TYPES) } else { kind };
            if from != to && !self.known.contains(&(from, kind, to)) {
                return (from, kind, to);
            }
        }
        let from = community * NODES + self.below(NODES);
        let kind = from % NODE_TYPES;
        (from, kind, self.new_node(community))
    }

    /// What an honest agent says at a time: three to eight relations of a community, some to something new.
    pub(super) fn delta(&mut self, community: usize) -> Vec<Tie> {
        let count = 3 + self.below(6);
        let mut delta: Vec<Tie> = Vec::new();
        while delta.len() < count {
            let (from, kind, to) = self.honest(community);
            let to = if self.happens(NEW) { self.new_node(community) } else { to };
            if !delta.contains(&(from, kind, to)) {
                delta.push((from, kind, to));
            }
        }
        delta
    }

    fn new_node(&mut self, community: usize) -> usize {
        self.home.insert(self.nodes, community);
        self.nodes += 1;
        self.nodes - 1
    }

    /// The nodes with the most neighbours.
    pub(super) fn hubs(&self) -> Vec<usize> {
        let mut nodes: Vec<(usize, usize)> =
            self.around.iter().map(|(node, around)| (around.len(), *node)).collect();
        nodes.sort_unstable_by(|a, b| b.cmp(a));
        nodes.into_iter().take(HUBS).map(|(_, node)| node).collect()
    }

    /// Lies: a hub, by the type it has most of, tied to something that it has nothing to do with.
    pub(super) fn lies(&mut self, count: usize, leads: Lie) -> Vec<Tie> {
        let hubs = self.hubs();
        let mut lies: Vec<Tie> = Vec::new();
        for _ in 0..TRIES {
            if lies.len() >= count {
                break;
            }
            let place = self.below(hubs.len());
            let Some(hub) = hubs.get(place).copied() else { break };
            let kind = self.commonest(hub);
            let end = self.end_of_lie(hub, leads);
            lies.extend(end.map(|end| (hub, kind, end)).filter(|tie| !self.known.contains(tie)));
        }
        lies
    }

    /// Where a lie about a node leads, if a try finds it.
    fn end_of_lie(&mut self, node: usize, leads: Lie) -> Option<usize> {
        let near = self.within(node, FAR - 1);
        match leads {
            Lie::Far => Some(self.below(COMMUNITIES * NODES)).filter(|end| !near.contains(end)),
            Lie::Near => {
                let just_near: Vec<usize> = near.difference(&self.within(node, FAR - 2)).copied().collect();
                let place = self.below(just_near.len());
                just_near.get(place).copied()
            }
        }
    }

    fn commonest(&self, node: usize) -> usize {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (kind, _) in self.out.get(&node).into_iter().flatten() {
            *counts.entry(*kind).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(kind, count)| (*count, *kind)).map_or(0, |(kind, _)| kind)
    }

    /// The nodes that are no more steps away than this.
    fn within(&self, node: usize, steps: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([node]);
        for _ in 0..steps {
            let next: Vec<usize> =
                reached.iter().filter_map(|node| self.around.get(node)).flatten().copied().collect();
            reached.extend(next);
        }
        reached
    }

    /// Where three steps of a community lead, from where: what an agent walks.
    pub(super) fn walk(&mut self, community: usize) -> (usize, usize) {
        for _ in 0..TRIES {
            let from = community * NODES + self.below(NODES);
            let mut at = from;
            for _ in 0..3 {
                let next: Vec<usize> = self.around.get(&at).into_iter().flatten().copied().collect();
                let place = self.below(next.len());
                at = next.get(place).copied().unwrap_or(at);
            }
            if at != from {
                return (from, at);
            }
        }
        (community * NODES, community * NODES + 1)
    }

    /// Two steps along what is known.
    pub(super) fn gold(&mut self, from: Option<usize>) -> Option<Gold> {
        let all: Vec<Tie> =
            self.known.iter().filter(|(start, ..)| from.is_none_or(|from| from == *start)).copied().collect();
        for _ in 0..TRIES {
            let place = self.below(all.len());
            let (start, first, over) = all.get(place).copied()?;
            let further = self.out.get(&over).cloned().unwrap_or_default();
            let place = self.below(further.len());
            if let Some((second, end)) = further.get(place).filter(|(_, end)| *end != start) {
                return Some((start, first, *second, *end));
            }
        }
        None
    }
}

fn below(chance: &mut Chance, n: usize) -> usize {
    (chance.next() % n.max(1) as u64) as usize
}
