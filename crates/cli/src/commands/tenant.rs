//! `tenant`: another customer of the same server.

use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use serde_json::json;
use std::process::ExitCode;

/// The customers of this server, each with logs and keys of its own
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Tenant {
    Create(Create),
}

/// Make a tenant; its admin's key is shown this once (operator only)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion tenant create acme")]
pub(crate) struct Create {
    /// A name that no other tenant has
    name: String,
}

pub(super) fn run(args: &Tenant, context: &Context) -> anyhow::Result<ExitCode> {
    let Tenant::Create(Create { name }) = args;
    let reply = context.client()?.ask(Ask::new("POST", "/v1/tenants").json(&json!({"name": name})))?;
    context.output.reply(&reply, |value| {
        let mut sheet = Sheet::facts();
        for name in ["id", "name", "admin_key"] {
            sheet.fact(name, field(value, name));
        }
        sheet.fact("", "the key is shown this once");
        sheet
    })
}
