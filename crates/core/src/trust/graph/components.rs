//! How much of the graph hangs together (CAL-23): union by size, without taking apart.

use super::{Links, Node};

/// Which nodes hang together, direction aside. Joining is quick; after a relation is gone it is made anew with `of`.
#[derive(Debug, Clone, Default)]
pub struct Components {
    /// The node that stands for each one, or one nearer to it.
    parents: Vec<Node>,
    /// How many nodes each root stands for.
    sizes: Vec<u32>,
    largest: u32,
}

impl Components {
    /// Those of a graph.
    #[must_use]
    pub fn of<L: Links>(links: &L) -> Self {
        let mut components = Self::default();
        let nodes = Node::try_from(links.nodes()).unwrap_or(Node::MAX);
        for node in 0..nodes {
            components.join(node, node);
            for link in links.out(node) {
                components.join(node, link.other);
            }
        }
        components
    }

    /// There is a relation between these nodes.
    pub fn join(&mut self, one: Node, other: Node) {
        self.grow(one.max(other));
        let (one, other) = (self.root(one), self.root(other));
        let (size, other_size) = (self.size(one), self.size(other));
        if one == other {
            self.largest = self.largest.max(size);
            return;
        }
        let (root, below) = if size >= other_size { (one, other) } else { (other, one) };
        if let Some(parent) = self.parents.get_mut(below as usize) {
            *parent = root;
        }
        if let Some(held) = self.sizes.get_mut(root as usize) {
            *held = size + other_size;
        }
        self.largest = self.largest.max(size + other_size);
    }

    /// The share of so many nodes that the largest one holds.
    #[must_use]
    pub fn largest_share(&self, nodes: usize) -> f64 {
        if nodes == 0 { 0.0 } else { f64::from(self.largest) / nodes as f64 }
    }

    fn grow(&mut self, node: Node) {
        for new in self.parents.len()..=node as usize {
            self.parents.push(new as Node);
            self.sizes.push(1);
        }
    }

    fn size(&self, root: Node) -> u32 {
        self.sizes.get(root as usize).copied().unwrap_or(1)
    }

    /// Halves the way for the next one on it.
    fn root(&mut self, node: Node) -> Node {
        let mut at = node;
        while let Some(parent) = self.parents.get(at as usize).copied().filter(|parent| *parent != at) {
            let above = self.parents.get(parent as usize).copied().unwrap_or(parent);
            if let Some(parent) = self.parents.get_mut(at as usize) {
                *parent = above;
            }
            at = above;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::graph::tests::Graph;

    /// CAL-23: joined one by one or made of a graph, the largest is the same.
    #[test]
    fn the_largest_is_known() {
        let mut components = Components::default();
        assert_eq!(components.largest_share(0), 0.0);
        let pairs = [(0, 1), (1, 2), (5, 6), (2, 0), (6, 7), (7, 8)];
        for (from, to) in pairs {
            components.join(from, to);
        }
        assert_eq!(components.largest_share(10), 0.4);
        components.join(2, 8);
        assert_eq!(components.largest_share(10), 0.7);
        let graph = Graph::of(10, &pairs.map(|(from, to)| (from, 0, to)));
        assert_eq!(Components::of(&graph).largest_share(10), 0.4);
        assert_eq!(Components::of(&Graph::of(3, &[])).largest_share(3), 1.0 / 3.0);
    }
}
