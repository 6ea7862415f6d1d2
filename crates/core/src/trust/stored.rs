//! What an item's trust is made of, and what changes it (CAL-32 to 34).
//!
//! An item keeps how much spoke for it out of how much spoke at all. Without evidence its trust is one half, not one; what is
//! old fades when more comes, because no more than twenty pieces are kept.

use super::{NEUTRAL, ODD};

/// More evidence than this is scaled back to it.
const COUNT_MAX: f64 = 20.0;
/// From here on trust is medium, and high.
const BANDS: (f64, f64) = (0.4, 0.7);
/// The evidence and the parties that it takes to promote.
const PROMOTES: (f64, usize) = (3.0, 2);
/// The evidence that it takes to demote.
const DEMOTES: f64 = 5.0;
/// How far beyond the gate evidence has to speak to undo what the gate decided, either way: the gate moves a little all the time, and
/// what lies at it would pass in some run (ADR 15).
const CLEAR: f64 = 0.05;
/// Who is answered this much alike, with something and without it, loses next to nothing by it (ADR 17).
const ALIKE: f64 = 0.95;
/// How much it speaks how something lies, a confirmed contradiction, and a person.
const DENSITY: f64 = 1.0;
const CONTRADICTION: f64 = 2.0;
const DECISION: f64 = 5.0;
/// Sums of weights are compared with this to spare.
const SLACK: f64 = 1e-9;

/// The evidence on one item.
#[derive(Debug, Clone, Copy, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
pub struct Stored {
    /// How much spoke for it.
    #[n(0)]
    pub evidence: f64,
    /// How much spoke at all.
    #[n(1)]
    pub count: f64,
}

/// A staged item, and what it has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// The evidence on it.
    pub stored: Stored,
    /// How alike those were answered, with it and without it, whom it comes near.
    pub agreed: Stored,
    /// How little it crowds what is known.
    pub detect: f64,
    /// How many parties the evidence comes from.
    pub parties: usize,
    /// What it has to reach by now.
    pub threshold: f64,
}

/// Trust as everyone may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// More spoke against it than for it.
    Low,
    /// Little is known, or it is mixed.
    Medium,
    /// Much spoke for it.
    High,
}

impl Band {
    /// The word for it, the same everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The trust that stands for all of it, where the exact one is not told (CAL-41).
    #[must_use]
    pub const fn typical(self) -> f64 {
        match self {
            Self::Low => 0.25,
            Self::Medium => NEUTRAL,
            Self::High => 0.85,
        }
    }
}

impl Stored {
    /// Trust: what spoke for it, with one voice for and one against it added.
    #[must_use]
    pub const fn rho(self) -> f64 {
        let Self { evidence, count } = self.bounded();
        (evidence + 1.0) / (count + 2.0)
    }

    /// With further evidence: its score between 0 and 1, and how much it counts.
    #[must_use]
    pub const fn with(self, score: f64, mass: f64) -> Self {
        let known = self.bounded();
        if !(mass > 0.0 && mass.is_finite()) || score.is_nan() {
            return known;
        }
        let evidence = known.evidence + mass * score.clamp(0.0, 1.0);
        Self { evidence, count: known.count + mass }.bounded()
    }

    /// The mean score of the evidence, if there is any.
    #[must_use]
    pub fn mean(self) -> Option<f64> {
        let Self { evidence, count } = self.bounded();
        (count > 0.0).then(|| evidence / count)
    }

    /// Its trust as everyone may see it.
    #[must_use]
    pub const fn band(self) -> Band {
        let rho = self.rho();
        if rho < BANDS.0 {
            Band::Low
        } else if rho < BANDS.1 {
            Band::Medium
        } else {
            Band::High
        }
    }

    /// No more than the most is kept; numbers that no evidence can have are none.
    const fn bounded(self) -> Self {
        let Self { evidence, count } = self;
        if !(count > 0.0 && count.is_finite() && evidence.is_finite()) {
            return Self { evidence: 0.0, count: 0.0 };
        }
        let evidence = evidence.clamp(0.0, count);
        if count <= COUNT_MAX {
            return Self { evidence, count };
        }
        Self { evidence: evidence / count * COUNT_MAX, count: COUNT_MAX }
    }
}

/// Whether a staged item may be committed: enough evidence from more than one party speaks for it, and it is not odd. If enough of those
/// whom it comes near are answered as before, it takes nobody's place, and reaching the gate is enough; if not, it has to clear it.
#[must_use]
pub fn promotes(waits: &Waiting) -> bool {
    let (count, parties_min) = PROMOTES;
    let enough = waits.stored.count + SLACK >= count && waits.parties >= parties_min;
    let takes_no_place = waits.agreed.count + SLACK >= count
        && waits.agreed.mean().is_some_and(|alike| alike + SLACK >= ALIKE);
    let bar = if takes_no_place { waits.threshold } else { waits.threshold + CLEAR };
    enough && waits.detect >= ODD && waits.stored.mean().is_some_and(|mean| mean + SLACK >= bar)
}

/// Whether a committed item has fallen below what is committed. It can still be read, at its weight.
#[must_use]
pub fn demotes(stored: Stored, threshold: f64) -> bool {
    stored.count + SLACK >= DEMOTES && stored.mean().is_some_and(|mean| mean < threshold - CLEAR)
}

/// What speaks for or against a stored item (CAL-33).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence {
    /// Fresh probes, with it and without it.
    Recalibrated {
        /// Its trust by them.
        score: f64,
        /// How many were informative, by weight.
        mass: f64,
    },
    /// How it lies among what is known, where no search says anything of it.
    Density {
        /// How little it crowds that.
        detect: f64,
    },
    /// Another party wrote the same.
    Corroborated {
        /// How credible that party is.
        weight: f64,
    },
    /// An agent said how it went with it.
    Outcome {
        /// Well.
        good: bool,
        /// How credible the agent is.
        weight: f64,
    },
    /// A contradiction was confirmed.
    Contradicted,
    /// A person decided.
    Decided {
        /// For it.
        yes: bool,
    },
}

impl Evidence {
    /// Its score, and how much it counts.
    #[must_use]
    pub const fn parts(self) -> (f64, f64) {
        match self {
            Self::Recalibrated { score, mass } => (score, mass),
            Self::Density { detect } => (detect.min(NEUTRAL), DENSITY),
            Self::Corroborated { weight } => (1.0, weight),
            Self::Outcome { good, weight } => (said(good), weight),
            Self::Contradicted => (0.0, CONTRADICTION),
            Self::Decided { yes } => (said(yes), DECISION),
        }
    }
}

const fn said(yes: bool) -> f64 {
    if yes { 1.0 } else { 0.0 }
}

/// What a commit of this trust starts with. While nobody knows what is usual, it starts with no more than one half.
pub(super) const fn at_commit(rho: f64, informative: f64, provisional: bool) -> Stored {
    let score = if provisional { rho.min(NEUTRAL) } else { rho };
    Stored { evidence: 0.0, count: 0.0 }.with(score, informative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(evidence: &[Evidence], from: Stored) -> Stored {
        evidence.iter().fold(from, |stored, one| {
            let (score, mass) = one.parts();
            stored.with(score, mass)
        })
    }

    /// CAL-32: no evidence is one half; a commit starts with its score.
    #[test]
    fn without_evidence_trust_is_a_half() {
        assert_eq!(Stored::default().rho(), 0.5);
        assert_eq!(Stored::default().mean(), None);
        assert_eq!(Stored::default().band(), Band::Medium);
        let committed = at_commit(0.8, 4.0, false);
        assert!((committed.rho() - 4.2 / 6.0).abs() < 1e-12);
        assert!((committed.mean().unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(at_commit(0.8, 4.0, true).rho(), 0.5);
        assert!(at_commit(0.3, 4.0, true).rho() < 0.5);
    }

    /// CAL-33: what speaks, and how much.
    #[test]
    fn evidence_has_its_mass() {
        let check = |one: Evidence, expected| assert_eq!(one.parts(), expected);
        check(Evidence::Recalibrated { score: 0.6, mass: 2.5 }, (0.6, 2.5));
        check(Evidence::Density { detect: 0.2 }, (0.2, 1.0));
        check(Evidence::Density { detect: 0.9 }, (0.5, 1.0));
        check(Evidence::Corroborated { weight: 0.7 }, (1.0, 0.7));
        check(Evidence::Outcome { good: true, weight: 0.7 }, (1.0, 0.7));
        check(Evidence::Outcome { good: false, weight: 0.7 }, (0.0, 0.7));
        check(Evidence::Contradicted, (0.0, 2.0));
        check(Evidence::Decided { yes: true }, (1.0, 5.0));
        check(Evidence::Decided { yes: false }, (0.0, 5.0));
    }

    /// CAL-33: beyond twenty the old fades, and the mean stays.
    #[test]
    fn old_evidence_fades() {
        let many = Stored::default().with(1.0, 10.0).with(0.0, 10.0).with(1.0, 20.0);
        assert_eq!(many.count, 20.0);
        assert!((many.evidence - 15.0).abs() < 1e-9);
    }

    /// CAL-34: three corroborations by two parties commit what was staged at .45, unless it is odd.
    #[test]
    fn corroboration_promotes() {
        let waits = |stored, threshold, detect, parties| {
            promotes(&Waiting { stored, agreed: Stored::default(), detect, parties, threshold })
        };
        let said = |times| vec![Evidence::Corroborated { weight: 1.0 }; times];
        let staged = at_commit(0.45, 5.0, false);
        assert!(!waits(staged, 0.5, 0.4, 2));
        let corroborated = all(&said(3), staged);
        assert!(waits(corroborated, 0.5, 0.4, 2));
        assert!(!waits(corroborated, 0.5, 0.4, 1));
        assert!(!waits(corroborated, 0.5, 0.19, 2));
        assert!(!waits(corroborated, 0.7, 0.4, 2));
        assert!(waits(all(&said(3), Stored::default()), 0.9, 0.2, 2));
        assert!(!waits(all(&said(2), Stored::default()), 0.9, 0.2, 2));
    }

    /// CAL-34: what lies at the gate stays where it is, on either side, unless it takes nobody's place: then reaching it is enough.
    #[test]
    fn the_gate_is_cleared_or_nobody_minds() {
        let at = |mean: f64| at_commit(mean, 8.0, false);
        let promotes = |mean, agreed| {
            promotes(&Waiting { stored: at(mean), agreed, detect: 0.4, parties: 2, threshold: 0.5 })
        };
        let one_look = Stored::default().with(1.0, 2.9);
        for mind in [Stored::default(), one_look, Stored::default().with(0.94, 8.0)] {
            assert!(!promotes(0.54, mind) && promotes(0.55, mind));
        }
        let nobody_minds = Stored::default().with(0.9, 2.0).with(1.0, 2.0);
        assert!(!promotes(0.49, nobody_minds) && promotes(0.5, nobody_minds));
        assert!(!demotes(at(0.46), 0.5) && demotes(at(0.44), 0.5));
    }

    /// CAL-34: enough evidence well below the gate demotes.
    #[test]
    fn evidence_against_it_demotes() {
        let committed = at_commit(0.6, 3.0, false);
        assert!(!demotes(committed, 0.9));
        let contradicted = all(&[Evidence::Contradicted], committed);
        assert!(demotes(contradicted, 0.5));
        assert!(!demotes(contradicted, 0.4));
        assert!(demotes(all(&[Evidence::Decided { yes: false }], Stored::default()), 0.35));
    }

    #[test]
    fn bands_begin_where_they_say() {
        let check = |evidence, count, expected: Band| assert_eq!(Stored { evidence, count }.band(), expected);
        check(0.0, 1.0, Band::Low);
        check(1.0, 3.0, Band::Medium);
        check(2.0, 2.0, Band::High);
        assert_eq!([Band::Low, Band::Medium, Band::High].map(Band::as_str), ["low", "medium", "high"]);
    }

    #[test]
    fn it_is_kept_as_an_array_of_two() {
        let stored = Stored { evidence: 1.5, count: 2.0 };
        let bytes = minicbor::to_vec(stored).unwrap();
        assert_eq!(bytes.first(), Some(&0x82));
        assert_eq!(minicbor::decode::<Stored>(&bytes).unwrap(), stored);
    }

    proptest! {
        /// CAL-32: whatever is stored and whatever comes, trust stays between 0 and 1, both excluded.
        #[test]
        fn trust_stays_a_share(
            evidence in prop::num::f64::ANY, count in prop::num::f64::ANY, score in prop::num::f64::ANY, mass in prop::num::f64::ANY,
        ) {
            let stored = Stored { evidence, count };
            for one in [stored, stored.with(score, mass)] {
                prop_assert!(one.rho() > 0.0 && one.rho() < 1.0);
                prop_assert!(one.mean().is_none_or(|mean| (0.0..=1.0).contains(&mean)));
            }
        }

        /// CAL-33: good evidence never lowers trust that is below it, and bad evidence never raises it.
        #[test]
        fn evidence_moves_trust_its_way(score in 0.0..1.0, count in 0.0..20.0, mass in 0.0..5.0) {
            let stored = Stored::default().with(score, count);
            prop_assert!(stored.with(1.0, mass).rho() >= stored.rho() - 1e-12);
            prop_assert!(stored.with(0.0, mass).rho() <= stored.rho() + 1e-12);
        }
    }
}
