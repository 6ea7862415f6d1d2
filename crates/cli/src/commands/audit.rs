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
  tabellion audit --user ana --agent market --since yesterday
  tabellion audit --item itm_… --since 2026-11-01 --until 2026-11-08

Users see their own rows; auditors and admins see all of them. `author` is who contributed the item that was moderated; `about` has
the ids, or the policy that was set or removed. --json has the names of users and agents under `names`.
Completions of short ids are left out; `--action complete_id` shows them.")]
pub(crate) struct Audit {
    /// Only this action
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Only what this user did, by name or id
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only what was done through this agent, by name or id
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only what concerned this item, or what else has this id
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Only from this time on: RFC 3339, a date, "yesterday", "2 days ago", P2D (so long ago)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this time, named likewise
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
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
        .with("user", args.user.as_ref())
        .with("agent", args.agent.as_ref())
        .with("item", args.item.as_ref())
        .with("since", args.since.as_ref())
        .with("until", args.until.as_ref())
        .with("limit", Some(args.limit))
        .with("cursor", args.cursor.as_ref());
    context.output.page(&context.client()?.preferring_names().ask(ask)?, trail)
}

fn trail(value: &Value) -> Sheet {
    let columns = [
        ("time", Kind::Time),
        ("action", Kind::Word),
        ("outcome", Kind::State),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("about", Kind::Text),
        ("author", Kind::Word),
        ("reason", Kind::Text),
    ];
    let mut sheet = Sheet::new(columns).or("no rows");
    for row in rows(value, "rows") {
        let [time, action, outcome, user, agent, ids, reason] =
            ["time", "action", "outcome", "user", "agent", "ids", "reason"].map(|name| field(row, name));
        let set = rows(row, "policies").iter().filter(|_| action.ends_with("_policy"));
        let about = set.map(|policy| field(policy, "id")).next().unwrap_or(ids);
        let author = row.get("author").unwrap_or(&Value::Null);
        let author = ["user", "agent"].map(|name| field(author, name)).join(" ").trim().to_owned();
        sheet.row([time, action, outcome, user, agent, about, author, reason]);
    }
    sheet
}
