//! Who is calling? The one way from a credential to a caller, for every transport: an API key, a token of the trusted
//! issuer, or a token that this server made for a pair (SHARE-28).

use crate::ports::TokenKeys;
use crate::{Engine, identity};
use std::sync::Arc;
use tabellion_core::access::{
    Caller, Claims, Distrust, Jwt, TokenRules, authenticate, invoke, is_name, recognise, unauthenticated,
};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{KeyId, TenantId};
use tabellion_core::time::Timestamp;

/// Whoever signs tokens that are taken here.
pub struct Issuer {
    /// What its tokens must say.
    pub rules: TokenRules,
    /// Its public keys.
    pub keys: Arc<dyn TokenKeys>,
    /// Whether a user whom a valid token names and nobody here knows is made, as a member.
    pub creates_users: bool,
}

/// A caller, and how long what proved it holds.
pub(crate) struct Proven {
    pub(crate) caller: Caller,
    /// The API key that it came with, if it was one.
    pub(crate) key: Option<KeyId>,
    /// When the credential ends by itself.
    pub(crate) expires_at: Option<Timestamp>,
}

/// Why a credential proves nobody.
pub(crate) enum Denied {
    /// It does not, and no newer key would help.
    Refused(Refusal),
    /// The issuer may have a newer key.
    UnknownKey,
    /// A valid token of an issuer for whom users are made names a user of this tenant that is not there yet.
    UnknownUser(TenantId, String),
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Distrust> for Denied {
    fn from(distrust: Distrust) -> Self {
        match distrust {
            Distrust::UnknownKey => Self::UnknownKey,
            Distrust::Malformed
            | Distrust::Algorithm
            | Distrust::Signature
            | Distrust::Claims
            | Distrust::Issuer
            | Distrust::Audience
            | Distrust::Early
            | Distrust::Expired => Self::Refused(distrust.refusal()),
        }
    }
}

impl Denied {
    fn refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::UnknownKey => Distrust::UnknownKey.refusal(),
            Self::UnknownUser(..) => unauthenticated(),
        }
    }
}

impl Engine {
    /// Takes tokens of this issuer from now on. The first one stays: an issuer is a setting, not a state.
    pub fn trust(&self, issuer: Issuer) {
        let _set_once = self.inner.issuer.set(issuer);
    }

    /// The caller of a credential, by the keys that are known. Asks nobody outside.
    ///
    /// # Errors
    /// When it proves nobody, or names no pair.
    pub fn authenticate(&self, credential: &str) -> Result<Caller, Refusal> {
        self.prove(credential).map(|proven| proven.caller).map_err(Denied::refusal)
    }

    /// The caller of a credential. If a token is signed with a key that is not known, the issuer's keys are looked at anew.
    ///
    /// # Errors
    /// When it proves nobody, or names no pair.
    pub async fn recognise(&self, credential: &str) -> Result<Caller, Refusal> {
        self.proven(credential).await.map(|proven| proven.caller)
    }

    pub(crate) async fn proven(&self, credential: &str) -> Result<Proven, Refusal> {
        let mut answer = self.prove(credential);
        if let (Err(Denied::UnknownKey), Some(issuer)) = (&answer, self.inner.issuer.get()) {
            issuer.keys.renew().await;
            answer = self.prove(credential);
        }
        if let Err(Denied::UnknownUser(tenant, name)) = &answer {
            let tenant = self.inner.tenants.read().get(tenant).cloned();
            identity::admit_user(&*tenant.ok_or_else(unauthenticated)?, name).await?;
            answer = self.prove(credential);
        }
        answer.map_err(Denied::refusal)
    }

    fn prove(&self, credential: &str) -> Result<Proven, Denied> {
        let now = self.inner.options.clock.now();
        if let Some(answer) = self.by_key(credential, now) {
            return answer.map_err(Denied::Refused);
        }
        if self.inner.tenants.read().is_empty() {
            return Err(Refusal::new(Code::Overloaded, "the server is starting").into());
        }
        if !Jwt::is_like(credential) {
            return Err(unauthenticated().into());
        }
        let token = Jwt::parse(credential)?;
        match token.key_id().and_then(|id| id.parse().ok()) {
            Some(tenant) => self.by_own_token(&token, tenant, now),
            None => self.by_token(&token, now),
        }
    }

    fn by_key(&self, secret: &str, now: Timestamp) -> Option<Result<Proven, Refusal>> {
        let fingerprint = identity::fingerprint(&self.inner.pepper, secret);
        self.inner.tenants.read().values().find_map(|tenant| {
            let views = tenant.shared.views.read();
            let issued = views.identity.live_key(&fingerprint, now)?;
            let (key, expires_at) = (Some(issued.key), issued.expires_at);
            let caller = authenticate(&views, &fingerprint, now);
            Some(caller.map(|caller| Proven { caller, key, expires_at }))
        })
    }

    /// A token of this server's own names the tenant whose key signed it.
    fn by_own_token(&self, token: &Jwt<'_>, tenant: TenantId, now: Timestamp) -> Result<Proven, Denied> {
        let tenants = self.inner.tenants.read();
        let Some(signer) = tenants.get(&tenant) else {
            return Err(Distrust::Signature.into());
        };
        let grant = signer.pairs.read(token, now)?;
        if grant.tenant != tenant {
            return Err(Distrust::Claims.into());
        }
        let caller = invoke(&signer.shared.views.read(), &grant, now)?;
        Ok(Proven { caller, key: None, expires_at: Some(grant.expires_at) })
    }

    fn by_token(&self, token: &Jwt<'_>, now: Timestamp) -> Result<Proven, Denied> {
        let issuer = self.inner.issuer.get().ok_or_else(unauthenticated)?;
        let claims = token.claims(&issuer.keys.known(), &issuer.rules, now)?;
        let caller = self.named(&claims, issuer.creates_users, now)?;
        Ok(Proven { caller, key: None, expires_at: Some(claims.expires_at) })
    }

    fn named(&self, claims: &Claims, creates_users: bool, now: Timestamp) -> Result<Caller, Denied> {
        let id = claims.tenant.parse::<TenantId>().ok();
        let tenants = self.inner.tenants.read();
        let tenant = match id {
            Some(id) => tenants.get(&id),
            None => tenants
                .values()
                .find(|tenant| tenant.shared.views.read().identity.tenant_name() == claims.tenant),
        };
        let tenant = tenant.ok_or_else(unauthenticated)?;
        let views = tenant.shared.views.read();
        // Only what can be a name: an id that nobody has is nobody, now and later.
        if creates_users && views.identity.find_user(&claims.user).is_none() && is_name(&claims.user) {
            return Err(Denied::UnknownUser(tenant.shared.tenant, claims.user.clone()));
        }
        Ok(recognise(&views, claims, now)?)
    }
}
