//! Laws and labelled texts of the policies.

mod hostile;
mod labelled;
mod laws;
mod object;

use super::{CheckedPolicy, PolicyKind, SharingPolicy};
use crate::error::Fault;

/// A policy from JSON with its name and kind, as it is proven.
fn check(json: &str) -> Result<CheckedPolicy, Vec<Fault>> {
    let mut body: serde_json::Value = serde_json::from_str(json).unwrap();
    let mut taken = |name: &str| {
        let word = body.as_object_mut().unwrap().remove(name).unwrap();
        word.as_str().unwrap().to_owned()
    };
    let (id, kind) = (taken("id"), PolicyKind::from_word(&taken("kind")).unwrap());
    serde_json::from_value::<SharingPolicy>(body).unwrap().check(&id, kind)
}

/// A policy from JSON, proven.
fn policy(json: &str) -> CheckedPolicy {
    check(json).unwrap_or_else(|faults| panic!("{json}: {faults:?}"))
}
