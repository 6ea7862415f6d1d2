//! How a version came to be and how it stands.

words! {
    /// What an entry does to an item.
    Operation {
        /// The first version of a new item.
        0 Insert = "insert",
        /// The next version of the same statement.
        1 Update = "update",
        /// A version that takes the place of another.
        2 Supersede = "supersede",
    }
}

words! {
    /// How a version stands. Only active versions are retrievable.
    Status {
        /// Retrievable.
        0 Active = "active",
        /// History only.
        1 Superseded = "superseded",
        /// Found invalid.
        2 Retracted = "retracted",
        /// Past its time.
        3 Expired = "expired",
    }
}
