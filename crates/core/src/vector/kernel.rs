//! Dot products, and vectors as whole numbers with the error that this makes.
//!
//! Invariant (bounded error): for a query and a coded vector, the exact cosine lies within `Query::error` of the one
//! computed from codes. A scan relies on it to drop a row without looking at its vector.
//!
//! The loops are plain: inlined into a function that is compiled for wide registers, the compiler turns them into
//! widening multiply-adds. Sums of floats run in fixed lanes, so they come out the same on every machine.

use super::NotAVector;
use pulp::{Arch, Simd, WithSimd};

/// The largest code of a stored vector.
const CODE_MAX: f32 = 127.0;
/// The largest code of a query: it keeps a sum over this many dimensions within 32 bits.
const QUERY_CODE_MAX: i32 = i16::MAX as i32;
/// Sums that are kept apart, so that one does not wait for the other.
const LANES: usize = 32;

/// Runs `scan` compiled for the best instructions of this machine. What is to profit must be inlined into it.
#[inline(always)]
pub(super) fn run<S: Scan>(scan: S) -> S::Found {
    Arch::new().dispatch(Vectorized(scan))
}

/// Work that spends its time in dot products.
pub(super) trait Scan {
    /// What comes out.
    type Found;

    /// Does it; implemented with `#[inline(always)]`.
    fn scan(self) -> Self::Found;
}

struct Vectorized<S>(S);

impl<S: Scan> WithSimd for Vectorized<S> {
    type Output = S::Found;

    #[inline(always)]
    fn with_simd<T: Simd>(self, _: T) -> S::Found {
        self.0.scan()
    }
}

/// The dot product of codes. It wraps rather than checks: `QUERY_CODE_MAX` keeps it in range.
#[inline(always)]
pub(super) fn dot_codes(query: &[i16], code: &[i8]) -> i32 {
    query
        .iter()
        .zip(code)
        .fold(0, |sum: i32, (q, c)| sum.wrapping_add(i32::from(*q).wrapping_mul(i32::from(*c))))
}

/// The dot product of vectors.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(a, b)| a * b).sum::<f32>();
    for (a, b) in a_lanes.zip(b_lanes) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    fold_lanes(&mut lanes) + rest
}

#[inline(always)]
fn fold_lanes(lanes: &mut [f32]) -> f32 {
    let mut width = lanes.len() / 2;
    while width > 0 {
        let (low, high) = lanes.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(high) {
            *low += *high;
        }
        width /= 2;
    }
    lanes.first().copied().unwrap_or(0.0)
}

/// The vector at unit length.
pub(super) fn unit(vector: &[f32], dimensions: usize) -> Result<Vec<f32>, NotAVector> {
    if vector.len() != dimensions {
        return Err(NotAVector::Dimensions { expected: dimensions, found: vector.len() });
    }
    if !vector.iter().all(|x| x.is_finite()) {
        return Err(NotAVector::NotFinite);
    }
    // In f64, no square of an f32 overflows or vanishes.
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err(NotAVector::NoLength);
    }
    Ok(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}

/// How a vector was coded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Coding {
    /// What one step of the code stands for.
    pub(super) scale: f32,
    /// The length of what the code leaves out.
    pub(super) lost: f32,
}

/// Codes a unit vector.
#[inline(always)]
pub(super) fn encode(vector: &[f32], code: &mut [i8]) -> Coding {
    let scale = largest(vector) / CODE_MAX;
    let inverse = scale.recip();
    for (code, x) in code.iter_mut().zip(vector) {
        *code = (x * inverse).round() as i8;
    }
    Coding { scale, lost: lost(vector, code.iter().map(|c| f32::from(*c) * scale)) }
}

#[inline(always)]
fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()))
}

#[inline(always)]
fn lost(vector: &[f32], decoded: impl Iterator<Item = f32>) -> f32 {
    vector.iter().zip(decoded).map(|(x, y)| (x - y) * (x - y)).sum::<f32>().sqrt()
}

/// A query: at unit length, and coded finer than what it is compared with.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) unit: Vec<f32>,
    code: Vec<i16>,
    scale: f32,
    lost: f32,
}

impl Query {
    pub(super) fn new(unit: Vec<f32>) -> Self {
        let dimensions = i32::try_from(unit.len()).unwrap_or(i32::MAX).max(1);
        let most = QUERY_CODE_MAX.min(i32::MAX / 128 / dimensions) as f32;
        let scale = largest(&unit) / most;
        let code: Vec<i16> = unit.iter().map(|x| (x / scale).round() as i16).collect();
        // The second part stands for rounding in the sums themselves.
        let lost = lost(&unit, code.iter().map(|c| f32::from(*c) * scale)) * 2.0
            + f32::EPSILON * (unit.len() as f32 + 16.0);
        Self { unit, code, scale, lost }
    }

    /// The cosine by codes.
    #[inline(always)]
    pub(super) fn cosine(&self, code: &[i8], coding: Coding) -> f32 {
        dot_codes(&self.code, code) as f32 * (coding.scale * self.scale)
    }

    /// How far the exact cosine can be from the one by codes.
    #[inline(always)]
    pub(super) fn error(&self, coding: Coding) -> f32 {
        coding.lost * 1.001 + self.lost
    }
}
