//! `resource`: what agents may consult.

use super::set;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// What agents may consult: knowledge bases, services, tools
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Resource {
    Create(Create),
    List(List),
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
    }
}

fn sheet(resources: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Word),
        ("name", Kind::Word),
        ("kind", Kind::Word),
        ("description", Kind::Text),
        ("since", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no resources");
    for resource in resources {
        sheet.row(["id", "name", "kind", "description", "created_at"].map(|name| field(resource, name)));
    }
    sheet
}
