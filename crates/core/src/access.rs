//! Who acts, and what they may see.
//!
//! Invariant (a caller is proven): a `Caller` comes only from `authenticate`, a `Predicate` only from a `Sight`, a
//! `Disclosed` only from `disclose`. A read that skipped one of them does not compile.

mod caller;
mod cedar;
mod clearance;
mod disclose;
mod jwk;
mod jwt;
mod name;
mod pair;
mod power;
mod predicate;
mod rbac;
mod role;
mod sight;
mod token;

pub use caller::{
    Caller, Service, authenticate, author, invoke, may_still_act, powers, powers_by, recognise, serve,
    through, unauthenticated,
};
pub use cedar::{
    Asking, CEDAR_POLICIES_IN_TEXT_MAX, CEDAR_POLICIES_MAX, CEDAR_TEXT_BYTES_MAX, Rules, check as check_cedar,
};
pub use clearance::Clearance;
pub use disclose::{Disclosed, disclose};
pub use jwk::{JWKS_BYTES_MAX, KeySet, NotKeys};
pub use jwt::{Claims, Distrust, Jwt, TOKEN_BYTES_MAX, TokenRules};
pub use name::{NAME_BYTES_MAX, NAME_RULE, is_name, look_alike, looks};
pub use pair::{PairGrant, PairKey};
pub use power::{Power, Powers};
pub use predicate::{Barrier, Predicate, barriers, visible_to, visible_to_pair, would_see};
pub use rbac::{AgentRole, Deed, Right, allows, may_read, right, tells_tiers_apart};
pub use role::{BuiltIn, Role};
pub use sight::Sight;
pub use token::{SealedPlace, TokenKey};
