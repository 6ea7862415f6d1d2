//! An entry's place in its log.

use std::fmt;

/// Counts entries from 1; 0 is the place before the first. Clients hold it sealed, as a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub struct Lsn(#[n(0)] u64);

impl Lsn {
    /// Before the first entry.
    pub const ZERO: Lsn = Lsn(0);

    /// The place with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The place `n` further on.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lsn {}", self.0)
    }
}
