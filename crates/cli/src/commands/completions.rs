//! `completions`: what a shell needs to complete our commands.

use crate::{Cli, Context};
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion completions bash > ~/.local/share/bash-completion/completions/tabellion
  tabellion completions zsh > ~/.zfunc/_tabellion
  tabellion completions fish > ~/.config/fish/completions/tabellion.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Completions, context: &Context) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tabellion", &mut script);
    context.output.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
