//! News of held writes, for whoever is listening: never what they say, only that they are there.

use crate::tenant::Tenant;
use tabellion_core::gate::Hold;
use tabellion_core::id::{ReviewId, UserId};
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

/// Where news goes.
pub(crate) struct Notices(broadcast::Sender<Notice>);

impl Default for Notices {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Notices {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}

impl Tenant {
    /// Tells whoever listens.
    pub(crate) fn announce(&self, review: &Review, what: &str) {
        metrics::counter!("tabellion_reviews_total", "what" => what.to_owned()).increment(1);
        // Nobody listening is no fault.
        let _nobody = self.notices.0.send(Notice {
            what: what.to_owned(),
            review: review.id,
            owner: review.owner,
            layer: review.layer,
            hold: review.hold,
            risk: review.risk,
            deadline: review.deadline,
        });
    }
}
