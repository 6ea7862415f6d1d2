//! What does a model behind an endpoint that speaks OpenAI's form say to rules and a document?
//!
//! `POST {url}/chat/completions`. The rules are the system message; what people and agents wrote is in a JSON document in a
//! message of its own: it is data, whatever it says. A request has a time limit, an answer a size limit, a redirect is not
//! followed. If a model gives no answer the next one named is asked, once each.

use crate::OpenError;
use crate::http::{agent, authority_of, bearer};
use crate::judge::{Bench, answer, why};
use serde_json::{Value, json};
use tabellion_engine::ports::{Chat, JudgeError};
use ureq::Agent;
use ureq::http::header;
use zeroize::Zeroizing;

const ANSWER_BYTES_MAX: u64 = 256 << 10;

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

    fn ask(&self, model: &str, rules: &str, document: &Value) -> Result<String, JudgeError> {
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
        answer::said(&bytes.map_err(|cause| why(&cause))?)
    }
}

impl Chat for ChatModel {
    fn say(&self, rules: &str, document: &Value) -> Result<String, JudgeError> {
        let mut last = JudgeError::Nonsense("no model");
        for model in &self.models {
            match self.ask(model, rules, document) {
                Ok(said) => return Ok(said),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
