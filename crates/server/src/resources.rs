//! How are resources outside this process called?
//!
//! Where the operator said and nowhere else: a redirect is not followed, a call has a time limit, an answer a size limit,
//! nothing is tried again. What agents send goes in as JSON.

mod http;
mod mcp;

pub(crate) use http::HttpResource;
pub(crate) use mcp::McpTool;

use serde_json::Value;
use std::time::Duration;
use tabellion_engine::ports::CallError;
use tabellion_models::{ApiKey, OpenError};
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// An address that is asked with POST, and what is sent along.
pub(crate) struct Address {
    url: String,
    bearer: Option<String>,
    agent: Agent,
}

impl Address {
    /// Contacts nobody.
    ///
    /// # Errors
    /// When it is none, or its key is none.
    pub(crate) fn open(url: &str, key: Option<String>, time_max: Duration) -> Result<Self, OpenError> {
        tabellion_models::http::authority_of(url)?;
        let key = key.map(ApiKey::new);
        let bearer = tabellion_models::http::bearer(key.as_ref())?.map(|bearer| bearer.to_string());
        let agent = tabellion_models::http::agent(url, None, time_max)?;
        Ok(Self { url: url.to_owned(), bearer, agent })
    }

    /// Sends a document; the answer as it came, whatever its status.
    fn send(&self, body: &Value, headers: &[(&str, &str)]) -> Result<Response<Body>, CallError> {
        let mut request = self.agent.post(&self.url).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(header::AUTHORIZATION, bearer.as_str());
        }
        request.send(body.to_string()).map_err(|cause| why(&cause))
    }
}

/// The body of an answer that is one.
fn read(mut response: Response<Body>) -> Result<Vec<u8>, CallError> {
    match response.status().as_u16() {
        200..=299 => {}
        status => return Err(CallError::Status(status)),
    }
    response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec().map_err(|cause| why(&cause))
}

/// Why there is no answer. Names what happened and never what was sent or received.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what else a client may say is for this purpose one thing"
)]
fn why(cause: &ureq::Error) -> CallError {
    use ureq::Error;
    match cause {
        Error::Timeout(_) => CallError::Slow,
        Error::BodyExceedsLimit(_) => CallError::TooLarge,
        Error::Io(cause) => CallError::Unreachable(format!("the connection failed: {}", cause.kind())),
        Error::HostNotFound => CallError::Unreachable("its host is not known".to_owned()),
        Error::Tls(_) | Error::Rustls(_) => {
            CallError::Unreachable("no secure connection; look at its certificate".to_owned())
        }
        Error::ConnectionFailed | Error::ConnectProxyFailed(_) => {
            CallError::Unreachable("the connection failed".to_owned())
        }
        _ => CallError::Nonsense("it does not speak HTTP as expected"),
    }
}
