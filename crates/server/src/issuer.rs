//! Whose tokens does the engine take?

use crate::config::{ConfigError, Identity};
use crate::jwks::Jwks;
use std::sync::Arc;
use tabellion_core::access::TokenRules;
use tabellion_engine::{Engine, Issuer};
use tokio::runtime::Handle;

/// The issuer whose tokens are taken, as configured: nobody yet, or one.
pub struct Trusted(Option<(TokenRules, Arc<Jwks>)>, bool);

impl Trusted {
    /// The issuer that is configured, if one is. Reads a file; asks no address.
    ///
    /// # Errors
    /// When the file holds no keys, or the certificates to trust cannot be read.
    pub fn open(identity: &Identity) -> Result<Self, ConfigError> {
        identity.open().map(|issuer| Self(issuer, identity.create_users))
    }

    /// Has an engine take its tokens. Its keys are kept up to date by a task of this runtime, for as long as that lasts.
    pub fn by(self, engine: &Engine, runtime: &Handle) {
        let Some((rules, keys)) = self.0 else { return };
        runtime.spawn(Arc::clone(&keys).keep());
        engine.trust(Issuer { rules, keys, creates_users: self.1 });
    }
}
