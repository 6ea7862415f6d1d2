//! The rows that a predicate admits, gathered once and kept up while the log grows.
//!
//! Invariant (kept equals gathered): after `follow`, the rows are those that gathering them anew would give.

use super::{ItemsView, Moment, Row};
use crate::access::Predicate;
use roaring::{MultiOps, RoaringBitmap};
use std::borrow::Cow;

/// The rows that a predicate admits and no entry has ended, and how far in the log that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRows {
    predicate: Predicate,
    rows: RoaringBitmap,
    /// Classes, versions and ends that were looked at.
    classes: u32,
    versions: usize,
    ended: usize,
}

impl SeenRows {
    /// Gathers the rows that a predicate admits.
    #[must_use]
    pub fn gather(items: &ItemsView, predicate: &Predicate) -> Self {
        let mut rows = items.shared_rows(predicate);
        rows |= &*items.own_rows(predicate);
        Self {
            predicate: predicate.clone(),
            rows,
            classes: items.classes.len() as u32,
            versions: items.versions.len(),
            ended: items.ended.len(),
        }
    }

    /// The rows.
    #[must_use]
    pub const fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    /// Whether the log has nothing that these rows do not know of, for a predicate.
    #[must_use]
    pub fn is_current(&self, items: &ItemsView, predicate: &Predicate) -> bool {
        (self.versions, self.ended) == (items.versions.len(), items.ended.len()) && self.agrees(predicate)
    }

    /// Brings the rows up to the log and to a predicate of the same owner. What came since is asked one by one; of what there
    /// was, the rows of classes that are admitted no more leave, and those of classes that are now come.
    pub fn follow(&mut self, items: &ItemsView, predicate: &Predicate) {
        if predicate.owner() != self.predicate.owner() {
            *self = Self::gather(items, predicate);
            return;
        }
        let (before, now) = (self.predicate.classes(), predicate.classes());
        let (left, mut came) = (before - now, now - before);
        came.remove_range(self.classes..);
        self.change(items, &left, &came);
        let admits = |row: &Row| items.version(*row).is_some_and(|version| predicate.admits(version));
        self.rows.extend((self.versions as Row..items.versions.len() as Row).filter(admits));
        for (_, row) in items.ended.get(self.ended..).unwrap_or_default() {
            self.rows.remove(*row);
        }
        self.predicate.clone_from(predicate);
        self.classes = items.classes.len() as u32;
        self.versions = items.versions.len();
        self.ended = items.ended.len();
    }

    /// Takes the rows of some classes out and those of others in.
    fn change(&mut self, items: &ItemsView, left: &RoaringBitmap, came: &RoaringBitmap) {
        if left.is_empty() && came.is_empty() {
            return;
        }
        let shared =
            |classes: &RoaringBitmap| classes.iter().filter_map(|one| items.shared.get(&one)).union();
        self.rows -= shared(left);
        self.rows |= shared(came);
        let Some(own) = items.live.get(&self.predicate.owner()) else { return };
        if own.classes.is_disjoint(left) && own.classes.is_disjoint(came) {
            return;
        }
        for row in &own.rows {
            let class = items.version(row).map(|version| version.class);
            if class.is_some_and(|class| left.contains(class)) {
                self.rows.remove(row);
            } else if class.is_some_and(|class| came.contains(class)) {
                self.rows.insert(row);
            }
        }
    }

    /// Whether a predicate admits the same as before of the classes that there were. Every row of a later class came later
    /// than the rows here.
    fn agrees(&self, predicate: &Predicate) -> bool {
        let (before, now) = (self.predicate.classes(), predicate.classes());
        predicate.owner() == self.predicate.owner()
            && now.range_cardinality(0..self.classes) == before.len()
            && before.is_subset(now)
    }

    /// The rows among which everything is that a caller may find at a moment: see [`ItemsView::visible_rows`].
    #[must_use]
    pub fn at<'a>(&'a self, items: &ItemsView, at: Moment) -> Cow<'a, RoaringBitmap> {
        items.with_ended_since(Cow::Borrowed(&self.rows), &self.predicate, at)
    }
}

impl ItemsView {
    /// The rows among which everything is that a caller may find at a moment. Some may have lapsed or be of another time:
    /// each is still to be asked.
    #[must_use]
    pub fn visible_rows(&self, predicate: &Predicate, at: Moment) -> Cow<'_, RoaringBitmap> {
        let mut rows = self.own_rows(predicate);
        let shared = self.shared_rows(predicate);
        if !shared.is_empty() {
            *rows.to_mut() |= shared;
        }
        self.with_ended_since(rows, predicate, at)
    }

    /// Whether anything was ever shared.
    #[must_use]
    pub fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The owner's own rows that are admitted and that no entry has ended.
    fn own_rows(&self, predicate: &Predicate) -> Cow<'_, RoaringBitmap> {
        let seen = |row: &Row| self.version(*row).is_some_and(|version| predicate.admits(version));
        match self.live.get(&predicate.owner()) {
            Some(live) if live.classes.is_subset(predicate.classes()) => Cow::Borrowed(&live.rows),
            Some(live) => Cow::Owned(live.rows.iter().filter(seen).collect()),
            None => Cow::Owned(RoaringBitmap::new()),
        }
    }

    /// The shared rows that are admitted and that no entry has ended.
    fn shared_rows(&self, predicate: &Predicate) -> RoaringBitmap {
        let admitted = self.shared.iter().filter(|(class, _)| predicate.classes().contains(**class));
        admitted.map(|(_, rows)| rows).union()
    }

    /// These rows, with those that ended only after the moment.
    fn with_ended_since<'a>(
        &self,
        mut rows: Cow<'a, RoaringBitmap>,
        predicate: &Predicate,
        at: Moment,
    ) -> Cow<'a, RoaringBitmap> {
        let since = self.ended.partition_point(|(lsn, _)| *lsn <= at.lsn);
        let seen = |row: &Row| self.version(*row).is_some_and(|version| predicate.admits(version));
        let ended = self.ended.get(since..).unwrap_or_default().iter().map(|(_, row)| *row);
        let ended: Vec<Row> = ended.filter(seen).collect();
        if !ended.is_empty() {
            rows.to_mut().extend(ended);
        }
        rows
    }
}
