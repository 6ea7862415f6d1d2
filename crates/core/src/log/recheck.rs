//! What a second look at a version found.

use crate::item::words;

words! {
    /// What was found when a version was verified again (GOV-11.4).
    Recheck {
        /// Its evidence still bears it out, and nothing speaks against it.
        0 BorneOut = "borne_out",
        /// Its evidence was enough and has grown too old: the sources should be read again.
        1 EvidenceAged = "evidence_aged",
        /// Something it rests on was retracted, or is in quarantine.
        2 SourceWithdrawn = "source_withdrawn",
        /// What it cites no longer says it.
        3 SupportLost = "support_lost",
        /// Something that was committed later and is as well founded, or a knowledge base, says otherwise.
        4 Contradicted = "contradicted",
        /// It was flagged and nothing speaks against it any more, but its evidence never bore it out either.
        5 Unopposed = "unopposed",
    }
}

impl Recheck {
    /// Whether it stands.
    #[must_use]
    pub const fn is_passed(self) -> bool {
        matches!(self, Self::BorneOut | Self::Unopposed)
    }

    /// Whether the write proved correct; nothing where it was never proved, or where only time has passed (D17).
    #[must_use]
    pub const fn proves(self) -> Option<bool> {
        match self {
            Self::BorneOut => Some(true),
            Self::EvidenceAged | Self::Unopposed => None,
            Self::SourceWithdrawn | Self::SupportLost | Self::Contradicted => Some(false),
        }
    }
}
