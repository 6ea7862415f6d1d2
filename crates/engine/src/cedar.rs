//! Cedar at the engine: texts that may be set, and writes that a policy forbids (SHARE-31).

use crate::Call;
use crate::tenant::Tenant;
use tabellion_core::access::{Asking, CEDAR_POLICIES_MAX, Caller, Deed, Power, check_cedar, powers_by};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::view::{Class, Moment, Views};

/// Refuses a text that cannot be held to, and one that would take from its author the right to take it back.
pub(crate) fn checked(tenant: &Tenant, call: &Call, name: &str, text: &str) -> Result<(), Refusal> {
    let views = tenant.shared.views.read();
    let policies = check_cedar(text, &views)?;
    let mut rules = views.cedar.rules().clone();
    rules.remove(name);
    if rules.len() + policies > CEDAR_POLICIES_MAX {
        let message =
            format!("a tenant has at most {CEDAR_POLICIES_MAX} Cedar policies; take some away first");
        return Err(Refusal::new(Code::TooLarge, message));
    }
    rules.set(name, text, &views.identity);
    if !powers_by(&rules, &views, call.caller.user(), tenant.now()).has(Power::Policies) {
        let message =
            "this would forbid you to manage policies, and so to take it back; leave yourself out of it";
        return Err(Refusal::new(Code::SchemaInvalid, message));
    }
    Ok(())
}

/// Refuses what a policy forbids somebody to write. It says no more than that: which policy is for auditors.
pub(crate) fn may_write(views: &Views, caller: &Caller, class: &Class, at: Moment) -> Result<(), Refusal> {
    let rules = views.cedar.rules();
    if !rules.concern(Deed::Write) {
        return Ok(());
    }
    let asking = Asking::of(caller.user(), Some(caller.agent()), views, at);
    if rules.forbidden(&asking, Deed::Write, [((), class)]).is_empty() {
        return Ok(());
    }
    let message = "a policy of this tenant forbids this write; an auditor can tell which";
    Err(Refusal::new(Code::Forbidden, message).at(GateName::Policy))
}
