//! `proof`: that an entry is in a log, or that a log only grew. Proofs are checked here, not believed.

use super::Log;
use crate::Context;
use crate::client::{Ask, Reply};
use crate::output::{Sheet, field, rows};
use serde_json::Value;
use std::process::ExitCode;
use tabellion_core::canonical::{Hash, unhex32};
use tabellion_core::log::{verify_consistency, verify_inclusion};

/// Ask for a proof about a log, and check it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Proof {
    Inclusion(Inclusion),
    Consistency(Consistency),
}

/// Prove that an entry is in the log
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion proof inclusion 7
  tabellion proof inclusion 7 --size 100 --log audit --json")]
pub(crate) struct Inclusion {
    /// The entry's number, from 1
    lsn: u64,
    /// In the log of this size (default: as it is now)
    #[arg(long, value_name = "NUMBER")]
    size: Option<u64>,
    /// Which log
    #[arg(long, value_enum, default_value_t = Log::Memory)]
    log: Log,
}

/// Prove that the log of an earlier size is the beginning of a later one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion proof consistency 40
  tabellion proof consistency 40 --to 100 --root 5f0c…    against the root of a head kept from then")]
pub(crate) struct Consistency {
    /// The earlier size
    from: u64,
    /// The later size (default: as it is now)
    #[arg(long, value_name = "NUMBER")]
    to: Option<u64>,
    /// The root at the earlier size, from a head that was kept
    #[arg(long, value_name = "HEX", value_parser = parse_hash)]
    root: Option<Hash>,
    /// Which log
    #[arg(long, value_enum, default_value_t = Log::Memory)]
    log: Log,
}

pub(super) fn run(args: &Proof, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Proof::Inclusion(Inclusion { lsn, size, log }) => {
            let ask = Ask::new("GET", "/v1/proofs/inclusion");
            let reply = client.ask(ask.with("log", Some(log)).with("lsn", Some(lsn)).with("size", *size))?;
            let good = is_included(&reply.value, *lsn).unwrap_or(false);
            show(context, &reply, &["log", "lsn", "size", "leaf", "root"], good, "the entry is in the log")
        }
        Proof::Consistency(Consistency { from, to, root, log }) => {
            let ask = Ask::new("GET", "/v1/proofs/consistency");
            let reply = client.ask(ask.with("log", Some(log)).with("from", Some(from)).with("to", *to))?;
            let good = is_consistent(&reply.value, *from, root.as_ref()).unwrap_or(false);
            show(context, &reply, &["log", "from", "to", "from_root", "to_root"], good, "the log only grew")
        }
    }
}

fn show(
    context: &Context,
    reply: &Reply,
    names: &[&str],
    good: bool,
    meaning: &str,
) -> anyhow::Result<ExitCode> {
    context.output.reply(reply, |value| {
        let mut sheet = Sheet::facts();
        for name in names {
            sheet.fact(name, field(value, name));
        }
        let path: Vec<_> = rows(value, "path").iter().filter_map(Value::as_str).collect();
        sheet.fact("path", path.join("\n"));
        sheet.fact("checked", if good { meaning } else { "THE PROOF DOES NOT HOLD" });
        sheet
    })?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_included(value: &Value, lsn: u64) -> Option<bool> {
    let size = value.get("size")?.as_u64()?;
    let (leaf, root) = (unhex32(&field(value, "leaf"))?, unhex32(&field(value, "root"))?);
    Some(verify_inclusion(leaf, lsn.checked_sub(1)?, size, &path(value)?, &root))
}

fn is_consistent(value: &Value, from: u64, known: Option<&Hash>) -> Option<bool> {
    let to = value.get("to")?.as_u64()?;
    let (from_root, to_root) = (unhex32(&field(value, "from_root"))?, unhex32(&field(value, "to_root"))?);
    let as_known = known.is_none_or(|known| *known == from_root);
    Some(as_known && verify_consistency(from, to, &path(value)?, &from_root, &to_root))
}

fn path(value: &Value) -> Option<Vec<Hash>> {
    rows(value, "path").iter().map(|hash| unhex32(hash.as_str()?)).collect()
}

/// 32 bytes in hex, as roots and public keys are written.
pub(super) fn parse_hash(text: &str) -> Result<Hash, String> {
    unhex32(text).ok_or_else(|| "expected 64 hex digits".into())
}
