//! `demo`: what Tabellion does, told by real calls to a real server on a scratch directory.

mod story;

use super::verify::{faults, is_ok, logs, report};
use crate::Context;
use crate::client::Client;
use crate::hosting::Hosted;
use crate::output::{field, rows};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use story::{Story, Who};
use tabellion_engine::offline::{self, VerifyOptions};
use tabellion_server::Config;
use tabellion_server::config::LogLevel;

/// Show what Tabellion does: two users and three agents on a scratch directory
///
/// Starts a server of its own on a free port, tells a story with real calls and real answers, and cleans up. Nothing of yours
/// is touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion demo
  tabellion demo --slow                                 with time to read")]
pub(crate) struct Demo {
    /// Pause between the steps
    #[arg(long)]
    slow: bool,
}

pub(super) fn run(args: &Demo, context: &Context) -> anyhow::Result<ExitCode> {
    let scratch = tempfile::Builder::new()
        .prefix("tabellion-demo-")
        .tempdir()
        .context("cannot make a scratch directory")?;
    let data = scratch.path().join("data");
    let mut story = Story::new(&context.output, args.slow);
    let hosted = Hosted::start(config(&data))?;
    story.chapter("A server on a scratch directory")?;
    story.say(&format!("It listens on {} and keeps its data in {}.", hosted.url(), data.display()))?;
    let cast = Cast::gather(&mut story, &hosted)?;
    let told = tell(&mut story, &cast);
    hosted.stop()?;
    told?;
    check_offline(&mut story, &data, &scratch.path().join("copy"))?;
    story.end()?;
    Ok(ExitCode::SUCCESS)
}

fn config(data: &Path) -> Config {
    let mut config = Config { data: data.to_owned(), ..Config::default() };
    config.listen.set_port(0);
    config.log.level = LogLevel::Error;
    config
}

/// Who plays, each with a key of their own.
struct Cast {
    admin: Who,
    ana_scout: Who,
    ana_planner: Who,
    bob_critic: Who,
}

impl Cast {
    fn gather(story: &mut Story<'_>, hosted: &Hosted) -> anyhow::Result<Self> {
        let key = hosted.admin_key().context("the first start gave no key")?;
        let client = Client::new(&hosted.url(), Some(key.to_owned()), None)?;
        let admin = Who::new("the admin", client);
        story.chapter("Two users, three agents")?;
        for name in ["ana", "bob"] {
            story.send(&admin, ("POST", "/v1/users"), &json!({"name": name}), 201)?;
        }
        for name in ["scout", "planner", "critic"] {
            story.send(&admin, ("POST", "/v1/agents"), &json!({"name": name}), 201)?;
        }
        story
            .say("A key names a user and the agent that acts for them. Identity comes from the key alone.")?;
        let mut act = |user: &str, agent: &str| -> anyhow::Result<Who> {
            let body = json!({"user": user, "agent": agent});
            let made = story.send(&admin, ("POST", "/v1/keys"), &body, 201)?;
            Ok(Who::new(&format!("{user} through {agent}"), admin.client.acting_with(&field(&made, "key"))))
        };
        let (ana_scout, ana_planner, bob_critic) =
            (act("ana", "scout")?, act("ana", "planner")?, act("bob", "critic")?);
        Ok(Self { admin, ana_scout, ana_planner, bob_critic })
    }
}

fn tell(story: &mut Story<'_>, cast: &Cast) -> anyhow::Result<()> {
    let id = write(story, cast)?;
    share_nothing(story, cast, &id)?;
    change_and_travel(story, cast, &id)?;
    refuse(story, cast)?;
    answer_for_it(story, cast)
}

fn write(story: &mut Story<'_>, cast: &Cast) -> anyhow::Result<String> {
    story.chapter("Something is remembered")?;
    let evidence = json!([{"source_type": "document", "source_uri": "doc://runbook", "excerpt": "the API listens on port 8080",
                           "accessed_at": "2026-11-15T00:00:00Z"}]);
    let item = json!({"text": "Port 8080 serves the API", "key": "API port", "confidence": 0.9,
                      "evidence": evidence});
    let written = story.send(&cast.ana_scout, ("POST", "/v1/items"), &item, 201)?;
    let id = field(&written, "id");
    story.say("The network hiccups and the agent sends it again. That is a replay: the same item, not a second one.")?;
    let again = story.send(&cast.ana_scout, ("POST", "/v1/items"), &item, 200)?;
    ensure!(field(&again, "id") == id, "a replay should answer with the first item");
    story.say("Ana's other agent finds it:")?;
    let found = story.send(
        &cast.ana_planner,
        ("POST", "/v1/search"),
        &json!({"query": "which port", "k": 3}),
        200,
    )?;
    ensure!(rows(&found, "results").len() == 1, "the search should find one item");
    Ok(id)
}

fn share_nothing(story: &mut Story<'_>, cast: &Cast, id: &str) -> anyhow::Result<()> {
    story.chapter("Bob cannot see it")?;
    let hidden = story.get(&cast.bob_critic, &format!("/v1/items/{id}"), 404)?;
    story.say(
        "An item that does not exist gives the very same answer, so nothing can be learnt from asking:",
    )?;
    let nothing = "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let missing = story.get(&cast.bob_critic, &format!("/v1/items/{nothing}"), 404)?;
    ensure!(
        field(&hidden, "message") == field(&missing, "message"),
        "hidden and missing should look the same"
    );
    let found = story.send(&cast.bob_critic, ("POST", "/v1/search"), &json!({"query": "which port"}), 200)?;
    ensure!(rows(&found, "results").is_empty(), "bob should find nothing");
    Ok(())
}

fn change_and_travel(story: &mut Story<'_>, cast: &Cast, id: &str) -> anyhow::Result<()> {
    story.chapter("It changes, and the past stays")?;
    let path = format!("/v1/items/{id}");
    let before = story.get(&cast.ana_planner, &path, 200)?;
    let update = json!({"text": "Port 9090 serves the API", "key": "API port",
                        "expected_version": field(&before, "version")});
    story.send(&cast.ana_planner, ("PUT", &path), &update, 201)?;
    let now = story.get(&cast.ana_planner, &path, 200)?;
    ensure!(field(&now, "text").contains("9090"), "the new version should hold");
    story.say("What did it say before? Any moment of the past can be asked:")?;
    let then = format!("{path}?as_of={}", field(&before, "updated_at"));
    let then = story.get(&cast.ana_planner, &then, 200)?;
    ensure!(field(&then, "text").contains("8080"), "the past should be as it was");
    story.say("The update was wrong. A rollback brings the version before back, as a new entry:")?;
    let body = json!({"reason": "measured again"});
    story.send(&cast.ana_scout, ("POST", &format!("{path}:rollback")), &body, 200)?;
    let back = story.get(&cast.ana_scout, &path, 200)?;
    ensure!(field(&back, "text").contains("8080"), "the version before should hold again");
    let versions = story.get(&cast.ana_scout, &format!("{path}/versions"), 200)?;
    ensure!(rows(&versions, "versions").len() >= 2, "no version is ever lost");
    Ok(())
}

fn refuse(story: &mut Story<'_>, cast: &Cast) -> anyhow::Result<()> {
    story.chapter("What does not pass is told everything at once")?;
    let bad = json!({"text": "Ana likes tea", "confidence": 7, "layer": "dreams"});
    let refused = story.send(&cast.ana_scout, ("POST", "/v1/items"), &bad, 422)?;
    ensure!(rows(&refused, "errors").len() >= 2, "every fault should be named");
    Ok(())
}

fn answer_for_it(story: &mut Story<'_>, cast: &Cast) -> anyhow::Result<()> {
    story.chapter("Who did what, and is it all still there?")?;
    story.get(&cast.admin, "/v1/audit?limit=3", 200)?;
    let verified = story.send(&cast.admin, ("POST", "/v1/audit:verify"), &json!({}), 200)?;
    ensure!(is_ok(&verified), "the logs should verify");
    Ok(())
}

fn check_offline(story: &mut Story<'_>, data: &Path, copy: &Path) -> anyhow::Result<()> {
    story.chapter("The server is gone; the log can be checked without it")?;
    let found = verify(data)?;
    story.result("tabellion verify --data data", &found, &[logs(&found)])?;
    ensure!(is_ok(&found), "the data should verify");
    story.say("Someone copies the directory and flips one bit of one entry, in the middle of the log:")?;
    copy_dir(data, copy).context("cannot copy the data")?;
    let lsn = flip_a_bit(copy)?;
    let found = verify(copy)?;
    story.result("tabellion verify --data copy", &found, &[logs(&found), faults(&found)])?;
    ensure!(!is_ok(&found), "the tampering should be found");
    story.say(&format!("Found, and named: entry {lsn}. The original is as it was."))
}

fn verify(data: &Path) -> anyhow::Result<Value> {
    let options = VerifyOptions { views: true, public_key: None };
    Ok(serde_json::from_str(&report(&offline::verify(data, None, options, &mut |_, _| ())?)?)?)
}

fn copy_dir(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Flips the lowest bit of the last byte of an entry's body.
fn flip_a_bit(data: &Path) -> anyhow::Result<i64> {
    let tenants = offline::tenants(data)?;
    let tenant = tenants.first().context("there is no tenant")?;
    let log = rusqlite::Connection::open(tabellion_store::DataDir::at(data).log(*tenant))?;
    let middle = "SELECT lsn, body FROM memory_entry WHERE lsn = (SELECT max(lsn) / 2 + 1 FROM memory_entry)";
    let (lsn, mut body): (i64, Vec<u8>) = log.query_row(middle, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if let Some(last) = body.last_mut() {
        *last ^= 1;
    }
    log.execute("UPDATE memory_entry SET body = ?1 WHERE lsn = ?2", rusqlite::params![body, lsn])?;
    Ok(lsn)
}
