//! A memory of many hands: users, agents, resources and the classes of what they wrote, folded into the very views, words and
//! vectors that the engine searches. Beside it lies the same memory unshared: every item one user's own, in one class.

use super::super::cloud::{Chance, Cloud, DIMENSIONS};
use crate::progress::Progress;
use anyhow::{Context as _, Result};
use tabellion_core::id::{AgentId, ItemId, ResourceId, UserId, VersionId};
use tabellion_core::item::{Content, Layer, Operation, Tier};
use tabellion_core::log::{Actor, Edge, Entry, Event, GrantedEdge, Lsn, Prints, Support, WrittenVersion};
use tabellion_core::text::Analyser;
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::vector::{Centroids, Lists, VectorView};
use tabellion_core::view::{Index, Moment, Opened, OpenedVersion, Passage, Row, Views};

pub(super) const USERS: u64 = 1_000;
pub(super) const AGENTS: u64 = 50;
pub(super) const RESOURCES: u64 = 200;
/// What the agent of each measured caller may use: the first so many resources.
pub(super) const REACHES: [u64; 5] = [RESOURCES, 100, 20, 2, 1];
/// One item in this many is a private one of a measured caller.
const PRIVATE_EVERY: u64 = 2_000;
/// Agents of a user who is not measured, and resources of an agent that is not.
const AGENTS_EACH: u64 = 5;
const RESOURCES_EACH: u64 = 20;
/// Different words, and how many of them a text has. Frequent ones are about as frequent as in a language whose stop words
/// are left out.
const VOCABULARY: u64 = 50_000;
const WORDS_EACH: u64 = 24;
const FREQUENT: f64 = 30.0;
/// Words of a query.
const WORDS_ASKED: usize = 6;
/// Texts that are taken apart at a time.
const CHUNK: u64 = 2_048;
/// The engine makes its lists from this seed.
const SEED: u64 = 1;
/// Queries are drawn from texts that are not stored.
const QUERIES_FROM: u64 = 1 << 41;

fn id(kind: u8, number: u64) -> [u8; 16] {
    let mut bytes = [kind; 16];
    bytes.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
    bytes
}

pub(super) fn user(number: u64) -> UserId {
    UserId::from_bytes(id(1, number))
}

pub(super) fn agent(number: u64) -> AgentId {
    AgentId::from_bytes(id(2, number))
}

pub(super) fn resource(number: u64) -> ResourceId {
    ResourceId::from_bytes(id(3, number))
}

/// The user to whom everything belongs where nothing is shared.
pub(super) fn alone() -> UserId {
    user(USERS)
}

/// The agents and resources of a class. Each has a resource that measured callers reach up to, and half of them a second
/// agent; a further resource lies below the first, so whoever reaches that reaches both.
fn class(number: u64, classes: u64) -> (Vec<AgentId>, Vec<ResourceId>) {
    let (first, reach) = (number % AGENTS, number * RESOURCES / classes.max(1));
    let second = (number / AGENTS % 2 == 1 && first > 0).then_some(0);
    let below = (reach / 2 < reach).then_some(reach / 2);
    let agents = second.into_iter().chain([first]).map(agent).collect();
    (agents, below.into_iter().chain([reach]).map(resource).collect())
}

/// What the log says, as the engine keeps it.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) views: Views,
    pub(super) index: Index,
    lsn: u64,
}

impl Memory {
    pub(super) fn apply(&mut self, event: Event, opened: &Opened, passage: Option<&Passage>) {
        self.lsn += 1;
        let time = Timestamp::from_micros(1_000_000_000_000).plus(Period::from_secs(self.lsn / 100));
        let actor = Actor { user: None, agent: None };
        let entry = Entry { lsn: Lsn::new(self.lsn), time, actor, event, sealed: None };
        self.views.apply(&entry, opened);
        self.index.apply(&entry, passage, &self.views.items);
    }

    pub(super) fn now(&self) -> Moment {
        Moment { lsn: self.views.lsn(), time: self.views.time() }
    }

    /// The graphs of all users and agents: those of the measured callers as their reach says, others by chance.
    pub(super) fn tie(&mut self) {
        let mut chance = Chance::new(11);
        let mut edges: Vec<Edge> = Vec::new();
        for number in 0..USERS {
            let agents: Vec<u64> = match number {
                0..4 => (0..AGENTS).collect(),
                // This one sees two of the classes that its agent's one resource gave.
                4 => vec![0, 4],
                _ => (0..AGENTS_EACH).map(|_| chance.next() % AGENTS).collect(),
            };
            edges.extend(agents.into_iter().map(|to| Edge::Invoke(user(number), agent(to))));
        }
        for (number, reach) in (0..AGENTS).zip(REACHES.into_iter().map(Some).chain(std::iter::repeat(None))) {
            let resources: Vec<u64> = match reach {
                Some(reach) => (0..reach).collect(),
                None => (0..RESOURCES_EACH).map(|_| chance.next() % RESOURCES).collect(),
            };
            edges.extend(resources.into_iter().map(|to| Edge::Use(agent(number), resource(to))));
        }
        for edge in edges {
            self.grant(edge);
        }
    }

    pub(super) fn grant(&mut self, edge: Edge) {
        let granted = GrantedEdge { edge, support: Support::Direct, not_before: None, expires_at: None };
        self.apply(Event::EdgeGranted(granted), &Opened::Nothing, None);
    }

    /// Takes in an item that says nothing, of a class.
    pub(super) fn take_class(&mut self, number: u64, classes: u64) {
        let written = written(number, user(number % USERS), Tier::Shared, class(number, classes));
        let nothing = OpenedVersion { namespace: String::new(), content: Vec::new(), provenance: Vec::new() };
        self.apply(Event::VersionWritten(written), &Opened::Version(nothing), None);
    }
}

fn written(
    number: u64,
    owner: UserId,
    tier: Tier,
    (agents, resources): (Vec<AgentId>, Vec<ResourceId>),
) -> WrittenVersion {
    let mut token = [0; 32];
    token.iter_mut().zip(id(4, number)).for_each(|(to, from)| *to = from);
    WrittenVersion {
        operation: Operation::Insert,
        item: ItemId::from_bytes(id(4, number)),
        version: VersionId::from_bytes(id(5, number)),
        parents: Vec::new(),
        layer: Layer::Episodic,
        tier,
        owner,
        agents,
        resources,
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

/// What one of many users wrote, of any class; some of it is a measured caller's own.
fn written_by_many(number: u64, classes: u64) -> WrittenVersion {
    let callers = REACHES.len() as u64;
    let (tier, owner) = if number % PRIVATE_EVERY == 7 {
        (Tier::Private, number / PRIVATE_EVERY % callers)
    } else {
        (Tier::Shared, number % USERS)
    };
    let of = Chance::new(number.wrapping_mul(0xa24b_aed4_963e_e407)).next() % classes.max(1);
    written(number, user(owner), tier, class(of, classes))
}

/// The same items twice, shared and not, with their vectors.
pub(super) struct World {
    pub(super) cloud: Cloud,
    pub(super) shared: Memory,
    pub(super) alone: Memory,
    pub(super) vectors: VectorView,
}

impl World {
    pub(super) fn new(items: u64, classes: u64) -> Result<Self> {
        let mut world = Self {
            cloud: Cloud::new(0.5),
            shared: Memory::default(),
            alone: Memory::default(),
            vectors: VectorView::new(DIMENSIONS),
        };
        world.shared.tie();
        world.alone.grant(Edge::Invoke(alone(), agent(0)));
        let mut progress = Progress::of("taking in items");
        for from in (0..items).step_by(CHUNK as usize) {
            let drawn = drawn(&world.cloud, from..items.min(from + CHUNK));
            let drawn: Vec<Drawn> =
                drawn.into_iter().collect::<Option<_>>().context("an item was not drawn")?;
            world.take(from, &drawn, classes)?;
            progress.at(from, items);
        }
        drop(progress);
        world.list(items)?;
        Ok(world)
    }

    /// Takes items in, both ways at a time.
    fn take(&mut self, from: u64, drawn: &[Drawn], classes: u64) -> Result<()> {
        let Self { shared, alone: own, vectors, .. } = self;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (number, (_, opened, passage)) in (from..).zip(drawn) {
                    let written = written_by_many(number, classes);
                    shared.apply(Event::VersionWritten(written), opened, Some(passage));
                }
            });
            scope.spawn(|| {
                for (number, (_, opened, passage)) in (from..).zip(drawn) {
                    let written = written(number, alone(), Tier::Private, (vec![agent(0)], Vec::new()));
                    own.apply(Event::VersionWritten(written), opened, Some(passage));
                }
            });
            for (number, (vector, ..)) in (from..).zip(drawn) {
                vectors.insert(Row::try_from(number)?, vector)?;
            }
            Ok(())
        })
    }

    fn list(&mut self, items: u64) -> Result<()> {
        if self.vectors.wants_lists() {
            let centroids = Centroids::train(&self.vectors.sample(SEED), self.vectors.lists_wanted(), SEED);
            let mut lists = Lists::new(centroids.context("no vectors to learn from")?);
            self.vectors.assign(&mut lists, 0..Row::try_from(items)?);
            self.vectors.adopt(lists);
        }
        Ok(())
    }

    /// What is asked: a vector, and words of a text that is not stored.
    pub(super) fn query(&self, number: u64) -> (String, Vec<f32>) {
        let text = text(QUERIES_FROM + number);
        let words: Vec<&str> = text.split(' ').take(WORDS_ASKED).collect();
        (words.join(" "), self.cloud.query(number))
    }
}

type Drawn = (Vec<f32>, Opened, Passage);

/// Items by number, drawn and taken apart on every core.
fn drawn(cloud: &Cloud, numbers: std::ops::Range<u64>) -> Vec<Option<Drawn>> {
    let mut items: Vec<Option<Drawn>> = Vec::new();
    items.resize_with(numbers.clone().count(), || None);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = items.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (slots, from) in items.chunks_mut(part).zip(numbers.step_by(part)) {
            scope.spawn(move || {
                let mut analyser = Analyser::default();
                for (slot, number) in slots.iter_mut().zip(from..) {
                    *slot = one(cloud, number, &mut analyser);
                }
            });
        }
    });
    items
}

fn one(cloud: &Cloud, number: u64, analyser: &mut Analyser) -> Option<Drawn> {
    let content = Content::plain("fact", text(number));
    let content = serde_json::to_vec(&content).ok()?;
    let opened = Opened::Version(OpenedVersion { namespace: String::new(), content, provenance: Vec::new() });
    let passage = Passage::of(&opened, analyser)?;
    Some((cloud.vector(number), opened, passage))
}

/// A text of words that are as unevenly frequent as those of a language.
fn text(number: u64) -> String {
    let mut chance = Chance::new(number.wrapping_mul(0x9e6c_63d0_876a_3b2f));
    let words: Vec<String> = (0..WORDS_EACH).map(|_| word(&mut chance)).collect();
    words.join(" ")
}

fn word(chance: &mut Chance) -> String {
    const HARD: [&str; 20] = [
        "b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "t", "v", "w", "z", "br", "kl", "st",
        "tr",
    ];
    const SOFT: [&str; 5] = ["a", "e", "i", "o", "u"];
    // Frequencies fall with the rank, from a flat beginning on.
    let even = chance.next() as f64 / u64::MAX as f64;
    let rank = (FREQUENT * ((VOCABULARY as f64 / FREQUENT + 1.0).powf(even) - 1.0)) as usize;
    let syllable = |digit: usize| {
        let (hard, soft) = (HARD.get(digit / SOFT.len() % HARD.len()), SOFT.get(digit % SOFT.len()));
        format!("{}{}", hard.copied().unwrap_or_default(), soft.copied().unwrap_or_default())
    };
    // The last letter keeps endings of words from being taken off.
    format!("{}{}{}x", syllable(rank / 10_000 % 100), syllable(rank / 100 % 100), syllable(rank % 100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tabellion_core::access::visible_to_pair;

    /// SHARE-34: every class is another one, and what the measured callers see of them is as announced.
    #[test]
    fn callers_reach_their_share_of_the_classes() {
        for classes in [2_000, 10_000] {
            let all: BTreeSet<_> = (0..classes).map(|number| class(number, classes)).collect();
            assert_eq!(all.len() as u64, classes);
        }
        let mut memory = Memory::default();
        memory.tie();
        (0..2_000).for_each(|number| memory.take_class(number, 2_000));
        let seen = |caller: u64| {
            let predicate = visible_to_pair(user(caller), Some(agent(caller)), &memory.views, memory.now());
            predicate.classes().len()
        };
        assert_eq!([0, 1, 2, 3, 4].map(seen), [2_000, 1_000, 200, 20, 2]);
    }

    #[test]
    fn words_are_unevenly_frequent() {
        let words: Vec<String> =
            (0..500).flat_map(|n| text(n).split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
        let different: BTreeSet<&String> = words.iter().collect();
        assert!(different.len() > 2_000 && different.len() < words.len() * 3 / 4, "{}", different.len());
    }
}
