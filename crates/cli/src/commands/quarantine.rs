//! `quarantine`: an item under suspicion.

use super::{item_path, reason};
use crate::Context;
use crate::client::{Ask, Reply};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;

/// Put an item under quarantine: it is kept, and nobody retrieves it
///
/// Names the items that derive from it, which should be looked at again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion quarantine itm_… --reason \"its source was forged\"
  tabellion release itm_…                               back again")]
pub(crate) struct Quarantine {
    /// The item
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Quarantine, context: &Context) -> anyhow::Result<ExitCode> {
    put(context, &args.id, "quarantine", args.reason.as_deref())
}

/// Puts an item under quarantine or takes it out, and names what depends on it.
pub(super) fn put(context: &Context, id: &str, verb: &str, why: Option<&str>) -> anyhow::Result<ExitCode> {
    let ask = Ask::new("POST", &format!("{}:{verb}", item_path(id))).json(&reason(why));
    let reply: Reply = context.client()?.ask(ask)?;
    context.output.reply(&reply, sheet)
}

fn sheet(value: &Value) -> Sheet {
    let mut sheet = Sheet::new([("status", Kind::State), ("id", Kind::Word), ("version", Kind::Word)]);
    sheet.row(["status", "id", "version"].map(|name| field(value, name)));
    for dependent in rows(value, "dependents").iter().filter_map(Value::as_str) {
        sheet.row(["look again".to_owned(), dependent.to_owned(), "derives from it".to_owned()]);
    }
    sheet
}
