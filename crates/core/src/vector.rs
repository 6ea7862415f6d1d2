//! Which texts lie nearest to a query, among those that the caller may see?
//!
//! A view holds the vectors of one model, by row. A query is answered from the rows that the caller may see and from no
//! others: what is hidden is never measured, and never takes the place of something visible (SHARE-37). A caller who
//! sees few rows has all of them compared; one who sees many is answered from the lists of the nearest centroids.
//!
//! It knows no texts, models or callers: rows come in as a set, and as a last question about a single row.

mod centroids;
mod chance;
mod codes;
mod kernel;
mod lists;
mod plan;
mod segment;
mod shortlist;
mod snapshot;
#[cfg(test)]
mod tests;
mod visible;

pub use centroids::{Centroids, Sample};
pub use lists::Lists;
pub use plan::{Plan, plan};

use crate::view::Row;
use chance::Chance;
use kernel::{Coding, Query, Scan};
use lists::Probe;
use plan::EXACT_ROWS_MAX;
use roaring::RoaringBitmap;
use segment::{Segment, place_of};
use shortlist::Shortlist;
use std::ops::Range;
use visible::Visible;

/// Lists are made anew when there are this many times the rows that they were made for.
const GROWTH_MAX: u64 = 2;
/// Vectors to learn a centroid from.
const SAMPLED_PER_LIST: usize = 24;

/// Why numbers are not a vector of this view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAVector {
    /// Another model's, perhaps.
    #[error("a vector of {found} dimensions where {expected} are expected")]
    Dimensions {
        /// The view's.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// NaN or infinite.
    #[error("a vector that is not finite")]
    NotFinite,
    /// All zero: it points nowhere.
    #[error("a vector without length")]
    NoLength,
}

/// Bytes that are not lists for this view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a snapshot of lists for these vectors")]
pub struct NotLists;

/// What the caller may see.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    /// These rows; all, if it is not said.
    pub rows: Option<&'a RoaringBitmap>,
    /// Whether a row may be seen after all. Asked only of rows that would otherwise be in the answer.
    pub admits: &'a dyn Fn(Row) -> bool,
    /// What each row's cosine counts, by row: the root of how far it is trusted (CAL-35). Rows beyond count [`UNWEIGHED`].
    pub weights: &'a [f32],
}

/// What the cosine of a row counts of which nothing is known: the root of one half.
pub const UNWEIGHED: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// How much a query may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Every row that may be seen is compared.
    Exact,
    /// As planned by how many rows may be seen.
    Planned,
}

/// A row, and how near it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The row.
    pub row: Row,
    /// The cosine of its vector and the query.
    pub cosine: f32,
    /// What that counts: the cosine times the row's weight.
    pub counted: f32,
}

/// The vectors of one model, by row.
#[derive(Debug)]
pub struct VectorView {
    dimensions: usize,
    exact_rows_max: u64,
    segments: Vec<Option<Box<Segment>>>,
    present: RoaringBitmap,
    /// Rows whose vector went or changed at any time: lists that are still being made may hold the old one.
    changed: RoaringBitmap,
    lists: Option<Lists>,
}

impl VectorView {
    /// A view without vectors.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            exact_rows_max: EXACT_ROWS_MAX,
            segments: Vec::new(),
            present: RoaringBitmap::new(),
            changed: RoaringBitmap::new(),
            lists: None,
        }
    }

    /// The dimensions of every vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.present.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Whether a row has a vector.
    #[must_use]
    pub fn contains(&self, row: Row) -> bool {
        self.present.contains(row)
    }

    /// The rows that have a vector.
    #[must_use]
    pub const fn rows(&self) -> &RoaringBitmap {
        &self.present
    }

    /// A row's vector, at unit length.
    #[must_use]
    pub fn vector(&self, row: Row) -> Option<&[f32]> {
        if !self.present.contains(row) {
            return None;
        }
        let (segment, place) = place_of(row);
        self.segment(segment)?.vector(place)
    }

    /// Gives a row its vector, in place of any that it had.
    ///
    /// # Errors
    /// When it is not a vector of this view.
    pub fn insert(&mut self, row: Row, vector: &[f32]) -> Result<(), NotAVector> {
        let unit = kernel::unit(vector, self.dimensions)?;
        self.remove(row);
        let (number, place) = place_of(row);
        if self.segments.len() <= number {
            self.segments.resize_with(number + 1, || None);
        }
        if let Some(slot) = self.segments.get_mut(number) {
            let segment = slot.get_or_insert_with(|| Box::new(Segment::new(self.dimensions)));
            segment.set(place, &unit);
            if let (Some(lists), Some((code, coding))) = (&mut self.lists, segment.codes.get(place)) {
                lists.put_nearest(row, &unit, code, coding);
            }
            self.present.insert(row);
        }
        Ok(())
    }

    /// Takes a row's vector away and zeroes the memory that held it.
    pub fn remove(&mut self, row: Row) {
        if !self.present.remove(row) {
            return;
        }
        self.changed.insert(row);
        let (number, place) = place_of(row);
        if let Some(Some(segment)) = self.segments.get_mut(number) {
            segment.clear(place);
        }
        if let Some(lists) = &mut self.lists {
            lists.remove(row);
        }
    }

    /// The `k` rows nearest to the query among those that may be seen, or all of them if they are fewer: what counts most
    /// first, ties to the newer row. The vectors stay as they are: a row whose weight changes is not indexed anew.
    ///
    /// # Errors
    /// When the query is not a vector of this view.
    pub fn search(
        &self,
        query: &[f32],
        scope: &Allowed<'_>,
        k: usize,
        effort: Effort,
    ) -> Result<Vec<Near>, NotAVector> {
        let query = &Query::new(kernel::unit(query, self.dimensions)?);
        let mut shortlist = Shortlist::new(k, scope.admits, scope.weights);
        match (self.planned(scope, effort), &self.lists) {
            (Plan::Probe, Some(lists)) => {
                let visible = &Visible::new(scope.rows);
                let _compared = kernel::run(Probe { lists, query, visible, shortlist: &mut shortlist });
            }
            (Plan::Scan | Plan::Probe, _) => self.scan(query, scope, &mut shortlist),
        }
        Ok(kernel::run(Measure { view: self, query, shortlist }))
    }

    fn planned(&self, scope: &Allowed<'_>, effort: Effort) -> Plan {
        let total = self.present.len();
        let visible = scope.rows.map_or(total, |rows| self.present.intersection_len(rows));
        match effort {
            Effort::Exact => Plan::Scan,
            Effort::Planned => plan(visible, total, self.exact_rows_max),
        }
    }

    fn scan(&self, query: &Query, scope: &Allowed<'_>, shortlist: &mut Shortlist<'_>) {
        match scope.rows {
            None => kernel::run(Compare { view: self, query, rows: &self.present, shortlist }),
            Some(rows) => {
                kernel::run(Compare { view: self, query, rows: &(&self.present & rows), shortlist })
            }
        }
    }

    #[inline(always)]
    fn segment(&self, number: usize) -> Option<&Segment> {
        self.segments.get(number)?.as_deref()
    }

    #[inline(always)]
    fn code(&self, row: Row) -> Option<(&[i8], Coding)> {
        let (number, place) = place_of(row);
        self.segment(number)?.codes.get(place)
    }

    /// Whether lists should be made: there are many rows and no lists, or many more rows than they were made for.
    #[must_use]
    pub fn wants_lists(&self) -> bool {
        let made_for = self.lists.as_ref().map_or(0, |lists| lists.made_for);
        self.len() > self.exact_rows_max && self.len() >= made_for.saturating_mul(GROWTH_MAX)
    }

    /// How many lists suit so many rows: longer lists cost more to read, more lists cost more to choose from.
    #[must_use]
    pub fn lists_wanted(&self) -> usize {
        (self.len() as f64).sqrt() as usize * 2
    }

    /// Vectors to learn centroids from, and the same for the same seed.
    #[must_use]
    pub fn sample(&self, seed: u64) -> Sample {
        let count = self.lists_wanted() * SAMPLED_PER_LIST;
        let places = Chance::new(seed).places(count, usize::try_from(self.len()).unwrap_or(0));
        let rows = places.iter().filter_map(|place| self.present.select(*place as Row));
        let vectors = rows.filter_map(|row| self.vector(row)).flatten().copied().collect();
        Sample { dimensions: self.dimensions, vectors }
    }

    /// Puts the rows of a range that have a vector into lists that are being made, unless they are in.
    pub fn assign(&self, lists: &mut Lists, rows: Range<Row>) {
        if rows.is_empty() {
            return;
        }
        for row in self.present.range(rows) {
            self.assign_row(lists, row);
        }
    }

    fn assign_row(&self, lists: &mut Lists, row: Row) {
        if !lists.rows().contains(row)
            && let (Some(unit), Some((code, coding))) = (self.vector(row), self.code(row))
        {
            lists.put_nearest(row, unit, code, coding);
        }
    }

    /// Answers from these lists from now on, and gives back those before them: dropping them takes a while.
    /// Rows that came, went or changed since they were assigned are put right first.
    pub fn adopt(&mut self, mut lists: Lists) -> Option<Lists> {
        let stale = (lists.rows() - &self.present) | (lists.rows() & &self.changed);
        stale.iter().for_each(|row| lists.remove(row));
        let missing = &self.present - lists.rows();
        missing.iter().for_each(|row| self.assign_row(&mut lists, row));
        if lists.made_for == 0 {
            lists.made_for = self.len();
        }
        self.lists.replace(lists)
    }
}

/// Compares every row of a set with the query.
struct Compare<'a, 'b> {
    view: &'a VectorView,
    query: &'a Query,
    rows: &'a RoaringBitmap,
    shortlist: &'a mut Shortlist<'b>,
}

impl Scan for Compare<'_, '_> {
    type Found = ();

    #[inline(always)]
    fn scan(self) {
        for row in self.rows {
            if let Some((code, coding)) = self.view.code(row) {
                self.shortlist.offer(row, self.query.cosine(code, coding), self.query.error(coding));
            }
        }
    }
}

/// Measures what a scan kept.
struct Measure<'a, 'b> {
    view: &'a VectorView,
    query: &'a Query,
    shortlist: Shortlist<'b>,
}

impl Scan for Measure<'_, '_> {
    type Found = Vec<Near>;

    #[inline(always)]
    fn scan(self) -> Vec<Near> {
        let (view, query) = (self.view, self.query);
        self.shortlist.best(|row| Some(kernel::dot(&query.unit, view.vector(row)?).clamp(-1.0, 1.0)))
    }
}
