//! Whose word is taken for who a server is: the certificates behind https.

use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use ureq::tls::{Certificate, PemItem, parse_pem};

/// Where systems keep the certificates that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The certificates of this file, or else those that the system trusts.
pub(crate) fn roots(given: Option<&Path>) -> anyhow::Result<Vec<Certificate<'static>>> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => system()?,
    };
    let pem = std::fs::read(&path)
        .with_context(|| format!("cannot read the certificates in {}", path.display()))?;
    let roots: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if roots.is_empty() {
        bail!("{} holds no certificate in PEM form", path.display());
    }
    Ok(roots)
}

fn system() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let known = SYSTEM.iter().map(PathBuf::from);
    named.into_iter().chain(known).find(|path| path.exists()).context(
        "this system keeps no list of trusted certificates where one was looked for; name a file with --ca-cert",
    )
}
