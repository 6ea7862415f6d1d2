//! Pairs of user and agent whose writes are held or refused because they are unlike those before (AM-5).

use crate::id::{AgentId, UserId};
use crate::log::{Entry, Event, Lsn, PairHold};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// That the writes of a pair are held or refused.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct StandingHold {
    /// Whose writes, why and until when.
    #[n(0)]
    pub hold: PairHold,
    /// Since when.
    #[n(1)]
    pub since: Timestamp,
}

/// Every pair that is held.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct HoldsView {
    #[n(0)]
    holds: BTreeMap<(AgentId, UserId), StandingHold>,
    /// When somebody else last let an agent write again, for everybody (none) or for a user.
    #[n(1)]
    resumed: BTreeMap<(AgentId, Option<UserId>), Timestamp>,
    /// Where that was last.
    #[n(2)]
    last_resumed: Lsn,
    /// When the last hold on a pair ended or will end.
    #[n(3)]
    judged_from: BTreeMap<(AgentId, UserId), Timestamp>,
}

impl HoldsView {
    /// The hold on a pair at a time, if there is one.
    #[must_use]
    pub fn of(&self, user: UserId, agent: AgentId, now: Timestamp) -> Option<&StandingHold> {
        self.holds.get(&(agent, user)).filter(|standing| now < standing.hold.until)
    }

    /// The holds at a time.
    pub fn all(&self, now: Timestamp) -> impl Iterator<Item = &StandingHold> {
        self.holds.values().filter(move |standing| now < standing.hold.until)
    }

    /// When somebody else last let the writes of a pair pass again. What it wrote before counts for its reputation no more.
    #[must_use]
    pub fn resumed(&self, user: UserId, agent: AgentId) -> Option<Timestamp> {
        let of = |user| self.resumed.get(&(agent, user)).copied();
        of(None).max(of(Some(user)))
    }

    /// From when on the writes of a pair are judged anew: the end of its last hold.
    #[must_use]
    pub fn judged_from(&self, user: UserId, agent: AgentId) -> Timestamp {
        self.judged_from.get(&(agent, user)).copied().unwrap_or_default()
    }

    /// Where somebody else last let any pair go on.
    #[must_use]
    pub const fn last_resumed(&self) -> Lsn {
        self.last_resumed
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        // Every other event leaves the holds as they are.
        if let Event::PairHeld(hold) = &entry.event {
            self.holds.retain(|_, standing| entry.time < standing.hold.until);
            let standing = StandingHold { hold: hold.clone(), since: entry.time };
            self.holds.insert((hold.agent, hold.user), standing);
            self.judged_from.insert((hold.agent, hold.user), hold.until);
        } else if let Event::PairReleased(pair) = &entry.event {
            self.holds.remove(&(pair.agent, pair.user));
            self.judged_from.insert((pair.agent, pair.user), entry.time);
            // A user who ends a hold on their own writes does not thereby restore the reputation that others found wanting.
            if entry.actor.user != Some(pair.user) {
                self.resumed.insert((pair.agent, Some(pair.user)), entry.time);
                self.last_resumed = entry.lsn;
            }
        } else if let Event::AgentResumed { agent: resumed } = &entry.event {
            self.holds.retain(|(agent, _), _| agent != resumed);
            let ended = self.judged_from.iter_mut().filter(|((agent, _), _)| agent == resumed);
            ended.for_each(|(_, from)| *from = entry.time.min(*from));
            self.resumed.insert((*resumed, None), entry.time);
            self.last_resumed = entry.lsn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Actor, AnomalySignal, Lsn, PairAction, UserAgentPair};

    /// AM-5: a hold ends by itself, by its pair's release, and when its agent is resumed; other pairs are not concerned.
    #[test]
    fn a_hold_ends_by_itself_or_by_a_person() {
        let [ana, ben] = [1, 2].map(|byte| UserId::from_bytes([byte; 16]));
        let agent = AgentId::from_bytes([3; 16]);
        let at = Timestamp::from_micros;
        let mut view = HoldsView::default();
        let mut apply = |time: u64, event: Event| {
            view.apply(&Entry {
                lsn: Lsn::new(time),
                time: at(time),
                actor: Actor::SERVER,
                event,
                sealed: None,
            });
            [ana, ben].map(|user| view.of(user, agent, at(time)).map(|standing| standing.hold.reason()))
        };
        let held = |user, until| {
            let signals = vec![AnomalySignal::Burst, AnomalySignal::Contradictions];
            Event::PairHeld(PairHold { user, agent, action: PairAction::Hold, signals, until: at(until) })
        };
        let why = Some("burst and contradictions".to_owned());
        assert_eq!(apply(1, held(ana, 10)), [why.clone(), None]);
        assert_eq!(apply(2, held(ben, 20)), [why.clone(), why.clone()]);
        assert_eq!(apply(3, Event::PairReleased(UserAgentPair { user: ben, agent })), [why.clone(), None]);
        assert_eq!(apply(10, held(ben, 20)), [None, why]);
        assert_eq!(apply(11, Event::AgentResumed { agent }), [None, None]);
        let judged_from = [ana, ben].map(|user| view.judged_from(user, agent).as_micros());
        assert_eq!(judged_from, [10, 11], "by itself, and by a person");
    }
}
