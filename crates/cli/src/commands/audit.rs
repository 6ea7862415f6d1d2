//! `audit`: who did what, and how it ended.

use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Show the trail: who did what, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion audit
  tabellion audit --action retract --limit 20

Users see their own rows; auditors and admins see all of them. `author` is who contributed the item that was moderated.
Completions of short ids are left out; `--action complete_id` shows them.")]
pub(crate) struct Audit {
    /// Only this action
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    limit: u64,
    /// Go on where the page before ended
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    cursor: Option<String>,
}

pub(super) fn run(args: &Audit, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", "/v1/audit")
        .with("action", args.action.as_ref())
        .with("limit", Some(args.limit))
        .with("cursor", args.cursor.as_ref());
    context.output.page(&context.client()?.ask(ask)?, trail)
}

fn trail(value: &Value) -> Sheet {
    let columns = [
        ("time", Kind::Time),
        ("action", Kind::Word),
        ("outcome", Kind::State),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("ids", Kind::Text),
        ("author", Kind::Word),
        ("reason", Kind::Text),
    ];
    let mut sheet = Sheet::new(columns).or("no rows");
    for row in rows(value, "rows") {
        let [time, action, outcome, user, agent, ids, reason] =
            ["time", "action", "outcome", "user", "agent", "ids", "reason"].map(|name| field(row, name));
        let author = row.get("author").unwrap_or(&Value::Null);
        let author = ["user", "agent"].map(|name| field(author, name)).join(" ").trim().to_owned();
        sheet.row([time, action, outcome, user, agent, ids, author, reason]);
    }
    sheet
}
