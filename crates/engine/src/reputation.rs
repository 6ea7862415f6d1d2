//! How well an agent's writes have stood, and who reads (GOV-11.8, D11, D17).

use crate::reply::HoldReply;
use crate::reverify::rests_on;
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tabellion_core::access::Caller;
use tabellion_core::gate::REPUTATION_MIN;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::item::Status;
use tabellion_core::log::{Decision, Entry, Event, LogName, Lsn, PairAction, Recheck};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Review, Version, Views};
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
    records: Arc<BTreeMap<UserId, Record>>,
}

/// How the writes of an agent for one user stood.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Record {
    correct: usize,
    incorrect: usize,
    /// When the newest of the incorrect ones was written, and when the last was found to be so.
    last_written: Timestamp,
    last_found: Timestamp,
}

impl Record {
    const fn judged(self) -> usize {
        self.correct + self.incorrect
    }

    fn note_incorrect(&mut self, written: Timestamp, found: Timestamp) {
        self.incorrect += 1;
        self.last_written = self.last_written.max(written);
        self.last_found = self.last_found.max(found);
    }

    /// The share that proved correct; nothing below ten judged writes.
    fn share(self) -> Option<f64> {
        (self.judged() >= WRITES_MIN).then(|| self.correct as f64 / self.judged() as f64)
    }

    /// That writes of a pair with this record are held for review, and until when at the latest.
    pub(crate) fn hold(self, user: (UserId, String)) -> Option<HoldReply> {
        let share = self.share().filter(|share| *share < REPUTATION_MIN)?;
        let (incorrect, judged) = (self.incorrect, self.judged());
        Some(HoldReply {
            user,
            action: PairAction::Hold,
            reason: format!("reputation {share:.2}: {incorrect} of {judged} judged writes were found wrong"),
            since: self.last_found,
            until: self.last_written.plus(WINDOW),
        })
    }
}

impl Tenant {
    /// The share of an agent's judged writes for a user that proved correct; nothing below ten.
    pub(crate) fn reputation(&self, user: UserId, agent: AgentId, now: Timestamp) -> Option<f64> {
        let views = self.shared.views.read();
        self.records(&views, agent, now).get(&user).copied().unwrap_or_default().share()
    }

    /// The same over all users of the agent.
    pub(crate) fn reputation_of_agent(&self, agent: AgentId, now: Timestamp) -> Option<f64> {
        let views = self.shared.views.read();
        let mut all = Record::default();
        for record in self.records(&views, agent, now).values() {
            (all.correct, all.incorrect) = (all.correct + record.correct, all.incorrect + record.incorrect);
        }
        all.share()
    }

    /// How the writes of an agent stood, by user.
    pub(crate) fn records(
        &self,
        views: &Views,
        agent: AgentId,
        now: Timestamp,
    ) -> Arc<BTreeMap<UserId, Record>> {
        let challenged = views.items.last_challenge().max(views.checks.last());
        let lsn = challenged.max(views.reviews.last_decision()).max(views.holds.last_resumed());
        let mut known = self.reputations.0.lock();
        if let Some(known) = known.get(&agent)
            && known.lsn == lsn
            && now.since(known.at) < KNOWN_FOR
            && now >= known.at
        {
            return Arc::clone(&known.records);
        }
        let records = Arc::new(records(views, agent, now));
        known.insert(agent, Known { at: now, lsn, records: Arc::clone(&records) });
        records
    }

    /// How many pairs of this user have read lately.
    pub(crate) fn readers(&self, caller: &Caller, now: Timestamp) -> u64 {
        self.readers.of(caller.user(), now)
    }
}

fn records(views: &Views, agent: AgentId, now: Timestamp) -> BTreeMap<UserId, Record> {
    let at = Moment { lsn: views.lsn(), time: now };
    let mut records: BTreeMap<UserId, Record> = BTreeMap::new();
    // What was written before somebody let the pair go on counts no more.
    let counts = |user: UserId, time: Timestamp| {
        now.since(time) <= WINDOW && views.holds.resumed(user, agent).is_none_or(|resumed| time > resumed)
    };
    let written = views.items.written_by(agent).rev().take_while(|version| now.since(version.time) <= WINDOW);
    for version in written.filter(|version| counts(version.owner, version.time)) {
        let record = records.entry(version.owner).or_default();
        match stood(views, version, at) {
            Some(true) => record.correct += 1,
            Some(false) => {
                let found = version.ended().and_then(|(lsn, _)| views.items.time_of(lsn));
                record.note_incorrect(version.time, found.unwrap_or(version.time));
            }
            None => {}
        }
    }
    let is_false =
        |review: &&Review| review.agent == agent && review.decision == Some(Decision::RejectedAsFalse);
    for review in views.reviews.all().filter(is_false).filter(|one| counts(one.owner, one.time)) {
        let found = review.decided.and_then(|lsn| views.items.time_of(lsn)).unwrap_or(review.time);
        records.entry(review.owner).or_default().note_incorrect(review.time, found);
    }
    records
}

/// Whether a write proved correct; nothing while that is open.
fn stood(views: &Views, version: &Version, at: Moment) -> Option<bool> {
    if version.challenged {
        return if derives_from_challenged(views, version) { None } else { Some(false) };
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

/// Whether a version was taken back together with what another pair wrote and it derives from: that was not its author's fault.
fn derives_from_challenged(views: &Views, version: &Version) -> bool {
    let author = (version.owner, version.agent);
    views.items.sources_of(version).any(|source| source.challenged && (source.owner, source.agent) != author)
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
