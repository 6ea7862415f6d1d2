//! The provenance gate: what the write says it rests on exists and is what it says.

use super::{GateFacts, GateName, WriteRequest};
use crate::canonical::{hex, sha256};
use crate::error::{Code, Fault, Refusal};

pub(super) fn check(request: &WriteRequest, facts: &GateFacts) -> Result<(), Refusal> {
    let mut faults = Vec::new();
    for (place, evidence) in request.evidence.iter().enumerate() {
        if let (Some(excerpt), Some(claimed)) = (&evidence.excerpt, &evidence.excerpt_hash) {
            let actual = hex(&sha256(excerpt.as_bytes()));
            if !claimed.eq_ignore_ascii_case(&actual) {
                let path = format!("/evidence/{place}/excerpt_hash");
                faults.push(Fault::new(path, Code::ExcerptHashMismatch, actual).found(claimed.clone()));
            }
        }
    }
    let unknown =
        |list: &str, place: &usize, what: &str| Fault::new(format!("/{list}/{place}"), Code::NotFound, what);
    faults.extend(
        facts
            .resources
            .iter()
            .filter_map(|found| found.as_ref().err())
            .map(|place| unknown("resources", place, "the name or id of a resource of this tenant")),
    );
    faults.extend(
        facts
            .derived_from
            .iter()
            .filter_map(|found| found.as_ref().err())
            .map(|place| unknown("derived_from", place, "the id of a version visible to this caller")),
    );
    match faults.first() {
        None => Ok(()),
        Some(first) => {
            let code = if first.code == Code::ExcerptHashMismatch { first.code } else { Code::SchemaInvalid };
            Err(Refusal::new(code, "the write names what is not there, or not as it says; see errors")
                .at(GateName::Provenance)
                .with(faults))
        }
    }
}
