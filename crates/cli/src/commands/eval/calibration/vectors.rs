//! World V: texts about twelve topics as vectors, and lies that are placed among them.

use super::team::DIMENSIONS;
use crate::commands::chance::Chance;

/// Topics of the world, and those that are talked about at a time.
pub(super) const TOPICS: usize = 12;
pub(super) const ACTIVE: usize = 3;
/// Items that a poisoner takes the middle of.
const MIDDLE_OF: usize = 25;

pub(super) type Vector = Vec<f32>;

/// What a vector is made of: what all have in common, the topic, and what is its own.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) topic: usize,
    pub(super) own: Vector,
    pub(super) vector: Vector,
}

/// The world that a seed makes.
pub(super) struct World {
    common: Vector,
    topics: Vec<Vector>,
    pub(super) chance: Chance,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ 0x5eed_0f0f);
        let common = direction(&mut chance);
        let topics = (0..TOPICS).map(|_| direction(&mut chance)).collect();
        Self { common, topics, chance }
    }

    /// A number below another.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.chance.next() % n.max(1) as u64) as usize
    }

    /// Whether something happens that happens this often.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        (self.chance.next() >> 11) as f64 / (1_u64 << 53) as f64 <= share
    }

    pub(super) fn direction(&mut self) -> Vector {
        direction(&mut self.chance)
    }

    fn placed(&self, topic: usize, own: &[f32]) -> Vector {
        let empty = Vec::new();
        let about = self.topics.get(topic).unwrap_or(&empty);
        unit(&sum(&[(0.12_f32.sqrt(), &self.common), (0.33_f32.sqrt(), about), (0.55_f32.sqrt(), own)]))
    }

    /// A text about a topic.
    pub(super) fn item(&mut self, topic: usize) -> Item {
        let own = self.direction();
        Item { topic, vector: self.placed(topic, &own), own }
    }

    /// A question that an item answers.
    pub(super) fn question(&mut self, item: &Item) -> Vector {
        let other = self.direction();
        let own = sum(&[(0.35, &item.own), (0.937, &other)]);
        self.placed(item.topic, &own)
    }

    /// The middle of what lies nearest to a topic, or of everything.
    pub(super) fn middle(&self, known: &[Item], topic: Option<usize>) -> Vector {
        let mut all: Vec<&Item> = known.iter().collect();
        if let Some(centre) = topic.and_then(|topic| self.topics.get(topic)) {
            all.sort_by(|a, b| dot(&b.vector, centre).total_cmp(&dot(&a.vector, centre)));
            all.truncate(MIDDLE_OF);
        }
        let parts: Vec<(f32, &[f32])> = all.iter().map(|item| (1.0, item.vector.as_slice())).collect();
        unit(&sum(&parts))
    }

    /// Something very near to a place.
    pub(super) fn near(&mut self, place: &[f32]) -> Vector {
        let noise: Vector = (0..DIMENSIONS).map(|_| 0.01 * self.chance.gauss()).collect();
        unit(&sum(&[(1.0, place), (1.0, &noise)]))
    }
}

pub(super) fn direction(chance: &mut Chance) -> Vector {
    unit(&(0..DIMENSIONS).map(|_| chance.gauss()).collect::<Vector>())
}

pub(super) fn sum(parts: &[(f32, &[f32])]) -> Vector {
    let mut all = vec![0.0; DIMENSIONS];
    for (weight, part) in parts {
        for (sum, number) in all.iter_mut().zip(*part) {
            *sum += weight * number;
        }
    }
    all
}

pub(super) fn unit(vector: &[f32]) -> Vector {
    let length = dot(vector, vector).sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|number| number / length).collect()
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    tabellion_core::rank::dot(a, b)
}
