//! Items and their versions as rows with an interval of the log each, so that any past moment is a filter, not a replay.

mod absent;
mod class;
mod lists;
mod moderation;
mod recognition;
mod seen;
mod version;

pub use class::Class;
pub use lists::ClassLists;
pub use seen::SeenRows;
use version::Numbered;
pub use version::{Item, Quarantine, Version};

use super::Opened;
use crate::access::Predicate;
use crate::canonical::Hash;
use crate::id::{AgentId, ItemId, UserId, VersionId};
use crate::item::{Layer, Operation, Status, Tier};
use crate::log::{Entry, Event, Lsn, WrittenVersion};
use crate::time::{Period, Timestamp};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How long a token answers a replay (GOV-1.7).
const TOKEN_KEPT: Period = Period::from_days(1);

/// A row number: dense, private to the views.
pub type Row = u32;

/// A point of the log and the wall time at which lifetimes are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The position.
    pub lsn: Lsn,
    /// The time.
    pub time: Timestamp,
}

/// Every item and version of a tenant.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct ItemsView {
    #[n(0)]
    items: Vec<Item>,
    #[n(1)]
    versions: Vec<Version>,
    #[n(2)]
    classes: Vec<Class>,
    #[n(3)]
    namespaces: Vec<String>,
    /// The time of each entry, by lsn - 1.
    #[n(4)]
    times: Vec<Timestamp>,
    /// Versions whose token has lapsed.
    #[n(5)]
    lapsed: Row,
    #[cbor(skip)]
    item_of: HashMap<ItemId, Row>,
    #[cbor(skip)]
    version_of: HashMap<VersionId, Row>,
    #[cbor(skip)]
    class_of: HashMap<Class, u32>,
    #[cbor(skip)]
    class_lists: ClassLists,
    #[cbor(skip)]
    token_of: HashMap<Hash, Row>,
    #[cbor(skip)]
    request_of: HashMap<Hash, Row>,
    #[cbor(skip)]
    owned: HashMap<UserId, Vec<Row>>,
    #[cbor(skip)]
    layer_versions: HashMap<Numbered, u64>,
    /// Private versions that no entry has ended, by owner.
    #[cbor(skip)]
    live: HashMap<UserId, Live>,
    /// Shared versions that no entry has ended, by class.
    #[cbor(skip)]
    shared: BTreeMap<u32, RoaringBitmap>,
    /// Items of the shared pool, in order.
    #[cbor(skip)]
    pooled: Vec<Row>,
    /// Versions that an entry has ended, in the order of those entries.
    #[cbor(skip)]
    ended: Vec<(Lsn, Row)>,
    /// Items that are in quarantine.
    #[cbor(skip)]
    quarantined: BTreeSet<Row>,
    /// Versions that no entry has ended, by what they are recognised by, the newest last.
    #[cbor(skip)]
    content_of: HashMap<Place, Alike>,
    #[cbor(skip)]
    triple_of: HashMap<Place, Alike>,
    /// Items of the shared pool by the private item whose copy they are.
    #[cbor(skip)]
    copy_of: HashMap<ItemId, Row>,
    /// Contents that were retracted.
    #[cbor(skip)]
    retracted: HashSet<Hash>,
    /// Shared versions that somebody other than their user took back, by user.
    #[cbor(skip)]
    taken_back: HashMap<UserId, BTreeSet<Row>>,
    /// Versions by the agent that wrote them, in order.
    #[cbor(skip)]
    written_by: HashMap<AgentId, Vec<Row>>,
    /// Versions by what they derive from.
    #[cbor(skip)]
    derived: HashMap<Row, Vec<Row>>,
    /// Where a version was last retracted.
    #[n(6)]
    last_challenge: Lsn,
    /// Writes of an agent in a session.
    #[cbor(skip)]
    in_session: HashMap<Hash, u32>,
}

/// The private versions of one owner.
#[derive(Debug, Clone, Default, PartialEq)]
struct Live {
    rows: RoaringBitmap,
    /// The classes that any of them ever had.
    classes: RoaringBitmap,
}

/// The versions that are recognised by one fingerprint. Nearly always there is one: several only where the writer of the
/// later ones could not see the earlier.
#[derive(Debug, Clone, PartialEq)]
enum Alike {
    One(Row),
    Several(Vec<Row>),
}

/// A fingerprint within a namespace and layer.
type Place = (Hash, u32, Layer);

impl ItemsView {
    /// Items that were ever written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing was ever written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The rows that entries ended, in the order in which they did, but for so many.
    #[must_use]
    pub fn ended_after(&self, known: usize) -> &[(Lsn, Row)] {
        self.ended.get(known..).unwrap_or_default()
    }

    /// Versions that were ever written.
    #[must_use]
    pub fn versions_len(&self) -> usize {
        self.versions.len()
    }

    /// The last position whose entry was committed at or before `time`.
    #[must_use]
    pub fn lsn_at(&self, time: Timestamp) -> Lsn {
        Lsn::new(self.times.partition_point(|entry| *entry <= time) as u64)
    }

    /// The commit time of a position.
    #[must_use]
    pub fn time_of(&self, lsn: Lsn) -> Option<Timestamp> {
        let row = usize::try_from(lsn.get().checked_sub(1)?).ok()?;
        self.times.get(row).copied()
    }

    /// A version by row.
    #[must_use]
    pub fn version(&self, row: Row) -> Option<&Version> {
        self.versions.get(row as usize)
    }

    /// The version that was written at a position.
    #[must_use]
    pub fn row_at(&self, lsn: Lsn) -> Option<Row> {
        let row = self.versions.binary_search_by_key(&lsn, |version| version.lsn).ok()?;
        Row::try_from(row).ok()
    }

    /// The row of a version.
    #[must_use]
    pub fn row_of(&self, id: VersionId) -> Option<Row> {
        self.version_of.get(&id).copied()
    }

    /// A version by id.
    #[must_use]
    pub fn find_version(&self, id: VersionId) -> Option<&Version> {
        self.version(*self.version_of.get(&id)?)
    }

    /// An item by id.
    #[must_use]
    pub fn find_item(&self, id: ItemId) -> Option<&Item> {
        self.items.get(*self.item_of.get(&id)? as usize)
    }

    /// The item of a version.
    #[must_use]
    pub fn item_of(&self, version: &Version) -> Option<&Item> {
        self.items.get(version.item as usize)
    }

    /// What versions were made with, as classes: each row is one.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The classes by what they are made with.
    #[must_use]
    pub const fn class_lists(&self) -> &ClassLists {
        &self.class_lists
    }

    /// The class of a version.
    #[must_use]
    pub fn class_of(&self, version: &Version) -> Option<&Class> {
        self.classes.get(version.class as usize)
    }

    /// The namespace of a version.
    #[must_use]
    pub fn namespace_of(&self, version: &Version) -> &str {
        self.namespaces.get(version.namespace as usize).map_or("", String::as_str)
    }

    /// The versions that a version replaced.
    pub fn parents_of<'a>(&'a self, version: &'a Version) -> impl Iterator<Item = &'a Version> {
        version.parents.iter().filter_map(|row| self.version(*row))
    }

    /// Whether two versions are of one item.
    #[must_use]
    pub const fn is_same_item(&self, one: &Version, other: &Version) -> bool {
        one.item == other.item
    }

    /// The version that took this one's place.
    #[must_use]
    pub fn successor_of(&self, version: &Version) -> Option<&Version> {
        let (lsn, _) = version.ended.filter(|(_, status)| *status == Status::Superseded)?;
        self.version(self.row_at(lsn)?)
    }

    /// Until when a statement held, if a newer one took its place; nothing if it was only worded anew.
    #[must_use]
    pub fn valid_until(&self, version: &Version) -> Option<Timestamp> {
        let successor = self.successor_of(version)?;
        let changed = successor.operation == Operation::Supersede || successor.item != version.item;
        changed.then_some(successor.time)
    }

    /// The last version of an item whose place a version of another item has taken: the item has no head of its own any more.
    #[must_use]
    pub fn replaced_head<'a>(&'a self, item: &'a Item, at: Moment) -> Option<&'a Version> {
        if item.is_quarantined_at(at.lsn) {
            return None;
        }
        let last = self.versions_of(item).rev().find(|version| version.lsn <= at.lsn)?;
        let lives = self.outlives(last, at);
        let ended = last.ended.is_some_and(|(lsn, status)| lsn <= at.lsn && status == Status::Superseded);
        let elsewhere = self.successor_of(last).is_some_and(|successor| successor.item != last.item);
        (lives && elsewhere && ended).then_some(last)
    }

    /// The versions of an item, oldest first.
    pub fn versions_of<'a>(&'a self, item: &'a Item) -> impl DoubleEndedIterator<Item = &'a Version> {
        item.versions.iter().filter_map(|row| self.version(*row))
    }

    /// How a version stood at a moment; nothing if it was not yet written.
    #[must_use]
    pub fn status_at(&self, version: &Version, at: Moment) -> Option<Status> {
        let is_pinned = self.item_of(version).is_some_and(|item| item.is_pinned_at(at.lsn));
        version.status_at(at, is_pinned)
    }

    /// Whether a version was retrievable at a moment.
    #[must_use]
    pub fn is_active_at(&self, version: &Version, at: Moment) -> bool {
        self.status_at(version, at) == Some(Status::Active)
    }

    /// Whether the lifetime of a version is not over at a moment, however it ended. A pin outlasts it.
    #[must_use]
    pub fn outlives(&self, version: &Version, at: Moment) -> bool {
        let is_pinned = self.item_of(version).is_some_and(|item| item.is_pinned_at(at.lsn));
        is_pinned || version.expires_at.is_none_or(|end| at.time < end)
    }

    /// When a version that is past its lifetime at a moment left memory: at its end, or when it was unpinned after that.
    #[must_use]
    pub fn expired_at(&self, version: &Version, at: Moment) -> Option<Timestamp> {
        let end = version.expires_at?;
        if self.status_at(version, at) != Some(Status::Expired) {
            return None;
        }
        let unpinned = self.item_of(version).and_then(|item| item.last_pin_change(at.lsn));
        Some(unpinned.and_then(|lsn| self.time_of(lsn)).map_or(end, |time| time.max(end)))
    }

    /// The head of an item at a moment: its latest active version.
    #[must_use]
    pub fn head_at<'a>(&'a self, item: &'a Item, at: Moment) -> Option<&'a Version> {
        if item.is_quarantined_at(at.lsn) {
            return None;
        }
        let is_pinned = item.is_pinned_at(at.lsn);
        self.versions_of(item).rev().find(|version| version.status_at(at, is_pinned) == Some(Status::Active))
    }

    /// All items, in the order they were made.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// Items among which everything is that may be seen, in the order they were made, from a row on.
    pub fn visible_items<'a>(
        &'a self,
        predicate: &'a Predicate,
        from: Row,
    ) -> impl Iterator<Item = (Row, &'a Item)> {
        let owned = self.owned.get(&predicate.owner()).map_or(&[] as &[Row], Vec::as_slice);
        let after = |rows: &'a [Row]| rows.get(rows.partition_point(|row| *row < from)..).unwrap_or_default();
        let (mut own, mut pool) = (after(owned).iter().peekable(), after(&self.pooled).iter().peekable());
        let rows = std::iter::from_fn(move || match (own.peek(), pool.peek()) {
            (Some(first), Some(second)) if second < first => pool.next(),
            (None, _) => pool.next(),
            (Some(_), _) => own.next(),
        });
        rows.filter_map(|row| Some((*row, self.items.get(*row as usize)?)))
    }

    /// The version that this token committed, while it answers replays. What is `dated` speaks of a moment of its own.
    #[must_use]
    pub fn replayed(&self, token: &Hash, dated: bool, now: Timestamp) -> Option<&Version> {
        let version = self.version(*self.token_of.get(token)?)?;
        let kept = now < version.time.plus(TOKEN_KEPT);
        // Putting back an older content is a new update, not the replay of the update that first brought it.
        // So is saying again what a newer statement has replaced: facts change back. Not for the same moment, though.
        let valid = match version.ended {
            None => true,
            Some((_, status)) => {
                status == Status::Superseded
                    && version.operation == Operation::Insert
                    && (dated || self.valid_until(version).is_none())
            }
        };
        let is_pinned = self.item_of(version).is_some_and(|item| item.pins.len() % 2 == 1);
        let lives = is_pinned || version.expires_at.is_none_or(|end| now < end);
        (kept && valid && lives).then_some(version)
    }

    /// The token that came with this request id, while that is kept.
    #[must_use]
    pub fn requested(&self, request: &Hash, now: Timestamp) -> Option<(&Version, &Hash)> {
        let version = self.version(*self.request_of.get(request)?)?;
        (now < version.time.plus(TOKEN_KEPT)).then_some((version, &version.token))
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened) {
        self.times.push(entry.time);
        self.lapse(entry.time);
        match &entry.event {
            Event::VersionWritten(written) => self.write(entry, written, opened),
            Event::VersionRetracted { version, found_false, .. } => {
                self.last_challenge = entry.lsn;
                self.challenge(*version, entry.actor.user, found_false.unwrap_or(true));
                self.end(*version, entry.lsn, Status::Retracted);
            }
            Event::VersionExpired { version, .. } => self.end(*version, entry.lsn, Status::Expired),
            Event::ItemPinned { item } => self.pin(*item, entry.lsn, true),
            Event::ItemUnpinned { item } => self.pin(*item, entry.lsn, false),
            Event::ItemQuarantined { item } => self.quarantine(*item, entry, true),
            Event::ItemReleased { item } => self.quarantine(*item, entry, false),
            Event::TenantCreated { .. }
            | Event::UserCreated { .. }
            | Event::AgentCreated { .. }
            | Event::ResourceCreated { .. }
            | Event::KeyIssued(_)
            | Event::KeyRevoked { .. }
            | Event::WriteStaged(_)
            | Event::ReviewDecided { .. }
            | Event::PolicySet
            | Event::SchemaSet
            | Event::UserStatusSet { .. }
            | Event::UserRoleSet { .. }
            | Event::ResourceStatusSet { .. }
            | Event::AgentSuspended { .. }
            | Event::AgentResumed { .. }
            | Event::PairHeld(_)
            | Event::PairReleased(_)
            | Event::OutcomeReported(_)
            | Event::EdgeGranted(_)
            | Event::EdgeRevoked { .. }
            | Event::AgentStatusSet { .. }
            | Event::ItemReverified { .. }
            | Event::RoleSet { .. }
            | Event::RoleAssigned(_)
            | Event::RoleUnassigned { .. }
            | Event::Calibrated(_)
            | Event::TrustMoved(_)
            | Event::LossAccepted(_)
            | Event::Audited(_) => {}
        }
    }

    fn write(&mut self, entry: &Entry, written: &WrittenVersion, opened: &Opened) {
        let row = self.versions.len() as Row;
        let item = self.item_row(written.item, written.owner, written.tier);
        let parents: Vec<Row> =
            written.parents.iter().filter_map(|id| self.version_of.get(id).copied()).collect();
        for parent in &written.parents {
            self.end(*parent, entry.lsn, Status::Superseded);
        }
        let namespace = self.namespace_row(match opened {
            Opened::Version(opened) => &opened.namespace,
            Opened::Nothing | Opened::Principal(_) | Opened::Policy(..) | Opened::Schema(_) => "",
        });
        let class = self.class_row(Class::of(written, opened));
        let mut version = Version {
            id: written.version,
            item,
            lsn: entry.lsn,
            time: entry.time,
            ended: None,
            parents,
            operation: written.operation,
            layer: written.layer,
            tier: written.tier,
            namespace,
            class,
            owner: written.owner,
            confidence: written.confidence,
            expires_at: written.expires_at,
            token: written.token,
            request: written.request,
            layer_version: 0,
            agent: entry.actor.agent,
            prints: written.prints,
            sources: written.sources.iter().filter_map(|id| self.version_of.get(id).copied()).collect(),
            review: written.review,
            against: written.against,
            origin: written.origin,
            challenged: false,
            removed: false,
            came_in: written.said_at,
        };
        let numbered = self.layer_versions.entry(version.counted_with()).or_default();
        *numbered += 1;
        version.layer_version = *numbered;
        self.version_of.insert(written.version, row);
        self.token_of.insert(written.token, row);
        if let Some(request) = written.request {
            self.request_of.insert(request, row);
        }
        if let Some(item) = self.items.get_mut(item as usize) {
            item.versions.push(row);
        }
        self.enliven(&version, row);
        self.recognise(&version, row);
        self.versions.push(version);
    }

    fn enliven(&mut self, version: &Version, row: Row) {
        match version.tier {
            Tier::Private => {
                let live = self.live.entry(version.owner).or_default();
                live.rows.insert(row);
                live.classes.insert(version.class);
            }
            Tier::Shared => drop(self.shared.entry(version.class).or_default().insert(row)),
        }
    }

    fn item_row(&mut self, id: ItemId, owner: UserId, tier: Tier) -> Row {
        if let Some(row) = self.item_of.get(&id) {
            return *row;
        }
        let row = self.items.len() as Row;
        self.items.push(Item {
            id,
            versions: Vec::with_capacity(1),
            pins: Vec::new(),
            quarantines: Vec::new(),
            quarantine: None,
        });
        self.item_of.insert(id, row);
        match tier {
            Tier::Private => self.owned.entry(owner).or_default().push(row),
            Tier::Shared => self.pooled.push(row),
        }
        row
    }

    fn namespace_row(&mut self, name: &str) -> u32 {
        if let Some(row) = self.namespaces.iter().position(|known| known == name) {
            return row as u32;
        }
        self.namespaces.push(name.to_owned());
        (self.namespaces.len() - 1) as u32
    }

    fn class_row(&mut self, class: Class) -> u32 {
        if let Some(row) = self.class_of.get(&class) {
            return *row;
        }
        let row = self.classes.len() as u32;
        self.class_lists.add(row, &class);
        self.classes.push(class.clone());
        self.class_of.insert(class, row);
        row
    }

    fn end(&mut self, version: VersionId, lsn: Lsn, status: Status) {
        let Some(row) = self.version_of.get(&version).copied() else { return };
        let Some(version) = self.versions.get_mut(row as usize) else { return };
        match version.ended {
            // A superseded version that is retracted later stays in history as retracted.
            None => {
                version.ended = Some((lsn, status));
                self.ended.push((lsn, row));
                let live = match version.tier {
                    Tier::Private => self.live.get_mut(&version.owner).map(|live| &mut live.rows),
                    Tier::Shared => self.shared.get_mut(&version.class),
                };
                if let Some(live) = live {
                    live.remove(row);
                }
            }
            Some((at, Status::Superseded)) if status != Status::Superseded => {
                version.ended = Some((at, status))
            }
            Some(_) => return,
        }
        self.unrecognise(row, status);
    }

    fn pin(&mut self, item: ItemId, lsn: Lsn, pinned: bool) {
        let row = self.item_of.get(&item).copied();
        if let Some(item) = row.and_then(|row| self.items.get_mut(row as usize))
            && item.is_pinned_at(lsn) != pinned
        {
            item.pins.push(lsn);
        }
    }

    /// Forgets tokens and request ids older than they are kept. Rows are in order of time, so this is a pointer moving.
    fn lapse(&mut self, now: Timestamp) {
        while let Some(version) = self.versions.get(self.lapsed as usize)
            && version.time.plus(TOKEN_KEPT) <= now
        {
            if self.token_of.get(&version.token) == Some(&self.lapsed) {
                self.token_of.remove(&version.token);
            }
            if let Some(request) = &version.request
                && self.request_of.get(request) == Some(&self.lapsed)
            {
                self.request_of.remove(request);
            }
            self.lapsed += 1;
        }
    }
}
