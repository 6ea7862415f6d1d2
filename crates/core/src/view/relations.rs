//! Relations as a graph: nodes and types by number, and for each node what leads out of it and what leads in.
//!
//! Invariant (rows stay): the row of an ended version moves from what is live to what is past and is never taken out, so a
//! read of a past moment finds it. Invariant (numbers say nothing): nodes and types are numbered as they come, whoever
//! wrote them; what leaves this view goes through rows that a reader may see. It refuses to know who that is.

mod walk;

pub use walk::{DEPTH_MAX, Direction, Hop, PATHS_MAX, Path, Walk, Walked, walk};

use super::Row;
use crate::id::ItemId;
use crate::item::{Content, node_item, node_key, type_key};
use crate::text::Analyser;
use std::collections::HashMap;

/// A node, by the order of its first use.
pub type Node = u32;
/// A type of relations, by the order of its first use.
pub type Kind = u32;

/// A relation as a text says it: what its ends and its type are known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tie {
    subject: String,
    kind: String,
    object: String,
}

impl Tie {
    /// What a content ties together; nothing if it is no relation.
    #[must_use]
    pub fn of(content: &Content) -> Option<Self> {
        let triple = content.relation()?;
        let (subject, object) = (node_key(&triple.subject), node_key(&triple.object));
        Some(Self { subject, kind: type_key(&triple.predicate), object })
    }

    /// What its beginning is known by.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What its type is known by.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What its end is known by.
    #[must_use]
    pub fn object(&self) -> &str {
        &self.object
    }
}

/// A relation that was ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Relation {
    #[n(0)]
    row: Row,
    #[n(1)]
    subject: Node,
    #[n(2)]
    kind: Kind,
    #[n(3)]
    object: Node,
    #[n(4)]
    ended: bool,
}

/// A relation as seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its type.
    pub kind: Kind,
    /// Its other end.
    pub other: Node,
    /// Its version.
    pub row: Row,
}

/// Places of relations at one end, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Ends {
    live: Vec<u32>,
    past: Vec<u32>,
}

impl Ends {
    fn end(&mut self, place: u32) {
        if let Ok(at) = self.live.binary_search(&place) {
            self.live.remove(at);
        }
        if let Err(at) = self.past.binary_search(&place) {
            self.past.insert(at, place);
        }
    }
}

/// Every relation of a tenant.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct RelationsView {
    #[n(0)]
    nodes: Vec<String>,
    #[n(1)]
    kinds: Vec<String>,
    /// In the order of their rows.
    #[n(2)]
    relations: Vec<Relation>,
    #[cbor(skip)]
    node_of: HashMap<String, Node>,
    #[cbor(skip)]
    kind_of: HashMap<String, Kind>,
    /// Nodes that are items.
    #[cbor(skip)]
    items: HashMap<Node, ItemId>,
    /// Nodes by the words of their names, in order.
    #[cbor(skip)]
    words: HashMap<String, Vec<Node>>,
    /// How many words the name of a node has.
    #[cbor(skip)]
    lengths: Vec<u32>,
    #[cbor(skip)]
    out: Vec<Ends>,
    #[cbor(skip)]
    into: Vec<Ends>,
}

impl RelationsView {
    /// The node that a name names.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Node> {
        self.node_of.get(&node_key(name)).copied()
    }

    /// The type that a name names.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kind_of.get(&type_key(name)).copied()
    }

    /// The numbers of what a relation ties together, as far as it is known: from where, by which type, to where.
    #[must_use]
    pub fn numbers(&self, tie: &Tie) -> (Option<Node>, Option<Kind>, Option<Node>) {
        let node = |name: &str| self.node_of.get(name).copied();
        (node(&tie.subject), self.kind_of.get(&tie.kind).copied(), node(&tie.object))
    }

    /// What a type is known by.
    #[must_use]
    pub fn kind_name(&self, kind: Kind) -> Option<&str> {
        self.kinds.get(kind as usize).map(String::as_str)
    }

    /// The item that a node is, if it is one.
    #[must_use]
    pub fn item(&self, node: Node) -> Option<ItemId> {
        self.items.get(&node).copied()
    }

    /// The ends of the relation at a row: from where to where; nothing if it is none.
    #[must_use]
    pub fn ends(&self, row: Row) -> Option<(Node, Node)> {
        self.tied(row).map(|(subject, _, object)| (subject, object))
    }

    /// The relation at a row, by its numbers: from where, by which type, to where; nothing if it is none.
    #[must_use]
    pub fn tied(&self, row: Row) -> Option<(Node, Kind, Node)> {
        let relation = self.relations.get(self.place(row)?)?;
        Some((relation.subject, relation.kind, relation.object))
    }

    /// Nodes whose names hold any of these words, each with the share of its name that they make up, in no order.
    #[must_use]
    pub fn named(&self, words: &[String]) -> Vec<(Node, f64)> {
        let mut held: HashMap<Node, u32> = HashMap::new();
        for word in words {
            for node in self.words.get(word).into_iter().flatten() {
                *held.entry(*node).or_default() += 1;
            }
        }
        let length = |node: Node| self.lengths.get(node as usize).copied().unwrap_or(1).max(1);
        held.into_iter().map(|(node, held)| (node, f64::from(held) / f64::from(length(node)))).collect()
    }

    /// The relations whose rows a reader may see. Those of the past are there where the reader asks for a past moment.
    pub fn masked<F: Fn(Row) -> bool>(&self, past: bool, admits: F) -> Masked<'_, F> {
        Masked { view: self, past, admits }
    }

    pub(super) fn write(&mut self, row: Row, tie: &Tie) {
        let subject = self.node_number(&tie.subject);
        let object = self.node_number(&tie.object);
        let kind = self.kind_number(&tie.kind);
        self.relations.push(Relation { row, subject, kind, object, ended: false });
        self.link(self.relations.len() - 1);
    }

    /// Forgets what an ended version tied: only reads of the past find it.
    pub(super) fn forget(&mut self, row: Row) {
        let Some(place) = self.place(row) else { return };
        if let Some(relation) = self.relations.get_mut(place) {
            relation.ended = true;
        }
        self.unlink(place);
    }

    /// Makes what is not kept in a checkpoint.
    pub(super) fn index(&mut self) {
        let mut analyser = Analyser::default();
        for (node, name) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            self.enrol(node as Node, &name, &mut analyser);
            self.nodes.push(name);
        }
        self.kind_of = self.kinds.iter().cloned().zip(0..).collect();
        for place in 0..self.relations.len() {
            self.link(place);
            if self.relations.get(place).is_some_and(|relation| relation.ended) {
                self.unlink(place);
            }
        }
    }

    fn place(&self, row: Row) -> Option<usize> {
        self.relations.binary_search_by_key(&row, |relation| relation.row).ok()
    }

    fn node_number(&mut self, name: &str) -> Node {
        if let Some(known) = self.node_of.get(name) {
            return *known;
        }
        let node = self.nodes.len() as Node;
        self.nodes.push(name.to_owned());
        self.enrol(node, name, &mut Analyser::default());
        node
    }

    fn kind_number(&mut self, name: &str) -> Kind {
        if let Some(known) = self.kind_of.get(name) {
            return *known;
        }
        let kind = self.kinds.len() as Kind;
        self.kinds.push(name.to_owned());
        self.kind_of.insert(name.to_owned(), kind);
        kind
    }

    fn enrol(&mut self, node: Node, name: &str, analyser: &mut Analyser) {
        self.node_of.insert(name.to_owned(), node);
        self.out.push(Ends::default());
        self.into.push(Ends::default());
        let item = node_item(name);
        if let Some(item) = item {
            self.items.insert(node, item);
        }
        // The id of an item is no word.
        let words = if item.is_some() { Vec::new() } else { analyser.terms(name).words };
        self.lengths.push(words.len() as u32);
        for (word, _) in words {
            self.words.entry(word).or_default().push(node);
        }
    }

    fn link(&mut self, place: usize) {
        let Some(Relation { subject, object, .. }) = self.relations.get(place).copied() else { return };
        for (ends, node) in [(&mut self.out, subject), (&mut self.into, object)] {
            if let Some(ends) = ends.get_mut(node as usize) {
                ends.live.push(place as u32);
            }
        }
    }

    fn unlink(&mut self, place: usize) {
        let Some(Relation { subject, object, .. }) = self.relations.get(place).copied() else { return };
        for (ends, node) in [(&mut self.out, subject), (&mut self.into, object)] {
            if let Some(ends) = ends.get_mut(node as usize) {
                ends.end(place as u32);
            }
        }
    }
}

/// The relations that a reader may see: nothing else of the graph shows through it.
pub struct Masked<'a, F> {
    view: &'a RelationsView,
    past: bool,
    admits: F,
}

impl<F: Fn(Row) -> bool> Masked<'_, F> {
    /// Nodes that were ever named; a number below this is a node.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.view.nodes.len()
    }

    /// What leads out of a node, oldest first.
    pub fn leaving(&self, node: Node) -> impl Iterator<Item = Link> + '_ {
        self.links(self.view.out.get(node as usize), |relation| relation.object)
    }

    /// What leads into a node, oldest first.
    pub fn entering(&self, node: Node) -> impl Iterator<Item = Link> + '_ {
        self.links(self.view.into.get(node as usize), |relation| relation.subject)
    }

    fn links<'s>(
        &'s self,
        ends: Option<&'s Ends>,
        other: impl Fn(&Relation) -> Node + 's,
    ) -> impl Iterator<Item = Link> + 's {
        let past = ends.filter(|_| self.past).map_or(&[] as &[u32], |ends| ends.past.as_slice());
        let live = ends.map_or(&[] as &[u32], |ends| ends.live.as_slice());
        let relations = past.iter().chain(live).filter_map(|place| self.view.relations.get(*place as usize));
        let seen = relations.filter(|relation| (self.admits)(relation.row));
        seen.map(move |relation| Link { kind: relation.kind, other: other(relation), row: relation.row })
    }
}

#[cfg(test)]
mod tests;
