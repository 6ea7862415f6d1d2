//! What versions are found by besides their ids: fingerprints, who wrote them, what they derive from.

use super::moderation::is_taken_back;
use super::{Alike, ClassLists, Item, ItemsView, Moment, Place, Row, Version};
use crate::canonical::Hash;
use crate::gate::Likeness;
use crate::id::{AgentId, ItemId, VersionId};
use crate::item::{Layer, Status, Tier};
use crate::log::{Lsn, Prints};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

impl Alike {
    fn rows(&self) -> &[Row] {
        match self {
            Self::One(row) => std::slice::from_ref(row),
            Self::Several(rows) => rows,
        }
    }

    fn add(all: &mut HashMap<Place, Self>, place: Place, row: Row) {
        match all.entry(place) {
            Entry::Vacant(free) => drop(free.insert(Self::One(row))),
            Entry::Occupied(mut taken) => match taken.get_mut() {
                Self::Several(rows) => rows.push(row),
                Self::One(first) => *taken.get_mut() = Self::Several(vec![*first, row]),
            },
        }
    }

    fn remove(all: &mut HashMap<Place, Self>, place: Place, row: Row) {
        let Entry::Occupied(mut taken) = all.entry(place) else { return };
        if let Self::Several(rows) = taken.get_mut() {
            rows.retain(|one| *one != row);
        }
        match taken.get().rows() {
            [one] if *one == row => drop(taken.remove()),
            [one] => *taken.get_mut() = Self::One(*one),
            _ => {}
        }
    }
}

impl ItemsView {
    /// The copy in the shared pool of a private item.
    #[must_use]
    pub fn copy_of(&self, item: ItemId) -> Option<&Item> {
        self.items.get(*self.copy_of.get(&item)? as usize)
    }

    /// The versions that a version derives from or cites.
    pub fn sources_of<'a>(&'a self, version: &'a Version) -> impl Iterator<Item = &'a Version> {
        version.sources.iter().filter_map(|row| self.version(*row))
    }

    /// The versions that derive from a version or cite it.
    pub fn dependents_of(&self, version: VersionId) -> impl Iterator<Item = &Version> {
        let row = self.version_of.get(&version);
        let rows = row.and_then(|row| self.derived.get(row)).map_or(&[] as &[Row], Vec::as_slice);
        rows.iter().filter_map(|row| self.version(*row))
    }

    /// The versions that an agent wrote, oldest first.
    pub fn written_by(&self, agent: AgentId) -> impl DoubleEndedIterator<Item = &Version> {
        let rows = self.written_by.get(&agent).map_or(&[] as &[Row], Vec::as_slice);
        rows.iter().filter_map(|row| self.version(*row))
    }

    /// How many versions an agent wrote in a session.
    #[must_use]
    pub fn in_session(&self, session: &Hash) -> u32 {
        self.in_session.get(session).copied().unwrap_or(0)
    }

    /// The newest active version with this content, or else with this triple in another content, in a namespace and layer, among
    /// those that are seen: one that is hidden stands before no other (SHARE-42). `seen` is told how a version is alike.
    #[must_use]
    pub fn twin(
        &self,
        prints: &Prints,
        namespace: &str,
        layer: Layer,
        at: Moment,
        seen: impl Fn(&Version, Likeness) -> bool,
    ) -> Option<(&Version, Likeness)> {
        let namespace = self.namespaces.iter().position(|known| known == namespace)? as u32;
        let is_wanted =
            |version: &Version, likeness| self.is_active_at(version, at) && seen(version, likeness);
        let same = self.content_of.get(&(prints.content, namespace, layer)).map_or(&[][..], Alike::rows);
        let exact = same.iter().rev().filter_map(|row| self.version(*row));
        let exact = exact.into_iter().find(|version| is_wanted(version, Likeness::Exact));
        let structural = || {
            let alike = self.triple_of.get(&(prints.triple?, namespace, layer))?.rows();
            let same: HashSet<Row> = same.iter().copied().collect();
            let others = alike.iter().rev().filter(|row| !same.contains(*row));
            let mut versions = others.filter_map(|row| self.version(*row));
            versions.find(|version| is_wanted(version, Likeness::Structural))
        };
        match exact {
            Some(version) => Some((version, Likeness::Exact)),
            None => Some((structural()?, Likeness::Structural)),
        }
    }

    /// Where a version was last found invalid.
    #[must_use]
    pub const fn last_challenge(&self) -> Lsn {
        self.last_challenge
    }

    /// Whether a version with this content was ever retracted.
    #[must_use]
    pub fn was_retracted(&self, content: &Hash) -> bool {
        self.retracted.contains(content)
    }

    /// Takes a version into what versions are found by.
    pub(super) fn recognise(&mut self, version: &Version, row: Row) {
        if version.ended.is_none() {
            let place = |print| (print, version.namespace, version.layer);
            Alike::add(&mut self.content_of, place(version.prints.content), row);
            if let Some(triple) = version.prints.triple {
                Alike::add(&mut self.triple_of, place(triple), row);
            }
        }
        if let Some((_, Status::Retracted)) = version.ended {
            self.retracted.insert(version.prints.content);
        }
        if is_taken_back(version) {
            self.taken_back.entry(version.owner).or_default().insert(row);
        }
        if let Some(origin) = version.origin {
            self.copy_of.insert(origin, version.item);
        }
        if let Some(agent) = version.agent {
            self.written_by.entry(agent).or_default().push(row);
        }
        for source in &version.sources {
            self.derived.entry(*source).or_default().push(row);
        }
        if let Some(session) = version.prints.session {
            *self.in_session.entry(session).or_default() += 1;
        }
    }

    /// Takes a version that has ended out of what active ones are found by.
    pub(super) fn unrecognise(&mut self, row: Row, status: Status) {
        let Some(version) = self.versions.get(row as usize) else { return };
        let place = |print| (print, version.namespace, version.layer);
        Alike::remove(&mut self.content_of, place(version.prints.content), row);
        if let Some(triple) = version.prints.triple.map(place) {
            Alike::remove(&mut self.triple_of, triple, row);
        }
        if status == Status::Retracted {
            self.retracted.insert(version.prints.content);
            self.note_taken_back(row);
        }
    }

    /// Makes everything that a checkpoint leaves out.
    pub(in crate::view) fn index(&mut self) {
        self.item_of = self.items.iter().enumerate().map(|(row, item)| (item.id, row as Row)).collect();
        self.version_of =
            self.versions.iter().enumerate().map(|(row, version)| (version.id, row as Row)).collect();
        self.class_of = self.classes.iter().cloned().zip(0..).collect();
        self.class_lists = ClassLists::of(&self.classes);
        let in_quarantine = |(_, item): &(usize, &Item)| item.quarantines.len() % 2 == 1;
        self.quarantined =
            self.items.iter().enumerate().filter(in_quarantine).map(|(row, _)| row as Row).collect();
        (self.owned, self.pooled) = (HashMap::new(), Vec::new());
        for (row, item) in self.items.iter().enumerate() {
            let first = item.versions.first().and_then(|first| self.versions.get(*first as usize));
            match first.map(|first| (first.tier, first.owner)) {
                Some((Tier::Private, owner)) => self.owned.entry(owner).or_default().push(row as Row),
                Some((Tier::Shared, _)) => self.pooled.push(row as Row),
                None => {}
            }
        }
        (self.live, self.shared) = (HashMap::new(), BTreeMap::new());
        self.ended.clear();
        for (row, version) in self.versions.iter().enumerate() {
            if let Some((lsn, _)) = version.ended {
                self.ended.push((lsn, row as Row));
            }
            *self.layer_versions.entry(version.counted_with()).or_default() += 1;
            if row >= self.lapsed as usize {
                self.token_of.insert(version.token, row as Row);
                if let Some(request) = version.request {
                    self.request_of.insert(request, row as Row);
                }
            }
        }
        self.ended.sort_unstable();
        let versions = std::mem::take(&mut self.versions);
        for (row, version) in versions.iter().enumerate() {
            if version.ended.is_none() {
                self.enliven(version, row as Row);
            }
            self.recognise(version, row as Row);
        }
        self.versions = versions;
    }
}
