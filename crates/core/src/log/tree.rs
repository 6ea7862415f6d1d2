//! The RFC 6962 Merkle tree over a log's entries: appending, roots, proofs and their verification.
//!
//! Appending needs only the frontier (the roots of the complete subtrees, at most 64 hashes). Proofs read hashes through a
//! function, so the tree need not be in memory; tiles keep what they read small.

use crate::canonical::Hash;
use sha2::{Digest, Sha256};

/// Subtrees of these heights are kept as tiles.
pub const TILE_LEVELS: [u8; 3] = [8, 16, 24];

/// The root of a complete, aligned subtree of `2^level` leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Its height.
    pub level: u8,
    /// Which of that height, from 0.
    pub index: u64,
    /// Its root.
    pub hash: Hash,
}

/// The hash of an entry's bytes.
#[must_use]
pub fn leaf_hash(body: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(body).finalize().into()
}

/// The hash over two subtrees.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The growing edge of a tree: what is needed to append and to tell the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// Roots of the complete subtrees, largest first: one for each 1 bit of `size`.
    peaks: Vec<Hash>,
}

impl Frontier {
    /// Leaves so far.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf; the tiles that it completes go to `tiles`.
    pub fn append(&mut self, leaf: Hash, tiles: &mut Vec<Tile>) {
        let mut hash = leaf;
        let mut level = 0u8;
        while self.size >> level & 1 == 1 {
            if let Some(left) = self.peaks.pop() {
                hash = node_hash(&left, &hash);
            }
            level += 1;
            if TILE_LEVELS.contains(&level) {
                tiles.push(Tile { level, index: self.size >> level, hash });
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// The root over all leaves so far.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        match peaks.next() {
            None => Sha256::digest([]).into(),
            Some(last) => peaks.fold(*last, |right, left| node_hash(left, &right)),
        }
    }

    /// The frontier of the first `size` leaves, read as subtree roots.
    ///
    /// # Errors
    /// Whatever reading gives.
    pub fn load<E>(size: u64, subtree: &mut impl FnMut(u64, u64) -> Result<Hash, E>) -> Result<Self, E> {
        let mut peaks = Vec::new();
        let mut start = 0;
        for level in (0..64).rev().filter(|level| size >> level & 1 == 1) {
            let end = start + (1u64 << level);
            peaks.push(subtree(start, end)?);
            start = end;
        }
        Ok(Self { size, peaks })
    }
}

/// The root over leaves `start..end`, RFC 6962 style, where `complete` gives the root of a complete, aligned range.
///
/// # Errors
/// Whatever reading gives.
pub fn root_of<E>(
    start: u64,
    end: u64,
    complete: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Hash, E> {
    let count = end - start;
    if count == 0 {
        return Ok(Sha256::digest([]).into());
    }
    if count.is_power_of_two() && start.is_multiple_of(count) {
        return complete(start, end);
    }
    let split = start + split_point(count);
    let left = root_of(start, split, complete)?;
    let right = root_of(split, end, complete)?;
    Ok(node_hash(&left, &right))
}

/// The largest power of two below `count`.
const fn split_point(count: u64) -> u64 {
    1 << (63 - (count - 1).leading_zeros())
}

/// The path that shows leaf `index` to be in the tree of `size` leaves.
///
/// # Errors
/// Whatever reading gives.
pub fn inclusion_proof<E>(
    index: u64,
    size: u64,
    complete: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let split = start + split_point(end - start);
        if index < split {
            path.push(root_of(split, end, complete)?);
            end = split;
        } else {
            path.push(root_of(start, split, complete)?);
            start = split;
        }
    }
    path.reverse();
    Ok(path)
}

/// Whether the path shows the leaf to be number `index` of the tree of `size` leaves with this root.
#[must_use]
pub fn verify_inclusion(leaf: Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut hash = leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// The path that shows the tree of `from` leaves to be the beginning of the tree of `to` leaves.
///
/// # Errors
/// Whatever reading gives.
pub fn consistency_proof<E>(
    from: u64,
    to: u64,
    complete: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut path = Vec::new();
    if from == 0 || from >= to {
        return Ok(path);
    }
    let (mut start, mut end, mut whole) = (0, to, true);
    while from != end {
        let split = start + split_point(end - start);
        if from <= split {
            path.push(root_of(split, end, complete)?);
            end = split;
        } else {
            path.push(root_of(start, split, complete)?);
            start = split;
            whole = false;
        }
    }
    if !whole {
        path.push(root_of(start, end, complete)?);
    }
    path.reverse();
    Ok(path)
}

/// Whether the path shows the tree of `from` leaves to be the beginning of the tree of `to` leaves.
#[must_use]
pub fn verify_consistency(from: u64, to: u64, path: &[Hash], from_root: &Hash, to_root: &Hash) -> bool {
    if from == 0 || from > to {
        return from == 0 && path.is_empty();
    }
    if from == to {
        return path.is_empty() && from_root == to_root;
    }
    let mut path = path.iter();
    let seed = if from.is_power_of_two() { Some(from_root) } else { path.next() };
    let Some(seed) = seed else { return false };
    let (mut node, mut last) = (from - 1, to - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let (mut old, mut new) = (*seed, *seed);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old = node_hash(sibling, &old);
            new = node_hash(sibling, &new);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            new = node_hash(&new, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && old == *from_root && new == *to_root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn leaves(n: u64) -> Vec<Hash> {
        (0..n).map(|i| leaf_hash(&i.to_be_bytes())).collect()
    }

    /// RFC 6962, section 2.1, word for word.
    fn naive(leaves: &[Hash]) -> Hash {
        match leaves.len() {
            0 => Sha256::digest([]).into(),
            1 => leaves[0],
            n => {
                let mut k = 1;
                while k * 2 < n {
                    k *= 2;
                }
                node_hash(&naive(&leaves[..k]), &naive(&leaves[k..]))
            }
        }
    }

    fn complete(leaves: &[Hash]) -> impl FnMut(u64, u64) -> Result<Hash, Infallible> + '_ {
        |start, end| Ok(naive(&leaves[start as usize..end as usize]))
    }

    /// The example tree of RFC 9162's test data: roots that other implementations publish.
    #[test]
    fn known_roots() {
        let empty: Hash = Sha256::digest([]).into();
        assert_eq!(Frontier::default().root(), empty);
        assert_eq!(
            crate::canonical::hex(&leaf_hash(b"")),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
    }

    proptest! {
        /// GOV-5.1: appending one by one gives the root of the definition, and loading gives the same frontier.
        #[test]
        fn frontier_equals_definition(n in 0u64..700) {
            let leaves = leaves(n);
            let mut frontier = Frontier::default();
            let mut tiles = Vec::new();
            leaves.iter().for_each(|leaf| frontier.append(*leaf, &mut tiles));
            prop_assert_eq!(frontier.root(), naive(&leaves));
            prop_assert_eq!(&Frontier::load(n, &mut complete(&leaves)).unwrap(), &frontier);
            prop_assert_eq!(tiles.len() as u64, n / 256);
            for tile in tiles {
                let start = (tile.index * 256) as usize;
                prop_assert_eq!(tile.hash, naive(&leaves[start..start + 256]));
            }
        }

        /// Every inclusion proof verifies, and no other leaf, place, size or path does.
        #[test]
        fn inclusion_is_sound(size in 1u64..300, pick in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>()) {
            let leaves = leaves(size);
            let root = naive(&leaves);
            let index = pick.index(size as usize) as u64;
            let mut path = inclusion_proof(index, size, &mut complete(&leaves)).unwrap();
            let leaf = leaves[index as usize];
            prop_assert!(verify_inclusion(leaf, index, size, &path, &root));
            prop_assert!(!verify_inclusion([9; 32], index, size, &path, &root));
            prop_assert!(!verify_inclusion(leaf, index + 1, size, &path, &root) || size == 1);
            if !path.is_empty() {
                let at = flip.index(path.len());
                path[at][0] ^= 1;
                prop_assert!(!verify_inclusion(leaf, index, size, &path, &root));
            }
        }

        /// Every consistency proof verifies; a changed history does not.
        #[test]
        fn consistency_is_sound(to in 1u64..300, pick in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>()) {
            let leaves = leaves(to);
            let from = pick.index(to as usize) as u64 + 1;
            let (from_root, to_root) = (naive(&leaves[..from as usize]), naive(&leaves));
            let mut path = consistency_proof(from, to, &mut complete(&leaves)).unwrap();
            prop_assert!(verify_consistency(from, to, &path, &from_root, &to_root));
            prop_assert!(from == to || !verify_consistency(from, to, &path, &[1; 32], &to_root));
            if !path.is_empty() {
                let at = flip.index(path.len());
                path[at][0] ^= 1;
                prop_assert!(!verify_consistency(from, to, &path, &from_root, &to_root));
            }
        }
    }
}
