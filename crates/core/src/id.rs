//! Public ids: what a client may hold.
//!
//! An id is 128 random bits with a type of its own; its text form carries a prefix that says what it names. Dense row
//! numbers exist only inside views and never leave them.

use std::fmt;
use std::str::FromStr;

/// RFC 4648 base32 without padding, shown in lower case: ids survive being read aloud, typed and used as file names.
const DIGITS: data_encoding::Encoding = data_encoding::BASE32_NOPAD;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct NotAnId;

fn to_text(prefix: &str, bytes: &[u8; 16]) -> String {
    let mut digits = DIGITS.encode(bytes);
    digits.make_ascii_lowercase();
    format!("{prefix}_{digits}")
}

fn from_text(prefix: &str, text: &str) -> Result<[u8; 16], NotAnId> {
    let digits = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).ok_or(NotAnId)?;
    if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(NotAnId);
    }
    let bytes = DIGITS.decode(digits.to_ascii_uppercase().as_bytes()).map_err(|_| NotAnId)?;
    bytes.try_into().map_err(|_| NotAnId)
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
        #[cbor(transparent)]
        pub struct $name(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

        impl $name {
            /// What the text form begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id made of these 16 bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The 16 bytes of this id.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&to_text($prefix, &self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                from_text($prefix, text).map(Self)
            }
        }
    };
}

id_type! { /// One deployment's customer: a log, a key store and everything in them.
TenantId, "tnt" }
id_type! { /// A person.
UserId, "usr" }
id_type! { /// A program that acts for users.
AgentId, "agt" }
id_type! { /// Something an agent may consult: a knowledge base, a service, a tool.
ResourceId, "res" }
id_type! { /// An API key; says nothing about its secret.
KeyId, "key" }
id_type! { /// One remembered thing, the same id for life.
ItemId, "itm" }
id_type! { /// One immutable content of an item.
VersionId, "ver" }
id_type! { /// One search, to be referred to when its outcome is known.
SearchId, "sch" }
id_type! { /// A provenance record.
ProvenanceId, "prv" }
id_type! { /// A held write that a person decides on.
ReviewId, "rev" }
id_type! { /// A bundle of edges that people are given together.
RoleId, "rol" }
id_type! { /// A declared round of several agents.
RoundId, "rnd" }
id_type! { /// A write that was put off and will be tried again.
DeferralId, "def" }
id_type! { /// A write that was refused, kept for its author.
RefusalId, "ref" }

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-1: public ids are random 128-bit values; text and bytes convert without loss.
    #[test]
    fn text_form_round_trips() {
        let id = ItemId::from_bytes([7; 16]);
        let text = id.to_string();
        assert_eq!(text.len(), 4 + 26);
        assert_eq!(text.parse::<ItemId>(), Ok(id));
    }

    #[test]
    fn other_kinds_and_other_spellings_are_not_ids() {
        let text = ItemId::from_bytes([7; 16]).to_string();
        assert!(text.parse::<VersionId>().is_err());
        assert!(text.to_uppercase().parse::<ItemId>().is_err());
        assert!("itm_".parse::<ItemId>().is_err());
        assert!("itm_é".parse::<ItemId>().is_err());
        assert!("".parse::<ItemId>().is_err());
    }
}
