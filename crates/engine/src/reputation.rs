//! How well an agent's writes have stood, and who reads (GOV-11.8, D11, D17).

use crate::reverify::rests_on;
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::access::Caller;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Status;
use tabellion_core::log::{Decision, Entry, Event, LogName, Lsn, Recheck};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Version, Views};
use tabellion_store::{Store, StoreError};

/// How far back writes count.
const WINDOW: Period = Period::from_days(90);
/// After this time a write that nobody challenged counts as correct.
const UNCHALLENGED: Period = Period::from_days(7);
/// Fewer writes say nothing.
const WRITES_MIN: usize = 10;
/// How long a reputation is good for while nothing is decided or retracted.
const KNOWN_FOR: Period = Period::from_secs(60);
/// Who read within this time is a reader.
const READER: Period = Period::from_days(30);
/// Pairs of user and agent that are remembered as readers.
const READERS_MAX: usize = 100_000;

/// Reputations that were worked out a moment ago.
#[derive(Default)]
pub(crate) struct Reputations(Mutex<HashMap<AgentId, Known>>);

struct Known {
    at: Timestamp,
    lsn: Lsn,
    reputation: Option<f64>,
}

impl Tenant {
    /// The share of an agent's judged writes that proved correct; nothing below ten.
    pub(crate) fn reputation(&self, agent: AgentId, now: Timestamp) -> Option<f64> {
        let views = self.shared.views.read();
        let challenged = views.items.last_challenge().max(views.checks.last());
        let mut known = self.reputations.0.lock();
        if let Some(known) = known.get(&agent)
            && known.lsn == challenged.max(views.reviews.last_decision())
            && now.since(known.at) < KNOWN_FOR
            && now >= known.at
        {
            return known.reputation;
        }
        let reputation = reputation(&views, agent, now);
        let lsn = challenged.max(views.reviews.last_decision());
        known.insert(agent, Known { at: now, lsn, reputation });
        reputation
    }

    /// How many pairs of this user have read lately.
    pub(crate) fn readers(&self, caller: &Caller, now: Timestamp) -> u64 {
        self.readers.of(caller.user(), now)
    }
}

fn reputation(views: &Views, agent: AgentId, now: Timestamp) -> Option<f64> {
    let at = Moment { lsn: views.lsn(), time: now };
    let written = views.items.written_by(agent).rev().take_while(|version| now.since(version.time) <= WINDOW);
    let (mut correct, mut incorrect) = (0usize, 0usize);
    for version in written {
        match stood(views, version, at) {
            Some(true) => correct += 1,
            Some(false) => incorrect += 1,
            None => {}
        }
    }
    incorrect += views
        .reviews
        .all()
        .filter(|review| review.agent == agent && review.decision == Some(Decision::RejectedAsFalse))
        .filter(|review| now.since(review.time) <= WINDOW)
        .count();
    let judged = correct + incorrect;
    (judged >= WRITES_MIN).then(|| correct as f64 / judged as f64)
}

/// Whether a write proved correct; nothing while that is open.
fn stood(views: &Views, version: &Version, at: Moment) -> Option<bool> {
    if version.challenged {
        return Some(false);
    }
    // Tidying up what is one's own says nothing of whether it was true (AM-6).
    if views.items.status_at(version, at) == Some(Status::Retracted) {
        return None;
    }
    if let Some(check) = views.checks.of(version.id)
        && let Some(proof) = check.finding.proves()
    {
        return if proof || !is_own_doing(views, version, check.finding) { Some(proof) } else { None };
    }
    if let Some(proof) = views.checks.proved_in_use(version.id) {
        return Some(proof);
    }
    let old = at.time.since(version.time) >= UNCHALLENGED;
    (version.review.is_some() || old).then_some(true)
}

/// Whether a version does not stand only because what its own pair wrote before was taken back or changed.
fn is_own_doing(views: &Views, version: &Version, finding: Recheck) -> bool {
    let by_sources = matches!(finding, Recheck::SourceWithdrawn | Recheck::SupportLost);
    let author = |one: &Version| (one.owner, one.agent);
    let by_others = |source: &Version| {
        let item = views.items.item_of(source);
        source.challenged
            || (author(source) != author(version) && source.ended().is_some())
            || item.is_some_and(|item| item.is_quarantined_at(views.lsn()))
    };
    by_sources && !rests_on(views, version, by_others)
}

/// When each pair of user and agent last read.
pub(crate) struct Readers(Mutex<HashMap<(UserId, AgentId), Timestamp>>);

/// What counts as reading.
const READS: [&str; 3] = ["get", "list", "search"];
/// Rows of the trail that a start looks back on.
const LOOK_BACK: u64 = 2_000;

impl Readers {
    /// Those whom the end of the trail shows reading.
    pub(crate) fn of_trail(store: &dyn Store) -> Result<Self, StoreError> {
        let size = store.size(LogName::Audit)?;
        let from = Lsn::new(size.saturating_sub(LOOK_BACK) + 1);
        let mut readers = HashMap::new();
        for record in store.records(LogName::Audit, from, LOOK_BACK as usize)? {
            let Ok(entry) = Entry::decode(&record.body) else { continue };
            if let (Event::Audited(row), Some(user), Some(agent)) =
                (&entry.event, entry.actor.user, entry.actor.agent)
                && READS.contains(&row.action.as_str())
            {
                readers.insert((user, agent), entry.time);
            }
        }
        Ok(Self(Mutex::new(readers)))
    }

    pub(crate) fn note(&self, caller: &Caller, now: Timestamp) {
        let mut readers = self.0.lock();
        let pair = (caller.user(), caller.agent());
        if readers.len() < READERS_MAX || readers.contains_key(&pair) {
            readers.insert(pair, now);
        }
    }

    fn of(&self, user: UserId, now: Timestamp) -> u64 {
        let readers = self.0.lock();
        readers.iter().filter(|((reader, _), at)| *reader == user && now.since(**at) <= READER).count() as u64
    }
}
