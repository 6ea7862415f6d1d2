//! How long each gate takes: for the metrics and for measurements. No decision depends on it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What each gate took so far, and how often it ran.
#[derive(Default)]
pub(crate) struct GateTimes(parking_lot::Mutex<BTreeMap<&'static str, (u64, Duration)>>);

impl GateTimes {
    /// The gathering of what the gates are told.
    pub(crate) const FACTS: &'static str = "facts";

    pub(super) fn start(&self) -> Stopwatch<'_> {
        Stopwatch { times: self, since: now() }
    }

    /// Each gate with how often it ran and what that took in all.
    pub(crate) fn all(&self) -> Vec<(&'static str, u64, Duration)> {
        self.0.lock().iter().map(|(gate, (count, took))| (*gate, *count, *took)).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// Runs something outside this process and notes how long it took.
pub(crate) fn timed<T>(gate: String, ask: impl FnOnce() -> T) -> T {
    let since = now();
    let answer = ask();
    metrics::histogram!("tabellion_gate_seconds", "gate" => gate).record(since.elapsed().as_secs_f64());
    answer
}

/// Times one gate after the other.
pub(super) struct Stopwatch<'a> {
    times: &'a GateTimes,
    since: Instant,
}

impl Stopwatch<'_> {
    pub(super) fn lap(&mut self, gate: &'static str) {
        let took = self.since.elapsed();
        self.since = now();
        metrics::histogram!("tabellion_gate_seconds", "gate" => gate).record(took.as_secs_f64());
        let mut times = self.times.0.lock();
        let (count, sum) = times.entry(gate).or_default();
        (*count, *sum) = (*count + 1, *sum + took);
    }
}
