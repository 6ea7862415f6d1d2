//! The predicates of callers, compiled once, kept for as long as what they were compiled from holds, and then brought up to
//! what changed (SHARE-5, 35, 36).

use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tabellion_core::access::{Caller, Predicate, Sight};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Views};

/// Agents that what is kept goes through, over all callers; beyond that, all are compiled anew.
const KEPT_MAX: usize = 20_000;

/// A user, an agent (none for a person), and whether the user moderates.
pub(crate) type Viewer = (UserId, Option<AgentId>, bool);

/// Whose sight a caller has.
pub(crate) fn viewer(caller: &Caller) -> Viewer {
    (caller.user(), caller.sees_through(), caller.moderates())
}

/// What callers see.
#[derive(Default)]
pub(crate) struct Predicates(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    compiled: HashMap<Viewer, Compiled>,
    breadth: usize,
}

#[derive(Clone)]
struct Compiled {
    epoch: u64,
    classes: usize,
    /// When an edge or a role begins or lapses by itself.
    until: Option<Timestamp>,
    sight: Arc<Sight>,
    predicate: Arc<Predicate>,
}

impl Compiled {
    fn holds(&self, views: &Views, now: Timestamp) -> bool {
        self.epoch == views.graphs.epoch()
            && self.classes == views.items.classes().len()
            && self.until.is_none_or(|until| now < until)
    }

    fn breadth(&self) -> usize {
        self.sight.breadth() + 1
    }
}

impl Kept {
    fn keep(&mut self, viewer: Viewer, compiled: Compiled) {
        self.breadth += compiled.breadth();
        if self.breadth > KEPT_MAX {
            (self.compiled, self.breadth) = (HashMap::new(), compiled.breadth());
        }
        let before = self.compiled.insert(viewer, compiled);
        self.breadth -= before.map_or(0, |before| before.breadth());
    }
}

/// What a caller may see as of these views and now. A read takes it from the very views that it reads.
pub(crate) fn predicate(tenant: &Tenant, caller: &Caller, views: &Views) -> Arc<Predicate> {
    let now = tenant.now();
    let viewer = viewer(caller);
    let before = match tenant.predicates.0.lock().compiled.get(&viewer) {
        Some(kept) if kept.holds(views, now) => return Arc::clone(&kept.predicate),
        Some(kept) => Some(Arc::clone(&kept.sight)),
        None => None,
    };
    let at = Moment { lsn: views.lsn(), time: now };
    let sight = match before {
        Some(mut sight) => {
            Arc::make_mut(&mut sight).follow(views, at);
            sight
        }
        None if caller.moderates() => Arc::new(Sight::of_moderator(viewer.0, views, at)),
        None => Arc::new(Sight::of(viewer.0, viewer.1, views, at)),
    };
    let predicate = Arc::new(sight.predicate().clone());
    let compiled = Compiled {
        epoch: views.graphs.epoch(),
        classes: views.items.classes().len(),
        until: [views.graphs.next_turn(now), views.roles.next_turn(now)].into_iter().flatten().min(),
        sight,
        predicate: Arc::clone(&predicate),
    };
    tenant.predicates.0.lock().keep(viewer, compiled);
    predicate
}
