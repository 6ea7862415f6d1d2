//! Declared rounds: a piece of work that several agents share, and what it is about (CAL-40).
//!
//! Its id is used as `trace_id`: what is searched and written in that trace belongs to the round. Who declares it chooses what becomes
//! of what is written there: it is the work of all who take part, and only who may see all of them sees it (CAL-41); or it stays its
//! writer's own, and then those of the others audit it who would see it.

use super::walks::Trodden;
use crate::Call;
use crate::embedding::Vector;
use crate::reply::{RoundDraft, RoundReply};
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, RoundId};
use tabellion_core::log::Edge;
use tabellion_core::rank::dot;
use tabellion_core::text::words;
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::trust::{Context, POINTS_MAX, QUERIES_MAX, RoundVisibility, in_context, threshold};
use tabellion_core::view::{Node, Views};

/// How long a round lasts.
const LASTS: Period = Period::from_days(1);
/// Rounds that last at a time; the oldest goes first.
const ROUNDS_MAX: usize = 1_024;
/// Agents, items and texts of one round.
const AGENTS_MAX: usize = 64;
const ITEMS_MAX: usize = 64;
const TEXTS_MAX: usize = 16;
const TEXT_CHARS_MAX: usize = 8_192;
const NAMESPACE_CHARS_MAX: usize = 64;
/// Nodes that one text names.
const NAMED_MAX: usize = 64;

/// A declared round.
pub(crate) struct Round {
    pub(super) trace: Hash,
    pub(super) namespace: String,
    /// Who takes part, in order of id.
    pub(crate) agents: Vec<AgentId>,
    /// Whether a person called it: then each who takes part counts as one. Who calls a round of their own agents gains no voice.
    pub(super) by_person: bool,
    /// Who sees what is written in it.
    visibility: RoundVisibility,
    until: Timestamp,
    declared: Vec<Vector>,
    talk: Mutex<Talk>,
    /// What it is about, as nodes of the graph.
    pub(super) trodden: Trodden,
}

#[derive(Default)]
struct Talk {
    points: HashMap<AgentId, VecDeque<Vector>>,
    /// How near each search was to what was said before, the latest last.
    nearest: VecDeque<f64>,
}

impl Round {
    /// Whether a search belongs to the round; what it found does too from now on, if it does. What does not belong cannot come in
    /// by being found often.
    pub(super) fn context(&self, agent: AgentId, vector: &Vector, found: Vec<Vector>) -> Context {
        let mut talk = self.talk.lock();
        let points = talk.points.entry(agent).or_default();
        let near = |point: &Vector| f64::from(dot(point, vector));
        let best = self.declared.iter().chain(points.iter()).map(near).fold(-1.0, f64::max);
        let count = self.declared.len() + points.len();
        let nearest: Vec<f64> = talk.nearest.iter().copied().collect();
        let context = in_context(best, threshold(&nearest), count, true);
        // What does not belong says nothing about what does: else whoever asks far from it often enough would belong.
        if context != Context::Out {
            talk.nearest.push_back(best);
            if talk.nearest.len() > QUERIES_MAX {
                talk.nearest.pop_front();
            }
            talk.add(agent, found);
        }
        context
    }

    /// What an agent committed is a point of its own context.
    pub(super) fn wrote(&self, agent: AgentId, vector: &Vector) {
        self.talk.lock().add(agent, vec![Arc::clone(vector)]);
    }
}

impl Talk {
    fn add(&mut self, agent: AgentId, vectors: Vec<Vector>) {
        let points = self.points.entry(agent).or_default();
        points.extend(vectors);
        while points.len() > POINTS_MAX {
            points.pop_front();
        }
    }
}

/// Every round that lasts.
#[derive(Default)]
pub(crate) struct Rounds(Mutex<VecDeque<Arc<Round>>>);

impl Rounds {
    /// The round of a trace, if this agent takes part in it.
    pub(super) fn of(&self, trace: Hash, agent: AgentId, now: Timestamp) -> Option<Arc<Round>> {
        let rounds = self.0.lock();
        let lasts = |round: &&Arc<Round>| round.trace == trace && now < round.until;
        rounds.iter().rev().find(lasts).filter(|round| round.agents.contains(&agent)).cloned()
    }

    fn add(&self, round: Round, now: Timestamp) {
        let mut rounds = self.0.lock();
        rounds.retain(|round| now < round.until);
        rounds.push_back(Arc::new(round));
        if rounds.len() > ROUNDS_MAX {
            rounds.pop_front();
        }
    }
}

impl Tenant {
    /// The agents whose work it is what the caller writes in the round that a trace names: all that take part, unless whoever declared
    /// it left each writer's work their own.
    pub(crate) fn taking_part(&self, call: &Call, trace: Option<&str>) -> Vec<AgentId> {
        let round = self.round(call, trace).filter(|round| round.visibility == RoundVisibility::All);
        round.map(|round| round.agents.clone()).unwrap_or_default()
    }

    pub(crate) fn round(&self, call: &Call, trace: Option<&str>) -> Option<Arc<Round>> {
        let trace = trace.or(call.trace.as_deref()).map(|trace| self.trace(trace))?;
        self.calibrator.rounds.of(trace, call.caller.agent(), self.now())
    }
}

/// Declares a round.
pub(crate) async fn declare(tenant: &Tenant, call: &Call, draft: RoundDraft) -> Result<RoundReply, Refusal> {
    let result = declared(tenant, call, &draft).await;
    let ids = result.as_ref().map_or_else(|_| Vec::new(), |reply| vec![reply.id.clone()]);
    let outcome = result.as_ref().map_or_else(
        |refusal| refusal.code.as_str(),
        |reply| match reply.visibility {
            RoundVisibility::All => "ok",
            RoundVisibility::Own => "ok_own",
        },
    );
    tenant.sequencer.trail_now(tenant.row(call, "declare_round", outcome, ids)).await?;
    result
}

async fn declared(tenant: &Tenant, call: &Call, draft: &RoundDraft) -> Result<RoundReply, Refusal> {
    let faults = faults(draft);
    if !faults.is_empty() {
        let message = "the round cannot be declared as it is; `errors` says why";
        return Err(Refusal::new(Code::SchemaInvalid, message).with(faults));
    }
    let now = tenant.now();
    let (agents, mut declared) = {
        let views = tenant.shared.views.read();
        (agents(tenant, call, draft, &views)?, items(tenant, call, draft, &views)?)
    };
    declared.extend(embedded(tenant, call, draft).await);
    let id = RoundId::from_bytes(tenant.entropy.bytes());
    let namespace = draft.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let until = now.plus(LASTS);
    let visibility = draft.visibility.as_deref().and_then(RoundVisibility::from_word).unwrap_or_default();
    let reply = RoundReply {
        id: id.to_string(),
        agents: agents.iter().map(ToString::to_string).collect(),
        namespace: namespace.clone(),
        expires_at: until,
        visibility,
    };
    tenant.calibrator.rounds.add(
        Round {
            trace: tenant.trace(&id.to_string()),
            namespace,
            agents,
            by_person: tenant.is_person(&call.caller),
            visibility,
            until,
            declared,
            talk: Mutex::default(),
            trodden: Trodden::declared(nodes(tenant, call, draft)),
        },
        now,
    );
    Ok(reply)
}

fn faults(draft: &RoundDraft) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut rule = |holds: bool, path: &str, expected: String| {
        if !holds {
            faults.push(Fault::new(path, Code::ConstraintViolation, expected));
        }
    };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    let named = |text: &String| (1..=NAMESPACE_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain);
    let form = format!("1 to {NAMESPACE_CHARS_MAX} of a-z 0-9 _ . -");
    rule(draft.namespace.as_ref().is_none_or(named), "/namespace", form);
    let fits = |text: &String| !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX;
    rule(fits(&draft.goal), "/goal", format!("1 to {TEXT_CHARS_MAX} characters: what the round is about"));
    let word = |text: &String| RoundVisibility::from_word(text).is_some();
    let words = format!("one of {}", RoundVisibility::words());
    rule(draft.visibility.as_ref().is_none_or(word), "/visibility", words);
    rule(draft.agents.len() <= AGENTS_MAX, "/agents", format!("at most {AGENTS_MAX} agents"));
    rule(draft.items.len() <= ITEMS_MAX, "/items", format!("at most {ITEMS_MAX} items"));
    rule(draft.texts.len() <= TEXTS_MAX, "/texts", format!("at most {TEXTS_MAX} texts"));
    rule(draft.texts.iter().all(fits), "/texts", format!("each of 1 to {TEXT_CHARS_MAX} characters"));
    faults
}

/// Who takes part: those named, each of which the caller may invoke, and the caller's own agent.
fn agents(tenant: &Tenant, call: &Call, draft: &RoundDraft, views: &Views) -> Result<Vec<AgentId>, Refusal> {
    let at = tenant.moment(views);
    let mut agents = Vec::new();
    if !tenant.is_person(&call.caller) {
        agents.push(call.caller.agent());
    }
    for (place, name) in draft.agents.iter().enumerate() {
        let known = views.identity.find_agent(name).map(|agent| agent.id);
        let invoked = |agent: &AgentId| {
            *agent == call.caller.agent() || views.graphs.has(Edge::Invoke(call.caller.user(), *agent), at)
        };
        match known.filter(invoked) {
            Some(agent) => agents.push(agent),
            None => {
                let expected = "an agent that you may invoke; see `tabellion edge list`";
                let fault =
                    Fault::new(format!("/agents/{place}"), Code::NotFound, expected).found(name.as_str());
                return Err(
                    Refusal::new(Code::SchemaInvalid, "an agent of the round is not known").with(vec![fault])
                );
            }
        }
    }
    agents.sort_unstable();
    agents.dedup();
    match agents.is_empty() {
        true => {
            let fault = Fault::new("/agents", Code::MissingRequiredField, "at least one agent");
            Err(Refusal::new(Code::SchemaInvalid, "a round needs somebody who takes part").with(vec![fault]))
        }
        false => Ok(agents),
    }
}

/// The vectors of the items that the round is about, as far as the caller sees them.
fn items(tenant: &Tenant, call: &Call, draft: &RoundDraft, views: &Views) -> Result<Vec<Vector>, Refusal> {
    let (at, predicate) = (tenant.moment(views), crate::visibility::predicate(tenant, &call.caller, views));
    let vectors = tenant.shared.vectors.as_ref().map(|vectors| vectors.read());
    let mut found = Vec::new();
    for (place, id) in draft.items.iter().enumerate() {
        let item = id.parse::<ItemId>().ok().and_then(|id| views.items.find_item(id));
        let head = item.and_then(|item| views.items.head_at(item, at)).filter(|head| predicate.admits(head));
        let Some(head) = head else {
            let fault = Fault::new(format!("/items/{place}"), Code::NotFound, "an item that you may see");
            return Err(
                Refusal::new(Code::SchemaInvalid, "an item of the round is not known").with(vec![fault])
            );
        };
        let row = views.items.row_of(head.id);
        let vector = row.and_then(|row| vectors.as_ref()?.vector(row).map(Vector::from));
        found.extend(vector);
    }
    Ok(found)
}

/// The nodes that a round is about: the ends of its relations, its items that are nodes, and what its goal and texts name, as far
/// as whoever declares it sees a relation there.
fn nodes(tenant: &Tenant, call: &Call, draft: &RoundDraft) -> BTreeSet<Node> {
    let views = tenant.shared.views.read();
    let predicate = crate::visibility::predicate(tenant, &call.caller, &views);
    let index = tenant.shared.index.read();
    let (relations, at) = (&index.relations, tenant.moment(&views));
    let mut nodes = BTreeSet::new();
    for id in draft.items.iter().filter_map(|id| id.parse::<ItemId>().ok()) {
        nodes.extend(relations.node(&id.to_string()));
        let head = views.items.find_item(id).and_then(|item| views.items.head_at(item, at));
        let ends = head.and_then(|head| relations.ends(views.items.row_of(head.id)?));
        nodes.extend(ends.into_iter().flat_map(|(from, to)| [from, to]));
    }
    for text in std::iter::once(&draft.goal).chain(&draft.texts) {
        let telling: BTreeSet<String> = words(text).into_iter().collect();
        let named = relations.named(&telling.into_iter().collect::<Vec<_>>()).into_iter();
        let whole: BTreeSet<Node> = named.filter(|(_, share)| *share >= 1.0).map(|(node, _)| node).collect();
        nodes.extend(whole.into_iter().take(NAMED_MAX));
    }
    let seen = |row| views.items.version(row).is_some_and(|version| predicate.admits(version));
    let graph = relations.masked(false, seen);
    nodes.retain(|node| graph.leaving(*node).chain(graph.entering(*node)).next().is_some());
    nodes
}

/// What the goal and the texts mean; without a model that answers, items alone have to do.
async fn embedded(tenant: &Tenant, call: &Call, draft: &RoundDraft) -> Vec<Vector> {
    let Some(vectors) = &tenant.shared.vectors else { return Vec::new() };
    let owner = (tenant.shared.tenant, call.caller.user());
    let wait = Duration::from_millis(tenant.limits.embedding_wait_ms);
    let mut found = Vec::new();
    for text in std::iter::once(&draft.goal).chain(&draft.texts) {
        match vectors.embedding().one(owner, text, wait).await {
            Ok(vector) => found.push(vector),
            Err(error) => tracing::warn!(%error, "a text of a round has no vector"),
        }
    }
    found
}
