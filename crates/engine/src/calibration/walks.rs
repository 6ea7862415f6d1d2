//! Walks that agents really made, each by its best path: what a relation is held against (CAL-26). Like searches they are in
//! memory alone.

use super::namespace_print;
use super::queues::{Done, QUEUES_MAX, Queues};
use super::rounds::Round;
use crate::Call;
use crate::paths::Walk;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::policy::Classes;
use tabellion_core::time::Timestamp;
use tabellion_core::trust::{Context, POINTS_MAX, in_context};
use tabellion_core::view::{Moment, Node, Row, Scope};

/// Relations around a walk that are looked at for whether it belongs to its context.
const LOOKS_MAX: usize = 256;
/// The namespace that a walk without one counts for.
const NAMESPACE: &str = "default";
/// Rounds in which the same walk may be drawn so often at most (CAL-28).
const DRAWN_ROUNDS: usize = 32;
const DRAWN_MAX: usize = 3;

/// A walk that an agent made.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) user: UserId,
    pub(super) agent: AgentId,
    /// The declared round that it was made in.
    pub(super) round: Option<Hash>,
    /// Who takes part in that.
    pub(super) with: Vec<AgentId>,
    /// Whether it may say something of what is shared (SHARE-45).
    pub(super) shared: bool,
    at: Timestamp,
    /// What the same walk is recognised by.
    pub(super) print: Hash,
    pub(super) nodes: Vec<Node>,
    pub(super) rows: Vec<Row>,
    pub(super) context: Context,
}

/// A pair's work in a namespace, by its trace.
type Work = (AgentId, UserId, Hash, Option<Hash>);

impl Done for Walked {
    fn pair(&self) -> (UserId, AgentId) {
        (self.user, self.agent)
    }

    fn at(&self) -> Timestamp {
        self.at
    }

    fn is_open(&self) -> bool {
        self.shared
    }

    fn round(&self) -> (Option<Hash>, &[AgentId]) {
        (self.round, &self.with)
    }
}

/// The walks of every agent.
#[derive(Default)]
pub(crate) struct Walks {
    pub(super) queues: Queues<Walked>,
    contexts: Mutex<HashMap<Work, VecDeque<Node>>>,
    drawn: Mutex<HashMap<Hash, VecDeque<Vec<Hash>>>>,
}

impl Walks {
    /// Whether a walk was drawn too often of late (CAL-28).
    pub(super) fn is_worn(&self, namespace: &Hash, walked: &Walked) -> bool {
        let drawn = self.drawn.lock();
        let rounds = drawn.get(namespace).into_iter().flatten();
        rounds.flatten().filter(|print| **print == walked.print).count() >= DRAWN_MAX
    }

    /// Remembers what was drawn in a round.
    pub(super) fn draw(&self, namespace: Hash, prints: Vec<Hash>) {
        let mut drawn = self.drawn.lock();
        if !drawn.contains_key(&namespace) && drawn.len() >= QUEUES_MAX {
            drawn.clear();
        }
        let rounds = drawn.entry(namespace).or_default();
        rounds.push_back(prints);
        if rounds.len() > DRAWN_ROUNDS {
            rounds.pop_front();
        }
    }

    /// Whether a walk belongs to what its trace was about so far; its nodes do from now on, if it does (CAL-40).
    fn context(&self, place: Work, nodes: &[Node], near: &BTreeSet<Node>) -> Context {
        let mut contexts = self.contexts.lock();
        if !contexts.contains_key(&place) && contexts.len() >= QUEUES_MAX {
            contexts.clear();
        }
        let points = contexts.entry(place).or_default();
        let belongs = points.iter().any(|point| near.contains(point));
        let context = in_context(f64::from(u8::from(belongs)), 1.0, points.len(), false);
        if context != Context::Out {
            add(points, nodes);
        }
        context
    }
}

/// The nodes that a declared round is about: those of what it was declared with, and of each agent what it walked and wrote.
#[derive(Default)]
pub(super) struct Trodden {
    declared: BTreeSet<Node>,
    of: Mutex<HashMap<AgentId, VecDeque<Node>>>,
}

impl Trodden {
    pub(super) fn declared(nodes: BTreeSet<Node>) -> Self {
        Self { declared: nodes, of: Mutex::default() }
    }

    /// Whether a walk belongs to the round. Where nothing was declared that can be walked to, the first walk of an agent says what
    /// its next ones have to do with.
    fn context(&self, agent: AgentId, nodes: &[Node], near: &BTreeSet<Node>) -> Context {
        let mut of = self.of.lock();
        let points = of.entry(agent).or_default();
        let context = if self.declared.is_empty() && points.is_empty() {
            Context::TooFew
        } else if self.declared.iter().chain(points.iter()).any(|point| near.contains(point)) {
            Context::In
        } else {
            Context::Out
        };
        if context != Context::Out {
            add(points, nodes);
        }
        context
    }

    /// What an agent committed belongs to what it works on.
    pub(super) fn wrote(&self, agent: AgentId, nodes: &[Node]) {
        add(self.of.lock().entry(agent).or_default(), nodes);
    }
}

fn add(points: &mut VecDeque<Node>, nodes: &[Node]) {
    points.retain(|point| !nodes.contains(point));
    points.extend(nodes);
    while points.len() > POINTS_MAX {
        points.pop_front();
    }
}

/// A walk that was answered, and where.
pub(crate) struct Trod<'a> {
    pub(crate) walk: &'a Walk,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) shared_work: bool,
}

/// Keeps a walk that was answered. One of a person is nobody's work but theirs.
pub(crate) fn note_walk(tenant: &Tenant, call: &Call, trod: &Trod<'_>) {
    let walk = trod.walk;
    if tenant.is_person(&call.caller) || walk.rows.is_empty() {
        return;
    }
    let calibrator = &tenant.calibrator;
    let named = trod.namespace.unwrap_or(NAMESPACE);
    let namespace = namespace_print(tenant, named);
    let trace = call.trace.as_deref().map(|trace| tenant.trace(trace));
    let (user, agent, now) = (call.caller.user(), call.caller.agent(), tenant.now());
    let round: Option<Arc<Round>> = trace.and_then(|trace| calibrator.rounds.of(trace, agent, now));
    let round = round.filter(|round| round.namespace == named);
    let near = near(tenant, call, named, walk);
    let context = match &round {
        Some(round) => round.trodden.context(agent, &walk.nodes, &near),
        None => calibrator.walks.context((agent, user, namespace, trace), &walk.nodes, &near),
    };
    let hops: Vec<u8> = walk.nodes.iter().chain(&walk.rows).flat_map(|number| number.to_be_bytes()).collect();
    let walked = Walked {
        user,
        agent,
        round: round.as_ref().map(|round| round.trace),
        with: round.as_ref().map(|round| round.agents.clone()).unwrap_or_default(),
        shared: trod.shared_work || round.is_some(),
        at: now,
        print: tenant.fingerprint(&[b"walk", agent.as_bytes(), &hops]),
        nodes: walk.nodes.clone(),
        rows: walk.rows.clone(),
        context,
    };
    calibrator.walks.queues.keep(namespace, walked);
}

/// The nodes of a walk, and those next to them as far as the walker sees.
fn near(tenant: &Tenant, call: &Call, namespace: &str, walk: &Walk) -> BTreeSet<Node> {
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, &views);
    let index = tenant.shared.index.read();
    let at = Moment { lsn: views.lsn(), time: tenant.now() };
    let (layers, redacted) = (&[], Classes::default());
    let scope = Scope { predicate: &predicate, at, tier: None, layers, namespace: Some(namespace), redacted };
    let graph = index.relations.masked(false, |row| scope.admits_row(&views.items, row));
    let around = |node: &Node| graph.leaving(*node).chain(graph.entering(*node)).collect::<Vec<_>>();
    let others = walk.nodes.iter().flat_map(around).take(LOOKS_MAX).map(|link| link.other);
    walk.nodes.iter().copied().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(number: u8) -> AgentId {
        AgentId::from_bytes([number; 16])
    }

    fn near(nodes: &[Node]) -> BTreeSet<Node> {
        nodes.iter().copied().collect()
    }

    /// CAL-40: a walk belongs to a round if it comes next to what that is about; what does not belong cannot come in by being
    /// walked often.
    #[test]
    fn a_walk_belongs_where_it_comes_near() {
        let trodden = Trodden::declared(near(&[1, 2]));
        assert_eq!(trodden.context(agent(1), &[8, 9], &near(&[8, 9, 10])), Context::Out);
        assert_eq!(trodden.context(agent(1), &[8, 9], &near(&[8, 9, 10])), Context::Out);
        assert_eq!(trodden.context(agent(1), &[3, 8], &near(&[2, 3, 8])), Context::In);
        assert_eq!(trodden.context(agent(1), &[8, 9], &near(&[8, 9, 10])), Context::In);
        assert_eq!(trodden.context(agent(2), &[8, 9], &near(&[8, 9, 10])), Context::Out);
        trodden.wrote(agent(2), &[10]);
        assert_eq!(trodden.context(agent(2), &[8, 9], &near(&[8, 9, 10])), Context::In);
    }

    /// CAL-40: without a declared context there have to be four points before anybody can say.
    #[test]
    fn a_trace_says_what_it_is_about() {
        let walks = Walks::default();
        let place = (agent(1), UserId::from_bytes([1; 16]), [0; 32], None);
        assert_eq!(walks.context(place, &[1, 2, 3], &near(&[1, 2, 3])), Context::TooFew);
        assert_eq!(walks.context(place, &[3, 4, 5], &near(&[3, 4, 5])), Context::TooFew);
        assert_eq!(walks.context(place, &[5, 6], &near(&[5, 6])), Context::In);
        assert_eq!(walks.context(place, &[8, 9], &near(&[8, 9])), Context::Out);
    }

    /// CAL-28: the same walk is drawn three times in 32 rounds at most.
    #[test]
    fn a_walk_wears_out() {
        let walks = Walks::default();
        let walked = Walked {
            user: UserId::from_bytes([1; 16]),
            agent: agent(1),
            round: None,
            with: Vec::new(),
            shared: true,
            at: Timestamp::default(),
            print: [7; 32],
            nodes: vec![1, 2],
            rows: vec![1],
            context: Context::In,
        };
        for _ in 0..3 {
            assert!(!walks.is_worn(&[0; 32], &walked));
            walks.draw([0; 32], vec![[7; 32]]);
        }
        assert!(walks.is_worn(&[0; 32], &walked) && !walks.is_worn(&[1; 32], &walked));
        for _ in 0..32 {
            walks.draw([0; 32], Vec::new());
        }
        assert!(!walks.is_worn(&[0; 32], &walked));
    }
}
