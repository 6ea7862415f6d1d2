//! `reverify`: what is durable, verified again now.

use super::{flagged, set};
use crate::Context;
use crate::client::{Ask, Client};
use crate::output::{field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Calls of one round: some 1,000 items each.
const CALLS_MAX: usize = 10_000;
const COUNTS: [&str; 4] = ["checked", "passed", "failed", "aged"];

/// Verify again everything durable, and flag what does not stand
///
/// Needs the role admin. The server does so by itself every `governance.reverify_hours`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion reverify
  tabellion flagged                                     what is flagged of what you may see")]
pub(crate) struct Reverify {}

pub(super) fn run(Reverify {}: &Reverify, context: &Context) -> anyhow::Result<ExitCode> {
    let total = round(&context.client()?)?;
    if context.output.is_json() {
        context.output.line(total.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = context.output.readable(&total);
    context.output.sheet(&flagged::sheet(rows(&shown, "flagged")))?;
    let [checked, passed, failed, aged] = COUNTS.map(|name| field(&total, name));
    context.output.line(format!(
        "{checked} looked at: {passed} stand, {failed} do not, {aged} need fresher evidence"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Goes on until the end, and adds up.
fn round(client: &Client) -> anyhow::Result<Value> {
    let (mut counts, mut flags, mut cursor) = ([0u64; 4], Vec::new(), None::<String>);
    for _ in 0..CALLS_MAX {
        let mut body = json!({});
        set(&mut body, "cursor", cursor.as_deref());
        let reply = client.ask(Ask::new("POST", "/v1/items:reverify").json(&body).long())?.value;
        for (count, name) in counts.iter_mut().zip(COUNTS) {
            *count += reply.get(name).and_then(Value::as_u64).unwrap_or(0);
        }
        flags.extend(rows(&reply, "flagged").iter().cloned());
        cursor = reply.get("next").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let [checked, passed, failed, aged] = counts;
    Ok(json!({"checked": checked, "passed": passed, "failed": failed, "aged": aged, "flagged": flags}))
}
