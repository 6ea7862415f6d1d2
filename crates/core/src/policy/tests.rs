//! Laws and labelled texts of the policies.

mod hostile;
mod labelled;
mod laws;
mod object;

use super::{CheckedPolicy, SharingPolicy};

/// A policy from JSON, proven.
fn policy(json: &str) -> CheckedPolicy {
    serde_json::from_str::<SharingPolicy>(json)
        .unwrap()
        .check()
        .unwrap_or_else(|faults| panic!("{json}: {faults:?}"))
}
