//! Where do the keys come from that confirm the issuer's tokens?
//!
//! A file, read again when it changes, or an address, asked now and then. A token with a key that is not known makes the
//! server look at once, but only so often: strangers can make up key names. What cannot be had or is no key set leaves the
//! last good one in place.

use crate::config::ConfigError;
use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use tabellion_core::access::{JWKS_BYTES_MAX, KeySet};
use tabellion_engine::ports::TokenKeys;
use tokio::sync::Mutex;
use tokio::time::Instant;
use ureq::Agent;

/// How often a file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The keys of an issuer, from one place.
pub(crate) struct Jwks {
    place: Place,
    known: RwLock<Arc<KeySet>>,
    /// When they were last looked for because of a token; held while they are.
    renewed: Mutex<Option<Instant>>,
    pause: Duration,
}

#[derive(Clone)]
enum Place {
    File(PathBuf),
    Url { url: String, agent: Agent, every: Duration },
}

impl Jwks {
    /// The keys in this file.
    ///
    /// # Errors
    /// When there are none.
    pub(crate) fn of_file(path: &Path, pause: Duration) -> Result<Self, ConfigError> {
        let place = Place::File(path.to_owned());
        let keys = place.load().map_err(|error| {
            ConfigError::Identity(format!("identity.jwks_file {}: {error}", path.display()))
        })?;
        Ok(Self::new(place, keys, pause))
    }

    /// The keys at this address, once it was asked.
    pub(crate) fn of_url(url: &str, agent: Agent, pause: Duration, every: Duration) -> Self {
        Self::new(Place::Url { url: url.to_owned(), agent, every }, KeySet::default(), pause)
    }

    fn new(place: Place, keys: KeySet, pause: Duration) -> Self {
        Self { place, known: RwLock::new(Arc::new(keys)), renewed: Mutex::new(None), pause }
    }

    /// Keeps the keys up to date for as long as it runs.
    pub(crate) async fn keep(self: Arc<Self>) {
        match &self.place {
            Place::File(path) => {
                let mut seen = state(path).await;
                loop {
                    tokio::time::sleep(LOOK_EVERY).await;
                    let now = state(path).await;
                    if now != seen {
                        seen = now;
                        self.load().await;
                    }
                }
            }
            Place::Url { every, .. } => loop {
                // Held meanwhile, so that a token that comes first waits for the keys instead of asking again.
                let held = self.renewed.lock().await;
                self.load().await;
                drop(held);
                tokio::time::sleep(*every).await;
            },
        }
    }

    /// Loads the keys and puts them in the place of the last ones.
    async fn load(&self) {
        let place = self.place.clone();
        let loaded = tokio::task::spawn_blocking(move || place.load()).await;
        let loaded = loaded.unwrap_or_else(|_| Err("looking for them stopped".to_owned()));
        let outcome = if loaded.is_ok() { "ok" } else { "failed" };
        metrics::counter!("tabellion_jwks_loads_total", "outcome" => outcome).increment(1);
        match loaded {
            Ok(keys) => *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys),
            Err(error) => tracing::warn!(%error, "no newer keys of the issuer; the last ones stay"),
        }
    }
}

impl TokenKeys for Jwks {
    fn known(&self) -> Arc<KeySet> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn renew(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let before = self.known();
            let mut renewed = self.renewed.lock().await;
            let is_newer = !Arc::ptr_eq(&before, &self.known());
            if !is_newer && renewed.is_none_or(|last| last.elapsed() >= self.pause) {
                *renewed = Some(Instant::now());
                self.load().await;
            }
        })
    }
}

impl Place {
    /// The keys there. Blocks, within a time limit.
    fn load(&self) -> Result<KeySet, String> {
        let bytes = match self {
            Self::File(path) => read(path).map_err(|error| error.to_string())?,
            Self::Url { url, agent, .. } => fetch(agent, url)?,
        };
        KeySet::from_jwks(&bytes).map_err(|error| error.to_string())
    }
}

/// A file, but for what is more than a key set may have.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(JWKS_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn fetch(agent: &Agent, url: &str) -> Result<Vec<u8>, String> {
    let mut answer = agent.get(url).call().map_err(|error| error.to_string())?;
    if answer.status().as_u16() != 200 {
        return Err(format!("the address answered with status {}", answer.status().as_u16()));
    }
    let body = answer.body_mut().with_config().limit(JWKS_BYTES_MAX as u64 + 1).read_to_vec();
    body.map_err(|error| error.to_string())
}

/// What tells one state of a file from the next; nothing while it is not there.
async fn state(path: &Path) -> Option<(Option<SystemTime>, u64)> {
    let path = path.to_owned();
    let looked = tokio::task::spawn_blocking(move || std::fs::metadata(path)).await.ok()?.ok()?;
    Some((looked.modified().ok(), looked.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8037, under this name.
    fn jwks(id: &str) -> String {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{id}","x":"{x}"}}]}}"#)
    }

    fn keys(id: &str) -> KeySet {
        KeySet::from_jwks(jwks(id).as_bytes()).unwrap()
    }

    /// SHARE-28: newer keys are looked for no more often than they may be.
    #[tokio::test]
    async fn keys_are_renewed_once_in_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jwks.json");
        std::fs::write(&path, jwks("a")).unwrap();
        let seldom = Jwks::of_file(&path, Duration::from_secs(3_600)).unwrap();
        let often = Jwks::of_file(&path, Duration::ZERO).unwrap();
        for (id, expected) in [("b", ["b", "b"]), ("c", ["b", "c"])] {
            std::fs::write(&path, jwks(id)).unwrap();
            seldom.renew().await;
            often.renew().await;
            assert_eq!([&*seldom.known(), &*often.known()], [&keys(expected[0]), &keys(expected[1])]);
        }
    }

    /// SHARE-28: what is no key set leaves the last one in place; at the start it is refused.
    #[tokio::test]
    async fn the_last_good_keys_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jwks.json");
        std::fs::write(&path, jwks("a")).unwrap();
        let held = Jwks::of_file(&path, Duration::ZERO).unwrap();
        for broken in ["", "{", r#"{"keys":[]}"#, &" ".repeat(JWKS_BYTES_MAX + 1)] {
            std::fs::write(&path, broken).unwrap();
            held.renew().await;
            assert_eq!(*held.known(), keys("a"));
            assert!(Jwks::of_file(&path, Duration::ZERO).is_err());
        }
        std::fs::remove_file(&path).unwrap();
        held.renew().await;
        assert_eq!(*held.known(), keys("a"));
    }
}
