//! The policy gate: what policy allows of what the writer asked for.

use super::GateName;
use crate::error::{Code, Fault, Refusal};
use crate::item::{Tier, TierWish};

/// The tier that a wish leads to. Sharing is off until a policy turns it on.
pub(super) fn tier(wish: TierWish) -> Result<Tier, Refusal> {
    match wish {
        TierWish::Auto | TierWish::Private => Ok(Tier::Private),
        TierWish::Shared | TierWish::Both => {
            let fault = Fault::new("/tier", Code::SharingOff, "auto or private").found(wish.as_str());
            Err(Refusal::new(Code::SharingOff, "sharing is off: write with tier `auto` or `private`")
                .at(GateName::Policy)
                .with(vec![fault]))
        }
    }
}
