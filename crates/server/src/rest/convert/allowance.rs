//! Who the caller is and how much they may write, as REST says it.

use crate::rest::dto::{AllowanceBody, LayerRateBody, NamedBody, UsedBody, WhoAmIBody};
use tabellion_core::item::Layer;
use tabellion_engine::reply::{Allowance, Used, WhoAmI};

impl From<WhoAmI> for WhoAmIBody {
    fn from(who: WhoAmI) -> Self {
        let (user, agent) = (who.user, who.agent);
        Self {
            tenant: who.tenant.to_string(),
            user: NamedBody { id: user.0.to_string(), name: user.1 },
            agent: NamedBody { id: agent.0.to_string(), name: agent.1 },
            role: who.role.as_str(),
            limits: who.allowance.into(),
            holds: who.holds.into_iter().map(Into::into).collect(),
            suspended: who.suspended.map(Into::into),
        }
    }
}

impl From<Allowance> for AllowanceBody {
    fn from(allowance: Allowance) -> Self {
        let rate = |(layer, rate): (Layer, Used)| LayerRateBody {
            layer: layer.as_str(),
            used: rate.used,
            limit: rate.limit,
        };
        Self {
            exempt: allowance.exempt,
            writes_per_minute: allowance.rates.into_iter().map(rate).collect(),
            session: allowance.session.map(Into::into),
            session_writes_max: allowance.session_max,
            queued: allowance.queued.into(),
        }
    }
}

impl From<Used> for UsedBody {
    fn from(used: Used) -> Self {
        Self { used: used.used, limit: used.limit }
    }
}
