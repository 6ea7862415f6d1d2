//! A quick hash of the numbers of nodes and types.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps from nodes or types. Nothing may follow from the order in them.
pub(super) type Spreading = BuildHasherDefault<Spread>;

/// Nodes and types are numbered by the server, one after the other: a product spreads them well, and nobody chooses them.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
