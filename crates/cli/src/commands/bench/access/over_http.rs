//! What is hidden and what never was, over HTTP: the replies must be the same, and take as long.

use super::super::bare::now;
use super::super::cloud::Chance;
use super::super::latency::Latencies;
use super::super::load::Connection;
use super::super::start::Child;
use super::through::{in_turn, missed, never, out_of_order};
use crate::progress::Progress;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::path::Path;
use tabellion_core::id::ItemId;

/// Headers that are another in every reply.
const OF_EACH_REPLY: [&str; 2] = ["date:", "x-request-id:"];

/// Reads what is another's and what never was, in turn, from a server over the data that was written.
pub(super) async fn absent(data: &Path, key: &str, items: &[ItemId], gets: usize) -> Result<Value> {
    let server = Child::start(data)?;
    let mut connection = Connection::open(&server.address, key).await?;
    let (mut hidden, mut random) = (Latencies::default(), Latencies::default());
    let (mut chance, mut reply) = (Chance::new(19), None);
    let mut progress = Progress::of("reading over HTTP");
    for number in 0..gets {
        let item = items.get(out_of_order(number, items.len())).context("no item")?;
        for (id, latencies) in in_turn(number, (*item, &mut hidden), (never(&mut chance), &mut random)) {
            let path = format!("/v1/items/{id}");
            let began = now();
            let status = connection.get(&path).await?;
            latencies.note(began.elapsed());
            ensure!(status == 404, "an item that is hidden or never was was answered with {status}");
            let told = plain(connection.answer(), &id.to_string());
            let first = reply.get_or_insert_with(|| told.clone());
            ensure!(*first == told, "two replies for what is missing differ:\n{first}\n{told}");
        }
        progress.at(number as u64, gets as u64);
    }
    Ok(missed(&hidden, &random))
}

/// An answer without what is another in every reply: the time, the id of the request, which the body names too, and what was
/// asked for.
fn plain(answer: &[u8], asked: &str) -> String {
    let text = String::from_utf8_lossy(answer);
    let id = text.lines().find_map(|line| line.strip_prefix("x-request-id:")).map(str::trim);
    let of_each = |line: &&str| OF_EACH_REPLY.iter().any(|name| line.starts_with(name));
    let lines: Vec<&str> = text.lines().filter(|line| !of_each(line)).collect();
    lines.join("\n").replace(id.unwrap_or(asked), "").replace(asked, "")
}
