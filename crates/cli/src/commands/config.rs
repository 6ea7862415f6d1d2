//! `config`: what can be set, with the defaults.

use crate::Context;
use std::process::ExitCode;

/// Print the configuration file with every setting, its default and what it does
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion config > tabellion.toml
  tabellion serve --config tabellion.toml")]
pub(crate) struct Config {}

pub(super) fn run(_args: &Config, context: &Context) -> anyhow::Result<ExitCode> {
    context.output.line(tabellion_server::config::DEFAULT_FILE.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
