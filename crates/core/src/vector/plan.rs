//! Whether to look at every row that the caller may see, or at those that lie near.

/// A caller who sees at most this many rows has all of them compared (SHARE-37).
pub(super) const EXACT_ROWS_MAX: u64 = 20_000;
/// So has one who sees at most one in this many of the rows.
const EXACT_SHARE: u64 = 20;

/// How to answer a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Compare every row that the caller may see.
    Scan,
    /// Compare the rows of the nearest lists, more lists as fewer of their rows may be seen.
    Probe,
}

/// The plan for a caller who may see `visible` of `total` rows, given how many are always compared.
#[must_use]
pub const fn plan(visible: u64, total: u64, exact_rows_max: u64) -> Plan {
    if visible <= exact_rows_max || visible <= total / EXACT_SHARE { Plan::Scan } else { Plan::Probe }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-37: up to 20,000 rows or 5% of them, whichever is more, are compared one by one.
    #[test]
    fn few_rows_are_compared_one_by_one() {
        let check = |visible, total, expected| assert_eq!(plan(visible, total, EXACT_ROWS_MAX), expected);
        check(0, 0, Plan::Scan);
        check(20_000, 20_000, Plan::Scan);
        check(20_001, 20_001, Plan::Probe);
        check(20_000, 1_000_000, Plan::Scan);
        check(50_000, 1_000_000, Plan::Scan);
        check(50_001, 1_000_000, Plan::Probe);
        check(1_000_000, 1_000_000, Plan::Probe);
    }
}
