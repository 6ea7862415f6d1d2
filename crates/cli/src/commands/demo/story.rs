//! How the story is told: what is said, what is called, what came back.

use crate::client::{Ask, Client};
use crate::failure::Failure;
use crate::output::{Output, Sheet, clean};
use anyhow::bail;
use serde_json::{Value, json};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(2_500);
/// Characters of a body that are shown.
const SHOWN_CHARS_MAX: usize = 800;
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
        self.tell(json!({"chapter": title}), |output| {
            format!("{}{}", if first { "" } else { "\n" }, output.strong(title))
        })
    }

    /// A remark.
    pub(super) fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.tell(json!({"say": text}), |_| text.to_owned())
    }

    /// A real call with a body; its status must be the expected one.
    pub(super) fn send(
        &mut self,
        who: &Who,
        call: (&'static str, &str),
        body: &Value,
        expected: u16,
    ) -> anyhow::Result<Value> {
        self.call(who, call, Some(body), expected)
    }

    /// A real call without a body; its status must be the expected one.
    pub(super) fn get(&mut self, who: &Who, path: &str, expected: u16) -> anyhow::Result<Value> {
        self.call(who, ("GET", path), None, expected)
    }

    fn call(
        &mut self,
        who: &Who,
        (method, path): (&'static str, &str),
        body: Option<&Value>,
        expected: u16,
    ) -> anyhow::Result<Value> {
        let mut ask = Ask::new(method, path);
        if let Some(body) = body {
            ask = ask.json(body);
        }
        let (status, answer) = match who.client.ask(ask) {
            Ok(reply) => (reply.status, reply.value),
            Err(Failure::Refused { status, refusal, .. }) => (status, refusal),
            Err(other @ (Failure::Unreachable { .. } | Failure::Ambiguous { .. })) => {
                return Err(other.into());
            }
        };
        let step = json!({"who": who.name, "method": method, "path": path, "body": body, "status": status, "answer": answer});
        self.tell(step, |output| {
            let sent = body.map(|body| format!(" {}", sent(body))).unwrap_or_default();
            let code = status.to_string();
            let code = if status < 400 { output.good(&code) } else { output.warn(&code) };
            let who = output.dim(&format!("{}:", who.name));
            format!("  {who} {method} {path}{sent}\n    {code} {}", answered(&answer))
        })?;
        if status != expected {
            bail!(
                "{method} {path} should have been answered with {expected}, and was with {status}: {answer}"
            );
        }
        Ok(answer)
    }

    /// What a command found, as it shows it.
    pub(super) fn result(&mut self, command: &str, found: &Value, sheets: &[Sheet]) -> anyhow::Result<()> {
        let step = json!({"command": command, "found": found});
        self.tell(step, |output| {
            let lines = sheets
                .iter()
                .flat_map(|sheet| output.rendered(sheet).lines().map(str::to_owned).collect::<Vec<_>>());
            std::iter::once(output.dim(command))
                .chain(lines)
                .map(|line| format!("  {line}"))
                .collect::<Vec<_>>()
                .join("\n")
        })
    }

    /// The end: as JSON, all of it.
    pub(super) fn end(self) -> anyhow::Result<()> {
        if self.output.is_json() {
            return Ok(self.output.raw_json(&json!({"steps": self.steps}).to_string())?);
        }
        self.output
            .line(format!("\n{}", self.output.strong("That is all; the scratch directory is gone again.")))?;
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

/// What of an answer is shown, in this order. The rest matters to programs.
const SHOWN: [&str; 23] = [
    "time",
    "action",
    "outcome",
    "status",
    "code",
    "gate",
    "message",
    "errors",
    "path",
    "expected",
    "actual",
    "id",
    "version",
    "name",
    "text",
    "score",
    "operation",
    "results",
    "versions",
    "rows",
    "ok",
    "logs",
    "log",
];

/// The bodies of requests are shown whole, and begin with what they are about.
fn sent(body: &Value) -> String {
    cut(compact(body, &["text", "name", "query", "user"], true))
}

fn answered(answer: &Value) -> String {
    cut(compact(answer, &[SHOWN.as_slice(), &["size", "faults"]].concat(), false))
}

fn cut(text: String) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// JSON on one line, the members in `order` first; others only if `all`. Secrets are left out.
fn compact(value: &Value, order: &[&str], all: bool) -> String {
    match value {
        Value::Object(members) => {
            let known = order.iter().filter_map(|name| members.get_key_value(*name));
            let others = members.iter().filter(|(name, _)| all && !order.contains(&name.as_str()));
            let shown = known.chain(others).filter(|(_, value)| !value.is_null());
            let shown: Vec<_> =
                shown.map(|(name, value)| format!("\"{name}\":{}", compact(value, order, all))).collect();
            format!("{{{}}}", shown.join(","))
        }
        Value::Array(values) => {
            let shown: Vec<_> =
                values.iter().take(SHOWN_ROWS_MAX).map(|value| compact(value, order, all)).collect();
            let more = if values.len() > SHOWN_ROWS_MAX { ",…" } else { "" };
            format!("[{}{more}]", shown.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => clean(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_short_and_keep_no_secrets() {
        let answer = json!({"id": "itm_a", "token": "long", "key": "tab_secret", "fields": {}, "results": [], "status": "ok"});
        assert_eq!(answered(&answer), r#"{"status":"ok","id":"itm_a","results":[]}"#);
        assert_eq!(
            answered(&json!({"rows": [{"id": "1"}, {"id": "2"}, {"id": "3"}, {"id": "4"}]})),
            r#"{"rows":[{"id":"1"},{"id":"2"},{"id":"3"},…]}"#
        );
    }

    #[test]
    fn requests_are_shown_whole() {
        let body = json!({"confidence": 0.9, "key": "API port", "text": "Port 8080"});
        assert_eq!(sent(&body), r#"{"text":"Port 8080","confidence":0.9,"key":"API port"}"#);
    }
}
