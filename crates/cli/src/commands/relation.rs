//! `relation`: what ties things together, and the paths along it.

use super::write::{one_or_many, parse_evidence, some};
use super::{Layer, set};
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Relations between things: write them, and walk along them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Relation {
    Add(Add),
    Paths(Paths),
}

/// Write a relation: from a subject, by a type, to an object
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion relation add billing depends_on postgres
  tabellion relation add \"Ana Silva\" works_at Acme --confidence 0.9 --text \"Ana Silva joined Acme in May\"
  tabellion relation add itm_… cites itm_… --namespace papers

A node is a name, capitals or not, or the id of an item. Retract a relation like any item: tabellion retract ID.")]
pub(crate) struct Add {
    /// Where it begins: a name, or the id of an item
    subject: String,
    /// Its type, such as works_at
    #[arg(value_name = "TYPE")]
    predicate: String,
    /// Where it leads: a name, or the id of an item
    object: String,
    /// The relation as a sentence (default: subject, type and object)
    #[arg(long)]
    text: Option<String>,
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
    /// What it rests on, as a JSON object or a list of them; may be repeated
    #[arg(long, value_name = "JSON", value_parser = parse_evidence)]
    evidence: Vec<Value>,
    /// A resource that was consulted, by name or id; may be repeated
    #[arg(long = "resource", value_name = "NAME")]
    resources: Vec<String>,
    /// That no resource was consulted; without this and --resource, the agent may have used all that it may use
    #[arg(long, conflicts_with = "resources")]
    no_resources: bool,
    /// The item or version that it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// What to do if it contradicts a known one (default: a newer relation replaces one's own older one)
    #[arg(long, value_parser = ["supersede", "keep_both", "review", "reject"])]
    on_conflict: Option<String>,
}

/// Walk along relations: the strongest paths from a node
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion relation paths billing
  tabellion relation paths billing --to \"eu-west\" --depth 5
  tabellion relation paths postgres --direction in --type depends_on
  tabellion relation paths ana --as-of 2026-11-15T00:00:00Z --json")]
pub(crate) struct Paths {
    /// The node where the walk begins
    from: String,
    /// The node where it ends (default: anywhere)
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    /// Only along this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Which way relations are walked
    #[arg(long, default_value = "out", value_parser = ["out", "in", "both"])]
    direction: String,
    /// At most this many relations in a path
    #[arg(long, default_value_t = 3, value_name = "NUMBER")]
    depth: u64,
    /// At most this many paths
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    limit: u64,
    /// Only this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// As it stood at this time: RFC 3339, a date, "yesterday", "2 days ago", P2D (so long ago), or a token
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Not before the server has seen the write that gave this token
    #[arg(long, value_name = "TOKEN")]
    min_token: Option<String>,
}

pub(super) fn run(args: Relation, context: &Context) -> anyhow::Result<ExitCode> {
    match args {
        Relation::Add(args) => add(args, context),
        Relation::Paths(args) => paths(&args, context),
    }
}

fn add(args: Add, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body = json!({"kind": "relation",
        "triple": {"subject": args.subject, "predicate": args.predicate, "object": args.object}});
    set(&mut body, "text", args.text);
    set(&mut body, "layer", args.layer.map(|layer| layer.to_string()));
    set(&mut body, "tier", args.tier);
    set(&mut body, "namespace", args.namespace);
    set(&mut body, "confidence", args.confidence);
    set(&mut body, "supersedes", args.supersedes);
    set(&mut body, "on_conflict", args.on_conflict);
    set(&mut body, "evidence", some(args.evidence.into_iter().flat_map(one_or_many).collect()));
    let resources = if args.no_resources { Some(Vec::new()) } else { some(args.resources) };
    set(&mut body, "resources", resources);
    // One relation is one write, and answers as one.
    let reply = context.client()?.ask(Ask::new("POST", "/v1/items").json(&body).long())?;
    super::show_outcome(context, &reply)
}

fn paths(args: &Paths, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body =
        json!({"from": args.from, "direction": args.direction, "depth": args.depth, "limit": args.limit});
    set(&mut body, "to", args.to.as_deref());
    set(&mut body, "types", some(args.types.clone()));
    set(&mut body, "namespace", args.namespace.as_deref());
    set(&mut body, "as_of", args.as_of.as_deref());
    set(&mut body, "min_token", args.min_token.as_deref());
    let reply = context.client()?.ask(Ask::new("POST", "/v1/paths").json(&body))?;
    context.output.reply(&reply, found)
}

fn found(value: &Value) -> Sheet {
    let columns = [("strength", Kind::Number), ("path", Kind::Text)];
    let mut sheet = Sheet::new(columns).or("no path found");
    for path in rows(value, "paths") {
        let strength = path.get("strength").and_then(Value::as_f64).unwrap_or_default();
        sheet.row([format!("{strength:.3}"), line(path)]);
    }
    sheet
}

/// A path in a line: `ana -works_at-> acme <-owns- bob`.
fn line(path: &Value) -> String {
    let mut nodes = rows(path, "nodes").iter().map(|node| node.as_str().unwrap_or_default());
    let mut line = nodes.next().unwrap_or_default().to_owned();
    for (relation, node) in rows(path, "relations").iter().zip(nodes) {
        let kind = field(relation, "type");
        let arrow = match field(relation, "direction").as_str() {
            "in" => format!(" <-{kind}- "),
            _ => format!(" -{kind}-> "),
        };
        line.push_str(&arrow);
        line.push_str(node);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    /// CAL-36: a path shows its nodes, its types and which way each is walked.
    #[test]
    fn a_path_is_a_line() {
        let value = json!({"paths": [{"strength": 0.25, "nodes": ["ana", "acme", "bob"], "relations": [
            {"type": "works_at", "direction": "out"}, {"type": "owns", "direction": "in"}]}], "truncated": false});
        let shown = found(&value).render(Look { styled: false, width: None });
        assert!(shown.contains("0.250") && shown.contains("ana -works_at-> acme <-owns- bob"), "{shown}");
    }
}
