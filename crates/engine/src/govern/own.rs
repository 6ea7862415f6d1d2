//! The policies of users who may not set any for others: each in their own scope, and only tighter (SHARE-14).
//!
//! They are kept under names that begin with the user's id, so that nobody learns by a name what policies others have.

use crate::Call;
use crate::tenant::Tenant;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::policy::SharingPolicy;
use tabellion_core::view::Policy;

/// Policies that a user has in their own scope at most.
const POLICIES_MAX: usize = 20;

/// Refuses whoever has no policies of their own: only people do.
pub(super) fn may_have(call: &Call) -> Result<(), Refusal> {
    if call.caller.is_person() {
        return Ok(());
    }
    let message = "an agent sets no policies: use a key of a person without an agent";
    Err(Refusal::new(Code::Forbidden, message))
}

/// The name that a user's own policy is kept under.
pub(super) fn kept_name(call: &Call, name: &str) -> String {
    let prefix = prefix(call);
    if name.starts_with(&prefix) { name.to_owned() } else { format!("{prefix}{name}") }
}

/// The name that a user knows their own policy by; none if it is not theirs.
pub(super) fn shown_name<'a>(call: &Call, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(&prefix(call))
}

fn prefix(call: &Call) -> String {
    format!("{}.", call.caller.user())
}

/// Refuses a policy that reaches beyond its author, or that lets more pass than policies of others do.
pub(super) fn is_within_scope(
    tenant: &Tenant,
    call: &Call,
    (name, policy): (&str, &Policy),
) -> Result<(), Refusal> {
    let (Policy::Read(sharing) | Policy::WritePrivate(sharing) | Policy::WriteShared(sharing)) = policy
    else {
        let kinds = "kind read, write_private or write_shared; others need manage_policies";
        return Err(beyond(vec![Fault::new("/kind", Code::Forbidden, kinds)]));
    };
    let faults = faults(tenant, call, sharing);
    if !faults.is_empty() {
        return Err(beyond(faults));
    }
    let views = tenant.shared.views.read();
    let others = views.policies.all().filter(|(one, _)| *one != name && shown_name(call, one).is_some());
    if others.count() >= POLICIES_MAX {
        let message = format!("a user has at most {POLICIES_MAX} policies of their own; remove one first");
        return Err(Refusal::new(Code::TooLarge, message));
    }
    Ok(())
}

fn faults(tenant: &Tenant, call: &Call, sharing: &SharingPolicy) -> Vec<Fault> {
    let views = tenant.shared.views.read();
    let (caller, at) = (&call.caller, tenant.moment(&views));
    let mut faults = Vec::new();
    let mut unless = |holds: bool, path: &str, expected: &str| {
        if !holds {
            faults.push(Fault::new(path, Code::Forbidden, expected));
        }
    };
    let user = sharing.scope.user.as_deref().and_then(|name| views.identity.find_user(name));
    unless(user.is_some_and(|user| user.id == caller.user()), "/scope/user", "your own name or id");
    if let Some(name) = &sharing.scope.agent {
        let agent = views.identity.find_agent(name).map(|agent| agent.id);
        let own = views.graphs.agents_of(caller.user(), at);
        let is_own = |agent| own.contains(&agent) || views.identity.direct_agent() == Some(agent);
        unless(agent.is_some_and(is_own), "/scope/agent", "an agent that you may act through");
    }
    let shares = sharing.share.as_deref().is_some_and(|word| word != "off");
    unless(!shares, "/share", "off, or nothing: sharing is turned on by who manages policies");
    let allows = sharing.private_parents.as_deref() == Some("allow");
    unless(!allows, "/private_parents", "block, transform or nothing");
    unless(sharing.overridable.is_empty(), "/overridable", "nothing: it would let others pass more");
    unless(sharing.priority == 0, "/priority", "nothing: it ranks policies of several authors");
    faults
}

fn beyond(faults: Vec<Fault>) -> Refusal {
    let message = "a policy of your own concerns your own memory alone and only tightens what others set; \
                   manage_policies is needed for more";
    Refusal::new(Code::Forbidden, message).with(faults)
}
