//! News of held writes and held agents, for whoever is listening: never what a write says, only that it is there.

use crate::tenant::Tenant;
use tabellion_core::gate::Hold;
use tabellion_core::id::{AgentId, ReviewId, TenantId, UserId};
use tabellion_core::item::Layer;
use tabellion_core::time::Timestamp;
use tabellion_core::view::Review;
use tokio::sync::broadcast;

/// News that a slow listener may miss; the queue itself has everything.
const BACKLOG: usize = 1_024;

/// Something happened that people should know of.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// Something happened to a held write.
    Review(ReviewNotice),
    /// Writes of an agent for a user are held or suspended, or are no longer.
    Pair(PairNotice),
}

/// Writes of an agent for a user are held or suspended, or are no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairNotice {
    /// `held`, `suspended` or `resumed`.
    pub what: String,
    /// The user.
    pub user: UserId,
    /// The agent.
    pub agent: AgentId,
    /// What was unlike before.
    pub reason: String,
    /// When it ends by itself.
    pub until: Timestamp,
}

/// Something happened to a held write.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewNotice {
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
    /// Tells whoever listens what happened to a held write.
    pub(crate) fn announce(&self, review: &Review, what: &str) {
        metrics::counter!("tabellion_reviews_total", "what" => what.to_owned()).increment(1);
        self.tell(Notice::Review(ReviewNotice {
            what: what.to_owned(),
            review: review.id,
            owner: review.owner,
            layer: review.layer,
            hold: review.hold,
            risk: review.risk,
            deadline: review.deadline,
        }));
    }

    /// Tells whoever listens.
    pub(crate) fn tell(&self, notice: Notice) {
        // Nobody listening is no fault.
        let _nobody = self.notices.all.send((self.shared.tenant, notice.clone()));
        let _nobody = self.notices.own.send(notice);
    }
}
