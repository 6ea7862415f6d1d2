//! `doctor`: what is wrong, and how is it mended?

mod data;

use crate::Context;
use crate::client::{Ask, Client};
use crate::failure::Failure;
use crate::output::field;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_core::time::Timestamp;
use tabellion_engine::ports::{Clock, SystemClock};

/// Earlier than this the clock was never set: 2026-01-01T00:00:00Z.
const CLOCK_EARLIEST: &str = "2026-01-01T00:00:00Z";

/// Look for what is wrong, and say how to mend it
///
/// Asks the server whether it is well and accepts the key. With --data it also looks at a data directory: permissions, keys,
/// who holds it, whether the newest heads fit the logs, disk space.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion doctor
  tabellion doctor --data data

Exit code 1 if anything fails; a warning is no failure.")]
pub(crate) struct Doctor {
    /// Also look at this data directory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One check: what was looked at, what was found, and how to mend it.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    level: Level,
    what: &'static str,
    found: String,
    mend: Option<String>,
}

impl Check {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { level: Level::Ok, what, found: found.into(), mend: None }
    }

    fn warn(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Warn, what, found: found.into(), mend: Some(mend.into()) }
    }

    fn fail(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Fail, what, found: found.into(), mend: Some(mend.into()) }
    }
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

pub(super) fn run(args: &Doctor, context: &Context) -> anyhow::Result<ExitCode> {
    let now = SystemClock.now();
    let mut checks = vec![clock(now)];
    if let Some(data) = &args.data {
        checks.extend(data::look(data, now));
    }
    checks.extend(server(context, args.data.is_some()));
    show(&checks, context)?;
    let failed = checks.iter().any(|check| check.level == Level::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(checks: &[Check], context: &Context) -> anyhow::Result<()> {
    let output = &context.output;
    if output.is_json() {
        let ok = checks.iter().all(|check| check.level != Level::Fail);
        let checks: Vec<_> = checks
            .iter()
            .map(|check| json!({"level": check.level.as_str(), "what": check.what, "found": check.found, "mend": check.mend}))
            .collect();
        return Ok(output.raw_json(&json!({"ok": ok, "checks": checks}).to_string())?);
    }
    for check in checks {
        let level = format!("{:4}", check.level.as_str());
        let level = match check.level {
            Level::Ok => output.good(&level),
            Level::Warn => output.warn(&level),
            Level::Fail => output.bad(&level),
        };
        output.line(format!("{level}  {:12}{}", check.what, crate::output::clean(&check.found)))?;
        if let Some(mend) = &check.mend {
            output.line(format!("      {:12}{}", "", output.dim(&format!("→ {mend}"))))?;
        }
    }
    Ok(())
}

fn clock(now: Timestamp) -> Check {
    match CLOCK_EARLIEST.parse::<Timestamp>() {
        Ok(earliest) if now < earliest => Check::fail(
            "clock",
            format!("it is said to be {now}"),
            "set the clock of this machine, for example with NTP",
        ),
        _ => Check::ok("clock", now.to_string()),
    }
}

/// A server that is not there is a failure, unless a data directory was what the caller asked about.
fn server(context: &Context, is_aside: bool) -> Vec<Check> {
    let client = match context.client() {
        Ok(client) => client,
        Err(error) => return vec![Check::fail("server", format!("{error:#}"), "see --ca-cert and --url")],
    };
    match client.ask(Ask::new("GET", "/readyz")) {
        Ok(_) => vec![Check::ok("server", format!("{} answers", client.url())), key(&client, context)],
        Err(failure @ Failure::Unreachable { .. }) => {
            let mend = "start it with `tabellion serve`, or name another with --url";
            let check = if is_aside { Check::warn } else { Check::fail };
            vec![check("server", failure.to_string(), mend)]
        }
        Err(failure @ (Failure::Refused { .. } | Failure::Ambiguous { .. })) => {
            let mend = "it is starting, stopping or cannot write; its log on stderr says which";
            vec![Check::fail(
                "server",
                format!("{} answers, and is not ready: {failure}", client.url()),
                mend,
            )]
        }
    }
}

fn key(client: &Client, context: &Context) -> Check {
    if context.api_key.is_none() {
        let mend = "set TABELLION_KEY to a key; the first start of a server prints the admin's";
        return Check::warn("key", "none given", mend);
    }
    match client.ask(Ask::new("GET", "/v1/whoami")) {
        Ok(reply) => {
            let who = ["/user/name", "/agent/name", "role"].map(|name| field(&reply.value, name));
            let [user, agent, role] = who;
            Check::ok("key", format!("accepted: user {user}, agent {agent}, role {role}"))
        }
        Err(failure) => {
            let mend = "it may be revoked, expired or of another server; an admin makes one with `tabellion key create`";
            Check::fail("key", format!("not accepted: {failure}"), mend)
        }
    }
}
