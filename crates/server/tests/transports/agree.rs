//! One form for what three transports answer, so that it can be compared.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What came of a step.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Done(Value),
    Refused(Value),
}

/// The operations that every transport has, in the JSON words of REST.
pub(crate) trait Transport {
    /// Writes; with an `id`, the next version of that item.
    async fn write(&self, key: &str, body: Value) -> Outcome;
    async fn get(&self, key: &str, id: &str, as_of: Option<&str>) -> Outcome;
    async fn list(&self, key: &str, limit: u64) -> Outcome;
    async fn versions(&self, key: &str, id: &str) -> Outcome;
    async fn search(&self, key: &str, query: &str, k: u64) -> Outcome;
    async fn retract(&self, key: &str, id: &str, reason: &str) -> Outcome;
    async fn rollback(&self, key: &str, id: &str, version: Option<&str>) -> Outcome;
    async fn pin(&self, key: &str, id: &str) -> Outcome;
    async fn unpin(&self, key: &str, id: &str) -> Outcome;
    async fn whoami(&self, key: &str) -> Outcome;
}

impl Outcome {
    /// A text of the answer to something that was done.
    pub(crate) fn text(&self, name: &str) -> String {
        match self {
            Self::Done(body) => {
                body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}")).to_owned()
            }
            Self::Refused(refusal) => panic!("refused: {refusal}"),
        }
    }

    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Done(body) => panic!("not refused: {body}"),
            Self::Refused(refusal) => refusal["code"].as_str().unwrap(),
        }
    }
}

/// What was made up anew each time gets a name by its place in the story.
#[derive(Default)]
pub(crate) struct Story {
    names: BTreeMap<String, String>,
    steps: Vec<(String, Value)>,
}

impl Story {
    pub(crate) fn tell(&mut self, step: &str, outcome: &Outcome) {
        let told = match outcome {
            Outcome::Done(body) => json!({"done": self.plain(body.clone())}),
            Outcome::Refused(refusal) => json!({"refused": self.plain(refusal.clone())}),
        };
        self.steps.push((step.to_owned(), told));
    }

    pub(crate) fn steps(&self) -> &[(String, Value)] {
        &self.steps
    }

    fn plain(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.named(text)),
            Value::Number(number) => whole(&number),
            Value::Array(values) => values.into_iter().map(|value| self.plain(value)).collect(),
            Value::Object(fields) => Value::Object(self.plain_fields(fields)),
            other => other,
        }
    }

    fn plain_fields(&mut self, fields: Map<String, Value>) -> Map<String, Value> {
        let sorted: BTreeMap<String, Value> = fields.into_iter().collect();
        let told = sorted.into_iter().filter(|(name, value)| !value.is_null() && name != "request_id");
        told.map(|(name, value)| {
            let opaque = matches!(name.as_str(), "token" | "next");
            let value = match value {
                _ if opaque => json!("opaque"),
                // A score falls with age, and the three are told at three times.
                Value::Number(score) if name == "score" => {
                    json!(format!("{:.3}", score.as_f64().unwrap_or_default()))
                }
                value => self.plain(value),
            };
            (name, value)
        })
        .collect()
    }

    /// `itm_…` is `itm 1`, the first time and ever after.
    fn named(&mut self, text: String) -> String {
        const PREFIXES: [&str; 11] =
            ["itm", "ver", "usr", "agt", "res", "tnt", "prv", "sch", "rev", "def", "ref"];
        let prefix = text.split_once('_').map(|(prefix, _)| prefix);
        let Some(prefix) = prefix.filter(|prefix| PREFIXES.contains(prefix) && text.len() == 30) else {
            return text;
        };
        let known = self.names.values().filter(|name| name.starts_with(prefix)).count();
        let name = format!("{prefix} {}", known + 1);
        self.names.entry(text).or_insert(name).clone()
    }
}

/// 8080.0 and 8080 are one number.
fn whole(number: &serde_json::Number) -> Value {
    let float = number.as_f64().unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    if float.fract() == 0.0 && float.abs() < 1e15 { json!(float as i64) } else { json!(float) }
}
