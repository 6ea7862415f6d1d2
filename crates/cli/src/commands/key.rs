//! `key`: the credentials of users and agents.

use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The credentials of users and agents
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Key {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Make a key; it is shown this once
///
/// A key of a user and an agent lets the user invoke the agent. Where that was revoked, `tabellion grant` comes first.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tabellion key create [--user NAME] [--agent NAME] [OPTIONS]   (a user, an agent or both)",
    after_help = "\
Examples:
  tabellion key create --user ana                       ana herself
  tabellion key create --user ana --agent market        the agent, acting for ana
  tabellion key create --agent market                   the agent's own, which `tabellion token` exchanges
  export TABELLION_KEY=$(tabellion key create --user ana --json | jq -r .key)"
)]
pub(crate) struct Create {
    /// For this user, by name or id
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// For this agent, by name or id
    #[arg(long, value_name = "NAME", required_unless_present = "user")]
    agent: Option<String>,
    /// No longer than until this time: RFC 3339, a date, "tomorrow", "in 2 days", P2D (so long from now)
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
}

/// List the keys, without their secrets
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion key list")]
pub(crate) struct List {}

/// Revoke a key
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion key revoke key_…")]
pub(crate) struct Revoke {
    /// The key's id, as `key list` shows it
    id: String,
}

pub(super) fn run(args: &Key, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Key::Create(Create { user, agent, expires_at }) => {
            let mut body = json!({});
            set(&mut body, "user", user.as_deref());
            set(&mut body, "agent", agent.as_deref());
            set(&mut body, "expires_at", expires_at.as_deref());
            let reply = client.ask(Ask::new("POST", "/v1/keys").json(&body))?;
            context.output.reply(&reply, created)
        }
        Key::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/keys"))?;
            context.output.reply(&reply, listed)
        }
        Key::Revoke(Revoke { id }) => {
            let reply = client.ask(Ask::new("DELETE", &format!("/v1/keys/{}", segment(id))))?;
            context.output.reply(&reply, |value| {
                let mut sheet = Sheet::facts();
                sheet.fact("revoked", field(value, "id"));
                sheet
            })
        }
    }
}

fn created(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    for name in ["id", "user", "agent", "expires_at", "key"] {
        sheet.fact(name, field(value, name));
    }
    if value.get("granted").and_then(Value::as_bool) == Some(true) {
        let [user, agent] = ["user", "agent"].map(|name| field(value, name));
        sheet.fact(
            "granted",
            format!("{user} may invoke {agent} now; `tabellion revoke ua {user} {agent}` takes that back"),
        );
    }
    sheet.fact("", "the key is shown this once; to use it: export TABELLION_KEY=…");
    sheet
}

fn listed(value: &Value) -> Sheet {
    let columns = [
        ("id", Kind::Word),
        ("status", Kind::State),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("since", Kind::Time),
        ("until", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no keys");
    for key in rows(value, "keys") {
        let [id, user, agent, since, expires, revoked] =
            ["id", "user", "agent", "created_at", "expires_at", "revoked_at"].map(|name| field(key, name));
        let (status, until) = if revoked.is_empty() { ("active", expires) } else { ("revoked", revoked) };
        sheet.row([id, status.into(), user, agent, since, until]);
    }
    sheet
}
