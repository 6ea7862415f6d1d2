//! Searches of callers who see all, half, a tenth, a hundredth and a thousandth, beside the same searches where nothing is shared.

use super::super::latency::Latencies;
use super::super::search::{K, merge};
use super::world::{Memory, REACHES, World, agent, alone, user};
use crate::progress::Progress;
use anyhow::{Context as _, Result};
use roaring::RoaringBitmap;
use serde_json::{Value, json};
use std::borrow::Cow;
use tabellion_core::access::{Predicate, visible_to_pair};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::policy::Classes;
use tabellion_core::rank::{self, Places, Question, days_named};
use tabellion_core::vector::{Effort, VectorView};
use tabellion_core::view::{Row, Scope, SeenRows, day_of};

/// Candidates that the engine weighs.
const WEIGHED_MAX: usize = 200;
/// What callers are said to see, by the names that programs read.
pub(super) const SHARES: [&str; 5] = ["100", "50", "10", "1", "0.1"];

/// Who searches, and in what.
struct Searcher<'a> {
    memory: &'a Memory,
    vectors: &'a VectorView,
    predicate: Predicate,
    /// The rows that it sees, kept as the engine keeps them.
    seen: SeenRows,
}

impl<'a> Searcher<'a> {
    fn new(memory: &'a Memory, vectors: &'a VectorView, pair: (UserId, AgentId)) -> Self {
        let predicate = visible_to_pair(pair.0, Some(pair.1), &memory.views, memory.now());
        let seen = SeenRows::gather(&memory.views.items, &predicate);
        Self { memory, vectors, predicate, seen }
    }

    /// A search as the engine runs it, from the caller's predicate to the rows of the answer.
    fn search(&self, (words, vector): &(String, Vec<f32>), effort: Effort) -> Vec<Row> {
        let (memory, at) = (self.memory, self.memory.now());
        let scope = Scope {
            predicate: &self.predicate,
            at,
            tier: None,
            layers: &[],
            namespace: None,
            redacted: Classes::NONE,
        };
        let mut question = Question::of(words);
        question.vector = Some(vector);
        let years = memory.index.sessions.years(&memory.views.items, &self.predicate);
        question.days = days_named(words, day_of(at.time), years);
        question.find_quoting(&memory.index.lexical, Classes::NONE);
        let rows = self.rows();
        self.ranked(&scope, &question, &rows, effort)
    }

    /// As the engine does: what is kept is used while the log stands still, and nothing is kept where nothing is shared.
    fn rows(&self) -> Cow<'_, RoaringBitmap> {
        let (items, at) = (&self.memory.views.items, self.memory.now());
        if items.has_shared() && self.seen.is_current(items, &self.predicate) {
            return self.seen.at(items, at);
        }
        items.visible_rows(&self.predicate, at)
    }

    fn ranked(
        &self,
        scope: &Scope<'_>,
        question: &Question<'_>,
        rows: &RoaringBitmap,
        effort: Effort,
    ) -> Vec<Row> {
        let (items, index) = (&self.memory.views.items, &self.memory.index);
        let roots = self.memory.views.trust.roots();
        let places = Places { items, index, vectors: Some(self.vectors), scope, rows, effort, roots };
        let nearest = rank::nearest(&places, question, rank::depth(WEIGHED_MAX));
        let found = rank::hybrid(&places, question, &nearest, WEIGHED_MAX, &[]);
        let mut weighed: Vec<(f64, Row)> = found
            .into_iter()
            .filter_map(|one| {
                let version = items.version(one.row)?;
                let freshness = rank::freshness(version.layer, scope.at.time.since(version.time));
                let standing = index.standing(one.row, version.confidence);
                Some((standing.utility(one.relevance, freshness), one.row))
            })
            .collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
        weighed.iter().take(K).map(|(_, row)| *row).collect()
    }
}

/// What one caller's searches took, and what they found.
#[derive(Default)]
struct Level {
    filtered: Latencies,
    unfiltered: Latencies,
    found: u64,
    due: u64,
    short: u64,
}

/// Asks so many queries, each by one caller and by the one to whom everything belongs, and compares with exact answers.
pub(super) fn measured(world: &World, queries: u64) -> Result<Value> {
    let callers: Vec<Searcher<'_>> = (0..REACHES.len() as u64)
        .map(|caller| Searcher::new(&world.shared, &world.vectors, (user(caller), agent(caller))))
        .collect();
    let anyone = Searcher::new(&world.alone, &world.vectors, (alone(), agent(0)));
    let mut levels: Vec<Level> = callers.iter().map(|_| Level::default()).collect();
    let mut progress = Progress::of("searching");
    for number in 0..queries {
        let place = usize::try_from(number)? % callers.len();
        let (caller, level) = callers.get(place).zip(levels.get_mut(place)).context("no caller")?;
        ask(level, caller, &anyone, &world.query(number), (number / callers.len() as u64).is_multiple_of(2));
        progress.at(number, queries);
    }
    drop(progress);
    report(world, &callers, &levels)
}

/// One query, timed both ways in turn, then answered exactly.
fn ask(
    level: &mut Level,
    caller: &Searcher<'_>,
    anyone: &Searcher<'_>,
    query: &(String, Vec<f32>),
    filtered_first: bool,
) {
    let mut bare = || drop(level.unfiltered.time(|| anyone.search(query, Effort::Planned)));
    if !filtered_first {
        bare();
    }
    let found = level.filtered.time(|| caller.search(query, Effort::Planned));
    if filtered_first {
        bare();
    }
    let exact = caller.search(query, Effort::Exact);
    level.due += exact.len() as u64;
    level.found += exact.iter().filter(|row| found.contains(row)).count() as u64;
    level.short += u64::from(found.len() < exact.len());
}

fn report(world: &World, callers: &[Searcher<'_>], levels: &[Level]) -> Result<Value> {
    let (mut filtered, mut unfiltered) = (Latencies::default(), Latencies::default());
    let mut rows = Vec::new();
    for ((level, caller), share) in levels.iter().zip(callers).zip(SHARES) {
        filtered.extend(&level.filtered);
        unfiltered.extend(&level.unfiltered);
        let mut gathered = Latencies::default();
        let seen =
            gathered.time(|| SeenRows::gather(&caller.memory.views.items, &caller.predicate).rows().len());
        let mut row = compared(&level.filtered, &level.unfiltered);
        merge(
            &mut row,
            json!({
                "share": share, "rows": seen, "gathered_ms": gathered.ms(0.5), "classes": caller.predicate.classes().len(),
                "recall": level.found as f64 / level.due.max(1) as f64, "short": level.short,
            }),
        );
        rows.push(row);
    }
    let items = world.shared.views.items.len();
    Ok(json!({"items": items, "levels": rows, "mix": compared(&filtered, &unfiltered)}))
}

/// Times with the filter beside those without.
fn compared(filtered: &Latencies, unfiltered: &Latencies) -> Value {
    json!({
        "filtered": filtered.json(), "unfiltered": unfiltered.json(),
        "ratio_p50": filtered.ms(0.5) / unfiltered.ms(0.5), "ratio_p95": filtered.ms(0.95) / unfiltered.ms(0.95),
    })
}
