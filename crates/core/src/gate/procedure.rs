//! The tests of a procedure: what is done by others carries the checks that it must pass (GOV-1.4, D13).
//!
//! A test is `{"name": …, "expect": …}`, where `expect` is a JSON Schema over the content, or `{"name": …, "runner": …}`, which
//! a registered runner reports on. All must hold for this very content.

use super::{Force, GateFacts, GateName, WriteRequest, runner};
use crate::canonical::{Hash, hex, sha256};
use crate::error::{Code, Fault, Refusal};
use crate::item::Layer;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;

/// Tests that one procedure may carry.
const TESTS_MAX: usize = 16;
/// The field that holds them.
pub(super) const FIELD: &str = "tests";
/// The part of a test that names who runs it.
const RUNNER: &str = "runner";

/// Passes a procedure whose tests all hold for its canonical content; other layers need none.
pub(super) fn check(
    request: &WriteRequest,
    facts: &GateFacts,
    content: &[u8],
    force: Force,
) -> Result<(), Refusal> {
    if request.layer != Layer::Procedural || force < Force::Stops {
        return Ok(());
    }
    let none = Vec::new();
    let tests = match request.content.fields.get(FIELD) {
        Some(Value::Array(tests)) => tests,
        _ => &none,
    };
    if tests.is_empty() || tests.len() > TESTS_MAX {
        let expected = format!(
            "1 to {TESTS_MAX} tests such as {{\"name\": \"has steps\", \"expect\": {{\"required\": [\"text\"]}}}}"
        );
        return Err(failed(
            "a procedure carries tests that it passes",
            vec![Fault::new("/tests", Code::TestsFailed, expected)],
        ));
    }
    let hash = sha256(content);
    let mut faults: Vec<Fault> =
        tests.iter().enumerate().flat_map(|(place, test)| run(request, place, test, &hash)).collect();
    faults.extend(runner::check(request, facts, &hash));
    if faults.is_empty() {
        return Ok(());
    }
    let message = match tests.iter().any(|test| test.get(RUNNER).is_some()) {
        true => format!("a test of the procedure does not hold for content_hash {}", hex(&hash)),
        false => "a test of the procedure does not hold".to_owned(),
    };
    Err(failed(&message, faults))
}

fn failed(message: &str, faults: Vec<Fault>) -> Refusal {
    Refusal::new(Code::TestsFailed, format!("{message}; see errors")).at(GateName::Schema).with(faults)
}

fn run(request: &WriteRequest, place: usize, test: &Value, content: &Hash) -> Vec<Fault> {
    let at = |rest: &str| format!("/tests/{place}{rest}");
    if let Some(named) = test.get(RUNNER) {
        let missing = match named.as_str() {
            _ if test.get("expect").is_some() => Some("either expect or runner, not both".to_owned()),
            Some(name) => runner::missing(request, name, content),
            None => Some("the name of a runner".to_owned()),
        };
        return missing.map(|expected| Fault::new(at(""), Code::TestsFailed, expected)).into_iter().collect();
    }
    let Some(expect) = test.get("expect").filter(|expect| expect.is_object()) else {
        return vec![Fault::new(
            at("/expect"),
            Code::TestsFailed,
            "a JSON Schema over the content; or name a runner",
        )];
    };
    let schema = Schema {
        kind: request.content.kind.clone(),
        layer: None,
        document: expect.clone(),
        constraints: Vec::new(),
        merge: BTreeMap::new(),
    };
    match schema.compile() {
        Err(refusal) => vec![Fault::new(at("/expect"), Code::TestsFailed, refusal.message)],
        Ok(schema) => schema
            .check(&request.content)
            .into_iter()
            .map(|fault| {
                let expected = format!("{}: {}", fault.path, fault.expected.unwrap_or_default());
                Fault { actual: fault.actual, ..Fault::new(at(""), Code::TestsFailed, expected) }
            })
            .collect(),
    }
}
