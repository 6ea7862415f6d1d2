//! Vectors as a model might make them: points around many centers of few dimensions, turned into many and blurred.
//!
//! Every vector follows from the seed and its number alone, so any thread can draw any of them.

pub(super) use super::super::chance::Chance;

use tabellion_engine::ports::{EmbedError, Embedder};

/// As long as MiniLM's.
pub(super) const DIMENSIONS: usize = 384;
const CENTERS: u64 = 2_000;
const LATENT: usize = 32;
/// The deviation of each blurred number, where those of a center have 1.
const NOISE: f32 = 0.2;
/// Queries are numbered from here: drawn like what is stored, and never stored.
const QUERIES_FROM: u64 = 1 << 40;

/// Where vectors are drawn from.
#[derive(Debug, Clone)]
pub(super) struct Cloud {
    centers: Vec<[f32; LATENT]>,
    /// What each latent dimension adds.
    turned: Vec<Vec<f32>>,
    /// How far points lie from their center, where centers lie 1 from the middle.
    spread: f32,
}

impl Cloud {
    pub(super) fn new(spread: f32) -> Self {
        let mut chance = Chance::new(7);
        let scale = (LATENT as f32).sqrt().recip();
        let row = |chance: &mut Chance| (0..DIMENSIONS).map(|_| chance.gauss() * scale).collect();
        let turned = (0..LATENT).map(|_| row(&mut chance)).collect();
        let centers = (0..CENTERS).map(|_| std::array::from_fn(|_| chance.gauss())).collect();
        Self { centers, turned, spread }
    }

    /// A vector that is stored.
    pub(super) fn vector(&self, number: u64) -> Vec<f32> {
        let mut chance = Chance::new(number.wrapping_mul(0xd134_2543_de82_ef95));
        let center = usize::try_from(chance.next() % CENTERS).ok().and_then(|at| self.centers.get(at));
        let mut vector: Vec<f32> = (0..DIMENSIONS).map(|_| NOISE * chance.gauss()).collect();
        for (middle, turned) in center.into_iter().flatten().zip(&self.turned) {
            let latent = middle + self.spread * chance.gauss();
            vector.iter_mut().zip(turned).for_each(|(sum, part)| *sum += latent * part);
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }

    /// A vector to search with.
    pub(super) fn query(&self, number: u64) -> Vec<f32> {
        self.vector(QUERIES_FROM + number)
    }
}

/// A model that draws a text's vector by the first number in it: what is stored is known without it.
pub(super) struct Drawn(pub(super) Cloud);

impl Embedder for Drawn {
    fn model(&self) -> &str {
        "drawn"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch_texts_max(&self) -> usize {
        256
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let number = |text: &&str| text.split(' ').find_map(|word| word.parse().ok());
        let vectors = texts.iter().map(|text| number(text).map(|number| self.0.vector(number)));
        let vectors: Option<Vec<Vec<f32>>> = vectors.collect();
        vectors.ok_or_else(|| EmbedError::Nonsense("a text without a number".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_unit_length_and_are_the_same_each_time() {
        let cloud = Cloud::new(0.5);
        let length: f32 = cloud.vector(3).iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
        assert_eq!(cloud.vector(3), Cloud::new(0.5).vector(3));
        assert_ne!(cloud.vector(3), cloud.query(3));
        assert_eq!(Drawn(cloud.clone()).embed(&["fact 3 of 9"]).unwrap(), [cloud.vector(3)]);
    }
}
