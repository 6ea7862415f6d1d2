//! Tokens of a pair that the server signs itself: an agent service and a user's token, for a few minutes one credential.
//!
//! Invariant (a token widens nothing): it names the keys that it was made from and holds for no longer than they do; the
//! edge between user and agent is asked for again at every use.

use super::jwt::{Distrust, Jwt};
use crate::id::{AgentId, KeyId, TenantId, UserId};
use crate::seal::Secret;
use crate::time::Timestamp;
use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::{Signature, Signer, SigningKey};
use serde::{Deserialize, Serialize};

/// Who signs, and for whom: the server for itself.
const SELF: &str = "tabellion";

/// Signs and reads the pair tokens of one tenant.
pub struct PairKey(SigningKey);

/// What a pair token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairGrant {
    /// The tenant.
    pub tenant: TenantId,
    /// The user.
    pub user: UserId,
    /// The agent that acts for it.
    pub agent: AgentId,
    /// The agent service's key.
    pub service: KeyId,
    /// The user's key, unless it came with a token of the issuer.
    pub subject: Option<KeyId>,
    /// From when on; whole seconds.
    pub issued_at: Timestamp,
    /// Until when; whole seconds.
    pub expires_at: Timestamp,
    /// No two are alike.
    pub nonce: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct Said {
    iss: String,
    aud: String,
    tid: String,
    sub: String,
    act: Act,
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_key: Option<String>,
    iat: u64,
    exp: u64,
    jti: String,
}

#[derive(Serialize, Deserialize)]
struct Act {
    sub: String,
}

impl PairKey {
    /// The key derived from a tenant's secret.
    #[must_use]
    pub fn of(tenant: &Secret) -> Self {
        Self(SigningKey::from_bytes(tenant.derive("tabellion/v1/pair-token").as_bytes()))
    }

    /// The token of a pair.
    #[must_use]
    pub fn sign(&self, grant: &PairGrant) -> String {
        let header = serde_json::json!({"alg": "EdDSA", "kid": grant.tenant.to_string(), "typ": "JWT"});
        let said = serde_json::to_value(Said::of(grant)).unwrap_or_default();
        let part = |value: &serde_json::Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(&said));
        let signature = self.0.sign(signed.as_bytes()).to_bytes();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }

    /// What a token of this key says.
    ///
    /// # Errors
    /// When this key did not sign it, or its time is over.
    pub fn read(&self, token: &Jwt<'_>, now: Timestamp) -> Result<PairGrant, Distrust> {
        let (signed, payload, signature) = token.own().ok_or(Distrust::Algorithm)?;
        let signature = Signature::from_slice(signature).map_err(|_| Distrust::Signature)?;
        self.0.verifying_key().verify_strict(signed, &signature).map_err(|_| Distrust::Signature)?;
        let said: Said = serde_json::from_slice(payload).map_err(|_| Distrust::Claims)?;
        let grant = said.grant().ok_or(Distrust::Claims)?;
        if now >= grant.expires_at { Err(Distrust::Expired) } else { Ok(grant) }
    }
}

impl std::fmt::Debug for PairKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PairKey(..)")
    }
}

impl Said {
    fn of(grant: &PairGrant) -> Self {
        let seconds = |moment: Timestamp| moment.as_micros() / 1_000_000;
        Self {
            iss: SELF.to_owned(),
            aud: SELF.to_owned(),
            tid: grant.tenant.to_string(),
            sub: grant.user.to_string(),
            act: Act { sub: grant.agent.to_string() },
            client_id: grant.service.to_string(),
            subject_key: grant.subject.map(|key| key.to_string()),
            iat: seconds(grant.issued_at),
            exp: seconds(grant.expires_at),
            jti: BASE64URL_NOPAD.encode(&grant.nonce),
        }
    }

    fn grant(&self) -> Option<PairGrant> {
        let moment = |seconds: u64| Timestamp::from_micros(seconds.saturating_mul(1_000_000));
        if self.iss != SELF || self.aud != SELF {
            return None;
        }
        Some(PairGrant {
            tenant: self.tid.parse().ok()?,
            user: self.sub.parse().ok()?,
            agent: self.act.sub.parse().ok()?,
            service: self.client_id.parse().ok()?,
            subject: self.subject_key.as_ref().map(|key| key.parse()).transpose().ok()?,
            issued_at: moment(self.iat),
            expires_at: moment(self.exp),
            nonce: BASE64URL_NOPAD.decode(self.jti.as_bytes()).ok()?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> PairGrant {
        PairGrant {
            tenant: TenantId::from_bytes([1; 16]),
            user: UserId::from_bytes([2; 16]),
            agent: AgentId::from_bytes([3; 16]),
            service: KeyId::from_bytes([4; 16]),
            subject: Some(KeyId::from_bytes([5; 16])),
            issued_at: Timestamp::from_micros(100_000_000),
            expires_at: Timestamp::from_micros(1_000_000_000),
            nonce: [6; 16],
        }
    }

    /// SHARE-28: a pair token says what was granted, under the key that signed it and until its end.
    #[test]
    fn a_pair_token_holds_until_its_end() {
        let key = PairKey::of(&Secret::from_bytes([9; 32]));
        let token = key.sign(&grant());
        let read =
            |key: &PairKey, micros| key.read(&Jwt::parse(&token).unwrap(), Timestamp::from_micros(micros));
        assert_eq!(read(&key, 999_999_999), Ok(grant()));
        assert_eq!(read(&key, 1_000_000_000), Err(Distrust::Expired));
        let other = PairKey::of(&Secret::from_bytes([8; 32]));
        assert_eq!(read(&other, 0), Err(Distrust::Signature));
        let by_token = PairGrant { subject: None, ..grant() };
        let token = key.sign(&by_token);
        assert_eq!(key.read(&Jwt::parse(&token).unwrap(), Timestamp::from_micros(0)), Ok(by_token));
        assert!(!format!("{key:?}").contains('9'));
    }

    /// SHARE-28: no changed byte, and no other algorithm, passes.
    #[test]
    fn a_changed_pair_token_is_none() {
        let key = PairKey::of(&Secret::from_bytes([9; 32]));
        let token = key.sign(&grant());
        for place in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            let read = Jwt::parse(&changed).and_then(|jwt| key.read(&jwt, Timestamp::from_micros(0)));
            assert!(read.is_err(), "{place}");
        }
        let (_, rest) = token.split_once('.').unwrap();
        let unsigned = format!("{}.{rest}", BASE64URL_NOPAD.encode(b"{\"alg\":\"none\"}"));
        let read = key.read(&Jwt::parse(&unsigned).unwrap(), Timestamp::from_micros(0));
        assert_eq!(read, Err(Distrust::Algorithm));
    }
}
