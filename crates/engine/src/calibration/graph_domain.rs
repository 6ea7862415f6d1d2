//! What a relation is measured by: the graph of everything that may have a part in its score (CAL-17 to 23, CAL-41).
//!
//! A domain is of one space and holds only what that space dominates: nodes and types that only hidden relations name are not
//! there. It follows from the log, so it can be dropped at any time and comes out the same.

use super::domain::Belongs;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tabellion_core::log::{Lsn, Space};
use tabellion_core::time::Timestamp;
use tabellion_core::trust::Profile;
use tabellion_core::trust::graph::{Components, Link, Links, Matrices, Thresholds};
use tabellion_core::view::{Class, ItemsView, Kind, Moment, Node, RelationsView, Row, Version};

/// Domains kept; beyond that the one that was not used for longest goes.
const DOMAINS_MAX: usize = 8;
/// The share of the nodes that hang together from which on a missing way says something.
const CONNECTED: f64 = 0.5;

/// The graph of a space, as it is counted.
#[derive(Default)]
pub(super) struct GraphDomain {
    /// Rows and ends that were looked at.
    upto: Row,
    ended: usize,
    /// The relations that belong and that no entry has ended.
    rows: RoaringBitmap,
    /// What each node has, in the order of their rows. A score looks at thousands of them.
    bonds: Vec<Vec<Bond>>,
    /// How many of them each node has; one that has none is not there.
    nodes: HashMap<Node, u32>,
    kinds: HashMap<Kind, u32>,
    pub(super) matrices: Matrices,
    components: Components,
    /// Whether a relation went since the components were found.
    torn: bool,
    thresholds: Option<(Profile, Thresholds)>,
}

impl GraphDomain {
    /// Takes in what was committed and what ended since, as far as the relations have been taken apart.
    pub(super) fn catch_up(&mut self, belongs: &Belongs<'_>, relations: &RelationsView, to: Lsn) {
        let items = &belongs.views.items;
        while let Some(version) = items.version(self.upto).filter(|version| version.lsn <= to) {
            let gone = version.ended().is_some_and(|(lsn, _)| lsn <= to);
            if !gone && belongs.admits_version(version) {
                self.add(self.upto, version, relations);
            }
            self.upto += 1;
        }
        for (lsn, row) in items.ended_after(self.ended) {
            if *lsn > to {
                break;
            }
            self.ended += 1;
            self.remove(*row, relations);
        }
        if std::mem::take(&mut self.torn) {
            self.components = Components::default();
            for (from, _, to) in self.rows.iter().filter_map(|row| relations.tied(row)) {
                self.components.join(from, to);
            }
        }
    }

    fn add(&mut self, row: Row, version: &Version, relations: &RelationsView) {
        let Some((from, kind, to)) = relations.tied(row) else { return };
        if !self.rows.insert(row) {
            return;
        }
        let lapses = version.expires_at;
        self.bind(from, Bond { link: Link { kind, other: to, row }, leaves: true, lapses });
        self.bind(to, Bond { link: Link { kind, other: from, row }, leaves: false, lapses });
        self.matrices.add(from, kind, to);
        self.components.join(from, to);
        for node in [from, to] {
            *self.nodes.entry(node).or_default() += 1;
        }
        *self.kinds.entry(kind).or_default() += 1;
        self.thresholds = None;
    }

    fn bind(&mut self, node: Node, bond: Bond) {
        if self.bonds.len() <= node as usize {
            self.bonds.resize_with(node as usize + 1, Vec::new);
        }
        if let Some(bonds) = self.bonds.get_mut(node as usize) {
            bonds.push(bond);
        }
    }

    fn remove(&mut self, row: Row, relations: &RelationsView) {
        if !self.rows.remove(row) {
            return;
        }
        let Some((from, kind, to)) = relations.tied(row) else { return };
        for node in [from, to] {
            if let Some(bonds) = self.bonds.get_mut(node as usize) {
                bonds.retain(|bond| bond.link.row != row);
            }
        }
        self.matrices.remove(from, kind, to);
        less(&mut self.nodes, &from);
        less(&mut self.nodes, &to);
        less(&mut self.kinds, &kind);
        (self.torn, self.thresholds) = (true, None);
    }

    /// The relations that are there, the newest first.
    pub(super) fn latest(&self) -> impl Iterator<Item = Row> + '_ {
        self.rows.iter().rev()
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a node is there.
    pub(super) fn has(&self, node: Node) -> bool {
        self.nodes.contains_key(&node)
    }

    /// The types that are there, in order.
    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        self.kinds.keys().copied().collect()
    }

    /// Whether so much hangs together that a missing way says something.
    pub(super) fn is_connected(&self) -> bool {
        self.components.largest_share(self.nodes()) >= CONNECTED
    }

    /// From when on types go together.
    pub(super) fn thresholds(&mut self, profile: Profile) -> Thresholds {
        match self.thresholds {
            Some((known, thresholds)) if known == profile => thresholds,
            _ => {
                let thresholds = self.matrices.thresholds(profile, self.nodes());
                self.thresholds = Some((profile, thresholds));
                thresholds
            }
        }
    }

    /// The relations that are counted, without what has lapsed or is in quarantine.
    pub(super) fn links<'a>(&'a self, belongs: &Belongs<'a>) -> Counted<'a> {
        let items = &belongs.views.items;
        let ended = items.ended_after(self.ended).iter().map(|(_, row)| *row);
        let gone = items.quarantined().chain(ended).filter(|row| self.rows.contains(*row)).collect();
        Counted { domain: self, items, gone: Cow::Owned(gone), but: None, at: belongs.at }
    }
}

/// A relation as one of its ends has it, and when it lapses.
struct Bond {
    link: Link,
    /// It starts here.
    leaves: bool,
    lapses: Option<Timestamp>,
}

fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u32>, key: &K) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        _ => drop(counts.remove(key)),
    }
}

/// A graph that relations are held against.
pub(super) struct Counted<'a> {
    domain: &'a GraphDomain,
    items: &'a ItemsView,
    /// Relations of the domain that are not there now.
    gone: Cow<'a, RoaringBitmap>,
    but: Option<Row>,
    at: Moment,
}

impl Counted<'_> {
    /// Without one of them.
    pub(super) fn but(&self, row: Option<Row>) -> Counted<'_> {
        Counted { gone: Cow::Borrowed(&self.gone), but: row, ..*self }
    }

    fn has_lapsed(&self, bond: &Bond) -> bool {
        bond.lapses.is_some_and(|end| end <= self.at.time)
            && self
                .items
                .version(bond.link.row)
                .is_none_or(|version| !self.items.is_active_at(version, self.at))
    }

    fn bonds(&self, node: Node) -> impl Iterator<Item = &Bond> {
        let bonds = self.domain.bonds.get(node as usize).map_or(&[] as &[Bond], Vec::as_slice);
        bonds.iter().filter(|bond| {
            let row = bond.link.row;
            !self.has_lapsed(bond)
                && Some(row) != self.but
                && (self.gone.is_empty() || !self.gone.contains(row))
        })
    }
}

impl Links for Counted<'_> {
    fn nodes(&self) -> usize {
        self.domain.nodes()
    }

    fn out(&self, node: Node) -> impl Iterator<Item = Link> {
        self.bonds(node).filter(|bond| bond.leaves).map(|bond| bond.link)
    }

    fn into(&self, node: Node) -> impl Iterator<Item = Link> {
        self.bonds(node).filter(|bond| !bond.leaves).map(|bond| bond.link)
    }

    fn all(&self, node: Node) -> impl Iterator<Item = Link> {
        self.bonds(node).map(|bond| bond.link)
    }
}

/// A space; and the class, where Cedar has a say.
type Place = (Space, Option<Class>);

/// The domains in use, the one that was used last at the end.
#[derive(Default)]
pub(crate) struct GraphDomains(Mutex<Vec<(Place, Arc<Mutex<GraphDomain>>)>>);

impl GraphDomains {
    /// The domain of a space, as it was left.
    pub(super) fn of(&self, space: &Space, class: &Class, by_cedar: bool) -> Arc<Mutex<GraphDomain>> {
        let mut kept = self.0.lock();
        let place: Place = (space.clone(), by_cedar.then(|| class.clone()));
        let is_it = |(known, _): &(Place, Arc<Mutex<GraphDomain>>)| *known == place;
        let found = kept.iter().position(is_it).map(|place| kept.remove(place));
        let found = found.unwrap_or_else(|| (place, Arc::default()));
        if kept.len() >= DOMAINS_MAX {
            kept.remove(0);
        }
        let domain = Arc::clone(&found.1);
        kept.push(found);
        domain
    }
}
