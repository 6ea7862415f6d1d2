//! What do all transports share?
//!
//! The engine, what bounds access to it, and whether the server takes requests. One `App` serves a process.

use crate::config::Limits;
use crate::rate::Rates;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::time::Period;
use tabellion_engine::Engine;
use tabellion_engine::ports::ManualClock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

/// What all transports share.
pub struct App {
    engine: Engine,
    limits: Limits,
    rates: Rates,
    places: Arc<Semaphore>,
    clock: Option<Arc<ManualClock>>,
    stopping: watch::Sender<bool>,
}

/// Whether the server takes requests, as `/readyz` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The engine is being opened.
    Starting,
    /// Requests are taken.
    Ready,
    /// The engine takes no writes.
    Unavailable,
    /// The end has begun.
    Stopping,
}

impl Phase {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Unavailable => "unavailable",
            Self::Stopping => "stopping",
        }
    }
}

/// A request under way; its place is free again when the last holder drops it.
pub(crate) struct UnderWay {
    _place: OwnedSemaphorePermit,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        metrics::gauge!("tabellion_http_requests_in_flight").decrement(1);
    }
}

impl App {
    /// An app over this engine; a clock only if it may be set from outside.
    #[must_use]
    pub fn new(engine: Engine, limits: Limits, clock: Option<Arc<ManualClock>>) -> Self {
        let places = Arc::new(Semaphore::new(limits.in_flight_max.min(Semaphore::MAX_PERMITS)));
        let rates = Rates::new(limits.requests_per_second_max);
        Self { engine, limits, rates, places, clock, stopping: watch::Sender::new(false) }
    }

    /// The one service layer.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The clock, if it may be set.
    pub(crate) const fn clock(&self) -> Option<&Arc<ManualClock>> {
        self.clock.as_ref()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ends when the server does.
    pub(crate) fn end(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as the app; if it is gone, so is the server.
        async move { drop(stopping.wait_for(|stopping| *stopping).await) }
    }

    pub(crate) fn phase(&self) -> Phase {
        if *self.stopping.borrow() {
            Phase::Stopping
        } else if self.engine.is_ready() {
            Phase::Ready
        } else {
            Phase::Unavailable
        }
    }

    /// Why the engine takes no writes, where the storage is the reason.
    pub(crate) fn storage_trouble(&self) -> Option<String> {
        self.engine.storage_trouble()
    }

    /// A place among the requests under way. Full means no: a queue here would only hide the overload.
    pub(crate) fn admit(&self) -> Result<Arc<UnderWay>, Refusal> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let refusal = Refusal::new(Code::Overloaded, "too many requests are under way; try again soon");
            return Err(refusal.retry_after(Period::from_secs(1)));
        };
        metrics::gauge!("tabellion_http_requests_in_flight").increment(1);
        Ok(Arc::new(UnderWay { _place: place }))
    }

    /// One request of this credential, within its rate.
    pub(crate) fn take(&self, credential: &str) -> Result<(), Refusal> {
        self.rates.take(credential, Instant::now()).map_err(|wait| {
            let most = self.limits.requests_per_second_max;
            let message = format!("too many requests with this credential: at most {most} a second");
            let refusal = Refusal::new(Code::RateLimited, message);
            refusal.retry_after(Period::from_secs(whole_seconds(wait)))
        })
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}
