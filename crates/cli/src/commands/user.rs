//! `user`: the people of a tenant.

use super::set;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The people of this tenant
#[derive(Debug, clap::Subcommand)]
pub(crate) enum User {
    Create(Create),
    List(List),
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
    }
}

fn sheet(users: &[Value]) -> Sheet {
    let columns = [("id", Kind::Id), ("name", Kind::Word), ("role", Kind::Word), ("since", Kind::Time)];
    let mut sheet = Sheet::new(columns).or("no users");
    for user in users {
        sheet.row(["id", "name", "role", "created_at"].map(|name| field(user, name)));
    }
    sheet
}
