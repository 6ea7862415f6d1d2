//! `revert`: what an agent wrote in a period, taken back.

use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Take back all that an agent wrote in a period, and what derives from it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion revert market --since 2026-11-15T00:00:00Z --reason \"its feed was poisoned\" --dry-run
  tabellion revert market --since 2026-11-15T00:00:00Z --until 2026-11-16T00:00:00Z --reason \"its feed was poisoned\"
  tabellion revert market --user ana --since yesterday --reason \"ana's key was stolen\"

Private memory is its user's: a moderator's revert counts what the agent wrote there and leaves it. Each of these users
takes it back with a key of their own:
  tabellion revert market --since 2026-11-15T00:00:00Z --reason \"the agent was hacked\"")]
pub(crate) struct Revert {
    /// The agent, by name or id
    agent: String,
    /// From this time on: RFC 3339, a date, "yesterday", "2 days ago", P2D (so long ago)
    #[arg(long, value_name = "TIME")]
    since: String,
    /// Before this time, named likewise (default: now)
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only say what would be retracted
    #[arg(long)]
    dry_run: bool,
    /// Only what it wrote for this user, by name or id
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Count what it wrote as found false, for everybody; otherwise it is for the user who is named, and for nobody without --user
    #[arg(long)]
    found_false: bool,
}

pub(super) fn run(args: &Revert, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body = json!({"since": args.since, "reason": args.reason, "dry_run": args.dry_run});
    set(&mut body, "until", args.until.as_deref());
    set(&mut body, "user", args.user.as_deref());
    if args.found_false
        && let Value::Object(body) = &mut body
    {
        body.insert("found_false".to_owned(), Value::Bool(true));
    }
    let ask = Ask::new("POST", &format!("/v1/agents/{}:revert", segment(&args.agent))).json(&body).long();
    let reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, sheet)?;
    if !context.output.is_json() {
        let all: usize = ["written", "derived"].iter().map(|name| rows(&reply.value, name).len()).sum();
        let listed = rows(&reply.value, "items").len();
        if listed < all {
            context
                .output
                .line(format!("{all} items; the oldest {listed} are listed, --json has the ids of all"))?;
        }
        for left in rows(&reply.value, "private") {
            context.output.line(left_private(args, left))?;
        }
    }
    if !context.output.is_json() {
        let [retracted, rolled_back] = ["retracted", "rolled_back"].map(|name| field(&reply.value, name));
        let skipped = rows(&reply.value, "skipped");
        for one in skipped {
            let [id, message] = ["id", "message"].map(|name| field(one, name));
            context.output.line(format!("{id} was left as it is: {message}"))?;
        }
        let [held, queued] = ["held", "queued"].map(|name| field(&reply.value, name));
        let waited = format!("{held} held and {queued} queued writes");
        let line = if args.dry_run {
            format!("nothing was retracted, and {waited} would be ended; leave --dry-run out to do it")
        } else {
            let left = match skipped.len() {
                0 => String::new(),
                count => format!(", {count} left as they are (the same command again goes on with them)"),
            };
            let flagged = match field(&reply.value, "flagged").as_str() {
                "" | "0" => String::new(),
                count => format!("; {count} that rest on them were flagged (`tabellion flagged`)"),
            };
            format!(
                "{retracted} retracted, {rolled_back} rolled back{left}; {waited} were ended{flagged}; `tabellion history ID` \
                 still shows the versions"
            )
        };
        context.output.line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a revert leaves of a user's private memory, and how that user takes it back.
fn left_private(args: &Revert, left: &Value) -> String {
    let (count, user) =
        (field(left, "count"), left.get("user").map(|user| field(user, "name")).unwrap_or_default());
    let until = args.until.as_ref().map(|until| format!(" --until {until}")).unwrap_or_default();
    format!(
        "{count} private writes for {user} are left: only {user} takes them back, with their own key: `tabellion revert {} --since \
         {}{until} --reason …`",
        args.agent, args.since
    )
}

fn sheet(value: &Value) -> Sheet {
    if !rows(value, "items").is_empty() {
        return planned(rows(value, "items"));
    }
    let mut sheet = Sheet::new([("id", Kind::Word), ("because", Kind::Word)]).or(
        match rows(value, "private").is_empty() {
            true => "the agent wrote nothing that still holds",
            false => "the agent wrote nothing that you may take back",
        },
    );
    for (name, why) in [("written", "written by the agent"), ("derived", "derives from such an item")] {
        for id in rows(value, name).iter().filter_map(Value::as_str) {
            sheet.row([id.to_owned(), why.to_owned()]);
        }
    }
    sheet
}

/// What would be taken back, with who wrote it.
fn planned(items: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Word),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("text", Kind::Text),
        ("because", Kind::Word),
    ];
    let mut sheet = Sheet::new(columns);
    for item in items {
        let [user, agent] = ["user", "agent"].map(|who| item.get(who).map(|one| field(one, "name")));
        let is_derived = item.get("derived").and_then(Value::as_bool) == Some(true);
        let why = if is_derived { "derives from such an item" } else { "written by the agent" };
        let [id, text] = ["id", "text"].map(|name| field(item, name));
        sheet.row([id, user.unwrap_or_default(), agent.unwrap_or_default(), text, why.to_owned()]);
    }
    sheet
}
