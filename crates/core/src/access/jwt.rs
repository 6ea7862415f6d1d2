//! Tokens that somebody else signed: what a JSON Web Token (RFC 7519) must say before anything in it counts.
//!
//! Invariant (signature first): no claim is looked at before a known key confirmed the bytes that it stands in. Then all of
//! them must hold: for this server, by the one issuer it trusts, and within its time.

use super::jwk::{Algorithm, KeySet, Unconfirmed};
use crate::error::{Code, Refusal};
use crate::time::{Period, Timestamp};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Deserializer};

/// The longest token that is looked at.
pub const TOKEN_BYTES_MAX: usize = 8 << 10;

/// Who may sign tokens for this server, and how far its clock may be off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRules {
    /// What `iss` must be.
    pub issuer: String,
    /// What `aud` must be or contain.
    pub audience: String,
    /// By how much the clocks may differ.
    pub leeway: Period,
}

/// Why a token is not taken. What it says of the token is what its holder can read in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// Not a token, or longer than any should be.
    Malformed,
    /// Not signed at all, or in a way that is not taken.
    Algorithm,
    /// Signed with a key that is not known.
    UnknownKey,
    /// Not signed by the key that it names.
    Signature,
    /// A claim is missing or of another form.
    Claims,
    /// Another issuer's.
    Issuer,
    /// For somebody else.
    Audience,
    /// Not yet.
    Early,
    /// No longer.
    Expired,
}

impl Distrust {
    /// The refusal, with what would help.
    #[must_use]
    pub fn refusal(self) -> Refusal {
        let (code, message) = match self {
            Self::Expired => (Code::JwtExpired, "this token has expired; get a new one and try again"),
            Self::Malformed => {
                (Code::JwtInvalid, "this is no token: three parts in base64url, at most 8,192 bytes")
            }
            Self::Algorithm => (
                Code::JwtInvalid,
                "this token is not signed in a way that is taken: RS256, PS256, ES256, ES384 or EdDSA",
            ),
            Self::UnknownKey => (Code::JwtInvalid, "this token is signed with a key that is not known here"),
            Self::Signature => (Code::JwtInvalid, "the signature of this token does not hold"),
            Self::Claims => {
                (Code::JwtInvalid, "this token lacks a claim: iss, aud, exp, tid and sub, act.sub if any act")
            }
            Self::Issuer => (Code::JwtInvalid, "this token is of another issuer than the one trusted here"),
            Self::Audience => (Code::JwtInvalid, "this token is for another audience than this server"),
            Self::Early => (Code::JwtInvalid, "this token is not valid yet"),
        };
        Refusal::new(code, message)
    }
}

/// What a token proved: the words of its claims, which may name somebody or nobody here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// `iss`.
    pub issuer: String,
    /// `tid`: a tenant by id or name.
    pub tenant: String,
    /// `sub`: a user by id or name.
    pub user: String,
    /// `act.sub`: the agent that acts, by id or name (RFC 8693).
    pub agent: Option<String>,
    /// `exp`.
    pub expires_at: Timestamp,
}

/// A token taken apart, of which nothing is proven yet.
#[derive(Debug)]
pub struct Jwt<'a> {
    header: Header,
    signed: &'a [u8],
    payload: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Said {
    iss: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    tid: String,
    sub: String,
    /// An `act` of null is no `act` left out: what is no person must not become one by a slip.
    #[serde(default, deserialize_with = "present")]
    act: Option<Act>,
}

#[derive(Deserialize)]
struct Act {
    sub: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Act>, D::Error> {
    Act::deserialize(deserializer).map(Some)
}

impl<'a> Jwt<'a> {
    /// Whether a credential has the form of a token: three parts, where an API key has one.
    #[must_use]
    pub fn is_like(credential: &str) -> bool {
        credential.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// Takes a token apart.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(token: &'a str) -> Result<Self, Distrust> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Distrust::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Distrust::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Distrust::Malformed)?;
        let bytes = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Distrust::Malformed);
        let header = serde_json::from_slice(&bytes(header)?).map_err(|_| Distrust::Malformed)?;
        let (payload, signature) = (bytes(payload)?, bytes(signature)?);
        Ok(Self { header, signed: signed.as_bytes(), payload, signature })
    }

    /// The name of the key that it says it was signed with.
    #[must_use]
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// What it proves by these keys, under these rules, now.
    ///
    /// # Errors
    /// When it proves nothing.
    pub fn claims(&self, keys: &KeySet, rules: &TokenRules, now: Timestamp) -> Result<Claims, Distrust> {
        let algorithm = Algorithm::from_word(&self.header.alg).ok_or(Distrust::Algorithm)?;
        if self.header.crit.is_some() {
            return Err(Distrust::Algorithm);
        }
        keys.confirm(algorithm, self.key_id(), self.signed, &self.signature).map_err(|why| match why {
            Unconfirmed::Unknown => Distrust::UnknownKey,
            Unconfirmed::Wrong => Distrust::Signature,
        })?;
        let said: Said = serde_json::from_slice(&self.payload).map_err(|_| Distrust::Claims)?;
        said.under(rules, now)
    }

    /// The bytes under the signature, for the one algorithm of the server's own tokens.
    pub(super) fn own(&self) -> Option<(&[u8], &[u8], &[u8])> {
        let own = self.header.alg == "EdDSA" && self.header.crit.is_none();
        own.then_some((self.signed, &self.payload, &self.signature))
    }
}

impl Said {
    fn under(self, rules: &TokenRules, now: Timestamp) -> Result<Claims, Distrust> {
        if self.iss != rules.issuer {
            return Err(Distrust::Issuer);
        }
        let is_for_us = match &self.aud {
            Audience::One(one) => *one == rules.audience,
            Audience::Many(many) => many.contains(&rules.audience),
        };
        if !is_for_us {
            return Err(Distrust::Audience);
        }
        let expires_at = moment(self.exp)?;
        if now >= expires_at.plus(rules.leeway) {
            return Err(Distrust::Expired);
        }
        if self.nbf.map(moment).transpose()?.is_some_and(|start| now.plus(rules.leeway) < start) {
            return Err(Distrust::Early);
        }
        let agent = self.act.map(|act| act.sub);
        Ok(Claims { issuer: self.iss, tenant: self.tid, user: self.sub, agent, expires_at })
    }
}

/// Seconds since 1970, with or without a fraction.
fn moment(seconds: f64) -> Result<Timestamp, Distrust> {
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(Distrust::Claims);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time past the end of time is its end"
    )]
    let micros = (seconds * 1e6) as u64;
    Ok(Timestamp::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const NOW: u64 = 1_800_000_000;

    fn now() -> Timestamp {
        Timestamp::from_micros(NOW * 1_000_000)
    }

    fn rules() -> TokenRules {
        TokenRules {
            issuer: "https://id.example".to_owned(),
            audience: "memory".to_owned(),
            leeway: Period::from_secs(30),
        }
    }

    fn keys() -> KeySet {
        let x = BASE64URL_NOPAD.encode(signer().verifying_key().as_bytes());
        let jwks = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}]});
        KeySet::from_jwks(jwks.to_string().as_bytes()).unwrap()
    }

    fn signer() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn header() -> Value {
        json!({"alg": "EdDSA", "kid": "a", "typ": "JWT"})
    }

    fn claims() -> Value {
        json!({"iss": "https://id.example", "aud": "memory", "exp": NOW + 60, "tid": "acme", "sub": "ana",
               "act": {"sub": "market"}})
    }

    fn signed(header: &Value, claims: &str) -> String {
        let part = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
        let signed = format!("{}.{}", part(&header.to_string()), part(claims));
        let signature = BASE64URL_NOPAD.encode(&signer().sign(signed.as_bytes()).to_bytes());
        format!("{signed}.{signature}")
    }

    fn read(token: &str) -> Result<Claims, Distrust> {
        Jwt::parse(token)?.claims(&keys(), &rules(), now())
    }

    fn check(name: &str, value: impl Into<Option<Value>>, expected: Result<(), Distrust>) {
        let mut changed = claims();
        changed.as_object_mut().unwrap().remove(name);
        if let Some(value) = value.into() {
            changed[name] = value;
        }
        assert_eq!(read(&signed(&header(), &changed.to_string())).map(drop), expected, "{changed}");
    }

    /// SHARE-28: tenant, user and agent are those of `tid`, `sub` and `act.sub`.
    #[test]
    fn a_token_says_who_acts() {
        let said = read(&signed(&header(), &claims().to_string())).unwrap();
        assert_eq!((said.tenant.as_str(), said.user.as_str()), ("acme", "ana"));
        assert_eq!(said.agent.as_deref(), Some("market"));
        let mut alone = claims();
        alone.as_object_mut().unwrap().remove("act");
        assert_eq!(read(&signed(&header(), &alone.to_string())).unwrap().agent, None);
    }

    /// SHARE-28: issuer, audience and times must hold, give or take the leeway.
    #[test]
    fn every_claim_must_hold() {
        for name in ["iss", "aud", "exp", "tid", "sub"] {
            check(name, None, Err(Distrust::Claims));
            check(name, Value::Null, Err(Distrust::Claims));
        }
        check("iss", json!("https://id.example/"), Err(Distrust::Issuer));
        check("aud", json!("memory2"), Err(Distrust::Audience));
        check("aud", json!(["other", "memory"]), Ok(()));
        check("aud", json!(["other"]), Err(Distrust::Audience));
        check("aud", json!([]), Err(Distrust::Audience));
        check("exp", json!(NOW - 29), Ok(()));
        check("exp", json!(NOW - 30), Err(Distrust::Expired));
        check("exp", json!(1.5), Err(Distrust::Expired));
        check("exp", json!(1e300), Ok(()));
        check("exp", json!(-1), Err(Distrust::Claims));
        check("exp", json!("tomorrow"), Err(Distrust::Claims));
        check("nbf", json!(NOW + 30), Ok(()));
        check("nbf", json!(NOW + 31), Err(Distrust::Early));
        check("act", Value::Null, Err(Distrust::Claims));
        check("act", json!({}), Err(Distrust::Claims));
        check("act", json!("market"), Err(Distrust::Claims));
        check("email", json!("ana@example"), Ok(()));
        let twice = claims().to_string().replacen('{', "{\"sub\":\"ben\",", 1);
        assert_eq!(read(&signed(&header(), &twice)), Err(Distrust::Claims), "a name said twice says nothing");
    }

    /// SHARE-28: neither unsigned nor symmetric tokens, nor ones with extensions that nobody here understands.
    #[test]
    fn the_header_chooses_nothing() {
        for alg in ["none", "None", "HS256", "HS512", "RS1", "ES256K", ""] {
            let header = json!({"alg": alg, "kid": "a"});
            assert_eq!(read(&signed(&header, &claims().to_string())), Err(Distrust::Algorithm), "{alg}");
        }
        let check = |header: Value, expected| {
            assert_eq!(read(&signed(&header, &claims().to_string())).map(drop), Err(expected), "{header}");
        };
        check(json!({"alg": "ES256", "kid": "a"}), Distrust::Signature);
        check(json!({"alg": "EdDSA", "kid": "b"}), Distrust::UnknownKey);
        check(json!({"alg": "EdDSA", "kid": "a", "crit": ["b64"]}), Distrust::Algorithm);
        let whole = signed(&header(), &claims().to_string());
        let (unsigned, _) = whole.rsplit_once('.').unwrap();
        assert_eq!(read(&format!("{unsigned}.")).map(drop), Err(Distrust::Signature));
    }

    #[test]
    fn what_is_no_token_is_told_before_anything_is_checked() {
        for bad in ["", "a", "a.b", "a.b.c.d", "..", "e30.e30.", "!.!.!"] {
            assert_eq!(read(bad), Err(Distrust::Malformed), "{bad}");
        }
        let long = format!("{}.a.b", "a".repeat(TOKEN_BYTES_MAX));
        assert_eq!(read(&long), Err(Distrust::Malformed));
        assert!(Jwt::is_like("a.b.c") && !Jwt::is_like("tab_a") && !Jwt::is_like("a.b.c.d"));
    }

    proptest! {
        /// SHARE-28: whatever one byte of a token becomes, it proves nothing any more.
        #[test]
        fn a_changed_token_proves_nothing(place in 0_usize..400, byte in any::<u8>()) {
            let whole = signed(&header(), &claims().to_string());
            let mut bytes = whole.clone().into_bytes();
            let place = place % bytes.len();
            bytes[place] = byte;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert!(changed == whole || read(&changed).is_err());
            }
        }

        #[test]
        fn no_bytes_stop_the_reader(token in ".{0,200}") {
            let _distrust = read(&token);
        }
    }
}
