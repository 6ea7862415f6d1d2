//! What does a text mean to a model behind an endpoint that speaks OpenAI's form?
//!
//! `POST {url}/embeddings` with `{"model", "input"}`. Each answer is checked whole before any of it is kept: one vector
//! for each text, of the dimensions configured, finite and not all zero. A request has a time limit, an answer a size
//! limit, and a redirect is not followed: texts go to the address configured and nowhere else. Does not try again; that
//! is the engine's to decide.

mod answer;
mod roots;

use crate::{OpenError, text};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tabellion_engine::ports::{EmbedError, Embedder};
use ureq::http::{Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};
use zeroize::Zeroizing;

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// More dimensions than any model has; fewer than would exhaust the memory.
const DIMENSIONS_MAX: usize = 16_384;
const TEXTS_MAX: usize = 2_048;
/// What an answer may hold besides numbers.
const ANSWER_BYTES_BASE: usize = 64 << 10;
/// A number in JSON, with its comma and a generous share of white space.
const NUMBER_BYTES_MAX: usize = 40;

/// Where a model is, and how it is asked.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address up to and without `/embeddings`, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// How long its vectors are.
    pub dimensions: usize,
    /// What is sent as the bearer, if anything.
    pub key: Option<ApiKey>,
    /// A file of certificates to trust behind https, instead of those that the system trusts.
    pub ca_cert: Option<PathBuf>,
    /// How many texts a request holds at most.
    pub texts_max: usize,
    /// How long a request may take in all.
    pub time_max: Duration,
}

/// A secret that an endpoint asks for. Never shown.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// A key.
    #[must_use]
    pub fn new(key: String) -> Self {
        Self(Zeroizing::new(key))
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// A model behind an endpoint. Not shown in any form: it holds the key.
pub struct Http {
    name: String,
    target: String,
    bearer: Option<Zeroizing<String>>,
    endpoint: Endpoint,
    agent: Agent,
}

impl Http {
    /// The model at this endpoint. Contacts nobody.
    ///
    /// # Errors
    /// When the settings make no sense, or the certificates to trust cannot be read.
    pub fn open(endpoint: Endpoint) -> Result<Self, OpenError> {
        check_limits(&endpoint)?;
        let url = endpoint.url.trim_end_matches('/');
        let authority = authority_of(url)?;
        Ok(Self {
            name: format!("{}@{authority}", endpoint.model),
            target: format!("{url}/embeddings"),
            bearer: bearer(endpoint.key.as_ref())?,
            agent: agent(url, endpoint.ca_cert.as_deref(), endpoint.time_max)?,
            endpoint,
        })
    }

    fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // Some endpoints refuse a text of nothing; a space means as little.
        let input: Vec<&str> =
            texts.iter().map(|text| if text.is_empty() { " " } else { text::beginning(text) }).collect();
        let mut request = self.agent.post(&self.target);
        if let Some(bearer) = &self.bearer {
            request = request.header(header::AUTHORIZATION, bearer.as_str());
        }
        let body = serde_json::json!({ "model": self.endpoint.model, "input": input }).to_string();
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let mut response = request.send(body).map_err(|cause| why(&cause))?;
        check_status(response.status().as_u16())?;
        let bytes = self.read(response.body_mut(), texts.len())?;
        answer::vectors(&bytes, texts.len(), self.endpoint.dimensions)
    }

    fn read(&self, body: &mut Body, texts: usize) -> Result<Vec<u8>, EmbedError> {
        let most = ANSWER_BYTES_BASE + texts * (self.endpoint.dimensions + 32) * NUMBER_BYTES_MAX;
        let bytes = body.with_config().limit(most as u64).read_to_vec();
        bytes.map_err(|cause| why(&cause))
    }
}

impl Embedder for Http {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.endpoint.dimensions
    }

    fn batch_texts_max(&self) -> usize {
        self.endpoint.texts_max
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(self.endpoint.texts_max) {
            vectors.extend(self.ask(texts)?);
        }
        Ok(vectors)
    }
}

/// What asks an address: in time, without following it elsewhere, and behind https only whom the certificates vouch for.
///
/// # Errors
/// When the certificates to trust cannot be read.
pub fn agent(url: &str, ca_cert: Option<&Path>, time_max: Duration) -> Result<Agent, OpenError> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(CONNECT_MAX.min(time_max)))
        .timeout_global(Some(time_max))
        .user_agent(concat!("tabellion/", env!("CARGO_PKG_VERSION")));
    let authority =
        url.parse::<Uri>().ok().and_then(|uri| uri.authority().map(|host| host.as_str().to_owned()));
    if authority.is_some_and(|authority| is_loopback(&authority)) {
        config = config.proxy(None);
    }
    if url.starts_with("https:") {
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::from(roots::trusted(ca_cert)?));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().new_agent())
}

fn refused(words: &str) -> OpenError {
    OpenError::Endpoint(words.to_owned())
}

fn check_limits(endpoint: &Endpoint) -> Result<(), OpenError> {
    if endpoint.model.trim().is_empty() {
        return Err(refused("name the model"));
    }
    if !(1..=DIMENSIONS_MAX).contains(&endpoint.dimensions) {
        return Err(OpenError::Endpoint(format!("its dimensions must be 1 to {DIMENSIONS_MAX}")));
    }
    if !(1..=TEXTS_MAX).contains(&endpoint.texts_max) {
        return Err(OpenError::Endpoint(format!("the texts of a request must be 1 to {TEXTS_MAX}")));
    }
    if endpoint.time_max.is_zero() {
        return Err(refused("give a request some time"));
    }
    Ok(())
}

/// Host and port of an address. Refuses one that hides a secret, since addresses are shown.
///
/// # Errors
/// When it is no address that can be asked and shown.
pub fn authority_of(url: &str) -> Result<String, OpenError> {
    let uri: Uri = url.parse().map_err(|_| refused("its address is not a URL"))?;
    let known = uri.scheme_str().is_some_and(|scheme| scheme == "http" || scheme == "https");
    let authority = uri.authority().filter(|_| known);
    let authority = authority.ok_or_else(|| refused("its address must start with http:// or https://"))?;
    if authority.as_str().contains('@') {
        return Err(refused("its address holds a password; set the key instead"));
    }
    if uri.query().is_some() || url.contains('#') {
        return Err(refused("its address must end with a path, such as /v1"));
    }
    Ok(authority.as_str().to_ascii_lowercase())
}

/// What is sent as `Authorization` for a key.
///
/// # Errors
/// When it cannot be a key.
pub fn bearer(key: Option<&ApiKey>) -> Result<Option<Zeroizing<String>>, OpenError> {
    let Some(ApiKey(key)) = key else { return Ok(None) };
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused("its key is empty or holds white space or signs that no key has"));
    }
    Ok(Some(Zeroizing::new(format!("Bearer {}", key.as_str()))))
}

/// A proxy has no business between two processes of the same machine.
fn is_loopback(authority: &str) -> bool {
    let host = authority
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'))
        .map_or(authority, |(host, _)| host);
    host == "localhost" || host == "[::1]" || host.starts_with("127.")
}

fn check_status(status: u16) -> Result<(), EmbedError> {
    match status {
        200..=299 => Ok(()),
        408 | 429 | 500.. => {
            Err(EmbedError::Unavailable(format!("the endpoint answered with status {status}")))
        }
        300..=399 => Err(EmbedError::Nonsense(format!(
            "the endpoint sends elsewhere (status {status}), which is not followed"
        ))),
        401 | 403 => {
            Err(EmbedError::Nonsense(format!("the endpoint does not accept the key (status {status})")))
        }
        _ => Err(EmbedError::Nonsense(format!("the endpoint answered with status {status}"))),
    }
}

/// Why there is no answer. Names what happened and never what was sent or received.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what else a client may say is for this purpose one thing"
)]
fn why(cause: &ureq::Error) -> EmbedError {
    use ureq::Error;
    match cause {
        Error::Timeout(_) => EmbedError::Unavailable("the endpoint took too long".to_owned()),
        Error::HostNotFound => EmbedError::Unavailable("the endpoint's host is not known".to_owned()),
        Error::Io(cause) => EmbedError::Unavailable(format!("the connection failed: {}", cause.kind())),
        Error::ConnectionFailed => EmbedError::Unavailable("the connection failed".to_owned()),
        Error::ConnectProxyFailed(_) => EmbedError::Unavailable("the proxy does not let through".to_owned()),
        Error::Tls(_) | Error::Rustls(_) => {
            EmbedError::Unavailable("no secure connection; look at the endpoint's certificate".to_owned())
        }
        Error::BodyExceedsLimit(most) => {
            EmbedError::Nonsense(format!("the answer is larger than {most} bytes"))
        }
        _ => EmbedError::Nonsense("the endpoint does not speak HTTP as expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint {
            url: "http://127.0.0.1:9/v1/".to_owned(),
            model: "m".to_owned(),
            dimensions: 3,
            key: Some(ApiKey::new("sk-secret".to_owned())),
            ca_cert: None,
            texts_max: 8,
            time_max: Duration::from_secs(1),
        }
    }

    fn check_refused(change: impl FnOnce(&mut Endpoint)) {
        let mut changed = endpoint();
        change(&mut changed);
        let shown = format!("{changed:?}");
        let words = Http::open(changed).map(|_| shown).unwrap_err().to_string();
        assert!(!words.contains("secret"), "{words}");
    }

    #[test]
    fn the_name_tells_model_and_host_and_no_secret() {
        let http = Http::open(endpoint()).unwrap();
        assert_eq!(
            (http.model(), http.target.as_str()),
            ("m@127.0.0.1:9", "http://127.0.0.1:9/v1/embeddings")
        );
        assert!(!format!("{:?}", endpoint()).contains("secret"));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_when_opened() {
        check_refused(|endpoint| endpoint.url = "ftp://host".to_owned());
        check_refused(|endpoint| endpoint.url = "host:80/v1".to_owned());
        check_refused(|endpoint| endpoint.url = "http://user:secret@host/v1".to_owned());
        check_refused(|endpoint| endpoint.url = "http://host/v1?key=secret".to_owned());
        check_refused(|endpoint| endpoint.model = " ".to_owned());
        check_refused(|endpoint| endpoint.dimensions = 0);
        check_refused(|endpoint| endpoint.dimensions = DIMENSIONS_MAX + 1);
        check_refused(|endpoint| endpoint.texts_max = 0);
        check_refused(|endpoint| endpoint.time_max = Duration::ZERO);
        check_refused(|endpoint| endpoint.key = Some(ApiKey::new("secret\r\nx: y".to_owned())));
        check_refused(|endpoint| {
            endpoint.url = "https://host/v1".to_owned();
            endpoint.ca_cert = Some("no-such-file.pem".into());
        });
    }

    #[test]
    fn only_this_machine_is_asked_without_a_proxy() {
        for own in ["127.0.0.1:1", "127.0.0.1", "localhost", "localhost:8080", "[::1]", "[::1]:80"] {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["10.0.0.1", "localhost.example", "[::2]:80", "example:127"] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
