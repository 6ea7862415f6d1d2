//! What a pair was given, so that what it writes afterwards inherits where that came from (SHARE-9).
//!
//! A trace is a name that a caller gives to one piece of work. What is read without one belongs to the one implicit trace of
//! the pair, which ends after half an hour without a read; a write inherits from that one and from the trace that it names.
//! Traces are in memory; a start takes them in again from the trail.

mod recall;

use crate::Call;
use crate::reply::ItemReply;
use crate::tenant::Tenant;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use std::collections::{BTreeSet, HashMap};
use tabellion_core::access::Caller;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, ResourceId, UserId, VersionId};
use tabellion_core::item::Tier;
use tabellion_core::time::{Period, Timestamp};

/// How long a trace outlasts the last read in it.
const IDLE: Period = Period::from_secs(30 * 60);
/// Traces of one pair; beyond that the oldest is told apart no longer, and counts for every later write of the pair.
const TRACES_MAX: usize = 256;
/// Scores that are kept of a search.
const SCORES_MAX: usize = 32;

/// What was given in one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// The classes of what was given.
    pub(crate) classes: RoaringBitmap,
    /// Whether any of it was private.
    pub(crate) private: bool,
    /// The last search, and how its results scored.
    pub(crate) query: Option<String>,
    pub(crate) scores: Vec<f64>,
    /// Resources that were called through this server.
    pub(crate) called: BTreeSet<ResourceId>,
    /// Agents that took part without an item to show for it.
    pub(crate) agents: BTreeSet<AgentId>,
    /// Whether this is all that went into what is written: the server itself made it.
    pub(crate) whole: bool,
    last: Timestamp,
}

/// What went into something that the server itself made for a pair.
#[derive(Debug, Clone, Default)]
pub(crate) struct Made {
    pub(crate) versions: BTreeSet<VersionId>,
    pub(crate) called: BTreeSet<ResourceId>,
    pub(crate) agents: BTreeSet<AgentId>,
}

impl Made {
    pub(crate) fn join(&mut self, other: &Self) {
        self.versions.extend(&other.versions);
        self.called.extend(&other.called);
        self.agents.extend(&other.agents);
    }
}

impl Seen {
    fn join(&mut self, other: &Self) {
        self.classes |= &other.classes;
        self.private |= other.private;
        self.called.extend(&other.called);
        self.agents.extend(&other.agents);
        self.last = self.last.max(other.last);
        if other.query.is_some() {
            (self.query, self.scores) = (other.query.clone(), other.scores.clone());
        }
    }
}

/// The traces of every pair.
#[derive(Default)]
pub(crate) struct Traces(Mutex<HashMap<(UserId, AgentId), Pair>>);

#[derive(Default)]
struct Pair {
    implicit: Seen,
    named: HashMap<Hash, Seen>,
}

impl Pair {
    /// A trace by its name; the implicit one has none.
    fn trace(&mut self, name: Option<Hash>) -> &mut Seen {
        match name {
            None => &mut self.implicit,
            Some(name) => self.named.entry(name).or_default(),
        }
    }

    /// Forgets traces that nobody has read in for long; what is too much counts for the implicit one.
    fn tidy(&mut self, now: Timestamp) {
        let idle = |seen: &Seen| now.since(seen.last) >= IDLE;
        if idle(&self.implicit) {
            self.implicit = Seen::default();
        }
        self.named.retain(|_, seen| !idle(seen));
        while self.named.len() > TRACES_MAX {
            let oldest = self.named.iter().min_by_key(|(_, seen)| seen.last).map(|(trace, _)| *trace);
            let Some(seen) = oldest.and_then(|trace| self.named.remove(&trace)) else { return };
            self.implicit.join(&seen);
        }
    }
}

impl Traces {
    fn with<T>(&self, caller: &Caller, now: Timestamp, run: impl FnOnce(&mut Pair) -> T) -> T {
        let mut all = self.0.lock();
        let pair = all.entry((caller.user(), caller.agent())).or_default();
        pair.tidy(now);
        run(pair)
    }

    fn put(&self, (user, agent, trace): recall::Name, seen: &Seen) {
        let mut all = self.0.lock();
        all.entry((user, agent)).or_default().trace(trace).join(seen);
    }
}

impl Tenant {
    /// Remembers what a caller is about to be given.
    pub(crate) fn given<'a>(
        &self,
        call: &Call,
        items: impl Iterator<Item = &'a ItemReply>,
        search: Option<(&str, Vec<f64>)>,
    ) {
        let mut seen = Seen { last: self.now(), ..Seen::default() };
        {
            let views = self.shared.views.read();
            for version in items.filter_map(|item| views.items.find_version(item.version)) {
                seen.classes.insert(version.class());
                seen.private |= version.tier == Tier::Private;
            }
        }
        if let Some((query, mut scores)) = search {
            scores.truncate(SCORES_MAX);
            (seen.query, seen.scores) = (Some(query.to_owned()), scores);
        }
        self.add_seen(call, &seen);
    }

    fn add_seen(&self, call: &Call, seen: &Seen) {
        let trace = call.trace.as_deref().map(|trace| self.trace(trace));
        self.traces.with(&call.caller, self.now(), |pair| pair.trace(trace).join(seen));
    }

    fn seen_in(&self, made: &Made) -> Seen {
        let mut seen = Seen { last: self.now(), ..Seen::default() };
        (seen.called, seen.agents) = (made.called.clone(), made.agents.clone());
        let views = self.shared.views.read();
        for version in made.versions.iter().filter_map(|version| views.items.find_version(*version)) {
            seen.classes.insert(version.class());
            seen.private |= version.tier == Tier::Private;
        }
        seen
    }

    /// Remembers what went into an answer that a caller is about to be given.
    pub(crate) fn told(&self, call: &Call, made: &Made) {
        self.add_seen(call, &self.seen_in(made));
    }

    /// Runs something as the server's own work in the trace of a call: what went into it is this and nothing else. Only
    /// meanwhile, so that nobody who learns the name of the trace can claim as much (SHARE-9, 10).
    pub(crate) async fn making<T>(&self, call: &Call, made: &Made, work: impl Future<Output = T>) -> T {
        let Some(trace) = call.trace.as_deref().map(|trace| self.trace(trace)) else { return work.await };
        let mut seen = Seen { whole: true, ..self.seen_in(made) };
        self.traces.with(&call.caller, self.now(), |pair| {
            if let Some(before) = pair.named.remove(&trace) {
                (seen.query, seen.scores) = (before.query, before.scores);
            }
            pair.named.insert(trace, seen);
        });
        let _forgotten = Forgetting { tenant: self, call, trace };
        work.await
    }

    /// What a write of this trace may have been made from.
    pub(crate) fn seen(&self, call: &Call, trace: Option<&str>) -> Seen {
        let trace = trace.or(call.trace.as_deref()).map(|trace| self.trace(trace));
        self.traces.with(&call.caller, self.now(), |pair| {
            let whole = trace.and_then(|trace| pair.named.get(&trace)).filter(|named| named.whole);
            if let Some(whole) = whole {
                return whole.clone();
            }
            let mut seen = pair.implicit.clone();
            if let Some(named) = trace.and_then(|trace| pair.named.get(&trace)) {
                seen.join(named);
            }
            seen
        })
    }

    /// What the trail keeps of a trace: enough to find its rows again for whoever knows it.
    pub(crate) fn trace(&self, trace: &str) -> Hash {
        self.fingerprint(&[b"trace", trace.as_bytes()])
    }
}

/// Ends the server's own work in a trace, also where it is broken off.
struct Forgetting<'a> {
    tenant: &'a Tenant,
    call: &'a Call,
    trace: Hash,
}

impl Drop for Forgetting<'_> {
    fn drop(&mut self) {
        self.tenant.traces.with(&self.call.caller, self.tenant.now(), |pair| pair.named.remove(&self.trace));
    }
}
