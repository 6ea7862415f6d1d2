//! A write that was put off, once more: through the same gates, unattended.

use super::{Asked, Failed, judged, opposes};
use crate::kept::Wait;
use crate::owed::Owed;
use crate::reply::Written;
use crate::scribing::Told;
use crate::tenant::Tenant;
use crate::{Call, anomaly, flow, identity, working};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::ReviewId;
use tabellion_core::time::Timestamp;

/// A write that was put off.
pub(crate) struct Waited {
    pub(crate) draft: WriteDraft,
    /// When it came in.
    pub(crate) submitted: Timestamp,
    /// The held write that it takes the place of.
    pub(crate) edits: Option<ReviewId>,
    /// What models made of it before.
    pub(crate) told: Told,
    /// What it is the copy of, where others are owed it.
    pub(crate) owed: Option<Owed>,
}

/// Why a write that was put off is not committed yet.
pub(crate) enum Again {
    /// There is still no room, or a gate is not ready for it; there may be then.
    Later(Wait, Told),
    /// It may not be.
    Refused(Refusal),
}

/// Tries a write that was put off once more. One that waited for a gate was within its rate and budget when it came.
pub(crate) async fn again(
    tenant: &Tenant,
    call: &Call,
    waited: &Waited,
    waited_for: Code,
) -> Result<Written, Again> {
    identity::must_be_active(tenant, call.caller.user()).map_err(Again::Refused)?;
    let body = waited.draft.clone();
    let request = working::claim(tenant, call, body.clone()).check().map_err(Again::Refused)?;
    let asked = Asked::of(tenant, call, body, request, waited.owed).map_err(Again::Refused)?;
    let mut asked = Asked { unattended: true, submitted: waited.submitted, edits: waited.edits, ..asked };
    asked.told.clone_from(&waited.told);
    let mut place = None;
    if waited_for == Code::RateExceeded {
        let layer = asked.request.layer;
        let rate = tenant.governance.rate(layer);
        let room = tenant.rates.take((call.caller.user(), call.caller.agent()), layer, rate, tenant.now());
        place =
            Some(room.map_err(|free_at| {
                Again::Later(Wait::for_room(free_at, layer, rate), waited.told.clone())
            })?);
        flow::within_budget(tenant, call, &asked.request).map_err(Again::Refused)?;
    }
    flow::not_suspended(tenant, call).map_err(Again::Refused)?;
    anomaly::recall(tenant, call, &asked);
    let result = judged(tenant, call, &mut asked, None).await;
    flow::count_once(tenant, place, result.as_ref().ok());
    anomaly::watch(tenant, call, &asked, opposes(tenant, call, &asked, &result)).await;
    let (refusal, told) = match result {
        Ok(written) => return Ok(written),
        Err(Failed::Recorded(refusal) | Failed::Early(refusal)) => (refusal, asked.told),
    };
    let wait = Wait::for_gate(&refusal, tenant.now());
    Err(wait.map_or(Again::Refused(refusal), |wait| Again::Later(wait, told)))
}
