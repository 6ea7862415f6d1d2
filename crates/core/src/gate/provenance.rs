//! The provenance gate: what the write names exists and is what it says (GOV-4).

use super::{GateFacts, GateName, WriteRequest};
use crate::canonical::{hex, sha256};
use crate::error::{Code, Fault, Refusal};
use crate::id::ResourceId;
use crate::provenance::Evidence;

/// Everything named is there and as it says.
pub(super) fn check(request: &WriteRequest, facts: &GateFacts) -> Result<(), Refusal> {
    let mut faults: Vec<Fault> =
        request.evidence.iter().enumerate().filter_map(|(place, one)| other_hash(place, one)).collect();
    let unknown = |path: String, what: &str| Fault::new(path, Code::NotFound, what);
    for place in facts.resources.iter().filter_map(|found| found.err()) {
        faults.push(unknown(format!("/resources/{place}"), "the name or id of a resource of this tenant"));
    }
    let beyond = |found: &Result<ResourceId, usize>| found.is_ok_and(|one| !facts.reach.contains(&one));
    for (place, _) in facts.resources.iter().enumerate().filter(|(_, found)| beyond(found)) {
        let expected = "a resource that the agent may use: an admin grants it";
        faults.push(Fault::new(format!("/resources/{place}"), Code::ResourceNotGranted, expected));
    }
    for place in facts.derived_from.iter().filter_map(|found| found.err()) {
        faults.push(unknown(format!("/derived_from/{place}"), "the id of a version visible to this caller"));
    }
    for part in facts.ends.iter().filter_map(|found| found.err()) {
        let expected = "a name, or the id of an item visible to this caller";
        faults.push(unknown(format!("/triple/{part}"), expected));
    }
    match faults.first() {
        None => Ok(()),
        Some(first) => {
            let speaks = [Code::ExcerptHashMismatch, Code::ResourceNotGranted].contains(&first.code);
            let code = if speaks { first.code } else { Code::SchemaInvalid };
            Err(Refusal::new(code, "the write names what is not there, or not as it says; see errors")
                .at(GateName::Provenance)
                .with(faults))
        }
    }
}

fn other_hash(place: usize, evidence: &Evidence) -> Option<Fault> {
    let (excerpt, claimed) = (evidence.excerpt.as_ref()?, evidence.excerpt_hash.as_ref()?);
    let actual = hex(&sha256(excerpt.as_bytes()));
    let path = format!("/evidence/{place}/excerpt_hash");
    (!claimed.eq_ignore_ascii_case(&actual))
        .then(|| Fault::new(path, Code::ExcerptHashMismatch, actual).found(claimed.clone()))
}
