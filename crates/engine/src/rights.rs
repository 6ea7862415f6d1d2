//! What the roles of an agent let it do in a layer (GOV-8.1, 8.2).

use tabellion_core::access::{AgentRole, Caller, Deed, Right, right};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::item::Layer;
use tabellion_core::view::{Moment, Version, Views};

/// What the caller is trusted with. A person is a member.
fn roles(views: &Views, caller: &Caller, at: Moment) -> Vec<AgentRole> {
    if caller.is_person() || views.identity.direct_agent() == Some(caller.agent()) {
        return vec![AgentRole::Member];
    }
    views.roles.agent_roles(caller.agent(), at)
}

/// Whether what the caller writes into a layer is only proposed.
///
/// # Errors
/// When no role of the agent writes there at all.
pub(crate) fn proposes(views: &Views, caller: &Caller, layer: Layer, at: Moment) -> Result<bool, Refusal> {
    match right(&roles(views, caller, at), layer, Deed::Write) {
        Right::None => Err(lacking(&format!("write {} memory", layer.as_str())).at(GateName::Policy)),
        Right::Proposed => Ok(true),
        Right::Own | Right::Full | Right::Hard => Ok(false),
    }
}

/// Refuses a change to a version that no role of the agent allows: retracting what another agent wrote is deleting, the rest
/// is writing.
///
/// # Errors
/// When there is none.
pub(crate) fn may_change(
    views: &Views,
    caller: &Caller,
    version: &Version,
    (retracts, at): (bool, Moment),
) -> Result<(), Refusal> {
    let deletes = retracts && version.agent != Some(caller.agent());
    let deed = if deletes { Deed::Delete } else { Deed::Write };
    if right(&roles(views, caller, at), version.layer, deed) > Right::None {
        return Ok(());
    }
    let what = if deletes { "take back what another agent wrote in" } else { "change" };
    Err(lacking(&format!("{what} {} memory", version.layer.as_str())))
}

fn lacking(what: &str) -> Refusal {
    let message = format!("no role of this agent lets it {what}; an admin can give it one");
    Refusal::new(Code::Forbidden, message)
}
