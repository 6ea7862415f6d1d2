//! How is a model asked that chats behind an endpoint of OpenAI's form?
//!
//! `POST {url}/chat/completions`, one request a question. What people and agents wrote goes in as strings of a JSON document
//! in a message of its own, apart from the instructions: it is data, whatever it says. The answer is a JSON document too and
//! counts whole or not at all. A request has a time limit, an answer a size limit, a redirect is not followed, and nothing is
//! tried again.

use crate::OpenError;
use crate::http::{ApiKey, agent, authority_of, bearer};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tabellion_engine::ports::{Chat, JudgeError};
use ureq::Agent;
use ureq::http::header;
use zeroize::Zeroizing;

const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// Where the models are, and how they are asked.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The address up to and without `/chat/completions`, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// Their names there.
    pub models: Vec<String>,
    /// What is sent as the bearer, if anything.
    pub key: Option<ApiKey>,
    /// How long a request may take in all.
    pub time_max: Duration,
}

/// Models behind an endpoint. Not shown in any form: it holds the key.
pub struct ChatModel {
    target: String,
    models: Vec<String>,
    bearer: Option<Zeroizing<String>>,
    agent: Agent,
}

impl ChatModel {
    /// The models at this endpoint. Contacts nobody.
    ///
    /// # Errors
    /// When the settings make no sense, or the certificates to trust cannot be read.
    pub fn open(bench: Bench) -> Result<Self, OpenError> {
        if bench.models.is_empty() {
            return Err(OpenError::Endpoint("name a model".to_owned()));
        }
        let url = bench.url.trim_end_matches('/');
        authority_of(url)?;
        Ok(Self {
            target: format!("{url}/chat/completions"),
            bearer: bearer(bench.key.as_ref())?,
            agent: agent(url, None, bench.time_max)?,
            models: bench.models,
        })
    }

    pub(crate) fn models(&self) -> &[String] {
        &self.models
    }

    pub(crate) fn first(&self) -> &str {
        self.models.first().map_or("", String::as_str)
    }

    /// The first answer that counts: where a model gives none, the next one named is asked, once each.
    pub(crate) fn first_answer<T>(
        &self,
        rules: &str,
        document: &Value,
        read: impl Fn(&[u8]) -> Result<T, JudgeError>,
    ) -> Result<T, JudgeError> {
        let mut last = JudgeError::Nonsense("no model is named");
        for model in &self.models {
            match self.ask(model, rules, document).and_then(|answer| read(&answer)) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The bytes of the answer, still in their envelope.
    pub(crate) fn ask(&self, model: &str, rules: &str, document: &Value) -> Result<Vec<u8>, JudgeError> {
        let body = json!({
            "model": model,
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": rules},
                {"role": "user", "content": document.to_string()},
            ],
        });
        let mut request = self.agent.post(&self.target).header(header::CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(header::AUTHORIZATION, bearer.as_str());
        }
        let mut response = request.send(body.to_string()).map_err(|cause| why(&cause))?;
        match response.status().as_u16() {
            200..=299 => {}
            status => return Err(JudgeError::Status(status)),
        }
        let bytes = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        bytes.map_err(|cause| why(&cause))
    }
}

impl Chat for ChatModel {
    fn say(&self, rules: &str, document: &Value) -> Result<String, JudgeError> {
        self.first_answer(rules, document, said)
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

/// What the model said, out of the envelope. The parser's own words may quote it, so they are left out.
pub(crate) fn said(bytes: &[u8]) -> Result<String, JudgeError> {
    let completion: Completion = serde_json::from_slice(bytes)
        .map_err(|_| JudgeError::Nonsense("the answer is not of OpenAI's form"))?;
    let first = completion.choices.into_iter().next();
    first.map(|choice| choice.message.content).ok_or(JudgeError::Nonsense("an answer without a choice"))
}

/// Why there is no answer. Names what happened and never what was sent or received.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what else a client may say is for this purpose one thing"
)]
fn why(cause: &ureq::Error) -> JudgeError {
    use ureq::Error;
    match cause {
        Error::Timeout(_) => JudgeError::Slow,
        Error::BodyExceedsLimit(_) => JudgeError::TooLarge,
        Error::Io(cause) => JudgeError::Unreachable(format!("the connection failed: {}", cause.kind())),
        Error::HostNotFound => JudgeError::Unreachable("its host is not known".to_owned()),
        Error::Tls(_) | Error::Rustls(_) => {
            JudgeError::Unreachable("no secure connection; look at its certificate".to_owned())
        }
        Error::ConnectionFailed | Error::ConnectProxyFailed(_) => {
            JudgeError::Unreachable("the connection failed".to_owned())
        }
        _ => JudgeError::Nonsense("it does not speak HTTP as expected"),
    }
}
