//! placeholder until the detector lands
#![allow(missing_docs, unused_variables)]
use crate::canonical::Hash;
use crate::item::{Content, words};
use crate::view::Row;
words! {
    /// How a contradiction was found.
    Method {
        /// a
        0 Negation = "negation",
    }
}
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contradiction {
    pub method: Method,
    pub score: f64,
    pub similarity: f64,
}
pub const SIGMA_TOPIC: f64 = 0.5;
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
pub struct Claim {
    #[n(0)]
    x: u8,
}
impl Claim {
    pub fn of(content: &Content, analyser: &mut crate::text::Analyser) -> Self {
        Self::default()
    }
    pub fn similarity(&self, other: &Self) -> f64 {
        0.0
    }
    pub fn says_the_same(&self, other: &Self) -> bool {
        false
    }
    pub fn fingerprint(content: &Content) -> Option<Hash> {
        None
    }
    pub fn is_impossible(&self) -> bool {
        false
    }
}
pub fn contradiction(known: &Claim, new: &Claim, topic: f64) -> Option<Contradiction> {
    None
}
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
pub struct ClaimsView {
    #[n(0)]
    claims: Vec<Claim>,
}
impl ClaimsView {
    pub fn push(&mut self, claim: Claim) {
        self.claims.push(claim);
    }
    pub fn get(&self, row: Row) -> Option<&Claim> {
        self.claims.get(row as usize)
    }
    pub fn forget(&mut self, row: Row) {}
    pub fn nearest(
        &self,
        claim: &Claim,
        limit: usize,
        floor: f64,
        admits: impl FnMut(Row) -> bool,
    ) -> Vec<(Row, f64)> {
        Vec::new()
    }
}
