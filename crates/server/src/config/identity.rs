//! `[identity]`: whose tokens are taken, besides the server's own keys and tokens.

use super::ConfigError;
use crate::jwks::Jwks;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::access::TokenRules;
use tabellion_core::time::Period;
use tonic::codegen::http::Uri;

/// Clocks that differ by more should be set.
const LEEWAY_SECONDS_MAX: u64 = 300;
/// A request waits for the keys of its token.
const SECONDS_MAX: u64 = 15;

/// Whose tokens are taken; by default nobody's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Identity {
    /// What `iss` must be; empty for no tokens at all.
    pub issuer: String,
    /// What `aud` must be or contain.
    pub audience: String,
    /// The issuer's public keys, as a file.
    pub jwks_file: PathBuf,
    /// The issuer's public keys, as an address.
    pub jwks_url: String,
    /// A file of certificates to trust behind https; empty for those of the system.
    pub ca_cert: PathBuf,
    /// By how much the issuer's clock may differ.
    pub leeway_seconds: u64,
    /// How often a token with an unknown key may make the server look for newer keys.
    pub renew_seconds: u64,
    /// How often the address is asked in any case.
    pub reload_seconds: u64,
    /// How long it may take to answer.
    pub seconds_max: u64,
    /// Whether a user whom a valid token names and nobody knows is made, as a member.
    pub create_users: bool,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: String::new(),
            jwks_file: PathBuf::new(),
            jwks_url: String::new(),
            ca_cert: PathBuf::new(),
            leeway_seconds: 30,
            renew_seconds: 30,
            reload_seconds: 300,
            seconds_max: 5,
            create_users: false,
        }
    }
}

impl Identity {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_set = [
            !self.issuer.is_empty(),
            !self.audience.is_empty(),
            !self.jwks_file.as_os_str().is_empty() || !self.jwks_url.is_empty(),
        ];
        if is_set == [false; 3] {
            return Ok(());
        }
        if is_set != [true; 3] {
            return refuse(
                "identity.issuer, identity.audience and one of identity.jwks_file and identity.jwks_url belong together",
            );
        }
        if !self.jwks_file.as_os_str().is_empty() && !self.jwks_url.is_empty() {
            return refuse(
                "the issuer's keys come from identity.jwks_file or from identity.jwks_url: set one of them",
            );
        }
        if !self.jwks_url.is_empty() && !is_safe(&self.jwks_url) {
            return refuse(
                "identity.jwks_url must be an https:// address without a password, or an http:// one of this machine: who changes the keys on their way becomes anybody",
            );
        }
        if self.leeway_seconds > LEEWAY_SECONDS_MAX {
            return refuse(&format!("identity.leeway_seconds must be 0 to {LEEWAY_SECONDS_MAX}"));
        }
        if !(1..=SECONDS_MAX).contains(&self.seconds_max) {
            return refuse(&format!("identity.seconds_max must be 1 to {SECONDS_MAX}"));
        }
        let least_one = [("renew_seconds", self.renew_seconds), ("reload_seconds", self.reload_seconds)];
        match least_one.into_iter().find(|(_, seconds)| *seconds == 0) {
            Some((name, _)) => Err(ConfigError::NoRoom("identity", name)),
            None => Ok(()),
        }
    }

    /// What tokens must say, and where the keys that confirm them come from; none if no tokens are taken. Reads a file; asks
    /// no address.
    ///
    /// # Errors
    /// When the file holds no keys, or the certificates to trust cannot be read.
    pub(crate) fn open(&self) -> Result<Option<(TokenRules, Arc<Jwks>)>, ConfigError> {
        if self.issuer.is_empty() {
            return Ok(None);
        }
        let rules = TokenRules {
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
            leeway: Period::from_secs(self.leeway_seconds),
        };
        let pause = Duration::from_secs(self.renew_seconds);
        let keys = if self.jwks_url.is_empty() {
            Jwks::of_file(&self.jwks_file, pause)
        } else {
            let ca_cert = (!self.ca_cert.as_os_str().is_empty()).then_some(self.ca_cert.as_path());
            let time_max = Duration::from_secs(self.seconds_max);
            let agent = tabellion_models::http::agent(&self.jwks_url, ca_cert, time_max);
            let agent =
                agent.map_err(|error| ConfigError::Identity(format!("identity.jwks_url: {error}")))?;
            Ok(Jwks::of_url(&self.jwks_url, agent, pause, Duration::from_secs(self.reload_seconds)))
        };
        Ok(Some((rules, Arc::new(keys?))))
    }
}

fn refuse(words: &str) -> Result<(), ConfigError> {
    Err(ConfigError::Identity(words.to_owned()))
}

/// Whether nobody in between can change what the address answers.
fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let Some(authority) = uri.authority().filter(|authority| !authority.as_str().contains('@')) else {
        return false;
    };
    let host = authority.host();
    let is_near = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => is_near,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Identity), expected: Option<&str>) {
        let mut identity = Identity {
            issuer: "https://id.example".to_owned(),
            audience: "memory".to_owned(),
            jwks_url: "https://id.example/jwks".to_owned(),
            ..Identity::default()
        };
        change(&mut identity);
        let found = identity.check().err().map(|error| error.to_string());
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    /// SHARE-28: tokens are taken only where it is said whose, for whom and by which keys.
    #[test]
    fn an_issuer_needs_an_audience_and_keys() {
        check(|_| (), None);
        check(|identity| *identity = Identity::default(), None);
        check(|identity| identity.issuer.clear(), Some("belong together"));
        check(|identity| identity.audience.clear(), Some("belong together"));
        check(|identity| identity.jwks_url.clear(), Some("belong together"));
        check(|identity| identity.jwks_file = "keys.json".into(), Some("one of them"));
        check(|identity| identity.jwks_url = "http://127.0.0.1:1/jwks".to_owned(), None);
        check(|identity| identity.jwks_url = "http://[::1]:1/jwks?tenant=a".to_owned(), None);
        for url in ["http://id.example/jwks", "ftp://a", "id.example", "https://u:p@a/jwks"] {
            check(|identity| identity.jwks_url = url.to_owned(), Some("identity.jwks_url"));
        }
        check(|identity| identity.leeway_seconds = 301, Some("leeway_seconds"));
        check(|identity| identity.seconds_max = 0, Some("seconds_max"));
        check(|identity| identity.renew_seconds = 0, Some("renew_seconds"));
    }
}
