//! How many requests may one credential make?
//!
//! A token bucket a credential, in a map that cannot outgrow its bound. Knows no secret: a bucket is found by a keyed hash.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Buckets kept at once. A bucket that is full again says nothing, and is forgotten first.
const BUCKETS_MAX: usize = 65_536;

/// How often a crowded map is searched for buckets to forget.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The bucket of all credentials that found no room in the map.
const CROWD: u64 = 0;

/// The buckets of every credential seen lately.
pub(crate) struct Rates {
    per_second: f64,
    hasher: RandomState,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    map: HashMap<u64, Bucket>,
    swept: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, per_second: f64, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * per_second;
        (self.tokens + gained).min(per_second)
    }
}

impl Rates {
    /// Buckets that hold one second's worth of requests.
    pub(crate) fn new(per_second: u32) -> Self {
        let buckets = Mutex::new(Buckets { map: HashMap::new(), swept: None });
        Self { per_second: f64::from(per_second.max(1)), hasher: RandomState::new(), buckets }
    }

    /// Takes one request of this credential, or says how long to wait.
    pub(crate) fn take(&self, credential: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let place = buckets.place(self.hasher.hash_one(credential), self.per_second, now);
        let bucket = buckets.map.entry(place).or_insert(Bucket { tokens: self.per_second, at: now });
        let tokens = bucket.filled(self.per_second, now);
        if tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second));
        }
        *bucket = Bucket { tokens: tokens - 1.0, at: now };
        Ok(())
    }
}

impl Buckets {
    fn place(&mut self, hash: u64, per_second: f64, now: Instant) -> u64 {
        if self.map.len() < BUCKETS_MAX || self.map.contains_key(&hash) {
            return hash;
        }
        let due = self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP_EVERY);
        if due {
            self.swept = Some(now);
            self.map.retain(|_, bucket| bucket.filled(per_second, now) < per_second);
        }
        if self.map.len() < BUCKETS_MAX { hash } else { CROWD }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_credential_gets_its_share_and_no_more() {
        let rates = Rates::new(10);
        let start = Instant::now();
        assert!((0..10).all(|_| rates.take("a", start).is_ok()));
        let wait = rates.take("a", start).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        assert!(rates.take("b", start).is_ok(), "another credential has its own");
        assert!(rates.take("a", start + wait).is_ok());
        assert!(rates.take("a", start + wait).is_err());
    }

    #[tokio::test]
    async fn the_map_stays_bounded() {
        let rates = Rates::new(2);
        let start = Instant::now();
        for n in 0..BUCKETS_MAX + 1000 {
            let _shared_bucket_may_be_empty = rates.take(&n.to_string(), start);
        }
        let count = || rates.buckets.lock().unwrap().map.len();
        assert!(count() <= BUCKETS_MAX + 1);
        assert!(rates.take("new", start + Duration::from_secs(2)).is_ok());
        assert!(count() < 10, "full buckets are forgotten");
    }
}
