//! How strict the write path is: three built-in policies, and what each asks of each layer.

use crate::item::{Layer, words};
use crate::time::Period;

words! {
    /// A built-in write policy. A write may ask for a stricter one than its tenant's, never for a laxer one.
    #[derive(Default)]
    Strictness {
        /// For one person: episodic writes pass schema and deduplication by content and by triple; a newer statement replaces
        /// the user's own, other contradictions are shown to readers.
        0 Open = "open",
        /// The default: canonical layers in full; episodic writes are weighed rather than stopped.
        #[default]
        1 Standard = "standard",
        /// Every rule stops.
        2 Strict = "strict",
    }
}

/// What a finding leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// Nobody looks.
    Off,
    /// It is recorded with the item and lowers how far it counts.
    Advises,
    /// It stops the write, or sends it to a person.
    Stops,
}

/// What a policy asks of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Evidence and its support.
    pub factual: Force,
    /// What is known and speaks against it.
    pub contradiction: Force,
    /// Whether it is known already.
    pub dedup: Force,
    /// Risk tiers: `Advises` asks a person only from high risk on.
    pub risk: Force,
    /// Rates and budgets.
    pub flow: Force,
}

impl Strictness {
    /// What this policy asks of a layer.
    #[must_use]
    pub const fn rules(self, layer: Layer) -> Rules {
        use Force::{Advises, Off, Stops};
        match (layer, self) {
            (Layer::Working | Layer::Session, Self::Open) => Rules::all(Off),
            (Layer::Working | Layer::Session, _) => Rules { flow: Stops, ..Rules::all(Off) },
            (Layer::Episodic, Self::Open) => Rules { factual: Advises, dedup: Stops, ..Rules::all(Off) },
            (Layer::Episodic, Self::Standard) => {
                Rules { factual: Advises, risk: Advises, ..Rules::all(Stops) }
            }
            (Layer::Episodic, Self::Strict) | (Layer::Semantic | Layer::Procedural, _) => Rules::all(Stops),
        }
    }
}

impl Strictness {
    /// How long an item of a layer lives under this policy unless it says otherwise (AM-1).
    #[must_use]
    pub const fn default_ttl(self, layer: Layer) -> Option<Period> {
        match (layer, self) {
            (Layer::Episodic, Self::Open | Self::Standard) => None,
            (_, _) => layer.default_ttl(),
        }
    }
}

impl Rules {
    const fn all(force: Force) -> Self {
        Self { factual: force, contradiction: force, dedup: force, risk: force, flow: force }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-1.4: working memory is free, a session needs its schema only, the rest meets every gate; canonical layers do under
    /// every policy.
    #[test]
    fn canonical_layers_are_never_laxer() {
        for strictness in Strictness::ALL {
            assert_eq!(strictness.rules(Layer::Semantic), Rules::all(Force::Stops));
            assert_eq!(strictness.rules(Layer::Procedural), Rules::all(Force::Stops));
            assert_eq!(strictness.rules(Layer::Session).factual, Force::Off);
        }
        assert_eq!(Strictness::Strict.rules(Layer::Episodic), Rules::all(Force::Stops));
        assert_eq!(Strictness::Standard.rules(Layer::Episodic).contradiction, Force::Stops);
        assert_eq!(Strictness::Open.rules(Layer::Episodic).contradiction, Force::Off);
        assert!(Strictness::Open < Strictness::Strict);
    }
}
