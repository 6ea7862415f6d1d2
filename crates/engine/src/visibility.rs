//! The predicates of callers, compiled once and kept for as long as what they were compiled from holds (SHARE-5, 35, 36).

use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tabellion_core::access::{Caller, Predicate, visible_to};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Views};

/// Predicates that are kept; beyond that, all are compiled anew.
const KEPT_MAX: usize = 10_000;

/// Compiled predicates by user and agent, none for a person.
#[derive(Default)]
pub(crate) struct Predicates(Mutex<HashMap<(UserId, Option<AgentId>), Compiled>>);

struct Compiled {
    epoch: u64,
    classes: usize,
    /// When an edge or a role begins or lapses by itself.
    until: Option<Timestamp>,
    predicate: Arc<Predicate>,
}

impl Compiled {
    fn holds(&self, views: &Views, now: Timestamp) -> bool {
        self.epoch == views.graphs.epoch()
            && self.classes == views.items.classes().len()
            && self.until.is_none_or(|until| now < until)
    }
}

/// What a caller may see as of these views and now. A read takes it from the very views that it reads.
pub(crate) fn predicate(tenant: &Tenant, caller: &Caller, views: &Views) -> Arc<Predicate> {
    let now = tenant.now();
    let key = (caller.user(), (!caller.is_person()).then(|| caller.agent()));
    if let Some(kept) = tenant.predicates.0.lock().get(&key).filter(|kept| kept.holds(views, now)) {
        return Arc::clone(&kept.predicate);
    }
    let predicate = Arc::new(visible_to(caller, views, Moment { lsn: views.lsn(), time: now }));
    let compiled = Compiled {
        epoch: views.graphs.epoch(),
        classes: views.items.classes().len(),
        until: [views.graphs.next_turn(now), views.roles.next_turn(now)].into_iter().flatten().min(),
        predicate: Arc::clone(&predicate),
    };
    let mut kept = tenant.predicates.0.lock();
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(key, compiled);
    predicate
}
