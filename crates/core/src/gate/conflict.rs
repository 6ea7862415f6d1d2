//! The words for what becomes of a write that contradicts something known (AM-3).

use crate::item::words;

words! {
    /// What becomes of a write that contradicts something known.
    OnConflict {
        /// The write takes the place of what it contradicts, where the writer may replace that.
        0 Supersede = "supersede",
        /// Both stay, and readers are shown that they contradict each other.
        1 KeepBoth = "keep_both",
        /// A person decides.
        2 Review = "review",
        /// The write is refused.
        3 Reject = "reject",
    }
}

impl OnConflict {
    /// Whether a write may ask for this where a policy says `set`: `review` and `reject` may only be made stricter.
    #[must_use]
    pub fn is_allowed_under(self, set: Option<Self>) -> bool {
        match set {
            None | Some(Self::Supersede | Self::KeepBoth) => true,
            Some(strict @ (Self::Review | Self::Reject)) => self >= strict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AM-3: a policy that asks a person or refuses cannot be weakened by a write.
    #[test]
    fn write_only_tightens_a_strict_policy() {
        use OnConflict::{KeepBoth, Reject, Review, Supersede};
        for asked in OnConflict::ALL {
            assert!(asked.is_allowed_under(None) && asked.is_allowed_under(Some(Supersede)));
            assert!(asked.is_allowed_under(Some(KeepBoth)));
        }
        assert!(Review.is_allowed_under(Some(Review)) && Reject.is_allowed_under(Some(Review)));
        assert!(!Supersede.is_allowed_under(Some(Review)) && !KeepBoth.is_allowed_under(Some(Review)));
        assert!(!Review.is_allowed_under(Some(Reject)) && Reject.is_allowed_under(Some(Reject)));
    }
}
