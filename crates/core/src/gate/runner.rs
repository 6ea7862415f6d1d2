//! The reports of test runners: what a procedure's tests found that this server cannot run itself (D13).
//!
//! A runner is registered by its public key. Its report names one content by hash and is signed as a whole, so it can be sent by
//! anyone and stands for nothing else. An unknown runner and a signature that is not its own get the same answer.

use super::{GateFacts, WriteRequest};
use crate::canonical::{Hash, canonical, hex, unhex32};
use crate::error::{Code, Fault};
use crate::time::{Period, Timestamp};
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::json;

/// Reports that one write may carry.
pub(super) const REPORTS_MAX: usize = 16;
/// How old a report may be when the write comes in.
const AGE_MAX: Period = Period::from_secs(15 * 60);
/// How far a runner's clock may be ahead.
const AHEAD_MAX: Period = Period::from_secs(60);

/// A report as it is sent: texts, nothing proven.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "as for WriteDraft")]
pub struct ReportDraft {
    pub runner: Option<String>,
    pub content_hash: Option<String>,
    pub passed: Option<bool>,
    pub ran_at: Option<String>,
    pub signature: Option<String>,
}

/// A report that is well formed. Whether it is right is found out by the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct TestReport {
    /// The name of the runner.
    pub runner: String,
    /// The hash of the content that it tested, as it wrote it.
    pub content_hash: String,
    /// Whether every test passed.
    pub passed: bool,
    /// When, as it wrote it.
    pub ran_at: String,
    /// Ed25519, over all the rest as canonical JSON.
    pub signature: [u8; 64],
}

impl TestReport {
    /// The bytes that a runner signs: RFC 8785 JSON of the report without its signature.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let report = json!({
            "runner": self.runner,
            "content_hash": self.content_hash,
            "passed": self.passed,
            "ran_at": self.ran_at,
        });
        // INVARIANT (texts and a flag have a canonical form); nobody signs an empty text as a report.
        canonical(&report).unwrap_or_default()
    }

    fn is_signed_by(&self, key: &Hash) -> bool {
        let bytes = self.signed_bytes();
        let signature = Signature::from_bytes(&self.signature);
        VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(&bytes, &signature).is_ok())
    }

    /// What is wrong with it for a content, if anything is. What is not signed is not looked at any further.
    fn wrong(&self, key: Option<&Hash>, content: &Hash, submitted: Timestamp) -> Option<String> {
        if !key.is_some_and(|key| self.is_signed_by(key)) {
            return Some("signed by a runner that is registered by this name, over this very report".to_owned());
        }
        if unhex32(&self.content_hash).as_ref() != Some(content) {
            return Some(format!("a report on this content, whose content_hash is {}", hex(content)));
        }
        if !self.passed {
            return Some("passed: true; correct the procedure and have it tested again".to_owned());
        }
        let recent = self.ran_at.parse().is_ok_and(|ran: Timestamp| {
            submitted <= ran.plus(AGE_MAX) && ran <= submitted.plus(AHEAD_MAX)
        });
        (!recent).then(|| {
            format!("ran_at at most 15 minutes before {submitted} and at most 1 minute after; run the tests again")
        })
    }
}

/// Whether these bytes are a public key that signatures can be checked with.
#[must_use]
pub fn is_public_key(bytes: &Hash) -> bool {
    VerifyingKey::from_bytes(bytes).is_ok_and(|key| !key.is_weak())
}

/// What is wrong with the reports of a write.
pub(super) fn check(request: &WriteRequest, facts: &GateFacts, content: &Hash) -> Vec<Fault> {
    let fault = |(place, report): (usize, &TestReport)| {
        let key = facts.runners.get(place).and_then(Option::as_ref);
        let expected = report.wrong(key, content, facts.submitted)?;
        Some(Fault::new(format!("/test_reports/{place}"), Code::TestsFailed, expected))
    };
    request.test_reports.iter().enumerate().filter_map(fault).collect()
}

/// What is missing where a test names a runner that did not report.
pub(super) fn missing(request: &WriteRequest, runner: &str, content: &Hash) -> Option<String> {
    let reported = request.test_reports.iter().any(|report| report.runner == runner);
    (!reported).then(|| {
        format!("a report of the runner {runner} among test_reports, on content_hash {}", hex(content))
    })
}
