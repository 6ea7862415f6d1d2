//! Who acts, and what they may see.
//!
//! Invariant (a caller is proven): a `Caller` comes only from `authenticate`, a `Predicate` only from `visible_to`, a
//! `Disclosed` only from `disclose`. A read that skipped one of them does not compile.

mod caller;
mod disclose;
mod jwk;
mod jwt;
mod pair;
mod predicate;
mod role;
mod token;

pub use caller::{Caller, Service, authenticate, author, invoke, recognise, serve, unauthenticated};
pub use disclose::{Disclosed, disclose};
pub use jwk::{JWKS_BYTES_MAX, KeySet, NotKeys};
pub use jwt::{Claims, Distrust, Jwt, TOKEN_BYTES_MAX, TokenRules};
pub use pair::{PairGrant, PairKey};
pub use predicate::{Predicate, visible_to, visible_to_pair};
pub use role::Role;
pub use token::{SealedPlace, TokenKey};
