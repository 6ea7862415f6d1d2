//! What the agents of a team say and walk of relations.

use super::team::{FOUND_MAX, Team};
use crate::commands::cast::told;
use anyhow::Result;
use serde_json::json;
use tabellion_core::error::Refusal;
use tabellion_core::gate::read_relation;
use tabellion_engine::reply::{PathsQuery, SearchQuery, Written};

/// Paths of one answer, at most.
const PATHS: u64 = 64;

impl Team {
    /// Says relations together, for everybody.
    pub(super) async fn relate(
        &self,
        agent: usize,
        said: &[[String; 3]],
        round: &str,
    ) -> Result<Vec<Written>> {
        let draft = |[subject, predicate, object]: &[String; 3]| {
            read_relation(json!({
                "subject": subject, "predicate": predicate, "object": object,
                "tier": "shared", "layer": "episodic", "trace_id": round,
            }))
        };
        let drafts = said.iter().map(draft).collect();
        let related = self.cast.engine.write_relations(self.call(agent)?, drafts).await.map_err(told)?;
        related.into_iter().collect::<Result<Vec<_>, Refusal>>().map_err(told)
    }

    /// An agent tells how it went with relations of one type.
    pub(super) async fn report_ties(
        &self,
        agent: usize,
        kind: &str,
        ids: &[String],
        good: bool,
    ) -> Result<()> {
        let query = SearchQuery {
            query: Some(kind.to_owned()),
            mode: Some("lexical".to_owned()),
            k: Some(FOUND_MAX),
            ..SearchQuery::default()
        };
        self.report_found(agent, query, ids.to_vec(), good).await
    }

    /// Walks from one thing to another in a round; that is a probe.
    pub(super) async fn walk(&self, agent: usize, (from, to): (&str, &str), round: &str) -> Result<()> {
        let query = PathsQuery {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            direction: Some("both".to_owned()),
            depth: Some(3),
            limit: Some(1),
            namespace: Some("default".to_owned()),
            trace_id: Some(round.to_owned()),
            ..PathsQuery::default()
        };
        self.cast.engine.paths(self.call(agent)?, query).await.map_err(told)?;
        Ok(())
    }

    /// Where two steps of these types lead, the strongest first.
    pub(super) async fn two_steps(
        &self,
        agent: usize,
        from: &str,
        kinds: &[String; 2],
    ) -> Result<Vec<String>> {
        let query = PathsQuery {
            from: Some(from.to_owned()),
            types: kinds.to_vec(),
            depth: Some(2),
            limit: Some(PATHS),
            namespace: Some("default".to_owned()),
            ..PathsQuery::default()
        };
        let found = self.cast.engine.paths(self.call(agent)?, query).await.map_err(told)?;
        let along = found
            .paths
            .into_iter()
            .filter(|path| path.relations.iter().map(|step| &step.kind).eq(kinds.iter()));
        Ok(along.filter_map(|path| path.nodes.into_iter().next_back()).collect())
    }
}
