//! `restore`: a data directory from what `export` wrote.

use crate::Context;
use crate::output::Sheet;
use crate::progress::Progress;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_engine::offline;

/// What a backup cannot know.
const VALID_AGAIN: &str = "keys, users and edges that were revoked or disabled after the newest entry; look at them: \
                           `tabellion key list`, `tabellion user list`, `tabellion edge list`";

/// Make a data directory from what `export` wrote
///
/// All of it or nothing: a restore that fails leaves nothing, and one that is broken off leaves a directory that no server
/// opens; the same command then begins anew. What was revoked after the backup is valid again. Writes that waited are committed after the next start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion restore --from backup.tabellion --data restored
  tabellion serve --data restored

FILE.keys must lie beside FILE.")]
pub(crate) struct Restore {
    /// The file that `export` wrote
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The data directory to make; it must not hold anything yet
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

pub(super) fn run(args: &Restore, context: &Context) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::of("restoring");
    let master = offline::master_key_from_env()?;
    let report =
        offline::restore(&args.from, &args.data, master, &mut |done, total| progress.at(done, total))?;
    drop(progress);
    if context.output.is_json() {
        let report = json!({"data": args.data, "tenants": report.tenants, "entries": report.entries, "kept_writes": report.kept,
                            "newest_entry": report.newest.to_string(), "valid_again": VALID_AGAIN});
        context.output.raw_json(&report.to_string())?;
    } else {
        let mut sheet = Sheet::facts();
        sheet.fact("tenants", report.tenants.to_string());
        sheet.fact("entries", report.entries.to_string());
        sheet.fact("waiting and refused writes", report.kept.to_string());
        sheet.fact("data", args.data.display().to_string());
        sheet.fact("newest entry", report.newest.to_string());
        sheet.fact("valid again", VALID_AGAIN);
        sheet.fact("next", format!("tabellion serve --data {}", args.data.display()));
        context.output.sheet(&sheet)?;
    }
    Ok(ExitCode::SUCCESS)
}
