//! Coded vectors, one after the other.
//!
//! Invariant (nothing left behind): memory that held a code is zeroed when the code moves, goes or is dropped.

use super::kernel::{self, Coding};
use zeroize::Zeroize;

#[derive(Debug)]
pub(super) struct Codes {
    dimensions: usize,
    codes: Vec<i8>,
    codings: Vec<Coding>,
}

impl Codes {
    pub(super) const fn new(dimensions: usize) -> Self {
        Self { dimensions, codes: Vec::new(), codings: Vec::new() }
    }

    /// So many places, all zero.
    pub(super) fn zeroed(dimensions: usize, places: usize) -> Self {
        let codes = vec![0; dimensions * places];
        Self { dimensions, codes, codings: vec![Coding::default(); places] }
    }

    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> Option<(&[i8], Coding)> {
        let start = place * self.dimensions;
        Some((self.codes.get(start..start + self.dimensions)?, *self.codings.get(place)?))
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[i8], Coding)> {
        self.codes.chunks_exact(self.dimensions).zip(self.codings.iter().copied())
    }

    pub(super) fn set(&mut self, place: usize, unit: &[f32]) {
        let start = place * self.dimensions;
        let code = self.codes.get_mut(start..start + self.dimensions);
        if let (Some(code), Some(coding)) = (code, self.codings.get_mut(place)) {
            *coding = kernel::encode(unit, code);
        }
    }

    pub(super) fn clear(&mut self, place: usize) {
        let start = place * self.dimensions;
        if let Some(code) = self.codes.get_mut(start..start + self.dimensions) {
            code.zeroize();
        }
        if let Some(coding) = self.codings.get_mut(place) {
            *coding = Coding::default();
        }
    }

    pub(super) fn push(&mut self, code: &[i8], coding: Coding) {
        self.reserve();
        self.codes.extend_from_slice(code);
        self.codings.push(coding);
    }

    /// Takes one out; the last one takes its place.
    pub(super) fn swap_remove(&mut self, place: usize) {
        let Some(last) = self.codings.len().checked_sub(1).filter(|last| place <= *last) else { return };
        let from = last * self.dimensions;
        self.codes.copy_within(from..from + self.dimensions, place * self.dimensions);
        self.codings.swap_remove(place);
        self.codes.get_mut(from..).unwrap_or_default().zeroize();
        self.codes.truncate(from);
    }

    /// Makes room for one more. A plain `Vec` would leave the codes behind in the memory it grew out of.
    fn reserve(&mut self) {
        if self.codes.capacity() - self.codes.len() >= self.dimensions {
            return;
        }
        let places = self.codings.len() + self.codings.len() / 4 + 8;
        let mut grown = Vec::with_capacity(places * self.dimensions);
        grown.extend_from_slice(&self.codes);
        std::mem::replace(&mut self.codes, grown).zeroize();
    }
}

impl Drop for Codes {
    fn drop(&mut self) {
        self.codes.zeroize();
    }
}
