//! `unpin`: an item that may lapse again.

use super::{change, reason};
use crate::Context;
use std::process::ExitCode;

/// Let a pinned item lapse again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion unpin itm_… --reason \"the contract ended\"")]
pub(crate) struct Unpin {
    /// The item
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Unpin, context: &Context) -> anyhow::Result<ExitCode> {
    change(context, &args.id, "unpin", &reason(args.reason.as_deref()))
}
