//! What an operator put at the agents' disposal: resources that can be called, and a model that may steer and word answers.
//!
//! Set once, by whoever opens the engine. Where a resource is reached is no state of a tenant and no call can change it.

use crate::Engine;
use crate::ports::{Callable, Chat};
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::orchestrate::Documents;
use tabellion_core::schema::Arguments;
use tabellion_core::time::Period;
use tabellion_core::view::IdentityView;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How a resource answers.
#[derive(Clone)]
pub enum How {
    /// From documents in this process.
    Documents(Arc<Documents>),
    /// From outside.
    Outside(Arc<dyn Callable>),
}

/// A resource that can be called.
#[derive(Clone)]
pub struct Configured {
    /// The tenant that has it, by id or name; none for the one that the first start made.
    pub tenant: Option<String>,
    /// Its name or id there.
    pub name: String,
    /// What sort it is; for metrics.
    pub kind: &'static str,
    /// What it takes.
    pub args: Arguments,
    /// How it answers.
    pub how: How,
}

/// Bounds of questions and calls.
#[derive(Debug, Clone, Copy)]
pub struct AskLimits {
    /// Questions under way.
    pub asks_max: usize,
    /// Calls of resources under way.
    pub calls_max: usize,
    /// How long a question may take; no round begins after that.
    pub seconds_max: u64,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { asks_max: 16, calls_max: 64, seconds_max: 120 }
    }
}

/// What is at the agents' disposal; by default the orchestrator without a model, and no resource.
#[derive(Clone)]
pub struct Equipment {
    /// Whether questions are taken.
    pub enabled: bool,
    /// Resources that can be called.
    pub resources: Vec<Configured>,
    /// A model; none, and questions are answered without one.
    pub chat: Option<Arc<dyn Chat>>,
    /// Bounds.
    pub limits: AskLimits,
}

impl Default for Equipment {
    fn default() -> Self {
        Self { enabled: true, resources: Vec::new(), chat: None, limits: AskLimits::default() }
    }
}

/// The same, in use.
pub(crate) struct Equipped {
    pub(crate) equipment: Equipment,
    asks: Arc<Semaphore>,
    calls: Arc<Semaphore>,
}

impl Equipped {
    fn new(equipment: Equipment) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        let (asks, calls) = (places(equipment.limits.asks_max), places(equipment.limits.calls_max));
        Self { equipment, asks, calls }
    }

    /// A place among the questions under way.
    pub(crate) fn admit_ask(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        admit(&self.asks, "too many questions are under way; try again soon")
    }

    /// A place among the calls under way.
    pub(crate) fn admit_call(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        admit(&self.calls, "too many calls of resources are under way; try again soon")
    }

    /// How a tenant's resource is called, if the operator said so. What is meant for one tenant is nothing to another that has
    /// a resource of the same name.
    pub(crate) fn find(&self, identity: &IdentityView, id: &str, name: &str) -> Option<&Configured> {
        let tenant = identity.tenant().map(|tenant| tenant.to_string());
        let is_here = |one: &&Configured| match &one.tenant {
            None => identity.is_operator(),
            Some(named) => named == identity.tenant_name() || Some(named) == tenant.as_ref(),
        };
        self.equipment.resources.iter().filter(is_here).find(|one| one.name == name || one.name == id)
    }
}

fn admit(places: &Arc<Semaphore>, message: &str) -> Result<OwnedSemaphorePermit, Refusal> {
    let full = |_| Refusal::new(Code::Overloaded, message).retry_after(Period::from_secs(1));
    Arc::clone(places).try_acquire_owned().map_err(full)
}

impl Engine {
    /// Puts this at the agents' disposal from now on. The first one stays: it is a setting, not a state.
    pub fn equip(&self, equipment: Equipment) {
        let _set_once = self.inner.equipment.set(Equipped::new(equipment));
    }

    pub(crate) fn equipped(&self) -> &Equipped {
        self.inner.equipment.get_or_init(|| Equipped::new(Equipment::default()))
    }
}
