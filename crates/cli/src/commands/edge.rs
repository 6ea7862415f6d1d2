//! `grant`, `revoke`, `edge`: who may invoke which agent, and which agent may use what.

use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Who may invoke which agent, and which agent may use which resource
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Edge {
    List(List),
}

/// The two access graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Graph {
    /// A user may invoke an agent
    Ua,
    /// An agent may use a resource
    Ar,
}

impl std::fmt::Display for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ua => "ua",
            Self::Ar => "ar",
        })
    }
}

/// Grant an edge, or change its times
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion grant ua ana market                    ana may invoke the agent market
  tabellion grant ar market market_kb              market may use the resource market_kb
  tabellion grant ua ana market --expires-at 2027-01-01T00:00:00Z --reason \"a trial\"")]
pub(crate) struct Grant {
    /// Which graph
    graph: Graph,
    /// The user (ua) or agent (ar), by name or id
    source: String,
    /// The agent (ua) or resource (ar), by name or id
    target: String,
    /// It counts from then on: RFC 3339, a date, "tomorrow", "in 2 days", P2D (so long from now) (default: at once)
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// It ends by itself then, named likewise (default: never)
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Revoke an edge: the next read knows, and what was taught through it is hidden
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion revoke ua ana market --reason \"ana changed teams\"
  tabellion revoke ar market market_kb")]
pub(crate) struct Revoke {
    /// Which graph
    graph: Graph,
    /// The user (ua) or agent (ar), by name or id
    source: String,
    /// The agent (ua) or resource (ar), by name or id
    target: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// List the edges that stand
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion edge list
  tabellion edge list --at 2026-11-15T00:00:00Z")]
pub(crate) struct List {
    /// As of then: a time or a token (default: now)
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(super) fn run(args: &Edge, context: &Context) -> anyhow::Result<ExitCode> {
    let Edge::List(List { at }) = args;
    let reply = context.client()?.ask(Ask::new("GET", "/v1/edges").with("at", at.as_ref()))?;
    context.output.reply(&reply, |value| sheet(rows(value, "edges")))
}

pub(super) fn grant(args: &Grant, context: &Context) -> anyhow::Result<ExitCode> {
    let path = path(args.graph, &args.source, &args.target);
    let reply = context.client()?.ask(Ask::new("POST", &path).json(&terms(args)))?;
    context.output.reply(&reply, |_| done("granted", args.graph, &args.source, &args.target))
}

pub(super) fn revoke(args: &Revoke, context: &Context) -> anyhow::Result<ExitCode> {
    let path = path(args.graph, &args.source, &args.target);
    let ask = Ask::new("DELETE", &path).json(&super::reason(args.reason.as_deref()));
    let reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, |_| done("revoked", args.graph, &args.source, &args.target))
}

fn path(graph: Graph, source: &str, target: &str) -> String {
    format!("/v1/edges/{graph}/{}/{}", segment(source), segment(target))
}

fn terms(args: &Grant) -> Value {
    let mut body = json!({});
    set(&mut body, "not_before", args.not_before.as_deref());
    set(&mut body, "expires_at", args.expires_at.as_deref());
    set(&mut body, "reason", args.reason.as_deref());
    body
}

fn done(status: &str, graph: Graph, source: &str, target: &str) -> Sheet {
    let columns =
        [("status", Kind::State), ("graph", Kind::Word), ("source", Kind::Word), ("target", Kind::Word)];
    let mut sheet = Sheet::new(columns);
    sheet.row([status.to_owned(), graph.to_string(), source.to_owned(), target.to_owned()]);
    sheet
}

fn sheet(edges: &[Value]) -> Sheet {
    let columns = [
        ("graph", Kind::Word),
        ("source", Kind::Word),
        ("target", Kind::Word),
        ("support", Kind::Word),
        ("since", Kind::Time),
        ("until", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no edges");
    for edge in edges {
        sheet.row(
            ["graph", "source", "target", "support", "since", "expires_at"].map(|name| field(edge, name)),
        );
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        grant: Grant,
    }

    #[test]
    fn an_edge_says_only_what_was_given() {
        let only = Only::parse_from(["grant", "ua", "ana", "market"]);
        assert_eq!(terms(&only.grant), json!({}));
        let timed = Only::parse_from(["grant", "ar", "market", "kb", "--expires-at", "2027-01-01T00:00:00Z"]);
        assert_eq!(terms(&timed.grant), json!({"expires_at": "2027-01-01T00:00:00Z"}));
        assert_eq!(
            path(timed.grant.graph, "market", "a/b"),
            "/v1/edges/ar/market/a%2Fb",
            "a name stays within its segment"
        );
        assert!(Only::try_parse_from(["grant", "xy", "a", "b"]).is_err());
    }
}
