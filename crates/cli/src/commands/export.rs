//! `export`: everything into a file, and the key to it into another.

use crate::Context;
use crate::output::Sheet;
use crate::progress::Progress;
use anyhow::bail;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_engine::offline;

/// Write everything to a file, and the key to it to a second one
///
/// FILE holds the logs, and the writes that wait or were refused, all sealed; FILE.keys opens them. Keep the two apart: together they are as good as plain text, and
/// without FILE.keys nobody can read FILE.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion export --data data --out backup.tabellion
  tabellion restore --from backup.tabellion --data restored")]
pub(crate) struct Export {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace FILE and FILE.keys if they are there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Export, context: &Context) -> anyhow::Result<ExitCode> {
    let keys = offline::keys_path(&args.out);
    for file in [&args.out, &keys] {
        if !args.force && file.exists() {
            bail!(
                "{} is there already; name another file with --out, or say --force to replace it",
                file.display()
            );
        }
    }
    let mut progress = Progress::of("exporting");
    let master = offline::master_key_from_env()?;
    let report = offline::export(&args.data, master, &args.out, &mut |done, total| progress.at(done, total))?;
    drop(progress);
    if context.output.is_json() {
        let report = json!({"out": args.out, "keys": format!("{}.keys", args.out.display()),
                            "tenants": report.tenants, "entries": report.entries, "kept_writes": report.kept, "bytes": report.bytes});
        context.output.raw_json(&report.to_string())?;
    } else {
        let mut sheet = Sheet::facts();
        sheet.fact("tenants", report.tenants.to_string());
        sheet.fact("entries", report.entries.to_string());
        sheet.fact("waiting and refused writes", report.kept.to_string());
        sheet.fact("bytes", report.bytes.to_string());
        sheet.fact("logs", args.out.display().to_string());
        sheet.fact("keys", format!("{}.keys, to be kept apart", args.out.display()));
        context.output.sheet(&sheet)?;
    }
    Ok(ExitCode::SUCCESS)
}
