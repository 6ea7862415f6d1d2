//! Pairs of user and agent whose writes are unlike those before: a burst, other topics, many contradictions, many of them of
//! what other users share (AM-5, GOV-11.7, 11.9, D17). Two of these signs at once hold the pair's writes for review, or suspend
//! them under `strict`.
//!
//! Invariant (habits follow from the log): what a pair usually does is counted in memory and counted again from the log where
//! it is not there, so a restart or a full table forgets nothing but what writes that were committed at once spoke against. A hold
//! itself is an entry.

mod habit;
mod past;

use crate::Call;
use crate::notice::{Notice, PairNotice};
use crate::sequencer::{Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::write::Asked;
pub(crate) use habit::Opposes;
use habit::{Habit, PlaceHabit, classes_of};
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::access::Caller;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{GateName, Strictness};
use tabellion_core::id::{AgentId, UserId, VersionId};
use tabellion_core::item::{Content, Layer};
use tabellion_core::log::{Actor, AnomalySignal, Event, PairAction, PairHold};
use tabellion_core::time::{Period, Timestamp};

/// How many of the signals are an anomaly.
const SIGNALS_MIN: usize = 2;
/// How long a hold lasts unless a person ends it.
const HELD_FOR: Period = Period::from_days(1);
/// Pairs whose habits are in memory; beyond that the one that wrote longest ago is counted again when it writes.
const PAIRS_MAX: usize = 1_024;
/// Layers and namespaces of one pair, likewise.
const PLACES_MAX: usize = 32;

type Pair = (UserId, AgentId);

/// A layer and a namespace: topics are compared within one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    layer: Layer,
    namespace: String,
}

impl Place {
    fn of(asked: &Asked) -> Self {
        Self { layer: asked.request.layer, namespace: asked.request.namespace.clone() }
    }
}

/// What pairs usually do.
#[derive(Default)]
pub(crate) struct Habits(Mutex<HashMap<Pair, PairHabits>>);

struct PairHabits {
    pace: Habit,
    places: HashMap<Place, PlaceHabit>,
}

impl Habits {
    /// Counts a write as it arrives.
    fn arrive(&self, pair: Pair, now: Timestamp) -> Option<()> {
        let mut pairs = self.0.lock();
        pairs.get_mut(&pair)?.pace.arrive(now);
        Some(())
    }

    /// Takes in what a write said and says what is unlike before; nothing if the place is not known yet.
    fn observe(
        &self,
        pair: Pair,
        place: &Place,
        (classes, opposes): (Vec<u16>, Opposes),
        now: Timestamp,
    ) -> Option<Vec<AnomalySignal>> {
        let mut pairs = self.0.lock();
        let habits = pairs.get_mut(&pair)?;
        let here = habits.places.get_mut(place)?;
        let mut signals = here.observe(classes, opposes, now);
        if here.is_full() && habits.pace.is_burst() {
            signals.insert(0, AnomalySignal::Burst);
        }
        if signals.len() >= SIGNALS_MIN {
            // The same writes are not held against the pair a second time.
            habits.places.values_mut().for_each(PlaceHabit::forget_recent);
        }
        Some(signals)
    }

    fn knows(&self, pair: Pair) -> bool {
        self.0.lock().contains_key(&pair)
    }

    fn knows_place(&self, pair: Pair, place: &Place) -> bool {
        self.0.lock().get(&pair).is_some_and(|habits| habits.places.contains_key(place))
    }

    fn put_pair(&self, pair: Pair, pace: Habit) {
        let mut pairs = self.0.lock();
        if pairs.len() >= PAIRS_MAX
            && let Some(idle) = pairs.iter().min_by_key(|(_, one)| one.pace.last()).map(|(pair, _)| *pair)
        {
            pairs.remove(&idle);
        }
        pairs.entry(pair).or_insert_with(|| PairHabits { pace, places: HashMap::new() });
    }

    fn put_place(&self, pair: Pair, place: &Place, counted: PlaceHabit) {
        let mut pairs = self.0.lock();
        let Some(habits) = pairs.get_mut(&pair) else { return };
        if habits.places.len() >= PLACES_MAX
            && let Some(idle) =
                habits.places.iter().min_by_key(|(_, one)| one.last()).map(|(one, _)| one.clone())
        {
            habits.places.remove(&idle);
        }
        habits.places.entry(place.clone()).or_insert(counted);
    }
}

const fn pair_of(caller: &Caller) -> Pair {
    (caller.user(), caller.agent())
}

/// Whether a caller's writes are watched under a policy: those of agents, unless it is `open`.
fn is_watched(tenant: &Tenant, call: &Call, strictness: Strictness) -> bool {
    strictness > Strictness::Open && !tenant.is_person(&call.caller)
}

/// Counts a write as it arrives, whatever becomes of it.
pub(crate) fn arrive(tenant: &Tenant, call: &Call, asked: &Asked) {
    recall(tenant, call, asked);
    if is_watched(tenant, call, asked.strictness) {
        let _known_by_now = tenant.habits.arrive(pair_of(&call.caller), tenant.now());
    }
}

/// Counts again what a pair usually does where that is not in memory: before a write is judged, so that it is not counted twice.
pub(crate) fn recall(tenant: &Tenant, call: &Call, asked: &Asked) {
    let pair = pair_of(&call.caller);
    if !is_watched(tenant, call, asked.strictness) {
        return;
    }
    if !tenant.habits.knows(pair) {
        tenant.habits.put_pair(pair, past::pace(tenant, pair));
    }
    let place = Place::of(asked);
    if !tenant.habits.knows_place(pair, &place) {
        let counted = past::habit(tenant, call, &place);
        tenant.habits.put_place(pair, &place, counted);
    }
}

/// What a write speaks against, given whether others would see it, whether it speaks against something that is not named, and the
/// versions that are. A note that stays private crowds out nothing of what others share, whatever it says of it.
pub(crate) fn opposes(
    tenant: &Tenant,
    call: &Call,
    is_for_others: bool,
    (found, against): (bool, &[VersionId]),
) -> Opposes {
    let views = tenant.shared.views.read();
    let owners = against.iter().filter_map(|version| views.items.find_version(*version)).map(|one| one.owner);
    let (own, others): (Vec<UserId>, Vec<UserId>) = owners.partition(|owner| *owner == call.caller.user());
    match (is_for_others && !others.is_empty(), found || !own.is_empty()) {
        (true, _) => Opposes::OtherUsers,
        (false, true) => Opposes::OwnUser,
        (false, false) => Opposes::Nothing,
    }
}

/// Takes in what a write said once it was judged, and holds its pair if that is unlike what it wrote before.
pub(crate) async fn watch(tenant: &Tenant, call: &Call, asked: &Asked, opposes: Opposes) {
    let (pair, now) = (pair_of(&call.caller), tenant.now());
    if !is_watched(tenant, call, asked.strictness)
        || tenant.shared.views.read().holds.of(pair.0, pair.1, now).is_some()
    {
        return;
    }
    let seen = (words_of(&asked.request.content), opposes);
    let signals = tenant.habits.observe(pair, &Place::of(asked), seen, now).unwrap_or_default();
    if signals.len() >= SIGNALS_MIN {
        let action =
            if asked.strictness == Strictness::Strict { PairAction::Suspend } else { PairAction::Hold };
        let (user, agent) = pair;
        hold(tenant, PairHold { user, agent, action, signals, until: now.plus(HELD_FOR) }).await;
    }
}

fn words_of(content: &Content) -> Vec<u16> {
    classes_of([content.key.as_deref().unwrap_or_default(), content.text.as_str()])
}

/// Makes the hold an entry and tells whoever listens.
async fn hold(tenant: &Tenant, hold: PairHold) {
    let (user, agent) = (hold.user, hold.agent);
    let Ok(draft) = tenant.draft(Actor::SERVER, Event::PairHeld(hold.clone()), None) else { return };
    let trail =
        tenant.server_row("hold_pair", hold.action.as_str(), vec![user.to_string(), agent.to_string()]);
    let check = move |views: &tabellion_core::view::Views, now: Timestamp| {
        if views.holds.of(user, agent, now).is_some() { Err(Objection::Stale) } else { Ok(()) }
    };
    let touches = vec![Touch::Name("pair", format!("{user}/{agent}"))];
    let proposal = Proposal { drafts: vec![draft], touches, check: Box::new(check), trail };
    if tenant.sequencer.propose(proposal).await.is_err() {
        return;
    }
    let (action, reason) = (hold.action.as_str(), hold.reason());
    tracing::warn!(%user, %agent, action, reason, "writes of an agent for a user are unlike those before");
    metrics::counter!("tabellion_pairs_held_total", "action" => action, "reason" => reason).increment(1);
    announce(tenant, hold.action.as_str(), &hold);
}

/// Tells whoever listens that a pair is held or released.
pub(crate) fn announce(tenant: &Tenant, what: &str, hold: &PairHold) {
    tenant.tell(Notice::Pair(PairNotice {
        what: what.to_owned(),
        user: hold.user,
        agent: hold.agent,
        reason: hold.reason(),
        until: hold.until,
    }));
}

/// Why writes of a caller's pair are held for review; nothing if they are not, or under `open`.
pub(crate) fn held_because(tenant: &Tenant, call: &Call, strictness: Strictness) -> Option<String> {
    if strictness == Strictness::Open {
        return None;
    }
    let (user, agent) = pair_of(&call.caller);
    let views = tenant.shared.views.read();
    let standing = views.holds.of(user, agent, tenant.now())?;
    Some(format!("{}, until {} or until the agent is resumed", standing.hold.reason(), standing.hold.until))
}

/// Refuses a pair that is suspended.
pub(crate) fn not_suspended(tenant: &Tenant, call: &Call) -> Result<(), Refusal> {
    let (user, agent) = pair_of(&call.caller);
    let (now, views) = (tenant.now(), tenant.shared.views.read());
    let Some(standing) = views.holds.of(user, agent, now) else { return Ok(()) };
    if standing.hold.action != PairAction::Suspend {
        return Ok(());
    }
    let name = views.identity.agent(agent).map(|agent| agent.words.name.clone()).unwrap_or_default();
    let message = format!(
        "writes of {name} for this user are suspended until {}: {}; `tabellion agent resume {name}` ends that",
        standing.hold.until,
        standing.hold.reason()
    );
    let refusal = Refusal::new(Code::WritesSuspended, message).at(GateName::Preflight);
    Err(refusal.retry_after(standing.hold.until.since(now)))
}
