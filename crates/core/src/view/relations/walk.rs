//! Walks along relations: the strongest paths from a node, best first.
//!
//! Invariant (exact): a factor is below one, so a path is weaker than each of its beginnings. Taking the strongest beginning
//! first therefore finds paths in their order, and the first `limit` of them are the best there are. A walk that stops
//! at a limit of its own says so. Only what is admitted counts towards those limits: what is hidden changes no answer.

use super::{Kind, Link, Masked, Node, Row};
use crate::item::words;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;

/// Relations in one path.
pub const DEPTH_MAX: usize = 8;
/// Paths in one answer.
pub const PATHS_MAX: usize = 64;
/// Relations that a walk looks at.
const VISITS_MAX: usize = 100_000;
/// Beginnings of paths that wait to be gone on with.
const QUEUE_MAX: usize = 100_000;
/// No factor is larger: a path gets weaker with every step.
const FACTOR_MAX: f64 = 1.0 - 1e-6;
/// No factor is smaller: what is trusted least still leads somewhere.
const FACTOR_MIN: f64 = 1e-6;

words! {
    /// Which way relations are walked.
    Direction {
        /// From subject to object.
        0 Out = "out",
        /// From object to subject.
        1 In = "in",
        /// Either way.
        2 Both = "both",
    }
}

/// What a walk looks for.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// Where it begins.
    pub from: Node,
    /// Where it ends; anywhere, if not given.
    pub to: Option<Node>,
    /// Only along these types; any, if not given.
    pub kinds: Option<&'a [Kind]>,
    /// Which way.
    pub direction: Direction,
    /// At most this many relations, and never more than [`DEPTH_MAX`].
    pub depth: usize,
    /// At most this many paths.
    pub limit: usize,
}

/// One relation of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Its version.
    pub row: Row,
    /// Its type.
    pub kind: Kind,
    /// Where it leads.
    pub to: Node,
    /// Whether it is walked from subject to object.
    pub along: bool,
}

/// A path: no node comes twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The product of what its relations are trusted with.
    pub strength: f64,
    /// Its relations, one after the other.
    pub hops: Vec<Hop>,
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Walked {
    /// Strongest first; of equals, the one with the newest relation.
    pub paths: Vec<Path>,
    /// Whether it stopped early: then there may be better ones.
    pub truncated: bool,
}

/// The strongest simple paths (CAL-36): strength is multiplied while walking.
pub fn walk<F: Fn(Row) -> bool>(
    graph: &Masked<'_, F>,
    asked: &Walk<'_>,
    trust: impl Fn(Row) -> f64,
) -> Walked {
    if asked.to == Some(asked.from) || asked.limit == 0 {
        return Walked::default();
    }
    let mut walking = Walking {
        graph,
        asked,
        trust,
        steps: Vec::new(),
        steps_of: HashMap::new(),
        distances: HashMap::new(),
        visits: 0,
        truncated: false,
        floor: Vec::new(),
    };
    walking.measure();
    let paths = walking.paths();
    Walked { paths, truncated: walking.truncated }
}

/// A step that can be taken from a node.
#[derive(Clone, Copy)]
struct Step {
    hop: Hop,
    trust: f64,
}

/// The beginning of a path, or all of one.
#[derive(Clone)]
struct Begun {
    strength: f64,
    newest: Row,
    hops: Vec<Hop>,
}

impl Begun {
    fn key(&self) -> (Row, impl Iterator<Item = Row> + '_) {
        (self.newest, self.hops.iter().map(|hop| hop.row))
    }
}

impl Ord for Begun {
    /// The stronger is greater; of equals the newer.
    fn cmp(&self, other: &Self) -> Ordering {
        let ((newest, rows), (its, others)) = (self.key(), other.key());
        self.strength.total_cmp(&other.strength).then(newest.cmp(&its)).then_with(|| rows.cmp(others))
    }
}

impl PartialOrd for Begun {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Begun {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Begun {}

struct Walking<'a, F, T> {
    graph: &'a Masked<'a, F>,
    asked: &'a Walk<'a>,
    trust: T,
    /// The steps of every node that was met, gathered once.
    steps: Vec<Step>,
    steps_of: HashMap<Node, Range<usize>>,
    /// How far it is from a node to the end, where there is one; a node that is not in it does not lead there.
    distances: HashMap<Node, usize>,
    visits: usize,
    truncated: bool,
    /// The strengths of the best whole paths so far, strongest first: what is weaker than the last of enough is no answer.
    floor: Vec<f64>,
}

impl<F: Fn(Row) -> bool, T: Fn(Row) -> f64> Walking<'_, F, T> {
    fn paths(&mut self) -> Vec<Path> {
        let mut queue = BinaryHeap::new();
        let mut paths = Vec::new();
        let start = Begun { strength: 1.0, newest: 0, hops: Vec::new() };
        self.go_on(&start, &mut queue);
        while let Some(begun) = queue.pop() {
            let end = begun.hops.last().map_or(self.asked.from, |hop| hop.to);
            if self.asked.to.is_none_or(|to| to == end) {
                paths.push(Path { strength: begun.strength, hops: begun.hops.clone() });
                if paths.len() >= self.asked.limit {
                    break;
                }
            }
            if self.asked.to != Some(end) {
                self.go_on(&begun, &mut queue);
            }
        }
        paths
    }

    /// Puts what a beginning leads to into the queue.
    fn go_on(&mut self, begun: &Begun, queue: &mut BinaryHeap<Begun>) {
        let left = self.asked.depth.min(DEPTH_MAX).saturating_sub(begun.hops.len());
        if left == 0 {
            return;
        }
        let end = begun.hops.last().map_or(self.asked.from, |hop| hop.to);
        for place in self.steps_from(end) {
            let Some(Step { hop, trust }) = self.steps.get(place).copied() else { return };
            if self.visits >= VISITS_MAX || queue.len() >= QUEUE_MAX {
                self.truncated = true;
                return;
            }
            self.visits += 1;
            let returns = hop.to == self.asked.from || begun.hops.iter().any(|known| known.to == hop.to);
            let strength = begun.strength * trust;
            if returns || !self.leads_there(hop.to, left - 1) || self.is_too_weak(strength) {
                continue;
            }
            if self.asked.to.is_none_or(|to| to == hop.to) {
                self.raise(strength);
            }
            let hops = begun.hops.iter().copied().chain([hop]).collect();
            queue.push(Begun { strength, newest: begun.newest.max(hop.row), hops });
        }
    }

    fn leads_there(&self, node: Node, left: usize) -> bool {
        self.asked.to.is_none() || self.distances.get(&node).is_some_and(|distance| *distance <= left)
    }

    fn is_too_weak(&self, strength: f64) -> bool {
        self.floor.len() >= self.asked.limit && self.floor.last().is_some_and(|least| strength < *least)
    }

    fn raise(&mut self, strength: f64) {
        let at = self.floor.partition_point(|known| *known >= strength);
        self.floor.insert(at, strength);
        self.floor.truncate(self.asked.limit);
    }

    /// How far every node is from the end, by as many relations as the walk may have.
    fn measure(&mut self) {
        let Some(to) = self.asked.to else { return };
        self.distances.insert(to, 0);
        let mut open = VecDeque::from([(to, 0)]);
        let mut seen = 0;
        while let Some((node, distance)) = open.pop_front() {
            if distance >= self.asked.depth.min(DEPTH_MAX) {
                continue;
            }
            for (link, _) in self.links(node, self.asked.direction.reversed()) {
                seen += 1;
                if seen > VISITS_MAX {
                    self.truncated = true;
                    return;
                }
                if let Entry::Vacant(unknown) = self.distances.entry(link.other) {
                    unknown.insert(distance + 1);
                    open.push_back((link.other, distance + 1));
                }
            }
        }
    }

    fn steps_from(&mut self, node: Node) -> Range<usize> {
        if let Some(known) = self.steps_of.get(&node) {
            return known.clone();
        }
        let start = self.steps.len();
        for (link, along) in self.links(node, self.asked.direction) {
            let hop = Hop { row: link.row, kind: link.kind, to: link.other, along };
            let trust = (self.trust)(link.row);
            let trust = if trust.is_nan() { FACTOR_MIN } else { trust.clamp(FACTOR_MIN, FACTOR_MAX) };
            self.steps.push(Step { hop, trust });
        }
        self.steps_of.insert(node, start..self.steps.len());
        start..self.steps.len()
    }

    /// What leads on from a node, each with whether it is walked from subject to object.
    fn links(&self, node: Node, direction: Direction) -> Vec<(Link, bool)> {
        let fits = |link: &Link| self.asked.kinds.is_none_or(|kinds| kinds.contains(&link.kind));
        let mut links = Vec::new();
        if direction != Direction::In {
            links.extend(self.graph.leaving(node).filter(fits).map(|link| (link, true)));
        }
        if direction != Direction::Out {
            links.extend(self.graph.entering(node).filter(fits).map(|link| (link, false)));
        }
        // A relation of a node with itself leads nowhere.
        links.retain(|(link, _)| link.other != node);
        links
    }
}

impl Direction {
    const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }
}
