//! A figure beside what it has to reach.

use serde_json::{Value, json};

/// What a figure has to reach.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure beside what it has to reach.
#[derive(Debug, Clone)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) found: f64,
    pub(super) bound: Bound,
}

impl Bar {
    /// A figure that is none reaches nothing.
    pub(super) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.found <= most,
            Bound::AtLeast(least) => self.found >= least,
        }
    }

    pub(super) fn line(&self) -> String {
        let bound = match self.bound {
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::AtLeast(least) => format!("at least {least}"),
        };
        let verdict = if self.is_met() { "met" } else { "MISSED" };
        format!("  {:<52} {:>9.3}   {bound:<14} {verdict}", self.what, self.found)
    }

    pub(super) fn json(&self) -> Value {
        let (bound, value) = match self.bound {
            Bound::AtMost(most) => ("at_most", most),
            Bound::AtLeast(least) => ("at_least", least),
        };
        json!({"what": self.what, "found": self.found, bound: value, "met": self.is_met()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_reached_or_not() {
        let met = |found, bound| Bar { what: String::new(), found, bound }.is_met();
        assert!(met(1.0, Bound::AtMost(1.0)) && met(1.0, Bound::AtLeast(1.0)));
        assert!(!met(1.1, Bound::AtMost(1.0)) && !met(0.9, Bound::AtLeast(1.0)));
        assert!(!met(f64::NAN, Bound::AtMost(1.0)) && !met(f64::NAN, Bound::AtLeast(1.0)));
    }
}
