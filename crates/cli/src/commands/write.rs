//! `write`: one item, or its next version.

use super::{Layer, item_path, set, show_outcome};
use crate::Context;
use crate::client::Ask;
use anyhow::Context as _;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::process::ExitCode;

/// The most that a text may have, in bytes; one more is read so that the server can say so.
const TEXT_BYTES_MAX: u64 = 65_536;

/// Write an item, or with --update its next version
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion write \"Port 8080 serves the API\" --key \"API port\"
  tabellion write \"Port 9090 serves the API\" --update itm_…
  git log -1 --format=%B | tabellion write - --layer semantic --tag release
  tabellion write \"Ana prefers tea\" --confidence 0.9 --field session=3 --field guests:=4 \\
    --evidence '{\"source_type\":\"human_input\",\"source_uri\":\"chat://42\",\"accessed_at\":\"2026-11-15T00:00:00Z\"}'

Writing the same again within 24 hours is a replay: it answers with the item that is there.")]
pub(crate) struct Write {
    /// What to remember; - reads it from stdin
    text: String,
    /// The topic, or the question that the text answers
    #[arg(long)]
    key: Option<String>,
    /// What sort of item (default: note)
    #[arg(long)]
    kind: Option<String>,
    /// Which layer of memory (default: episodic)
    #[arg(long, value_enum)]
    layer: Option<Layer>,
    /// Who may come to see it (default: auto)
    #[arg(long, value_parser = ["auto", "private", "shared", "both"])]
    tier: Option<String>,
    /// Which namespace (default: default)
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// How sure the writer is, from 0 to 1 (default: 0.5)
    #[arg(long, value_name = "NUMBER")]
    confidence: Option<f64>,
    /// A field, NAME=TEXT or NAME:=JSON; may be repeated
    #[arg(long = "field", value_name = "NAME=TEXT", value_parser = parse_field)]
    fields: Vec<(String, Value)>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// How secret it is (default: internal, or what it was made from)
    #[arg(long, value_name = "LEVEL", value_parser = ["public", "internal", "confidential", "restricted"])]
    classification: Option<String>,
    /// A field of knowledge that it belongs to; may be repeated
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
    /// What it says, as subject, predicate and object
    #[arg(long, num_args = 3, value_names = ["SUBJECT", "PREDICATE", "OBJECT"])]
    triple: Option<Vec<String>>,
    /// What it rests on, as a JSON object or a list of them; may be repeated
    #[arg(long, value_name = "JSON", value_parser = parse_evidence)]
    evidence: Vec<Value>,
    /// A resource that was consulted, by name or id; may be repeated
    #[arg(long = "resource", value_name = "NAME")]
    resources: Vec<String>,
    /// That no resource was consulted; without this and --resource, the agent may have used all that it may use
    #[arg(long, conflicts_with = "resources")]
    no_resources: bool,
    /// A version it was derived from; may be repeated
    #[arg(long, value_name = "VERSION")]
    derived_from: Vec<String>,
    /// Why it is worth remembering
    #[arg(long, value_name = "TEXT")]
    justification: Option<String>,
    /// The session it belongs to
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// The task it belongs to
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// The trace it belongs to
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// The writing agent's own version
    #[arg(long, value_name = "SEMVER")]
    agent_version: Option<String>,
    /// How long it holds, such as PT15M or P90D
    #[arg(long, value_name = "DURATION")]
    ttl: Option<String>,
    /// The item or version that it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Write only if this is still the active version
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<String>,
    /// A UUID that makes a repeated request harmless
    #[arg(long, value_name = "UUID")]
    request_id: Option<String>,
    /// Be judged by a stricter policy than the tenant's
    #[arg(long, value_parser = ["open", "standard", "strict"])]
    write_policy: Option<String>,
    /// Write nothing after this time
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// Write the next version of this item; its key, kind, layer, namespace, tags, classification, domains and fields stay unless given
    #[arg(long, value_name = "ID", conflicts_with = "supersedes")]
    update: Option<String>,
}

pub(super) fn run(args: Write, context: &Context) -> anyhow::Result<ExitCode> {
    let update = args.update.clone();
    let mut body = body(args)?;
    let client = context.client()?;
    let ask = match update {
        Some(id) => {
            let path = item_path(&id);
            keep(&mut body, &client.ask(Ask::new("GET", &path))?.value);
            Ask::new("PUT", &path)
        }
        None => Ask::new("POST", "/v1/items"),
    };
    // Where the policy says so, the answer waits for a person.
    show_outcome(context, &client.ask(ask.json(&body).long())?)
}

/// What an item is about and where it lies stays, unless the command says otherwise. To the server a version stands for
/// itself: what it does not say has its default.
fn keep(body: &mut Value, head: &Value) {
    for name in ["key", "kind", "layer", "namespace", "tags", "classification", "domains", "fields"] {
        let known = head.get(name).filter(|value| !value.is_null());
        if body.get(name).is_none() {
            set(body, name, known.cloned());
        }
    }
}

fn body(args: Write) -> anyhow::Result<Value> {
    let mut body = json!({"text": text(args.text)?});
    set(&mut body, "key", args.key);
    set(&mut body, "kind", args.kind);
    set(&mut body, "layer", args.layer.map(|layer| layer.to_string()));
    set(&mut body, "tier", args.tier);
    set(&mut body, "namespace", args.namespace);
    set(&mut body, "confidence", args.confidence);
    set(
        &mut body,
        "fields",
        some(args.fields).map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
    );
    set(&mut body, "tags", some(args.tags));
    set(&mut body, "classification", args.classification);
    set(&mut body, "domains", some(args.domains));
    set(&mut body, "triple", args.triple.map(|parts| triple(&parts)));
    set(&mut body, "evidence", some(args.evidence.into_iter().flat_map(one_or_many).collect()));
    let resources = if args.no_resources { Some(Vec::new()) } else { some(args.resources) };
    set(&mut body, "resources", resources);
    set(&mut body, "derived_from", some(args.derived_from));
    set(&mut body, "justification", args.justification);
    set(&mut body, "session_id", args.session_id);
    set(&mut body, "task_id", args.task_id);
    set(&mut body, "trace_id", args.trace_id);
    set(&mut body, "agent_version", args.agent_version);
    set(&mut body, "ttl", args.ttl);
    set(&mut body, "supersedes", args.supersedes);
    set(&mut body, "expected_version", args.expected_version);
    set(&mut body, "request_id", args.request_id);
    set(&mut body, "write_policy", args.write_policy);
    set(&mut body, "deadline", args.deadline);
    Ok(body)
}

fn text(given: String) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given);
    }
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(TEXT_BYTES_MAX + 8);
    stdin.read_to_end(&mut bytes).context("cannot read the text from stdin")?;
    from_bytes(&bytes)
}

/// A text without its last line break. Where reading stopped within a character, that one is left out.
fn from_bytes(bytes: &[u8]) -> anyhow::Result<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && bytes.len() as u64 > TEXT_BYTES_MAX => {
            let (whole, _) = bytes.split_at(error.valid_up_to());
            std::str::from_utf8(whole)?
        }
        Err(error) => return Err(error).context("the text on stdin is not UTF-8"),
    };
    Ok(text.strip_suffix('\n').unwrap_or(text).to_owned())
}

pub(super) fn some<T>(values: Vec<T>) -> Option<Vec<T>> {
    (!values.is_empty()).then_some(values)
}

fn triple(parts: &[String]) -> Value {
    let part = |index: usize| parts.get(index).cloned().unwrap_or_default();
    json!({"subject": part(0), "predicate": part(1), "object": part(2)})
}

pub(super) fn one_or_many(value: Value) -> Vec<Value> {
    if let Value::Array(values) = value { values } else { vec![value] }
}

fn parse_field(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=TEXT or NAME:=JSON")?;
    match name.strip_suffix(':') {
        Some(name) => {
            let value =
                serde_json::from_str(value).map_err(|error| format!("not JSON after `:=`: {error}"))?;
            Ok((name.to_owned(), value))
        }
        None => Ok((name.to_owned(), value.into())),
    }
}

pub(super) fn parse_evidence(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
        Ok(_) => Err("expected a JSON object or a list of them".into()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        write: Write,
    }

    fn check(line: &[&str], expected: &Value) {
        let only = Only::parse_from(["write"].iter().chain(line));
        assert_eq!(&body(only.write).unwrap(), expected);
    }

    #[test]
    fn what_is_not_said_is_not_sent() {
        check(&["a text"], &json!({"text": "a text"}));
    }

    #[test]
    fn texts_from_stdin_lose_one_line_break_and_no_character() {
        assert_eq!(from_bytes("é\n\n".as_bytes()).unwrap(), "é\n");
        assert!(from_bytes(&[0xff]).is_err() && from_bytes("é".as_bytes().split_at(1).0).is_err());
        let long = "é".repeat(40_000);
        let (cut, _) = long.as_bytes().split_at(65_543);
        assert_eq!(from_bytes(cut).unwrap().len(), 65_542);
    }

    #[test]
    fn an_update_keeps_what_it_does_not_say() {
        let mut body = json!({"text": "new", "layer": "semantic"});
        keep(
            &mut body,
            &json!({"text": "old", "key": "API port", "layer": "episodic", "tags": ["net"], "triple": {}, "kind": null}),
        );
        assert_eq!(body, json!({"text": "new", "layer": "semantic", "key": "API port", "tags": ["net"]}));
    }

    #[test]
    fn fields_are_texts_or_json() {
        check(
            &[
                "t",
                "--field",
                "session=3",
                "--field",
                "guests:=4",
                "--field",
                "url=a=b",
                "--tag",
                "x",
                "--tag",
                "y",
            ],
            &json!({"text": "t", "fields": {"session": "3", "guests": 4, "url": "a=b"}, "tags": ["x", "y"]}),
        );
        assert!(parse_field("bare").is_err() && parse_field("a:=nope").is_err());
    }

    #[test]
    fn evidence_is_one_or_many() {
        check(
            &[
                "t",
                "--evidence",
                r#"{"a":1}"#,
                "--evidence",
                r#"[{"b":2},{"c":3}]"#,
                "--triple",
                "api",
                "port",
                "8080",
            ],
            &json!({"text": "t", "evidence": [{"a": 1}, {"b": 2}, {"c": 3}],
                   "triple": {"subject": "api", "predicate": "port", "object": "8080"}}),
        );
        assert!(parse_evidence("7").is_err());
    }
}
