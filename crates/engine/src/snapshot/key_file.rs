//! The key file beside a snapshot: the secrets of its tenants, and the master key where the data directory held it.

use crate::OpenError;
use std::path::{Path, PathBuf};
use tabellion_core::canonical::{unhex, unhex32};
use tabellion_core::id::TenantId;
use tabellion_core::seal::Secret;

/// Where the secrets of a snapshot go.
#[must_use]
pub fn keys_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".keys");
    PathBuf::from(name)
}

/// A tenant's secrets by name, each wrapped under the master key.
pub(super) type WrappedSecrets = Vec<(String, Vec<u8>)>;

/// The secrets of a snapshot.
pub(super) struct KeyFile {
    pub(super) master: Option<Secret>,
    pub(super) tenants: Vec<(TenantId, WrappedSecrets)>,
}

/// Reads the key file beside a snapshot.
pub(super) fn read_keys(from: &Path) -> Result<KeyFile, OpenError> {
    let path = keys_path(from);
    let missing = |error| {
        OpenError::new(format!(
            "{}: {error}; a snapshot opens only with the key file that was written beside it",
            path.display()
        ))
    };
    let bytes = std::fs::read(&path).map_err(missing)?;
    let bad = || OpenError::new(format!("{}: not a key file of a snapshot", path.display()));
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    let master =
        value.get("master").and_then(|master| master.as_str()).and_then(unhex32).map(Secret::from_bytes);
    let mut tenants = Vec::new();
    for tenant in value.get("tenants").and_then(|tenants| tenants.as_array()).ok_or_else(bad)? {
        let id =
            tenant.get("tenant").and_then(|id| id.as_str()).and_then(|id| id.parse().ok()).ok_or_else(bad)?;
        let mut secrets = Vec::new();
        for secret in tenant.get("secrets").and_then(|secrets| secrets.as_array()).ok_or_else(bad)? {
            let name = secret.get("name").and_then(|name| name.as_str()).ok_or_else(bad)?;
            let wrapped = secret.get("wrapped").and_then(|wrapped| wrapped.as_str()).ok_or_else(bad)?;
            let wrapped = unhex(wrapped).ok_or_else(bad)?;
            secrets.push((name.to_owned(), wrapped));
        }
        tenants.push((id, secrets));
    }
    Ok(KeyFile { master, tenants })
}
