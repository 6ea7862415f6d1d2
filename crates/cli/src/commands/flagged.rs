//! `flagged`: what a person should look at.

use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// List the items that did not stand when they were last verified
///
/// Update one with fresh evidence, or retract it; its flag ends with that, or when it stands again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion flagged
  tabellion flagged --json | jq -r '.flagged[].id'")]
pub(crate) struct Flagged {}

pub(super) fn run(Flagged {}: &Flagged, context: &Context) -> anyhow::Result<ExitCode> {
    let reply = context.client()?.ask(Ask::new("GET", "/v1/items:flagged"))?;
    context.output.reply(&reply, |value| sheet(rows(value, "flagged")))
}

/// Flags as a table.
pub(super) fn sheet(flags: &[Value]) -> Sheet {
    let columns =
        [("id", Kind::Word), ("layer", Kind::Word), ("finding", Kind::State), ("since", Kind::Time)];
    let mut sheet = Sheet::new(columns).or("nothing is flagged");
    for flag in flags {
        sheet.row(["id", "layer", "finding", "since"].map(|name| field(flag, name)));
    }
    sheet
}
