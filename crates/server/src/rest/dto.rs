//! What do REST bodies look like?
//!
//! Wire types only, in the words of `docs/api.md`; each derives its part of `/openapi.json`. No rule is checked here:
//! the bounds that a schema shows are those of `core::gate`, told to clients.

mod access;
mod ask;
mod govern;
mod items;
mod moderation;
mod principals;
mod relations;
mod reverify;
mod roles;
mod search;
mod sharing;
mod token;
mod trail;
mod trust;
mod words;

pub(crate) use access::*;
pub(crate) use ask::*;
pub(crate) use govern::*;
pub(crate) use items::*;
pub(crate) use moderation::*;
pub(crate) use principals::*;
pub(crate) use relations::*;
pub(crate) use reverify::*;
pub(crate) use roles::*;
pub(crate) use search::*;
pub(crate) use token::*;
pub(crate) use trail::*;
pub(crate) use trust::*;
pub(crate) use words::*;
