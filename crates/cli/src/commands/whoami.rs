//! `whoami`: who the credential says we are.

use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use std::process::ExitCode;

/// Show who this key acts for
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion whoami")]
pub(crate) struct WhoAmI {}

pub(super) fn run(_args: &WhoAmI, context: &Context) -> anyhow::Result<ExitCode> {
    let reply = context.client()?.ask(Ask::new("GET", "/v1/whoami"))?;
    context.output.reply(&reply, |value| {
        let mut sheet = Sheet::facts();
        let named = |who: &str| {
            let [name, id] = ["name", "id"].map(|part| field(value, &format!("/{who}/{part}")));
            if name == id { name } else { format!("{name} {id}") }
        };
        sheet.fact("user", named("user"));
        sheet.fact("agent", named("agent"));
        sheet.fact("role", field(value, "role"));
        sheet.fact("tenant", field(value, "tenant"));
        sheet
    })
}
