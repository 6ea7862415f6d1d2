//! Writes that are between their comparison and their commit. Two that repeat or contradict each other never are so at the same
//! time: the later one waits, and then finds the earlier one committed, or not.

use parking_lot::Mutex;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::id::UserId;
use tabellion_core::item::Layer;
use tokio::sync::Notify;

/// Whose memory a write goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Corpus {
    pub(super) owner: UserId,
    pub(super) namespace: String,
    pub(super) layer: Layer,
}

/// Writes under way.
#[derive(Default)]
pub(crate) struct Flights {
    flying: Mutex<Flying>,
    landed: Notify,
}

/// Which writes are under way, and how many have been so far.
#[derive(Default)]
struct Flying {
    number: u64,
    flights: Vec<(u64, Corpus, Claim)>,
}

/// A write under way; it has landed, one way or the other, when this is dropped.
pub(crate) struct Flight<'a> {
    flights: &'a Flights,
    number: u64,
}

impl Flights {
    /// Waits until nothing that repeats or contradicts this claim is under way, and sets it under way.
    pub(super) async fn take_off(&self, corpus: &Corpus, claim: &Claim) -> Flight<'_> {
        loop {
            let landed = self.landed.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            if let Some(number) = self.try_take_off(corpus, claim) {
                return Flight { flights: self, number };
            }
            landed.await;
        }
    }

    fn try_take_off(&self, corpus: &Corpus, claim: &Claim) -> Option<u64> {
        let mut flying = self.flying.lock();
        let in_the_way =
            flying.flights.iter().any(|(_, other, known)| other == corpus && collide(known, claim));
        if in_the_way {
            return None;
        }
        flying.number += 1;
        let number = flying.number;
        flying.flights.push((number, corpus.clone(), claim.clone()));
        Some(number)
    }
}

fn collide(known: &Claim, new: &Claim) -> bool {
    known.says_the_same(new)
        || contradiction(known, new, SIGMA_TOPIC).is_some()
        || contradiction(new, known, SIGMA_TOPIC).is_some()
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.flying.lock().flights.retain(|(number, ..)| *number != self.number);
        self.flights.landed.notify_waiters();
    }
}
