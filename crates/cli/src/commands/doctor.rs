//! `doctor`: what is wrong, and how is it mended?

mod data;

use crate::Context;
use crate::client::{Ask, Client};
use crate::failure::{Failure, NOT_WHOLE};
use crate::output::field;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tabellion_core::time::Timestamp;
use tabellion_engine::ports::{Clock, SystemClock};
use tabellion_server::{Config, Flags, Secrets};

/// Earlier than this the clock was never set: 2026-01-01T00:00:00Z.
const CLOCK_EARLIEST: &str = "2026-01-01T00:00:00Z";

/// Look for what is wrong, and say how to mend it
///
/// Asks the server whether it is well and accepts the key. With --data it also looks at a data directory: permissions, keys,
/// who holds it, disk space, and everything for which a server would refuse to start. With --config it looks at a configuration
/// as the server reads it, TLS included.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion doctor
  tabellion doctor --data data --config tabellion.toml

Exit code 1 if anything fails, 3 if a server would not open the data directory; a warning is no failure.")]
pub(crate) struct Doctor {
    /// Also look at this data directory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Also look at this configuration file, and the certificate that it names
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
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
    /// Whether a part of the data is missing, damaged or old, so that a server does not open the directory.
    not_whole: bool,
}

impl Check {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { level: Level::Ok, what, found: found.into(), mend: None, not_whole: false }
    }

    fn warn(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Warn, mend: Some(mend.into()), ..Self::ok(what, found) }
    }

    fn fail(what: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Fail, mend: Some(mend.into()), ..Self::ok(what, found) }
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
    checks.extend(args.config.as_deref().map(config));
    if let Some(data) = &args.data {
        checks.extend(data::look(data, now));
    }
    checks.extend(server(context, args.data.is_some() || args.config.is_some()));
    show(&checks, context)?;
    let failed = checks.iter().any(|check| check.level == Level::Fail);
    Ok(match failed {
        true if checks.iter().any(|check| check.not_whole) => NOT_WHOLE.into(),
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
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

/// Whether a server would start with this configuration.
fn config(path: &Path) -> Check {
    let looked = || -> anyhow::Result<Vec<String>> {
        let config = Config::load(Some(path), &Flags::default())?;
        config.check()?;
        tabellion_server::check_tls(&config)?;
        Secrets::from_env()?;
        Ok(config.warnings())
    };
    match looked() {
        Ok(warnings) if !warnings.is_empty() => {
            let mend = "a server starts with it all the same; mend it, or see that it is meant so";
            Check::warn("config", warnings.join("\n"), mend)
        }
        Ok(_) => Check::ok("config", format!("a server starts with {}", path.display())),
        Err(error) => {
            let mend = format!(
                "mend {}; `tabellion config` prints one with every setting explained",
                path.display()
            );
            Check::fail("config", format!("{error:#}"), mend)
        }
    }
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
            let mend = advice(&failure, &client.url());
            let check = if is_aside { Check::warn } else { Check::fail };
            vec![check("server", failure.to_string(), mend)]
        }
        Err(failure @ (Failure::Refused { .. } | Failure::Ambiguous { .. })) => {
            vec![not_ready(client.url(), &failure)]
        }
    }
}

/// What to do about a server that gives no answer, by the cause.
fn advice(failure: &Failure, url: &str) -> &'static str {
    let Failure::Unreachable { cause, is_refused, .. } = failure else { return "" };
    let cause = cause.to_lowercase();
    if *is_refused {
        "start it with `tabellion serve`, or name another with --url"
    } else if cause.contains("certificate") || cause.contains("unknownissuer") {
        "its certificate is not trusted here: name the one that vouches for it with --ca-cert FILE, and use the name it was made for in --url"
    } else if url.starts_with("https:") {
        "it may not speak TLS: try --url http://…, or set tls.cert and tls.key of the server"
    } else if cause.contains("timeout") || cause.contains("timed out") {
        "it does not answer in time: see its log on stderr, and whether a firewall stands between"
    } else {
        "it may speak TLS: try --url https://…; or name another with --url"
    }
}

fn not_ready(url: &str, failure: &Failure) -> Check {
    let Failure::Refused { refusal, .. } = failure else {
        return Check::fail("server", failure.to_string(), "see its log on stderr");
    };
    let (status, reason) = (field(refusal, "status"), field(refusal, "reason"));
    let found = match (status.as_str(), reason.as_str()) {
        ("", _) => format!("{url} answers, and is not ready: {failure}"),
        (status, "") => format!("{url} answers, and is {status}"),
        (status, reason) => format!("{url} answers, and is {status}: {reason}"),
    };
    let mend = match status.as_str() {
        "starting" => "wait: it reads its log; its log on stderr says how far it is",
        "stopping" => "start it again with `tabellion serve`",
        "unavailable" => "make room on its disk, or see that it can be written; it goes on by itself then",
        _ => "is this a server of Tabellion? name another with --url",
    };
    Check::fail("server", found, mend)
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
