//! Credentials of users and agents: made and revoked, with the edge that a key of both brings.
//!
//! Invariant (what was revoked stays revoked): a key grants an edge that never was; one that was revoked or has ended is granted by
//! whoever means that.

use super::{agent_named, commit, fingerprint, invalid, key_reply, new_secret};
use crate::reply::{NewKey, RevokedKey};
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::{Call, short_ids};
use tabellion_core::access::Power;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{AgentId, KeyId, UserId};
use tabellion_core::log::{Edge, Event, GrantedEdge, IssuedKey, Support};
use tabellion_core::seal::Secret;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Grant, Views};

pub(crate) async fn create_key(
    tenant: &Tenant,
    call: &Call,
    pepper: &Secret,
    user: Option<&str>,
    agent: Option<&str>,
    expires_at: Option<&str>,
) -> Result<NewKey, Refusal> {
    let action = "create_key";
    let plan = plan_key(tenant, call, user, agent, expires_at);
    let (user, agent, expires_at) = match plan {
        Ok(plan) => plan,
        Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
    };
    let secret = new_secret(tenant);
    let issued = IssuedKey {
        key: KeyId::from_bytes(tenant.entropy.bytes()),
        fingerprint: fingerprint(pepper, &secret),
        user,
        agent,
        expires_at,
    };
    let id = issued.key;
    let pair = user.zip(agent);
    let mut touches = vec![Touch::Key(issued.fingerprint)];
    touches.extend(pair.map(|(user, agent)| Touch::Name("edge", format!("{user} {agent}"))));
    let edge = pair.map(|(user, agent)| Edge::Invoke(user, agent));
    let standing = edge.and_then(|edge| direct_grant(&tenant.shared.views.read(), edge));
    // A key of a pair brings its edge; one that stands keeps the times that it was granted for.
    let events = [Event::KeyIssued(issued)].into_iter().chain(standing.map(Event::EdgeGranted));
    let drafts =
        events.map(|event| tenant.draft(call.caller.actor(), event, None)).collect::<Result<_, _>>()?;
    let trail = tenant.row(call, action, "ok", vec![id.to_string()]);
    let check = move |views: &Views, now: Timestamp| {
        if edge.and_then(|edge| direct_grant(views, edge)) != standing {
            return Err(Objection::Stale);
        }
        Ok(edge.map_or(Ok(()), |edge| is_not_revoked(views, edge, now))?)
    };
    commit(tenant, Proposal { drafts, touches, check: Box::new(check), trail }).await?;
    let granted = pair.filter(|_| standing.is_none());
    if let Some((user, agent)) = granted {
        let row = tenant.row(call, "grant", "ok", vec![user.to_string(), agent.to_string()]);
        tenant.sequencer.trail_now(row).await?;
    }
    let views = tenant.shared.views.read();
    let key = views.identity.key(id).map(key_reply).ok_or_else(Refusal::not_found)?;
    Ok(NewKey { key, secret, granted: granted.is_some() })
}

/// How an edge was granted by itself, if that stands.
fn direct_grant(views: &Views, edge: Edge) -> Option<GrantedEdge> {
    let mut open = views.graphs.grants_of(edge).filter(|grant| grant.to.is_none());
    open.find(|grant| grant.granted.support == Support::Direct).map(|grant| grant.granted)
}

/// Refuses what would bring an edge back that was revoked, or that has ended: whoever means that grants it (SHARE-4).
fn is_not_revoked(views: &Views, edge: Edge, now: Timestamp) -> Result<(), Refusal> {
    let ended = |grant: &Grant| grant.to.is_some() || grant.granted.expires_at.is_some_and(|end| end <= now);
    let mut grants = views.graphs.grants_of(edge).peekable();
    if grants.peek().is_none() || !grants.all(ended) {
        return Ok(());
    }
    let Edge::Invoke(user, agent) = edge else { return Ok(()) };
    let user = views.identity.user(user).map(|user| user.name.as_str()).unwrap_or_default();
    let agent = views.identity.agent(agent).map(|agent| agent.words.name.as_str()).unwrap_or_default();
    let message = format!(
        "the edge from {user} to {agent} was revoked or has ended, and a key does not bring it back: \
         `tabellion grant ua {user} {agent}` does"
    );
    Err(Refusal::new(Code::AgentNotGranted, message))
}

type KeyPlan = (Option<UserId>, Option<AgentId>, Option<Timestamp>);

fn plan_key(
    tenant: &Tenant,
    call: &Call,
    user: Option<&str>,
    agent: Option<&str>,
    expires_at: Option<&str>,
) -> Result<KeyPlan, Refusal> {
    call.caller.must(Power::Principals)?;
    let views = tenant.shared.views.read();
    let unknown = |path: &str, what: &str| invalid(path, format!("the name or id of {what} of this tenant"));
    let user = user.map(|name| {
        views.identity.find_user(name).map(|user| user.id).ok_or_else(|| unknown("/user", "a user"))
    });
    let agent = agent.map(|name| agent_named(&views, name).ok_or_else(|| unknown("/agent", "an agent")));
    let (user, agent) = (user.transpose()?, agent.transpose()?);
    if user.is_none() && agent.is_none() {
        return Err(invalid("/user", "a user, an agent or both".to_owned()));
    }
    let expires_at = crate::graph::to_come(tenant.now(), "/expires_at", expires_at)?;
    if expires_at.is_some_and(|end| end <= tenant.now()) {
        return Err(invalid("/expires_at", "a time in the future".to_owned()));
    }
    if let Some((user, agent)) = user.zip(agent) {
        is_not_revoked(&views, Edge::Invoke(user, agent), tenant.now())?;
    }
    Ok((user, agent, expires_at))
}

pub(crate) async fn revoke_key(tenant: &Tenant, call: &Call, id: &str) -> Result<RevokedKey, Refusal> {
    let action = "revoke_key";
    let plan = || {
        call.caller.must(Power::Principals)?;
        let key: KeyId = id.parse().map_err(|_| short_ids::not_whole(id, no_key()))?;
        tenant.shared.views.read().identity.key(key).map(|row| row.issued.clone()).ok_or_else(no_key)
    };
    let issued = match plan() {
        Ok(issued) => issued,
        Err(refusal) => {
            return Err(tenant.refused(call, action, crate::read::named(id), refusal).await);
        }
    };
    let draft = tenant.draft(call.caller.actor(), Event::KeyRevoked { key: issued.key }, None)?;
    let trail = tenant.row(call, action, "ok", vec![issued.key.to_string()]);
    let touches = vec![Touch::Key(issued.fingerprint)];
    let lsn =
        commit(tenant, Proposal { drafts: vec![draft], touches, check: Box::new(|_, _| Ok(())), trail })
            .await?;
    Ok(RevokedKey { id: issued.key, token: tenant.token(&call.caller, lsn) })
}

fn no_key() -> Refusal {
    Refusal::new(Code::NotFound, "no such key")
}
