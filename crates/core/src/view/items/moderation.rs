//! Items that were taken out of memory by somebody other than the user who wrote them: in quarantine, or retracted.

use super::{Item, ItemsView, Moment, Quarantine, Row, Version};
use crate::canonical::Hash;
use crate::id::{ItemId, UserId, VersionId};
use crate::item::{Status, Tier};
use crate::log::Entry;

impl ItemsView {
    /// The versions of items that are in quarantine.
    pub fn quarantined(&self) -> impl Iterator<Item = Row> + '_ {
        self.quarantined_items(0).flat_map(|(_, item)| item.versions.iter().copied())
    }

    /// The items that are in quarantine, from a row on.
    pub fn quarantined_items(&self, from: Row) -> impl Iterator<Item = (Row, &Item)> {
        self.quarantined.range(from..).filter_map(|row| Some((*row, self.items.get(*row as usize)?)))
    }

    /// The version that would be the head of an item if it were not in quarantine; nothing if it is not.
    #[must_use]
    pub fn head_in_quarantine<'a>(&'a self, item: &'a Item, at: Moment) -> Option<&'a Version> {
        if !item.is_quarantined_at(at.lsn) {
            return None;
        }
        self.versions_of(item).rev().find(|version| self.is_active_at(version, at))
    }

    /// The shared versions of a user that somebody else retracted or put under quarantine, the newest of each sort first, at
    /// most so many of each.
    pub fn moderated(&self, user: UserId, most: usize) -> impl Iterator<Item = &Version> {
        let retracted = self.taken_back.get(&user).into_iter().flatten().rev().take(most);
        let by_another =
            move |item: &&Item| item.quarantine().is_some_and(|one| one.by.user.is_some_and(|by| by != user));
        let items = self.quarantined.iter().rev().filter_map(|row| self.items.get(*row as usize));
        let suspect = items.filter(by_another).filter_map(|item| self.version(*item.versions.last()?));
        let own = suspect.filter(move |version| version.owner == user && version.tier == Tier::Shared);
        retracted.filter_map(|row| self.version(*row)).chain(own.take(most))
    }

    /// Whether somebody else took a shared version of a user with this content back, or put it under quarantine.
    #[must_use]
    pub fn was_moderated(&self, user: UserId, content: &Hash) -> bool {
        self.moderated(user, usize::MAX).any(|version| version.prints.content == *content)
    }

    /// Whether somebody other than its user took the last version of a shared item back, or put the item under quarantine.
    #[must_use]
    pub fn is_moderated(&self, item: &Item) -> bool {
        let last = self.versions_of(item).next_back();
        last.is_some_and(|last| {
            let by = item.quarantine().and_then(|one| one.by.user);
            is_taken_back(last) || by.is_some_and(|by| by != last.owner)
        })
    }

    /// Notes that a version was taken back by somebody other than its user, and whether they found it false. Whoever takes back
    /// what is their own says nothing of whether it was true (AM-6).
    pub(super) fn challenge(&mut self, version: VersionId, by: Option<UserId>, found_false: bool) {
        let Some(row) = self.version_of.get(&version).copied() else { return };
        if let Some(version) = self.versions.get_mut(row as usize) {
            let by_another = by.is_some_and(|user| user != version.owner);
            version.removed |= by_another;
            version.challenged |= by_another && found_false;
        }
    }

    /// Notes a version that ended as one that was taken back, if somebody other than its user did that.
    pub(super) fn note_taken_back(&mut self, row: Row) {
        let Some(version) = self.versions.get(row as usize) else { return };
        if is_taken_back(version) {
            self.taken_back.entry(version.owner).or_default().insert(row);
        }
    }

    /// Puts an item under quarantine, or another quarantine in place of the one that it is in; or ends it.
    pub(super) fn quarantine(&mut self, item: ItemId, entry: &Entry, on: bool) {
        let Some(row) = self.item_of.get(&item).copied() else { return };
        let Some(item) = self.items.get_mut(row as usize) else { return };
        item.quarantine = on.then_some(Quarantine { by: entry.actor, since: entry.time, lsn: entry.lsn });
        if item.is_quarantined_at(entry.lsn) == on {
            return;
        }
        item.quarantines.push(entry.lsn);
        if on {
            self.quarantined.insert(row);
        } else {
            self.quarantined.remove(&row);
        }
    }
}

/// Whether a version of the shared pool was retracted by somebody other than its user.
pub(super) fn is_taken_back(version: &Version) -> bool {
    let is_retracted = matches!(version.ended, Some((_, Status::Retracted)));
    version.removed && is_retracted && version.tier == Tier::Shared
}
