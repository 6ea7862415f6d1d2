//! How far paths are followed (CAL-20, 21): the logarithm of the graph, a little more where paths are rare and a little less
//! where they abound.

use super::super::window_len;
use super::path::PATHS_MAX;
use std::collections::VecDeque;

/// The least and the most.
const DEPTH: (i32, i32) = (2, 8);
/// How far experience moves it.
const ADJUST_MAX: i32 = 2;
/// One step in so many rounds.
const ROUNDS: u32 = 32;
/// Paths abound above this share of what chance makes, and are rare below that one.
const ABOUND: f64 = 2.0;
const RARE: f64 = 0.5;
/// So many counts are kept, however large the graph.
const KEPT_MAX: usize = 1_024;

/// How far paths are followed in a graph of so many nodes.
#[must_use]
pub fn depth(nodes: usize, adjust: i32) -> usize {
    let steps = (nodes.max(1) as f64).ln().ceil() as i32;
    steps.saturating_add(adjust).clamp(DEPTH.0, DEPTH.1) as usize
}

/// What experience says about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Depth {
    adjust: i32,
    rounds: u32,
    /// How many paths the last relations had, oldest first.
    found: VecDeque<usize>,
}

impl Depth {
    /// What experience said when it was last written down.
    #[must_use]
    pub fn resumed(adjust: i32, rounds: u32, found: impl IntoIterator<Item = usize>) -> Self {
        let mut depth =
            Self { adjust: adjust.clamp(-ADJUST_MAX, ADJUST_MAX), rounds, found: VecDeque::new() };
        found.into_iter().for_each(|paths| depth.checked(paths));
        depth
    }

    /// How much further than the size of the graph says, and the rounds since that was looked at.
    #[must_use]
    pub const fn state(&self) -> (i32, u32) {
        (self.adjust, self.rounds)
    }

    /// How far paths are followed now.
    #[must_use]
    pub fn steps(&self, nodes: usize) -> usize {
        depth(nodes, self.adjust)
    }

    /// A relation had so many paths between its ends.
    pub fn checked(&mut self, paths: usize) {
        if self.found.len() >= KEPT_MAX {
            self.found.pop_front();
        }
        self.found.push_back(paths);
    }

    /// A round is over, in a graph of so many nodes and relations.
    pub fn round(&mut self, nodes: usize, relations: usize) {
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return;
        }
        self.rounds = 0;
        let window = window_len(relations as u64);
        let recent = self.found.iter().rev().take(window);
        let Some(mean) = super::super::mean(recent.map(|paths| *paths as f64)) else {
            return;
        };
        let found = mean / expected(nodes, relations, self.steps(nodes));
        let step = i32::from(found < RARE) - i32::from(found > ABOUND);
        self.adjust = (self.adjust + step).clamp(-ADJUST_MAX, ADJUST_MAX);
    }
}

/// How many paths two nodes have by chance.
fn expected(nodes: usize, relations: usize, depth: usize) -> f64 {
    let nodes = nodes.max(1) as f64;
    let degree = 2.0 * relations as f64 / nodes;
    let longest = i32::try_from(depth).unwrap_or(DEPTH.1);
    let paths: f64 = (2..=longest).map(|length| degree.powi(length) / nodes).sum();
    paths.min(PATHS_MAX as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAL-20: the natural logarithm, rounded up, from two to eight.
    #[test]
    fn depth_is_a_logarithm() {
        let check = |nodes, adjust, expected| assert_eq!(depth(nodes, adjust), expected, "{nodes}");
        check(1_000, 0, 7);
        check(600, 0, 7);
        check(0, 0, 2);
        check(20, 0, 3);
        check(100_000, 0, 8);
        check(1_000, 2, 8);
        check(1_000, -2, 5);
    }

    /// CAL-21: where paths abound it goes down one step in 32 rounds, by two at most; where they are rare, up.
    #[test]
    fn experience_moves_it_slowly() {
        let mut depth = Depth::default();
        let after = |depth: &mut Depth, paths: usize, rounds: usize| {
            for _ in 0..rounds {
                depth.checked(paths);
                depth.round(1_000, 1_000);
            }
            depth.steps(1_000)
        };
        assert_eq!(after(&mut depth, 16, 31), 7);
        assert_eq!(after(&mut depth, 16, 1), 6);
        assert_eq!(after(&mut depth, 16, 200), 5);
        assert_eq!(after(&mut depth, 0, 2_000), 8);
        assert!(depth.found.len() <= KEPT_MAX);
    }

    /// CAL-21: written down and read again, it goes on as if nothing had happened.
    #[test]
    fn it_goes_on_where_it_was() {
        let mut depth = Depth::default();
        let mut found = Vec::new();
        for round in 0..200_usize {
            found.push(round % 17);
            depth.checked(round % 17);
            depth.round(1_000, 1_000);
            let (adjust, rounds) = depth.state();
            assert_eq!(Depth::resumed(adjust, rounds, found.iter().copied()), depth);
        }
    }

    #[test]
    fn rounds_without_relations_say_nothing() {
        let mut depth = Depth::default();
        for _ in 0..100 {
            depth.round(0, 0);
        }
        assert_eq!(depth.steps(1_000), 7);
    }
}
