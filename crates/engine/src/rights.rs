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

/// Refuses a change to a version that no role of the agent allows: to what it wrote itself as for writing, to the rest as for
/// deleting.
///
/// # Errors
/// When there is none.
pub(crate) fn may_change(
    views: &Views,
    caller: &Caller,
    version: &Version,
    at: Moment,
) -> Result<(), Refusal> {
    let deed = if version.agent == Some(caller.agent()) { Deed::Write } else { Deed::Delete };
    if right(&roles(views, caller, at), version.layer, deed) > Right::None {
        return Ok(());
    }
    Err(lacking(&format!("take back {} memory that another agent wrote", version.layer.as_str())))
}

fn lacking(what: &str) -> Refusal {
    let message = format!("no role of this agent lets it {what}; an admin can give it one");
    Refusal::new(Code::Forbidden, message)
}
