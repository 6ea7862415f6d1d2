//! Who an item is for: its owner alone, or those whom the access graph admits.

words! {
    /// Where an item lives.
    Tier {
        /// Its owner's alone.
        0 Private = "private",
        /// Open to whoever the access graph admits.
        1 Shared = "shared",
    }
}

words! {
    /// What a writer asks for; policy sets the ceiling.
    TierWish {
        /// Private, and shared where policy says so.
        0 Auto = "auto",
        /// Private.
        1 Private = "private",
        /// Shared.
        2 Shared = "shared",
        /// One of each.
        3 Both = "both",
    }
}
