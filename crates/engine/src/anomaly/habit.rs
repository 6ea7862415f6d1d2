//! What a pair usually does: its pace, and the topics of what it writes in one place.

use std::collections::{BTreeMap, HashMap, VecDeque};
use tabellion_core::canonical::sha256;
use tabellion_core::log::AnomalySignal;
use tabellion_core::text::words;
use tabellion_core::time::Timestamp;

/// Writes that are looked at together. A place in which fewer were made says nothing yet.
const RECENT: usize = 20;
/// So many of them may speak against what is known.
const AGAINST_MAX: usize = 6;
/// So many of them may speak against what other users share.
const AGAINST_OTHERS_MAX: usize = 4;
/// How far their topics may lie from those before, as a Jensen-Shannon divergence.
const DIVERGENCE_MAX: f64 = 0.6;
/// Writes in a place before it has topics.
const TOPICS_MIN: u64 = 100;
/// Writes in a place before it is measured how much its topics vary by themselves.
const VARIES_FROM: u64 = 20;
/// Classes that words fall into.
const CLASSES: usize = 1_024;
/// Writes a minute that are never a burst.
const BURST_MIN: f64 = 300.0;
/// Minutes with writes before a pair has a pace.
const MINUTES_MIN: u64 = 10;
/// How many standard deviations from what is usual are no chance.
const DEVIATIONS: f64 = 4.0;
/// Windows of writes before it is known how much the topics of a place vary by themselves.
const WINDOWS_MIN: u64 = 4;

/// The classes of the words of some texts, each word once a text.
pub(super) fn classes_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u16> {
    let class = |word: String| {
        let [first, second, ..] = sha256(word.as_bytes());
        u16::from_le_bytes([first, second]) % CLASSES as u16
    };
    texts.into_iter().flat_map(words).map(class).collect()
}

/// The minute of a moment.
pub(super) const fn minute_of(time: Timestamp) -> u64 {
    time.as_micros() / 60_000_000
}

/// Mean and deviation of what was seen.
#[derive(Default)]
struct Spread {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        (self.count, self.sum, self.squares) =
            (self.count + 1, self.sum + value, self.squares + value * value);
    }

    /// What lies beyond this is not like the rest.
    fn limit(&self) -> f64 {
        let count = self.count.max(1) as f64;
        let mean = self.sum / count;
        mean + DEVIATIONS * (self.squares / count - mean * mean).max(0.0).sqrt()
    }
}

/// How fast a pair writes, in all layers together.
#[derive(Default)]
pub(super) struct Habit {
    minute: (u64, u64),
    /// Writes in each minute that had some.
    paces: Spread,
    last: Timestamp,
}

impl Habit {
    /// The pace of these writes a minute.
    pub(super) fn of_minutes(minutes: &BTreeMap<u64, u64>) -> Self {
        let mut habit = Self::default();
        let mut all = minutes.iter().peekable();
        while let Some((minute, count)) = all.next() {
            if all.peek().is_none() {
                // The last one may still go on.
                habit.minute = (*minute, *count);
            } else {
                habit.paces.add(*count as f64);
            }
        }
        habit
    }

    /// Counts a write.
    pub(super) fn arrive(&mut self, now: Timestamp) {
        let minute = minute_of(now);
        if minute != self.minute.0 {
            if self.minute.1 > 0 {
                self.paces.add(self.minute.1 as f64);
            }
            self.minute = (minute, 0);
        }
        self.minute.1 += 1;
        self.last = now;
    }

    /// Whether this minute has far more writes than those before. A pair without a pace has no bursts.
    pub(super) fn is_burst(&self) -> bool {
        self.paces.count >= MINUTES_MIN && self.minute.1 as f64 > BURST_MIN.max(self.paces.limit())
    }

    /// When it last wrote.
    pub(super) const fn last(&self) -> Timestamp {
        self.last
    }
}

/// How often each class of words was met.
struct Topics {
    counts: Vec<u32>,
    words: u64,
    writes: u64,
}

impl Default for Topics {
    fn default() -> Self {
        Self { counts: vec![0; CLASSES], words: 0, writes: 0 }
    }
}

impl Topics {
    fn add(&mut self, classes: &[u16]) {
        self.writes += 1;
        for class in classes {
            if let Some(count) = self.counts.get_mut(usize::from(*class)) {
                *count += 1;
                self.words += 1;
            }
        }
    }

    /// How far some words lie from these topics: 0 for the same distribution, 1 for two that share nothing.
    fn divergence(&self, words: impl Iterator<Item = u16>) -> f64 {
        let mut counts: HashMap<u16, u64> = HashMap::new();
        words.for_each(|class| *counts.entry(class).or_default() += 1);
        let total = counts.values().sum::<u64>().max(1) as f64;
        let usual = self.words.max(1) as f64;
        let part = |p: f64, m: f64| if p > 0.0 { p * (p / m).log2() } else { 0.0 };
        // Classes that only the topics have add their whole share.
        let (mut sum, mut elsewhere) = (0.0, 1.0);
        for (class, count) in counts {
            let p = count as f64 / total;
            let q = self.counts.get(usize::from(class)).map_or(0.0, |count| f64::from(*count) / usual);
            let m = f64::midpoint(p, q);
            sum += part(p, m) + part(q, m);
            elsewhere -= q;
        }
        f64::midpoint(sum, elsewhere)
    }
}

/// What a write speaks against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Opposes {
    Nothing,
    /// What the same user wrote: a fact that changed, or a mistake.
    OwnUser,
    /// For others to see, what other users share.
    OtherUsers,
}

/// What a pair writes in one layer and namespace.
#[derive(Default)]
pub(super) struct PlaceHabit {
    /// The last writes: what each speaks against, and the classes of its words.
    recent: VecDeque<(Opposes, Vec<u16>)>,
    topics: Topics,
    /// How far each window of writes lay from the topics before it.
    divergences: Spread,
    last: Timestamp,
}

impl PlaceHabit {
    /// Counts an earlier write, as it is on the disk.
    pub(super) fn recount(&mut self, classes: Vec<u16>, opposes: Opposes) {
        self.push(opposes, classes);
        let _counted = self.is_full() && self.is_off_topic();
    }

    /// Takes in a write; says what of it and those just before is unlike what was written here earlier. The first writes in a
    /// place are like nothing and unlike nothing.
    pub(super) fn observe(
        &mut self,
        classes: Vec<u16>,
        opposes: Opposes,
        now: Timestamp,
    ) -> Vec<AnomalySignal> {
        self.last = now;
        self.push(opposes, classes);
        let mut signals = Vec::new();
        if self.is_full() && self.is_off_topic() {
            signals.push(AnomalySignal::TopicShift);
        }
        let count = |least: Opposes| self.recent.iter().filter(|(opposes, _)| *opposes >= least).count();
        // One's own facts change; to speak against what others know by the handful is a sign of its own, also of a newcomer.
        let against_others = count(Opposes::OtherUsers) > AGAINST_OTHERS_MAX;
        if against_others || (self.is_full() && count(Opposes::OwnUser) > AGAINST_MAX) {
            signals.push(AnomalySignal::Contradictions);
        }
        if against_others {
            signals.push(AnomalySignal::AgainstOthers);
        }
        signals
    }

    /// Whether enough was written here just now to judge by.
    pub(super) fn is_full(&self) -> bool {
        self.recent.len() == RECENT
    }

    /// When something was last written here.
    pub(super) const fn last(&self) -> Timestamp {
        self.last
    }

    /// Begins a new window; what is usual here stays known.
    pub(super) fn forget_recent(&mut self) {
        self.recent.clear();
    }

    fn push(&mut self, opposes: Opposes, classes: Vec<u16>) {
        self.recent.push_back((opposes, classes));
        if self.recent.len() > RECENT
            && let Some((_, classes)) = self.recent.pop_front()
        {
            self.topics.add(&classes);
        }
    }

    /// Whether the last writes are about something else. Where every write is about something else, there are no topics.
    fn is_off_topic(&mut self) -> bool {
        if self.topics.writes < VARIES_FROM {
            return false;
        }
        let words = self.recent.iter().flat_map(|(_, classes)| classes.iter().copied());
        let divergence = self.topics.divergence(words);
        let limit = DIVERGENCE_MAX.max(self.divergences.limit());
        let is_known = self.topics.writes >= TOPICS_MIN && self.divergences.count >= WINDOWS_MIN;
        if is_known && divergence > limit {
            return true;
        }
        if self.topics.writes.is_multiple_of(RECENT as u64) {
            self.divergences.add(divergence);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Vec<u16> {
        classes_of([text])
    }

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_micros(minute * 60_000_000)
    }

    fn signals(place: &mut PlaceHabit, writes: impl Iterator<Item = Vec<u16>>) -> Vec<AnomalySignal> {
        writes.flat_map(|words| place.observe(words, Opposes::Nothing, at(0))).collect()
    }

    /// AM-5, D17: more than 30% of twenty writes against what is known; fewer than twenty say nothing.
    #[test]
    fn contradictions_are_noticed_in_a_full_window() {
        let said = classes("the harbour is calm");
        for (every, at_write) in [(3, Some(19)), (1, Some(19)), (4, None)] {
            let mut place = PlaceHabit::default();
            let opposes = |number| if number % every == 0 { Opposes::OwnUser } else { Opposes::Nothing };
            let noticed = (0..200).position(|number| {
                place.observe(said.clone(), opposes(number), at(0)) == [AnomalySignal::Contradictions]
            });
            assert_eq!(noticed, at_write, "one in {every}");
        }
        let mut place = PlaceHabit::default();
        let both = [AnomalySignal::Contradictions, AnomalySignal::AgainstOthers];
        let noticed = (0..20).position(|_| place.observe(said.clone(), Opposes::OtherUsers, at(0)) == both);
        assert_eq!(noticed, Some(4), "what others share is not contradicted five times by chance");
    }

    /// AM-5, D17: a pair that has a pace and leaves it by far; after a restart the same.
    #[test]
    fn bursts_are_noticed_only_against_a_pace() {
        let mut habit = Habit::default();
        (0..1_000).for_each(|_| habit.arrive(at(0)));
        assert!(!habit.is_burst(), "no pace yet");
        let counted: BTreeMap<u64, u64> = (0..12).map(|minute| (minute, 10)).collect();
        let mut lived = Habit::default();
        (0..120).for_each(|number| lived.arrive(at(number / 10)));
        for mut habit in [lived, Habit::of_minutes(&counted)] {
            (0..300).for_each(|_| habit.arrive(at(20)));
            assert!(!habit.is_burst());
            habit.arrive(at(20));
            assert!(habit.is_burst());
        }
    }

    /// AM-5, D17: twenty writes about something else than a hundred before, also counted from the log; never the first writes
    /// of a place.
    #[test]
    fn another_topic_is_noticed() {
        let usual = classes("the harbour is calm and the ferries sail");
        let other = classes("kidney dialysis dosage protocol");
        let (mut lived, mut counted) = (PlaceHabit::default(), PlaceHabit::default());
        assert_eq!(signals(&mut lived, (0..130).map(|_| usual.clone())), []);
        (0..130).for_each(|_| counted.recount(usual.clone(), Opposes::Nothing));
        for mut place in [lived, counted] {
            let found = signals(&mut place, (0..40).map(|_| other.clone()));
            assert_eq!(found.first(), Some(&AnomalySignal::TopicShift));
        }
        let mut fresh = PlaceHabit::default();
        assert_eq!(signals(&mut fresh, (0..60).map(|_| usual.clone())), []);
        assert_eq!(signals(&mut fresh, (0..30).map(|_| other.clone())), []);
    }

    /// D17: where every write is about something new, that is usual.
    #[test]
    fn ever_new_topics_are_no_other_topic() {
        let mut place = PlaceHabit::default();
        let new = |number: u64| classes(&format!("w{number}a w{number}b w{number}c w{number}d w{number}e"));
        assert_eq!(signals(&mut place, (0..3_000).map(|number| new(number))), []);
    }
}
