//! `head`: what a log amounts to, signed.

use super::Log;
use crate::Context;
use crate::client::Ask;
use crate::output::{Sheet, field};
use serde_json::Value;
use std::process::ExitCode;
use tabellion_core::canonical::unhex32;
use tabellion_core::log::{Head as TreeHead, LogName, SignedHead, VerifyingKey};
use tabellion_core::time::Timestamp;

/// Show the newest signed head of a log, and check its signature
///
/// A head names everything written so far by one hash. Who keeps one, away from the server, can later prove that nothing
/// before it was changed: `tabellion proof consistency`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion head
  tabellion head --log audit --json > head.json")]
pub(crate) struct Head {
    /// Which log
    #[arg(long, value_enum, default_value_t = Log::Memory)]
    log: Log,
}

pub(super) fn run(args: &Head, context: &Context) -> anyhow::Result<ExitCode> {
    let reply = context.client()?.ask(Ask::new("GET", "/v1/proofs/head").with("log", Some(args.log)))?;
    let good = is_signed(&reply.value, args.log);
    context.output.reply(&reply, |value| {
        let mut sheet = Sheet::facts();
        for name in ["log", "tenant", "size", "time", "root", "signature", "public_key"] {
            sheet.fact(name, field(value, name));
        }
        sheet.fact("checked", if good { "the signature is good" } else { "THE SIGNATURE DOES NOT FIT" });
        sheet
    })?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the head is signed by the key that came with it.
fn is_signed(value: &Value, log: Log) -> bool {
    let log = match log {
        Log::Memory => LogName::Memory,
        Log::Audit => LogName::Audit,
    };
    let signed = || {
        let time: Timestamp = field(value, "time").parse().ok()?;
        let head =
            TreeHead { size: value.get("size")?.as_u64()?, time, root: unhex32(&field(value, "root"))? };
        let signature =
            data_encoding::HEXLOWER_PERMISSIVE.decode(field(value, "signature").as_bytes()).ok()?;
        Some(SignedHead { head, signature: signature.try_into().ok()? })
    };
    let key = unhex32(&field(value, "public_key")).and_then(|bytes| VerifyingKey::from_bytes(&bytes));
    match (key, signed(), field(value, "tenant").parse()) {
        (Some(key), Some(signed), Ok(tenant)) => key.confirms(tenant, log, &signed),
        _ => false,
    }
}
