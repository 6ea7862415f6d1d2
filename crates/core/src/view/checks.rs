//! What became of versions when they were verified again, and how it went when others used them: which are flagged for a person
//! (GOV-11.4, 11.10), and which proved correct (D17).

use crate::id::{AgentId, VersionId};
use crate::log::{Entry, Event, Lsn, Recheck};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The latest look at a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Check {
    /// What was found.
    #[n(0)]
    pub finding: Recheck,
    /// Where that is recorded.
    #[n(1)]
    pub lsn: Lsn,
    /// When.
    #[n(2)]
    pub time: Timestamp,
}

/// The latest look at each version that was looked at again.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct ChecksView {
    #[n(0)]
    checks: BTreeMap<VersionId, Check>,
    #[n(1)]
    last: Lsn,
    /// Which agents reported of a version how it went with it, and whether that was well. The first word of each counts.
    #[n(2)]
    outcomes: BTreeMap<VersionId, BTreeMap<AgentId, bool>>,
}

impl ChecksView {
    /// What was last found of a version.
    #[must_use]
    pub fn of(&self, version: VersionId) -> Option<&Check> {
        self.checks.get(&version)
    }

    /// The versions that did not stand when they were last looked at.
    pub fn flagged(&self) -> impl Iterator<Item = (VersionId, &Check)> {
        self.checks
            .iter()
            .filter(|(_, check)| !check.finding.is_passed())
            .map(|(version, check)| (*version, check))
    }

    /// Where the last look, or the last outcome, is recorded.
    #[must_use]
    pub const fn last(&self) -> Lsn {
        self.last
    }

    /// Whether a version proved correct when others used it; nothing if nobody said, or as many say so as say otherwise.
    #[must_use]
    pub fn proved_in_use(&self, version: VersionId) -> Option<bool> {
        let said = self.outcomes.get(&version)?;
        let good = said.values().filter(|good| **good).count();
        let bad = said.len() - good;
        (good != bad).then_some(good > bad)
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        if let (Event::OutcomeReported(reported), Some(agent)) = (&entry.event, entry.actor.agent) {
            for version in &reported.versions {
                self.outcomes.entry(*version).or_default().entry(agent).or_insert(reported.good);
            }
            self.last = entry.lsn;
        }
        if let Event::ItemReverified { version, finding, .. } = entry.event {
            self.checks.insert(version, Check { finding, lsn: entry.lsn, time: entry.time });
            self.last = entry.lsn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ItemId;
    use crate::log::Actor;

    /// GOV-11.4: the latest look counts, and only what did not stand is flagged.
    #[test]
    fn the_latest_look_counts() {
        let version = VersionId::from_bytes([4; 16]);
        let mut view = ChecksView::default();
        let mut look = |lsn: u64, finding: Recheck| {
            let event = Event::ItemReverified { item: ItemId::from_bytes([3; 16]), version, finding };
            let (lsn, time) = (Lsn::new(lsn), Timestamp::from_micros(lsn));
            view.apply(&Entry { lsn, time, actor: Actor::SERVER, event, sealed: None });
            view.flagged().map(|(_, check)| check.finding).collect::<Vec<_>>()
        };
        assert_eq!(look(1, Recheck::SourceWithdrawn), [Recheck::SourceWithdrawn]);
        assert_eq!(look(2, Recheck::EvidenceAged), [Recheck::EvidenceAged]);
        assert_eq!(look(3, Recheck::BorneOut), []);
        assert_eq!((view.last(), view.of(version).unwrap().lsn), (Lsn::new(3), Lsn::new(3)));
    }
}
