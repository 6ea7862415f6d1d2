//! A version and its item: rows that never change but for where they end.

use super::{Moment, Row};
use crate::canonical::Hash;
use crate::id::{AgentId, ItemId, ReviewId, UserId, VersionId};
use crate::item::{Layer, Operation, Status, Tier};
use crate::log::{Actor, Lsn, Prints};
use crate::time::Timestamp;

/// A version: all but what it says.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Version {
    /// Its id.
    #[n(0)]
    pub id: VersionId,
    /// Its item.
    #[n(1)]
    pub(super) item: Row,
    /// Where it was written: content is read there.
    #[n(2)]
    pub lsn: Lsn,
    /// When.
    #[n(3)]
    pub time: Timestamp,
    /// Where it stopped being active, and as what.
    #[n(4)]
    pub(super) ended: Option<(Lsn, Status)>,
    /// What it replaced.
    #[n(5)]
    pub(super) parents: Vec<Row>,
    /// Insert, update or supersede.
    #[n(6)]
    pub operation: Operation,
    /// Its layer.
    #[n(7)]
    pub layer: Layer,
    /// Its tier.
    #[n(8)]
    pub tier: Tier,
    #[n(9)]
    pub(super) namespace: u32,
    #[n(10)]
    pub(super) class: u32,
    /// Its owner.
    #[n(11)]
    pub owner: UserId,
    /// What the writer claimed.
    #[n(12)]
    pub confidence: f64,
    /// When it lapses.
    #[n(13)]
    pub expires_at: Option<Timestamp>,
    #[cbor(n(14), with = "minicbor::bytes")]
    pub(super) token: Hash,
    #[cbor(n(15), with = "minicbor::bytes")]
    pub(super) request: Option<Hash>,
    /// The number of this version among those of its namespace and layer that are seen by whoever sees it: a count over
    /// others would tell of them.
    #[n(16)]
    pub layer_version: u64,
    /// The agent that wrote it.
    #[n(17)]
    pub agent: Option<AgentId>,
    /// What it is recognised by.
    #[n(18)]
    pub prints: Prints,
    /// What it was derived from or cites.
    #[n(19)]
    pub(super) sources: Vec<Row>,
    /// The review that it came through.
    #[n(20)]
    pub review: Option<ReviewId>,
    /// How many known items it spoke against.
    #[n(21)]
    pub against: u32,
    /// For a shared copy, the item of its owner's private one.
    #[n(22)]
    pub origin: Option<ItemId>,
    /// Whether somebody other than its user found it invalid.
    #[n(23)]
    pub challenged: bool,
    /// Whether somebody other than its user took it back, for whatever reason.
    #[n(24)]
    pub(super) removed: bool,
    /// When it came in, if it waited since.
    #[n(25)]
    pub(super) came_in: Option<Timestamp>,
}

/// Versions that are numbered together: those that whoever sees one of them sees all of, by owner (none for the shared pool),
/// class, namespace and layer.
pub(super) type Numbered = (Option<UserId>, u32, u32, Layer);

impl Version {
    pub(super) fn counted_with(&self) -> Numbered {
        let owner = (self.tier == Tier::Private).then_some(self.owner);
        (owner, self.class, self.namespace, self.layer)
    }

    /// When it was said: when it came in, however long it waited before it was written.
    #[must_use]
    pub fn said_at(&self) -> Timestamp {
        self.came_in.unwrap_or(self.time)
    }

    /// Its class, as a row of [`super::ItemsView::classes`].
    #[must_use]
    pub const fn class(&self) -> u32 {
        self.class
    }

    /// How it stood at a moment, given whether its item was pinned then; nothing if it was not yet written. A pin outlasts a
    /// lifetime (AM-1), but nothing that an entry ended.
    pub(super) fn status_at(&self, at: Moment, is_pinned: bool) -> Option<Status> {
        if self.lsn > at.lsn {
            return None;
        }
        match self.ended {
            Some((lsn, status)) if lsn <= at.lsn => Some(status),
            _ if !is_pinned && self.expires_at.is_some_and(|end| end <= at.time) => Some(Status::Expired),
            _ => Some(Status::Active),
        }
    }

    /// Where it ended, if it did by an entry.
    #[must_use]
    pub const fn ended(&self) -> Option<(Lsn, Status)> {
        self.ended
    }
}

/// An item: its versions and whether it is pinned.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Item {
    /// Its id.
    #[n(0)]
    pub id: ItemId,
    #[n(1)]
    pub(super) versions: Vec<Row>,
    /// Where it was pinned, unpinned, pinned, …
    #[n(2)]
    pub(super) pins: Vec<Lsn>,
    /// Where it was quarantined, released, quarantined, …
    #[n(3)]
    pub(super) quarantines: Vec<Lsn>,
    /// The quarantine that it is in now.
    #[n(4)]
    pub(super) quarantine: Option<Quarantine>,
}

/// Who put an item under quarantine, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Quarantine {
    /// Who.
    #[n(0)]
    pub by: Actor,
    /// Since when.
    #[n(1)]
    pub since: Timestamp,
    /// The entry beside which the reason is sealed.
    #[n(2)]
    pub lsn: Lsn,
}

impl Item {
    /// Whether it was pinned at a position.
    #[must_use]
    pub fn is_pinned_at(&self, lsn: Lsn) -> bool {
        is_on(&self.pins, lsn)
    }

    /// Where it was last pinned or unpinned, up to a position.
    pub(super) fn last_pin_change(&self, lsn: Lsn) -> Option<Lsn> {
        self.pins.iter().copied().filter(|at| *at <= lsn).max()
    }

    /// The quarantine that it is in now.
    #[must_use]
    pub const fn quarantine(&self) -> Option<&Quarantine> {
        self.quarantine.as_ref()
    }

    /// Whether it was in quarantine at a position: kept, but not retrievable.
    #[must_use]
    pub fn is_quarantined_at(&self, lsn: Lsn) -> bool {
        is_on(&self.quarantines, lsn)
    }
}

/// Whether a switch that was turned at these positions is on at a position.
fn is_on(turned: &[Lsn], lsn: Lsn) -> bool {
    turned.iter().filter(|at| **at <= lsn).count() % 2 == 1
}
