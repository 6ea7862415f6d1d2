//! Agents that behave unlike themselves: a burst of writes, many that speak against what is known, another topic than ever
//! (GOV-11.7, 11.9, D17). Their writes are suspended until a person has looked.

use crate::sequencer::{Proposal, Touch};
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use tabellion_core::claim::Claim;
use tabellion_core::id::AgentId;
use tabellion_core::log::{Actor, Event, Payload};
use tabellion_core::time::Timestamp;

/// Writes that are looked at together.
const RECENT: usize = 20;
/// The share of them that may speak against what is known.
const AGAINST_MAX: f64 = 0.3;
/// How far their topics may lie from the agent's own, as a Jensen-Shannon divergence.
const DIVERGENCE_MAX: f64 = 0.6;
/// Writes before an agent has topics of its own.
const TOPICS_MIN: u64 = 200;
/// Classes that words fall into.
const CLASSES: usize = 1_024;
/// Writes a minute that are never a burst.
const BURST_MIN: f64 = 300.0;
/// Minutes with writes before an agent has a pace of its own.
const MINUTES_MIN: u64 = 10;

/// How many standard deviations from what is usual are no chance.
const DEVIATIONS: f64 = 4.0;
/// Windows of writes before it is known how much the agent's topics vary by themselves.
const WINDOWS_MIN: u64 = 4;

/// What agents usually do.
#[derive(Default)]
pub(crate) struct Habits(Mutex<HashMap<AgentId, Habit>>);

#[derive(Default)]
struct Habit {
    recent: VecDeque<(bool, Vec<u16>)>,
    topics: Topics,
    /// How far each window of writes lay from the topics before it.
    divergences: Spread,
    minute: (u64, u64),
    /// Writes in each minute that had some.
    paces: Spread,
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

/// How often each class of words was met.
struct Topics {
    counts: Vec<u64>,
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
            let q = self.counts.get(usize::from(class)).map_or(0.0, |count| *count as f64 / usual);
            let m = f64::midpoint(p, q);
            sum += part(p, m) + part(q, m);
            elsewhere -= q;
        }
        f64::midpoint(sum, elsewhere)
    }
}

impl Habit {
    /// Takes in a write; says what is unlike the agent, if anything is.
    fn note(&mut self, claim: &Claim, against: bool, now: Timestamp) -> Option<&'static str> {
        let burst = self.is_burst(now);
        // The lowest bits of a key are its weight, the same for most words.
        let classes: Vec<u16> = claim.keys().map(|key| ((key >> 2) % CLASSES as u32) as u16).collect();
        self.recent.push_back((against, classes));
        if self.recent.len() > RECENT
            && let Some((_, classes)) = self.recent.pop_front()
        {
            self.topics.add(&classes);
        }
        let full = self.recent.len() == RECENT;
        let opposed = self.recent.iter().filter(|(against, _)| *against).count() as f64 / RECENT as f64;
        match () {
            () if burst => Some("it writes far faster than it ever did"),
            () if opposed > AGAINST_MAX => Some("many of its writes speak against what is known"),
            () if full && self.is_off_topic() => Some("it writes about something else than it ever did"),
            () => None,
        }
    }

    /// Whether its last writes are about something else. An agent that always writes about something else has no topics.
    fn is_off_topic(&mut self) -> bool {
        if self.topics.writes < TOPICS_MIN / 2 {
            return false;
        }
        let words = self.recent.iter().flat_map(|(_, classes)| classes.iter().copied());
        let divergence = self.topics.divergence(words);
        let limit = DIVERGENCE_MAX.max(self.divergences.limit());
        let known = self.topics.writes >= TOPICS_MIN && self.divergences.count >= WINDOWS_MIN;
        if known && divergence > limit {
            return true;
        }
        if self.topics.writes.is_multiple_of(RECENT as u64) {
            self.divergences.add(divergence);
        }
        false
    }

    fn is_burst(&mut self, now: Timestamp) -> bool {
        let minute = now.as_micros() / 60_000_000;
        if minute != self.minute.0 {
            if self.minute.1 > 0 {
                self.paces.add(self.minute.1 as f64);
            }
            self.minute = (minute, 0);
        }
        self.minute.1 += 1;
        self.paces.count >= MINUTES_MIN && self.minute.1 as f64 > BURST_MIN.max(self.paces.limit())
    }
}

/// Takes in a write of an agent, and suspends the agent if it is unlike itself.
pub(crate) async fn watch(tenant: &Tenant, agent: AgentId, claim: &Claim, against: bool) {
    let unlike = {
        let mut habits = tenant.habits.0.lock();
        habits.entry(agent).or_default().note(claim, against, tenant.now())
    };
    let Some(why) = unlike else { return };
    tenant.habits.0.lock().remove(&agent);
    let suspended = async {
        let event = Event::AgentSuspended { agent };
        let draft = tenant.draft(Actor::SERVER, event, Some(&Payload::Reason(why.to_owned()))).ok()?;
        let trail = tenant.server_row("suspend_agent", "ok", vec![agent.to_string()]);
        let touches = vec![Touch::Name("agent", agent.to_string())];
        let proposal = Proposal { drafts: vec![draft], touches, check: Box::new(|_, _| Ok(())), trail };
        tenant.sequencer.propose(proposal).await.ok()
    };
    if suspended.await.is_some() {
        tracing::warn!(%agent, why, "writes of an agent are suspended");
        metrics::counter!("tabellion_agents_suspended_total").increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::item::Content;
    use tabellion_core::text::Analyser;

    fn claim(text: &str) -> Claim {
        let content = Content::plain("note", text);
        Claim::of(&content, &mut Analyser::default())
    }

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_micros(minute * 60_000_000)
    }

    /// GOV-11.9, D17: more than 30% of twenty writes against what is known, be they the first.
    #[test]
    fn contradictions_are_noticed() {
        let said = claim("the harbour is calm");
        for (every, at_write) in [(3, Some(18)), (1, Some(6)), (4, None)] {
            let mut habit = Habit::default();
            let noticed = (0..200).position(|number| habit.note(&said, number % every == 0, at(1)).is_some());
            assert_eq!(noticed, at_write, "one in {every}");
        }
    }

    /// GOV-11.7, D17: an agent that has a pace and leaves it by far.
    #[test]
    fn bursts_are_noticed_only_against_a_pace() {
        let mut habit = Habit::default();
        let said = claim("the harbour is calm");
        assert!((0..1_000).all(|_| habit.note(&said, false, at(0)).is_none()), "no pace yet");
        let mut habit = Habit::default();
        for minute in 0..12 {
            assert!((0..10).all(|_| habit.note(&said, false, at(minute)).is_none()));
        }
        assert!((0..300).all(|_| habit.note(&said, false, at(20)).is_none()));
        assert!(habit.note(&said, false, at(20)).is_some());
    }

    /// GOV-11.7, D17: twenty writes about something else than two hundred before.
    #[test]
    fn another_topic_is_noticed() {
        let mut habit = Habit::default();
        let (usual, other) =
            (claim("the harbour is calm and the ferries sail"), claim("kidney dialysis dosage protocol"));
        assert!((0..230).all(|number| habit.note(&usual, false, at(number)).is_none()));
        assert!((0..40).any(|number| habit.note(&other, false, at(300 + number)).is_some()));
    }

    /// D17: an agent whose every write is about something new does so all the time, which is like itself.
    #[test]
    fn ever_new_topics_are_no_other_topic() {
        let mut habit = Habit::default();
        let new = |number: u64| claim(&format!("w{number}a w{number}b w{number}c w{number}d w{number}e"));
        assert!((0..3_000).all(|number| habit.note(&new(number), false, at(number)).is_none()));
    }
}
