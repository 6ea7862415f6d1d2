//! `whoami`: who the credential says we are, and how much we may write.

use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Show who this key acts for, and how much it may write
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion whoami
  tabellion whoami --session-id s-42      with the writes of this session")]
pub(crate) struct WhoAmI {
    /// Count the writes of this session as well
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
}

pub(super) fn run(args: &WhoAmI, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", "/v1/whoami").with("session_id", args.session_id.as_ref());
    let reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, sheet)
}

fn sheet(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    let named = |who: &str| {
        let [name, id] = ["name", "id"].map(|part| field(value, &format!("/{who}/{part}")));
        if name == id { name } else { format!("{name} {id}") }
    };
    sheet.fact("user", named("user"));
    sheet.fact("agent", named("agent"));
    sheet.fact("role", field(value, "role"));
    sheet.fact("tenant", field(value, "tenant"));
    for hold in rows(value, "holds") {
        let [action, reason, until] = ["action", "reason", "until"].map(|name| field(hold, name));
        sheet.fact("writes are", format!("{action} until {until}: {reason}"));
    }
    if let Some(suspended) = value.get("suspended") {
        let [since, by, reason] = ["since", "/by/name", "reason"].map(|name| field(suspended, name));
        let by = if by.is_empty() { "the server".to_owned() } else { by };
        sheet.fact("writes are", format!("refused: the agent was suspended by {by} at {since}: {reason}"));
    }
    let Some(limits) = value.get("limits") else { return sheet };
    if limits.get("exempt").and_then(Value::as_bool) == Some(true) {
        sheet.fact("writes", "no limits".to_owned());
        return sheet;
    }
    let used = |one: &Value| format!("{} of {}", field(one, "used"), field(one, "limit"));
    let rate = |one: &Value| format!("{} {}", field(one, "layer"), used(one));
    let rates: Vec<String> = rows(limits, "writes_per_minute").iter().map(rate).collect();
    sheet.fact("writes a minute", rates.join("\n"));
    let session = limits
        .get("session")
        .map_or_else(|| format!("at most {}", field(limits, "session_writes_max")), used);
    sheet.fact("writes a session", session);
    sheet.fact("queued writes", limits.get("queued").map(used).unwrap_or_default());
    sheet
}
