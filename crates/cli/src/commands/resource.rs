//! `resource`: what agents may consult.

use super::policy::done;
use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use anyhow::Context as _;
use serde_json::{Value, json};
use std::process::ExitCode;

/// What agents may consult: knowledge bases, services, tools
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Resource {
    Create(Create),
    List(List),
    Call(Call),
    Retire(Retire),
    Activate(Activate),
    Delete(Delete),
}

/// Make a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion resource create market_kb --kind kb_search --description \"prices since 1990\"")]
pub(crate) struct Create {
    /// A name that no other resource has
    name: String,
    /// What sort it is
    #[arg(long)]
    kind: Option<String>,
    /// What it is
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

/// List the resources
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion resource list")]
pub(crate) struct List {}

/// Call a resource for your agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion resource call market_kb \"price of steel\"
  tabellion resource call weather --args '{\"city\": \"Hamburg\"}' --trace-id report-7")]
pub(crate) struct Call {
    /// The resource, by name or id
    resource: String,
    /// Words, sent as {"query": …}
    #[arg(required_unless_present = "args", conflicts_with = "args")]
    query: Option<String>,
    /// The arguments, as a JSON object
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// The piece of work that this belongs to
    #[arg(long, value_name = "NAME")]
    trace_id: Option<String>,
}

/// Let nobody call a resource any more; what was made with it stays
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion resource retire market_kb --reason \"it is out of date\"")]
pub(crate) struct Retire {
    /// The resource, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Put a retired resource back to work
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion resource activate market_kb --reason \"it was brought up to date\"")]
pub(crate) struct Activate {
    /// The resource, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// End a resource for good: its edges end, and what was made with it is hidden
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion resource delete market_kb --reason \"its owner withdrew it\"")]
pub(crate) struct Delete {
    /// The resource, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

fn act(
    context: &Context,
    name: &str,
    (verb, status): (&str, &str),
    reason: &str,
) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/resources/{}:{verb}", segment(name));
    let reply = context.client()?.ask(Ask::new("POST", &path).json(&json!({"reason": reason})))?;
    context.output.reply(&reply, |_| done(status, name))
}

pub(super) fn run(args: &Resource, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Resource::Create(Create { name, kind, description }) => {
            let mut body = json!({"name": name});
            set(&mut body, "kind", kind.as_deref());
            set(&mut body, "description", description.as_deref());
            let reply = client.ask(Ask::new("POST", "/v1/resources").json(&body))?;
            context.output.reply(&reply, |resource| sheet(std::slice::from_ref(resource)))
        }
        Resource::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/resources"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "resources")))
        }
        Resource::Retire(Retire { name, reason }) => act(context, name, ("retire", "retired"), reason),
        Resource::Activate(Activate { name, reason }) => act(context, name, ("activate", "active"), reason),
        Resource::Delete(Delete { name, reason }) => act(context, name, ("delete", "deleted"), reason),
        Resource::Call(Call { resource, query, args, trace_id }) => {
            let args: Value = match args {
                Some(text) => serde_json::from_str(text).context("--args is not JSON")?,
                None => json!({"query": query}),
            };
            let mut body = json!({"args": args});
            set(&mut body, "trace_id", trace_id.as_deref());
            let path = format!("/v1/resources/{}:call", segment(resource));
            let reply = client.ask(Ask::new("POST", &path).json(&body).long())?;
            context.output.reply(&reply, answer)
        }
    }
}

fn sheet(resources: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Id),
        ("name", Kind::Word),
        ("kind", Kind::Word),
        ("description", Kind::Text),
        ("status", Kind::State),
        ("since", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no resources");
    for resource in resources {
        sheet.row(
            ["id", "name", "kind", "description", "status", "created_at"].map(|name| field(resource, name)),
        );
    }
    sheet
}

fn answer(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    sheet.fact("resource", field(value, "name"));
    let result = value.get("result").cloned().unwrap_or_default();
    let found = rows(&result, "results");
    if found.is_empty() {
        sheet.fact("answer", result.as_str().map_or_else(|| result.to_string(), ToOwned::to_owned));
    }
    for one in found {
        sheet.fact(&field(one, "id"), field(one, "text"));
    }
    sheet
}
