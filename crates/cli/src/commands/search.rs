//! `search`: the items that answer a question best.

use super::{Layer, set, topic_and_text};
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use std::process::ExitCode;
use tabellion_core::rank::Knob;

/// Search the items that this key can see
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion search \"which port\"
  tabellion search \"how to deploy\" -k 3 --layer procedural --layer semantic
  tabellion search \"which port\" --as-of 2026-11-15T00:00:00Z --json
  tabellion search \"load of the database\" --trace-id rnd_…      as part of a round
  tabellion search \"which port\" --without trust      what is trusted and what is not count alike")]
pub(crate) struct Search {
    /// What to look for
    query: String,
    /// At most this many results
    #[arg(short, default_value_t = 10, value_name = "NUMBER")]
    k: u64,
    /// How to search
    #[arg(long, default_value = "hybrid", value_parser = ["hybrid", "dense", "lexical", "graph"])]
    mode: String,
    /// Only this layer; may be repeated
    #[arg(long = "layer", value_enum, value_name = "LAYER")]
    layers: Vec<Layer>,
    /// Only this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// As it stood at this time: RFC 3339, a date, "yesterday", "2 days ago", P2D (so long ago), or a token
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Not before the server has seen the write that gave this token
    #[arg(long, value_name = "TOKEN")]
    min_token: Option<String>,
    /// The piece of work that it belongs to, such as a round
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// Work that others may profit from: what they share later may be held against it
    #[arg(long)]
    shared_work: bool,
    /// Search as a moderator, for this reason: all that is shared, whatever its edges; the audit log keeps the reason
    #[arg(long, value_name = "REASON")]
    moderate: Option<String>,
    /// Leave out a part of the search, to see what it brings; may be repeated
    #[arg(long, value_name = "PART", value_parser = PossibleValuesParser::new(Knob::ALL.iter().map(|part| part.as_str())))]
    without: Vec<String>,
}

pub(super) fn run(args: &Search, context: &Context) -> anyhow::Result<ExitCode> {
    let mut body = json!({"query": args.query, "k": args.k, "mode": args.mode});
    if !args.layers.is_empty() {
        set(&mut body, "layers", Some(args.layers.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    set(&mut body, "namespace", args.namespace.as_deref());
    set(&mut body, "as_of", args.as_of.as_deref());
    set(&mut body, "min_token", args.min_token.as_deref());
    set(&mut body, "trace_id", args.trace_id.as_deref());
    set(&mut body, "shared_work", args.shared_work.then_some(true));
    set(&mut body, "moderate", args.moderate.as_deref());
    if !args.without.is_empty() {
        set(&mut body, "without", Some(args.without.clone()));
    }
    let reply = context.client()?.ask(Ask::new("POST", "/v1/search").json(&body))?;
    context.output.reply(&reply, found)
}

fn found(value: &Value) -> Sheet {
    let results = rows(value, "results");
    // Most results agree with each other: the column is there only if some do not.
    let disagree = results.iter().any(|result| !rows(result, "contradictions").is_empty());
    let [score, trust, id, text] =
        [("score", Kind::Number), ("trust", Kind::State), ("id", Kind::Word), ("text", Kind::Text)];
    let sheet = match disagree {
        true => Sheet::new([score, trust, id, text, ("contradicts", Kind::Word)]),
        false => Sheet::new([score, trust, id, text]),
    };
    let mut sheet = sheet.or("nothing found");
    for result in results {
        let score = result.get("score").and_then(Value::as_f64).unwrap_or_default();
        let against =
            rows(result, "contradictions").iter().map(|one| field(one, "id")).collect::<Vec<_>>().join(" ");
        let (score, trust, id, text) =
            (format!("{score:.3}"), field(result, "trust"), field(result, "id"), topic_and_text(result));
        match disagree {
            true => sheet.row([score, trust, id, text, against]),
            false => sheet.row([score, trust, id, text]),
        }
    }
    sheet
}
