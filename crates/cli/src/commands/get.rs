//! `get`: one item, as it is or as it was.

use super::item_path;
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use serde_json::Value;
use std::process::ExitCode;

/// Show an item, as it is or as it was
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion get itm_…
  tabellion get itm_… --as-of 2026-11-15T00:00:00Z
  tabellion get itm_… --as-of \"2 days ago\"")]
pub(crate) struct Get {
    /// The item
    id: String,
    /// As it stood at this time: RFC 3339, a date, "yesterday", "2 days ago", P2D (so long ago), or a token
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Read as a moderator, for this reason: what is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
}

pub(super) fn run(args: &Get, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", &item_path(&args.id))
        .with("as_of", args.as_of.as_ref())
        .with("moderate", args.moderate.as_ref());
    context.output.reply(&context.client()?.ask(ask)?, item)
}

/// What of an item people want to see; tokens and empty fields are not.
const SHOWN: [&str; 25] = [
    "id",
    "key",
    "text",
    "kind",
    "layer",
    "tier",
    "namespace",
    "confidence",
    "trust",
    "fields",
    "tags",
    "classification",
    "domains",
    "triple",
    "version",
    "operation",
    "status",
    "agents",
    "resources",
    "pinned",
    "created_at",
    "updated_at",
    "expires_at",
    "valid_until",
    "shared_id",
];

fn item(value: &Value) -> Sheet {
    let mut sheet = Sheet::facts();
    for name in SHOWN {
        let shown = field(value, name);
        sheet.fact(name, if shown == "{}" { String::new() } else { shown });
    }
    let (user, agent) = super::list::contributor(value);
    let by = if agent.is_empty() { user } else { format!("{user} through {agent}") };
    sheet.fact("contributed_by", by);
    if let Some(quarantine) = value.get("quarantine").filter(|one| one.is_object()) {
        let by = quarantine.get("by").map(|by| field(by, "name")).unwrap_or_default();
        let [since, reason] = ["since", "reason"].map(|name| field(quarantine, name));
        sheet.fact("quarantine", format!("by {by} since {since}: {reason}"));
    }
    for evidence in crate::output::rows(value, "evidence") {
        let cited = format!("{} {}", field(evidence, "source_type"), field(evidence, "source_uri"));
        let excerpt = field(evidence, "excerpt");
        sheet.fact("evidence", if excerpt.is_empty() { cited } else { format!("{cited}\n“{excerpt}”") });
    }
    for against in crate::output::rows(value, "contradictions") {
        sheet.fact("contradicts", super::with_text(against));
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;
    use serde_json::json;

    #[test]
    fn an_item_is_shown_by_its_facts() {
        let value = json!({
            "id": "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa", "key": "API port", "text": "Port 8080 serves the API", "kind": "note",
            "layer": "episodic", "tier": "private", "namespace": "default", "confidence": 0.8, "trust": "medium",
            "fields": {}, "tags": ["net"], "triple": null, "version": "ver_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "operation": "create", "status": "active", "agents": ["agt_a"], "resources": [], "pinned": false,
            "created_at": "2026-11-15T00:00:00.000000Z", "updated_at": "2026-11-15T00:00:00.000000Z",
            "expires_at": null, "token": "not for people",
            "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "excerpt": "port 8080"}],
        });
        insta::assert_snapshot!("get", item(&value).render(Look { styled: false, width: None }));
    }
}
