//! How commands ask a server: REST over one kept connection.
//!
//! Invariant: a reply is kept as the text that came, so that `--json` shows exactly that.

use crate::failure::Failure;
use crate::trust_store;
use anyhow::bail;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tabellion_server::readable::{Readable, ids_in, is_short_id, short_ids_in};
use ureq::http::{Request, Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// Where a server is unless something else is said.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7600";

const CONNECT_MAX: Duration = Duration::from_secs(5);
const CALL_MAX: Duration = Duration::from_secs(60);
/// As long as the server gives a batch, and a little more.
const LONG_CALL_MAX: Duration = Duration::from_secs(660);
const REPLY_BYTES_MAX: u64 = 256 << 20;

/// A server, and who asks it.
pub(crate) struct Client {
    agent: Agent,
    url: String,
    key: Option<String>,
    names: bool,
}

/// What a server answered with success.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The body as it came.
    pub(crate) text: String,
    /// The body as JSON; null if it is none.
    pub(crate) value: Value,
}

/// An answer as people read it: names and the beginnings of ids.
pub(crate) fn readable(answer: &Value) -> Value {
    let names = answer.get("names").cloned().unwrap_or_default();
    let mut shown = Readable::of(&ids_in(answer), &names).answer(answer);
    if let (Value::Object(members), true) = (&mut shown, names.is_object()) {
        members.remove("names");
    }
    shown
}

/// One request.
pub(crate) struct Ask<'a> {
    method: &'static str,
    path: String,
    query: Vec<(&'a str, String)>,
    body: Option<(&'static str, Vec<u8>)>,
    headers: Vec<(&'static str, String)>,
    long: bool,
}

impl<'a> Ask<'a> {
    /// A request for a path, given as segments that may hold anything.
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: Vec::new(),
            body: None,
            headers: Vec::new(),
            long: false,
        }
    }

    /// The same request with a parameter, if there is a value.
    pub(crate) fn with(mut self, name: &'a str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// The same request with a JSON body.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string().into_bytes())
    }

    /// The same request with this body.
    pub(crate) fn body(mut self, content_type: &'static str, body: Vec<u8>) -> Self {
        self.body = Some((content_type, body));
        self
    }

    /// The same request with a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same request, given the time that a batch gets.
    pub(crate) fn long(mut self) -> Self {
        self.long = true;
        self
    }
}

impl Client {
    /// A client of the server at this address.
    pub(crate) fn new(url: &str, key: Option<String>, ca_cert: Option<&Path>) -> anyhow::Result<Self> {
        let url = with_scheme(url);
        if let Some(wrong) = wrong_address(&url) {
            bail!(
                "`{url}` is no address of a server ({wrong}): write --url or TABELLION_URL as {DEFAULT_URL} or https://HOST:PORT, \
                 or leave both out for {DEFAULT_URL}"
            );
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_MAX))
            .user_agent(concat!("tabellion/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            config = config.proxy(None);
        }
        if url.starts_with("https:") {
            let tls = TlsConfig::builder()
                .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .root_certs(RootCerts::from(trust_store::roots(ca_cert)?));
            config = config.tls_config(tls.build());
        }
        Ok(Self { agent: config.build().new_agent(), url, key, names: false })
    }

    /// The address it asks.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same server, asked by someone else.
    pub(crate) fn acting_with(&self, key: &str) -> Self {
        Self {
            agent: self.agent.clone(),
            url: self.url.clone(),
            key: Some(key.to_owned()),
            names: self.names,
        }
    }

    /// The same client, which is sent names beside ids.
    pub(crate) fn preferring_names(self) -> Self {
        Self { names: true, ..self }
    }

    /// The answer, if it is one of success.
    pub(crate) fn ask(&self, ask: Ask<'_>) -> Result<Reply, Failure> {
        self.exchange(self.with_whole_ids(ask)?)
    }

    fn exchange(&self, ask: Ask<'_>) -> Result<Reply, Failure> {
        let response = self.send(ask)?;
        let status = response.status().as_u16();
        let retry_after = header(&response, "retry-after").and_then(|text| text.parse().ok());
        let text = self.read(response)?;
        let value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if (200..300).contains(&status) {
            Ok(Reply { status, text, value })
        } else {
            let value = if self.names { readable(&value) } else { value };
            Err(Failure::refused(status, text, value, retry_after, self.key.is_some()))
        }
    }

    /// The same request with whole ids where only their beginnings were given.
    fn with_whole_ids<'a>(&self, mut ask: Ask<'a>) -> Result<Ask<'a>, Failure> {
        let mut segments = Vec::new();
        for segment in ask.path.split('/') {
            let (id, verb) = segment.split_once(':').map_or((segment, None), |(id, verb)| (id, Some(verb)));
            let id = if is_short_id(id) { self.whole_id(id)? } else { id.to_owned() };
            segments.push(verb.map_or(id.clone(), |verb| format!("{id}:{verb}")));
        }
        ask.path = segments.join("/");
        for (_, value) in &mut ask.query {
            if is_short_id(value) {
                *value = self.whole_id(value)?;
            }
        }
        if let Some(("application/json", bytes)) = &ask.body
            && let Ok(body) = serde_json::from_slice::<Value>(bytes)
        {
            let short = short_ids_in(&body);
            let whole = short.iter().map(|id| Ok(((*id).to_owned(), self.whole_id(id)?)));
            let whole: BTreeMap<String, String> = whole.collect::<Result<_, Failure>>()?;
            if !whole.is_empty() {
                return Ok(ask.json(&Readable::whole(whole).answer(&body)));
            }
        }
        Ok(ask)
    }

    /// The one id that begins so and that this key can see. None: it stays as it is, and is missing like any other.
    fn whole_id(&self, short: &str) -> Result<String, Failure> {
        let found = match self.exchange(Ask::new("GET", "/v1/ids").with("prefix", Some(short))) {
            Ok(found) => found,
            Err(Failure::Refused { .. }) => return Ok(short.to_owned()),
            Err(failure) => return Err(failure),
        };
        let ids: Vec<&str> = found
            .value
            .get("ids")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        match ids.as_slice() {
            [] => Ok(short.to_owned()),
            [id] => Ok((*id).to_owned()),
            several => Err(Failure::Ambiguous {
                short: short.to_owned(),
                ids: several.iter().map(|id| (*id).to_owned()).collect(),
            }),
        }
    }

    /// The bare response, whatever its status.
    pub(crate) fn send(&self, ask: Ask<'_>) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder().method(ask.method).uri(target(&self.url, &ask.path, &ask.query));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if self.names {
            request = request.header("prefer", "names");
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let limit = if ask.long { LONG_CALL_MAX } else { CALL_MAX };
        let sent = match ask.body {
            Some((content_type, body)) => {
                request.header("content-type", content_type).body(body).map(|request| {
                    self.agent.run(self.agent.configure_request(request).timeout_global(Some(limit)).build())
                })
            }
            None => request.body(()).map(|request| {
                self.agent.run(self.agent.configure_request(request).timeout_global(Some(limit)).build())
            }),
        };
        sent.map_err(ureq::Error::from).flatten().map_err(|cause| Failure::unreachable(&self.url, cause))
    }

    /// The body of a response.
    pub(crate) fn read(&self, mut response: Response<Body>) -> Result<String, Failure> {
        let body = response.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_string();
        body.map_err(|cause| Failure::unreachable(&self.url, cause))
    }
}

/// The text of a header.
pub(crate) fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn target(url: &str, path: &str, query: &[(&str, String)]) -> String {
    let pairs: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", segment(value))).collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("{url}{path}{mark}{}", pairs.join("&"))
}

fn with_scheme(url: &str) -> String {
    let bare = url.trim_end_matches('/');
    if url.contains("://") { bare.to_owned() } else { format!("http://{bare}") }
}

/// What is wrong with an address that nothing can be sent to.
fn wrong_address(url: &str) -> Option<&'static str> {
    let Some((scheme, host)) = url.split_once("://") else { return Some("it has no scheme") };
    let is_uri = url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    match scheme {
        "http" | "https" if host.is_empty() => Some("it is empty"),
        "http" | "https" if !is_uri => Some("it cannot be read"),
        "http" | "https" => None,
        _ => Some("it begins neither with http:// nor with https://"),
    }
}

/// A proxy has no business between a client and a server of the same machine.
fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.", "localhost:", "[::1]"].iter().any(|start| host.starts_with(start)) || host == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_named_stays_within_its_segment() {
        assert_eq!(segment("itm_abc"), "itm_abc");
        assert_eq!(segment("../v1/keys?a=b c"), "..%2Fv1%2Fkeys%3Fa%3Db%20c");
        let query = [("as_of", "2026-11-15T00:00:00+01:00".to_owned())];
        assert_eq!(
            target("http://h", "/v1/items", &query),
            "http://h/v1/items?as_of=2026-11-15T00%3A00%3A00%2B01%3A00"
        );
        assert_eq!(target("http://h", "/v1/items", &[]), "http://h/v1/items");
    }

    #[test]
    fn addresses_are_taken_as_people_type_them() {
        assert_eq!(with_scheme("127.0.0.1:7600"), "http://127.0.0.1:7600");
        assert_eq!(with_scheme("https://memory.example/"), "https://memory.example");
        assert!(
            is_loopback("http://127.0.0.1:7600")
                && is_loopback("http://[::1]:1")
                && is_loopback("http://localhost:1")
        );
        assert!(!is_loopback("https://memory.example"));
        for wrong in ["", "ftp://a", "http://", "http://a b", "https://:7600"] {
            assert!(wrong_address(&with_scheme(wrong)).is_some(), "{wrong}");
        }
        assert_eq!(wrong_address("http://[::1]:7600"), None);
    }
}
