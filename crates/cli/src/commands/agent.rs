//! `agent`: the programs that act for users.

use super::policy::done;
use super::{set, topic_and_text};
use crate::Context;
use crate::client::{Ask, Reply, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The programs that act for users
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Agent {
    Create(Create),
    List(List),
    Suspend(Suspend),
    Resume(Resume),
    Retire(Retire),
    Activate(Activate),
    Delete(Delete),
    Feedback(Feedback),
}

/// Make an agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent create market --specialisation \"prices and demand\"
  tabellion key create --user ana --agent market        a key with which it acts for ana")]
pub(crate) struct Create {
    /// A name that no other agent has
    name: String,
    /// What it is good at
    #[arg(long, value_name = "TEXT")]
    specialisation: Option<String>,
    /// Its family of models, such as gpt or llama: agents of one family may share their mistakes
    #[arg(long, value_name = "NAME")]
    family: Option<String>,
    /// Take its own word on which resources it used
    #[arg(long)]
    trust_declared: bool,
}

/// List the agents
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion agent list")]
pub(crate) struct List {}

/// Forbid an agent to write; it may still read
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent suspend market --reason \"its feed was poisoned\"
  tabellion revert market --since 2026-11-15T00:00:00Z --reason \"its feed was poisoned\"")]
pub(crate) struct Suspend {
    /// The agent, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Let an agent write again that is suspended, or whose writes are held
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent resume market
  tabellion agent resume market --reason \"the feed was mended\"
  tabellion agent resume market --user ana --reason \"a new task\"    ends what holds it for ana alone")]
pub(crate) struct Resume {
    /// The agent, by name or id
    name: String,
    /// Only for this user, by name or id
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Let nobody act through an agent any more; what it taught stays
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent retire market --reason \"replaced by market2\"
  tabellion agent activate market --reason \"needed again\"")]
pub(crate) struct Retire {
    /// The agent, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Put a retired agent back to work
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent activate market --reason \"needed again\"")]
pub(crate) struct Activate {
    /// The agent, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// End an agent for good: its edges end, and what it taught is hidden
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent delete market --reason \"its maker withdrew it\"
  tabellion agent retire market --reason \"…\"            keeps what it taught")]
pub(crate) struct Delete {
    /// The agent, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Show what people said of an agent's writes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion agent feedback market
  tabellion agent feedback market --json | jq .reputation")]
pub(crate) struct Feedback {
    /// The agent, by name or id
    name: String,
}

pub(super) fn run(args: &Agent, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Agent::Create(Create { name, specialisation, family, trust_declared }) => {
            let mut body = json!({"name": name, "trust_declared": trust_declared});
            set(&mut body, "specialisation", specialisation.as_deref());
            set(&mut body, "family", family.as_deref());
            let reply = client.ask(Ask::new("POST", "/v1/agents").json(&body))?;
            context.output.reply(&reply, |agent| sheet(std::slice::from_ref(agent)))
        }
        Agent::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/agents"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "agents")))
        }
        Agent::Suspend(Suspend { name, reason }) => act(context, name, ("suspend", "suspended"), reason),
        Agent::Resume(Resume { name, user, reason }) => {
            let mut body = json!({});
            set(&mut body, "reason", reason.as_deref());
            set(&mut body, "user", user.as_deref());
            let path = format!("/v1/agents/{}:resume", segment(name));
            let reply = client.ask(Ask::new("POST", &path).json(&body))?;
            context.output.reply(&reply, |_| done("resumed", name))
        }
        Agent::Retire(Retire { name, reason }) => act(context, name, ("retire", "retired"), reason),
        Agent::Activate(Activate { name, reason }) => act(context, name, ("activate", "active"), reason),
        Agent::Delete(Delete { name, reason }) => act(context, name, ("delete", "deleted"), reason),
        Agent::Feedback(Feedback { name }) => {
            let reply = client.ask(Ask::new("GET", &format!("/v1/agents/{}/feedback", segment(name))))?;
            show_feedback(context, &reply)
        }
    }
}

fn act(
    context: &Context,
    name: &str,
    (verb, status): (&str, &str),
    reason: &str,
) -> anyhow::Result<ExitCode> {
    let ask =
        Ask::new("POST", &format!("/v1/agents/{}:{verb}", segment(name))).json(&json!({"reason": reason}));
    let reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, |_| done(status, name))
}

fn show_feedback(context: &Context, reply: &Reply) -> anyhow::Result<ExitCode> {
    context.output.reply(reply, decided)?;
    let shown = context.output.shown(reply);
    let rejections = rows(&shown, "rejections");
    if !context.output.is_json() && !rejections.is_empty() {
        context.output.line(format!("\n{}", context.output.strong("Refused by people")))?;
        context.output.sheet(&refused(rejections))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn decided(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    sheet.fact("agent", field(value, "agent"));
    let reputation = value.get("reputation").and_then(Value::as_f64);
    sheet
        .fact("reputation", reputation.map_or("too few decisions".to_owned(), |share| format!("{share:.3}")));
    for layer in rows(value, "decided") {
        let [name, approved, rejected] = ["layer", "approved", "rejected"].map(|name| field(layer, name));
        sheet.fact(&name, format!("{approved} approved, {rejected} rejected"));
    }
    for topic in rows(value, "topics") {
        let [layer, name, approved, rejected] =
            ["layer", "topic", "approved", "rejected"].map(|name| field(topic, name));
        sheet.fact(&format!("{name} ({layer})"), format!("{approved} approved, {rejected} rejected"));
    }
    sheet
}

fn refused(rejections: &[Value]) -> Sheet {
    let columns =
        [("id", Kind::Word), ("decision", Kind::State), ("text", Kind::Text), ("reason", Kind::Text)];
    let mut sheet = Sheet::new(columns);
    for review in rejections {
        let text = review.get("item").map(topic_and_text).unwrap_or_default();
        let [id, decision, reason] = ["id", "decision", "reason"].map(|name| field(review, name));
        sheet.row([id, decision, text, reason]);
    }
    sheet
}

/// Who suspended an agent, since when and why; nothing if nobody did.
fn suspended(agent: &Value) -> String {
    let Some(suspension) = agent.get("suspended").filter(|one| one.is_object()) else { return String::new() };
    let by = suspension.get("by").map(|by| field(by, "name")).filter(|name| !name.is_empty());
    let (by, reason) = (by.unwrap_or_else(|| "the server".to_owned()), field(suspension, "reason"));
    let why = if reason.is_empty() { reason } else { format!(": {reason}") };
    format!("by {by} since {}{why}", field(suspension, "since"))
}

fn sheet(agents: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Id),
        ("name", Kind::Word),
        ("status", Kind::State),
        ("suspended", Kind::Text),
        ("specialisation", Kind::Text),
        ("since", Kind::Time),
        ("holds", Kind::Text),
    ];
    let mut sheet = Sheet::new(columns).or("no agents");
    for agent in agents {
        let [id, name, status, specialisation, since] =
            ["id", "name", "status", "specialisation", "created_at"].map(|name| field(agent, name));
        sheet.row([id, name, status, suspended(agent), specialisation, since, holds(agent)]);
    }
    sheet
}

/// For whom an agent's writes are held or suspended, why and until when.
fn holds(agent: &Value) -> String {
    let one = |hold: &Value| {
        let user = hold.get("user").map(|user| field(user, "name")).unwrap_or_default();
        let [action, reason, until] = ["action", "reason", "until"].map(|name| field(hold, name));
        format!("{action} for {user}: {reason}, until {until}")
    };
    rows(agent, "holds").iter().map(one).collect::<Vec<_>>().join("; ")
}
