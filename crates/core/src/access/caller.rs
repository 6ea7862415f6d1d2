//! The authenticated pair of one request.

use super::{Asking, Claims, PairGrant, Power, Powers, Role, Rules};
use crate::canonical::{Hash, framed_sha256};
use crate::error::{Code, Refusal};
use crate::id::{AgentId, KeyId, TenantId, UserId};
use crate::log::{Actor, AgentStatus, Edge};
use crate::time::Timestamp;
use crate::view::{IdentityView, Moment, Views};
use std::sync::Arc;

/// A user and the agent acting for it, as a credential proved them. Made from a key, a token or a waiting
/// write's record, here alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    tenant: TenantId,
    user: UserId,
    agent: AgentId,
    key: KeyId,
    role: Role,
    powers: Powers,
    operator: bool,
    person: bool,
    moderation: Option<Arc<str>>,
}

impl Caller {
    /// The tenant.
    #[must_use]
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// The user.
    #[must_use]
    pub const fn user(&self) -> UserId {
        self.user
    }

    /// The agent.
    #[must_use]
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// The credential.
    #[must_use]
    pub const fn key(&self) -> KeyId {
        self.key
    }

    /// What the user was made with.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Whether the caller may make tenants.
    #[must_use]
    pub const fn is_operator(&self) -> bool {
        self.operator
    }

    /// Whether a person acts without an agent of their own choosing.
    #[must_use]
    pub const fn is_person(&self) -> bool {
        self.person
    }

    /// Whether the caller acts as a moderator: sees what is shared, whatever its edges, and nothing private.
    #[must_use]
    pub const fn moderates(&self) -> bool {
        self.moderation.is_some()
    }

    /// The reason for which the caller acts as a moderator.
    #[must_use]
    pub fn moderation(&self) -> Option<&str> {
        self.moderation.as_deref()
    }

    /// The agent that what the caller sees hangs on; none for a person, who sees through all of theirs.
    #[must_use]
    pub const fn sees_through(&self) -> Option<AgentId> {
        if self.person { None } else { Some(self.agent) }
    }

    /// The same caller acting as a moderator, for a reason that the audit log keeps (AM-8).
    ///
    /// # Errors
    /// When an agent acts, whatever its user may do, or the user lacks the power.
    pub fn moderating(&self, reason: &str) -> Result<Self, Refusal> {
        if !self.person {
            let message = "an agent never moderates: use a key of a person without an agent";
            return Err(Refusal::new(Code::Forbidden, message));
        }
        self.must(Power::Moderate)?;
        Ok(Self { moderation: Some(reason.into()), ..self.clone() })
    }

    /// A person as a reviewer whom a policy names: with the sight of a moderator, to compare a held write with what is shared.
    #[must_use]
    pub fn reviewing(&self) -> Option<Self> {
        self.person.then(|| Self { moderation: Some("review".into()), ..self.clone() })
    }

    /// The pair, as the log records it.
    #[must_use]
    pub const fn actor(&self) -> Actor {
        Actor { user: Some(self.user), agent: Some(self.agent) }
    }

    /// Whether the user may do something administrative.
    #[must_use]
    pub const fn may(&self, power: Power) -> bool {
        self.powers.has(power)
    }

    /// Refuses whoever may not do something administrative.
    ///
    /// # Errors
    /// When no policy permits it, or one forbids it.
    pub fn must(&self, power: Power) -> Result<(), Refusal> {
        if self.may(power) {
            return Ok(());
        }
        let (word, role) = (power.as_str(), power.bringer());
        let message = format!("this operation needs the role admin or {role}, or another one with {word}");
        Err(Refusal::new(Code::Forbidden, message))
    }

    /// Refuses whoever may not administer everything.
    ///
    /// # Errors
    /// As for the first power that the user lacks.
    pub fn must_administer(&self) -> Result<(), Refusal> {
        Power::ALL.iter().try_for_each(|power| self.must(*power))
    }

    /// Refuses whoever may not audit.
    ///
    /// # Errors
    /// When no policy permits it, or one forbids it.
    pub fn must_audit(&self) -> Result<(), Refusal> {
        self.must(Power::Audit)
    }
}

/// What a user may administer now: Cedar alone decides, by the roles that the user holds (SHARE-31).
#[must_use]
pub fn powers(views: &Views, user: UserId, now: Timestamp) -> Powers {
    powers_by(views.cedar.rules(), views, user, now)
}

/// The same under other rules: what would be if they stood.
#[must_use]
pub fn powers_by(rules: &Rules, views: &Views, user: UserId, now: Timestamp) -> Powers {
    let asking = Asking::of(user, None, views, Moment { lsn: views.lsn(), time: now });
    // Whoever has no role is permitted nothing by the policies that every tenant begins with.
    if !asking.has_roles() && !rules.concern_powers() {
        return Powers::default();
    }
    Power::ALL.iter().copied().filter(|power| rules.permit(&asking, *power)).collect()
}

/// The caller whose credential has this fingerprint.
///
/// Unknown, revoked and expired credentials get the same answer: nothing is learnt from a guess.
///
/// # Errors
/// When there is none, or it names no pair.
pub fn authenticate(views: &Views, fingerprint: &Hash, now: Timestamp) -> Result<Caller, Refusal> {
    let key = views.identity.live_key(fingerprint, now).ok_or_else(unauthenticated)?;
    let Some(user) = key.user else {
        return Err(Refusal::new(
            Code::PairRequired,
            "this key is an agent's own, and memory operations need a user too: exchange it and the user's token for a token of both, at POST /v1/token",
        ));
    };
    caller(views, (user, key.agent), key.key, now)
}

/// The caller whom a token of the trusted issuer names. Who is not known here gets the answer of an unknown key, whichever
/// part it is.
///
/// # Errors
/// When it names nobody, or an agent that the user may not invoke.
pub fn recognise(views: &Views, claims: &Claims, now: Timestamp) -> Result<Caller, Refusal> {
    let identity = &views.identity;
    let user = identity.find_user(&claims.user).ok_or_else(unauthenticated)?.id;
    let agent = match &claims.agent {
        None => None,
        Some(name) => Some(identity.find_agent(name).ok_or_else(unauthenticated)?.id),
    };
    // `direct` stands for people without an agent: who acts through an agent must not pass for one of them.
    if agent.is_some() && agent == identity.direct_agent() {
        return Err(unauthenticated());
    }
    let names = [claims.issuer.as_str(), &claims.user, claims.agent.as_deref().unwrap_or_default()];
    caller(views, (user, agent), credential(&names), now)
}

/// The caller of a token that this server made for a pair, while the keys that it was made from live.
///
/// # Errors
/// When one of them ended, or the edge between the two did.
pub fn invoke(views: &Views, grant: &PairGrant, now: Timestamp) -> Result<Caller, Refusal> {
    let keys = [Some(grant.service), grant.subject];
    if !keys.into_iter().flatten().all(|key| views.identity.is_live(key, now)) {
        return Err(unauthenticated());
    }
    caller(views, (grant.user, Some(grant.agent)), grant.service, now)
}

/// The pair of a caller's user and one of the user's agents, for work that the server itself does for them (SHARE-23). Whoever
/// acts through an agent already has that one alone.
///
/// # Errors
/// When the user may not invoke the agent now, or the agent does not work; for no such agent the same.
pub fn through(views: &Views, asker: &Caller, agent: AgentId, now: Timestamp) -> Result<Caller, Refusal> {
    if !asker.person && asker.agent != agent {
        return Err(not_granted());
    }
    caller(views, (asker.user, Some(agent)), asker.key, now)
}

/// An agent service, as its key proved it: it may exchange tokens and do nothing else. Made by `serve` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    tenant: TenantId,
    agent: AgentId,
    key: KeyId,
    expires_at: Option<Timestamp>,
}

impl Service {
    /// The tenant.
    #[must_use]
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// The agent.
    #[must_use]
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// Its key.
    #[must_use]
    pub const fn key(&self) -> KeyId {
        self.key
    }

    /// When its key ends by itself.
    #[must_use]
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// The agent service whose key has this fingerprint, if it is one.
#[must_use]
pub fn serve(views: &Views, fingerprint: &Hash, now: Timestamp) -> Option<Service> {
    let issued = views.identity.live_key(fingerprint, now)?;
    let agent = issued.agent.filter(|_| issued.user.is_none())?;
    Some(Service { tenant: views.identity.tenant()?, agent, key: issued.key, expires_at: issued.expires_at })
}

/// The one way to a caller, whatever proved the user and the agent.
fn caller(
    views: &Views,
    (user, agent): (UserId, Option<AgentId>),
    key: KeyId,
    now: Timestamp,
) -> Result<Caller, Refusal> {
    let identity = &views.identity;
    if !views.graphs.is_active(user, views.lsn()) {
        return Err(unauthenticated());
    }
    let role = identity.user(user).ok_or_else(unauthenticated)?.role;
    let acting = agent.or_else(|| identity.direct_agent()).ok_or_else(unauthenticated)?;
    if agent.is_some() && !may_invoke(views, user, acting, now) {
        return Err(not_granted());
    }
    let powers = powers(views, user, now);
    Ok(Caller {
        tenant: identity.tenant().ok_or_else(unauthenticated)?,
        user,
        agent: acting,
        key,
        role,
        powers,
        operator: identity.is_operator() && powers.are_all(),
        person: agent.is_none(),
        moderation: None,
    })
}

fn not_granted() -> Refusal {
    let message = "this user may not act through this agent: the edge between them ended or has not begun (`tabellion grant ua USER \
                   AGENT`), or the agent was retired (`tabellion agent activate AGENT`); an admin mends it";
    Refusal::new(Code::AgentNotGranted, message)
}

/// What stands for the key of a caller who came with a token: the same for all tokens of the same names.
fn credential(names: &[&str; 3]) -> KeyId {
    let [issuer, user, agent] = names.map(str::as_bytes);
    let hash = framed_sha256(&[b"tabellion/v1/token-caller", issuer, user, agent]);
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    KeyId::from_bytes(bytes)
}

/// Whether a user may invoke an agent now, and the agent works (SHARE-11, decision 4: the caller knows its pair).
fn may_invoke(views: &Views, user: UserId, agent: AgentId, now: Timestamp) -> bool {
    let at = Moment { lsn: views.lsn(), time: now };
    views.graphs.has(Edge::Invoke(user, agent), at)
        && views.graphs.status_at(agent, at.lsn) == AgentStatus::Active
}

/// The pair that wrote something which waits: its credential proved it then, and it may have ended since.
///
/// # Errors
/// When the user is gone.
pub fn author(identity: &IdentityView, user: UserId, agent: AgentId, key: KeyId) -> Result<Caller, Refusal> {
    let role = identity.user(user).ok_or_else(unauthenticated)?.role;
    let tenant = identity.tenant().ok_or_else(unauthenticated)?;
    let person = identity.direct_agent() == Some(agent);
    let powers = Powers::default();
    Ok(Caller { tenant, user, agent, key, role, powers, operator: false, person, moderation: None })
}

/// Refuses the author of a write that waits, who may not act through that agent now.
///
/// # Errors
/// When the edge between the two ended, or the agent was put to rest; or for good, when the credential was revoked.
pub fn may_still_act(views: &Views, author: &Caller, now: Timestamp) -> Result<(), Refusal> {
    if views.identity.key(author.key).is_some_and(|key| key.revoked_at.is_some()) {
        let message = "the key that this came with was revoked meanwhile; write it again with another one";
        return Err(Refusal::new(Code::Unauthenticated, message));
    }
    match author.person || may_invoke(views, author.user, author.agent, now) {
        true => Ok(()),
        false => Err(not_granted()),
    }
}

/// The one answer to a credential that proves nobody.
#[must_use]
pub fn unauthenticated() -> Refusal {
    Refusal::new(
        Code::Unauthenticated,
        "missing, unknown, revoked or expired credential, or its user is disabled; send `Authorization: Bearer KEY`, with an API \
         key or a token, or have an admin enable the user",
    )
}
