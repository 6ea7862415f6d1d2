//! How long many things took, in order: what half of them, and nearly all of them, stayed below.

pub(super) use super::super::bar::{Bar, Bound};

use super::bare::now;
use serde_json::{Value, json};
use std::time::Duration;

/// How long each took.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies(Vec<Duration>);

impl From<Vec<Duration>> for Latencies {
    fn from(each: Vec<Duration>) -> Self {
        Self(each)
    }
}

impl Latencies {
    /// Does it, and notes how long it took.
    pub(super) fn time<T>(&mut self, done: impl FnOnce() -> T) -> T {
        let began = now();
        let result = done();
        self.0.push(began.elapsed());
        result
    }

    pub(super) fn note(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(super) fn extend(&mut self, more: &Self) {
        self.0.extend_from_slice(&more.0);
    }

    /// How many there were.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// What this share of them stayed below, in milliseconds.
    pub(super) fn ms(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let place = (sorted.len() as f64 * share) as usize;
        sorted.get(place.min(sorted.len().saturating_sub(1))).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    }

    /// How long all of them took together.
    pub(super) fn sum(&self) -> Duration {
        self.0.iter().sum()
    }

    /// The same in seconds.
    pub(super) fn sum_s(&self) -> f64 {
        self.sum().as_secs_f64()
    }

    /// How many a second, one after the other.
    pub(super) fn per_second(&self) -> f64 {
        self.0.len() as f64 / self.sum_s().max(f64::EPSILON)
    }

    pub(super) fn json(&self) -> Value {
        json!({"p50_ms": self.ms(0.5), "p95_ms": self.ms(0.95), "p99_ms": self.ms(0.99)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_of_the_sorted_times() {
        let mut latencies = Latencies::default();
        [5, 1, 4, 2, 3].into_iter().for_each(|ms| latencies.note(Duration::from_millis(ms)));
        assert_eq!((latencies.ms(0.5), latencies.ms(0.99)), (3.0, 5.0));
        assert_eq!(Latencies::default().ms(0.5), 0.0);
    }
}
