//! A write that was put off, once more: through the same gates, unattended.

use super::patch::merged_anew;
use super::{Asked, Failed, judged, opposes};
use crate::kept::Wait;
use crate::owed::Owed;
use crate::reply::Written;
use crate::scribing::Told;
use crate::tenant::Tenant;
use crate::{Call, anomaly, flow, identity, working};
use std::collections::HashMap;
use tabellion_core::access::may_still_act;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::ReviewId;
use tabellion_core::item::Layer;
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

/// The layers in which an author's earlier writes found no room, and when there will be some: later ones do not overtake them.
pub(crate) type Full = HashMap<Layer, Timestamp>;

/// Refuses an author who may not write now.
fn may_write(tenant: &Tenant, call: &Call) -> Result<(), Refusal> {
    identity::must_be_active(tenant, call.caller.user())?;
    may_still_act(&tenant.shared.views.read(), &call.caller, tenant.now())?;
    flow::not_suspended(tenant, call)
}

/// Tries a write that was put off once more. One that waited for a gate was within its rate and budget when it came.
pub(crate) async fn again(
    tenant: &Tenant,
    call: &Call,
    waited: &Waited,
    waited_for: Code,
    full: &mut Full,
) -> Result<Written, Again> {
    if let Err(refusal) = may_write(tenant, call) {
        let wait = Wait::for_author(&refusal, tenant.now());
        return Err(wait.map_or(Again::Refused(refusal), |wait| Again::Later(wait, waited.told.clone())));
    }
    let body = merged_anew(tenant, call, waited.draft.clone());
    let request = working::claim(tenant, call, body.clone()).check().map_err(Again::Refused)?;
    let came = (waited.owed, waited.submitted);
    let asked = Asked::of(tenant, call, body, request, came).map_err(Again::Refused)?;
    let mut asked = Asked { unattended: true, edits: waited.edits, ..asked };
    asked.told.clone_from(&waited.told);
    let mut place = None;
    let has_no_place = waited_for == Code::RateExceeded || Wait::is_for_author(waited_for);
    if has_no_place && waited.owed.is_none() {
        let layer = asked.request.layer;
        let rate = tenant.governance.rate(layer);
        let take = || tenant.rates.take((call.caller.user(), call.caller.agent()), layer, rate, tenant.now());
        let room = full.get(&layer).map_or_else(take, |free_at| Err(*free_at));
        place = Some(room.map_err(|free_at| {
            full.insert(layer, free_at);
            Again::Later(Wait::for_room(free_at, layer, rate), waited.told.clone())
        })?);
        flow::within_budget(tenant, call, &asked.request).map_err(Again::Refused)?;
    }
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
