//! `verify`: is everything as it was written? By the server, or without one on its data directory.

use super::proof::parse_hash;
use crate::Context;
use crate::client::Ask;
use crate::output::{Kind, Sheet, field, rows};
use crate::progress::Progress;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_core::canonical::{Hash, hex};
use tabellion_engine::offline::{self, VerifyOptions};
use tabellion_engine::reply::{LogReport, VerifyReport};

/// Check that nothing was changed, added, removed or swapped
///
/// With --data it reads a data directory and needs no server: every entry, hash, signature and seal is checked again.
/// Without, it asks the server to do the same for this tenant (auditors and admins).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion verify
  tabellion verify --data data
  tabellion verify --data data --views --public-key 5f0c… --json

Exit code 0 if all is well, 1 if anything is not.")]
pub(crate) struct Verify {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Also fold the log again and compare with the checkpoint of the views
    #[arg(long, requires = "data")]
    views: bool,
    /// The public key that must have signed, kept from an earlier `tabellion head`
    #[arg(long, value_name = "HEX", requires = "data", value_parser = parse_hash)]
    public_key: Option<Hash>,
}

pub(super) fn run(args: &Verify, context: &Context) -> anyhow::Result<ExitCode> {
    let report = match &args.data {
        Some(data) => {
            let mut progress = Progress::of("verifying");
            let options = VerifyOptions { views: args.views, public_key: args.public_key };
            let reports =
                offline::verify(data, offline::master_key_from_env()?, options, &mut |done, total| progress.at(done, total))?;
            drop(progress);
            let report = report(&reports);
            if context.output.is_json() {
                context.output.raw_json(&report.to_string())?;
            }
            report
        }
        None => {
            let reply = context.client()?.ask(Ask::new("POST", "/v1/audit:verify").json(&json!({})).long())?;
            if context.output.is_json() {
                context.output.raw_json(&reply.text)?;
            }
            json!({"ok": reply.value.get("ok"), "tenants": [reply.value]})
        }
    };
    let ok = report.get("ok").and_then(Value::as_bool).unwrap_or(false);
    if !context.output.is_json() {
        show(&report, ok, context)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(report: &Value, ok: bool, context: &Context) -> anyhow::Result<()> {
    let output = &context.output;
    output.sheet(&logs(report))?;
    let faults = faults(report);
    if ok {
        output.line(output.good("all is as it was written"))?;
    } else {
        output.line("")?;
        output.sheet(&faults)?;
        output.line(output.bad("NOT as it was written"))?;
    }
    Ok(())
}

/// What a verification found, as programs read it.
pub(super) fn report(reports: &[VerifyReport]) -> Value {
    let tenants: Vec<_> = reports
        .iter()
        .map(|tenant| json!({"tenant": tenant.tenant.to_string(), "logs": tenant.logs.iter().map(log).collect::<Vec<_>>()}))
        .collect();
    json!({"ok": reports.iter().all(VerifyReport::is_ok), "tenants": tenants})
}

fn log(log: &LogReport) -> Value {
    let faults: Vec<_> = log.faults.iter().map(|fault| json!({"lsn": fault.lsn, "what": fault.what})).collect();
    json!({"log": log.log.as_str(), "size": log.size, "root": hex(&log.root), "faults": faults})
}

fn logs(report: &Value) -> Sheet {
    let columns = [("", Kind::State), ("tenant", Kind::Word), ("log", Kind::Word), ("entries", Kind::Number), ("root", Kind::Word)];
    let mut sheet = Sheet::new(columns).or("no tenants");
    for tenant in rows(report, "tenants") {
        for log in rows(tenant, "logs") {
            let state = if rows(log, "faults").is_empty() { "ok" } else { "fail" };
            let root: String = field(log, "root").chars().take(16).chain(['…']).collect();
            sheet.row([state.into(), field(tenant, "tenant"), field(log, "log"), field(log, "size"), root]);
        }
    }
    sheet
}

fn faults(report: &Value) -> Sheet {
    let columns = [("tenant", Kind::Word), ("log", Kind::Word), ("entry", Kind::Number), ("what is wrong", Kind::Text)];
    let mut sheet = Sheet::new(columns);
    for tenant in rows(report, "tenants") {
        for log in rows(tenant, "logs") {
            for fault in rows(log, "faults") {
                sheet.row([field(tenant, "tenant"), field(log, "log"), field(fault, "lsn"), field(fault, "what")]);
            }
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;
    use tabellion_core::id::TenantId;
    use tabellion_core::log::LogName;
    use tabellion_engine::reply::LogFault;

    fn reports(faults: Vec<LogFault>) -> [VerifyReport; 1] {
        let memory = LogReport { log: LogName::Memory, size: 7, root: [1; 32], faults };
        let audit = LogReport { log: LogName::Audit, size: 9, root: [2; 32], faults: Vec::new() };
        [VerifyReport { tenant: TenantId::from_bytes([7; 16]), logs: vec![memory, audit] }]
    }

    #[test]
    fn a_good_log_is_ok_and_a_fault_is_not() {
        assert_eq!(report(&reports(Vec::new()))["ok"], true);
        let bad = report(&reports(vec![LogFault { lsn: Some(3), what: "the body is not its leaf".into() }, LogFault { lsn: None, what: "the views differ".into() }]));
        assert_eq!(bad["ok"], false);
        assert_eq!(bad["tenants"][0]["logs"][0]["faults"][1], json!({"lsn": null, "what": "the views differ"}));
        let look = Look { styled: false, width: None };
        insta::assert_snapshot!("verify", format!("{}\n\n{}", logs(&bad).render(look), faults(&bad).render(look)));
    }
}
