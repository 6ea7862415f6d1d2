//! What can be asked for: one file per command. The doc comment of its arguments is its help.

mod access;
mod agent;
mod ask;
mod audit;
mod bar;
mod bench;
mod cast;
mod chance;
mod completions;
mod config;
mod demo;
mod doctor;
mod edge;
mod eval;
mod explain;
mod export;
mod flagged;
mod get;
mod head;
mod history;
mod import;
mod key;
mod list;
mod mcp;
mod pin;
mod policy;
mod proof;
mod provenance;
mod quarantine;
mod rebuild;
mod relation;
mod release;
mod resource;
mod restore;
mod retract;
mod reverify;
mod revert;
mod review;
mod role;
mod rollback;
mod round;
mod schema;
mod search;
mod serve;
mod tenant;
mod token;
mod trust;
mod unpin;
mod user;
mod verify;
mod whoami;
mod write;
mod writes;

use crate::Context;
use crate::client::{Ask, Reply, segment};
use crate::output::{Kind, Sheet, field, rows};
use anyhow::Context as _;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// The most that is read of a policy or schema: as much as the server takes of a body.
const JSON_BYTES_MAX: u64 = 2 << 20;

/// What `tabellion` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Write(Box<write::Write>),
    Import(import::Import),
    Get(get::Get),
    List(list::List),
    Search(search::Search),
    Ask(ask::Ask),
    #[command(subcommand)]
    Relation(relation::Relation),
    History(history::History),
    Provenance(provenance::ProvenanceOf),
    Retract(retract::Retract),
    Rollback(rollback::Rollback),
    Pin(pin::Pin),
    Unpin(unpin::Unpin),
    Quarantine(quarantine::Quarantine),
    Release(release::Release),
    Revert(revert::Revert),
    Reverify(reverify::Reverify),
    Flagged(flagged::Flagged),
    Round(round::Round),
    Trust(trust::Trust),
    #[command(subcommand)]
    Review(review::Review),
    #[command(subcommand)]
    Writes(writes::Writes),
    #[command(subcommand)]
    Policy(policy::Policy),
    #[command(subcommand)]
    Schema(schema::Schema),
    Whoami(whoami::WhoAmI),
    #[command(subcommand)]
    User(user::User),
    #[command(subcommand)]
    Agent(agent::Agent),
    #[command(subcommand)]
    Resource(resource::Resource),
    Grant(edge::Grant),
    Revoke(edge::Revoke),
    #[command(subcommand)]
    Edge(edge::Edge),
    #[command(subcommand)]
    Role(role::Role),
    #[command(subcommand)]
    Access(access::Access),
    Explain(explain::Explain),
    #[command(subcommand)]
    Key(key::Key),
    Token(token::Token),
    #[command(subcommand)]
    Tenant(tenant::Tenant),
    Audit(audit::Audit),
    Head(head::Head),
    #[command(subcommand)]
    Proof(proof::Proof),
    Verify(verify::Verify),
    Rebuild(rebuild::Rebuild),
    Export(export::Export),
    Restore(restore::Restore),
    Doctor(doctor::Doctor),
    Mcp(mcp::Mcp),
    Config(config::Config),
    #[command(subcommand)]
    Bench(bench::Bench),
    #[command(subcommand)]
    Eval(eval::Eval),
    Completions(completions::Completions),
}

/// Runs a command.
pub(crate) fn run(command: Command, context: &Context) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Write(args) => write::run(*args, context),
        Command::Import(args) => import::run(&args, context),
        Command::Get(args) => get::run(&args, context),
        Command::List(args) => list::run(&args, context),
        Command::Search(args) => search::run(&args, context),
        Command::Ask(args) => ask::run(&args, context),
        Command::Relation(args) => relation::run(args, context),
        Command::History(args) => history::run(&args, context),
        Command::Provenance(args) => provenance::run(&args, context),
        Command::Retract(args) => retract::run(&args, context),
        Command::Rollback(args) => rollback::run(&args, context),
        Command::Pin(args) => pin::run(&args, context),
        Command::Unpin(args) => unpin::run(&args, context),
        Command::Quarantine(args) => quarantine::run(&args, context),
        Command::Release(args) => release::run(&args, context),
        Command::Revert(args) => revert::run(&args, context),
        Command::Reverify(args) => reverify::run(&args, context),
        Command::Flagged(args) => flagged::run(&args, context),
        Command::Round(args) => round::run(&args, context),
        Command::Trust(args) => trust::run(&args, context),
        Command::Review(args) => review::run(&args, context),
        Command::Writes(args) => writes::run(&args, context),
        Command::Policy(args) => policy::run(&args, context),
        Command::Schema(args) => schema::run(&args, context),
        Command::Whoami(args) => whoami::run(&args, context),
        Command::User(args) => user::run(&args, context),
        Command::Agent(args) => agent::run(&args, context),
        Command::Resource(args) => resource::run(&args, context),
        Command::Grant(args) => edge::grant(&args, context),
        Command::Revoke(args) => edge::revoke(&args, context),
        Command::Edge(args) => edge::run(&args, context),
        Command::Role(args) => role::run(&args, context),
        Command::Access(args) => access::run(&args, context),
        Command::Explain(args) => explain::run(&args, context),
        Command::Key(args) => key::run(&args, context),
        Command::Token(args) => token::run(&args, context),
        Command::Tenant(args) => tenant::run(&args, context),
        Command::Audit(args) => audit::run(&args, context),
        Command::Head(args) => head::run(&args, context),
        Command::Proof(args) => proof::run(&args, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Rebuild(args) => rebuild::run(&args, context),
        Command::Export(args) => export::run(&args, context),
        Command::Restore(args) => restore::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Mcp(args) => mcp::run(&args, context),
        Command::Config(args) => config::run(&args, context),
        Command::Bench(args) => bench::run(&args, context),
        Command::Eval(args) => eval::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
    }
}

/// The two logs of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Log {
    /// What is remembered
    Memory,
    /// Who did what
    Audit,
}

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Audit => "audit",
        })
    }
}

/// The layers of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Layer {
    /// Scratch of the task at hand; 15 minutes
    Working,
    /// What this session needs; 8 hours
    Session,
    /// What happened; kept until somebody takes it away (90 days under `strict`)
    Episodic,
    /// What is so
    Semantic,
    /// How it is done
    Procedural,
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Working => "working",
            Self::Session => "session",
            Self::Episodic => "episodic",
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
        })
    }
}

/// The path of an item.
fn item_path(id: &str) -> String {
    format!("/v1/items/{}", segment(id))
}

/// Asks for a change of an item (`:pin` and the like) and shows what became of it.
fn change(context: &Context, id: &str, verb: &str, body: &Value) -> anyhow::Result<ExitCode> {
    let reply = context.client()?.ask(Ask::new("POST", &format!("{}:{verb}", item_path(id))).json(body))?;
    show_outcome(context, &reply)
}

/// Shows how a write, a decision or another change of an item ended.
fn show_outcome(context: &Context, reply: &Reply) -> anyhow::Result<ExitCode> {
    context.output.reply(reply, |value| {
        if field(value, "status") == "deferred" { waiting(value) } else { ended(value) }
    })
}

fn ended(value: &Value) -> Sheet {
    let against = rows(value, "contradictions");
    let replaced = rows(value, "superseded");
    let (copy, in_place_of) = (field(value, "shared_id"), field(value, "replaces_review"));
    if [against, replaced].iter().all(|one| one.is_empty()) && copy.is_empty() && in_place_of.is_empty() {
        let mut sheet = Sheet::new([("status", Kind::State), ("id", Kind::Word), ("version", Kind::Word)]);
        sheet.row([field(value, "status"), field(value, "id"), field(value, "version")]);
        return sheet;
    }
    let mut sheet = Sheet::facts();
    for name in ["status", "id", "version"] {
        sheet.fact(name, field(value, name));
    }
    sheet.fact("shared as", copy);
    for one in against {
        sheet.fact("contradicts", with_text(one));
    }
    for one in replaced {
        sheet.fact("superseded", with_text(one));
    }
    sheet.fact("in place of", in_place_of);
    sheet
}

/// The id of an item, with what it says where that is there.
fn with_text(one: &Value) -> String {
    let (id, text) = (field(one, "id"), field(one, "text"));
    if text.is_empty() { id } else { format!("{id} “{text}”") }
}

/// What a write waits for, and how to ask after it.
fn waiting(value: &Value) -> Sheet {
    let id = field(value, "pending_id");
    let mut sheet = Sheet::facts();
    sheet.fact("status", field(value, "status"));
    sheet.fact("id", id.as_str());
    sheet.fact("will be", field(value, "id"));
    sheet.fact("why", format!("{} ({})", field(value, "message"), field(value, "code")));
    for one in rows(value, "contradictions") {
        sheet.fact("contradicts", with_text(one));
    }
    sheet.fact("in place of", field(value, "replaces_review"));
    if id.starts_with("rev_") {
        sheet.fact("ask", format!("tabellion review show {id}"));
        sheet.fact("decide", format!("tabellion review approve {id} --reason …   with the key of a person"));
    } else {
        sheet.fact("tried again in", field(value, "retry_after"));
        sheet.fact("ask", format!("tabellion writes show {id}"));
    }
    sheet
}

/// A reason as a body, absent if none was given.
fn reason(reason: Option<&str>) -> Value {
    let mut body = json!({});
    set(&mut body, "reason", reason);
    body
}

/// Sets a member of a JSON object, if there is a value.
fn set(body: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(members), Some(value)) = (body, value) {
        members.insert(name.to_owned(), value.into());
    }
}

/// The JSON in a file, or on stdin for `-`.
fn json_file(file: &Path) -> anyhow::Result<Value> {
    let name = file.display();
    let mut text = String::new();
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(file).with_context(|| format!("cannot read {name}"))?)
    };
    input.take(JSON_BYTES_MAX).read_to_string(&mut text).with_context(|| format!("cannot read {name}"))?;
    serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))
}

/// The items of a reply as a table.
fn item_sheet(items: &[Value], empty: &'static str) -> Sheet {
    let mut sheet = Sheet::new([
        ("id", Kind::Word),
        ("layer", Kind::Word),
        ("tier", Kind::Word),
        ("text", Kind::Text),
        ("updated", Kind::Date),
    ])
    .or(empty);
    // An item and its shared copy are one thing: one line, in both tiers.
    let copies: Vec<String> =
        items.iter().map(|item| field(item, "shared_id")).filter(|id| !id.is_empty()).collect();
    for item in items.iter().filter(|item| !copies.contains(&field(item, "id"))) {
        let tier = field(item, "tier");
        let is_shared_too = !field(item, "shared_id").is_empty();
        sheet.row([
            field(item, "id"),
            field(item, "layer"),
            if is_shared_too { format!("{tier}+shared") } else { tier },
            topic_and_text(item),
            field(item, "updated_at"),
        ]);
    }
    sheet
}

/// What an item says, behind what it is about.
fn topic_and_text(item: &Value) -> String {
    let [key, text] = ["key", "text"].map(|name| field(item, name));
    if key.is_empty() { text } else { format!("{key}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    fn check(sheet: &Sheet, expected: &[&str]) {
        let shown = sheet.render(Look { styled: false, width: None });
        for part in expected {
            assert!(shown.contains(part), "{part:?} in\n{shown}");
        }
    }

    #[test]
    fn a_write_that_waits_says_for_what() {
        let held = json!({"status": "deferred", "pending_id": "rev_a", "gate": "policy", "code": "APPROVAL_REQUIRED",
                          "message": "waits for a person: it speaks against 1 item"});
        let why = "waits for a person: it speaks against 1 item (APPROVAL_REQUIRED)";
        check(
            &waiting(&held),
            &["deferred", why, "tabellion review show rev_a", "tabellion review approve rev_a"],
        );
        let put_off = json!({"status": "deferred", "pending_id": "def_a", "gate": "preflight", "code": "RATE_EXCEEDED",
                             "message": "too fast", "retry_after": "PT60S"});
        check(&waiting(&put_off), &["too fast (RATE_EXCEEDED)", "PT60S", "tabellion writes show def_a"]);
    }

    #[test]
    fn what_a_write_speaks_against_is_named() {
        let written = json!({"status": "committed", "id": "itm_a", "version": "ver_a", "contradictions": [{"id": "itm_b"}]});
        check(&ended(&written), &["committed", "itm_a", "contradicts  itm_b"]);
    }
}
