//! Callers who come with a token: whose keys are looked for when, and what a token of a pair rests on.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Bench, open};
use tabellion_core::access::{KeySet, TokenRules};
use tabellion_core::error::Code;
use tabellion_core::time::Period;
use tabellion_engine::Issuer;
use tabellion_engine::ports::TokenKeys;

const ISSUER: &str = "https://id.example";

/// An issuer that has one key, and a second one after it was asked anew.
#[derive(Default)]
struct Keys(AtomicUsize);

impl TokenKeys for Keys {
    fn known(&self) -> Arc<KeySet> {
        let kids = if self.0.load(Ordering::Relaxed) == 0 { &["1"][..] } else { &["1", "2"] };
        let jwk = |kid: &&str| {
            let x = BASE64URL_NOPAD.encode(signer(kid).verifying_key().as_bytes());
            json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
        };
        let jwks = json!({"keys": kids.iter().map(jwk).collect::<Vec<_>>()});
        Arc::new(KeySet::from_jwks(jwks.to_string().as_bytes()).unwrap())
    }

    fn renew(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::Relaxed);
        })
    }
}

fn signer(kid: &str) -> SigningKey {
    SigningKey::from_bytes(&[kid.as_bytes()[0]; 32])
}

fn token(bench: &Bench, kid: &str, user: &str, agent: Option<&str>) -> String {
    let exp = bench.now().as_micros() / 1_000_000 + 60;
    let mut claims = json!({"iss": ISSUER, "aud": "memory", "exp": exp, "tid": "default", "sub": user});
    if let Some(agent) = agent {
        claims["act"] = json!({"sub": agent});
    }
    let part = |value: serde_json::Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(json!({"alg": "EdDSA", "kid": kid})), part(claims));
    let signature = BASE64URL_NOPAD.encode(&signer(kid).sign(signed.as_bytes()).to_bytes());
    format!("{signed}.{signature}")
}

async fn trusting() -> (Bench, Arc<Keys>) {
    let bench = open(None, 28);
    bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
    bench.engine.create_agent(&bench.admin, "market", None, false).await.unwrap();
    let keys = Arc::new(Keys::default());
    let leeway = Period::from_secs(0);
    let rules = TokenRules { issuer: ISSUER.to_owned(), audience: "memory".to_owned(), leeway };
    bench.engine.trust(Issuer { rules, keys: Arc::clone(&keys) as Arc<dyn TokenKeys>, creates_users: false });
    (bench, keys)
}

/// SHARE-28: keys are looked for anew when a token names one that is not known, and for no other reason.
#[tokio::test]
async fn an_unknown_key_is_looked_for() {
    let (bench, keys) = trusting().await;
    let asked = || keys.0.load(Ordering::Relaxed);
    assert!(bench.engine.recognise(&token(&bench, "1", "ana", None)).await.unwrap().is_person());
    for bad in ["tab_guess", "a.b.c", &token(&bench, "1", "nobody", None)] {
        assert!(bench.engine.recognise(bad).await.is_err());
    }
    assert_eq!(asked(), 0);
    let second = token(&bench, "2", "ana", None);
    assert_eq!(bench.engine.authenticate(&second).unwrap_err().code, Code::JwtInvalid, "asks nobody");
    assert!(bench.engine.recognise(&second).await.is_ok());
    assert_eq!(asked(), 1);
    let third = bench.engine.recognise(&token(&bench, "3", "ana", None)).await;
    assert_eq!(
        (third.unwrap_err().code, asked()),
        (Code::JwtInvalid, 2),
        "once, and not again for the same token"
    );
}

/// SHARE-28: a token of a pair needs the edge when it is made and at every use.
#[tokio::test]
async fn a_pair_needs_its_edge() {
    let (bench, _) = trusting().await;
    let service = bench.engine.create_key(&bench.admin, None, Some("market"), None).await.unwrap();
    let exchange = || async {
        let subject = token(&bench, "1", "ana", None);
        bench.engine.exchange(&service.secret, &subject, None, None).await
    };
    let issued = token(&bench, "1", "ana", Some("market"));
    assert_eq!(exchange().await.unwrap_err().code, Code::AgentNotGranted);
    assert_eq!(bench.engine.recognise(&issued).await.unwrap_err().code, Code::AgentNotGranted);

    let edge = ("ua", "ana", "market");
    bench.engine.grant(&bench.admin, edge, Default::default()).await.unwrap();
    let pair = exchange().await.unwrap();
    assert_eq!(pair.seconds, 60, "no longer than the user's token");
    let (by_pair, by_issuer) =
        (bench.engine.recognise(&pair.token).await.unwrap(), bench.engine.recognise(&issued).await.unwrap());
    assert_eq!((by_pair.user(), by_pair.agent()), (by_issuer.user(), by_issuer.agent()));
    assert!(!by_pair.is_person() && !by_issuer.is_person());

    bench.engine.revoke(&bench.admin, edge, None).await.unwrap();
    for token in [&pair.token, &issued] {
        assert_eq!(bench.engine.recognise(token).await.unwrap_err().code, Code::AgentNotGranted);
    }
    bench.engine.grant(&bench.admin, edge, Default::default()).await.unwrap();
    bench.pass(Period::from_secs(60));
    for token in [&pair.token, &issued] {
        assert_eq!(bench.engine.recognise(token).await.unwrap_err().code, Code::JwtExpired);
    }
}
