//! What the agents of a team say and walk of relations.

use super::team::Team;
use crate::commands::cast::told;
use anyhow::Result;
use serde_json::{Value, json};
use tabellion_core::error::Refusal;
use tabellion_core::gate::read_relation;
use tabellion_engine::reply::{PathsQuery, Written};

/// Paths of one answer, at most.
const PATHS: u64 = 64;

impl Team {
    /// Says relations together, for everybody.
    pub(super) async fn relate(
        &self,
        agent: usize,
        said: &[[String; 3]],
        round: Option<&str>,
    ) -> Result<Vec<Written>> {
        let draft = |[subject, predicate, object]: &[String; 3]| {
            let mut body = json!({
                "subject": subject, "predicate": predicate, "object": object, "tier": "shared", "layer": "episodic",
            });
            if let (Some(round), Some(body)) = (round, body.as_object_mut()) {
                body.insert("trace_id".to_owned(), Value::from(round));
            }
            read_relation(body)
        };
        let drafts = said.iter().map(draft).collect();
        let related = self.cast.engine.write_relations(self.call(agent)?, drafts).await.map_err(told)?;
        related.into_iter().collect::<Result<Vec<_>, Refusal>>().map_err(told)
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
