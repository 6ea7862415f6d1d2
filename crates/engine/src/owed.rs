//! Copies that others are owed: a policy shares nothing that no model said anew, and none answered when it was written
//! (SHARE-18).
//!
//! Invariant (both or the later): that a copy is owed is durable before the item of which it is the copy. If that is never
//! committed, or is no head any more, nobody is owed anything. The copy carries the agents and resources of the item, and the
//! word on its private parents, as they were when the item was written.

use crate::tenant::Tenant;
use serde_json::{Value, json};
use tabellion_core::canonical::Hash;
use tabellion_core::gate::{Replaces, WriteRequest};
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::item::TierWish;
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::Moment;

/// How long a version may be on its way into the log.
const UNDER_WAY: Period = Period::from_secs(60);

/// What a copy is owed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owed {
    /// The item that its user keeps.
    pub(crate) item: ItemId,
    /// What it said when the copy was owed.
    pub(crate) version: VersionId,
    /// Whether it rests on private items.
    pub(crate) rests_on_private: bool,
}

/// Whether a copy is still owed.
pub(crate) enum Standing {
    /// It is.
    Stands,
    /// What it would be a copy of is not committed yet.
    NotYet,
    /// It was made, or what it would be a copy of is not there any more.
    Gone,
}

impl Owed {
    pub(crate) fn to_json(self) -> Value {
        json!({
            "item": self.item.to_string(),
            "version": self.version.to_string(),
            "rests_on_private": self.rests_on_private,
        })
    }

    pub(crate) fn of_json(value: Option<&Value>) -> Option<Self> {
        let text = |name: &str| value?.get(name)?.as_str();
        Some(Self {
            item: text("item")?.parse().ok()?,
            version: text("version")?.parse().ok()?,
            // What cannot be read is taken for the stricter.
            rests_on_private: value?.get("rests_on_private").and_then(Value::as_bool).unwrap_or(true),
        })
    }

    /// What the copy is recognised by when it is made.
    pub(crate) fn token(self, tenant: &Tenant) -> Hash {
        Self::token_of(tenant, self.version)
    }

    pub(crate) fn token_of(tenant: &Tenant, version: VersionId) -> Hash {
        tenant.fingerprint(&[b"owed", version.as_bytes()])
    }

    /// Makes a write for its user into one for others, in the place of the copy that they have.
    pub(crate) fn address(self, tenant: &Tenant, request: &mut WriteRequest) {
        let views = tenant.shared.views.read();
        request.tier = TierWish::Shared;
        request.replaces = views.items.copy_of(self.item).map(|copy| Replaces::Item(copy.id));
        request.expected_version = None;
        // The item was in time.
        request.deadline = None;
    }

    /// Whether it is still owed.
    pub(crate) fn stands(self, tenant: &Tenant, since: Timestamp) -> Standing {
        let now = tenant.now();
        let views = tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: now };
        if views.items.replayed(&self.token(tenant), false, now).is_some() {
            return Standing::Gone;
        }
        let Some(item) = views.items.find_item(self.item) else {
            return if now < since.plus(UNDER_WAY) { Standing::NotYet } else { Standing::Gone };
        };
        let is_head = views.items.head_at(item, at).is_some_and(|head| head.id == self.version);
        let is_known = views.items.find_version(self.version).is_some();
        match (is_head && !item.is_quarantined_at(at.lsn), is_known) {
            (true, _) => Standing::Stands,
            (false, false) if now < since.plus(UNDER_WAY) => Standing::NotYet,
            (false, _) => Standing::Gone,
        }
    }
}
