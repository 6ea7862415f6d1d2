//! `user`: the people of a tenant.

use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The people of this tenant
#[derive(Debug, clap::Subcommand)]
pub(crate) enum User {
    Create(Create),
    List(List),
    Role(Role),
    Disable(Disable),
    Enable(Enable),
}

/// Make a user
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion user create ana
  tabellion user create olga --role auditor
  tabellion key create --user ana                       a key for her")]
pub(crate) struct Create {
    /// A name that no other user has
    name: String,
    /// What the user may administer (default: member)
    #[arg(long, value_parser = ["member", "auditor", "admin"])]
    role: Option<String>,
}

/// List the users
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion user list")]
pub(crate) struct List {}

/// Change what a user may administer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion user role ana admin
  tabellion user role ana member --reason \"moved to another team\"")]
pub(crate) struct Role {
    /// The user, by name or id
    name: String,
    /// What the user may administer from now on
    #[arg(value_parser = ["member", "auditor", "admin"])]
    role: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Take no key or token of a user any more; what the user shared stays
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion user disable ana --reason \"left the company\"
  tabellion user enable ana")]
pub(crate) struct Disable {
    /// The user, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Take the keys and tokens of a user again
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion user enable ana")]
pub(crate) struct Enable {
    /// The user, by name or id
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Does something to a user, and shows what the user is then.
fn act(
    context: &Context,
    name: &str,
    verb: &str,
    mut body: Value,
    reason: Option<&str>,
) -> anyhow::Result<ExitCode> {
    set(&mut body, "reason", reason);
    let ask = Ask::new("POST", &format!("/v1/users/{}:{verb}", segment(name))).json(&body);
    let reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, |user| sheet(std::slice::from_ref(user)))
}

pub(super) fn run(args: &User, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        User::Create(Create { name, role }) => {
            let mut body = json!({"name": name});
            set(&mut body, "role", role.as_deref());
            let reply = client.ask(Ask::new("POST", "/v1/users").json(&body))?;
            context.output.reply(&reply, |user| sheet(std::slice::from_ref(user)))
        }
        User::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/users"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "users")))
        }
        User::Role(Role { name, role, reason }) => {
            act(context, name, "role", json!({"role": role}), reason.as_deref())
        }
        User::Disable(Disable { name, reason }) => {
            act(context, name, "disable", json!({}), reason.as_deref())
        }
        User::Enable(Enable { name, reason }) => act(context, name, "enable", json!({}), reason.as_deref()),
    }
}

fn sheet(users: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Id),
        ("name", Kind::Word),
        ("role", Kind::Word),
        ("status", Kind::State),
        ("since", Kind::Time),
    ];
    let mut sheet = Sheet::new(columns).or("no users");
    for user in users {
        sheet.row(["id", "name", "role", "status", "created_at"].map(|name| field(user, name)));
    }
    sheet
}
