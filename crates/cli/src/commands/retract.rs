//! `retract`: an item that no longer holds.

use super::{item_path, show_outcome};
use crate::Context;
use crate::client::Ask;
use std::process::ExitCode;

/// Retract an item: it is no longer found, and its history stays
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion retract itm_… --reason \"the service was shut down\"
  tabellion history itm_…                               its versions are still there")]
pub(crate) struct Retract {
    /// The item
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Retract, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("DELETE", &item_path(&args.id)).with("reason", args.reason.as_ref());
    show_outcome(context, &context.client()?.ask(ask)?)
}
