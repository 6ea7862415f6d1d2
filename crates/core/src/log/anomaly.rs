//! A pair of user and agent whose writes are unlike those before (AM-5).

use crate::id::{AgentId, UserId, VersionId};
use crate::item::words;
use crate::time::Timestamp;

words! {
    /// What is unlike before. Each may happen to anybody; two at once are an anomaly.
    AnomalySignal {
        /// Far more writes in a minute than ever before.
        0 Burst = "burst",
        /// Other topics than ever before.
        1 TopicShift = "topic shift",
        /// Many writes against what is known.
        2 Contradictions = "contradictions",
        /// Many of them against what other users share.
        3 AgainstOthers = "many of them against what others share",
    }
}

words! {
    /// What becomes of the writes of such a pair.
    PairAction {
        /// Each waits for a person.
        0 Hold = "held",
        /// They are refused.
        1 Suspend = "suspended",
    }
}

/// That writes of a pair are held or refused until a time, or until somebody resumes it.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct PairHold {
    /// The user.
    #[n(0)]
    pub user: UserId,
    /// The agent that writes for them.
    #[n(1)]
    pub agent: AgentId,
    /// What becomes of its writes.
    #[n(2)]
    pub action: PairAction,
    /// Why.
    #[n(3)]
    pub signals: Vec<AnomalySignal>,
    /// When it ends by itself.
    #[n(4)]
    pub until: Timestamp,
}

/// A user and the agent acting for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct UserAgentPair {
    /// The user.
    #[n(0)]
    pub user: UserId,
    /// The agent.
    #[n(1)]
    pub agent: AgentId,
}

/// How it went with what others wrote, as somebody reported.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct ReportedOutcome {
    /// What was used.
    #[n(0)]
    pub versions: Vec<VersionId>,
    /// Whether it went well.
    #[n(1)]
    pub good: bool,
}

impl PairHold {
    /// Why, in words: `burst and contradictions`.
    #[must_use]
    pub fn reason(&self) -> String {
        self.signals.iter().map(|signal| signal.as_str()).collect::<Vec<_>>().join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Event;

    /// The log is appended to for ever, so an event keeps its number and its form.
    #[test]
    fn events_of_pairs_and_outcomes_keep_their_numbers() {
        let (user, agent) = (UserId::from_bytes([1; 16]), AgentId::from_bytes([2; 16]));
        let signals = vec![AnomalySignal::TopicShift, AnomalySignal::Contradictions];
        let until = Timestamp::from_micros(7);
        let hold = PairHold { user, agent, action: PairAction::Suspend, signals, until };
        assert_eq!(hold.reason(), "topic shift and contradictions");
        let versions = vec![VersionId::from_bytes([3; 16])];
        for (number, event) in [
            (29, Event::PairHeld(hold)),
            (30, Event::PairReleased(UserAgentPair { user, agent })),
            (31, Event::OutcomeReported(ReportedOutcome { versions, good: true })),
        ] {
            let mut bytes = Vec::new();
            minicbor::encode(&event, &mut bytes).unwrap();
            let mut decoder = minicbor::Decoder::new(&bytes);
            assert_eq!((decoder.array().unwrap(), decoder.u32().unwrap()), (Some(2), number));
            assert_eq!(minicbor::decode::<Event>(&bytes).unwrap(), event);
        }
    }
}
