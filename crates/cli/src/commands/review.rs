//! `review`: writes that wait for a person, and the person's word on them.

mod show;

use super::{show_outcome, topic_and_text};
use crate::Context;
use crate::client::{Ask, Client, Reply, segment};
use crate::output::{Kind, Sheet, field, rows};
use anyhow::bail;
use serde_json::{Value, json};
use std::process::ExitCode;
use tabellion_server::dossier::{is_kept_apart, visible};

/// Decide on writes that wait for a person
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Review {
    List(List),
    Show(Show),
    Next(Next),
    Approve(Approve),
    Reject(Reject),
    Withdraw(Withdraw),
}

/// List the writes that wait for a person, the riskiest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review list
  tabellion review list --state rejected
  tabellion review list --json | jq -r '.reviews[].id'")]
pub(crate) struct List {
    /// Which ones
    #[arg(long, default_value = "pending", value_name = "STATE",
          value_parser = ["pending", "approved", "rejected", "withdrawn", "timed_out", "archived", "all"])]
    state: String,
    /// List as a moderator, for this reason: what waits for the shared memory, of anybody
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

/// Show a held write with all that speaks for and against it
///
/// Its text as it was written, what would change word by word, its evidence, what it contradicts, and what makes it risky.
/// Characters that hide or steer are shown by their names.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review show rev_…
  tabellion review show rev_… --json")]
pub(crate) struct Show {
    /// The review
    id: String,
    /// Read as a moderator, for this reason: what waits for the shared memory, of anybody
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

/// Show the riskiest write that waits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review next
  tabellion review approve \"$(tabellion review next --json | jq -r .id)\" --reason \"checked\"")]
pub(crate) struct Next {}

/// Say yes: the write passes the gates once more and is committed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review approve rev_… --reason \"checked with the vendor\"
  tabellion review approve rev_… --on-conflict keep_both --reason \"both are true\"
  tabellion review approve rev_… --content-hash 5f3c… --reason \"as it was shown to me\"")]
pub(crate) struct Approve {
    #[command(flatten)]
    on: Decided,
    /// What becomes of what the write contradicts (default: as the write asked; superseded if it asked nothing)
    #[arg(long, value_name = "OUTCOME", value_parser = ["supersede", "keep_both"])]
    on_conflict: Option<String>,
}

/// Say no: the write is not remembered, and its author is told why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review reject rev_… --reason \"the port is 8080\" --false
  tabellion review reject rev_… --reason \"not for this memory\" --policy-violation")]
pub(crate) struct Reject {
    #[command(flatten)]
    on: Decided,
    /// What it says is not so: this counts against the agent
    #[arg(long = "false", conflicts_with = "policy_violation")]
    is_false: bool,
    /// It breaks a rule of yours
    #[arg(long)]
    policy_violation: bool,
}

/// Take back a write of your own that waits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion review withdraw rev_…")]
pub(crate) struct Withdraw {
    /// The review
    id: String,
}

/// What every decision has.
#[derive(Debug, clap::Args)]
struct Decided {
    /// The review
    id: String,
    /// Why; kept with the decision
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Decide only on this content, as `review show` names it (default: whatever the review holds)
    #[arg(long, value_name = "HASH")]
    content_hash: Option<String>,
}

pub(super) fn run(args: &Review, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Review::List(List { state, moderate }) => {
            let reply = ask_list(&client, Some(state), moderate.as_deref())?;
            context.output.reply(&reply, |value| sheet(rows(value, "reviews")))
        }
        Review::Show(Show { id, moderate }) => {
            show::run(context, &client, &ask_one(&client, id, moderate.as_deref())?)
        }
        Review::Next(Next {}) => next(context, &client),
        Review::Approve(Approve { on, on_conflict }) => {
            let mut body = json!({"decision": "approve"});
            super::set(&mut body, "on_conflict", on_conflict.as_deref());
            decide(context, &client, on, body)
        }
        Review::Reject(Reject { on, is_false, policy_violation }) => {
            let category = match (is_false, policy_violation) {
                (true, _) => "FACTUAL_ERROR",
                (false, true) => "POLICY_VIOLATION",
                (false, false) => "OTHER",
            };
            decide(context, &client, on, json!({"decision": "reject", "category": category}))
        }
        Review::Withdraw(Withdraw { id }) => {
            show_outcome(context, &client.ask(Ask::new("DELETE", &review_path(id)))?)
        }
    }
}

fn review_path(id: &str) -> String {
    format!("/v1/reviews/{}", segment(id))
}

fn ask_list(client: &Client, state: Option<&str>, moderate: Option<&str>) -> anyhow::Result<Reply> {
    Ok(client.ask(Ask::new("GET", "/v1/reviews").with("state", state).with("moderate", moderate))?)
}

fn ask_one(client: &Client, id: &str, moderate: Option<&str>) -> anyhow::Result<Reply> {
    Ok(client.ask(Ask::new("GET", &review_path(id)).with("moderate", moderate))?)
}

fn next(context: &Context, client: &Client) -> anyhow::Result<ExitCode> {
    let waiting = ask_list(client, Some("pending"), None)?;
    let Some(first) = rows(&waiting.value, "reviews").first() else {
        if !context.output.is_json() {
            context.output.line("nothing waits for you")?;
            return Ok(ExitCode::SUCCESS);
        }
        bail!("nothing waits for you");
    };
    show::run(context, client, &ask_one(client, &field(first, "id"), None)?)
}

/// Decides. The review is not read for that: what the person was shown of it before is what counts.
fn decide(context: &Context, client: &Client, on: &Decided, mut body: Value) -> anyhow::Result<ExitCode> {
    super::set(&mut body, "reason", Some(on.reason.as_str()));
    super::set(&mut body, "content_hash", on.content_hash.as_deref());
    let ask = Ask::new("POST", &format!("{}:decide", review_path(&on.id))).json(&body);
    show_outcome(context, &client.ask(ask)?)
}

/// Reviews as a table.
pub(super) fn sheet(reviews: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([
        ("risk", Kind::Number),
        ("state", Kind::State),
        ("id", Kind::Word),
        ("layer", Kind::Word),
        ("text", Kind::Text),
        ("deadline", Kind::Time),
    ])
    .or("no reviews");
    for review in reviews {
        let risk = review.get("risk").and_then(Value::as_f64).unwrap_or_default();
        let text = visible(&review.get("item").map(topic_and_text).unwrap_or_default());
        let [id, layer, deadline] = ["id", "layer", "deadline"].map(|name| field(review, name));
        sheet.row([format!("{risk:.3}"), state(review), id, layer, text, deadline]);
    }
    sheet
}

/// How a review stands: whether somebody waits for it, and whether it is late.
fn state(review: &Value) -> String {
    let state = field(review, "state");
    let is = |name: &str, value: &str| field(review, name) == value;
    match state.as_str() {
        "pending" if !rows(review, "approvals").is_empty() => {
            format!("{} of {}", rows(review, "approvals").len(), field(review, "approvals_min"))
        }
        "pending" if is("overdue", "yes") => "overdue".to_owned(),
        "pending" if is_kept_apart(review) => "kept apart".to_owned(),
        "pending" if is("hold", "sync") => "writer waits".to_owned(),
        _ => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    #[test]
    fn the_list_says_what_is_urgent() {
        let review = |id: &str, hold: &str, overdue: bool| {
            json!({"id": id, "state": "pending", "hold": hold, "overdue": overdue, "risk": 0.359, "layer": "episodic",
                   "item": {"key": "API port", "text": "Port 9090"}, "deadline": "2026-11-18T00:00:00.000000Z"})
        };
        let reviews =
            [review("rev_a", "sync", false), review("rev_b", "async", true), review("rev_c", "async", false)];
        let shown = sheet(&reviews).render(Look { styled: false, width: None });
        for part in
            ["0.359", "writer waits", "overdue", "pending", "API port: Port 9090", "2026-11-18 00:00:00Z"]
        {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
        let mut apart = review("rev_d", "async", false);
        apart["causes"] =
            json!([{"gate": "calibration", "code": "CALIBRATION_STAGED", "message": "it does not fit"}]);
        assert!(sheet(&[apart]).render(Look { styled: false, width: None }).contains("kept apart"));
        assert_eq!(sheet(&[]).render(Look { styled: false, width: None }), "no reviews");
    }
}
