//! `token`: an agent service's key and a user's token, exchanged for a token of both.

use super::set;
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::io::Read;
use std::process::ExitCode;

/// The longest token that is read.
const TOKEN_BYTES_MAX: u64 = 64 << 10;

/// Exchange an agent's own key and a user's token for a token of both
///
/// The key of the command (TABELLION_KEY) is that of an agent without a user. The user's token is an API key of theirs, or a
/// token of the issuer that the server trusts; it comes from TABELLION_SUBJECT_TOKEN or from stdin. The token that is printed holds
/// for at most 15 minutes, and for as long as the user may invoke the agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  TABELLION_SUBJECT_TOKEN=$THEIRS tabellion token
  tabellion token --expires-in 60 < users.token
  TABELLION_KEY=$(tabellion token --json < users.token | jq -r .access_token) tabellion search port")]
pub(crate) struct Token {
    /// For so many seconds, at most 900
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    #[arg(long, env = "TABELLION_SUBJECT_TOKEN", hide = true, hide_env_values = true)]
    subject_token: Option<String>,
}

pub(super) fn run(args: &Token, context: &Context) -> anyhow::Result<ExitCode> {
    let subject = match &args.subject_token {
        Some(token) => token.clone(),
        None => from_stdin()?,
    };
    let mut body = json!({"subject_token": subject.trim()});
    set(&mut body, "expires_in", args.expires_in);
    let reply = context.client()?.ask(Ask::new("POST", "/v1/token").json(&body))?;
    context.output.reply(&reply, exchanged)
}

fn from_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(TOKEN_BYTES_MAX).read_to_string(&mut text);
    read.context("cannot read the user's token from stdin")?;
    if text.trim().is_empty() {
        bail!("no token of a user: set TABELLION_SUBJECT_TOKEN, or pass it on stdin");
    }
    Ok(text)
}

fn exchanged(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    sheet.fact("token", field(value, "access_token"));
    sheet.fact("holds for", format!("{} s", field(value, "expires_in")));
    sheet.fact("", "to use it: export TABELLION_KEY=…");
    sheet
}
