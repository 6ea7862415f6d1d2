//! Numbers that look random and follow from a seed (SplitMix64): the same seed draws the same numbers everywhere.

pub(super) struct Chance(u64);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`; 0 if that is 0.
    pub(super) const fn below(&mut self, bound: usize) -> usize {
        // The high half of a product: no division, and a bias that no sample here is large enough to show.
        ((self.next() as u128 * bound as u128) >> 64) as usize
    }

    /// `count` different places below `bound`, in no order; all of them if there are not more.
    pub(super) fn places(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..bound).collect();
        let count = count.min(bound);
        for at in 0..count {
            places.swap(at, at + self.below(bound - at));
        }
        places.truncate(count);
        places
    }
}
