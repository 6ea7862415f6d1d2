//! What are the sums and curves between the products? Written so that the compiler can use wide registers.

use pulp::{Arch, Simd, WithSimd};

/// How many partial sums run side by side: the same on every machine, so that rounding is too.
const PARTS: usize = 16;
/// BERT's guard against a spread of nothing.
const SPREAD_MIN: f32 = 1e-12;

/// Runs loops with the widest instructions there are.
pub(super) fn vectorized<T>(arch: Arch, work: impl FnOnce() -> T) -> T {
    struct Work<F>(F);
    impl<T, F: FnOnce() -> T> WithSimd for Work<F> {
        type Output = T;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> T {
            (self.0)()
        }
    }
    arch.dispatch(Work(work))
}

/// Adds number by number.
pub(super) fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Brings each row to mean 0 and spread 1, then to the layer's own.
pub(super) fn norm(arch: Arch, rows: &mut [f32], scale: &[f32], shift: &[f32]) {
    vectorized(arch, || {
        for row in rows.chunks_exact_mut(scale.len().max(1)) {
            let count = row.len() as f32;
            let mean = sum(row, |value| value) / count;
            let spread = sum(row, |value| (value - mean) * (value - mean)) / count;
            let stretch = 1.0 / (spread + SPREAD_MIN).sqrt();
            for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *value = (*value - mean) * stretch * scale + shift;
            }
        }
    });
}

#[inline(always)]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (parts, rest) = row.as_chunks::<PARTS>();
    let mut sums = [0.0; PARTS];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += of(*value));
    }
    sums.iter().sum::<f32>() + rest.iter().map(|value| of(*value)).sum::<f32>()
}

/// Turns scores into weights that add up to 1.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32]) {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = exp(*score - most));
    let all = sum(scores, |weight| weight);
    scores.iter_mut().for_each(|weight| *weight /= all);
}

/// The smooth step between BERT's wide layers: `x` times the chance that a normal number is below it.
pub(super) fn gelu(arch: Arch, values: &mut [f32]) {
    vectorized(arch, || {
        values.iter_mut().for_each(|x| *x = 0.5 * *x * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2)));
    });
}

/// The error function, to 2e-7 (Abramowitz and Stegun, 7.1.26).
#[inline(always)]
fn erf(x: f32) -> f32 {
    const A: [f32; 5] = [0.254_829_6, -0.284_496_74, 1.421_413_7, -1.453_152, 1.061_405_4];
    let [a, b, c, d, e] = A;
    let far = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * far);
    let tail = ((((e * t + d) * t + c) * t + b) * t + a) * t * exp(-far * far);
    (1.0 - tail).copysign(x)
}

/// `e` to the `x`, to 2e-7 of its value; below -87 it is as good as 0, above 88 it stays there.
///
/// Adding `ROUND` leaves the nearest whole power of two in the lowest bits, from where it becomes an exponent.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let power = x * std::f32::consts::LOG2_E + ROUND;
    let whole = power - ROUND;
    let r = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let p = ((((1.987_569_1e-4 * r + 1.398_199_9e-3) * r + 8.333_452e-3) * r + 4.166_579_6e-2) * r
        + 1.666_666_6e-1)
        * r
        + 0.5;
    let scale = f32::from_bits((power.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    (p * r * r + r + 1.0) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_follow_their_definitions() {
        for step in -870..=880 {
            let x = step as f32 / 10.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) - expected).abs() <= 2e-7 * expected, "exp({x})");
        }
        for (x, expected) in
            [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (9.0, 1.0)]
        {
            assert!((erf(x) - expected).abs() < 3e-7, "erf({x})");
            assert!((erf(-x) + expected).abs() < 3e-7, "erf(-{x})");
        }
        assert!(exp(-1e30) < 1e-37 && exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn weights_add_up_to_one_even_for_far_scores() {
        let mut scores = [1000.0, 999.0, -1000.0];
        softmax(&mut scores);
        assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((scores[0] - 0.731_058_6).abs() < 1e-6, "{scores:?}");
    }

    #[test]
    fn rows_are_brought_to_the_mean_and_spread_asked_for() {
        let mut row: Vec<f32> = (0..40).map(|at| at as f32).collect();
        norm(Arch::new(), &mut row, &[2.0; 40], &[3.0; 40]);
        let mean = row.iter().sum::<f32>() / 40.0;
        let spread = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 40.0;
        assert!((mean - 3.0).abs() < 1e-4 && (spread - 4.0).abs() < 1e-4, "{mean} {spread}");
    }
}
