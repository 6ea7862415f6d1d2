//! `access`: who sees what, for auditors.

use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Who sees an item, and what a user sees, now or then
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Access {
    Who(Who),
    What(What),
}

/// List who sees an item, and through which agents
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion access who itm_…
  tabellion access who itm_… --at 2026-11-15T00:00:00Z")]
pub(crate) struct Who {
    /// The item
    item: String,
    /// As of then: a time or a token (default: now)
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

/// List the items that a user sees, by id alone
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion access what ana                             all that ana sees as a person
  tabellion access what ana --agent market --at 2026-11-15T00:00:00Z")]
pub(crate) struct What {
    /// The user, by name or id
    user: String,
    /// Through this agent, by name or id (default: as a person)
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// As of then: a time or a token (default: now)
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(super) fn run(args: &Access, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Access::Who(Who { item, at }) => {
            let ask = Ask::new("GET", "/v1/access/who").with("item", Some(item)).with("at", at.as_ref());
            context.output.reply(&client.ask(ask)?, |value| pairs(rows(value, "pairs")))
        }
        Access::What(What { user, agent, at }) => {
            let ask = Ask::new("GET", "/v1/access/what")
                .with("user", Some(user))
                .with("agent", agent.as_ref())
                .with("at", at.as_ref());
            context.output.reply(&client.ask(ask)?, |value| items(rows(value, "items")))
        }
    }
}

fn pairs(pairs: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([("user", Kind::Word), ("agent", Kind::Word)]).or("nobody");
    for pair in pairs {
        for agent in rows(pair, "agents").iter().filter_map(Value::as_str) {
            sheet.row([field(pair, "user"), agent.to_owned()]);
        }
    }
    sheet
}

fn items(items: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([("id", Kind::Word)]).or("nothing");
    for item in items.iter().filter_map(Value::as_str) {
        sheet.row([item.to_owned()]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;
    use serde_json::json;

    #[test]
    fn each_agent_has_a_line() {
        let seen = [json!({"user": "usr_a", "agents": ["agt_a", "agt_b"]})];
        let shown = pairs(&seen).render(Look { styled: false, width: None });
        assert!(shown.contains("agt_a") && shown.contains("agt_b"), "{shown}");
        assert!(pairs(&[]).render(Look { styled: false, width: None }).contains("nobody"));
    }
}
