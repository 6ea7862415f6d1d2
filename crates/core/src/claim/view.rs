//! Claims by row: which known ones are about the same as a new one?
//!
//! A row is found by what it shares with the claim, rare words first. Words that cannot lift a row over the floor alone are
//! not looked up, so the answer is exact while the limits hold.

use super::{Claim, Features, SIGMA_TOPIC, contradiction};
use crate::view::Row;
use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};
use std::collections::{HashMap, HashSet};

/// Postings that one look-up reads.
const POSTINGS_MAX: usize = 200_000;
/// The least similarity of statements that are compared in other words.
pub const REWORDED_FLOOR: f64 = 0.1;
/// Claims that one look-up compares in full.
const COMPARED_MAX: usize = 4_096;

/// Claims by row, to find the neighbours of a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimsView {
    claims: Vec<Claim>,
    norms: Vec<u32>,
    /// Rows in order, by what they hold; derived from the claims.
    postings: HashMap<u32, Vec<Row>>,
    /// Rows in order, by the property with one value that they give; derived from the claims.
    slots: HashMap<u64, Vec<Row>>,
}

impl ClaimsView {
    /// Adds the claim of the next row; an empty one for a version without text.
    pub fn push(&mut self, claim: Claim) {
        let row = self.claims.len() as Row;
        for key in claim.keys() {
            self.postings.entry(key).or_default().push(row);
        }
        if let Some(slot) = slot(&claim) {
            self.slots.entry(slot).or_default().push(row);
        }
        self.norms.push(claim.norm());
        self.claims.push(claim);
    }

    /// Rows so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// The claim of a row.
    #[must_use]
    pub fn get(&self, row: Row) -> Option<&Claim> {
        self.claims.get(row as usize)
    }

    /// Forgets what an ended version claimed; the row stays, empty.
    pub fn forget(&mut self, row: Row) {
        let Some(claim) = self.claims.get_mut(row as usize).map(std::mem::take) else { return };
        if let Some(norm) = self.norms.get_mut(row as usize) {
            *norm = 0;
        }
        for key in claim.keys() {
            leave(&mut self.postings, &key, row);
        }
        if let Some(slot) = slot(&claim) {
            leave(&mut self.slots, &slot, row);
        }
    }

    /// The rows about the same: the nearest as by [`Self::nearest`], and after them those that give the same property of the
    /// same thing, where it has one value, however far their words are (D6); of these, the newest and at most `limit` too.
    pub fn about(
        &self,
        claim: &Claim,
        limit: usize,
        floor: f64,
        mut admits: impl FnMut(Row) -> bool,
    ) -> Vec<(Row, f64)> {
        let mut rows = self.nearest(claim, limit, floor, &mut admits);
        let near: HashSet<Row> = rows.iter().map(|(row, _)| *row).collect();
        let slot = slot(claim).and_then(|slot| self.slots.get(&slot)).map_or(&[] as &[Row], Vec::as_slice);
        let others = slot.iter().rev().filter(|row| !near.contains(row) && admits(**row)).take(limit);
        let similarity = |row: Row| self.get(row).map_or(0.0, |other| claim.similarity(other));
        rows.extend(others.map(|row| (*row, similarity(*row))));
        self.add_reworded(claim, limit, &mut rows, admits);
        rows
    }

    /// Adds what contradicts the claim in other words, among the rows that share less with it than the others found.
    fn add_reworded(
        &self,
        claim: &Claim,
        limit: usize,
        rows: &mut Vec<(Row, f64)>,
        mut admits: impl FnMut(Row) -> bool,
    ) {
        let known: HashSet<Row> = rows.iter().map(|(row, _)| *row).collect();
        let beside = |row: Row| !known.contains(&row) && admits(row);
        let near = self.nearest(claim, limit, REWORDED_FLOOR, beside);
        let contradicts =
            |row: Row| self.get(row).is_some_and(|other| contradiction(other, claim, SIGMA_TOPIC).is_some());
        rows.extend(near.into_iter().filter(|(row, _)| contradicts(*row)));
    }

    /// The nearest rows among those that `admits` lets through, best first: similarity above `floor`, at most `limit`.
    ///
    /// A floor below 0 is 0: what shares nothing is no neighbour.
    pub fn nearest(
        &self,
        claim: &Claim,
        limit: usize,
        floor: f64,
        mut admits: impl FnMut(Row) -> bool,
    ) -> Vec<(Row, f64)> {
        let floor = floor.max(0.0);
        let (shared, skipped) = self.shared(claim, floor);
        let mut best: Vec<(Row, f64)> = Vec::with_capacity(limit.min(64));
        for (bound, row) in self.hopeful(claim, &shared, skipped, floor).into_iter().take(COMPARED_MAX) {
            let worst =
                if best.len() == limit { best.last().map_or(floor, |(_, worst)| *worst) } else { floor };
            if bound < worst || limit == 0 {
                break;
            }
            if !admits(row) {
                continue;
            }
            let similarity = self.get(row).map_or(0.0, |other| claim.similarity(other));
            if similarity > floor {
                insert(&mut best, limit, (row, similarity));
            }
        }
        best
    }

    /// What each row shares with the claim, and how much the words that were not looked up could add.
    fn shared(&self, claim: &Claim, floor: f64) -> (Vec<u32>, u32) {
        let mut lists: Vec<(&[Row], u32)> = claim
            .keys()
            .map(|key| (self.postings.get(&key).map_or(&[] as &[Row], Vec::as_slice), Features::weight(key)))
            .collect();
        lists.sort_by_key(|(rows, weight)| (rows.len(), std::cmp::Reverse(*weight)));
        let budget = floor * floor * f64::from(claim.norm());
        let (mut skipped, mut read) = (0u32, 0usize);
        let mut total: usize = lists.iter().map(|(rows, _)| rows.len()).sum();
        while let Some((rows, weight)) = lists.last() {
            let within = f64::from(skipped + weight) <= budget && !rows.is_empty();
            if !within && total <= POSTINGS_MAX {
                break;
            }
            (skipped, total) = (skipped + weight, total - rows.len());
            lists.pop();
        }
        let mut shared = vec![0u32; self.claims.len()];
        for (rows, weight) in lists {
            for row in rows {
                if let Some(sum) = shared.get_mut(*row as usize) {
                    *sum += weight;
                    read += 1;
                }
            }
        }
        debug_assert!(read <= total);
        (shared, skipped)
    }

    /// Rows that may lie above the floor, with the most that their similarity can be, best first.
    fn hopeful(&self, claim: &Claim, shared: &[u32], skipped: u32, floor: f64) -> Vec<(f64, Row)> {
        let own = f64::from(claim.norm());
        let bound = |sum: u32, norm: u32| {
            let most = f64::from((sum + skipped).min(norm));
            most / (own * f64::from(norm)).sqrt()
        };
        let rows = (0..).zip(shared.iter().zip(&self.norms));
        let mut hopeful: Vec<(f64, Row)> = rows
            .filter(|(_, (sum, norm))| **sum > 0 && **norm > 0)
            .map(|(row, (sum, norm))| (bound(*sum, *norm), row))
            .filter(|(bound, _)| *bound > floor)
            .collect();
        let order = |a: &(f64, Row), b: &(f64, Row)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if hopeful.len() > COMPARED_MAX {
            hopeful.select_nth_unstable_by(COMPARED_MAX, order);
            hopeful.truncate(COMPARED_MAX);
        }
        hopeful.sort_unstable_by(order);
        hopeful
    }
}

fn slot(claim: &Claim) -> Option<u64> {
    claim.said.as_ref()?.slot()
}

/// Takes a row out of the list of a key.
fn leave<Key: std::hash::Hash + Eq>(lists: &mut HashMap<Key, Vec<Row>>, key: &Key, row: Row) {
    let Some(rows) = lists.get_mut(key) else { return };
    if let Ok(at) = rows.binary_search(&row) {
        rows.remove(at);
    }
    if rows.is_empty() {
        lists.remove(key);
    }
}

/// Keeps the best, the older row first among equals.
fn insert(best: &mut Vec<(Row, f64)>, limit: usize, found: (Row, f64)) {
    let before = |known: &(Row, f64)| known.1 > found.1 || (known.1 == found.1 && known.0 < found.0);
    let at = best.partition_point(before);
    if at < limit {
        best.insert(at, found);
        best.truncate(limit);
    }
}

impl<C> Encode<C> for ClaimsView {
    fn encode<W: Write>(
        &self,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        self.claims.encode(encoder, context)
    }
}

impl<'b, C> Decode<'b, C> for ClaimsView {
    fn decode(decoder: &mut Decoder<'b>, context: &mut C) -> Result<Self, DecodeError> {
        let mut view = Self::default();
        for claim in Vec::<Claim>::decode(decoder, context)? {
            view.push(claim);
        }
        view.postings.values_mut().for_each(Vec::shrink_to_fit);
        Ok(view)
    }
}
