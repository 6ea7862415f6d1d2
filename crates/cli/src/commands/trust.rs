//! `trust`: how far what is remembered can be trusted, and why.

use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Output, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Show how far things can be trusted: one item, or all of a namespace
///
/// Of an item: low, medium or high, and why. Of a namespace: the writes that are kept apart, and with the key of an auditor what a
/// write has to reach there and how credible the agents are that writes are held against. Numbers are for auditors alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion trust itm_…
  tabellion trust --namespace launch
  tabellion trust --recalibrate
  tabellion trust --json | jq -r '.staged[].review'")]
pub(crate) struct Trust {
    /// The item, or the one that a waiting write will be (default: the whole namespace)
    item: Option<String>,
    /// Which namespace (default: default)
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Score again what is due, and say how many moved; for those who manage policies
    #[arg(long, conflicts_with_all = ["item", "namespace"])]
    recalibrate: bool,
}

pub(super) fn run(args: &Trust, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    if args.recalibrate {
        let reply = client.ask(Ask::new("POST", "/v1/trust:recalibrate"))?;
        return context.output.reply(&reply, |value| {
            let mut sheet = Sheet::facts();
            sheet.fact("moved", field(value, "moved"));
            sheet
        });
    }
    let ask = Ask::new("GET", "/v1/trust")
        .with("namespace", args.namespace.as_ref())
        .with("item", args.item.as_ref());
    let reply = client.ask(ask)?;
    if context.output.is_json() {
        context.output.raw_json(&reply.text)?;
    } else {
        context.output.line(page(&context.output.shown(&reply), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(value: &Value, output: &Output) -> String {
    if let Some(item) = value.get("item") {
        return output.rendered(&one(item));
    }
    let spaces = rows(value, "spaces");
    let mut parts = Vec::new();
    if !spaces.is_empty() {
        parts.push(("What a write has to reach", gates(spaces)));
        parts.push(("Whom writes are held against", auditors(spaces)));
    }
    parts.push(("Kept apart, or waiting", staged(rows(value, "staged"))));
    let part =
        |(title, sheet): (&str, Sheet)| format!("{}\n{}", output.strong(title), output.rendered(&sheet));
    parts.into_iter().map(part).collect::<Vec<_>>().join("\n\n")
}

fn one(item: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    for name in ["id", "trust", "status"] {
        sheet.fact(name, field(item, name));
    }
    for reason in rows(item, "reasons").iter().filter_map(Value::as_str) {
        sheet.fact("because", reason);
    }
    let named = [
        ("rho", "rho"),
        ("spoke for it", "evidence"),
        ("spoke at all", "count"),
        ("scored first", "scored"),
        ("had to reach", "threshold"),
        ("fits what is known", "detect"),
        ("fits what others find", "align"),
        ("leaves them what they find", "agreed"),
    ];
    for (name, of) in named {
        sheet.fact(name, share(item, of));
    }
    sheet
}

fn gates(spaces: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([
        ("kind", Kind::Word),
        ("gate", Kind::Number),
        ("window", Kind::Number),
        ("scored", Kind::Number),
        ("state", Kind::State),
        ("agents", Kind::Text),
    ]);
    for space in spaces {
        let state = if field(space, "cold") == "yes" { "cold" } else { "warm" };
        let [kind, window, rounds, agents] =
            ["kind", "window", "rounds", "agents"].map(|name| field(space, name));
        sheet.row([kind, share(space, "threshold"), window, rounds, state.to_owned(), agents]);
    }
    sheet
}

fn auditors(spaces: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([("agent", Kind::Word), ("credibility", Kind::Number), ("among", Kind::Text)])
        .or("nobody was asked yet");
    for space in spaces {
        for auditor in rows(space, "auditors") {
            sheet.row([field(auditor, "agent"), share(auditor, "credibility"), field(space, "agents")]);
        }
    }
    sheet
}

fn staged(staged: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([
        ("trust", Kind::State),
        ("rho", Kind::Number),
        ("item", Kind::Word),
        ("review", Kind::Word),
    ])
    .or("nothing that you may see");
    for one in staged {
        let [trust, id, review] = ["trust", "id", "review"].map(|name| field(one, name));
        sheet.row([trust, share(one, "rho"), id, review]);
    }
    sheet
}

/// A number as people compare it; nothing where there is none.
fn share(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_f64).map(|number| format!("{number:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::When;
    use serde_json::json;

    fn shown(value: &Value) -> String {
        page(value, &Output::new(false, When::Never, false))
    }

    /// CAL-41: whoever does not audit is shown what waits, and no column of numbers is filled.
    #[test]
    fn a_namespace_for_everyone_and_for_auditors() {
        let waits = json!({"review": "rev_a", "id": "itm_a", "trust": "low"});
        let plain = shown(&json!({"namespace": "default", "staged": [waits], "spaces": []}));
        assert!(
            plain.contains("itm_a") && plain.contains("rev_a") && !plain.contains("credibility"),
            "{plain}"
        );
        let space = json!({"kind": "items", "agents": ["a", "b"], "rounds": 40, "threshold": 0.4321, "cold": false, "window": 31,
                           "auditors": [{"agent": "b", "credibility": 0.91}]});
        let told = shown(&json!({"namespace": "default", "staged": [], "spaces": [space]}));
        for part in ["0.432", "31", "warm", "a, b", "0.910", "nothing that you may see"] {
            assert!(told.contains(part), "{part} in\n{told}");
        }
    }

    #[test]
    fn an_item_says_why() {
        let item = json!({"id": "itm_a", "trust": "low", "status": "staged", "reasons": ["it does not fit what is known yet"]});
        let shown = shown(&json!({"namespace": "default", "item": item, "staged": [], "spaces": []}));
        assert!(
            shown.contains("because") && shown.contains("it does not fit") && !shown.contains("rho"),
            "{shown}"
        );
    }
}
