//! Searches and walks of late, kept by namespace and by the pair of user and agent that made them (CAL-26).

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::time::{Period, Timestamp};

/// How many are kept of a pair in a namespace that are of one kind, and for how long.
pub(super) const KEPT_MAX: usize = 32;
pub(super) const KEPT_FOR: Period = Period::from_days(1);
/// How many are kept of a pair in a namespace, of all rounds together.
const QUEUE_MAX: usize = 96;
/// Queues that are kept; beyond that the one that was quiet longest goes.
pub(super) const QUEUES_MAX: usize = 4_096;

/// Something that a user's agent did.
pub(super) trait Done {
    /// Whose agent, and which.
    fn pair(&self) -> (UserId, AgentId);
    /// When.
    fn at(&self) -> Timestamp;
    /// Whether it may say something of what is shared (SHARE-45).
    fn is_open(&self) -> bool;
    /// The declared round that it was done in, and who takes part in that.
    fn round(&self) -> (Option<Hash>, &[AgentId]);
}

/// What the pairs of a namespace did, oldest first. By agent before user, so that all of one agent are neighbours.
type Pairs<T> = BTreeMap<(AgentId, UserId), VecDeque<Arc<T>>>;

/// What was done of late, everywhere.
#[derive(Debug)]
pub(super) struct Queues<T>(Mutex<HashMap<Hash, Pairs<T>>>);

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Done> Queues<T> {
    pub(super) fn keep(&self, namespace: Hash, done: T) {
        let (user, agent) = done.pair();
        let mut queues = self.0.lock();
        let is_new = !queues.get(&namespace).is_some_and(|pairs| pairs.contains_key(&(agent, user)));
        if is_new && queues.values().map(BTreeMap::len).sum::<usize>() >= QUEUES_MAX {
            forget_the_quietest(&mut queues);
        }
        let queue = queues.entry(namespace).or_default().entry((agent, user)).or_default();
        let kind = |one: &T| (one.is_open(), one.round().0);
        let own = kind(&done);
        queue.push_back(Arc::new(done));
        // What is done in private, or in another round, takes no room from what others may know of (CAL-41).
        let of_kind = |one: &Arc<T>| kind(one) == own;
        if queue.iter().filter(|one| of_kind(one)).count() > KEPT_MAX
            && let Some(oldest) = queue.iter().position(of_kind)
        {
            queue.remove(oldest);
        }
        if queue.len() > QUEUE_MAX {
            let private = queue.iter().position(|one| !one.is_open());
            queue.remove(private.unwrap_or(0));
        }
    }

    /// What an agent did in a namespace, for whomever, that is not too old; oldest first.
    pub(super) fn of(&self, agent: AgentId, namespace: Hash, now: Timestamp) -> Vec<Arc<T>> {
        let queues = self.0.lock();
        let users = (agent, UserId::from_bytes([0; 16]))..=(agent, UserId::from_bytes([u8::MAX; 16]));
        let pairs = queues.get(&namespace).into_iter().flat_map(|pairs| pairs.range(users.clone()));
        let all = pairs.flat_map(|(_, queue)| queue);
        let mut lately: Vec<Arc<T>> = all.filter(|one| is_of_late(&***one, now)).cloned().collect();
        lately.sort_by_key(|one| one.at());
        lately
    }

    /// Which agents did something in the open of late, where, and with whom.
    pub(super) fn open(&self, now: Timestamp) -> BTreeSet<(Hash, AgentId, Vec<AgentId>)> {
        let queues = self.0.lock();
        let all = queues.iter().flat_map(|(namespace, pairs)| {
            pairs.iter().flat_map(|(_, queue)| queue).map(move |one| (*namespace, one))
        });
        let lately = all.filter(|(_, one)| one.is_open() && is_of_late(&***one, now));
        lately.map(|(namespace, one)| (namespace, one.pair().1, one.round().1.to_vec())).collect()
    }
}

fn is_of_late<T: Done>(one: &T, now: Timestamp) -> bool {
    now < one.at().plus(KEPT_FOR)
}

fn forget_the_quietest<T: Done>(queues: &mut HashMap<Hash, Pairs<T>>) {
    let last = |queue: &VecDeque<Arc<T>>| queue.back().map(|one| one.at());
    let all = queues.iter().flat_map(|(place, pairs)| pairs.iter().map(move |one| (place, one)));
    let quiet = all.min_by_key(|(_, (_, queue))| last(queue)).map(|(place, (pair, _))| (*place, *pair));
    if let Some((place, pair)) = quiet
        && let Some(pairs) = queues.get_mut(&place)
    {
        pairs.remove(&pair);
        queues.retain(|_, pairs| !pairs.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::canonical::sha256;

    const HERE: Hash = [1; 32];
    const AGENT: AgentId = AgentId::from_bytes([2; 16]);
    const ANA: UserId = UserId::from_bytes([3; 16]);
    const BEN: UserId = UserId::from_bytes([4; 16]);

    struct Search {
        user: UserId,
        at: u64,
        open: bool,
        round: Option<Hash>,
    }

    impl Done for Search {
        fn pair(&self) -> (UserId, AgentId) {
            (self.user, AGENT)
        }

        fn at(&self) -> Timestamp {
            Timestamp::from_micros(self.at)
        }

        fn is_open(&self) -> bool {
            self.open
        }

        fn round(&self) -> (Option<Hash>, &[AgentId]) {
            (self.round, &[])
        }
    }

    fn search(at: u64, open: bool, round: Option<Hash>) -> Search {
        Search { user: ANA, at, open, round }
    }

    fn kept(queues: &Queues<Search>, now: Timestamp, of: impl Fn(&Search) -> bool) -> Vec<u64> {
        queues.of(AGENT, HERE, now).iter().filter(|one| of(one)).map(|one| one.at).collect()
    }

    /// CAL-26: of a pair in a namespace the last 32 are kept, for a day.
    #[test]
    fn a_queue_holds_the_last_of_a_day() {
        let queues = Queues::default();
        (0..40).for_each(|at| queues.keep(HERE, search(at, true, None)));
        let (now, day) = (Timestamp::from_micros(50), Timestamp::from_micros(10).plus(KEPT_FOR));
        assert_eq!(kept(&queues, now, |_| true), (8..40).collect::<Vec<_>>());
        assert_eq!(kept(&queues, day, |_| true), (11..40).collect::<Vec<_>>());
        assert!(queues.of(AGENT, [9; 32], now).is_empty());
        assert_eq!(queues.open(now), BTreeSet::from([(HERE, AGENT, Vec::new())]));
        assert!(queues.open(now.plus(KEPT_FOR)).is_empty());
    }

    /// AM-11: what an agent does for one user pushes out nothing that it did for another.
    #[test]
    fn each_pair_has_a_queue_of_its_own() {
        let queues = Queues::default();
        (0..3).for_each(|at| queues.keep(HERE, search(at, true, None)));
        (3..300).for_each(|at| queues.keep(HERE, Search { user: BEN, ..search(at, true, None) }));
        let now = Timestamp::from_micros(400);
        assert_eq!(kept(&queues, now, |one| one.user == ANA), [0, 1, 2]);
        assert_eq!(kept(&queues, now, |one| one.user == BEN).len(), KEPT_MAX);
    }

    /// CAL-26, CAL-41: what is done in private, or in another round, pushes nothing out that others may know of.
    #[test]
    fn what_is_hidden_takes_no_room() {
        let queues = Queues::default();
        (0..5).for_each(|at| queues.keep(HERE, search(at, true, Some([5; 32]))));
        (5..500).for_each(|at| queues.keep(HERE, search(at, false, None)));
        (500..600).for_each(|at| queues.keep(HERE, search(at, true, Some([6; 32]))));
        let now = Timestamp::from_micros(1_000);
        assert_eq!(kept(&queues, now, |one| one.round == Some([5; 32])), (0..5).collect::<Vec<_>>());
        assert_eq!(kept(&queues, now, |one| !one.open).len(), KEPT_MAX);
        assert!(kept(&queues, now, |_| true).len() <= QUEUE_MAX);
    }

    /// No more queues are kept than fit; the one that was quiet longest goes.
    #[test]
    fn the_quietest_queue_goes() {
        let queues = Queues::default();
        for at in 0..=QUEUES_MAX as u64 {
            queues.keep(sha256(&at.to_be_bytes()), search(at, true, None));
        }
        assert!(queues.of(AGENT, sha256(&0_u64.to_be_bytes()), Timestamp::from_micros(9)).is_empty());
        assert_eq!(queues.0.lock().len(), QUEUES_MAX);
    }
}
