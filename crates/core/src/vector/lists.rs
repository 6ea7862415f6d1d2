//! An inverted file: every row in the list of its nearest centroid, with its code, so that a list is read in one go.
//!
//! Invariant (every row in one list): once adopted, the lists hold each row of the view exactly once. A probe that goes
//! through all lists has therefore seen every row, and a short answer is a complete one.

use super::centroids::Centroids;
use super::codes::Codes;
use super::kernel::{Coding, Query, Scan};
use super::shortlist::{Ordered, Shortlist};
use super::visible::Visible;
use crate::view::Row;
use roaring::RoaringBitmap;
use std::collections::BinaryHeap;

/// The number of no list.
const NONE: u16 = u16::MAX;
/// A probe ends when so many rows in a row, seen or not, did not change what the answer has to reach: whoever sees half of the
/// rows looks through as many lists as one who sees all,
const VAIN_MIN: u64 = 6_000;
/// so many of them may be seen and qualify, however many more lists that takes,
const VAIN_SEEN_MIN: u64 = VAIN_MIN / 4;
/// and they are at least one in so many of all that it compared: where vectors hardly gather, it looks further.
const VAIN_SHARE: u64 = 2;

/// Rows by centroid.
#[derive(Debug)]
pub struct Lists {
    centroids: Centroids,
    lists: Vec<List>,
    list_of: Vec<u16>,
    rows: RoaringBitmap,
    /// How many rows there were when the lists were made.
    pub(super) made_for: u64,
}

#[derive(Debug)]
struct List {
    rows: Vec<Row>,
    codes: Codes,
}

impl Lists {
    /// Lists without rows, one a centroid.
    #[must_use]
    pub fn new(centroids: Centroids) -> Self {
        let dimensions = centroids.dimensions();
        let list = |_| List { rows: Vec::new(), codes: Codes::new(dimensions) };
        Self {
            lists: (0..centroids.len()).map(list).collect(),
            centroids,
            list_of: Vec::new(),
            rows: RoaringBitmap::new(),
            made_for: 0,
        }
    }

    /// The rows that are in a list.
    #[must_use]
    pub const fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    pub(super) const fn centroids(&self) -> &Centroids {
        &self.centroids
    }

    /// The number of the list that a row is in.
    pub(super) fn list_of(&self, row: Row) -> Option<u16> {
        self.list_of.get(row as usize).copied().filter(|list| *list != NONE)
    }

    /// Puts a row into the list of its nearest centroid.
    pub(super) fn put_nearest(&mut self, row: Row, unit: &[f32], code: &[i8], coding: Coding) {
        let list = self.centroids.nearest(&Query::new(unit.to_vec()));
        self.put(row, list, code, coding);
    }

    pub(super) fn put(&mut self, row: Row, list: usize, code: &[i8], coding: Coding) {
        let number = u16::try_from(list).unwrap_or(NONE);
        let Some(list) = self.lists.get_mut(list) else { return };
        list.rows.push(row);
        list.codes.push(code, coding);
        if self.list_of.len() <= row as usize {
            self.list_of.resize(row as usize + 1, NONE);
        }
        if let Some(of) = self.list_of.get_mut(row as usize) {
            *of = number;
        }
        self.rows.insert(row);
    }

    pub(super) fn remove(&mut self, row: Row) {
        let Some(number) = self.list_of(row) else { return };
        let Some(list) = self.lists.get_mut(usize::from(number)) else { return };
        if let Some(place) = list.rows.iter().position(|other| *other == row) {
            list.rows.swap_remove(place);
            list.codes.swap_remove(place);
        }
        if let Some(of) = self.list_of.get_mut(row as usize) {
            *of = NONE;
        }
        self.rows.remove(row);
    }
}

impl List {
    /// Offers the rows that may be seen, and says how many those were.
    #[inline(always)]
    fn offer(&self, query: &Query, visible: &Visible<'_>, shortlist: &mut Shortlist<'_>) -> u64 {
        let mut seen = 0;
        for (row, (code, coding)) in self.rows.iter().zip(self.codes.iter()) {
            if visible.holds(*row) {
                seen += 1;
                shortlist.offer(*row, query.cosine(code, coding), query.error(coding));
            }
        }
        shortlist.settle();
        seen
    }
}

/// Looks through the lists, nearest first, until more would not change the answer.
pub(super) struct Probe<'a, 'b> {
    pub(super) lists: &'a Lists,
    pub(super) query: &'a Query,
    pub(super) visible: &'a Visible<'a>,
    pub(super) shortlist: &'a mut Shortlist<'b>,
}

impl Scan for Probe<'_, '_> {
    /// How many rows were compared.
    type Found = u64;

    #[inline(always)]
    fn scan(self) -> u64 {
        let cosines = self.lists.centroids.cosines(self.query).map(Ordered);
        let mut nearest: BinaryHeap<(Ordered, usize)> = cosines.zip(0..).collect();
        let (mut seen, mut vain, mut passed) = (0, 0, 0);
        while let Some(list) = nearest.pop().and_then(|(_, at)| self.lists.lists.get(at)) {
            let floor = self.shortlist.floor();
            let offered = list.offer(self.query, self.visible, self.shortlist);
            seen += offered;
            let better = self.shortlist.floor() > floor;
            vain = if better { 0 } else { vain + offered };
            passed = if better { 0 } else { passed + list.rows.len() as u64 };
            if self.shortlist.is_full() && self.is_enough(seen, vain, passed) {
                break;
            }
        }
        seen
    }
}

impl Probe<'_, '_> {
    fn is_enough(&self, seen: u64, vain: u64, passed: u64) -> bool {
        passed >= VAIN_MIN && self.shortlist.share_of(vain) >= VAIN_SEEN_MIN && vain * VAIN_SHARE >= seen
    }
}
