//! `agent`: the programs that act for users.

use super::set;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The programs that act for users
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Agent {
    Create(Create),
    List(List),
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
    /// Take its own word on which resources it used
    #[arg(long)]
    trust_declared: bool,
}

/// List the agents
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion agent list")]
pub(crate) struct List {}

pub(super) fn run(args: &Agent, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Agent::Create(Create { name, specialisation, trust_declared }) => {
            let mut body = json!({"name": name, "trust_declared": trust_declared});
            set(&mut body, "specialisation", specialisation.as_deref());
            let reply = client.ask(Ask::new("POST", "/v1/agents").json(&body))?;
            context.output.reply(&reply, |agent| sheet(std::slice::from_ref(agent)))
        }
        Agent::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/agents"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "agents")))
        }
    }
}

fn sheet(agents: &[Value]) -> Sheet {
    let columns =
        [("id", Kind::Word), ("name", Kind::Word), ("specialisation", Kind::Text), ("since", Kind::Time)];
    let mut sheet = Sheet::new(columns).or("no agents");
    for agent in agents {
        sheet.row(["id", "name", "specialisation", "created_at"].map(|name| field(agent, name)));
    }
    sheet
}
