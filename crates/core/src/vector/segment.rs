//! A run of rows: their vectors, and the same coded.

use super::codes::Codes;
use crate::view::Row;
use zeroize::Zeroize;

const ROW_BITS: u32 = 12;
/// Rows of a segment. A view grows by segments, so it never moves what it holds.
pub(super) const ROWS: u32 = 1 << ROW_BITS;

/// The number of the segment that holds a row, and the row's place in it.
#[inline(always)]
pub(super) const fn place_of(row: Row) -> (usize, usize) {
    ((row >> ROW_BITS) as usize, (row & (ROWS - 1)) as usize)
}

#[derive(Debug)]
pub(super) struct Segment {
    dimensions: usize,
    vectors: Vec<f32>,
    pub(super) codes: Codes,
}

impl Segment {
    pub(super) fn new(dimensions: usize) -> Self {
        let places = ROWS as usize;
        Self { dimensions, vectors: vec![0.0; dimensions * places], codes: Codes::zeroed(dimensions, places) }
    }

    #[inline(always)]
    pub(super) fn vector(&self, place: usize) -> Option<&[f32]> {
        let start = place * self.dimensions;
        self.vectors.get(start..start + self.dimensions)
    }

    pub(super) fn set(&mut self, place: usize, unit: &[f32]) {
        if let Some(vector) = self.vector_mut(place) {
            vector.copy_from_slice(unit);
            self.codes.set(place, unit);
        }
    }

    pub(super) fn clear(&mut self, place: usize) {
        if let Some(vector) = self.vector_mut(place) {
            vector.zeroize();
        }
        self.codes.clear(place);
    }

    fn vector_mut(&mut self, place: usize) -> Option<&mut [f32]> {
        let start = place * self.dimensions;
        self.vectors.get_mut(start..start + self.dimensions)
    }
}
