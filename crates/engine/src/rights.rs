//! What the roles of an agent let it do in a layer (GOV-8.1, 8.2), and what they clear it for (GOV-8.7).

use crate::cedar;
use std::collections::BTreeSet;
use tabellion_core::access::{AgentRole, Caller, Clearance, Deed, Right, right};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::item::{Layer, Secrecy, Tier};
use tabellion_core::log::Holder;
use tabellion_core::view::{Class, Moment, Version, Views};

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

/// Refuses a version that is more secret than its writer is cleared for, or not of its domains (GOV-8.3, 8.7), and what a policy
/// in Cedar forbids (SHARE-31). What is a person's own may be as secret as they say.
pub(crate) fn may_write(views: &Views, caller: &Caller, class: &Class, at: Moment) -> Result<(), Refusal> {
    let person = caller.is_person() || views.identity.direct_agent() == Some(caller.agent());
    let holder = if person { Holder::User(caller.user()) } else { Holder::Agent(caller.agent()) };
    let clearance = views.roles.clearance(holder, at);
    let own = person && class.tier == Tier::Private;
    if !own && !clearance.lets_write(&class.secrecy) {
        return Err(not_cleared(&clearance, &class.secrecy));
    }
    cedar::may_write(views, caller, class, at)
}

/// What somebody is cleared for is theirs to know; what is asked for is their own words, or those of what they were given.
fn not_cleared(clearance: &Clearance, secrecy: &Secrecy) -> Refusal {
    let mut faults = Vec::new();
    if secrecy.classification > clearance.level {
        let expected = format!("{} or less secret", clearance.level.as_str());
        let fault = Fault::new("/classification", Code::Forbidden, expected);
        faults.push(fault.found(secrecy.classification.as_str()));
    }
    if let Some(domains) = &clearance.domains
        && (secrecy.domains.is_empty() || !secrecy.domains.is_subset(domains))
    {
        let words =
            |words: &BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let expected = format!("some of {} and no other", words(domains));
        faults.push(Fault::new("/domains", Code::Forbidden, expected).found(words(&secrecy.domains)));
    }
    let message = "this is more secret than the writer is cleared for, or not of its domains; \
                   an admin can give it a role that is";
    Refusal::new(Code::Forbidden, message).at(GateName::Policy).with(faults)
}

fn lacking(what: &str) -> Refusal {
    let message = format!("no role of this agent lets it {what}; an admin can give it one");
    Refusal::new(Code::Forbidden, message)
}
