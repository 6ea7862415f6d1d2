//! What a caller may see, as a test that search runs *inside* its candidates.

use super::Caller;
use crate::id::UserId;
use crate::item::Tier;

/// What a caller may see. Made by `visible_to` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    owner: UserId,
}

/// The predicate of a caller.
///
/// Sharing is off until a policy turns it on, and no policy exists yet: a caller sees its user's own items and nothing
/// else. Roles do not widen it.
#[must_use]
pub fn visible_to(caller: &Caller) -> Predicate {
    Predicate { owner: caller.user() }
}

impl Predicate {
    /// Whether an item of this owner and tier is visible.
    #[must_use]
    pub fn admits(&self, owner: UserId, tier: Tier) -> bool {
        match tier {
            Tier::Private => owner == self.owner,
            Tier::Shared => false,
        }
    }

    /// The one user whose private items may be seen.
    #[must_use]
    pub const fn owner(&self) -> UserId {
        self.owner
    }
}
