//! State folded from the memory log: what a read answers from.
//!
//! Invariant (views are folds): `apply` is the only thing that changes a view, it needs only the entry and what is sealed
//! beside it, and the same entries in the same order give the same view, byte for byte. Any view can be dropped and
//! folded again. `Views` are folded with the commit; the `Index` trails it.

mod cedar;
mod checks;
mod graphs;
mod holds;
mod identity;
mod index;
mod items;
mod lexical;
mod policies;
mod relations;
mod reviews;
mod roles;
mod sessions;
mod trust;

pub use cedar::CedarView;
pub use checks::{Check, ChecksView};
pub use graphs::{Grant, GraphsView};
pub use holds::{HoldsView, StandingHold};
pub use identity::{Agent, IdentityView, Key, PrincipalKind, Resource, User};
pub use index::{Index, Passage};
pub use items::{Class, ClassLists, Item, ItemsView, Moment, Quarantine, Row, SeenRows, Version};
pub use lexical::{Fields, Held, LexicalView, Scope};
pub use policies::{PoliciesView, Policy, Suspension};
pub use relations::{
    DEPTH_MAX, Direction, Hop, Kind, Link, Masked, Node, PATHS_MAX, Path, RelationsView, Tie, Walk, Walked,
    walk,
};
pub use reviews::{Review, ReviewState, ReviewsView};
pub use roles::{Holding, ROLE_INCLUDES_MAX, RoleRow, RoleTemplate, RolesView};
pub use sessions::{Asks, Said, SessionsView, day_of};
pub use trust::{Known, StagedTrust, Standing, TrustView, WaysKnown, number};

use crate::canonical::{Hash, sha256};
use crate::log::{Entry, Lsn, Payload, Principal};
use crate::time::Timestamp;

/// What `apply` needs of a sealed part. Made where the plaintext is at hand, so that folding is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// Nothing, or nothing that a view uses, or content that has been destroyed.
    Nothing,
    /// The words of a principal.
    Principal(Principal),
    /// What the views need of a version.
    Version(OpenedVersion),
    /// A policy: its name and its body as JSON.
    Policy(String, Vec<u8>),
    /// A schema as JSON.
    Schema(Vec<u8>),
}

/// A version's namespace, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedVersion {
    /// The namespace.
    pub namespace: String,
    /// The content, as canonical JSON.
    pub content: Vec<u8>,
    /// The provenance record, as canonical JSON.
    pub provenance: Vec<u8>,
}

impl Opened {
    /// What the views need of this payload.
    #[must_use]
    pub fn of(payload: &Payload) -> Self {
        match payload {
            Payload::Version { content, namespace, provenance, .. } => Self::Version(OpenedVersion {
                namespace: namespace.clone(),
                content: content.to_vec(),
                provenance: provenance.to_vec(),
            }),
            Payload::Principal(principal) => Self::Principal(principal.clone()),
            Payload::Policy { name, body } => Self::Policy(name.clone(), body.to_vec()),
            Payload::Schema(schema) => Self::Schema(schema.to_vec()),
            Payload::Reason(_) | Payload::Staged { .. } => Self::Nothing,
        }
    }
}

/// What every operation decides by, at one position of the log.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Views {
    #[n(0)]
    lsn: Lsn,
    #[n(1)]
    time: Timestamp,
    /// Principals and keys.
    #[n(2)]
    pub identity: IdentityView,
    /// Items and their versions.
    #[n(3)]
    pub items: ItemsView,
    /// Writes that wait for a person, and what became of them.
    #[n(4)]
    pub reviews: ReviewsView,
    /// Policies and suspensions.
    #[n(5)]
    pub policies: PoliciesView,
    /// Who may invoke which agent, and which agent may use which resource.
    #[n(6)]
    pub graphs: GraphsView,
    /// What was found when versions were verified again.
    #[n(7)]
    pub checks: ChecksView,
    /// Roles and who holds them.
    #[n(8)]
    pub roles: RolesView,
    /// Cedar policies.
    #[n(9)]
    pub cedar: CedarView,
    /// How far what was written can be trusted.
    #[n(10)]
    pub trust: TrustView,
    /// Pairs whose writes are held or refused.
    #[n(11)]
    pub holds: HoldsView,
}

/// Bytes that are not a checkpoint of these views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a checkpoint of this version")]
pub struct NotACheckpoint;

/// Changes when the shape of a view changes: an old checkpoint is dropped and folded anew.
const CHECKPOINT_SHAPE: u32 = 18;

impl Views {
    /// The position up to which entries are folded in.
    #[must_use]
    pub const fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// A number that moves with every change of who may see what: principals, credentials, edges, policies (SHARE-5). The
    /// graphs count roles and Cedar policies too.
    #[must_use]
    pub const fn access_epoch(&self) -> u64 {
        self.identity.epoch() + self.graphs.epoch() + self.policies.epoch()
    }

    /// The time of the last entry folded in.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// Folds in one entry; an entry that is already in changes nothing.
    pub fn apply(&mut self, entry: &Entry, opened: &Opened) {
        if entry.lsn <= self.lsn {
            return;
        }
        self.identity.apply(entry, opened);
        self.items.apply(entry, opened);
        self.reviews.apply(entry);
        self.policies.apply(entry, opened);
        self.graphs.apply(entry);
        self.roles.apply(entry, opened);
        self.cedar.apply(entry, opened, &self.identity);
        self.checks.apply(entry);
        self.holds.apply(entry);
        self.trust.apply(entry, &self.items);
        self.lsn = entry.lsn;
        self.time = entry.time;
    }

    /// The bytes of a checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> Vec<u8> {
        to_checkpoint(CHECKPOINT_SHAPE, self)
    }

    /// The views of a checkpoint.
    ///
    /// # Errors
    /// When the bytes are none, or of another shape.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Self, NotACheckpoint> {
        let mut views: Self = from_checkpoint(CHECKPOINT_SHAPE, bytes)?;
        views.identity.index();
        views.items.index();
        views.reviews.index();
        views.graphs.index();
        views.roles.index();
        views.cedar.index(&views.identity);
        views.policies.index();
        views.trust.index();
        Ok(views)
    }

    /// One hash over everything: two views are the same if this is.
    #[must_use]
    pub fn fingerprint(&self) -> Hash {
        sha256(&self.checkpoint())
    }
}

fn to_checkpoint(shape: u32, view: &impl minicbor::Encode<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // INVARIANT (a Vec takes every byte), as for entries.
    let _infallible = minicbor::encode((shape, view), &mut bytes);
    bytes
}

fn from_checkpoint<View: for<'b> minicbor::Decode<'b, ()>>(
    shape: u32,
    bytes: &[u8],
) -> Result<View, NotACheckpoint> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let found = decoder.array().and_then(|_| decoder.u32()).map_err(|_| NotACheckpoint)?;
    if found != shape {
        return Err(NotACheckpoint);
    }
    decoder.decode().map_err(|_| NotACheckpoint)
}
