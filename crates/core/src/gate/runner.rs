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
            return Some(
                "signed by a runner that is registered by this name, over this very report".to_owned(),
            );
        }
        if unhex32(&self.content_hash).as_ref() != Some(content) {
            return Some(format!("a report on this content, whose content_hash is {}", hex(content)));
        }
        if !self.passed {
            return Some("passed: true; correct the procedure and have it tested again".to_owned());
        }
        let recent = self
            .ran_at
            .parse()
            .is_ok_and(|ran: Timestamp| submitted <= ran.plus(AGE_MAX) && ran <= submitted.plus(AHEAD_MAX));
        (!recent).then(|| {
            format!(
                "ran_at at most 15 minutes before {submitted} and at most 1 minute after; run the tests again"
            )
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

#[cfg(test)]
mod tests {
    use super::super::{Force, WriteDraft, procedure, read_write};
    use super::*;
    use crate::canonical::sha256;
    use crate::error::Refusal;
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;
    use serde_json::Value;

    const SUBMITTED: &str = "2026-11-15T12:00:00Z";

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn signed(report: TestReport, key: &SigningKey) -> TestReport {
        TestReport { signature: key.sign(&report.signed_bytes()).to_bytes(), ..report }
    }

    fn request(tests: &Value) -> WriteRequest {
        let body = json!({"text": "Drain, then restart", "layer": "procedural", "tests": tests});
        read_write(body).and_then(WriteDraft::check).unwrap()
    }

    /// A procedure that the runner `ci` tests, and a report on it that is right.
    fn tested() -> (WriteRequest, TestReport) {
        let request = request(&json!([{"name": "ci", "runner": "ci"}]));
        let report = TestReport {
            runner: "ci".to_owned(),
            content_hash: hex(&sha256(&request.content.canonical().unwrap())),
            passed: true,
            ran_at: "2026-11-15T11:50:00Z".to_owned(),
            signature: [0; 64],
        };
        (request, signed(report, &key(7)))
    }

    /// The verdict where `ci` is registered with this key, if at all.
    fn verdict(request: &WriteRequest, registered: Option<Hash>) -> Result<(), Refusal> {
        let of = |report: &TestReport| registered.filter(|_| report.runner == "ci");
        let facts = GateFacts {
            runners: request.test_reports.iter().map(of).collect(),
            submitted: SUBMITTED.parse().unwrap(),
            ..GateFacts::default()
        };
        procedure::check(request, &facts, &request.content.canonical().unwrap(), Force::Stops)
    }

    fn with(request: &WriteRequest, reports: Vec<TestReport>) -> WriteRequest {
        WriteRequest { test_reports: reports, ..request.clone() }
    }

    fn registered() -> Option<Hash> {
        Some(key(7).verifying_key().to_bytes())
    }

    /// The places and expectations of the faults of a procedure with this report.
    fn faults(change: impl Fn(TestReport) -> TestReport, by: u8) -> Vec<(String, String)> {
        let (request, report) = tested();
        let refusal =
            verdict(&with(&request, vec![signed(change(report), &key(by))]), registered()).unwrap_err();
        assert_eq!(refusal.code, Code::TestsFailed);
        refusal.errors.into_iter().map(|fault| (fault.path, fault.expected.unwrap())).collect()
    }

    fn check(change: impl Fn(TestReport) -> TestReport, by: u8, expected: &str) {
        let faults = faults(change, by);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].0, "/test_reports/0");
        assert!(faults[0].1.contains(expected), "{faults:?} has no {expected}");
    }

    /// D13, GOV-1.4: a registered runner's report on this very content stands for the test that names it.
    #[test]
    fn a_signed_report_is_a_passed_test() {
        let (request, report) = tested();
        verdict(&with(&request, vec![report.clone()]), registered()).unwrap();
        let missing = verdict(&request, registered()).unwrap_err();
        assert_eq!((missing.code, missing.errors[0].path.as_str()), (Code::TestsFailed, "/tests/0"));
        assert!(missing.message.contains(&report.content_hash), "{missing:?}");
        assert!(missing.errors[0].expected.as_ref().unwrap().contains(&report.content_hash), "{missing:?}");
    }

    /// D13: each thing that a report may get wrong is said; what is not signed, and by whom, is one answer.
    #[test]
    fn what_is_wrong_with_a_report_is_said() {
        check(|report| TestReport { passed: false, ..report }, 7, "passed: true");
        check(|report| TestReport { content_hash: hex(&[9; 32]), ..report }, 7, "whose content_hash is");
        check(|report| report, 8, "registered by this name");
        let (request, report) = tested();
        let unknown = verdict(&with(&request, vec![report]), None).unwrap_err();
        assert_eq!(vec![("/test_reports/0".to_owned(), unknown.errors[0].expected.clone().unwrap())], {
            faults(|report| report, 8)
        });
    }

    /// D13: fifteen minutes before the write and one after it; not a second more.
    #[test]
    fn a_report_is_of_the_last_fifteen_minutes() {
        let ran = |at: &str| {
            let (request, report) = tested();
            let report = signed(TestReport { ran_at: at.to_owned(), ..report }, &key(7));
            verdict(&with(&request, vec![report]), registered()).is_ok()
        };
        for (at, expected) in [
            ("2026-11-15T11:45:00Z", true),
            ("2026-11-15T11:44:59Z", false),
            ("2026-11-15T12:01:00Z", true),
            ("2026-11-15T12:01:01Z", false),
            ("2026-11-15T13:00:00+01:00", true),
        ] {
            assert_eq!(ran(at), expected, "{at}");
        }
    }

    /// D13: a test is run here or by a runner; a report nobody asked for must be right all the same.
    #[test]
    fn tests_and_reports_fit_together() {
        let paths = |request: &WriteRequest| -> Vec<String> {
            verdict(request, registered()).unwrap_err().errors.into_iter().map(|fault| fault.path).collect()
        };
        let both = json!([{"name": "a", "runner": "ci", "expect": {}}, {"name": "b", "runner": 5}]);
        assert_eq!(paths(&request(&both)), ["/tests/0", "/tests/1"]);
        let (two, report) = tested();
        let bad = TestReport { signature: [1; 64], ..report.clone() };
        assert_eq!(paths(&with(&two, vec![report.clone(), bad])), ["/test_reports/1"]);
        let other = signed(TestReport { runner: "lab".to_owned(), ..report }, &key(7));
        assert_eq!(paths(&with(&two, vec![other])), ["/tests/0", "/test_reports/0"]);
    }

    /// GOV-1.3: the shape of a report is the schema gate's business, with every fault at once; what was read can be said again.
    #[test]
    fn a_report_has_a_shape() {
        let good = json!({"runner": "ci", "content_hash": "ab".repeat(32), "passed": true,
            "ran_at": SUBMITTED, "signature": "cd".repeat(64)});
        let bad = json!({"runner": "", "content_hash": "ab", "ran_at": "now", "signature": "xy", "more": 1});
        let body = json!({"text": "a", "test_reports": [good, bad, {"passed": "yes"}]});
        let draft = read_write(body).unwrap();
        assert_eq!(draft.to_body()["test_reports"][0], good);
        let places: Vec<String> =
            draft.check().unwrap_err().errors.into_iter().map(|fault| fault.path).collect();
        for name in
            ["1/more", "1/runner", "1/content_hash", "1/ran_at", "1/signature", "1/passed", "2/passed"]
        {
            assert!(places.contains(&format!("/test_reports/{name}")), "{name}: {places:?}");
        }
        let many = json!({"text": "a", "test_reports": vec![good; 17]});
        let refusal = read_write(many).unwrap().check().unwrap_err();
        assert_eq!(refusal.errors[0].path, "/test_reports");
    }

    #[test]
    fn a_key_is_a_point_of_the_curve_that_is_not_weak() {
        assert!(is_public_key(&key(7).verifying_key().to_bytes()));
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert!(!is_public_key(&neutral));
        assert!(!is_public_key(&[2; 32]));
    }

    /// Changes one bit of a text so that it stays a text.
    fn flipped(text: &str, place: usize) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let place = place % bytes.len();
        bytes[place] ^= 1;
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        /// D13: any flipped bit of a report, its signature, the runner's key or the content is a failed test.
        #[test]
        fn any_flipped_bit_fails(what in 0..7, place in 0..64_usize, bit in 0..8_u32) {
            let (request, report) = tested();
            let mut changed = request.clone();
            let mut key = registered().unwrap();
            let mut altered = report.clone();
            match what {
                0 => altered.runner = flipped(&report.runner, place),
                1 => altered.content_hash = flipped(&report.content_hash, place),
                2 => altered.passed = false,
                3 => altered.ran_at = flipped(&report.ran_at, place),
                4 => altered.signature[place] ^= 1 << bit,
                5 => key[place % 32] ^= 1 << bit,
                _ => changed.content.text = flipped(&request.content.text, place),
            }
            prop_assert!(verdict(&with(&request, vec![report]), registered()).is_ok());
            prop_assert!(verdict(&with(&changed, vec![altered]), Some(key)).is_err());
        }
    }
}
