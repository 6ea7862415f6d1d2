//! What somebody is cleared for: how secret it may be, and which domains it may be of (GOV-8.7, 8.3).
//!
//! Clearance is held by roles and only takes away: it is asked about nothing but what the graphs admit.

use crate::item::{Classification, Secrecy};
use std::collections::BTreeSet;

/// What somebody is cleared for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clearance {
    /// Nothing more secret than this.
    pub level: Classification,
    /// Only these domains; none for all of them.
    pub domains: Option<BTreeSet<String>>,
}

impl Clearance {
    /// What several roles clear for together: the highest level, and the domains of all that name any.
    pub fn of<'a>(roles: impl Iterator<Item = (Option<Classification>, &'a BTreeSet<String>)>) -> Self {
        let (mut level, mut domains) = (None, BTreeSet::new());
        for (named, of) in roles {
            level = level.max(named);
            domains.extend(of.iter().cloned());
        }
        Self { level: level.unwrap_or_default(), domains: (!domains.is_empty()).then_some(domains) }
    }

    /// Whether what is this secret may be read.
    #[must_use]
    pub fn covers(&self, secrecy: &Secrecy) -> bool {
        secrecy.classification <= self.level
            && self.domains.as_ref().is_none_or(|domains| secrecy.domains.is_subset(domains))
    }

    /// Whether it may be written: a specialist writes of its own domains alone, and says of which (GOV-8.3).
    #[must_use]
    pub fn lets_write(&self, secrecy: &Secrecy) -> bool {
        self.covers(secrecy) && (self.domains.is_none() || !secrecy.domains.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn secrecy(classification: Classification, domains: &[&str]) -> Secrecy {
        Secrecy { classification, domains: set(domains) }
    }

    /// GOV-8.7: classification <= clearance and domain(m) subset of domains(a), each cell both ways.
    #[test]
    fn level_and_domains_must_both_do() {
        for (&level, &classification) in
            Classification::ALL.iter().flat_map(|a| Classification::ALL.iter().map(move |b| (a, b)))
        {
            let clearance = Clearance { level, domains: None };
            assert_eq!(clearance.covers(&secrecy(classification, &["any"])), classification <= level);
        }
        let medical = Clearance { level: Classification::Internal, domains: Some(set(&["medical", "care"])) };
        let reads = |domains: &[&str]| medical.covers(&secrecy(Classification::Internal, domains));
        assert!(reads(&[]) && reads(&["medical"]) && reads(&["care", "medical"]));
        assert!(!reads(&["legal"]) && !reads(&["medical", "legal"]));
    }

    /// GOV-8.3: who is specialised in medicine writes of medicine only.
    #[test]
    fn a_specialist_writes_of_its_own_domains() {
        let medical = Clearance { level: Classification::Internal, domains: Some(set(&["medical"])) };
        let writes = |domains: &[&str]| medical.lets_write(&secrecy(Classification::Internal, domains));
        assert!(writes(&["medical"]));
        assert!(!writes(&[]) && !writes(&["legal"]) && !writes(&["medical", "legal"]));
        assert!(Clearance::default().lets_write(&secrecy(Classification::Internal, &["legal"])));
    }

    proptest! {
        /// GOV-8.7: one more role never takes a level away; what is joined is seen only by who sees both parts.
        #[test]
        fn roles_add_up(levels in prop::collection::vec(0usize..4, 0..4), a in 0usize..4, b in 0usize..4) {
            let none = BTreeSet::new();
            let named = |count: usize| levels[..count].iter().map(|level| (Some(Classification::ALL[*level]), &none));
            for count in 0..levels.len() {
                let (fewer, more) = (Clearance::of(named(count)), Clearance::of(named(count + 1)));
                prop_assert!(count == 0 || fewer.level <= more.level);
            }
            let (one, two) = (secrecy(Classification::ALL[a], &["x"]), secrecy(Classification::ALL[b], &["y"]));
            let mut both = one.clone();
            both.join(&two);
            for level in Classification::ALL {
                for domains in [None, Some(set(&["x"])), Some(set(&["x", "y"]))] {
                    let clearance = Clearance { level: *level, domains };
                    prop_assert_eq!(clearance.covers(&both), clearance.covers(&one) && clearance.covers(&two));
                }
            }
        }
    }
}
