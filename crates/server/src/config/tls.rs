//! The certificate that a server shows, and its key.

use super::ConfigError;
use crate::intake::authority_in_place_of_server;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Certificate and key, as PEM files; empty for none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// The certificate and those that vouch for it.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Tls {
    /// Certificate and key, if there are any.
    ///
    /// # Errors
    /// When one is set without the other.
    pub fn files(&self) -> Result<Option<(&Path, &Path)>, ConfigError> {
        match (self.cert.as_os_str().is_empty(), self.key.as_os_str().is_empty()) {
            (true, true) => Ok(None),
            (false, false) => Ok(Some((&self.cert, &self.key))),
            (true, false) => Err(ConfigError::HalfTls("tls.cert")),
            (false, true) => Err(ConfigError::HalfTls("tls.key")),
        }
    }

    /// Says why clients may not accept the certificate, where that can be told.
    pub(super) fn warning(&self) -> Option<String> {
        let (cert, key) = self.files().ok()??;
        authority_in_place_of_server(cert, key)
    }
}

/// What the command line says of TLS.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "as for Flags")]
pub struct TlsFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl TlsFlags {
    pub(super) const fn is_empty(&self) -> bool {
        self.cert.is_none() && self.key.is_none()
    }
}
