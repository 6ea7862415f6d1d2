//! `release`: an item that is no longer under suspicion.

use super::quarantine;
use crate::Context;
use std::process::ExitCode;

/// Take an item out of quarantine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion release itm_… --reason \"the source was confirmed\"")]
pub(crate) struct Release {
    /// The item
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Release, context: &Context) -> anyhow::Result<ExitCode> {
    quarantine::put(context, &args.id, "release", args.reason.as_deref())
}
