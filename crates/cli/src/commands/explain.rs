//! `explain`: why an item is seen, or is not.

use super::{item_path, set};
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Explain why you see an item, or as an auditor why somebody else does or does not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion explain itm_…
  tabellion explain itm_… --user ana --agent market     for auditors
  tabellion explain itm_… --user ana --at 2026-11-15T00:00:00Z")]
pub(crate) struct Explain {
    /// The item
    item: String,
    /// Whether this user sees it, by name or id
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Through this agent, by name or id (default: as a person)
    #[arg(long, value_name = "AGENT", requires = "user")]
    agent: Option<String>,
    /// As of then: a time or a token (default: now)
    #[arg(long, value_name = "TIME", requires = "user")]
    at: Option<String>,
}

pub(super) fn run(args: &Explain, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = match &args.user {
        None => Ask::new("GET", &format!("{}/explain", item_path(&args.item))),
        Some(user) => {
            let mut body = json!({"item": args.item, "user": user});
            set(&mut body, "agent", args.agent.as_deref());
            set(&mut body, "at", args.at.as_deref());
            Ask::new("POST", "/v1/explain").json(&body)
        }
    };
    context.output.reply(&context.client()?.ask(ask)?, explained)
}

fn explained(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    for name in ["id", "version", "visible", "tier"] {
        sheet.fact(name, field(value, name));
    }
    for (name, said) in [("agents", "contributed by"), ("resources", "consulted")] {
        for id in rows(value, name).iter().filter_map(Value::as_str) {
            sheet.fact(said, id);
        }
    }
    for one in rows(value, "hindrances") {
        let [reason, id] = ["reason", "id"].map(|name| field(one, name));
        sheet.fact("hidden by", format!("{reason} {id}").trim_end());
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    #[test]
    fn what_hides_an_item_is_named() {
        let value = json!({"id": "itm_a", "version": "ver_a", "visible": false, "tier": "private", "agents": ["agt_a"],
                           "resources": ["res_a"], "hindrances": [{"reason": "agent_revoked", "id": "agt_a"}, {"reason": "private"}]});
        let shown = explained(&value).render(Look { styled: false, width: None });
        for part in ["visible         no", "contributed by", "res_a", "agent_revoked agt_a", "private"] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }
}
