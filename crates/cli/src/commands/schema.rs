//! `schema`: what the items of a kind must look like.

use super::json_file;
use super::policy::done;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// What items of a kind must look like
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Schema {
    Set(Set),
    List(List),
}

/// Register a schema in place of the one of the same kind and layer
///
/// The file is a JSON object: kind, document (a JSON Schema), and, if wanted, layer, constraints and merge.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion schema set --file invoice.json
  echo '{\"kind\":\"invoice\",\"document\":{\"properties\":{\"fields\":{\"required\":[\"total\"]}}}}' | tabellion schema set --file -
  tabellion write \"Invoice 7 came\" --kind invoice --field total:=120

The document describes an object with kind, key, text, triple, fields and tags.")]
pub(crate) struct Set {
    /// The schema as a JSON file; - is stdin
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

/// List the schemas
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion schema list
  tabellion schema list --json")]
pub(crate) struct List {}

pub(super) fn run(args: &Schema, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Schema::Set(Set { file }) => {
            let body = json_file(file)?;
            let reply = client.ask(Ask::new("PUT", "/v1/schemas").json(&body))?;
            context.output.reply(&reply, |_| done("set", &field(&body, "kind")))
        }
        Schema::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/schemas"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "schemas")))
        }
    }
}

fn sheet(schemas: &[Value]) -> Sheet {
    let columns = [
        ("kind", Kind::Word),
        ("layer", Kind::Word),
        ("requires", Kind::Text),
        ("constraints", Kind::Number),
    ];
    let mut sheet = Sheet::new(columns).or("no schemas");
    for schema in schemas {
        let layer = field(schema, "layer");
        let layer = if layer.is_empty() { "any".to_owned() } else { layer };
        let constraints = rows(schema, "constraints").len().to_string();
        sheet.row([field(schema, "kind"), layer, field(schema, "/document/required"), constraints]);
    }
    sheet
}
