//! Who else is told of held writes?
//!
//! An address that the operator names, from a thread of its own: a notice waits in a bounded queue and is dropped rather than
//! waited for, so that no write depends on whoever listens. What a write says is never sent; whoever may see it asks for it.

use crate::config::ConfigError;
use crate::rest::dto::NoticeBody;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;
use std::time::Duration;
use tabellion_core::canonical::hex;
use tabellion_core::id::TenantId;
use tabellion_engine::{Engine, Notice};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use ureq::Agent;

const TIME_MAX: Duration = Duration::from_secs(5);
/// How often a notice is sent until it is taken.
const TRIES_MAX: u32 = 3;
/// Before the second try; it doubles.
const WAIT: Duration = Duration::from_secs(1);
const SIGNATURE: &str = "x-tabellion-signature";

/// Where notices are sent, and how they are signed.
pub(crate) struct Webhook {
    url: String,
    secret: Option<String>,
    agent: Agent,
}

/// A notice as it is sent.
#[derive(Serialize)]
struct Sent {
    tenant: String,
    #[serde(flatten)]
    notice: NoticeBody,
}

impl Webhook {
    /// The webhook at this address; none if it is empty. Contacts nobody.
    ///
    /// # Errors
    /// When the certificates to trust cannot be read.
    pub(crate) fn open(url: &str, secret: Option<String>) -> Result<Option<Self>, ConfigError> {
        if url.is_empty() {
            return Ok(None);
        }
        let agent = tabellion_models::http::agent(url, None, TIME_MAX);
        let agent = agent.map_err(|error| ConfigError::Model(format!("governance.webhook_url: {error}")))?;
        Ok(Some(Self { url: url.to_owned(), secret, agent }))
    }

    /// Sends on, from now and for as long as the engine is there.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(self, engine: &Engine) -> std::io::Result<()> {
        let news = engine.news();
        std::thread::Builder::new().name("webhook".into()).spawn(move || self.run(news)).map(drop)
    }

    fn run(&self, mut news: Receiver<(TenantId, Notice)>) {
        loop {
            match news.blocking_recv() {
                Ok((tenant, notice)) => {
                    let sent = Sent { tenant: tenant.to_string(), notice: notice.into() };
                    self.deliver(&serde_json::to_vec(&sent).unwrap_or_default());
                }
                Err(RecvError::Lagged(many)) => count("dropped", many),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn deliver(&self, body: &[u8]) {
        let mut wait = WAIT;
        for attempt in 1..=TRIES_MAX {
            match self.send(body) {
                Ok(()) => return count("delivered", 1),
                Err(error) if attempt == TRIES_MAX => {
                    tracing::warn!(%error, "a notice could not be delivered");
                    count("failed", 1);
                }
                Err(_) => {
                    std::thread::sleep(wait);
                    wait *= 2;
                }
            }
        }
    }

    fn send(&self, body: &[u8]) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(secret) = &self.secret {
            request = request.header(SIGNATURE, signature(secret, body));
        }
        let answer = request.send(body).map_err(|error| error.to_string())?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("answered with status {status}")) }
    }
}

/// `sha256=` and the HMAC-SHA-256 of the body, hex.
fn signature(secret: &str, body: &[u8]) -> String {
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

fn count(outcome: &'static str, many: u64) {
    metrics::counter!("tabellion_webhook_notices_total", "outcome" => outcome).increment(many);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test vector of RFC 4231.
    #[test]
    fn a_signature_is_hmac_sha_256() {
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn no_address_no_webhook() {
        assert!(Webhook::open("", None).unwrap().is_none());
        assert!(Webhook::open("http://127.0.0.1:9/", None).unwrap().is_some());
    }
}
