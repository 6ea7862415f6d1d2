//! `import`: many items, one JSON object a line.

mod mem0;

use crate::Context;
use crate::client::{Ask, Client};
use crate::failure::{Failure, fault_line, faults_of};
use crate::lines::{Line, Lines};
use crate::output::{Kind, Sheet, field};
use crate::progress::Progress;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The longest line that a server takes.
const LINE_BYTES_MAX: usize = 1 << 20;
const CHUNK_LINES_MAX: usize = 1_000;
const CHUNK_BYTES_MAX: usize = 16 << 20;
/// How often a line is sent that the server had no room for.
const TRIES_MAX: u32 = 6;
const WAIT_SECONDS_MAX: u64 = 30;
/// Unwritten lines that a person is shown.
const SHOWN_MAX: usize = 100;

/// Write many items, one JSON object a line
///
/// Each line has the fields of a write (`text`, `key`, `layer`, …). Lines stand for themselves: one that is rejected stops no
/// other. An import that was interrupted can be started again: lines that are in already are replays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion import items.ndjson
  jq -c '.[]' items.json | tabellion import -
  tabellion import memories.json --format mem0                   what Mem0's get_all or an export gives
  tabellion import memories.json --format mem0 --user-id ana     those of one of its users

A line: {\"text\":\"Port 8080 serves the API\",\"key\":\"API port\",\"layer\":\"semantic\"}")]
pub(crate) struct Import {
    /// The file; - is stdin
    file: PathBuf,
    /// What the file holds: lines of this server's own form, or memories as Mem0 gives them
    #[arg(long, default_value = "lines", value_parser = ["lines", "mem0"])]
    format: String,
    /// Of a file of Mem0 with memories of several users: import those of this one
    #[arg(long, value_name = "ID")]
    user_id: Option<String>,
}

/// What became of the lines.
#[derive(Debug, Default)]
struct Tally {
    committed: u64,
    replayed: u64,
    superseded: u64,
    deferred: Vec<Unwritten>,
    rejected: Vec<Unwritten>,
}

/// A line that is not memory, and the server's word on it.
#[derive(Debug)]
struct Unwritten {
    line: u64,
    refusal: Value,
}

pub(super) fn run(args: &Import, context: &Context) -> anyhow::Result<ExitCode> {
    if args.user_id.is_some() && args.format != "mem0" {
        bail!("--user-id chooses among the users of a file of Mem0: say --format mem0");
    }
    let client = context.client()?;
    let (input, bytes): (Box<dyn BufRead>, u64) = if args.file.as_os_str() == "-" {
        (Box::new(std::io::stdin().lock()), 0)
    } else {
        let file = File::open(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        (Box::new(BufReader::new(file)), bytes)
    };
    let input: Box<dyn BufRead> = match args.format.as_str() {
        "mem0" => Box::new(Cursor::new(mem0::lines(input, args.user_id.as_deref())?)),
        _ => input,
    };
    let mut lines = Lines::of(input, LINE_BYTES_MAX);
    let mut progress = Progress::of_bytes("importing");
    let mut tally = Tally::default();
    loop {
        let chunk = lines.chunk(CHUNK_LINES_MAX, CHUNK_BYTES_MAX).context("cannot read on")?;
        if chunk.is_empty() {
            break;
        }
        if let Err(error) = send(&client, chunk, &mut tally) {
            let done = tally.committed + tally.replayed;
            return Err(error.context(format!(
                "stopped after {done} lines were in; start the same import again to go on"
            )));
        }
        progress.at(lines.bytes_read(), bytes);
    }
    drop(progress);
    show(&tally, context)?;
    Ok(if tally.rejected.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sends a chunk, and again those lines that the server had no room for.
fn send(client: &Client, chunk: Vec<Line>, tally: &mut Tally) -> anyhow::Result<()> {
    let mut waiting = chunk;
    for attempt in 0.. {
        let last = attempt + 1 == TRIES_MAX;
        let mut wait_seconds = 1_u64 << attempt.min(5);
        match send_once(client, &waiting) {
            Ok(results) => {
                let pairs = std::mem::take(&mut waiting).into_iter().zip(results);
                waiting = pairs.filter_map(|(line, result)| tally.take(line, result, !last)).collect();
            }
            Err(error) => match error.downcast_ref::<Failure>().and_then(Failure::worth_waiting) {
                Some(seconds) if !last => wait_seconds = seconds.max(wait_seconds),
                _ => return Err(error),
            },
        }
        if waiting.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_secs(wait_seconds.min(WAIT_SECONDS_MAX)));
    }
    Ok(())
}

fn send_once(client: &Client, chunk: &[Line]) -> anyhow::Result<Vec<Value>> {
    let sendable: Vec<_> = chunk.iter().filter_map(|line| line.text.as_deref()).collect();
    let mut answers = Vec::new().into_iter();
    if !sendable.is_empty() {
        let mut body = sendable.join(&b'\n');
        body.push(b'\n');
        let reply =
            client.ask(Ask::new("POST", "/v1/items:batch").body("application/x-ndjson", body).long())?;
        let mut results: Vec<Value> =
            reply.text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        // A batch that went over a limit ends early, and its last line says which.
        let Some(last) = results.last().cloned() else { bail!("the server gave no results") };
        results.resize(sendable.len(), last);
        answers = results.into_iter();
    }
    let result = |line: &Line| match &line.text {
        Some(_) => answers.next().unwrap_or_default(),
        None => {
            json!({"status": "rejected", "code": "TOO_LARGE", "message": "the line is longer than 1 MiB"})
        }
    };
    Ok(chunk.iter().map(result).collect())
}

impl Tally {
    /// Counts a result; gives the line back if it should be sent again.
    fn take(&mut self, line: Line, result: Value, may_repeat: bool) -> Option<Line> {
        match (result.get("status").and_then(Value::as_str), result.get("code").and_then(Value::as_str)) {
            (Some("committed" | "merged"), _) => {
                self.committed += 1;
                self.superseded += super::rows(&result, "superseded").len() as u64;
            }
            (Some("already_committed"), _) => self.replayed += 1,
            (Some("deferred"), _) => self.deferred.push(Unwritten { line: line.number, refusal: result }),
            (_, Some("OVERLOADED" | "RATE_LIMITED" | "TIMEOUT" | "DEFERRALS_FULL")) if may_repeat => {
                return Some(line);
            }
            _ => self.rejected.push(Unwritten { line: line.number, refusal: result }),
        }
        None
    }
}

fn show(tally: &Tally, context: &Context) -> anyhow::Result<()> {
    let output = &context.output;
    if output.is_json() {
        let listed = |lines: &[Unwritten]| lines.iter().map(rejection).collect::<Vec<_>>();
        let summary = json!({"committed": tally.committed, "replayed": tally.replayed, "superseded": tally.superseded,
                             "deferred": tally.deferred.len(), "deferrals": listed(&tally.deferred),
                             "rejected": tally.rejected.len(), "rejections": listed(&tally.rejected)});
        return Ok(output.raw_json(&summary.to_string())?);
    }
    let mut sheet = Sheet::new([("outcome", Kind::State), ("lines", Kind::Number)]);
    sheet.row(["committed".into(), tally.committed.to_string()]);
    sheet.row(["replayed".into(), tally.replayed.to_string()]);
    if tally.superseded > 0 {
        sheet.row(["superseded".into(), tally.superseded.to_string()]);
    }
    if !tally.deferred.is_empty() {
        sheet.row(["deferred".into(), tally.deferred.len().to_string()]);
    }
    sheet.row(["rejected".into(), tally.rejected.len().to_string()]);
    output.sheet(&sheet)?;
    if tally.superseded > 0 {
        output.line("what was superseded gave way to a newer line about the same; `tabellion history ID` still shows it")?;
    }
    if !tally.deferred.is_empty() {
        output.line("what was deferred waits for a person (`tabellion review list`) or for its turn (`tabellion writes list`)")?;
    }
    if !tally.rejected.is_empty() {
        output.line("")?;
        output.sheet(&rejected_sheet(&tally.rejected))?;
    }
    let hidden = tally.rejected.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        output.line(output.dim(&format!("… and {hidden} more; --json has them all")))?;
    }
    Ok(())
}

fn rejection(rejected: &Unwritten) -> Value {
    // The server counts the lines of its batch, people those of their file.
    let mut value = rejected.refusal.clone();
    super::set(&mut value, "line", Some(rejected.line));
    value
}

fn rejected_sheet(rejected: &[Unwritten]) -> Sheet {
    let mut sheet =
        Sheet::new([("line", Kind::Number), ("code", Kind::State), ("what is wrong", Kind::Text)]);
    for Unwritten { line, refusal } in rejected.iter().take(SHOWN_MAX) {
        let faults: Vec<_> = faults_of(refusal).iter().map(fault_line).collect();
        let what = if faults.is_empty() { field(refusal, "message") } else { faults.join("; ") };
        sheet.row([line.to_string(), field(refusal, "code"), what]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;

    fn line(number: u64) -> Line {
        Line { number, text: Some(b"{}".to_vec()) }
    }

    #[test]
    fn results_are_counted_by_how_they_ended() {
        let mut tally = Tally::default();
        assert!(tally.take(line(1), json!({"status": "committed"}), true).is_none());
        assert!(tally.take(line(2), json!({"status": "already_committed"}), true).is_none());
        assert!(tally.take(line(3), json!({"status": "rejected", "code": "SCHEMA_INVALID"}), true).is_none());
        let full = json!({"status": "rejected", "code": "OVERLOADED"});
        assert_eq!(tally.take(line(4), full.clone(), true).unwrap().number, 4);
        assert!(tally.take(line(4), full, false).is_none());
        assert!(tally.take(line(5), json!({"status": "deferred", "pending_id": "rev_a"}), true).is_none());
        assert_eq!((tally.committed, tally.replayed, tally.deferred.len()), (1, 1, 1));
        assert_eq!(tally.rejected.iter().map(|rejected| rejected.line).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn rejected_lines_are_named() {
        let refusal = json!({"code": "SCHEMA_INVALID", "message": "1 fault", "errors": [
            {"path": "/confidence", "code": "CONSTRAINT_VIOLATION", "expected": "a number from 0 to 1", "actual": "7"}]});
        let malformed = json!({"code": "MALFORMED", "message": "not JSON"});
        let rejected = [Unwritten { line: 17, refusal }, Unwritten { line: 1234, refusal: malformed }];
        insta::assert_snapshot!(
            "rejected",
            rejected_sheet(&rejected).render(Look { styled: false, width: None })
        );
        assert_eq!(
            rejection(&rejected[1]),
            json!({"line": 1234, "code": "MALFORMED", "message": "not JSON"})
        );
    }
}
