//! `policy`: how strict the write path is, whose sources are official, who reviews whom.

use super::{json_file, set};
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// The rules that an admin sets for writes
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Policy {
    Set(Box<Set>),
    Remove(Remove),
    List(List),
}

/// Set a policy in place of the one of the same name
///
/// Kinds and what they take: write_path (--strictness, --namespace), official_sources (--prefix, may be repeated),
/// approval (--approvals), reviewer (--reviewer, --user), runner (--public-key), write_shared (--share), bounds (--agent, --layer,
/// --namespace, --tag; the last three may be repeated). Policies of the kinds read, write_private and write_shared that do more than turn sharing
/// on or off are given as a --file, rules in Cedar as --cedar.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion policy set ledger --kind write_path --strictness strict --namespace ledger
  tabellion policy set docs --kind official_sources --prefix https://docs.example.org/
  tabellion policy set four-eyes --kind approval --approvals 2
  tabellion policy set ana-for-bob --kind reviewer --reviewer ana --user bob
  tabellion policy set ci --kind runner --public-key d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
  tabellion policy set nurse --kind bounds --agent nurse --layer episodic --namespace ward --tag medical
  tabellion policy set share-all --kind write_shared --share on
  tabellion policy set no-payroll --cedar no-payroll.cedar
  tabellion policy set redact-mail --file redact-mail.json")]
pub(crate) struct Set {
    /// A name of yours for it: a-z 0-9 _ . -
    name: String,
    /// What it rules
    #[arg(long, value_parser = ["write_path", "official_sources", "approval", "reviewer", "runner", "write_shared", "bounds"], required_unless_present_any = ["file", "cedar"])]
    kind: Option<String>,
    /// The whole policy as a JSON file; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "kind")]
    file: Option<PathBuf>,
    /// Rules in Cedar, as a file of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "file"])]
    cedar: Option<PathBuf>,
    /// How strict writes are judged
    #[arg(long, value_parser = ["open", "standard", "strict"], requires = "kind")]
    strictness: Option<String>,
    /// Only in this namespace; of bounds it may be repeated
    #[arg(long = "namespace", value_name = "NAME", requires = "kind")]
    namespaces: Vec<String>,
    /// How the addresses of official sources begin; may be repeated
    #[arg(long = "prefix", value_name = "URI", requires = "kind")]
    prefixes: Vec<String>,
    /// How many people must say yes
    #[arg(long, value_name = "NUMBER", requires = "kind")]
    approvals: Option<u32>,
    /// Who reviews, by name or id
    #[arg(long, value_name = "USER", requires = "kind")]
    reviewer: Option<String>,
    /// Whose held writes, by name or id
    #[arg(long, value_name = "USER", requires = "kind")]
    user: Option<String>,
    /// Whether what is written may go to the shared pool
    #[arg(long, value_parser = ["on", "off"], requires = "kind")]
    share: Option<String>,
    /// The Ed25519 key of a test runner whose name is the policy's: 64 hex digits
    #[arg(long, value_name = "HEX", requires = "kind")]
    public_key: Option<String>,
    /// The agent that is bound, by name or id
    #[arg(long, value_name = "AGENT", requires = "kind")]
    agent: Option<String>,
    /// A layer that it may write to; may be repeated
    #[arg(long = "layer", value_name = "LAYER", requires = "kind")]
    layers: Vec<super::Layer>,
    /// A tag that its items may have; may be repeated
    #[arg(long = "tag", value_name = "TAG", requires = "kind")]
    tags: Vec<String>,
}

/// Take a policy away
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion policy remove no-payroll --reason \"a mistake\"")]
pub(crate) struct Remove {
    /// Its name
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// List the policies
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion policy list")]
pub(crate) struct List {}

pub(super) fn run(args: &Policy, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Policy::Set(args) => {
            let ask = Ask::new("PUT", &format!("/v1/policies/{}", segment(&args.name))).json(&body(args)?);
            let reply = client.ask(ask)?;
            context.output.reply(&reply, |_| done("set", &args.name))
        }
        Policy::Remove(Remove { name, reason }) => {
            let ask = Ask::new("DELETE", &format!("/v1/policies/{}", segment(name)));
            let reply = client.ask(ask.json(&super::reason(reason.as_deref())))?;
            context.output.reply(&reply, |_| done("removed", name))
        }
        Policy::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/policies"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "policies")))
        }
    }
}

/// What was done, and to what.
pub(super) fn done(status: &str, name: &str) -> Sheet {
    let mut sheet = Sheet::new([("status", Kind::State), ("name", Kind::Word)]);
    sheet.row([status.to_owned(), name.to_owned()]);
    sheet
}

fn body(args: &Set) -> anyhow::Result<Value> {
    if let Some(file) = &args.cedar {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(json!({"kind": "cedar", "text": text}));
    }
    let kind = match (&args.file, &args.kind) {
        (Some(file), _) => return json_file(file),
        (None, Some(kind)) => kind,
        (None, None) => bail!("give --kind or --file"),
    };
    let mut body = json!({"kind": kind});
    set(&mut body, "strictness", args.strictness.as_deref());
    if kind == "bounds" {
        set(&mut body, "namespaces", several(&args.namespaces));
    } else if let [namespace] = args.namespaces.as_slice() {
        set(&mut body, "namespace", Some(namespace.as_str()));
    } else if !args.namespaces.is_empty() {
        bail!("only --kind bounds takes more than one --namespace");
    }
    set(&mut body, "prefixes", (!args.prefixes.is_empty()).then(|| args.prefixes.clone()));
    set(&mut body, "approvals", args.approvals);
    set(&mut body, "reviewer", args.reviewer.as_deref());
    set(&mut body, "user", args.user.as_deref());
    set(&mut body, "share", args.share.as_deref());
    set(&mut body, "public_key", args.public_key.as_deref());
    set(&mut body, "agent", args.agent.as_deref());
    set(&mut body, "layers", several(&args.layers));
    set(&mut body, "tags", several(&args.tags));
    Ok(body)
}

/// The words of what was given, if anything was.
fn several(values: &[impl ToString]) -> Option<Vec<String>> {
    (!values.is_empty()).then(|| values.iter().map(ToString::to_string).collect())
}

fn sheet(policies: &[Value]) -> Sheet {
    let mut sheet =
        Sheet::new([("name", Kind::Word), ("kind", Kind::Word), ("rules", Kind::Whole)]).or("no policies");
    for policy in policies {
        let said = policy
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !["id", "kind"].contains(&name.as_str()));
        let rules: Vec<String> = said.map(|(name, _)| format!("{name}: {}", field(policy, name))).collect();
        sheet.row([field(policy, "id"), field(policy, "kind"), rules.join("; ")]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        set: Set,
    }

    fn check(line: &[&str], expected: &Value) {
        let only = Only::parse_from(["set", "name"].iter().chain(line));
        assert_eq!(&body(&only.set).unwrap(), expected);
    }

    #[test]
    fn each_kind_says_only_what_was_given() {
        check(&["--kind", "approval", "--approvals", "2"], &json!({"kind": "approval", "approvals": 2}));
        check(
            &["--kind", "write_path", "--strictness", "strict", "--namespace", "ledger"],
            &json!({"kind": "write_path", "strictness": "strict", "namespace": "ledger"}),
        );
        check(
            &["--kind", "official_sources", "--prefix", "https://a/", "--prefix", "https://b/"],
            &json!({"kind": "official_sources", "prefixes": ["https://a/", "https://b/"]}),
        );
        check(
            &["--kind", "reviewer", "--reviewer", "ana", "--user", "bob"],
            &json!({"kind": "reviewer", "reviewer": "ana", "user": "bob"}),
        );
        check(
            &["--kind", "runner", "--public-key", "d75a"],
            &json!({"kind": "runner", "public_key": "d75a"}),
        );
        let several = ["--namespace", "ward", "--namespace", "lab"];
        check(
            &[&["--kind", "bounds", "--agent", "nurse", "--layer", "episodic"][..], &several].concat(),
            &json!({"kind": "bounds", "agent": "nurse", "layers": ["episodic"], "namespaces": ["ward", "lab"]}),
        );
        let line = [&["set", "name", "--kind", "write_path"][..], &several].concat();
        assert!(body(&Only::parse_from(line).set).is_err());
        assert!(Only::try_parse_from(["set", "name"]).is_err());
        assert!(Only::try_parse_from(["set", "name", "--file", "f", "--kind", "approval"]).is_err());
    }
}
