//! News of held writes, for whoever is listening: never what they say, only that they are there.

use crate::tenant::Tenant;
use tabellion_core::gate::Hold;
use tabellion_core::id::{ReviewId, TenantId, UserId};
use tabellion_core::item::Layer;
use tabellion_core::time::Timestamp;
use tabellion_core::view::Review;
use tokio::sync::broadcast;

/// News that a slow listener may miss; the queue itself has everything.
const BACKLOG: usize = 1_024;

/// Something happened to a held write.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// `staged`, `escalated`, or how it was decided.
    pub what: String,
    /// The review.
    pub review: ReviewId,
    /// Whose it would be.
    pub owner: UserId,
    /// Its layer.
    pub layer: Layer,
    /// Whether the writer waits.
    pub hold: Hold,
    /// R.
    pub risk: f64,
    /// By when a person should decide.
    pub deadline: Timestamp,
}

/// News of every tenant.
pub(crate) type News = broadcast::Sender<(TenantId, Notice)>;

/// Where news of all tenants goes.
pub(crate) fn news() -> News {
    broadcast::Sender::new(BACKLOG)
}

/// Where news of a tenant goes.
pub(crate) struct Notices {
    own: broadcast::Sender<Notice>,
    all: News,
}

impl Notices {
    pub(crate) fn new(all: News) -> Self {
        Self { own: broadcast::Sender::new(BACKLOG), all }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.own.subscribe()
    }
}

impl Tenant {
    /// Tells whoever listens.
    pub(crate) fn announce(&self, review: &Review, what: &str) {
        metrics::counter!("tabellion_reviews_total", "what" => what.to_owned()).increment(1);
        let notice = Notice {
            what: what.to_owned(),
            review: review.id,
            owner: review.owner,
            layer: review.layer,
            hold: review.hold,
            risk: review.risk,
            deadline: review.deadline,
        };
        // Nobody listening is no fault.
        let _nobody = self.notices.all.send((self.shared.tenant, notice.clone()));
        let _nobody = self.notices.own.send(notice);
    }
}
