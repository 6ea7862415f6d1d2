//! `rollback`: the version before, back again.

use super::{change, reason, set};
use crate::Context;
use std::process::ExitCode;

/// Take the active version of an item back; the one before it holds again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion rollback itm_…
  tabellion rollback itm_… --version ver_… --reason \"measured again\"")]
pub(crate) struct Rollback {
    /// The item
    id: String,
    /// The version to take back; it must be the active one
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Rollback, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body = reason(args.reason.as_deref());
    set(&mut body, "version", args.version.as_deref());
    change(context, &args.id, "rollback", &body)
}
