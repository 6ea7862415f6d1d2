//! Lists as bytes: the centroids and each row's list, without the codes, which the view has.
//!
//! Invariant (a damaged snapshot is refused): a digest leads the bytes, and what they say is checked against itself and
//! the view all the same. A refused snapshot costs the time to make the lists anew, and nothing else.

use super::centroids::{Centroids, LISTS_MAX};
use super::lists::Lists;
use super::{NotLists, VectorView, kernel};
use crate::canonical::{Hash, sha256};
use roaring::RoaringBitmap;

/// Changes when the bytes do: an old snapshot is dropped.
const SHAPE: u32 = 1;
/// How far a centroid's length may be from 1.
const LENGTH_ERROR_MAX: f32 = 1e-3;

#[derive(minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Snapshot {
    #[n(0)]
    shape: u32,
    #[n(1)]
    dimensions: u64,
    #[n(2)]
    made_for: u64,
    /// Floats, little end first.
    #[cbor(n(3), with = "minicbor::bytes")]
    centroids: Vec<u8>,
    /// The rows, as a roaring bitmap.
    #[cbor(n(4), with = "minicbor::bytes")]
    rows: Vec<u8>,
    /// The list of each of them, 16 bits, little end first.
    #[cbor(n(5), with = "minicbor::bytes")]
    list_of: Vec<u8>,
}

impl VectorView {
    /// The lists as bytes, if there are any.
    #[must_use]
    pub fn export_lists(&self) -> Option<Vec<u8>> {
        let snapshot = Snapshot::of(self.lists.as_ref()?);
        let mut body = Vec::new();
        // INVARIANT (a Vec takes every byte), as for entries.
        let _infallible = minicbor::encode(snapshot, &mut body);
        Some([sha256(&body).as_slice(), &body].concat())
    }

    /// Lists from their bytes, to be adopted. Rows that have no vector any more are left out.
    ///
    /// # Errors
    /// When the bytes are damaged, or of lists for other vectors.
    pub fn import_lists(&self, bytes: &[u8]) -> Result<Lists, NotLists> {
        let (digest, body) = bytes.split_first_chunk::<{ size_of::<Hash>() }>().ok_or(NotLists)?;
        if sha256(body) != *digest {
            return Err(NotLists);
        }
        let snapshot: Snapshot = minicbor::decode(body).map_err(|_| NotLists)?;
        if snapshot.shape != SHAPE || snapshot.dimensions != self.dimensions() as u64 {
            return Err(NotLists);
        }
        let mut lists = Lists::new(snapshot.centroids(self.dimensions())?);
        lists.made_for = snapshot.made_for;
        self.refill(&mut lists, &snapshot)?;
        Ok(lists)
    }

    fn refill(&self, lists: &mut Lists, snapshot: &Snapshot) -> Result<(), NotLists> {
        let rows = RoaringBitmap::deserialize_from(snapshot.rows.as_slice()).map_err(|_| NotLists)?;
        let (numbers, rest) = snapshot.list_of.as_chunks::<2>();
        if !rest.is_empty() || numbers.len() as u64 != rows.len() {
            return Err(NotLists);
        }
        let count = lists.centroids().len();
        for (row, number) in rows.iter().zip(numbers) {
            let list = usize::from(u16::from_le_bytes(*number));
            if list >= count {
                return Err(NotLists);
            }
            if let Some((code, coding)) = self.code(row).filter(|_| self.contains(row)) {
                lists.put(row, list, code, coding);
            }
        }
        Ok(())
    }
}

impl Snapshot {
    fn of(lists: &Lists) -> Self {
        let centroids = lists.centroids();
        let mut rows = Vec::new();
        // INVARIANT (a Vec takes every byte).
        let _infallible = lists.rows().serialize_into(&mut rows);
        Self {
            shape: SHAPE,
            dimensions: centroids.dimensions() as u64,
            made_for: lists.made_for,
            centroids: centroids.vectors().iter().flat_map(|x| x.to_le_bytes()).collect(),
            rows,
            list_of: lists
                .rows()
                .iter()
                .filter_map(|row| lists.list_of(row))
                .flat_map(u16::to_le_bytes)
                .collect(),
        }
    }

    fn centroids(&self, dimensions: usize) -> Result<Centroids, NotLists> {
        let (floats, rest) = self.centroids.as_chunks::<4>();
        let vectors: Vec<f32> = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let whole = rest.is_empty() && dimensions > 0 && vectors.len().is_multiple_of(dimensions);
        let count = vectors.len().checked_div(dimensions).unwrap_or(0);
        // Not "the length is far off": that would let NaN pass.
        let is_unit = |vector: &[f32]| (kernel::dot(vector, vector).sqrt() - 1.0).abs() <= LENGTH_ERROR_MAX;
        if !whole || count == 0 || count > LISTS_MAX || !vectors.chunks_exact(dimensions).all(is_unit) {
            return Err(NotLists);
        }
        Ok(Centroids::from_vectors(dimensions, vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Centroids;

    fn with_lists() -> VectorView {
        let mut view = VectorView::new(3);
        (0..64).for_each(|row| view.insert(row, &[1.0, (row % 5) as f32, (row % 3) as f32]).unwrap());
        let mut lists = Lists::new(Centroids::train(&view.sample(1), 4, 1).unwrap());
        view.assign(&mut lists, 0..64);
        view.adopt(lists);
        view
    }

    fn refused(view: &VectorView, change: impl FnOnce(&mut Snapshot)) {
        let mut snapshot = Snapshot::of(view.lists.as_ref().unwrap());
        change(&mut snapshot);
        let body = minicbor::to_vec(snapshot).unwrap();
        let bytes = [sha256(&body).as_slice(), &body].concat();
        assert_eq!(view.import_lists(&bytes).err(), Some(NotLists));
    }

    fn shorten(bytes: &mut Vec<u8>) {
        bytes.truncate(bytes.len() - 1);
    }

    #[test]
    fn lists_come_back_as_they_were() {
        let mut view = with_lists();
        let bytes = view.export_lists().unwrap();
        let lists = view.import_lists(&bytes).unwrap();
        view.adopt(lists);
        assert_eq!(view.export_lists().unwrap(), bytes);
        view.remove(7);
        assert!(!view.import_lists(&bytes).unwrap().rows().contains(7));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let view = with_lists();
        let bytes = view.export_lists().unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(view.import_lists(&damaged).is_err(), "byte {at}");
            assert!(view.import_lists(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(VectorView::new(4).import_lists(&bytes).is_err());
    }

    #[test]
    fn what_contradicts_itself_is_refused_under_a_good_digest() {
        let view = with_lists();
        refused(&view, |snapshot| snapshot.shape += 1);
        refused(&view, |snapshot| snapshot.dimensions = 4);
        refused(&view, |snapshot| snapshot.centroids.clear());
        refused(&view, |snapshot| shorten(&mut snapshot.centroids));
        refused(&view, |snapshot| snapshot.centroids.truncate(16));
        refused(&view, |snapshot| snapshot.centroids[..4].copy_from_slice(&f32::NAN.to_le_bytes()));
        refused(&view, |snapshot| snapshot.centroids[..4].copy_from_slice(&9_f32.to_le_bytes()));
        refused(&view, |snapshot| shorten(&mut snapshot.rows));
        refused(&view, |snapshot| shorten(&mut snapshot.list_of));
        refused(&view, |snapshot| snapshot.list_of.truncate(126));
        refused(&view, |snapshot| snapshot.list_of[..2].copy_from_slice(&4_u16.to_le_bytes()));
    }
}
