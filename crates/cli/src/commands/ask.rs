//! `ask`: a question, answered through one's agents.

use super::set;
use crate::Context;
use crate::client::Ask as Request;
use crate::output::{Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Ask your agents a question; they answer from memory first, then from resources
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion ask \"What does steel cost, and who delivers it?\"
  tabellion ask \"Which suppliers are late?\" --history full
  tabellion ask \"What does steel cost?\" --json")]
pub(crate) struct Ask {
    /// The question
    query: String,
    /// What the coordinator is told of the rounds before: who was asked what, or the answers too
    #[arg(long, default_value = "plan", value_parser = ["plan", "full"])]
    history: String,
    /// At most this many items of your own, and as many shared ones, for each turn
    #[arg(short, value_name = "NUMBER")]
    k: Option<u64>,
}

pub(super) fn run(args: &Ask, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body = json!({"query": args.query, "history": args.history});
    set(&mut body, "k", args.k);
    let reply = context.client()?.ask(Request::new("POST", "/v1/ask").json(&body).long())?;
    context.output.reply(&reply, answered)
}

fn answered(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    sheet.fact("answer", field(value, "answer"));
    for turn in rows(value, "turns") {
        let [name, subquery, write] = ["name", "subquery", "write"].map(|part| field(turn, part));
        let count = |part: &str| rows(turn, part).len();
        let came = match turn.get("answer").is_some_and(Value::is_string) {
            false => "no answer".to_owned(),
            true => format!("{} item(s), {} call(s), written: {write}", count("items"), count("resources")),
        };
        sheet.fact(&name, format!("{subquery} ({came})"));
    }
    sheet.fact("stopped", field(value, "stopped"));
    let usage = value.get("usage").cloned().unwrap_or_default();
    for (name, part) in [
        ("agents", "agents"),
        ("resource calls", "resource_calls"),
        ("own items", "hits_private"),
        ("shared items", "hits_shared"),
    ] {
        sheet.fact(name, field(&usage, part));
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    /// SHARE-24, 27: who was asked what, what came of it, and what it took.
    #[test]
    fn an_answer_shows_its_turns() {
        let value = json!({"answer": "5 EUR", "stopped": "complete",
            "turns": [{"name": "market", "subquery": "price of steel", "answer": "5 EUR", "items": [], "resources": ["kb"],
                       "write": "committed"},
                      {"name": "legal", "subquery": "duties", "answer": null, "items": [], "resources": [], "write": "none"}],
            "usage": {"agents": 2, "resource_calls": 1, "hits_private": 0, "hits_shared": 0}});
        let shown = answered(&value).render(Look { styled: false, width: None });
        for part in [
            "5 EUR",
            "price of steel (0 item(s), 1 call(s), written: committed)",
            "duties (no answer)",
            "complete",
        ] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }
}
