//! What the engine says of how long things took: its own metrics, heard in this process.

use super::super::latency::Latencies;
use anyhow::{Context as _, Result};
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Times that are kept of each sort; those beyond are not.
const KEPT_MAX: usize = 1 << 20;

/// What was heard, by the name of the metric and its labels.
#[derive(Clone, Default)]
pub(super) struct Heard(Arc<Mutex<HashMap<String, Arc<Times>>>>);

/// Times of one sort.
#[derive(Default)]
struct Times(Mutex<Vec<Duration>>);

impl HistogramFn for Times {
    fn record(&self, seconds: f64) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() < KEPT_MAX && seconds.is_finite() {
            times.push(Duration::from_secs_f64(seconds.max(0.0)));
        }
    }
}

impl Heard {
    /// Listens from now on, until the process ends.
    pub(super) fn listen() -> Result<Self> {
        let heard = Self::default();
        metrics::set_global_recorder(heard.clone()).ok().context("something else listens to the metrics")?;
        Ok(heard)
    }

    /// What was heard of a sort since the last time that was asked.
    pub(super) fn take(&self, name: &str) -> Latencies {
        let sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = sorts
            .get(name)
            .map(|times| std::mem::take(&mut *times.0.lock().unwrap_or_else(PoisonError::into_inner)));
        Latencies::from(times.unwrap_or_default())
    }
}

impl Recorder for Heard {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        if !key.name().starts_with("tabellion_memory_calibration") {
            return Histogram::noop();
        }
        let labels: Vec<&str> = key.labels().map(metrics::Label::value).collect();
        let name = [&[key.name()], labels.as_slice()].concat().join(" ");
        let mut sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Histogram::from_arc(Arc::clone(sorts.entry(name).or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_heard_by_name_and_label() {
        let heard = Heard::default();
        metrics::with_local_recorder(&heard, || {
            metrics::histogram!("tabellion_memory_calibration_stage_seconds", "stage" => "density")
                .record(0.002);
            metrics::histogram!("tabellion_commit_seconds").record(1.0);
        });
        assert_eq!(heard.take("tabellion_memory_calibration_stage_seconds density").ms(0.5), 2.0);
        assert_eq!(heard.take("tabellion_memory_calibration_stage_seconds density").len(), 0);
        assert_eq!(heard.take("tabellion_commit_seconds").len(), 0);
    }
}
