//! Probes: the searches that agents really made, each with what it found (CAL-26). They are what a write is held against,
//! and nobody is asked for one.

use super::namespace_print;
use super::rounds::Round;
use crate::Call;
use crate::embedding::Vector;
use crate::reply::{SearchQuery, SearchReply};
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::log::Lsn;
use tabellion_core::rank::dot;
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::trust::{Context, POINTS_MAX, in_context, threshold};
use tabellion_core::vector::Near;
use tabellion_core::view::Row;

/// Probes that are kept of an agent in a namespace, and for how long.
const PROBES_MAX: usize = 32;
const PROBES_KEPT: Period = Period::from_days(1);
/// Probes that are kept of an agent in a namespace, of all rounds together.
const QUEUE_MAX: usize = 96;
/// Queues that are kept; beyond that the one that was quiet longest goes.
const QUEUES_MAX: usize = 4_096;
/// Results that are kept of a probe.
pub(super) const LISTED_MAX: usize = 100;
/// A longer query is not a well-formed one (CAL-28).
const CHARS_MAX: usize = 2_048;
/// Results of a search that become points of its context.
const POINTS_PER_SEARCH: usize = 5;
/// The namespace that a search without one counts for.
const NAMESPACE: &str = "default";
/// Rounds in which the same query may be drawn so often at most (CAL-28).
const DRAWN_ROUNDS: usize = 32;
const DRAWN_MAX: usize = 3;
/// Namespaces whose draws are remembered.
const DRAWN_SPACES_MAX: usize = 1_024;

/// A search that an agent made.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(super) user: UserId,
    pub(super) agent: AgentId,
    /// The declared round that it was made in.
    pub(super) round: Option<Hash>,
    /// Who takes part in that.
    pub(super) with: Vec<AgentId>,
    /// Whether it may say something of what is shared (SHARE-45).
    pub(super) shared: bool,
    pub(super) at: Timestamp,
    /// What was known when it was made.
    pub(super) lsn: Lsn,
    /// What the same query is recognised by.
    pub(super) print: Hash,
    pub(super) vector: Vector,
    /// What it found, with the cosine of each, what counts most first.
    pub(super) near: Vec<(Row, f32)>,
    /// Whether as much was found as is kept: then there may be more.
    pub(super) cut: bool,
    pub(super) context: Context,
    pub(super) well_formed: bool,
}

/// A pair's work in a namespace, by its trace.
type Work = (AgentId, UserId, Hash, Option<Hash>);

/// What the agents of a namespace searched for, oldest first.
type Queues = HashMap<AgentId, VecDeque<Arc<Probe>>>;

/// The probes of every agent.
#[derive(Default)]
pub(crate) struct Probes {
    /// By namespace and agent.
    queues: Mutex<HashMap<Hash, Queues>>,
    contexts: Mutex<HashMap<Work, VecDeque<Vector>>>,
    drawn: Mutex<HashMap<Hash, VecDeque<Vec<Hash>>>>,
}

impl Probes {
    fn keep(&self, namespace: Hash, probe: Probe) {
        let mut queues = self.queues.lock();
        let is_new = !queues.get(&namespace).is_some_and(|agents| agents.contains_key(&probe.agent));
        if is_new && queues.values().map(HashMap::len).sum::<usize>() >= QUEUES_MAX {
            let last = |queue: &VecDeque<Arc<Probe>>| queue.back().map(|probe| probe.at);
            let all = queues.iter().flat_map(|(place, agents)| agents.iter().map(move |one| (place, one)));
            let quiet =
                all.min_by_key(|(_, (_, queue))| last(queue)).map(|(place, (agent, _))| (*place, *agent));
            if let Some((place, agent)) = quiet
                && let Some(agents) = queues.get_mut(&place)
            {
                agents.remove(&agent);
                queues.retain(|_, agents| !agents.is_empty());
            }
        }
        let queue = queues.entry(namespace).or_default().entry(probe.agent).or_default();
        let kind = |probe: &Probe| (probe.shared, probe.round);
        let own = kind(&probe);
        queue.push_back(Arc::new(probe));
        // What is searched in private, or in another round, takes no room from what others may know of (CAL-41).
        let of_kind = |one: &Arc<Probe>| kind(one) == own;
        if queue.iter().filter(|one| of_kind(one)).count() > PROBES_MAX
            && let Some(oldest) = queue.iter().position(of_kind)
        {
            queue.remove(oldest);
        }
        if queue.len() > QUEUE_MAX {
            let private = queue.iter().position(|one| !one.shared);
            queue.remove(private.unwrap_or(0));
        }
    }

    /// The probes of an agent in a namespace that are not too old, oldest first.
    pub(super) fn of(&self, agent: AgentId, namespace: Hash, now: Timestamp) -> Vec<Arc<Probe>> {
        let queues = self.queues.lock();
        let queue = queues.get(&namespace).and_then(|agents| agents.get(&agent)).into_iter().flatten();
        queue.filter(|probe| now < probe.at.plus(PROBES_KEPT)).cloned().collect()
    }

    /// Whether anybody but this user searched a namespace in the open of late.
    pub(super) fn any_of_others(&self, namespace: Hash, user: UserId, now: Timestamp) -> bool {
        let queues = self.queues.lock();
        let here = queues.get(&namespace).into_iter().flat_map(HashMap::values);
        here.flatten().any(|probe| probe.shared && probe.user != user && now < probe.at.plus(PROBES_KEPT))
    }

    /// Whether one of these probes was drawn too often of late (CAL-28).
    pub(super) fn is_worn(&self, namespace: &Hash, probe: &Probe) -> bool {
        let drawn = self.drawn.lock();
        let rounds = drawn.get(namespace).into_iter().flatten();
        rounds.flatten().filter(|print| **print == probe.print).count() >= DRAWN_MAX
    }

    /// Remembers what was drawn in a round.
    pub(super) fn draw(&self, namespace: Hash, prints: Vec<Hash>) {
        let mut drawn = self.drawn.lock();
        if !drawn.contains_key(&namespace) && drawn.len() >= DRAWN_SPACES_MAX {
            drawn.clear();
        }
        let rounds = drawn.entry(namespace).or_default();
        rounds.push_back(prints);
        if rounds.len() > DRAWN_ROUNDS {
            rounds.pop_front();
        }
    }

    /// Whether a search belongs to what its trace was about so far; its results do from now on, if it does (CAL-40).
    fn context(&self, place: Work, vector: &Vector, found: Vec<Vector>) -> Context {
        let mut contexts = self.contexts.lock();
        if !contexts.contains_key(&place) && contexts.len() >= QUEUES_MAX {
            contexts.clear();
        }
        let points = contexts.entry(place).or_default();
        let best = points.iter().map(|point| f64::from(dot(point, vector))).fold(-1.0, f64::max);
        let context = in_context(best, threshold(&[]), points.len(), false);
        if context != Context::Out {
            points.extend(found);
            while points.len() > POINTS_MAX {
                points.pop_front();
            }
        }
        context
    }
}

/// A search that was answered, as far as it can be a probe.
pub(crate) struct Searched<'a> {
    pub(crate) query: &'a SearchQuery,
    pub(crate) reply: &'a SearchReply,
    pub(crate) vector: Option<&'a [f32]>,
    pub(crate) near: &'a [Near],
    pub(crate) lsn: Lsn,
}

/// Keeps a search that was answered. One of a person is nobody's work but theirs.
pub(crate) fn note(tenant: &Tenant, call: &Call, searched: &Searched<'_>) {
    let Some(vector) = searched.vector else { return };
    if tenant.is_person(&call.caller) || searched.query.as_of.is_some() {
        return;
    }
    let vector: Vector = vector.into();
    let calibrator = &tenant.calibrator;
    let named = searched.query.namespace.as_deref().unwrap_or(NAMESPACE);
    let namespace = namespace_print(tenant, named);
    let trace = call.trace.as_deref().map(|trace| tenant.trace(trace));
    let (user, agent) = (call.caller.user(), call.caller.agent());
    let round = trace.and_then(|trace| calibrator.rounds.of(trace, agent, tenant.now()));
    let found = points(tenant, searched);
    let round = round.filter(|round| round.namespace == named);
    let context = match &round {
        Some(round) => round.context(agent, &vector, found),
        None => calibrator.probes.context((agent, user, namespace, trace), &vector, found),
    };
    let words = searched.query.query.as_deref().unwrap_or_default();
    let probe = Probe {
        user,
        agent,
        round: round.as_ref().map(|round: &Arc<Round>| round.trace),
        with: round.as_ref().map(|round| round.agents.clone()).unwrap_or_default(),
        shared: searched.query.shared_work || round.is_some(),
        at: tenant.now(),
        lsn: searched.lsn,
        print: tenant.fingerprint(&[b"probe", agent.as_bytes(), normal(words, &vector).as_slice()]),
        near: searched.near.iter().take(LISTED_MAX).map(|near| (near.row, near.cosine)).collect(),
        cut: searched.near.len() >= LISTED_MAX,
        context,
        well_formed: is_well_formed(words, &vector),
        vector,
    };
    calibrator.probes.keep(namespace, probe);
}

/// The vectors of the first results.
fn points(tenant: &Tenant, searched: &Searched<'_>) -> Vec<Vector> {
    let Some(vectors) = &tenant.shared.vectors else { return Vec::new() };
    let views = tenant.shared.views.read();
    let vectors = vectors.read();
    let found = searched.reply.results.iter().take(POINTS_PER_SEARCH);
    let rows = found.filter_map(|one| views.items.row_of(one.item.version));
    rows.filter_map(|row| vectors.vector(row)).map(Vector::from).collect()
}

/// A query as it is told apart from others: its words, or its vector where it has none.
fn normal(words: &str, vector: &[f32]) -> Vec<u8> {
    let words = tabellion_core::text::words(words);
    if words.is_empty() {
        return vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    }
    words.join(" ").into_bytes()
}

/// CAL-28: something is asked, in so many characters, and it has a meaning.
fn is_well_formed(words: &str, vector: &[f32]) -> bool {
    let length: f32 = vector.iter().map(|number| number * number).sum();
    let asks = words.is_empty() || words.chars().any(char::is_alphanumeric);
    asks && words.chars().count() <= CHARS_MAX && length.is_finite() && length > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::canonical::sha256;

    const HERE: Hash = [1; 32];
    const AGENT: AgentId = AgentId::from_bytes([2; 16]);

    fn probe(number: u64, shared: bool, round: Option<Hash>) -> Probe {
        Probe {
            user: UserId::from_bytes([3; 16]),
            agent: AGENT,
            round,
            with: Vec::new(),
            shared,
            at: Timestamp::from_micros(number),
            lsn: Lsn::new(1),
            print: [0; 32],
            vector: vec![1.0].into(),
            near: Vec::new(),
            cut: false,
            context: Context::In,
            well_formed: true,
        }
    }

    fn kept(probes: &Probes, now: Timestamp, of: impl Fn(&Probe) -> bool) -> Vec<u64> {
        let all = probes.of(AGENT, HERE, now);
        all.iter().filter(|probe| of(probe)).map(|probe| probe.at.as_micros()).collect()
    }

    /// CAL-26: of an agent in a namespace the last 32 are kept, for a day.
    #[test]
    fn a_queue_holds_the_last_of_a_day() {
        let probes = Probes::default();
        (0..40).for_each(|number| probes.keep(HERE, probe(number, true, None)));
        let day = Timestamp::from_micros(10).plus(PROBES_KEPT);
        assert_eq!(kept(&probes, Timestamp::from_micros(50), |_| true), (8..40).collect::<Vec<_>>());
        assert_eq!(kept(&probes, day, |_| true), (11..40).collect::<Vec<_>>());
        assert!(probes.of(AGENT, [9; 32], Timestamp::from_micros(50)).is_empty());
        let (own, other) = (UserId::from_bytes([3; 16]), UserId::from_bytes([4; 16]));
        let others = |namespace, user| probes.any_of_others(namespace, user, Timestamp::from_micros(50));
        assert!(others(HERE, other) && !others(HERE, own) && !others([9; 32], other));
    }

    /// CAL-26, CAL-41: what is searched in private, or in another round, pushes nothing out that others may know of.
    #[test]
    fn what_is_hidden_takes_no_room() {
        let probes = Probes::default();
        (0..5).for_each(|number| probes.keep(HERE, probe(number, true, Some([5; 32]))));
        (5..500).for_each(|number| probes.keep(HERE, probe(number, false, None)));
        (500..600).for_each(|number| probes.keep(HERE, probe(number, true, Some([6; 32]))));
        let now = Timestamp::from_micros(1_000);
        assert_eq!(kept(&probes, now, |one| one.round == Some([5; 32])), (0..5).collect::<Vec<_>>());
        assert_eq!(kept(&probes, now, |one| !one.shared).len(), PROBES_MAX);
        assert!(kept(&probes, now, |_| true).len() <= QUEUE_MAX);
    }

    /// No more queues are kept than fit; the one that was quiet longest goes.
    #[test]
    fn the_quietest_queue_goes() {
        let probes = Probes::default();
        for number in 0..=QUEUES_MAX as u64 {
            probes.keep(sha256(&number.to_be_bytes()), probe(number, true, None));
        }
        assert!(probes.of(AGENT, sha256(&0_u64.to_be_bytes()), Timestamp::from_micros(9)).is_empty());
        assert_eq!(probes.queues.lock().len(), QUEUES_MAX);
    }
}
