//! `writes`: what became of writes that are not memory.

use super::{show_outcome, topic_and_text};
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Your writes that are not memory: put off, or refused
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Writes {
    List(List),
    Show(Show),
    Reopen(Reopen),
}

/// List your writes that were put off or refused, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion writes list
  tabellion writes list --json | jq -r '.writes[] | .id + \" \" + (.code // \"\")'")]
pub(crate) struct List {}

/// Show one of them, and why it is not memory
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion writes show ref_…
  tabellion writes show def_…")]
pub(crate) struct Show {
    /// The write, as its refusal or deferral named it
    id: String,
}

/// Send a refused write through the gates once more
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion writes reopen ref_…                         after what stood in its way is gone")]
pub(crate) struct Reopen {
    /// The write
    id: String,
}

pub(super) fn run(args: &Writes, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Writes::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/writes"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "writes")))
        }
        Writes::Show(Show { id }) => {
            context.output.reply(&client.ask(Ask::new("GET", &write_path(id)))?, facts)
        }
        Writes::Reopen(Reopen { id }) => {
            // It may be held for a person, and then its answer takes as long as a write's.
            let ask = Ask::new("POST", &format!("{}:reopen", write_path(id))).long();
            show_outcome(context, &client.ask(ask)?)
        }
    }
}

fn write_path(id: &str) -> String {
    format!("/v1/writes/{}", segment(id))
}

fn sheet(writes: &[Value]) -> Sheet {
    let mut sheet = Sheet::new([
        ("id", Kind::Word),
        ("state", Kind::State),
        ("why", Kind::State),
        ("text", Kind::Text),
        ("since", Kind::Time),
        ("next try", Kind::Time),
    ])
    .or("no writes are kept for you");
    for kept in writes {
        let text = kept.get("write").map(topic_and_text).unwrap_or_default();
        let [id, state, code, since, due] =
            ["id", "state", "code", "created_at", "due"].map(|name| field(kept, name));
        sheet.row([id, state, code, text, since, due]);
    }
    sheet
}

fn facts(kept: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    for name in ["id", "state", "code", "gate", "message", "due", "attempts", "created_at", "expires_at"] {
        sheet.fact(name, field(kept, name));
    }
    let write = kept.get("write").unwrap_or(&Value::Null);
    for name in write.as_object().into_iter().flat_map(|members| members.keys()) {
        sheet.fact(&format!("write.{name}"), field(write, name));
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;
    use serde_json::json;

    #[test]
    fn a_kept_write_says_what_stood_in_its_way() {
        let kept = json!({
            "id": "ref_a", "state": "refused", "gate": "evidence", "code": "EVIDENCE_INSUFFICIENT",
            "message": "no evidence", "created_at": "2026-11-15T00:00:00.000000Z", "attempts": 0,
            "expires_at": "2026-12-15T00:00:00.000000Z", "write": {"text": "a fact", "layer": "semantic"},
        });
        let look = Look { styled: false, width: None };
        let listed = sheet(std::slice::from_ref(&kept)).render(look);
        assert!(
            ["ref_a", "refused", "EVIDENCE_INSUFFICIENT", "a fact"].iter().all(|part| listed.contains(part)),
            "{listed}"
        );
        let shown = facts(&kept).render(look);
        assert!(
            ["no evidence", "write.layer", "semantic"].iter().all(|part| shown.contains(part)),
            "{shown}"
        );
    }
}
