//! What is hidden and what never was: both are looked for by the same steps (SHARE-41).
//!
//! Invariant (a miss costs what a refusal costs): for an id that never was, another item stands in and is asked whether it
//! could be seen, whatever the answer. So how long a reply takes does not tell which of the two it was.

use super::{Item, ItemsView, Moment, Version};
use crate::access::Predicate;
use crate::id::ItemId;
use std::hint::black_box;

impl ItemsView {
    /// The head of an item that a caller may see.
    #[must_use]
    pub fn visible_head(&self, id: ItemId, predicate: &Predicate, at: Moment) -> Option<(&Item, &Version)> {
        let (item, is_it) = self.item_or_other(id)?;
        let head = self.head_at(item, at);
        let seen = black_box(head.filter(|head| predicate.admits(head)));
        seen.filter(|_| is_it).map(|head| (item, head))
    }

    /// The item, if any of its versions is visible.
    #[must_use]
    pub fn visible_item(&self, id: ItemId, predicate: &Predicate) -> Option<&Item> {
        let (item, is_it) = self.item_or_other(id)?;
        let seen = black_box(self.versions_of(item).any(|version| predicate.admits(version)));
        (seen && is_it).then_some(item)
    }

    /// An item, or for an id that never was always the same other one.
    fn item_or_other(&self, id: ItemId) -> Option<(&Item, bool)> {
        let row = self.item_of.get(&id).map(|row| *row as usize);
        // Ids are drawn by chance, so a part of one says where in the whole of the rows to look.
        let other = || {
            let part = id.as_bytes().first_chunk().map_or(0, |part| u64::from_le_bytes(*part));
            ((u128::from(part) * self.items.len() as u128) >> u64::BITS) as usize
        };
        Some((self.items.get(row.unwrap_or_else(other))?, row.is_some()))
    }
}
