//! Who is asked next? A model says so, or how like the question each agent's specialisation is.

use super::{Asking, Specialist, words};
use crate::resource::alike;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tabellion_core::id::AgentId;
use tabellion_core::orchestrate::{History, Line, likeness, ordered};

impl Asking<'_> {
    /// What the coordinator says, in the words of its protocol; nothing if nobody is left to ask.
    pub(super) async fn coordinate(&self, agents: &[Specialist]) -> Option<String> {
        match self.say(words::COORDINATE, self.told(agents)).await {
            Some(said) => Some(said),
            None => self.route(agents).await,
        }
    }

    fn told(&self, agents: &[Specialist]) -> Value {
        let agent = |one: &Specialist| json!({"id": one.id.to_string(), "name": one.name, "specialisation": one.specialisation});
        let line = |line: &Line| {
            let mut told =
                json!({"agent": line.agent, "subquery": line.subquery, "answered": line.answer.is_some()});
            if let (History::Full, Some(answer), Some(fields)) =
                (self.asked.history, &line.answer, told.as_object_mut())
                && self.may_be_told(line)
            {
                fields.insert("answer".to_owned(), Value::from(answer.as_str()));
            }
            told
        };
        json!({
            "query": self.asked.query,
            "agents": agents.iter().map(agent).collect::<Vec<_>>(),
            "history": self.progress.lines().iter().map(line).collect::<Vec<_>>(),
        })
    }

    /// Whether the answer of a round may still be shown.
    fn may_be_told(&self, line: &Line) -> bool {
        let same = |turn: &&super::Turn| turn.subquery == line.subquery && turn.answer == line.answer;
        self.turns.iter().find(same).is_some_and(|turn| self.stands(turn))
    }

    /// Without a model: the nearest who was not asked yet, with the question as it is.
    async fn route(&self, agents: &[Specialist]) -> Option<String> {
        let asked: BTreeSet<AgentId> = self.turns.iter().map(|turn| turn.agent.id).collect();
        let texts: Vec<String> = agents.iter().map(|one| one.specialisation.clone()).collect();
        let by_words = || agents.iter().map(|one| likeness(&self.asked.query, &one.specialisation)).collect();
        let likenesses =
            alike(self.tenant, self.call, &self.asked.query, texts).await.unwrap_or_else(by_words);
        let places = ordered(&likenesses).into_iter().filter_map(|place| agents.get(place));
        let next = places.into_iter().find(|one| !asked.contains(&one.id))?;
        Some(json!({"agent": next.id.to_string(), "subquery": self.asked.query}).to_string())
    }
}
