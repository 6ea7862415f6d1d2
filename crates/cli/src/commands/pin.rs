//! `pin`: an item that is kept.

use super::{change, reason};
use crate::Context;
use std::process::ExitCode;

/// Keep an item from lapsing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion pin itm_… --reason \"the contract says so\"")]
pub(crate) struct Pin {
    /// The item
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Pin, context: &Context) -> anyhow::Result<ExitCode> {
    change(context, &args.id, "pin", &reason(args.reason.as_deref()))
}
