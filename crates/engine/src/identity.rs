//! Principals and keys: who exists, and what proves it.

mod key;

pub(crate) use key::{create_key, revoke_key};

use crate::reply::{
    AgentReply, HoldReply, KeyReply, NewAgent, ResourceReply, SuspensionReply, UserReply, WhoAmI,
};
use crate::sequencer::{Objection, Proposal, Touch, TrailDraft};
use crate::tenant::Tenant;
use crate::{Call, flow};
use tabellion_core::access::{NAME_RULE, Power, Role, is_name, looks};
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{GateName, Strictness};
use tabellion_core::id::{AgentId, KeyId, ResourceId, UserId};
use tabellion_core::log::{Actor, AgentStatus, Event, IssuedKey, Lsn, Payload, Principal, UserStatus};
use tabellion_core::seal::Secret;
use tabellion_core::text::{LEGIBLE, is_legible};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Agent, Key, PrincipalKind, Resource, StandingHold, User, Views};

/// The built-in agent of keys that name none.
pub(crate) const DIRECT: &str = "direct";
/// The first user of a tenant.
pub(crate) const ADMIN: &str = "admin";

const FAMILY_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1_024;

/// A fresh API key: 256 random bits behind a prefix that scanners know.
pub(crate) fn new_secret(tenant: &Tenant) -> String {
    format!("tab_{}", data_of(&tenant.entropy.bytes()))
}

fn data_of(bytes: &Hash) -> String {
    tabellion_core::canonical::hex(bytes)
}

/// What is kept of a key: nothing that a thief of the log could use or test guesses on without the master key.
pub(crate) fn fingerprint(pepper: &Secret, secret: &str) -> Hash {
    tabellion_core::canonical::framed_hmac(pepper.as_bytes(), &[b"api-key", secret.as_bytes()])
}

/// The drafts of a tenant's first entries.
pub(crate) fn genesis(
    tenant: &Tenant,
    name: &str,
    operator: bool,
    admin_fingerprint: Hash,
) -> Result<Vec<crate::sequencer::Draft>, Refusal> {
    let words = |name: &str| Payload::Principal(Principal { name: name.to_owned(), ..Principal::default() });
    let user = UserId::from_bytes(tenant.entropy.bytes());
    let key = KeyId::from_bytes(tenant.entropy.bytes());
    let created = Event::TenantCreated {
        tenant: tenant.shared.tenant,
        public_key: tenant.public_key.to_bytes(),
        operator,
    };
    let agent =
        Event::AgentCreated { agent: AgentId::from_bytes(tenant.entropy.bytes()), trust_declared: true };
    Ok(vec![
        tenant.draft(Actor::SERVER, created, Some(&words(name)))?,
        tenant.draft(Actor::SERVER, Event::UserCreated { user, role: Role::Admin }, Some(&words(ADMIN)))?,
        tenant.draft(Actor::SERVER, agent, Some(&words(DIRECT)))?,
        tenant.draft(Actor::SERVER, admin_key(key, user, admin_fingerprint), None)?,
    ])
}

/// A key of the tenant's first admin.
pub(crate) fn admin_key(key: KeyId, user: UserId, fingerprint: Hash) -> Event {
    Event::KeyIssued(IssuedKey { key, fingerprint, user: Some(user), agent: None, expires_at: None })
}

pub(crate) async fn create_user(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    role: Option<&str>,
) -> Result<UserReply, Refusal> {
    let plan = || {
        call.caller.must(Power::Principals)?;
        let role = match role {
            None => Role::Member,
            Some(word) => role_named(word)?,
        };
        let user = UserId::from_bytes(tenant.entropy.bytes());
        let words = Principal { name: checked(name)?, ..Principal::default() };
        Ok((Event::UserCreated { user, role }, words, user.to_string()))
    };
    let row = |outcome: &str, ids| tenant.row(call, "create_user", outcome, ids);
    let id = create(tenant, call.caller.actor(), &row, PrincipalKind::User, plan()).await?;
    let views = tenant.shared.views.read();
    views.identity.find_user(&id).map(|user| user_reply(&views, user)).ok_or_else(Refusal::not_found)
}

/// The role of users that a word names.
pub(crate) fn role_named(word: &str) -> Result<Role, Refusal> {
    Role::from_word(word).ok_or_else(|| invalid("/role", format!("one of {}", Role::words())))
}

pub(crate) async fn create_agent(tenant: &Tenant, call: &Call, new: NewAgent) -> Result<AgentReply, Refusal> {
    let plan = || {
        call.caller.must(Power::Principals)?;
        let agent = AgentId::from_bytes(tenant.entropy.bytes());
        let NewAgent { name, specialisation, trust_declared, family } = new;
        let kind = described("/specialisation", specialisation)?;
        let family = family.map(|family| family_name(&family)).transpose()?;
        let words = Principal { name: checked(&name)?, kind, family, ..Principal::default() };
        Ok((Event::AgentCreated { agent, trust_declared }, words, agent.to_string()))
    };
    let row = |outcome: &str, ids| tenant.row(call, "create_agent", outcome, ids);
    let id = create(tenant, call.caller.actor(), &row, PrincipalKind::Agent, plan()).await?;
    let views = tenant.shared.views.read();
    views
        .identity
        .find_agent(&id)
        .map(|agent| agent_reply(tenant, &views, agent))
        .ok_or_else(Refusal::not_found)
}

pub(crate) async fn create_resource(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    kind: Option<String>,
    description: Option<String>,
) -> Result<ResourceReply, Refusal> {
    let plan = || {
        call.caller.must(Power::Principals)?;
        let resource = ResourceId::from_bytes(tenant.entropy.bytes());
        let (kind, description) = (described("/kind", kind)?, described("/description", description)?);
        let words = Principal { name: checked(name)?, kind, description, ..Principal::default() };
        Ok((Event::ResourceCreated { resource }, words, resource.to_string()))
    };
    let row = |outcome: &str, ids| tenant.row(call, "create_resource", outcome, ids);
    let id = create(tenant, call.caller.actor(), &row, PrincipalKind::Resource, plan()).await?;
    let views = tenant.shared.views.read();
    let found = views.identity.find_resource(&id);
    found.map(|resource| resource_reply(&views, resource)).ok_or_else(Refusal::not_found)
}

/// Makes a user on first sight of a valid token of the trusted issuer (AM-14). Another request may have been quicker: then the
/// user is there.
pub(crate) async fn admit_user(tenant: &Tenant, name: &str) -> Result<(), Refusal> {
    let user = UserId::from_bytes(tenant.entropy.bytes());
    let plan = checked(name).map(|name| {
        let words = Principal { name, ..Principal::default() };
        (Event::UserCreated { user, role: Role::Member }, words, user.to_string())
    });
    let row = |outcome: &str, ids| tenant.server_row("create_user", outcome, ids);
    match create(tenant, Actor::SERVER, &row, PrincipalKind::User, plan).await {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.code == Code::NameTaken => Ok(()),
        Err(refusal) if refusal.code == Code::NameConfusable => {
            // Who comes with a token learns no names of others.
            let message = "the user of this token looks like another user here; an admin can make it under another name";
            Err(Refusal::new(Code::NameConfusable, message))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Makes a principal whose name must be free and look like no other, and tells its id.
async fn create(
    tenant: &Tenant,
    actor: Actor,
    row: &(dyn Fn(&str, Vec<String>) -> TrailDraft + Sync),
    kind: PrincipalKind,
    plan: Result<(Event, Principal, String), Refusal>,
) -> Result<String, Refusal> {
    let (event, words, id) = match plan {
        Ok(plan) => plan,
        Err(refusal) => {
            tenant.sequencer.trail_now(row(refusal.code.as_str(), Vec::new())).await?;
            return Err(refusal);
        }
    };
    let name = words.name.clone();
    let draft = tenant.draft(actor, event, Some(&Payload::Principal(words)))?;
    // By its looks, so that of two names that look alike in one batch the second is asked again.
    let touches = looks(&name).map(|look| Touch::Name(kind.as_str(), look)).into();
    let check = move |views: &Views, _: Timestamp| Ok(is_free(views, kind, &name)?);
    let trail = row("ok", vec![id.clone()]);
    commit(tenant, Proposal { drafts: vec![draft], touches, check: Box::new(check), trail }).await?;
    Ok(id)
}

/// Refuses a name that another principal of the kind has, or that looks like such a one.
fn is_free(views: &Views, kind: PrincipalKind, name: &str) -> Result<(), Refusal> {
    let kind_word = kind.as_str();
    let has_it = match kind {
        PrincipalKind::User => views.identity.find_user(name).is_some(),
        PrincipalKind::Agent => views.identity.find_agent(name).is_some(),
        PrincipalKind::Resource => views.identity.find_resource(name).is_some(),
    };
    let (code, message) = match views.identity.looks_like(kind, name) {
        _ if has_it => (Code::NameTaken, format!("another {kind_word} has this name")),
        None => return Ok(()),
        // Whoever makes principals may list them all, and so may see this one.
        Some(other) => {
            (Code::NameConfusable, format!("this name looks like that of the {kind_word} `{other}`"))
        }
    };
    let fault =
        Fault::new("/name", code, format!("a name that no {kind_word} has, and that looks like no other"));
    Err(Refusal::new(code, message).with(vec![fault]))
}

async fn commit(tenant: &Tenant, proposal: Proposal) -> Result<Lsn, Refusal> {
    match tenant.sequencer.propose(proposal).await {
        Ok(committed) => Ok(committed.lsn),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Replayed(_) | Objection::Stale) => {
            Err(Refusal::new(Code::VersionConflict, "changed meanwhile; try again"))
        }
    }
}

/// Refuses what is to be done for a user who was disabled since.
pub(crate) fn must_be_active(tenant: &Tenant, user: UserId) -> Result<(), Refusal> {
    let views = tenant.shared.views.read();
    if views.graphs.is_active(user, views.lsn()) {
        return Ok(());
    }
    let name = views.identity.user(user).map(|user| user.name.as_str()).unwrap_or_default();
    let message =
        format!("the user `{name}` is disabled; an admin lets it act again: `tabellion user enable {name}`");
    Err(Refusal::new(Code::UserDisabled, message).at(GateName::Preflight))
}

/// What becomes of a user.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UserChange {
    Status(UserStatus),
    Role(Role),
}

impl UserChange {
    const fn action(self) -> &'static str {
        match self {
            Self::Status(UserStatus::Active) => "enable_user",
            Self::Status(UserStatus::Disabled) => "disable_user",
            Self::Role(_) => "set_user_role",
        }
    }

    const fn event(self, user: UserId) -> Event {
        match self {
            Self::Status(status) => Event::UserStatusSet { user, status },
            Self::Role(role) => Event::UserRoleSet { user, role },
        }
    }

    /// Whether a user whom it concerns administers everything afterwards.
    fn leaves_admin(self) -> bool {
        match self {
            Self::Status(status) => status == UserStatus::Active,
            Self::Role(role) => role == Role::Admin,
        }
    }
}

/// Disables a user, enables one again, or changes what one may administer. It counts from the next request on.
pub(crate) async fn change_user(
    tenant: &Tenant,
    call: &Call,
    name: &str,
    change: UserChange,
    reason: &str,
) -> Result<UserReply, Refusal> {
    let action = change.action();
    let plan = || {
        call.caller.must(Power::Principals)?;
        crate::change::checked(Some(reason))?;
        let views = tenant.shared.views.read();
        let missing = || Refusal::new(Code::NotFound, "no such user");
        let user = views.identity.find_user(name).ok_or_else(missing)?;
        // Nobody takes from others, or gives them, what they do not hold.
        let given = if let UserChange::Role(role) = change { role } else { Role::Member };
        let powers =
            [user.role, given].into_iter().flat_map(|role| role.bundle()).flat_map(|role| role.powers());
        powers.copied().try_for_each(|power| call.caller.must(power))?;
        if let UserChange::Role(_) = change {
            call.caller.must(Power::Roles)?;
        }
        keeps_an_admin(&views, user.id, change)?;
        Ok(user.id)
    };
    let user = match plan() {
        Ok(user) => user,
        Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
    };
    let why = Payload::Reason(reason.to_owned());
    let draft = tenant.draft(call.caller.actor(), change.event(user), Some(&why))?;
    let trail = tenant.row_because(call, action, "ok", vec![user.to_string()], Some(reason));
    // All of them in turn: two admins who disable each other must not both succeed.
    let touches = vec![Touch::Name("users", String::new())];
    let check = move |views: &Views, _: Timestamp| Ok(keeps_an_admin(views, user, change)?);
    commit(tenant, Proposal { drafts: vec![draft], touches, check: Box::new(check), trail }).await?;
    let views = tenant.shared.views.read();
    views.identity.user(user).map(|user| user_reply(&views, user)).ok_or_else(Refusal::not_found)
}

/// Refuses a change after which no active user would be an admin.
fn keeps_an_admin(views: &Views, user: UserId, change: UserChange) -> Result<(), Refusal> {
    let is_admin = |one: &&User| one.role == Role::Admin && views.graphs.is_active(one.id, views.lsn());
    let mut admins = views.identity.users().iter().filter(is_admin).map(|one| one.id);
    let mut others = admins.clone().filter(|one| *one != user);
    if change.leaves_admin() || others.next().is_some() || !admins.any(|one| one == user) {
        return Ok(());
    }
    let message = "this is the last active admin; make another user an admin first";
    Err(Refusal::new(Code::LastAdmin, message))
}

/// One user, by name or id.
pub(crate) async fn user(tenant: &Tenant, call: &Call, name: &str) -> Result<UserReply, Refusal> {
    let result = call.caller.must(Power::Principals).and_then(|()| {
        let views = tenant.shared.views.read();
        let missing = || Refusal::new(Code::NotFound, "no such user");
        views.identity.find_user(name).map(|user| user_reply(&views, user)).ok_or_else(missing)
    });
    tenant.read_done(call, "user", crate::read::named(name), result).await
}

/// The agent of this name or id, unless it was deleted.
pub(crate) fn agent_named(views: &Views, name: &str) -> Option<AgentId> {
    let agent = views.identity.find_agent(name)?.id;
    (views.graphs.status_at(agent, views.lsn()) != AgentStatus::Deleted).then_some(agent)
}

/// One list that admins may read.
pub(crate) async fn listing<T>(
    tenant: &Tenant,
    call: &Call,
    action: &str,
    rows: impl FnOnce(&Views) -> Vec<T>,
) -> Result<Vec<T>, Refusal> {
    let result = call.caller.must(Power::Principals).map(|()| rows(&tenant.shared.views.read()));
    tenant.read_done(call, action, Vec::new(), result).await
}

pub(crate) async fn whoami(tenant: &Tenant, call: &Call, session: Option<&str>) -> Result<WhoAmI, Refusal> {
    let caller = &call.caller;
    let result = flow::allowance(tenant, caller, session).map(|allowance| {
        let views = tenant.shared.views.read();
        let user = views.identity.user(caller.user()).map(|user| user.name.clone()).unwrap_or_default();
        let agent =
            views.identity.agent(caller.agent()).map(|agent| agent.words.name.clone()).unwrap_or_default();
        let mut holds = holds_of(tenant, &views, caller.agent());
        holds.retain(|hold| hold.user.0 == caller.user());
        WhoAmI {
            holds,
            suspended: suspension(tenant, &views, caller.agent()),
            tenant: caller.tenant(),
            user: (caller.user(), user),
            agent: (caller.agent(), agent),
            role: caller.role(),
            allowance,
        }
    });
    tenant.read_done(call, "whoami", Vec::new(), result).await
}

pub(crate) fn user_reply(views: &Views, user: &User) -> UserReply {
    UserReply {
        id: user.id,
        name: user.name.clone(),
        role: user.role,
        status: views.graphs.user_at(user.id, views.lsn()),
        created_at: user.created_at,
    }
}

/// Every agent, and which of them are suspended: for who makes agents, and for who suspends them.
pub(crate) async fn agents(tenant: &Tenant, call: &Call) -> Result<Vec<AgentReply>, Refusal> {
    let result = may_see_agents(call).map(|()| {
        let views = tenant.shared.views.read();
        views.identity.agents().iter().map(|agent| agent_reply(tenant, &views, agent)).collect()
    });
    tenant.read_done(call, "agents", Vec::new(), result).await
}

/// One agent, by name or id.
pub(crate) async fn agent(tenant: &Tenant, call: &Call, name: &str) -> Result<AgentReply, Refusal> {
    let result = may_see_agents(call).and_then(|()| {
        let views = tenant.shared.views.read();
        let missing = || Refusal::new(Code::NotFound, "no such agent");
        let found = views.identity.find_agent(name).ok_or_else(missing)?;
        Ok(agent_reply(tenant, &views, found))
    });
    tenant.read_done(call, "agent", crate::read::named(name), result).await
}

fn may_see_agents(call: &Call) -> Result<(), Refusal> {
    let also = [Power::Policies, Power::Moderate].into_iter().any(|power| call.caller.may(power));
    if also { Ok(()) } else { call.caller.must(Power::Principals) }
}

/// Who suspended an agent, when and why. A reason that cannot be read is left out: the list must not fail for it.
fn suspension(tenant: &Tenant, views: &Views, agent: AgentId) -> Option<SuspensionReply> {
    let suspension = views.policies.suspensions().get(&agent)?;
    let user = suspension.by.user.and_then(|id| views.identity.user(id));
    let reason = match tenant.payload(suspension.lsn) {
        Ok(Some(Payload::Reason(reason))) if !reason.is_empty() => Some(reason),
        _ => None,
    };
    Some(SuspensionReply {
        by: user.map(|user| (user.id, user.name.clone())),
        since: suspension.since,
        reason,
    })
}

pub(crate) fn agent_reply(tenant: &Tenant, views: &Views, agent: &Agent) -> AgentReply {
    AgentReply {
        id: agent.id,
        name: agent.words.name.clone(),
        specialisation: agent.words.kind.clone(),
        family: agent.words.family.clone(),
        trust_declared: agent.trust_declared,
        status: views.graphs.status_at(agent.id, views.lsn()),
        suspended: suspension(tenant, views, agent.id),
        created_at: agent.created_at,
        holds: holds_of(tenant, views, agent.id),
    }
}

/// The namespace of writes that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// For which users an agent's writes are held or suspended now: as unlike those before, or for the pair's reputation.
pub(crate) fn holds_of(tenant: &Tenant, views: &Views, agent: AgentId) -> Vec<HoldReply> {
    let now = tenant.now();
    let name = |user| (user, views.identity.user(user).map(|user| user.name.clone()).unwrap_or_default());
    let held = views.holds.all(now).filter(|standing| standing.hold.agent == agent);
    let reply = |standing: &StandingHold| HoldReply {
        user: name(standing.hold.user),
        action: standing.hold.action,
        reason: standing.hold.reason(),
        since: standing.since,
        until: standing.hold.until,
    };
    let strictness = views.policies.strictness(DEFAULT_NAMESPACE).unwrap_or(tenant.governance.strictness);
    let records = tenant.records(views, agent, now);
    // Under `open` nobody is held for a reputation.
    let counted = records.iter().filter(|_| strictness > Strictness::Open);
    let distrusted = counted.filter_map(|(user, record)| record.hold(name(*user)));
    held.map(reply).chain(distrusted).collect()
}

pub(crate) fn resource_reply(views: &Views, resource: &Resource) -> ResourceReply {
    ResourceReply {
        id: resource.id,
        name: resource.words.name.clone(),
        kind: resource.words.kind.clone(),
        description: resource.words.description.clone(),
        status: views.graphs.resource_at(resource.id, views.lsn()),
        created_at: resource.created_at,
    }
}

pub(crate) fn key_reply(key: &Key) -> KeyReply {
    KeyReply {
        id: key.issued.key,
        user: key.issued.user,
        agent: key.issued.agent,
        created_at: key.created_at,
        expires_at: key.issued.expires_at,
        revoked_at: key.revoked_at,
    }
}

fn invalid(path: &str, expected: String) -> Refusal {
    let message = format!("`{}` breaks a rule: expected {expected}", path.trim_start_matches('/'));
    Refusal::new(Code::SchemaInvalid, message).with(vec![Fault::new(
        path,
        Code::ConstraintViolation,
        expected,
    )])
}

/// A name that can stand wherever an id can.
pub(crate) fn checked(name: &str) -> Result<String, Refusal> {
    if is_name(name) { Ok(name.to_owned()) } else { Err(invalid("/name", NAME_RULE.to_owned())) }
}

/// The name of a family of models, the same however it is spelt.
fn family_name(name: &str) -> Result<String, Refusal> {
    let plain = name.trim().to_ascii_lowercase();
    let first = plain.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if first && rest && plain.len() <= FAMILY_MAX {
        return Ok(plain);
    }
    Err(invalid("/family", "1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit".to_owned()))
}

fn described(path: &str, text: Option<String>) -> Result<Option<String>, Refusal> {
    match text {
        Some(text) if !is_legible(&text) || text.chars().count() > DESCRIPTION_CHARS_MAX => {
            Err(invalid(path, format!("1 to {DESCRIPTION_CHARS_MAX} characters {LEGIBLE}")))
        }
        other => Ok(other),
    }
}
