//! `provenance`: who wrote a version, how, and from what.

use super::item_path;
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use serde_json::Value;
use std::process::ExitCode;

/// Show who wrote an item, how, and from what
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion provenance itm_…
  tabellion provenance itm_… --version ver_…")]
pub(crate) struct ProvenanceOf {
    /// The item
    id: String,
    /// One of its versions (default: the active one)
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Read as a moderator, for this reason: what is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

pub(super) fn run(args: &ProvenanceOf, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", &format!("{}/provenance", item_path(&args.id)))
        .with("version", args.version.as_ref())
        .with("moderate", args.moderate.as_ref());
    context.output.reply(&context.client()?.ask(ask)?, record)
}

fn record(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    if let Value::Object(members) = value {
        for name in members.keys().filter(|name| *name != "evidence_refs") {
            sheet.fact(name, field(value, name));
        }
    }
    for evidence in crate::output::rows(value, "evidence_refs") {
        let cited = ["source_type", "source_uri", "excerpt"].map(|name| field(evidence, name));
        sheet.fact("evidence", cited.join(" ").trim_end());
    }
    sheet
}
