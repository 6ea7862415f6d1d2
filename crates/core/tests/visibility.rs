//! Visibility against an oracle: V(u, a, t) of SHARE-11 in plain sets over the whole history, sharing no code with the views.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tabellion_core::access::{Sight, visible_to_pair};
use tabellion_core::id::{AgentId, ItemId, ResourceId, UserId, VersionId};
use tabellion_core::item::{Layer, Operation, Tier};
use tabellion_core::log::{
    Actor, AgentStatus, Edge, Entry, Event, GrantedEdge, Lsn, Principal, Prints, Support, WrittenVersion,
};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Opened, OpenedVersion, SeenRows, Views};

const USERS: u8 = 3;
const AGENTS: u8 = 4;
const RESOURCES: u8 = 3;

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Grant { ua: bool, source: u8, target: u8, starts: Option<u8>, lasts: Option<u8> },
    Revoke { ua: bool, source: u8, target: u8 },
    Status { agent: u8, status: u8 },
    Write { user: u8, agents: BTreeSet<u8>, resources: BTreeSet<u8>, shared: bool },
    Retract { nth: usize },
    Wait { minutes: u8 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let edge = || (any::<bool>(), 0..4u8, 0..4u8);
    let step = prop_oneof![
        4 => (edge(), proptest::option::weighted(0.2, 0..30u8), proptest::option::weighted(0.3, 1..40u8))
            .prop_map(|((ua, source, target), starts, lasts)| Step::Grant { ua, source, target, starts, lasts }),
        2 => edge().prop_map(|(ua, source, target)| Step::Revoke { ua, source, target }),
        1 => (0..AGENTS, 0..3u8).prop_map(|(agent, status)| Step::Status { agent, status }),
        5 => (0..USERS, proptest::collection::btree_set(0..AGENTS, 1..3),
              proptest::collection::btree_set(0..RESOURCES, 0..3), any::<bool>())
            .prop_map(|(user, agents, resources, shared)| Step::Write { user, agents, resources, shared }),
        1 => (0..20usize).prop_map(|nth| Step::Retract { nth }),
        2 => (1..20u8).prop_map(|minutes| Step::Wait { minutes }),
    ];
    proptest::collection::vec(step, 1..60)
}

fn user(number: u8) -> UserId {
    UserId::from_bytes([10 + number; 16])
}

fn agent(number: u8) -> AgentId {
    AgentId::from_bytes([20 + number; 16])
}

fn resource(number: u8) -> ResourceId {
    ResourceId::from_bytes([30 + number; 16])
}

/// The oracle's own record of what happened, as a list that is read from the start each time.
#[derive(Debug, Clone)]
enum Fact {
    Granted { at: u64, ua: bool, source: u8, target: u8, from: Option<Timestamp>, to: Option<Timestamp> },
    Revoked { at: u64, ua: bool, source: u8, target: u8 },
    Became { at: u64, agent: u8, status: u8 },
    Wrote { at: u64, item: usize, user: u8, agents: BTreeSet<u8>, resources: BTreeSet<u8>, shared: bool },
    Retracted { at: u64, item: usize },
}

struct Oracle(Vec<Fact>);

impl Oracle {
    fn status(&self, agent: u8, at: Moment) -> u8 {
        let mut status = 0;
        for fact in &self.0 {
            if let Fact::Became { at: lsn, agent: one, status: to } = fact
                && *lsn <= at.lsn.get()
                && *one == agent
            {
                status = *to;
            }
        }
        status
    }

    fn edge(&self, ua: bool, source: u8, target: u8, at: Moment) -> bool {
        let mut times: Option<(Option<Timestamp>, Option<Timestamp>)> = None;
        for fact in &self.0 {
            match fact {
                Fact::Granted { at: lsn, ua: graph, source: s, target: t, from, to }
                    if *lsn <= at.lsn.get() && (*graph, *s, *t) == (ua, source, target) =>
                {
                    times = Some((*from, *to));
                }
                Fact::Revoked { at: lsn, ua: graph, source: s, target: t }
                    if *lsn <= at.lsn.get() && (*graph, *s, *t) == (ua, source, target) =>
                {
                    times = None;
                }
                Fact::Became { at: lsn, agent, status: 2 } if *lsn <= at.lsn.get() => {
                    let ends = if ua { target == *agent } else { source == *agent };
                    if ends {
                        times = None;
                    }
                }
                Fact::Granted { .. }
                | Fact::Revoked { .. }
                | Fact::Became { .. }
                | Fact::Wrote { .. }
                | Fact::Retracted { .. } => {}
            }
        }
        let agent = if ua { target } else { source };
        times.is_some_and(|(from, to)| {
            from.is_none_or(|from| from <= at.time) && to.is_none_or(|to| at.time < to)
        }) && (!ua || self.status(agent, at) != 2)
    }

    /// V of a pair: the items whose newest state at the moment is written and not retracted, and visible.
    fn seen(&self, by: u8, through: Option<u8>, at: Moment) -> BTreeSet<usize> {
        let agents: BTreeSet<u8> = (0..AGENTS).filter(|a| self.edge(true, by, *a, at)).collect();
        let acting: Vec<u8> = match through {
            Some(agent) => vec![agent],
            None => agents.iter().copied().collect(),
        };
        let acting: Vec<u8> =
            acting.into_iter().filter(|a| agents.contains(a) && self.status(*a, at) == 0).collect();
        let mut seen = BTreeSet::new();
        for fact in &self.0 {
            match fact {
                Fact::Wrote { at: lsn, item, user, agents: by_agents, resources, shared }
                    if *lsn <= at.lsn.get() =>
                {
                    let reaches = *shared || *user == by;
                    let taught = by_agents.is_subset(&agents);
                    let used = |a: &u8| resources.iter().all(|r| self.edge(false, *a, *r, at));
                    if reaches && taught && acting.iter().any(used) {
                        seen.insert(*item);
                    }
                }
                Fact::Retracted { at: lsn, item } if *lsn <= at.lsn.get() => {
                    seen.remove(item);
                }
                Fact::Granted { .. }
                | Fact::Revoked { .. }
                | Fact::Became { .. }
                | Fact::Wrote { .. }
                | Fact::Retracted { .. } => {}
            }
        }
        seen
    }
}

struct World {
    views: Views,
    oracle: Oracle,
    lsn: u64,
    now: Timestamp,
    items: usize,
    moments: Vec<Moment>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            views: Views::default(),
            oracle: Oracle(Vec::new()),
            lsn: 0,
            now: Timestamp::from_micros(1_000_000_000_000),
            items: 0,
            moments: Vec::new(),
        };
        for number in 0..AGENTS {
            let words = Principal { name: format!("a{number}"), ..Principal::default() };
            let event = Event::AgentCreated { agent: agent(number), trust_declared: false };
            world.append(event, &Opened::Principal(words));
        }
        world
    }

    fn append(&mut self, event: Event, opened: &Opened) {
        self.lsn += 1;
        self.now = self.now.plus(Period::from_secs(1));
        let actor = Actor { user: None, agent: None };
        let entry = Entry { lsn: Lsn::new(self.lsn), time: self.now, actor, event, sealed: None };
        self.views.apply(&entry, opened);
        self.moments.push(Moment { lsn: Lsn::new(self.lsn), time: self.now });
    }

    fn take(&mut self, step: Step) {
        let next = self.lsn + 1;
        let at = |minutes: u8| self.now.plus(Period::from_secs(60 * u64::from(minutes)));
        match step {
            Step::Grant { ua, source, target, starts, lasts } => {
                let Some(edge) = edge(ua, source, target) else { return };
                let (not_before, expires_at) = (starts.map(at), lasts.map(at));
                let granted = GrantedEdge { edge, support: Support::Direct, not_before, expires_at };
                self.append(Event::EdgeGranted(granted), &Opened::Nothing);
                let (from, to) = (not_before, expires_at);
                self.oracle.0.push(Fact::Granted { at: next, ua, source, target, from, to });
            }
            Step::Revoke { ua, source, target } => {
                let Some(edge) = edge(ua, source, target) else { return };
                self.append(Event::EdgeRevoked { edge, support: None }, &Opened::Nothing);
                self.oracle.0.push(Fact::Revoked { at: next, ua, source, target });
            }
            Step::Status { agent: number, status } => {
                let word = *AgentStatus::ALL.get(usize::from(status)).unwrap();
                self.append(Event::AgentStatusSet { agent: agent(number), status: word }, &Opened::Nothing);
                self.oracle.0.push(Fact::Became { at: next, agent: number, status });
            }
            Step::Write { user: number, agents, resources, shared } => {
                let item = self.items;
                self.items += 1;
                let written = written(item, number, &agents, &resources, shared);
                let opened = OpenedVersion { namespace: String::new(), content: vec![], provenance: vec![] };
                self.append(Event::VersionWritten(written), &Opened::Version(opened));
                let fact = Fact::Wrote { at: next, item, user: number, agents, resources, shared };
                self.oracle.0.push(fact);
            }
            Step::Retract { nth } if self.items > 0 => {
                let item = nth % self.items;
                let (id, version) = ids(item);
                self.append(
                    Event::VersionRetracted { item: id, version, found_false: None },
                    &Opened::Nothing,
                );
                self.oracle.0.push(Fact::Retracted { at: next, item });
            }
            Step::Retract { .. } => {}
            Step::Wait { minutes } => {
                self.now = at(minutes);
                self.moments.push(Moment { lsn: Lsn::new(self.lsn), time: self.now });
            }
        }
    }

    fn check(&self, by: u8, through: Option<u8>, at: Moment) {
        let predicate = visible_to_pair(user(by), through.map(agent), &self.views, at);
        let items = &self.views.items;
        let expected = self.oracle.seen(by, through, at);
        let mut direct = BTreeSet::new();
        for item in 0..self.items {
            if items.visible_head(ids(item).0, &predicate, at).is_some() {
                direct.insert(item);
            }
        }
        assert_eq!(direct, expected, "by id: user {by} through {through:?} at {at:?}");
        // Another item stands in while it is looked for, seen or not.
        for never in (0..4).map(|number| ItemId::from_bytes([0xf0 + number; 16])) {
            assert!(items.visible_head(never, &predicate, at).is_none());
            assert!(items.visible_item(never, &predicate).is_none());
        }
        let listed: BTreeSet<ItemId> = items
            .visible_items(&predicate, 0)
            .filter(|(_, item)| items.head_at(item, at).is_some_and(|head| predicate.admits(head)))
            .map(|(_, item)| item.id)
            .collect();
        let expected_ids: BTreeSet<ItemId> = expected.iter().map(|item| ids(*item).0).collect();
        assert_eq!(listed, expected_ids, "by listing: user {by} through {through:?}");
        let rows: BTreeSet<ItemId> = items
            .visible_rows(&predicate, at)
            .iter()
            .filter_map(|row| items.version(row))
            .filter(|version| items.is_active_at(version, at) && predicate.admits(version))
            .map(|version| items.item_of(version).unwrap().id)
            .collect();
        assert_eq!(rows, expected_ids, "by rows: user {by} through {through:?}");
    }

    /// Rows that were kept since an earlier step are those that are gathered anew.
    fn check_kept(&self, kept: &mut BTreeMap<(u8, Option<u8>), SeenRows>) {
        let at = Moment { lsn: Lsn::new(self.lsn), time: self.now };
        let items = &self.views.items;
        for by in 0..USERS {
            for through in (0..AGENTS).map(Some).chain([None]) {
                let predicate = visible_to_pair(user(by), through.map(agent), &self.views, at);
                let gathered = SeenRows::gather(items, &predicate);
                let kept = kept.entry((by, through)).or_insert_with(|| gathered.clone());
                kept.follow(items, &predicate);
                assert!(kept.is_current(items, &predicate));
                assert_eq!(*kept, gathered, "kept: user {by} through {through:?}");
                for past in self.moments.iter().rev().take(3) {
                    assert_eq!(kept.at(items, *past), items.visible_rows(&predicate, *past));
                }
            }
        }
    }
}

fn edge(ua: bool, source: u8, target: u8) -> Option<Edge> {
    if ua {
        (source < USERS && target < AGENTS).then(|| Edge::Invoke(user(source), agent(target)))
    } else {
        (source < AGENTS && target < RESOURCES).then(|| Edge::Use(agent(source), resource(target)))
    }
}

fn ids(item: usize) -> (ItemId, VersionId) {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(item as u64 + 1).to_be_bytes());
    (ItemId::from_bytes(bytes), VersionId::from_bytes(bytes))
}

fn written(
    item: usize,
    owner: u8,
    agents: &BTreeSet<u8>,
    resources: &BTreeSet<u8>,
    shared: bool,
) -> WrittenVersion {
    let (id, version) = ids(item);
    let mut token = [0; 32];
    token[..16].copy_from_slice(version.as_bytes());
    WrittenVersion {
        operation: Operation::Insert,
        item: id,
        version,
        parents: Vec::new(),
        layer: Layer::Episodic,
        tier: if shared { Tier::Shared } else { Tier::Private },
        owner: user(owner),
        agents: agents.iter().map(|one| agent(*one)).collect(),
        resources: resources.iter().map(|one| resource(*one)).collect(),
        confidence: 0.5,
        token,
        request: None,
        expires_at: None,
        prints: Prints { content: token, ..Prints::default() },
        sources: Vec::new(),
        review: None,
        against: 0,
        origin: None,
        said_at: None,
    }
}

type Sights = BTreeMap<(u8, Option<u8>), Sight>;

impl World {
    /// What was kept since an earlier step and followed every one shows what is found anew.
    fn check_sights(&self, kept: &mut Sights) {
        let at = Moment { lsn: Lsn::new(self.lsn), time: self.now };
        for by in 0..USERS {
            for through in (0..AGENTS).map(Some).chain([None]) {
                let anew = || Sight::of(user(by), through.map(agent), &self.views, at);
                let sight = kept.entry((by, through)).or_insert_with(anew);
                sight.follow(&self.views, at);
                assert_eq!(sight.predicate(), anew().predicate(), "user {by} through {through:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// SHARE-36: what a pair or person sees, kept while edges come, go, begin and lapse, agents rest and classes are added, is
    /// what they see when it is found anew.
    #[test]
    fn kept_sights_are_those_found_anew(steps in steps()) {
        let mut world = World::new();
        let mut kept = Sights::new();
        for step in steps {
            world.take(step);
            world.check_sights(&mut kept);
        }
    }

    /// SHARE-36: the rows that are kept for a pair while the log grows, edges come and go and versions end are those that
    /// gathering them anew gives, at every step.
    #[test]
    fn kept_rows_are_those_gathered_anew(steps in steps()) {
        let mut world = World::new();
        let mut kept = BTreeMap::new();
        for step in steps {
            world.take(step);
            world.check_kept(&mut kept);
        }
    }

    /// SHARE-3, SHARE-4, SHARE-11, SHARE-12, SHARE-13, SHARE-41, SHARE-52: what every pair sees at every moment of a random
    /// history, by id, by listing and by rows, is what the definition says; a checkpoint changes none of it.
    #[test]
    fn every_pair_sees_what_the_definition_says(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        let checkpoint = Views::from_checkpoint(&world.views.checkpoint()).unwrap();
        prop_assert_eq!(checkpoint.fingerprint(), world.views.fingerprint());
        for round in 0..2 {
            for (number, at) in world.moments.iter().enumerate() {
                // Every moment of the past, and the last one with care.
                if number % 5 != 0 && number + 1 != world.moments.len() {
                    continue;
                }
                for by in 0..USERS {
                    for through in (0..AGENTS).map(Some).chain([None]) {
                        world.check(by, through, *at);
                    }
                }
            }
            if round == 0 {
                world.views = checkpoint.clone();
            }
        }
    }
}
