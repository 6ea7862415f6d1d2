//! Held and queued writes of an agent that is reverted: none of them becomes memory afterwards (AM-8).

use crate::kept::{self, Queued};
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use crate::{Call, review};
use std::ops::Range;
use tabellion_core::access::{Caller, would_see};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Tier;
use tabellion_core::log::Decision;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, ReviewState};

/// The writes that wait and that a caller may end.
pub(super) struct Waiting {
    held: Vec<Review>,
    queued: Vec<Queued>,
}

/// Gathers what an agent wrote in a period, for one user or all, and still waits: the caller's own, and for a moderator what others
/// would see of it.
pub(super) fn of(
    tenant: &Tenant,
    call: &Call,
    (agent, user): (AgentId, Option<UserId>),
    period: Range<Timestamp>,
) -> Result<Waiting, Refusal> {
    let now = tenant.now();
    let is_meant = |review: &&Review| {
        review.agent == agent
            && user.is_none_or(|user| user == review.owner)
            && period.contains(&review.time)
            && review.state_at(now) == ReviewState::Pending
    };
    let mut held: Vec<Review> = tenant.shared.views.read().reviews.all().filter(is_meant).cloned().collect();
    let mut queued = kept::queued(tenant, agent)?;
    queued.retain(|one| {
        user.is_none_or(|user| user == one.author.caller.user()) && period.contains(&one.since)
    });
    let caller = &call.caller;
    let is_own = |owner: UserId| owner == caller.user() && (caller.is_person() || caller.agent() == agent);
    let moderator = caller.moderating("").ok();
    let sees = |author: &Call, asked: &Asked| {
        moderator.as_ref().is_some_and(|moderator| would_be_seen(tenant, moderator, author, asked))
    };
    held.retain(|review| {
        let sent = || review::as_sent(tenant, None, review).ok();
        is_own(review.owner) || sent().is_some_and(|(author, asked)| sees(&author, &asked))
    });
    queued.retain(|one| {
        let asked = || one.asked(tenant).ok();
        is_own(one.author.caller.user()) || asked().is_some_and(|asked| sees(&one.author, &asked))
    });
    Ok(Waiting { held, queued })
}

/// Whether a moderator would see a write, or the copy of it for others, once it is committed.
fn would_be_seen(tenant: &Tenant, moderator: &Caller, author: &Call, asked: &Asked) -> bool {
    let class = write::class_of(tenant, author, asked, Tier::Shared);
    let views = tenant.shared.views.read();
    asked.is_for_others() && would_see(moderator, &class, &views, tenant.moment(&views))
}

impl Waiting {
    /// How many are held, and how many queued.
    pub(super) const fn count(&self) -> (usize, usize) {
        (self.held.len(), self.queued.len())
    }

    /// Ends them: a held write as one that a person refused, a queued one as a refused write of its author. Says how many of each;
    /// what was decided or tried meanwhile is none.
    ///
    /// # Errors
    /// When the log or the disk does not take it.
    pub(super) async fn end(
        self,
        tenant: &Tenant,
        call: &Call,
        reason: &str,
    ) -> Result<(usize, usize), Refusal> {
        let (mut held, mut queued) = (0, 0);
        // With the reason on each row, as of any act of a moderator.
        let moderator = call.caller.moderating(reason).ok();
        let call = &Call { caller: moderator.unwrap_or_else(|| call.caller.clone()), ..call.clone() };
        for review in self.held {
            match review::end(tenant, call, &review, Decision::Rejected, reason, "revert").await {
                Ok(()) => {
                    tenant.announce(&review, Decision::Rejected.as_str());
                    held += 1;
                }
                Err(refusal) if refusal.code == Code::ReviewDecided => {}
                Err(refusal) => return Err(refusal),
            }
        }
        for one in self.queued {
            let message = format!("what the agent wrote then was taken back: {reason}");
            let refusal = Refusal::new(Code::ApprovalRejected, message).at(GateName::Policy);
            if one.end(tenant, &refusal)? {
                let row = tenant.row(call, "revert", Decision::Rejected.as_str(), vec![one.id()]);
                tenant.sequencer.trail_now(row).await?;
                queued += 1;
            }
        }
        Ok((held, queued))
    }
}
