//! What policies of sharing made of what an operation read or wrote, as its row on the trail has it.

/// What policies of sharing made of what was read or written (SHARE-33).
#[derive(Debug, Clone, Default, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Shaped {
    /// Where in the memory log each policy that held was set, in order: names are sealed there.
    #[n(0)]
    pub policies: Vec<super::Lsn>,
    /// Whether a text is another one than was kept or sent.
    #[n(1)]
    pub transformed: bool,
}

impl Shaped {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.policies.extend(&other.policies);
        self.policies.sort_unstable();
        self.policies.dedup();
        self.transformed |= other.transformed;
        self
    }

    /// As a row has it.
    #[must_use]
    pub fn noted(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}
