//! Agents that go on after a hold or a suspension: who may say so, and what then ends (AM-5).

use super::{agent_id, named_agent, set_agent};
use crate::change::checked;
use crate::tenant::Tenant;
use crate::{Call, anomaly};
use tabellion_core::access::{Caller, Power};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Tier;
use tabellion_core::log::{AgentStatus, AnomalySignal, Event, PairHold, UserAgentPair};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::StandingHold;

/// How long before a hold what a pair wrote for others may have led to it.
const WATCHED_FOR: Period = Period::from_days(1);
/// Versions of an agent that are looked through for that.
const LOOK_BACK: usize = 20_000;

/// Allows an agent to write again: for everybody, or only for the user whose writes are held. Who ends such a hold, besides whoever
/// manages policies: a moderator, a reviewer of that user, and the user themself where it concerns nobody else.
pub(crate) async fn resume(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    user: Option<&str>,
    reason: &str,
) -> Result<String, Refusal> {
    let found = checked(Some(reason)).and_then(|_| to_resume(tenant, call, agent, user));
    let (agent, user) = match found {
        Ok(found) => found,
        Err(refusal) => {
            return Err(tenant.refused(call, "resume_agent", named_agent(tenant, agent), refusal).await);
        }
    };
    let event = match user {
        None => Event::AgentResumed { agent },
        Some(user) => Event::PairReleased(UserAgentPair { user, agent }),
    };
    let released: Vec<PairHold> = {
        let views = tenant.shared.views.read();
        let held = views.holds.all(tenant.now()).map(|standing| &standing.hold);
        held.filter(|hold| hold.agent == agent && user.is_none_or(|user| user == hold.user))
            .cloned()
            .collect()
    };
    let token = set_agent(tenant, call, agent, event, (reason, "resume_agent")).await?;
    for hold in &released {
        anomaly::announce(tenant, "resumed", hold);
    }
    Ok(token)
}

/// The agent to resume, and for whom; nobody for everybody.
fn to_resume(
    tenant: &Tenant,
    call: &Call,
    agent: &str,
    user: Option<&str>,
) -> Result<(AgentId, Option<UserId>), Refusal> {
    let caller = &call.caller;
    if let Err(refusal) = caller.must(Power::Policies) {
        let held = if caller.is_person() { held_pair(tenant, caller, agent, user) } else { None };
        let hold = held.ok_or(refusal)?;
        may_release(tenant, caller, &hold)?;
        return Ok((hold.hold.agent, Some(hold.hold.user)));
    }
    let agent = agent_id(tenant, agent)?;
    works(tenant, agent)?;
    let Some(name) = user else { return Ok((agent, None)) };
    let views = tenant.shared.views.read();
    let missing = || Refusal::new(Code::NotFound, "no such user");
    let user = views.identity.find_user(name).ok_or_else(missing)?.id;
    Ok((agent, Some(user)))
}

/// The hold on the pair that a person names who manages no policies: their own, or one of a user whom they may look after.
fn held_pair(tenant: &Tenant, caller: &Caller, agent: &str, user: Option<&str>) -> Option<StandingHold> {
    let views = tenant.shared.views.read();
    let agent = views.identity.find_agent(agent)?.id;
    let user = user.map_or(Some(caller.user()), |name| Some(views.identity.find_user(name)?.id))?;
    let looks_after =
        caller.may(Power::Moderate) || views.policies.reviews(&caller.user().to_string(), &user.to_string());
    let hold = views.holds.of(user, agent, tenant.now()).cloned();
    hold.filter(|_| user == caller.user() || looks_after)
}

/// Refuses users who would end a hold on their own agent that concerns what others see: what it spoke against, or what it wrote
/// for them.
fn may_release(tenant: &Tenant, caller: &Caller, standing: &StandingHold) -> Result<(), Refusal> {
    let PairHold { user, agent, signals, until, .. } = &standing.hold;
    let views = tenant.shared.views.read();
    if *user != caller.user() || caller.may(Power::Moderate) {
        return Ok(());
    }
    let is_recent = |time: Timestamp| time.plus(WATCHED_FOR) > standing.since;
    let wrote = views.items.written_by(*agent).rev().take_while(|version| is_recent(version.time));
    let told_others = wrote.take(LOOK_BACK).any(|one| one.owner == *user && one.tier == Tier::Shared);
    let staged =
        views.reviews.all().filter(|one| (one.owner, one.agent) == (*user, *agent) && is_recent(one.time));
    let would_tell = staged.into_iter().any(|one| one.tier == Tier::Shared || !one.opposes.is_empty());
    if !signals.contains(&AnomalySignal::AgainstOthers) && !told_others && !would_tell {
        return Ok(());
    }
    let [user, agent] = [
        views.identity.user(*user).map(|user| user.name.clone()),
        views.identity.agent(*agent).map(|agent| agent.words.name.clone()),
    ]
    .map(Option::unwrap_or_default);
    let message = format!(
        "this hold concerns what others see, so that its user does not end it: a moderator, an admin or a reviewer of {user} does \
         with `tabellion agent resume {agent} --user {user} --reason …`; it ends by itself at {until}"
    );
    Err(Refusal::new(Code::Forbidden, message))
}

/// Refuses to resume an agent that is not stopped but at rest.
fn works(tenant: &Tenant, agent: AgentId) -> Result<(), Refusal> {
    let views = tenant.shared.views.read();
    let is_retired = views.graphs.status_at(agent, views.lsn()) == AgentStatus::Retired;
    if !is_retired || views.policies.is_suspended(agent) {
        return Ok(());
    }
    let name = views.identity.agent(agent).map(|agent| agent.words.name.as_str()).unwrap_or_default();
    let message = format!(
        "agent {name} is retired, not suspended: `tabellion agent activate {name} --reason …` puts it back to work"
    );
    Err(Refusal::new(Code::AgentNotGranted, message))
}
