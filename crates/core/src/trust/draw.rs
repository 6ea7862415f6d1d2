//! What is drawn in a round (CAL-27).
//!
//! A draw follows from a secret key, the round and what is proposed: nobody without the key foresees it, no round repeats
//! another's, and with the key a round replays bit for bit.

use crate::canonical::Hash;
use chacha20::ChaCha8;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use std::collections::BTreeMap;

/// What tells this key from every other that the secret makes.
const KEY_CONTEXT: &str = "tabellion 2026 calibration: key of a namespace and a day";
/// What tells an order from the seed of a round.
const ORDER: &[u8] = b"order";
/// A number of 64 bits is taken anew at most this often before a bias is accepted that nobody could show.
const TRIES_MAX: u32 = 64;

/// Numbers of one round: keyed BLAKE3 seeds ChaCha8.
pub struct Draw {
    stream: ChaCha8,
}

impl Draw {
    /// The draw of a round about a delta with this hash, under the key of its namespace.
    #[must_use]
    pub fn new(key: &[u8; 32], round: u64, delta: &Hash) -> Self {
        let seed = blake3::Hasher::new_keyed(key).update(&round.to_be_bytes()).update(delta).finalize();
        Self { stream: ChaCha8::new(seed.as_bytes().into(), &[0; 12].into()) }
    }

    /// A place below `n`, each as likely as any other; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        let bound = n as u64;
        // Products whose low half is below this would make some places likelier.
        let uneven = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        for _ in 1..TRIES_MAX {
            let product = u128::from(self.next()) * u128::from(bound);
            if product as u64 >= uneven {
                return (product >> 64) as usize;
            }
        }
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as usize
    }

    /// `k` different places below `n`, in the order in which they were drawn; all of them if there are not more.
    pub fn sample(&mut self, n: usize, k: usize) -> Vec<usize> {
        // A shuffle of which only the places are kept that were touched.
        let mut touched: BTreeMap<usize, usize> = BTreeMap::new();
        (0..k.min(n))
            .map(|at| {
                let other = at + self.below(n - at);
                let drawn = touched.get(&other).copied().unwrap_or(other);
                let here = touched.remove(&at).unwrap_or(at);
                if other != at {
                    touched.insert(other, here);
                }
                drawn
            })
            .collect()
    }

    fn next(&mut self) -> u64 {
        let mut bytes = [0; 8];
        // It fails at the end of a stream of 256 GiB, which no round reaches.
        let _ = self.stream.try_apply_keystream(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The key of a namespace on a day, from a secret that never leaves the server.
#[must_use]
pub fn namespace_key(secret: &[u8; 32], namespace: &str, day: i64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(KEY_CONTEXT);
    hasher.update(secret).update(&day.to_be_bytes()).update(namespace.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Where an id stands in an order that only the key knows. The rows that come first are a uniform sample that stays one
/// while rows come and go (CAL-9).
#[must_use]
pub fn order_key(key: &[u8; 32], id: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    blake3::Hasher::new_keyed(key).update(ORDER).update(id).finalize_xof().fill(&mut bytes);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn draw(round: u64) -> Draw {
        Draw::new(&[3; 32], round, &[5; 32])
    }

    fn first(draw: &mut Draw) -> Vec<usize> {
        (0..8).map(|_| draw.below(1 << 30)).collect()
    }

    /// CAL-27: a round replays bit for bit; another round, delta or key draws otherwise.
    #[test]
    fn a_round_replays() {
        assert_eq!(first(&mut draw(1)), first(&mut draw(1)));
        assert_ne!(first(&mut draw(1)), first(&mut draw(2)));
        assert_ne!(first(&mut draw(1)), first(&mut Draw::new(&[3; 32], 1, &[6; 32])));
        assert_ne!(first(&mut draw(1)), first(&mut Draw::new(&[4; 32], 1, &[5; 32])));
    }

    /// CAL-27: the stream stays what it is, or old rounds could not be replayed.
    #[test]
    fn the_stream_is_fixed() {
        let seed = blake3::keyed_hash(&[3; 32], &[&1_u64.to_be_bytes()[..], &[5; 32]].concat());
        let mut stream = [0; 16];
        ChaCha8::new(seed.as_bytes().into(), &[0; 12].into()).apply_keystream(&mut stream);
        let mut draw = draw(1);
        let drawn = [draw.next().to_le_bytes(), draw.next().to_le_bytes()].concat();
        assert_eq!(drawn, stream);
        // The first block of ChaCha8 under a key and nonce of zeros.
        let mut zeros = [0; 8];
        ChaCha8::new(&[0; 32].into(), &[0; 12].into()).apply_keystream(&mut zeros);
        assert_eq!(zeros, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }

    /// CAL-27: every place is as likely as any other, alone and in a sample.
    #[test]
    fn draws_are_uniform() {
        let mut draw = draw(7);
        let (mut alone, mut sampled) = ([0_u32; 7], [0_u32; 7]);
        for _ in 0..7_000 {
            alone[draw.below(7)] += 1;
            for place in draw.sample(7, 3) {
                sampled[place] += 1;
            }
        }
        assert!(alone.iter().all(|count| (880..=1_120).contains(count)), "{alone:?}");
        assert!(sampled.iter().all(|count| (2_800..=3_200).contains(count)), "{sampled:?}");
        assert_eq!(draw.below(0), 0);
        assert_eq!(draw.below(1), 0);
    }

    /// CAL-9: the smallest order keys are a sample in which old and new ids stand alike.
    #[test]
    fn an_order_is_uniform_and_keyed() {
        let key = namespace_key(&[1; 32], "team", 20_000);
        let low = (0_u32..4_000).filter(|id| order_key(&key, &id.to_be_bytes()) < u64::MAX / 4);
        let low: Vec<u32> = low.collect();
        assert!((900..=1_100).contains(&low.len()), "{}", low.len());
        let old = low.iter().filter(|id| **id < 2_000).count();
        assert!((400..=600).contains(&old), "{old}");
        assert_ne!(order_key(&key, b"a"), order_key(&[0; 32], b"a"));
    }

    /// CAL-27: a key is of its secret, namespace and day.
    #[test]
    fn keys_rotate() {
        let keys = [
            namespace_key(&[1; 32], "team", 20_000),
            namespace_key(&[1; 32], "team", 20_001),
            namespace_key(&[1; 32], "teal", 20_000),
            namespace_key(&[2; 32], "team", 20_000),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 4);
    }

    proptest! {
        /// CAL-27: a sample holds different places, as many as asked for or all.
        #[test]
        fn a_sample_is_distinct(round in any::<u64>(), n in 0..200_usize, k in 0..250_usize) {
            let sample = draw(round).sample(n, k);
            prop_assert_eq!(sample.len(), k.min(n));
            prop_assert!(sample.iter().all(|place| *place < n));
            prop_assert_eq!(sample.iter().collect::<BTreeSet<_>>().len(), sample.len());
        }
    }
}
