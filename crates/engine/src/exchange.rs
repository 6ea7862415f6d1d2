//! An agent service and a user's token, exchanged for a token of the pair (RFC 8693, SHARE-28).

use crate::credential::Proven;
use crate::reply::PairToken;
use crate::tenant::Tenant;
use crate::{Call, Engine, identity};
use std::sync::Arc;
use tabellion_core::access::{PairGrant, Service, invoke, serve};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::log::Actor;
use tabellion_core::time::{Period, Timestamp};

const ACTION: &str = "exchange_token";
/// How long a pair token holds at most, and unless less is asked for.
const SECONDS_MAX: u64 = 15 * 60;

impl Engine {
    /// A token of the pair of an agent service and a user, for at most 15 minutes and no longer than what proved the two.
    /// The edge between them must stand now, and is asked for again at every use.
    ///
    /// # Errors
    /// When the credential is no agent service's, the subject token proves no person of its tenant, or there is no edge.
    pub async fn exchange(
        &self,
        credential: &str,
        subject_token: &str,
        seconds: Option<u64>,
        request_id: Option<String>,
    ) -> Result<PairToken, Refusal> {
        let Some((tenant, service)) = self.service(credential) else {
            return Err(self.no_service(credential, request_id).await);
        };
        let subject = self.proven(subject_token).await;
        let user = subject.as_ref().ok().filter(|subject| subject.caller.tenant() == service.tenant());
        let user = user.map(|subject| subject.caller.user());
        let issued = grant(&tenant, service, subject, seconds);
        let outcome = issued.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        let mut row = tenant.server_row(ACTION, outcome, vec![service.key().to_string()]);
        row.actor = Actor { user, agent: Some(service.agent()) };
        row.record.request_id = request_id;
        tenant.sequencer.trail_now(row).await?;
        issued.map(|grant| PairToken {
            token: tenant.pairs.sign(&grant),
            seconds: grant.expires_at.since(grant.issued_at).as_micros() / 1_000_000,
            user: grant.user,
            agent: grant.agent,
        })
    }

    fn service(&self, credential: &str) -> Option<(Arc<Tenant>, Service)> {
        let fingerprint = identity::fingerprint(&self.inner.pepper, credential);
        let now = self.inner.options.clock.now();
        let tenants = self.inner.tenants.read();
        tenants.values().find_map(|tenant| {
            let service = serve(&tenant.shared.views.read(), &fingerprint, now)?;
            Some((Arc::clone(tenant), service))
        })
    }

    /// The refusal of whoever is known and no agent service, on the trail; of whoever is not known, as anywhere.
    async fn no_service(&self, credential: &str, request_id: Option<String>) -> Refusal {
        let call = match self.recognise(credential).await {
            Ok(caller) => Call { caller, request_id, trace: None },
            Err(refusal) => return refusal,
        };
        let message = "only an agent service exchanges tokens: send the key of an agent without a user";
        let refusal = Refusal::new(Code::ServiceKeyRequired, message);
        match self.tenant(&call) {
            Ok(tenant) => tenant.refused(&call, ACTION, Vec::new(), refusal).await,
            Err(refusal) => refusal,
        }
    }
}

/// What the token may say, if the pair may have one.
fn grant(
    tenant: &Tenant,
    service: Service,
    subject: Result<Proven, Refusal>,
    seconds: Option<u64>,
) -> Result<PairGrant, Refusal> {
    let seconds = seconds.unwrap_or(SECONDS_MAX);
    if !(1..=SECONDS_MAX).contains(&seconds) {
        let fault = Fault::new("/expires_in", Code::ConstraintViolation, format!("1 to {SECONDS_MAX}"));
        return Err(
            Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /expires_in").with(vec![fault])
        );
    }
    let subject = subject.map_err(|refusal| not_the_subject(&refusal.message))?;
    let is_here = subject.caller.tenant() == service.tenant();
    if !is_here || !subject.caller.is_person() {
        return Err(not_the_subject("it is not of a person here who acts without an agent"));
    }
    let now = tenant.now();
    let ends = [Some(now.plus(Period::from_secs(seconds))), service.expires_at(), subject.expires_at];
    let grant = PairGrant {
        tenant: service.tenant(),
        user: subject.caller.user(),
        agent: service.agent(),
        service: service.key(),
        subject: subject.key,
        issued_at: whole_seconds(now),
        expires_at: whole_seconds(ends.into_iter().flatten().min().unwrap_or(now)),
        nonce: tenant.entropy.bytes(),
    };
    if grant.expires_at <= now {
        return Err(not_the_subject("it is about to end"));
    }
    let views = tenant.shared.views.read();
    if views.identity.direct_agent() == Some(grant.agent) {
        let message = "`direct` stands for people without an agent; nobody acts through it for them";
        return Err(Refusal::new(Code::AgentNotGranted, message));
    }
    invoke(&views, &grant, now).map(|_| grant)
}

/// Tokens tell times in seconds; what is left over is cut off, so that none holds too long.
fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_micros(moment.as_micros() / 1_000_000 * 1_000_000)
}

fn not_the_subject(why: &str) -> Refusal {
    let expected = "a live API key or token of a person of this tenant, without an agent";
    let fault = Fault::new("/subject_token", Code::SubjectTokenInvalid, expected);
    let message = format!("the subject token proves no user for this agent to act for: {why}");
    Refusal::new(Code::SubjectTokenInvalid, message).with(vec![fault])
}
