//! Which rows can still be among the best, while a scan is under way.
//!
//! Invariant (nothing dropped that could win): a row is dropped only when `k` admitted rows are certainly nearer, so
//! the best of what is kept are the best of all that was offered. The kept rows are then measured exactly.

use super::{Near, UNWEIGHED};
use crate::view::Row;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::mem;

/// Kept rows before the first sweep.
const KEPT_MIN: usize = 256;
/// Offered rows that wait for their weight.
const WAITING_MAX: usize = 32;

/// A cosine that has an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ordered(pub(super) f32);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

struct Kept {
    row: Row,
    /// It counts at most this.
    most: f32,
}

pub(super) struct Shortlist<'a> {
    k: usize,
    admits: &'a dyn Fn(Row) -> bool,
    weights: &'a [f32],
    /// The `k` best of what rows count at least.
    least: BinaryHeap<Reverse<Ordered>>,
    /// The least of those, once there are `k`.
    floor: f32,
    /// What a cosine has to reach, whatever it counts: most rows fail here, before their weight is looked up. No weight is above
    /// 1, and below 0 a small one helps.
    hurdle: f32,
    /// Offered rows with their cosines and how far those may be off, until their weights are looked up.
    waiting: Vec<(Row, f32, f32)>,
    kept: Vec<Kept>,
    sweep_at: usize,
    asked: u64,
    admitted: u64,
}

impl<'a> Shortlist<'a> {
    pub(super) fn new(k: usize, admits: &'a dyn Fn(Row) -> bool, weights: &'a [f32]) -> Self {
        Self {
            k,
            admits,
            weights,
            least: BinaryHeap::new(),
            floor: f32::NEG_INFINITY,
            hurdle: f32::NEG_INFINITY,
            waiting: Vec::with_capacity(WAITING_MAX),
            kept: Vec::new(),
            sweep_at: KEPT_MIN,
            asked: 0,
            admitted: 0,
        }
    }

    /// Whether it holds as many as were asked for.
    pub(super) fn is_full(&self) -> bool {
        self.least.len() >= self.k
    }

    /// What a further row has to reach.
    pub(super) const fn floor(&self) -> f32 {
        self.floor
    }

    /// About how many of so many offered rows qualify, judged by those that were asked about.
    pub(super) fn share_of(&self, offered: u64) -> u64 {
        offered.saturating_mul(self.admitted).checked_div(self.asked).unwrap_or(0)
    }

    /// Offers a row whose cosine is within `error` of `cosine`.
    #[inline(always)]
    pub(super) fn offer(&mut self, row: Row, cosine: f32, error: f32) {
        if cosine + error >= self.hurdle {
            self.waiting.push((row, cosine, error));
            if self.waiting.len() >= WAITING_MAX {
                self.settle();
            }
        }
    }

    /// Considers what was offered. Weights lie far apart in memory: those of several rows are fetched at the same time.
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        let mut waiting = mem::take(&mut self.waiting);
        for (row, cosine, error) in waiting.drain(..) {
            let weight = self.weight(row);
            if weight * (cosine + error) >= self.floor {
                self.consider(row, weight * cosine, weight * error);
            }
        }
        self.waiting = waiting;
    }

    #[inline(always)]
    fn weight(&self, row: Row) -> f32 {
        self.weights.get(row as usize).copied().unwrap_or(UNWEIGHED)
    }

    #[inline(never)]
    fn consider(&mut self, row: Row, counted: f32, error: f32) {
        self.asked += 1;
        if self.k == 0 || !(self.admits)(row) {
            return;
        }
        self.admitted += 1;
        self.kept.push(Kept { row, most: counted + error });
        self.raise(counted - error);
        if self.kept.len() >= self.sweep_at {
            self.kept.retain(|kept| kept.most >= self.floor);
            self.sweep_at = KEPT_MIN.max(self.kept.len() * 2);
        }
    }

    fn raise(&mut self, least: f32) {
        if self.is_full() {
            if least <= self.floor {
                return;
            }
            self.least.pop();
        }
        self.least.push(Reverse(Ordered(least)));
        if self.is_full() {
            self.floor = self.least.peek().map_or(f32::NEG_INFINITY, |Reverse(Ordered(floor))| *floor);
            self.hurdle = if self.floor > 0.0 { self.floor } else { f32::NEG_INFINITY };
        }
    }

    /// The best, measured exactly: nearest first, ties to the newer.
    #[inline(always)]
    pub(super) fn best(mut self, exact: impl Fn(Row) -> Option<f32>) -> Vec<Near> {
        self.settle();
        let live = self.kept.iter().filter(|kept| kept.most >= self.floor);
        let measured = live.filter_map(|kept| {
            let cosine = exact(kept.row)?;
            Some(Near { row: kept.row, cosine, counted: self.weight(kept.row) * cosine })
        });
        let mut near: Vec<Near> = measured.collect();
        near.sort_unstable_by_key(|near| Reverse((Ordered(near.counted), near.row)));
        near.truncate(self.k);
        near
    }
}
