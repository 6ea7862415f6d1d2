//! How the story is told: what is said, what is called, what came back.

use crate::client::{Ask, Client};
use crate::failure::Failure;
use crate::output::{Output, clean};
use anyhow::bail;
use serde_json::{Value, json};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(2_500);
/// Characters of a body that are shown.
const SHOWN_CHARS_MAX: usize = 600;
/// Rows of a listing that are shown.
const SHOWN_ROWS_MAX: usize = 3;

/// Someone with a key.
pub(super) struct Who {
    name: String,
    pub(super) client: Client,
}

impl Who {
    pub(super) fn new(name: &str, client: Client) -> Self {
        Self { name: name.to_owned(), client }
    }
}

/// A story, told as it happens, or as JSON at its end.
pub(super) struct Story<'a> {
    output: &'a Output,
    slow: bool,
    steps: Vec<Value>,
}

impl<'a> Story<'a> {
    pub(super) const fn new(output: &'a Output, slow: bool) -> Self {
        Self { output, slow, steps: Vec::new() }
    }

    /// A new part.
    pub(super) fn chapter(&mut self, title: &str) -> anyhow::Result<()> {
        let first = self.steps.is_empty();
        self.tell(json!({"chapter": title}), |output| format!("{}{}", if first { "" } else { "\n" }, output.strong(title)))
    }

    /// A remark.
    pub(super) fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.tell(json!({"say": text}), |_| text.to_owned())
    }

    /// A real call with a body; its status must be the expected one.
    pub(super) fn send(&mut self, who: &Who, call: (&'static str, &str), body: &Value, expected: u16) -> anyhow::Result<Value> {
        self.call(who, call, Some(body), expected)
    }

    /// A real call without a body; its status must be the expected one.
    pub(super) fn get(&mut self, who: &Who, path: &str, expected: u16) -> anyhow::Result<Value> {
        self.call(who, ("GET", path), None, expected)
    }

    fn call(&mut self, who: &Who, (method, path): (&'static str, &str), body: Option<&Value>, expected: u16) -> anyhow::Result<Value> {
        let mut ask = Ask::new(method, path);
        if let Some(body) = body {
            ask = ask.json(body);
        }
        let (status, answer) = match who.client.ask(ask) {
            Ok(reply) => (reply.status, reply.value),
            Err(Failure::Refused { status, refusal, .. }) => (status, refusal),
            Err(other @ Failure::Unreachable { .. }) => return Err(other.into()),
        };
        let step = json!({"who": who.name, "method": method, "path": path, "body": body, "status": status, "answer": answer});
        self.tell(step, |output| {
            let sent = body.map(brief).unwrap_or_default();
            let code = status.to_string();
            let code = if status < 400 { output.good(&code) } else { output.warn(&code) };
            format!("  {}  {method} {path} {sent}\n  {code} {}", output.dim(&who.name), brief(&answer))
        })?;
        if status != expected {
            bail!("{method} {path} should have been answered with {expected}, and was with {status}: {answer}");
        }
        Ok(answer)
    }

    /// What a command found.
    pub(super) fn result(&mut self, command: &str, found: &Value) -> anyhow::Result<()> {
        let step = json!({"command": command, "found": found});
        self.tell(step, |output| format!("  {}\n  {}", output.dim(command), brief(found)))
    }

    /// The end: as JSON, all of it.
    pub(super) fn end(self) -> anyhow::Result<()> {
        if self.output.is_json() {
            return Ok(self.output.raw_json(&json!({"steps": self.steps}).to_string())?);
        }
        self.output.line(format!("\n{}", self.output.strong("That is all; the scratch directory is gone again.")))?;
        Ok(self.output.line("For a server of your own: tabellion serve --data data")?)
    }

    fn tell(&mut self, step: Value, line: impl FnOnce(&Output) -> String) -> anyhow::Result<()> {
        self.steps.push(step);
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(line(self.output))?;
        if self.slow {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// An answer without what only programs want: tokens, and the rest of long lists.
fn brief(value: &Value) -> String {
    let text = clean(&shortened(value).to_string());
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| !is_noise(name, value));
            Value::Object(kept.map(|(name, value)| (name.clone(), shortened(value))).collect())
        }
        Value::Array(values) => values.iter().take(SHOWN_ROWS_MAX).map(shortened).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn is_noise(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty() && name != "results" && name != "faults",
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    is_empty || matches!(name, "token" | "request_id" | "next" | "key" if value.as_str().is_none_or(|text| name != "key" || text.starts_with("tab_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_short_and_keep_no_secrets() {
        let answer = json!({"id": "itm_a", "token": "long", "key": "tab_secret", "fields": {}, "results": [], "n": null});
        assert_eq!(shortened(&answer), json!({"id": "itm_a", "results": []}));
        assert_eq!(shortened(&json!({"key": "API port"})), json!({"key": "API port"}));
        assert_eq!(shortened(&json!([1, 2, 3, 4])), json!([1, 2, 3]));
    }
}
