//! What ought to happen, in plain sets: V(u, a, t) of SHARE-11 as it is written down. It shares no code with the engine.

use super::script::{Ask, Script, Step};
use std::collections::{BTreeMap, BTreeSet};

/// How far memory is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Nothing is.
    Isolated,
    /// Everything is, and seen by those who may.
    Checked,
    /// Everything is, and seen by all: what access control is held against.
    Unchecked,
}

/// What became of a need for a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// One's own memory held it.
    Own,
    /// Somebody else's did.
    Shared,
    /// The resource had to be called.
    Called,
    /// The user may not invoke the agent.
    Refused,
}

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Remembered {
    /// What the engine calls it, if it was asked.
    id: String,
    owner: usize,
    agents: BTreeSet<usize>,
    resources: BTreeSet<usize>,
    shared: bool,
}

/// Memory and graphs as sets.
#[derive(Debug, Clone)]
pub(super) struct Model {
    sharing: Sharing,
    invokes: BTreeSet<(usize, usize)>,
    uses: BTreeSet<(usize, usize)>,
    by_fact: BTreeMap<usize, Vec<Remembered>>,
}

impl Model {
    pub(super) fn new(script: &Script, sharing: Sharing) -> Self {
        let (invokes, uses) = (BTreeSet::new(), script.uses.clone());
        Self { sharing, invokes, uses, by_fact: BTreeMap::new() }
    }

    pub(super) fn set_invokes(&mut self, edges: &BTreeSet<(usize, usize)>) {
        self.invokes.clone_from(edges);
    }

    pub(super) fn may_invoke(&self, user: usize, agent: usize) -> bool {
        self.invokes.contains(&(user, agent))
    }

    /// Notes what was written, as the engine calls it.
    pub(super) fn remember(&mut self, ask: &Ask, resource: usize, id: &str, shared: bool) {
        let remembered = Remembered {
            id: id.to_owned(),
            owner: ask.user,
            agents: BTreeSet::from([ask.agent]),
            resources: BTreeSet::from([resource]),
            shared,
        };
        self.by_fact.entry(ask.fact).or_default().push(remembered);
    }

    /// Whether a user sees this through an agent.
    fn sees(&self, user: usize, agent: usize, one: &Remembered) -> bool {
        if !self.may_invoke(user, agent) || !(one.shared || one.owner == user) {
            return false;
        }
        if self.sharing == Sharing::Unchecked {
            return true;
        }
        let taught_by_own = one.agents.iter().all(|taught| self.invokes.contains(&(user, *taught)));
        let used_by_it = one.resources.iter().all(|used| self.uses.contains(&(agent, *used)));
        taught_by_own && used_by_it
    }

    /// What is seen of a fact.
    fn seen(&self, user: usize, agent: usize, fact: usize) -> impl Iterator<Item = &Remembered> {
        let all = self.by_fact.get(&fact).map_or(&[] as &[Remembered], Vec::as_slice);
        all.iter().filter(move |one| self.sees(user, agent, one))
    }

    /// The ids of everything that a pair sees.
    pub(super) fn visible(&self, user: usize, agent: usize) -> BTreeSet<&str> {
        let all = self.by_fact.values().flatten();
        all.filter(|one| self.sees(user, agent, one)).map(|one| one.id.as_str()).collect()
    }

    /// What a need for a fact comes to, without noting it.
    fn outcome(&self, ask: &Ask) -> Outcome {
        if !self.may_invoke(ask.user, ask.agent) {
            return Outcome::Refused;
        }
        let mut held = self.seen(ask.user, ask.agent, ask.fact).map(|one| one.owner == ask.user);
        match held.next() {
            None => Outcome::Called,
            Some(own) if own || held.any(|own| own) => Outcome::Own,
            Some(_) => Outcome::Shared,
        }
    }
}

/// What every need of a script comes to.
pub(super) fn play(script: &Script, sharing: Sharing) -> Vec<Outcome> {
    let mut model = Model::new(script, sharing);
    let mut outcomes = Vec::new();
    for step in &script.steps {
        match step {
            Step::Invoke(edges) => model.set_invokes(edges),
            Step::Ask(ask) => {
                let outcome = model.outcome(ask);
                outcomes.push(outcome);
                if outcome == Outcome::Called {
                    let resource = script.facts.get(ask.fact).map_or(0, |fact| fact.resource);
                    model.remember(ask, resource, "", false);
                    if sharing != Sharing::Isolated {
                        model.remember(ask, resource, "", true);
                    }
                }
            }
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(edges: &[(usize, usize)], asks: &[(usize, usize)]) -> Script {
        let ask =
            |(user, agent): &(usize, usize)| Step::Ask(Ask { user: *user, agent: *agent, fact: 0, query: 0 });
        let invoke = Step::Invoke(edges.iter().copied().collect());
        Script {
            users: 2,
            uses: BTreeSet::from([(0, 0), (1, 0)]),
            facts: vec![super::super::script::Fact { resource: 0, key: String::new(), token: String::new() }],
            steps: std::iter::once(invoke).chain(asks.iter().map(ask)).collect(),
            ..Script::default()
        }
    }

    /// SHARE-11: what one agent learnt is seen by a user who has that agent too, and by nobody else.
    #[test]
    fn knowledge_is_shared_with_those_who_have_its_agent() {
        use Outcome::{Called, Own, Refused, Shared};
        let all = [(0, 0), (1, 0), (1, 1)];
        let asked = [(0, 0), (0, 0), (1, 0), (0, 1)];
        let check = |edges: &[_], sharing, expected: &[Outcome]| {
            assert_eq!(play(&script(edges, &asked), sharing), expected);
        };
        check(&all, Sharing::Checked, &[Called, Own, Shared, Refused]);
        check(&all, Sharing::Isolated, &[Called, Own, Called, Refused]);
        let (apart, asked) = ([(0, 0), (1, 1)], [(0, 0), (1, 1)]);
        assert_eq!(play(&script(&apart, &asked), Sharing::Checked), [Called, Called]);
        assert_eq!(play(&script(&apart, &asked), Sharing::Unchecked), [Called, Shared]);
    }
}
