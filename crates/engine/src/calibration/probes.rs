//! Probes: the searches that agents really made, each with what it found (CAL-26). They are what a write is held against,
//! and nobody is asked for one.

use super::namespace_print;
use super::queues::{Done, QUEUES_MAX, Queues};
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
use tabellion_core::time::Timestamp;
use tabellion_core::trust::{Context, POINTS_MAX, in_context, threshold};
use tabellion_core::vector::Near;
use tabellion_core::view::Row;

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

impl Done for Probe {
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

/// The probes of every agent.
#[derive(Default)]
pub(crate) struct Probes {
    pub(super) queues: Queues<Probe>,
    contexts: Mutex<HashMap<Work, VecDeque<Vector>>>,
    drawn: Mutex<HashMap<Hash, VecDeque<Vec<Hash>>>>,
}

impl Probes {
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
    calibrator.probes.queues.keep(namespace, probe);
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
