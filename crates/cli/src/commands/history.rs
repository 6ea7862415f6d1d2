//! `history`: the versions of an item.

use super::item_path;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Show the versions of an item
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion history itm_…
  tabellion get itm_… --as-of 2026-11-15T00:00:00Z      what it said then
  tabellion rollback itm_…                              back to the version before")]
pub(crate) struct History {
    /// The item
    id: String,
    /// Read as a moderator, for this reason: what is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

pub(super) fn run(args: &History, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", &format!("{}/versions", item_path(&args.id)));
    let reply = context.client()?.ask(ask.with("moderate", args.moderate.as_ref()))?;
    context.output.reply(&reply, versions)
}

fn versions(value: &Value) -> Sheet {
    let columns = [
        ("version", Kind::Word),
        ("operation", Kind::Word),
        ("status", Kind::State),
        ("written", Kind::Time),
        ("ended", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no versions");
    for version in rows(value, "versions") {
        sheet.row(
            ["version", "operation", "status", "created_at", "ended_at"].map(|name| field(version, name)),
        );
    }
    sheet
}
