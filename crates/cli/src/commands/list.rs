//! `list`: the items that a key can see.

use super::{Layer, item_sheet};
use crate::Context;
use crate::client::Ask;
use crate::output::rows;
use std::process::ExitCode;

/// List the items that this key can see
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion list
  tabellion list --layer semantic --limit 20
  tabellion list --moderate \"who shared this?\"      what everybody shares, for moderators
  tabellion list --json | jq -r '.items[].id'")]
pub(crate) struct List {
    /// Only this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Only this layer
    #[arg(long, value_enum)]
    layer: Option<Layer>,
    /// At most this many
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
    /// Go on where the page before ended
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    cursor: Option<String>,
    /// List as a moderator, for this reason: all that is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

pub(super) fn run(args: &List, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", "/v1/items")
        .with("namespace", args.namespace.as_ref())
        .with("layer", args.layer)
        .with("limit", args.limit)
        .with("cursor", args.cursor.as_ref())
        .with("moderate", args.moderate.as_ref());
    let reply = context.client()?.ask(ask)?;
    context.output.page(&reply, |value| item_sheet(rows(value, "items"), "no items"))
}
