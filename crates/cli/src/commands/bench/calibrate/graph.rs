//! What it costs to score relations, beside walking along them.

use super::super::bare::now;
use super::super::latency::Latencies;
use super::heard::Heard;
use super::team::{AGENTS, options};
use crate::commands::cast::{Cast, told};
use crate::commands::chance::Chance;
use crate::progress::Progress;
use anyhow::Result;
use serde_json::{Value, json};
use tabellion_core::error::Refusal;
use tabellion_core::gate::{WriteDraft, read_relation};
use tabellion_engine::reply::{PathsQuery, RoundDraft, Written};
use tabellion_engine::{CalibrationMode, Call};

/// Relations that leave each node.
const OUT: u64 = 5;
/// Types of relations.
const KINDS: u64 = 24;
/// Nodes that lie near each other: nine of ten relations stay there.
const NEAR: u64 = 1_000;
/// Relations that are written together, to fill and in a round.
const BATCH: usize = 64;
const DELTA: usize = 5;
/// Calls under way at a time while the graph is filled.
const AT_ONCE: usize = 16;
/// How far a read walks, and how many paths it is for.
const DEPTH: u64 = 3;
const PATHS: u64 = 5;

/// None was refused.
fn taken(related: Result<Vec<Result<Written, Refusal>>, Refusal>) -> Result<()> {
    let related = related.map_err(told)?;
    related.into_iter().collect::<Result<Vec<_>, Refusal>>().map(drop).map_err(told)
}

/// A graph of so many nodes, in an engine in memory.
pub(super) struct Graph {
    cast: Cast,
    round: String,
    nodes: u64,
    /// Where the relations of each node lead.
    out: Vec<Vec<u64>>,
    chance: Chance,
}

impl Graph {
    /// Fills the graph; what is written before the round is not scored.
    pub(super) async fn new(nodes: u64) -> Result<Self> {
        let cast = Cast::new(options(None, CalibrationMode::Advise), AGENTS).await?;
        let mut graph = Self { cast, round: String::new(), nodes, out: Vec::new(), chance: Chance::new(5) };
        graph.fill().await?;
        let agents = graph.cast.names.clone();
        let texts = (0..16).map(|node| format!("n{node}")).collect();
        let draft = RoundDraft { goal: "what is near n1".to_owned(), agents, texts, ..RoundDraft::default() };
        graph.round = graph.cast.engine.declare_round(&graph.cast.admin, draft).await.map_err(told)?.id;
        Ok(graph)
    }

    async fn fill(&mut self) -> Result<()> {
        let mut progress = Progress::of("writing relations");
        let (mut node, mut calls) = (0, 0);
        while node < self.nodes {
            let mut writes = Vec::new();
            while writes.len() < AT_ONCE && node < self.nodes {
                let mut drafts = Vec::with_capacity(BATCH);
                while drafts.len() + OUT as usize <= BATCH && node < self.nodes {
                    let ends = (0..OUT).map(|_| self.beside(node)).collect();
                    self.out.push(ends);
                    drafts.extend(
                        (0..OUT as usize).map(|place| self.relation((node, self.end(node, place)), None)),
                    );
                    node += 1;
                }
                let (engine, call) = (self.cast.engine.clone(), self.call(calls)?);
                calls += 1;
                writes.push(tokio::spawn(async move { engine.write_relations(&call, drafts).await }));
            }
            for write in writes {
                taken(write.await?)?;
            }
            progress.at(node, self.nodes);
        }
        Ok(())
    }

    fn call(&self, agent: usize) -> Result<Call> {
        self.cast.call(agent % AGENTS).cloned()
    }

    /// A node near another one, or now and then far from it.
    fn beside(&mut self, node: u64) -> u64 {
        let near = node / NEAR * NEAR;
        match self.chance.next() % 10 {
            0 => self.chance.next() % self.nodes,
            _ => (near + self.chance.next() % NEAR).min(self.nodes - 1),
        }
    }

    /// Where a relation of a node leads.
    fn end(&self, node: u64, place: usize) -> u64 {
        let out = usize::try_from(node).ok().and_then(|node| self.out.get(node));
        out.and_then(|out| out.get(place % out.len().max(1))).copied().unwrap_or(node)
    }

    fn relation(&self, (node, to): (u64, u64), round: Option<&str>) -> Result<WriteDraft, Refusal> {
        let kind = (node * 7 + to) % KINDS;
        let mut body = json!({
            "subject": format!("n{node}"), "predicate": format!("kind{kind}"), "object": format!("n{to}"),
            "tier": "shared", "layer": "episodic",
        });
        if let (Some(round), Some(body)) = (round, body.as_object_mut()) {
            body.insert("trace_id".to_owned(), json!(round));
        }
        read_relation(body)
    }

    async fn walk(&mut self, agent: usize, took: &mut Latencies) -> Result<()> {
        let from = self.chance.next() % NEAR.min(self.nodes);
        let mut to = from;
        for _ in 0..DEPTH {
            let place = (self.chance.next() % OUT) as usize;
            to = self.end(to, place);
        }
        let query = PathsQuery {
            from: Some(format!("n{from}")),
            to: Some(format!("n{to}")),
            direction: Some("both".to_owned()),
            depth: Some(DEPTH),
            limit: Some(PATHS),
            namespace: Some("default".to_owned()),
            trace_id: Some(self.round.clone()),
            ..PathsQuery::default()
        };
        let call = self.call(agent)?;
        let began = now();
        let found = self.cast.engine.paths(&call, query).await.map_err(told)?;
        took.note(began.elapsed());
        drop(found);
        Ok(())
    }

    /// Rounds in which everybody walks and one writes five relations together.
    pub(super) async fn rounds(&mut self, rounds: u64, heard: &Heard) -> Result<Value> {
        let (mut walks, mut scores, mut writes) =
            (Latencies::default(), Latencies::default(), Latencies::default());
        let mut progress = Progress::of("playing rounds of relations");
        for number in 0..rounds {
            for agent in 0..AGENTS {
                self.walk(agent, &mut walks).await?;
            }
            let round = self.round.clone();
            let drafts: Vec<_> = (0..DELTA)
                .map(|_| {
                    let node = self.chance.next() % NEAR.min(self.nodes);
                    let to = self.beside(node);
                    self.relation((node, to), Some(&round))
                })
                .collect();
            let call = self.call(number as usize)?;
            drop(heard.take("tabellion_memory_calibration_seconds"));
            let began = now();
            taken(self.cast.engine.write_relations(&call, drafts).await)?;
            writes.note(began.elapsed());
            // The first of them takes the time of all.
            scores.note(heard.take("tabellion_memory_calibration_seconds").sum());
            progress.at(number, rounds);
        }
        Ok(json!({"graph": {
            "nodes": self.nodes, "relations": self.nodes * OUT, "together": DELTA,
            "walk": walks.json(), "delta": scores.json(), "write": writes.json(),
            "delta_to_walk_p50": scores.ms(0.5) / walks.ms(0.5),
        }}))
    }

    pub(super) async fn close(self) -> Result<()> {
        self.cast.close().await
    }
}
