//! The `tabellion` binary: the server, and the commands that talk to one.
//!
//! Invariant: the only crate that prints. Commands say what they found; `output` and `failure` say how it looks.

mod client;
mod commands;
mod failure;
mod hosting;
mod lines;
mod output;
mod progress;
mod trust_store;

use clap::Parser;
use output::{Output, When};
use std::process::ExitCode;

/// A write makes many small allocations on several threads, which this allocator does in a fifth less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The notary of agent memory
///
/// Tabellion is a server that teams of users and AI agents share as long-term memory. What an agent wants remembered is
/// examined, sealed with its provenance, and enrolled in an append-only log that anyone with the key can check.
///
/// `tabellion serve` starts a server; `tabellion demo` shows what it does; the other commands talk to a running server,
/// or, with --data, look at a data directory.
#[derive(Debug, Parser)]
#[command(name = "tabellion", version, arg_required_else_help = true, max_term_width = 110, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: commands::Command,
}

const EXAMPLES: &str = "\
Examples:
  tabellion demo
  tabellion serve --data data
  tabellion write \"Port 8080 serves the API\" --key \"API port\"
  tabellion search \"which port\"

Exit codes: 0 done, 1 refused or something is wrong, 2 the command line is not understood, 3 a data directory is not whole.";

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
struct Global {
    /// The server
    #[arg(long, global = true, env = "TABELLION_URL", hide_env_values = true, default_value = client::DEFAULT_URL, value_name = "URL")]
    url: String,
    /// The credential to act with
    #[arg(long, global = true, env = "TABELLION_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
    /// Certificates, as PEM, to trust for https (default: those of the system)
    #[arg(long, global = true, env = "TABELLION_CA_CERT", hide_env_values = true, value_name = "FILE")]
    ca_cert: Option<std::path::PathBuf>,
    /// Show whole ids in tables, not names and the beginnings of ids
    #[arg(long, global = true)]
    ids: bool,
    /// Print JSON, as the server sent it
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

/// What a command works with.
struct Context {
    output: Output,
    url: String,
    api_key: Option<String>,
    ca_cert: Option<std::path::PathBuf>,
}

impl Context {
    fn client(&self) -> anyhow::Result<client::Client> {
        let client = client::Client::new(&self.url, self.api_key.clone(), self.ca_cert.as_deref())?;
        Ok(if self.output.shows_names() { client.preferring_names() } else { client })
    }
}

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let Global { url, api_key, ca_cert, ids, json, color } = global;
    let api_key = api_key.filter(|key| !key.is_empty());
    let context = Context { output: Output::new(json, color, ids), url, api_key, ca_cert };
    match commands::run(command, &context) {
        Ok(code) => code,
        Err(error) => failure::report(&error, &context.output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_lists_every_command() {
        let help = Cli::command().term_width(100).render_long_help();
        insta::assert_snapshot!("help", help.to_string());
    }

    /// A reader of `--help` should never have to guess how a command is typed.
    #[test]
    fn every_command_has_examples() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if command.has_subcommands() {
                command.get_subcommands().for_each(|sub| check(sub, &path));
            } else {
                let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(after.contains(path.trim()), "no example in the help of {path}");
                assert!(command.get_about().is_some(), "no help for {path}");
            }
        }
        check(&Cli::command(), "");
    }
}
