//! What became of writes: the gate's memory of them (CAL-30).

use super::number;
use crate::log::{Lsn, MemoryKind, Party};
use crate::trust::Past;
use std::collections::BTreeMap;

/// Writes that are remembered of one party in one space.
const WRITES_MAX: usize = 512;
/// Parties that are remembered in one space; beyond that the one that was quiet longest is forgotten.
const PARTIES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Tried {
    #[n(0)]
    lsn: Lsn,
    /// Its trust at the commit; nothing if it was kept apart.
    #[n(1)]
    rho: Option<f64>,
}

/// The writes of one space by kind and party, oldest first; of parties that committed something.
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub(super) struct Pasts(#[n(0)] BTreeMap<(MemoryKind, Party), Vec<Tried>>);

impl Pasts {
    pub(super) fn commit(&mut self, place: (MemoryKind, Party), rho: f64, lsn: Lsn) {
        remember(self.0.entry(place).or_default(), Tried { lsn, rho: Some(rho) });
        if self.0.len() > PARTIES_MAX {
            let last = |past: &Vec<Tried>| past.last().map(|one| one.lsn);
            let quiet = self.0.iter().min_by_key(|(_, past)| last(past)).map(|(place, _)| *place);
            quiet.and_then(|place| self.0.remove(&place));
        }
    }

    /// Who committed nothing yet has no part in what is usual, however often it tries.
    pub(super) fn keep_apart(&mut self, place: (MemoryKind, Party), lsn: Lsn) {
        if let Some(past) = self.0.get_mut(&place) {
            remember(past, Tried { lsn, rho: None });
        }
    }

    /// All of one kind, with where each stands in the log.
    pub(super) fn of(&self, kind: MemoryKind) -> impl Iterator<Item = (Lsn, Past)> {
        self.0.iter().filter(move |((one, _), _)| *one == kind).flat_map(|((_, party), past)| {
            past.iter().map(|tried| (tried.lsn, Past { party: number(*party), rho: tried.rho }))
        })
    }
}

fn remember(past: &mut Vec<Tried>, tried: Tried) {
    past.push(tried);
    if past.len() > WRITES_MAX {
        past.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserId;

    fn place(user: u8) -> (MemoryKind, Party) {
        (MemoryKind::Items, Party::User(UserId::from_bytes([user; 16])))
    }

    fn of(pasts: &Pasts, user: u8) -> Vec<Option<f64>> {
        let party = number(place(user).1);
        let all = pasts.of(MemoryKind::Items);
        all.filter(|(_, past)| past.party == party).map(|(_, past)| past.rho).collect()
    }

    /// CAL-30: what is kept apart is remembered of who committed something before; who did not pushes nobody out.
    #[test]
    fn who_only_tries_has_no_part() {
        let mut pasts = Pasts::default();
        pasts.keep_apart(place(1), Lsn::new(1));
        pasts.commit(place(1), 0.7, Lsn::new(2));
        for user in 2..=255 {
            pasts.keep_apart(place(user), Lsn::new(u64::from(user) + 1));
        }
        pasts.keep_apart(place(1), Lsn::new(300));
        assert_eq!(of(&pasts, 1), [Some(0.7), None]);
        assert_eq!(pasts.of(MemoryKind::Items).count(), 2);
        assert_eq!(pasts.of(MemoryKind::Relations).count(), 0);
    }

    #[test]
    fn no_more_is_kept_than_counts() {
        let mut pasts = Pasts::default();
        for user in 0..=255 {
            pasts.commit(place(user), 0.5, Lsn::new(u64::from(user) + 1));
        }
        assert!(of(&pasts, 0).is_empty() && !of(&pasts, 255).is_empty());
        assert_eq!(pasts.of(MemoryKind::Items).count(), PARTIES_MAX);
        for lsn in 300..1_300 {
            pasts.keep_apart(place(255), Lsn::new(lsn));
        }
        pasts.commit(place(255), 0.6, Lsn::new(1_300));
        let kept = of(&pasts, 255);
        assert_eq!((kept.len(), kept.last().copied().flatten()), (WRITES_MAX, Some(0.6)));
    }
}
