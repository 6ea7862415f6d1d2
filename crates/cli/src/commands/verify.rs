//! `verify`: is everything as it was written? By the server, or without one on its data directory.

use super::proof::parse_hash;
use crate::Context;
use crate::client::Ask;
use crate::failure::NOT_WHOLE;
use crate::output::{Kind, Sheet, field, rows};
use crate::progress::Progress;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_core::canonical::{Hash, hex};
use tabellion_engine::StartFault;
use tabellion_engine::offline::{self, Verified, VerifyOptions};
use tabellion_engine::reply::{LogFault, LogReport, VerifyReport};

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

Exit code 0 if all is well, 1 if anything is not, 3 if a server would not start: something is missing, old, or of another data
directory.")]
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
    let mut not_whole = false;
    let text = match &args.data {
        Some(data) => {
            let mut progress = Progress::of("verifying");
            let options = VerifyOptions { views: args.views, public_key: args.public_key };
            let master = offline::master_key_from_env()?;
            let found = offline::verify(data, master, options, &mut |done, total| progress.at(done, total))?;
            not_whole = found.faults.iter().any(StartFault::is_of_data);
            report(&found)?
        }
        None => context.client()?.ask(Ask::new("POST", "/v1/audit:verify").json(&json!({})).long())?.text,
    };
    let found: Value = serde_json::from_str(&text)?;
    if context.output.is_json() {
        context.output.raw_json(&text)?;
    } else {
        show(&found, context)?;
    }
    Ok(match is_ok(&found) {
        true => ExitCode::SUCCESS,
        false if not_whole => NOT_WHOLE.into(),
        false => ExitCode::FAILURE,
    })
}

fn show(found: &Value, context: &Context) -> anyhow::Result<()> {
    let output = &context.output;
    output.sheet(&logs(found))?;
    for loss in losses(found) {
        output.line(output.warn(&loss))?;
    }
    if is_ok(found) {
        output.line(output.good("all is as it was written"))?;
    } else {
        output.line("")?;
        output.sheet(&faults(found))?;
        for fault in rows(found, "start") {
            let tenant = Some(field(fault, "tenant")).filter(|tenant| !tenant.is_empty());
            let tenant = tenant.map(|tenant| format!("tenant {tenant}: ")).unwrap_or_default();
            output.line(format!("{tenant}{}; {}", field(fault, "what"), field(fault, "way_out")))?;
        }
        output.line(output.bad("NOT as it was written"))?;
    }
    Ok(())
}

/// Whether a verification found nothing wrong.
pub(super) fn is_ok(found: &Value) -> bool {
    found.get("ok") == Some(&Value::Bool(true))
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    start: Vec<StartPart>,
    tenants: Vec<TenantPart>,
}

#[derive(Serialize)]
struct StartPart {
    tenant: Option<String>,
    what: String,
    way_out: String,
}

#[derive(Serialize)]
struct TenantPart {
    tenant: String,
    name: Option<String>,
    logs: Vec<LogPart>,
}

#[derive(Serialize)]
struct LogPart {
    log: &'static str,
    size: u64,
    root: String,
    faults: Vec<FaultPart>,
    losses: Vec<FaultPart>,
}

#[derive(Serialize)]
struct FaultPart {
    lsn: Option<u64>,
    what: String,
}

/// What a verification found, as programs read it.
pub(super) fn report(found: &Verified) -> anyhow::Result<String> {
    let start = |fault: &StartFault| StartPart {
        tenant: fault.tenant.clone(),
        what: fault.what.clone(),
        way_out: fault.way_out.clone(),
    };
    let fault = |fault: &LogFault| FaultPart { lsn: fault.lsn, what: fault.what.clone() };
    let log = |log: &LogReport| LogPart {
        log: log.log.as_str(),
        size: log.size,
        root: hex(&log.root),
        faults: log.faults.iter().map(fault).collect(),
        losses: log.losses.iter().map(fault).collect(),
    };
    let tenant = |tenant: &VerifyReport| TenantPart {
        tenant: tenant.tenant.to_string(),
        name: tenant.name.clone(),
        logs: tenant.logs.iter().map(log).collect(),
    };
    let report = Report {
        ok: found.is_ok(),
        start: found.faults.iter().map(start).collect(),
        tenants: found.tenants.iter().map(tenant).collect(),
    };
    Ok(serde_json::to_string(&report)?)
}

/// The tenants of a report; a server reports on one, that of the key.
fn tenants(found: &Value) -> &[Value] {
    match rows(found, "tenants") {
        [] => std::slice::from_ref(found),
        tenants => tenants,
    }
}

/// A tenant by its name, or by its id where the name cannot be read.
fn name(tenant: &Value) -> String {
    let [name, id] = ["name", "tenant"].map(|name| field(tenant, name));
    if name.is_empty() { id } else { name }
}

/// The logs and how they stand.
pub(super) fn logs(found: &Value) -> Sheet {
    let columns = [
        ("", Kind::State),
        ("tenant", Kind::Word),
        ("log", Kind::Word),
        ("entries", Kind::Number),
        ("root", Kind::Word),
    ];
    let mut sheet = Sheet::new(columns).or("no tenants");
    for tenant in tenants(found) {
        for log in rows(tenant, "logs") {
            let state = if rows(log, "faults").is_empty() { "ok" } else { "fail" };
            let root: String = field(log, "root").chars().take(16).chain(['…']).collect();
            sheet.row([state.into(), name(tenant), field(log, "log"), field(log, "size"), root]);
        }
    }
    sheet
}

/// What was lost before and accepted, as the logs record it.
fn losses(found: &Value) -> Vec<String> {
    let of_log = |tenant: &Value| {
        let name = name(tenant);
        let logs = rows(tenant, "logs").iter().flat_map(|log| rows(log, "losses"));
        logs.map(|loss| format!("tenant {name}, entry {}: {}", field(loss, "lsn"), field(loss, "what")))
            .collect::<Vec<_>>()
    };
    tenants(found).iter().flat_map(of_log).collect()
}

/// What is wrong, and where.
pub(super) fn faults(found: &Value) -> Sheet {
    let columns =
        [("tenant", Kind::Word), ("log", Kind::Word), ("entry", Kind::Number), ("what is wrong", Kind::Text)];
    let mut sheet = Sheet::new(columns);
    for tenant in tenants(found) {
        for log in rows(tenant, "logs") {
            for fault in rows(log, "faults") {
                sheet.row([name(tenant), field(log, "log"), field(fault, "lsn"), field(fault, "what")]);
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

    fn reports(faults: Vec<LogFault>) -> Verified {
        let log = |log, size, faults| LogReport { log, size, root: [1; 32], faults, losses: Vec::new() };
        let logs = vec![log(LogName::Memory, 7, faults), log(LogName::Audit, 9, Vec::new())];
        let tenants = vec![VerifyReport { tenant: TenantId::from_bytes([7; 16]), name: None, logs }];
        Verified { faults: Vec::new(), tenants }
    }

    fn value(faults: Vec<LogFault>) -> Value {
        serde_json::from_str(&report(&reports(faults)).unwrap()).unwrap()
    }

    #[test]
    fn a_good_log_is_ok_and_a_fault_is_not() {
        assert!(is_ok(&value(Vec::new())));
        let bad = value(vec![
            LogFault { lsn: Some(3), what: "the body is not its leaf".into() },
            LogFault { lsn: None, what: "the views differ".into() },
        ]);
        assert!(!is_ok(&bad));
        assert_eq!(
            bad["tenants"][0]["logs"][0]["faults"][1],
            json!({"lsn": null, "what": "the views differ"})
        );
        let look = Look { styled: false, width: None };
        insta::assert_snapshot!(
            "verify",
            format!("{}\n\n{}", logs(&bad).render(look), faults(&bad).render(look))
        );
    }

    #[test]
    fn a_server_reports_on_one_tenant() {
        let found = json!({"ok": true, "tenant": "ten_a", "name": "default",
                           "logs": [{"log": "memory", "size": 1, "root": "00", "faults": []}]});
        let shown = logs(&found).render(Look { styled: false, width: None });
        assert!(shown.contains("default") && !shown.contains("ten_a"), "{shown}");
    }
}
