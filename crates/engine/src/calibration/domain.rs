//! What a write is measured by: a sample of everything that may have a part in its score, and how dense that lies (CAL-9, 10).
//!
//! A domain is of one space and holds only what that space dominates. It follows from the log and the vectors, so it can be
//! dropped at any time.

use parking_lot::Mutex;
use roaring::RoaringBitmap;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tabellion_core::access::tells_tiers_apart;
use tabellion_core::item::{RELATION, Secrecy, Tier};
use tabellion_core::log::{Lsn, Space};
use tabellion_core::rank::dot;
use tabellion_core::trust::{Draw, ENOUGH, ItemFacts, crowding, median, order_key, ratio};
use tabellion_core::vector::VectorView;
use tabellion_core::view::{Class, Moment, Row, Version, Views};

/// Items in the sample.
const SAMPLE_MAX: usize = 1_024;
/// Pairs of them that the radius is the median of.
const PAIRS: usize = 2_048;
/// Items whose surroundings say what is usual.
const CENTRES: usize = 128;
/// The sample is measured anew after so many commits, or this share of all.
const REFRESH_COMMITS: u64 = 32;
const REFRESH_SHARE: u64 = 100;
/// Items committed lately that a list can be caught up with.
pub(super) const RECENT_MAX: usize = 256;
/// Domains kept; beyond that the one that was not used for longest goes.
const DOMAINS_MAX: usize = 32;

/// What belongs to a space: rows of the same namespace that everyone sees who sees what is scored there.
pub(super) struct Belongs<'a> {
    pub(super) views: &'a Views,
    pub(super) space: &'a Space,
    pub(super) class: &'a Class,
    pub(super) namespace: &'a str,
    pub(super) at: Moment,
    /// Whether Cedar has a say in reading: then nothing short of the same class tells who sees what.
    pub(super) by_cedar: bool,
}

impl Belongs<'_> {
    /// Whether a row does.
    pub(super) fn admits(&self, row: Row) -> bool {
        let items = &self.views.items;
        let Some(version) = items.version(row) else { return false };
        items.is_active_at(version, self.at)
            && self.admits_version(version)
            && items.item_of(version).is_some_and(|item| !item.is_quarantined_at(self.at.lsn))
    }

    /// Whether a version belongs, whenever it was there.
    pub(super) fn admits_version(&self, version: &Version) -> bool {
        let owned = match version.tier {
            Tier::Shared => true,
            Tier::Private => self.space.tier == Tier::Private && self.space.owner == Some(version.owner),
        };
        owned
            && self.views.items.namespace_of(version) == self.namespace
            && self.views.items.class_of(version).is_some_and(|class| self.admits_class(class))
    }

    fn admits_class(&self, class: &Class) -> bool {
        if self.by_cedar {
            return class == self.class;
        }
        let plain = class.labels.is_empty() && class.secrecy == Secrecy::default();
        let alike = class.labels == self.class.labels && class.secrecy == self.class.secrecy;
        let same_kind = (class.kind == RELATION) == (self.class.kind == RELATION);
        (plain || alike)
            && same_kind
            && (class.tier == self.space.tier || !tells_tiers_apart(class.layer))
            && class.agents.iter().all(|agent| self.space.agents.contains(agent))
            && class.resources.iter().all(|resource| self.space.resources.contains(resource))
    }
}

/// What is usual in a space.
#[derive(Default)]
pub(super) struct Domain {
    /// Rows that were looked at.
    upto: Row,
    /// Of those, the ones that had no vector yet.
    pending: RoaringBitmap,
    /// How many belong.
    pub(super) size: u64,
    /// The sample: where each stands in the secret order, the least first.
    sample: Vec<(u64, Row)>,
    /// Rows committed lately, oldest first.
    recent: VecDeque<(Lsn, Row)>,
    /// Commits since the sample was measured.
    fresh: u64,
    /// The vectors of the sample, one after the other.
    vectors: Vec<f32>,
    dimensions: usize,
    radius: f64,
    /// The usual share of the sample within the radius.
    pub(super) usual: f64,
    /// The usual trust in the sample.
    pub(super) trust: f64,
    /// Whether there was enough to compare with when something was scored last.
    is_enough: bool,
    /// The sum of the sample's vectors: with it follows how near something lies to all of them.
    sum: Vec<f32>,
    /// How near they usually lie to all others, and how far that differs.
    nearness: (f64, f64),
    used: u64,
}

impl Domain {
    /// Takes in what was committed since, and measures the sample anew if it is time.
    pub(super) fn catch_up(&mut self, belongs: &Belongs<'_>, vectors: &VectorView, key: &[u8; 32]) {
        let last = belongs.views.items.versions_len() as Row;
        let waiting: Vec<Row> = self.pending.iter().filter(|row| vectors.contains(*row)).collect();
        for row in waiting.into_iter().chain(self.upto..last) {
            if !belongs.admits(row) {
                self.pending.remove(row);
            } else if vectors.contains(row) {
                self.pending.remove(row);
                self.add(belongs, row, key);
            } else {
                self.pending.insert(row);
            }
        }
        self.upto = last;
        let due = self.fresh >= REFRESH_COMMITS.max(self.size / REFRESH_SHARE);
        // What was measured of few says little once there are twice as many.
        let doubled = self.size > 0 && self.fresh * 2 >= self.size;
        if due || doubled {
            self.measure(belongs, vectors, key);
        }
    }

    fn add(&mut self, belongs: &Belongs<'_>, row: Row, key: &[u8; 32]) {
        let Some(version) = belongs.views.items.version(row) else { return };
        self.size += 1;
        self.fresh += 1;
        let place = (order_key(key, &version.prints.content), row);
        if self.sample.len() < SAMPLE_MAX || self.sample.last().is_some_and(|last| place < *last) {
            let at = self.sample.partition_point(|known| *known < place);
            self.sample.insert(at, place);
            self.sample.truncate(SAMPLE_MAX);
        }
        self.recent.push_back((version.lsn, row));
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    fn measure(&mut self, belongs: &Belongs<'_>, vectors: &VectorView, key: &[u8; 32]) {
        let before = self.sample.len();
        self.sample.retain(|(_, row)| belongs.admits(*row) && vectors.contains(*row));
        self.size -= (before - self.sample.len()) as u64;
        self.dimensions = vectors.dimensions();
        self.vectors =
            self.sample.iter().filter_map(|(_, row)| vectors.vector(*row)).flatten().copied().collect();
        self.recent.retain(|(_, row)| belongs.admits(*row));
        let mut draw = Draw::new(key, self.size, &[0; 32]);
        self.radius = self.radius(&mut draw);
        let centres = draw.sample(self.sample.len(), CENTRES);
        let shares: Vec<f64> =
            centres.iter().filter_map(|place| Some(self.share(self.vector(*place)?, Some(*place)))).collect();
        self.usual = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        self.sum = vec![0.0; self.dimensions];
        for vector in self.vectors.chunks_exact(self.dimensions.max(1)) {
            self.sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
        }
        let near: Vec<f64> =
            self.vectors.chunks_exact(self.dimensions.max(1)).map(|one| self.nearness(one, true)).collect();
        self.nearness = spread(&near);
        let mut trusted: Vec<f64> =
            self.sample.iter().map(|(_, row)| belongs.views.trust.rho(*row)).collect();
        self.trust = median(&mut trusted).unwrap_or(0.5);
        self.fresh = 0;
    }

    fn radius(&self, draw: &mut Draw) -> f64 {
        let count = self.sample.len();
        let pairs = (0..PAIRS).filter_map(|_| {
            let (a, b) = (draw.below(count), draw.below(count));
            (a != b).then_some(f64::from(dot(self.vector(a)?, self.vector(b)?)))
        });
        let mut cosines: Vec<f64> = pairs.collect();
        median(&mut cosines).unwrap_or(1.0)
    }

    fn vector(&self, place: usize) -> Option<&[f32]> {
        self.vectors.get(place * self.dimensions..(place + 1) * self.dimensions)
    }

    /// The share of the sample that lies within the radius of a vector.
    pub(super) fn share(&self, vector: &[f32], but: Option<usize>) -> f64 {
        if self.dimensions == 0 || self.sample.is_empty() {
            return 0.0;
        }
        let others =
            self.vectors.chunks_exact(self.dimensions).enumerate().filter(|(at, _)| Some(*at) != but);
        let (mut inside, mut all) = (0_u32, 0_u32);
        for (_, other) in others {
            all += 1;
            inside += u32::from(f64::from(dot(vector, other)) >= self.radius);
        }
        f64::from(inside) / f64::from(all.max(1))
    }

    /// The mean cosine with the sample; with all others of it, for one that is in it.
    fn nearness(&self, vector: &[f32], is_in: bool) -> f64 {
        let own = if is_in { 1.0 } else { 0.0 };
        let others = self.sample.len() as f64 - own;
        if self.sum.is_empty() || others < 1.0 {
            0.0
        } else {
            (f64::from(dot(vector, &self.sum)) - own) / others
        }
    }

    /// Whether there is enough to compare with since the last time that this was asked.
    pub(super) fn has_just_enough(&mut self) -> bool {
        let is_enough = self.size >= ENOUGH as u64;
        is_enough && !std::mem::replace(&mut self.is_enough, is_enough)
    }

    /// How a vector lies among what is known.
    pub(super) fn item_facts(&self, vector: &[f32]) -> ItemFacts {
        let ((mean, deviation), inside) = (self.nearness, self.share(vector, None));
        let nearness = self.nearness(vector, false);
        ItemFacts { ratio: ratio(inside, self.usual), crowding: crowding(nearness, mean, deviation) }
    }

    /// What was committed after a position, if that is not too much to tell.
    pub(super) fn since(&self, lsn: Lsn) -> Option<Vec<Row>> {
        let whole = self.recent.len() < RECENT_MAX;
        let reaches = whole || self.recent.front().is_some_and(|(first, _)| *first <= lsn);
        reaches.then(|| self.recent.iter().filter(|(at, _)| *at > lsn).map(|(_, row)| *row).collect())
    }
}

/// The mean, and the standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}

/// The domains in use.
#[derive(Default)]
pub(crate) struct Domains(Mutex<Kept>);

/// A space, and what else tells apart what belongs to it: whether relations do; or the class, where Cedar has a say.
type Place = (Space, bool, Option<Class>);

#[derive(Default)]
struct Kept {
    domains: HashMap<Place, Arc<Mutex<Domain>>>,
    used: u64,
}

impl Domains {
    /// The domain of a space, as it was left.
    pub(super) fn of(&self, space: &Space, class: &Class, by_cedar: bool) -> Arc<Mutex<Domain>> {
        let mut kept = self.0.lock();
        kept.used += 1;
        let used = kept.used;
        let place = (space.clone(), class.kind == RELATION, by_cedar.then(|| class.clone()));
        if !kept.domains.contains_key(&place) && kept.domains.len() >= DOMAINS_MAX {
            let idle = kept.domains.iter().min_by_key(|(_, domain)| domain.lock().used);
            let idle = idle.map(|(place, _)| place.clone());
            idle.and_then(|place| kept.domains.remove(&place));
        }
        let domain = Arc::clone(kept.domains.entry(place).or_default());
        domain.lock().used = used;
        domain
    }
}
