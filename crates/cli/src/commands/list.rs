//! `list`: the items that a key can see.

use super::{Layer, item_sheet, topic_and_text};
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// List the items that this key can see
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion list
  tabellion list --layer semantic --limit 20
  tabellion list --moderate \"who shared this?\"      what everybody shares, for moderators
  tabellion list --quarantined --moderate \"daily look\"   what is in quarantine, and who put it there
  tabellion list --json | jq -r '.items[].id'")]
pub(crate) struct List {
    /// Only this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Only this layer
    #[arg(long, value_enum)]
    layer: Option<Layer>,
    /// At most this many
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
    /// Go on where the page before ended
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    cursor: Option<String>,
    /// List as a moderator, for this reason: all that is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
    /// Only what is in quarantine, with who put it there, when and why; needs --moderate
    #[arg(long, requires = "moderate")]
    quarantined: bool,
}

pub(super) fn run(args: &List, context: &Context) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("GET", "/v1/items")
        .with("namespace", args.namespace.as_ref())
        .with("layer", args.layer)
        .with("limit", args.limit)
        .with("cursor", args.cursor.as_ref())
        .with("moderate", args.moderate.as_ref())
        .with("quarantined", args.quarantined.then_some(true));
    let reply = context.client()?.ask(ask)?;
    context.output.page(&reply, |value| match (args.quarantined, args.moderate.is_some()) {
        (true, _) => quarantined(rows(value, "items")),
        (false, true) => contributed(rows(value, "items")),
        (false, false) => item_sheet(rows(value, "items"), "no items"),
    })
}

/// Shared items with who contributed each.
fn contributed(items: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Word),
        ("layer", Kind::Word),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("text", Kind::Text),
        ("updated", Kind::Date),
    ];
    let mut sheet = Sheet::new(columns).or("no items");
    for item in items {
        let (user, agent) = contributor(item);
        let [id, layer, updated] = ["id", "layer", "updated_at"].map(|name| field(item, name));
        sheet.row([id, layer, user, agent, topic_and_text(item), updated]);
    }
    sheet
}

/// Items in quarantine with who put each there, when and why.
fn quarantined(items: &[Value]) -> Sheet {
    let columns = [
        ("id", Kind::Word),
        ("user", Kind::Word),
        ("agent", Kind::Word),
        ("text", Kind::Text),
        ("by", Kind::Word),
        ("since", Kind::Time),
        ("reason", Kind::Text),
    ];
    let mut sheet = Sheet::new(columns).or("nothing is in quarantine");
    for item in items {
        let (user, agent) = contributor(item);
        let quarantine = item.get("quarantine").unwrap_or(&Value::Null);
        let by = quarantine.get("by").map(|by| field(by, "name")).unwrap_or_default();
        let [since, reason] = ["since", "reason"].map(|name| field(quarantine, name));
        sheet.row([field(item, "id"), user, agent, topic_and_text(item), by, since, reason]);
    }
    sheet
}

/// The names of the user and the agent who contributed an item.
pub(super) fn contributor(item: &Value) -> (String, String) {
    let name = |who: &str| {
        let found = item.get("contributed_by").and_then(|by| by.get(who));
        found.map(|who| field(who, "name")).unwrap_or_default()
    };
    (name("user"), name("agent"))
}
