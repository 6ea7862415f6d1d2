//! The middles around which vectors gather, learned from a sample.
//!
//! Invariant (same seed, same centroids): training is a function of the sample, the number of lists and the seed.

use super::chance::Chance;
use super::codes::Codes;
use super::kernel::{self, Query, Scan};
use super::shortlist::Ordered;

/// Rounds of k-means: the centroids hardly move after these.
const ROUNDS: usize = 6;
/// Fewer centroids than this are compared one by one.
const GROUPED_MIN: usize = 256;
/// Groups whose centroids are compared: with fewer, a vector too often ends in a list that is not its nearest.
const GROUPS_TRIED: usize = 8;
/// Lists are numbered in 16 bits, and one number stands for none.
pub(super) const LISTS_MAX: usize = u16::MAX as usize;

/// Vectors to learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub(super) dimensions: usize,
    pub(super) vectors: Vec<f32>,
}

impl Sample {
    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vectors.len() / self.dimensions.max(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn vector(&self, at: usize) -> &[f32] {
        self.vectors.get(at * self.dimensions..(at + 1) * self.dimensions).unwrap_or_default()
    }
}

/// The middles, at unit length.
#[derive(Debug)]
pub struct Centroids {
    dimensions: usize,
    vectors: Vec<f32>,
    codes: Codes,
    groups: Option<Groups>,
}

/// Centroids of centroids: to find the nearest of thousands, only those of the nearest groups are compared.
#[derive(Debug)]
struct Groups {
    middles: Box<Centroids>,
    members: Vec<Vec<usize>>,
}

impl Centroids {
    /// Learns at most `lists` centroids; none from an empty sample. It takes seconds: call it outside of any lock.
    #[must_use]
    pub fn train(sample: &Sample, lists: usize, seed: u64) -> Option<Self> {
        let mut chance = Chance::new(seed);
        let firsts = chance.places(lists.min(LISTS_MAX), sample.len());
        if firsts.is_empty() {
            return None;
        }
        let vectors = firsts.iter().flat_map(|at| sample.vector(*at)).copied().collect();
        let mut centroids = Self::from_vectors(sample.dimensions, vectors);
        let queries: Vec<Query> =
            (0..sample.len()).map(|at| Query::new(sample.vector(at).to_vec())).collect();
        for _ in 0..ROUNDS {
            centroids = centroids.moved(&queries, &mut chance);
        }
        Some(centroids)
    }

    pub(super) fn from_vectors(dimensions: usize, vectors: Vec<f32>) -> Self {
        let mut codes = Codes::zeroed(dimensions, vectors.len() / dimensions.max(1));
        for (at, vector) in vectors.chunks_exact(dimensions.max(1)).enumerate() {
            codes.set(at, vector);
        }
        let mut centroids = Self { dimensions, vectors, codes, groups: None };
        if centroids.len() >= GROUPED_MIN {
            centroids.groups = Groups::of(&centroids);
        }
        centroids
    }

    /// The number of centroids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vectors.len() / self.dimensions.max(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) const fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    pub(super) fn nearest(&self, query: &Query) -> usize {
        kernel::run(Nearest { centroids: self, query })
    }

    /// The cosine of the query and each centroid.
    #[inline(always)]
    pub(super) fn cosines(&self, query: &Query) -> impl Iterator<Item = f32> {
        self.codes.iter().map(|(code, coding)| query.cosine(code, coding))
    }

    /// One round: each centroid moves to the middle of the vectors nearest to it. One that has none starts anew.
    fn moved(&self, queries: &[Query], chance: &mut Chance) -> Self {
        let mut sums = vec![0.0_f32; self.vectors.len()];
        for query in queries {
            let start = self.nearest(query) * self.dimensions;
            let sum = sums.get_mut(start..start + self.dimensions).unwrap_or_default();
            for (sum, x) in sum.iter_mut().zip(&query.unit) {
                *sum += x;
            }
        }
        for sum in sums.chunks_exact_mut(self.dimensions.max(1)) {
            match kernel::unit(sum, self.dimensions) {
                Ok(unit) => sum.copy_from_slice(&unit),
                Err(_) => {
                    if let Some(query) = queries.get(chance.below(queries.len())) {
                        sum.copy_from_slice(&query.unit);
                    }
                }
            }
        }
        Self::from_vectors(self.dimensions, sums)
    }
}

impl Groups {
    fn of(centroids: &Centroids) -> Option<Self> {
        let sample = Sample { dimensions: centroids.dimensions, vectors: centroids.vectors.clone() };
        let middles = Centroids::train(&sample, sample.len().isqrt(), 0)?;
        let mut members = vec![Vec::new(); middles.len()];
        for at in 0..sample.len() {
            let group = middles.nearest(&Query::new(sample.vector(at).to_vec()));
            if let Some(members) = members.get_mut(group) {
                members.push(at);
            }
        }
        Some(Self { middles: Box::new(middles), members })
    }

    /// The centroids of the nearest groups.
    #[inline(always)]
    fn near(&self, query: &Query) -> impl Iterator<Item = usize> {
        let mut groups: Vec<(Ordered, usize)> = self.middles.cosines(query).map(Ordered).zip(0..).collect();
        if groups.len() > GROUPS_TRIED {
            groups.select_nth_unstable_by(GROUPS_TRIED, |a, b| b.cmp(a));
            groups.truncate(GROUPS_TRIED);
        }
        groups.into_iter().filter_map(|(_, at)| self.members.get(at)).flatten().copied()
    }
}

struct Nearest<'a> {
    centroids: &'a Centroids,
    query: &'a Query,
}

impl Nearest<'_> {
    #[inline(always)]
    fn best(&self, among: impl Iterator<Item = usize>) -> usize {
        let (mut nearest, mut best) = (0, f32::NEG_INFINITY);
        for at in among {
            let Some((code, coding)) = self.centroids.codes.get(at) else { continue };
            let cosine = self.query.cosine(code, coding);
            if cosine > best {
                (nearest, best) = (at, cosine);
            }
        }
        nearest
    }
}

impl Scan for Nearest<'_> {
    type Found = usize;

    #[inline(always)]
    fn scan(self) -> usize {
        match &self.centroids.groups {
            None => self.best(0..self.centroids.len()),
            Some(groups) => self.best(groups.near(self.query)),
        }
    }
}
