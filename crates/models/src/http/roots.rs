//! Whose word is taken for who an endpoint is: the certificates behind https.

use crate::OpenError;
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
pub(super) fn trusted(given: Option<&Path>) -> Result<Vec<Certificate<'static>>, OpenError> {
    let known = || SYSTEM.iter().map(PathBuf::from).find(|path| path.exists());
    let path = given.map(Path::to_owned).or_else(known).ok_or_else(|| {
        OpenError::Endpoint(
            "this system keeps no list of trusted certificates; name a file of them".to_owned(),
        )
    })?;
    let pem = std::fs::read(&path).map_err(|cause| OpenError::Unreadable { path: path.clone(), cause })?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        let words = format!("{} holds no certificate in PEM form", path.display());
        return Err(OpenError::Endpoint(words));
    }
    Ok(certificates)
}
