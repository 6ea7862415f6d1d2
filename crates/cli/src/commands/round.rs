//! `round`: a piece of work that several agents share.

use super::set;
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Declare a round: a piece of work, such as a debate, that several agents share
///
/// Its id is the trace of the work: agents that search and write with it as `trace_id` take part. What they write is the work of all of
/// them, or with `--visibility own` each writer's own, held against what the others search for. A round lasts a day, and is forgotten when the server stops.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion round --goal \"Which database do we take?\" --agent finance --agent platform
  tabellion round --goal \"Compare offers\" --agent finance --agent platform --visibility own
  tabellion round --goal \"Review the launch plan\" --agent a --agent b --item itm_… --text \"The plan slips a week\"
  tabellion write \"Both meet the load\" --trace-id \"$(tabellion round --goal \"…\" --agent a --json | jq -r .id)\"")]
pub(crate) struct Round {
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    goal: String,
    /// An agent that takes part, by name or id; may be repeated
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// An item that it is about; may be repeated
    #[arg(long = "item", value_name = "ITEM")]
    items: Vec<String>,
    /// A text that it is about; may be repeated
    #[arg(long = "text", value_name = "TEXT")]
    texts: Vec<String>,
    /// Which namespace it works in (default: default)
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Who sees what is written in it: all who may invoke every agent that takes part, or who would see the writer's own work (default: all)
    #[arg(long, value_name = "WHO", value_parser = ["all", "own"])]
    visibility: Option<String>,
}

pub(super) fn run(args: &Round, context: &Context) -> anyhow::Result<ExitCode> {
    let reply = context.client()?.ask(Ask::new("POST", "/v1/rounds").json(&body(args)))?;
    context.output.reply(&reply, declared)
}

fn body(args: &Round) -> Value {
    let mut body =
        json!({"goal": args.goal, "agents": args.agents, "items": args.items, "texts": args.texts});
    set(&mut body, "namespace", args.namespace.as_deref());
    set(&mut body, "visibility", args.visibility.as_deref());
    body
}

fn declared(value: &Value) -> Sheet {
    let id = field(value, "id");
    let mut sheet = Sheet::facts();
    sheet.fact("id", id.as_str());
    for agent in rows(value, "agents").iter().filter_map(Value::as_str) {
        sheet.fact("takes part", agent);
    }
    sheet.fact("namespace", field(value, "namespace"));
    let seen_by = match field(value, "visibility").as_str() {
        "own" => "who may invoke the writer's agent",
        _ => "who may invoke every agent that takes part",
    };
    sheet.fact("seen by", seen_by);
    sheet.fact("until", field(value, "expires_at"));
    sheet.fact("search", format!("tabellion search \"…\" --trace-id {id}   with the key of an agent"));
    sheet.fact("write", format!("tabellion write \"…\" --trace-id {id}"));
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    /// CAL-40: who declares a round is told what to do with its id.
    #[test]
    fn a_round_says_how_to_take_part() {
        let value = json!({"id": "rnd_a", "agents": ["agt_a", "agt_b"], "namespace": "default",
                           "expires_at": "2026-11-16T00:00:00.000000Z", "visibility": "own"});
        let shown = declared(&value).render(Look { styled: false, width: None });
        assert!(shown.contains("agt_b") && shown.contains("--trace-id rnd_a"), "{shown}");
        assert!(shown.contains("the writer's agent"), "{shown}");
    }
}
