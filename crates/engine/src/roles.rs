//! Roles: what they bundle, who holds them, and the edges that follow (SHARE-30).
//!
//! Invariant (a role is its edges): whatever changes a role or who holds it commits, in the same step, the edges that come and
//! go with it. So the graphs never have to be read together with the roles.

mod plan;

use crate::change::checked;
use crate::identity::agent_named;
use crate::reply::{EdgeTerms, MemberReply, RoleDraft, RoleReply};
use crate::sequencer::{Draft, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::{Call, Engine, graph, write};
use plan::{Step, changed_role, given, taken, template};
use std::collections::BTreeSet;
use tabellion_core::access::{BuiltIn, Power};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::RoleId;
use tabellion_core::log::{Edge, Event, HeldRole, Holder, Payload};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{RoleTemplate, Views};

/// Edges that one change of a role may touch.
const EDGES_MAX: usize = 10_000;
/// Roles of one tenant.
const ROLES_MAX: usize = 1_000;
/// How often a change is planned again when something changes under it.
const ATTEMPTS_MAX: usize = 16;

impl Engine {
    /// Sets a role in place of what it was; the edges of those who hold it follow in the same commit.
    ///
    /// # Errors
    /// When the caller may not manage roles, a name is unknown, or the role would include itself.
    pub async fn set_role(&self, call: &Call, name: &str, draft: RoleDraft) -> Result<String, Refusal> {
        let tenant = self.tenant(call)?;
        change(&tenant, call, "set_role", None, |views| set(&tenant, views, name, &draft)).await
    }

    /// Ends a role: whoever holds it loses what it brought.
    ///
    /// # Errors
    /// When the caller may not manage roles, there is no such role, or another one includes it.
    pub async fn remove_role(
        &self,
        call: &Call,
        name: &str,
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        let tenant = self.tenant(call)?;
        change(&tenant, call, "remove_role", reason, |views| remove(views, name)).await
    }

    /// Gives a role to a user or an agent.
    ///
    /// # Errors
    /// When the caller may not manage roles, either is unknown, or the role is not for such a holder.
    pub async fn assign_role(
        &self,
        call: &Call,
        (role, member): (&str, &str),
        terms: EdgeTerms,
    ) -> Result<String, Refusal> {
        let tenant = self.tenant(call)?;
        let plan = |views: &Views| assign(tenant.now(), views, (role, member), &terms);
        change(&tenant, call, "assign_role", terms.reason.clone(), plan).await
    }

    /// Takes a role away from a user or an agent: the support of its edges goes, other supports stay.
    ///
    /// # Errors
    /// When the caller may not manage roles, or nobody of that name holds it.
    pub async fn unassign_role(
        &self,
        call: &Call,
        (role, member): (&str, &str),
        reason: Option<String>,
    ) -> Result<String, Refusal> {
        let tenant = self.tenant(call)?;
        change(&tenant, call, "unassign_role", reason, |views| unassign(views, (role, member))).await
    }

    /// Lists the roles, built-in ones first, with who holds them.
    ///
    /// # Errors
    /// When the caller may neither manage roles nor audit.
    pub async fn roles(&self, call: &Call) -> Result<Vec<RoleReply>, Refusal> {
        let tenant = self.tenant(call)?;
        let result = readable(call).map(|()| {
            let views = tenant.shared.views.read();
            let built_in = BuiltIn::ALL.iter().map(|role| role.id());
            let own = views.roles.roles_at(views.lsn()).map(|row| row.id);
            built_in.chain(own).map(|role| reply(&views, role)).collect()
        });
        tenant.read_done(call, "list_roles", Vec::new(), result).await
    }

    /// Reads one role.
    ///
    /// # Errors
    /// As for the list, or when there is none of this name.
    pub async fn role(&self, call: &Call, name: &str) -> Result<RoleReply, Refusal> {
        let tenant = self.tenant(call)?;
        let result = readable(call).and_then(|()| {
            let views = tenant.shared.views.read();
            Ok(reply(&views, role_named(&views, name)?))
        });
        tenant.read_done(call, "read_role", Vec::new(), result).await
    }
}

fn readable(call: &Call) -> Result<(), Refusal> {
    if call.caller.may(Power::Roles) { Ok(()) } else { call.caller.must(Power::Audit) }
}

fn reply(views: &Views, role: RoleId) -> RoleReply {
    let built_in = BuiltIn::of(role);
    let template = views.roles.role_at(role, views.lsn()).map(|row| row.template.clone()).unwrap_or_default();
    let powers =
        built_in.map_or_else(|| template.powers.iter().copied().collect(), |role| role.powers().to_vec());
    let included = template.includes.iter().filter_map(|one| views.roles.name_of(*one));
    let members = views.roles.holders(role, views.lsn()).map(|one| MemberReply {
        id: one.held.holder.to_string(),
        not_before: one.held.not_before,
        expires_at: one.held.expires_at,
    });
    RoleReply {
        id: role,
        name: views.roles.name_of(role).unwrap_or_default().to_owned(),
        built_in: built_in.is_some(),
        bundle: RoleDraft {
            agents: template.agents.iter().map(ToString::to_string).collect(),
            resources: template.resources.iter().map(ToString::to_string).collect(),
            includes: included.map(str::to_owned).collect(),
            actions: powers.iter().map(|power: &Power| power.as_str().to_owned()).collect(),
            clearance: template.clearance.map(|level| level.as_str().to_owned()),
            domains: template.domains.iter().cloned().collect(),
        },
        members: members.collect(),
    }
}

/// What a change comes to: its own entry and the edges that come and go.
struct Change {
    ids: Vec<String>,
    steps: Vec<Step>,
}

/// Plans a change and commits it, once more if something changed under it.
async fn change(
    tenant: &Tenant,
    call: &Call,
    action: &str,
    reason: Option<String>,
    plan: impl Fn(&Views) -> Result<Change, Refusal>,
) -> Result<String, Refusal> {
    for _ in 0..ATTEMPTS_MAX {
        let planned = call.caller.must(Power::Roles).and_then(|()| {
            checked(reason.as_deref())?;
            let views = tenant.shared.views.read();
            Ok((plan(&views)?, views.graphs.epoch()))
        });
        let proposal = planned
            .and_then(|(change, epoch)| proposal(tenant, call, action, (change, epoch), reason.as_deref()));
        let proposal = match proposal {
            Ok(proposal) => proposal,
            Err(refusal) => return Err(tenant.refused(call, action, Vec::new(), refusal).await),
        };
        match tenant.sequencer.propose(proposal).await {
            Ok(committed) => return Ok(tenant.token(&call.caller, committed.lsn)),
            Err(Objection::Refused(refusal)) => return Err(refusal),
            Err(Objection::Stale | Objection::Replayed(_)) => {}
        }
    }
    Err(write::keeps_changing())
}

fn proposal(
    tenant: &Tenant,
    call: &Call,
    action: &str,
    (change, epoch): (Change, u64),
    reason: Option<&str>,
) -> Result<Proposal, Refusal> {
    if change.steps.len() > EDGES_MAX {
        let message = format!("this would change more than {EDGES_MAX} edges at once; split the role");
        return Err(Refusal::new(Code::TooLarge, message));
    }
    let mut touches = BTreeSet::from([("roles", String::new())]);
    let mut drafts: Vec<Draft> = Vec::with_capacity(change.steps.len());
    for step in change.steps {
        if let Event::EdgeGranted(tabellion_core::log::GrantedEdge { edge, .. })
        | Event::EdgeRevoked { edge, .. } = &step.event
        {
            let (source, target) = edge.ends();
            let (Edge::Invoke(_, agent) | Edge::Use(agent, _)) = edge;
            touches.insert(("edge", format!("{source} {target}")));
            touches.insert(("agent", agent.to_string()));
        }
        let why = || Payload::Reason(reason.unwrap_or_default().to_owned());
        let payload = step.payload.or_else(|| {
            matches!(step.event, Event::RoleAssigned(_) | Event::RoleUnassigned { .. }).then(why)
        });
        drafts.push(tenant.draft(call.caller.actor(), step.event, payload.as_ref())?);
    }
    let check = move |views: &Views, _: Timestamp| {
        if views.graphs.epoch() == epoch { Ok(()) } else { Err(Objection::Stale) }
    };
    let touches = touches.into_iter().map(|(kind, name)| Touch::Name(kind, name)).collect();
    let trail = tenant.row_because(call, action, "ok", change.ids, reason);
    Ok(Proposal { drafts, touches, check: Box::new(check), trail })
}

fn set(tenant: &Tenant, views: &Views, name: &str, draft: &RoleDraft) -> Result<Change, Refusal> {
    let name = plain(name)?;
    let known = views.roles.find(name, views.lsn());
    let role = known.unwrap_or_else(|| RoleId::from_bytes(tenant.entropy.bytes()));
    if BuiltIn::of(role).is_some() {
        return Err(Refusal::new(Code::Forbidden, "a built-in role cannot be changed; make one of your own"));
    }
    if known.is_none() && views.roles.roles_at(views.lsn()).count() >= ROLES_MAX {
        return Err(Refusal::new(Code::TooLarge, format!("a tenant has at most {ROLES_MAX} roles")));
    }
    let template = template(views, (name, role), draft)?;
    let body = Payload::Policy { name: name.to_owned(), body: template.to_json().into() };
    let mut steps = vec![Step { event: Event::RoleSet { role }, payload: Some(body) }];
    steps.extend(changed_role(views, role, &template).into_iter().map(Step::bare));
    Ok(Change { ids: vec![role.to_string()], steps })
}

fn remove(views: &Views, name: &str) -> Result<Change, Refusal> {
    let role = role_named(views, name)?;
    let Some(row) = views.roles.role_at(role, views.lsn()) else {
        return Err(Refusal::new(Code::Forbidden, "a built-in role cannot be removed"));
    };
    if let Some(other) = views.roles.roles_at(views.lsn()).find(|one| one.template.includes.contains(&role)) {
        let message = format!("the role {} includes it; change that one first", other.name);
        return Err(Refusal::new(Code::NotTheHead, message));
    }
    let body = Payload::Policy { name: row.name.clone(), body: Vec::new().into() };
    let mut steps: Vec<Step> = Vec::new();
    for held in views.roles.holders(role, views.lsn()) {
        steps.extend(taken(views, role, held.held.holder).into_iter().map(Step::bare));
    }
    steps.push(Step { event: Event::RoleSet { role }, payload: Some(body) });
    Ok(Change { ids: vec![role.to_string()], steps })
}

fn assign(
    now: Timestamp,
    views: &Views,
    (role, member): (&str, &str),
    terms: &EdgeTerms,
) -> Result<Change, Refusal> {
    let (role, holder) = (role_named(views, role)?, member_named(views, member)?);
    suits(views, role, holder)?;
    let (not_before, expires_at) = graph::times(now, terms)?;
    let held = HeldRole { role, holder, not_before, expires_at };
    let steps = given(views, held).into_iter().map(Step::bare).collect();
    Ok(Change { ids: vec![role.to_string(), holder.to_string()], steps })
}

fn unassign(views: &Views, (role, member): (&str, &str)) -> Result<Change, Refusal> {
    let (role, holder) = (role_named(views, role)?, member_named(views, member)?);
    if !views.roles.holders(role, views.lsn()).any(|one| one.held.holder == holder) {
        let message = "nobody of this name holds the role; `GET /v1/roles` lists who does";
        return Err(Refusal::new(Code::NotFound, message));
    }
    let steps = taken(views, role, holder).into_iter().map(Step::bare).collect();
    Ok(Change { ids: vec![role.to_string(), holder.to_string()], steps })
}

/// A built-in role is for users or for agents; one of the tenant's own is for both.
fn suits(views: &Views, role: RoleId, holder: Holder) -> Result<(), Refusal> {
    let Some(built_in) = BuiltIn::of(role) else { return Ok(()) };
    let (fits, whose) = match holder {
        Holder::User(_) => (built_in.of_agents().is_none(), "agents"),
        Holder::Agent(_) => (built_in.of_agents().is_some(), "users"),
    };
    let direct = views.identity.direct_agent().map(Holder::Agent) == Some(holder);
    match (fits, direct) {
        (true, false) => Ok(()),
        (true, true) => {
            Err(Refusal::new(Code::Forbidden, "people write through this agent; it holds no role"))
        }
        (false, _) => {
            let message = format!("{} is a role of {whose}", built_in.as_str());
            Err(Refusal::new(Code::SchemaInvalid, message))
        }
    }
}

fn role_named(views: &Views, name: &str) -> Result<RoleId, Refusal> {
    views.roles.find(name, views.lsn()).ok_or_else(|| Refusal::new(Code::NotFound, "no such role"))
}

fn member_named(views: &Views, name: &str) -> Result<Holder, Refusal> {
    let user = views.identity.find_user(name).map(|user| Holder::User(user.id));
    let agent = agent_named(views, name).map(Holder::Agent);
    match (user, agent) {
        (Some(_), Some(_)) => {
            let message = "a user and an agent have this name; say which one by its id";
            Err(Refusal::new(Code::SchemaInvalid, message))
        }
        (user, agent) => user.or(agent).ok_or_else(|| Refusal::new(Code::NotFound, "no such user or agent")),
    }
}

fn plain(name: &str) -> Result<&str, Refusal> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    let is_id = name.starts_with("rol_") && name.len() == 30;
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) && !is_id && name != "admin" {
        return Ok(name);
    }
    let fault = Fault::new("/id", Code::ConstraintViolation, "1 to 64 of a-z 0-9 _ . -, not `admin`");
    Err(Refusal::new(Code::SchemaInvalid, "a role needs a plain name").with(vec![fault]))
}
