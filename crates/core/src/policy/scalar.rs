//! Values that a policy sets and a narrower one may replace, and which of several holds.
//!
//! Invariant (less is tighter): every scalar is kept as a number of which the smaller is the tighter, so that "the
//! tightest" is the minimum for all of them.

use crate::item::words;
use std::collections::BTreeSet;

words! {
    /// The scalars of a policy.
    Scalar {
        /// Most results.
        0 Count = "count",
        /// Most characters of one text.
        1 Chars = "chars",
        /// Most characters of all texts.
        2 TotalChars = "total_chars",
        /// Least similarity.
        3 MinSimilarity = "min_similarity",
        /// Greatest age.
        4 MaxAge = "max_age",
        /// Whether anything may be shared.
        5 Share = "share",
        /// What becomes of a shared write with private parents.
        6 PrivateParents = "private_parents",
        /// Sentences that a paraphrase keeps.
        7 Keep = "keep",
    }
}

words! {
    /// Whether anything may be shared. Off unless a policy says otherwise.
    Share {
        /// Nothing.
        0 Off = "off",
        /// What the writer asks to share.
        1 On = "on",
    }
}

words! {
    /// What becomes of a shared write that rests on private items (SHARE-20).
    PrivateParents {
        /// It is refused.
        0 Block = "block",
        /// It is redacted and anonymised, whatever else holds.
        1 Transform = "transform",
        /// It is treated like any other.
        2 Allow = "allow",
    }
}

/// How narrow a policy is: time, then user and agent, user, agent, everybody; then priority, then id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) timed: bool,
    /// 3 for user and agent, 2 for a user, 1 for an agent, 0 for everybody.
    pub(super) narrowness: u8,
    pub(super) priority: i32,
    pub(super) id: String,
}

/// What one policy says of one scalar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Statement {
    pub(super) rank: Rank,
    /// Smaller is tighter.
    pub(super) value: u64,
    /// Whether a narrower policy may say something else.
    pub(super) overridable: bool,
}

/// The value that holds: the tightest of those that no narrower policy replaces.
pub(super) fn holding(statements: &BTreeSet<Statement>) -> Option<u64> {
    let narrowest = statements.last()?;
    let stands = |one: &&Statement| !one.overridable || one.rank == narrowest.rank;
    statements.iter().filter(stands).map(|one| one.value).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(narrowness: u8, priority: i32, value: u64, overridable: bool) -> Statement {
        let rank = Rank { timed: false, narrowness, priority, id: format!("{narrowness}{priority}{value}") };
        Statement { rank, value, overridable }
    }

    /// SHARE-15: the tightest holds; only what a broader policy lists as overridable is replaced.
    #[test]
    fn the_tightest_holds_unless_it_may_be_overridden() {
        let check = |all: &[Statement], expected: Option<u64>| {
            assert_eq!(holding(&all.iter().cloned().collect()), expected, "{all:?}");
        };
        check(&[], None);
        check(&[said(0, 0, 5, false), said(2, 0, 9, false)], Some(5));
        check(&[said(0, 0, 5, true), said(2, 0, 9, false)], Some(9));
        check(&[said(0, 0, 5, true)], Some(5));
        check(&[said(0, 0, 9, false), said(2, 0, 5, true)], Some(5));
        check(&[said(0, 0, 5, true), said(1, 0, 7, false), said(2, 0, 9, false)], Some(7));
        check(&[said(0, 0, 5, true), said(0, 1, 8, false)], Some(8));
    }

    /// SHARE-15: time is narrower than user and agent, that than user, that than agent, that than everybody.
    #[test]
    fn ranks_are_in_order() {
        let rank =
            |timed, narrowness, priority, id: &str| Rank { timed, narrowness, priority, id: id.to_owned() };
        let order = [
            rank(false, 0, 9, "b"),
            rank(false, 1, 0, "a"),
            rank(false, 2, 0, "a"),
            rank(false, 3, 0, "a"),
            rank(false, 3, 1, "a"),
            rank(false, 3, 1, "b"),
            rank(true, 0, -5, "a"),
        ];
        assert!(order.is_sorted());
    }
}
