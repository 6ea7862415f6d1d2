//! A write that waits and comes again: with other wishes, for another place, or after the hold that it waited for.
//!
//! Invariant (one write waits once): what comes again in another way is the next version of what waits. Nothing that its author
//! sends anew is answered with a review of something else.

use super::Staged;
use crate::tenant::Tenant;
use crate::write::{self, Asked};
use crate::{Call, anomaly};
use serde_json::Value;
use tabellion_core::error::Code;
use tabellion_core::gate::{REPUTATION_MIN, WriteDraft, WriteRequest, says_low_reputation};
use tabellion_core::id::ReviewId;

/// The waiting review of the very same write, where that is to be judged anew: its author wishes another tier or outcome by now,
/// or the hold on its pair is over for which alone it waited.
pub(crate) fn to_judge_anew(tenant: &Tenant, call: &Call, asked: &Asked) -> Option<ReviewId> {
    let waiting = asked.replay().waiting(&tenant.shared.views.read(), tenant.now()).cloned();
    let review = waiting.filter(|_| asked.edits.is_none() && !asked.unattended)?;
    let staged = Staged::read(tenant, review.lsn).ok()?;
    let earlier = staged.draft().and_then(WriteDraft::check).ok()?;
    let wishes = |request: &WriteRequest| (request.tier, request.on_conflict);
    let wishes_otherwise =
        wishes(&earlier) != wishes(&asked.request) && !super::is_kept_apart(tenant, &review);
    (wishes_otherwise || is_hold_over(tenant, call, asked, &staged)).then_some(review.id)
}

/// The waiting review of what is the same write but for its layer or tier.
pub(crate) fn of_another_place(tenant: &Tenant, call: &Call, asked: &Asked) -> Option<ReviewId> {
    if asked.edits.is_some() || asked.unattended || asked.owed.is_some() {
        return None;
    }
    let tokens = write::tokens_of_other_places(tenant, call, asked);
    let found = {
        let (views, now) = (tenant.shared.views.read(), tenant.now());
        tokens.iter().find_map(|token| views.reviews.pending(token, now)).cloned()
    };
    found.filter(|review| !super::is_kept_apart(tenant, review)).map(|review| review.id)
}

/// Whether a write waits only because its pair was held, or too little of what that wrote had proved correct, and neither is so
/// any more.
fn is_hold_over(tenant: &Tenant, call: &Call, asked: &Asked, staged: &Staged) -> bool {
    let causes = staged.findings.get("causes").and_then(Value::as_array);
    let text = |cause: &Value, name: &str| cause.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_hold = |cause: &Value| {
        text(cause, "code").as_deref() == Some(Code::Anomaly.as_str())
            || text(cause, "message").is_some_and(|message| says_low_reputation(&message))
    };
    let (user, agent) = (call.caller.user(), call.caller.agent());
    let is_trusted =
        || tenant.reputation(user, agent, tenant.now()).is_none_or(|share| share >= REPUTATION_MIN);
    causes.is_some_and(|causes| !causes.is_empty() && causes.iter().all(is_hold))
        && anomaly::held_because(tenant, call, asked.strictness).is_none()
        && is_trusted()
}
