//! How is a batch of rows put through a layer's weights, as fast as this machine can?
//!
//! The weights are laid out once, when the model is opened, so that a call only streams through them. The work stays
//! on the caller's thread: callers on two threads use two cores and never wait for each other.
//!
//! INVARIANT (rows apart): an output is the bias plus its products in the order of the inputs, whatever rows stand
//! beside it. So a text has the same vector alone and in any batch, to the last bit.

use pulp::{Arch, Simd, WithSimd};

/// How many outputs are worked out side by side. Every layer's width is a multiple of it.
pub(super) const PANEL: usize = 32;

/// A layer `y = x W + b`.
pub(super) struct Linear {
    inputs: usize,
    outputs: usize,
    /// For each panel of outputs and each input, the weights to that panel's outputs.
    panels: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// A layer from rows of weights, one row an output. None if the sizes do not fit together.
    pub(super) fn new(weights: &[f32], bias: Vec<f32>) -> Option<Self> {
        let outputs = bias.len();
        let inputs = weights.len().checked_div(outputs)?;
        if inputs == 0 || weights.len() != inputs * outputs || !outputs.is_multiple_of(PANEL) {
            return None;
        }
        let mut panels = vec![0.0; weights.len()];
        let rows = weights.chunks_exact(inputs * PANEL);
        for (panel, rows) in panels.chunks_exact_mut(inputs * PANEL).zip(rows) {
            interleave(rows, inputs, PANEL, panel);
        }
        Some(Self { inputs, outputs, panels, bias })
    }

    /// How wide its rows of outputs are.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// A row of outputs for each row of inputs.
    pub(super) fn apply(&self, arch: Arch, rows: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() / self.inputs * self.outputs];
        arch.dispatch(Product { linear: self, rows, out: &mut out });
        out
    }
}

/// Turns rows into columns `height` wide: the first value of each row, then the second of each, and so on.
fn interleave(rows: &[f32], width: usize, height: usize, into: &mut [f32]) {
    for (at, row) in rows.chunks_exact(width).enumerate() {
        for (column, value) in into.chunks_exact_mut(height).zip(row) {
            if let Some(place) = column.get_mut(at) {
                *place = *value;
            }
        }
    }
}

/// Rows that are worked on at once: so many that their sums just fit the registers.
struct Block {
    /// How many rows its layout has room for; those beyond the last real one are zeros.
    height: usize,
    values: Vec<f32>,
}

/// One multiplication, to be run with the widest instructions there are.
struct Product<'a> {
    linear: &'a Linear,
    rows: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Linear { inputs, outputs, panels, bias } = self.linear;
        let most = block_rows_max(S::F32_LANES);
        let blocks = self.rows.chunks(inputs * most).map(|rows| {
            let height = block_height(S::F32_LANES, rows.len() / inputs);
            let mut values = vec![0.0; inputs * height];
            interleave(rows, *inputs, height, &mut values);
            Block { height, values }
        });
        let blocks: Vec<Block> = blocks.collect();
        let panels = panels.chunks_exact(inputs * PANEL).zip(bias.chunks_exact(PANEL));
        // Panels outside, blocks inside: the weights come from memory once, the rows stay in the cache.
        for (at, (panel, bias)) in panels.enumerate() {
            for (block, out) in blocks.iter().zip(self.out.chunks_mut(outputs * most)) {
                let tile =
                    Tile { block: &block.values, panel, bias, out, column: at * PANEL, width: *outputs };
                tile.fill(simd, block.height);
            }
        }
    }
}

/// How many rows a block has, by how many numbers a register holds.
#[inline(always)]
const fn block_rows_max(lanes: usize) -> usize {
    match lanes {
        16 => 12,
        8 => 3,
        4 => 2,
        _ => 1,
    }
}

/// The height of a block for so many rows. Few rows in wide registers get a lower one, which costs less.
#[inline(always)]
const fn block_height(lanes: usize, rows: usize) -> usize {
    match (lanes, rows) {
        (16, ..=4) => 4,
        (16, ..=8) => 8,
        _ => block_rows_max(lanes),
    }
}

/// The outputs of one block of rows in one panel of columns.
struct Tile<'a> {
    block: &'a [f32],
    panel: &'a [f32],
    bias: &'a [f32],
    out: &'a mut [f32],
    column: usize,
    width: usize,
}

impl Tile<'_> {
    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, height: usize) {
        match (S::F32_LANES, height) {
            (16, 4) => self.sum::<S, 2, 4>(simd),
            (16, 8) => self.sum::<S, 2, 8>(simd),
            (16, _) => self.sum::<S, 2, 12>(simd),
            (8, _) => self.sum::<S, 4, 3>(simd),
            (4, _) => self.sum::<S, 8, 2>(simd),
            _ => self.sum::<S, PANEL, 1>(simd),
        }
    }

    /// `REGISTERS` side by side hold a panel's outputs of one row; `HEIGHT` rows are summed at once.
    #[inline(always)]
    fn sum<S: Simd, const REGISTERS: usize, const HEIGHT: usize>(self, simd: S) {
        let mut start = [simd.splat_f32s(0.0); REGISTERS];
        start.iter_mut().zip(S::as_simd_f32s(self.bias).0).for_each(|(to, from)| *to = *from);
        let mut sums = [start; HEIGHT];
        let (weights, _) = S::as_simd_f32s(self.panel).0.as_chunks::<REGISTERS>();
        let (inputs, _) = self.block.as_chunks::<HEIGHT>();
        for (weights, inputs) in weights.iter().zip(inputs) {
            for (sums, input) in sums.iter_mut().zip(inputs) {
                let input = simd.splat_f32s(*input);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.mul_add_e_f32s(input, *weight, *sum);
                }
            }
        }
        for (row, sums) in self.out.chunks_exact_mut(self.width).zip(&sums) {
            let columns = row.get_mut(self.column..self.column + PANEL).unwrap_or_default();
            S::as_mut_simd_f32s(columns).0.iter_mut().zip(sums).for_each(|(to, from)| *to = *from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7919 + seed * 104_729) % 1000) as f32 / 500.0 - 1.0).collect()
    }

    fn by_hand(weights: &[f32], bias: &[f32], row: &[f32]) -> Vec<f32> {
        let sums = weights.chunks_exact(row.len()).zip(bias);
        sums.map(|(weights, bias)| bias + weights.iter().zip(row).map(|(w, x)| w * x).sum::<f32>()).collect()
    }

    #[test]
    fn equals_the_sums_by_hand_for_any_number_of_rows() {
        let (inputs, outputs) = (48, 96);
        let (weights, bias) = (numbers(inputs * outputs, 1), numbers(outputs, 2));
        let linear = Linear::new(&weights, bias.clone()).unwrap();
        for rows in 0..30 {
            let x = numbers(inputs * rows, 3);
            let found = linear.apply(Arch::new(), &x);
            let expected: Vec<f32> =
                x.chunks_exact(inputs).flat_map(|row| by_hand(&weights, &bias, row)).collect();
            assert_eq!(found.len(), expected.len());
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{rows} rows are off by {worst}");
        }
    }

    /// The kinds of machine that this one can play.
    fn machines() -> Vec<Arch> {
        let mut found = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        found.extend(pulp::x86::V3::try_new().map(Arch::V3));
        found
    }

    #[test]
    fn every_kind_of_machine_gives_the_same_sums() {
        let linear = Linear::new(&numbers(64 * 64, 1), numbers(64, 2)).unwrap();
        let x = numbers(64 * 17, 3);
        let sums: Vec<Vec<f32>> = machines().iter().map(|arch| linear.apply(*arch, &x)).collect();
        for other in &sums[1..] {
            assert_eq!(other.len(), sums[0].len());
            assert!(other.iter().zip(&sums[0]).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn a_row_does_not_feel_its_neighbours() {
        let linear = Linear::new(&numbers(64 * 64, 1), numbers(64, 2)).unwrap();
        let x = numbers(64 * 29, 3);
        let together = linear.apply(Arch::new(), &x);
        for (row, expected) in x.chunks_exact(64).zip(together.chunks_exact(64)) {
            assert_eq!(linear.apply(Arch::new(), row), expected);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert!(Linear::new(&numbers(64, 1), numbers(33, 2)).is_none());
        assert!(Linear::new(&numbers(64, 1), Vec::new()).is_none());
        assert!(Linear::new(&[], numbers(32, 1)).is_none());
        assert!(Linear::new(&numbers(65, 1), numbers(32, 2)).is_none());
    }
}
