//! `rebuild`: the views, folded from the log again.

use crate::Context;
use crate::output::{Kind, Sheet};
use crate::progress::Progress;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_engine::offline;

/// Fold the views from the log again; the server must be stopped
///
/// The log is the truth and the views are derived from it. This drops their checkpoint and makes a new one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion rebuild --data data
  tabellion verify --data data --views                  whether that is needed")]
pub(crate) struct Rebuild {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

pub(super) fn run(args: &Rebuild, context: &Context) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::of("folding");
    let master = offline::master_key_from_env()?;
    let tenants = offline::rebuild(&args.data, master, &mut |done, total| progress.at(done, total))?;
    drop(progress);
    if context.output.is_json() {
        let tenants: Vec<_> = tenants
            .iter()
            .map(|(tenant, entries)| json!({"tenant": tenant.to_string(), "entries": entries}))
            .collect();
        context.output.raw_json(&json!({"tenants": tenants}).to_string())?;
    } else {
        let mut sheet =
            Sheet::new([("tenant", Kind::Word), ("entries folded", Kind::Number)]).or("no tenants");
        for (tenant, entries) in &tenants {
            sheet.row([tenant.to_string(), entries.to_string()]);
        }
        context.output.sheet(&sheet)?;
    }
    Ok(ExitCode::SUCCESS)
}
