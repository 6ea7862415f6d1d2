//! Numbers that look random and follow from a seed: what is measured can be measured again.

/// `SplitMix64`.
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

    /// Near enough to normal: the sum of four even draws, brought to deviation 1.
    pub(super) fn gauss(&mut self) -> f32 {
        let bits = self.next();
        let sum = [0, 16, 32, 48].map(|shift| (bits >> shift) & 0xffff).iter().sum::<u64>() as f32;
        (sum / 65_536.0 - 2.0) * 3.0_f32.sqrt()
    }
}
