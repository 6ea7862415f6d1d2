//! The answer to a write that waits.

use super::Staged;
use crate::reply::Deferral;
use crate::tenant::Tenant;
use serde_json::Value;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Cause, GateName};
use tabellion_core::id::ReviewId;
use tabellion_core::view::Review;

/// The answer to a write that waits for this.
pub(super) fn deferral_of(id: ReviewId, cause: Option<&Cause>) -> Deferral {
    let (gate, code) =
        cause.map_or((GateName::Policy, Code::ApprovalRequired), |cause| (cause.gate, cause.code));
    let why = cause.map_or("a person has to consent", |cause| cause.message.as_str());
    Deferral { pending_id: id.to_string(), gate, code, message: told(code, why), retry_after: None }
}

/// Why a write waits, in a word, where that is not the write alone.
pub(crate) fn held_for(code: Code) -> Option<&'static str> {
    let words = [
        (Code::Anomaly, "anomaly"),
        (Code::CalibrationStaged, "calibration"),
        (Code::Moderated, "moderated"),
    ];
    words.iter().find(|(known, _)| *known == code).map(|(_, word)| *word)
}

/// What the writer is told. One that is kept apart need not wait for a person: others can bear it out.
fn told(code: Code, why: &str) -> String {
    if code == Code::CalibrationStaged { why.to_owned() } else { format!("waits for a person: {why}") }
}

/// What a write waits for, given its review.
pub(crate) fn deferral(tenant: &Tenant, review: &Review) -> Result<Deferral, Refusal> {
    let staged = Staged::read(tenant, review.lsn)?;
    let cause = staged.findings.pointer("/causes/0");
    let text =
        |name: &str| cause.and_then(|cause| cause.get(name)).and_then(Value::as_str).unwrap_or_default();
    let code = Code::ALL.iter().copied().find(|code| code.as_str() == text("code"));
    let gate = GateName::ALL.iter().copied().find(|gate| gate.as_str() == text("gate"));
    let code = code.unwrap_or(Code::ApprovalRequired);
    let message = match review.approvals.len() {
        0 => told(code, text("message")),
        said => format!("{said} of {} people said yes; another one must too", review.approvals_min),
    };
    Ok(Deferral {
        pending_id: review.id.to_string(),
        gate: gate.unwrap_or(GateName::Policy),
        code,
        message,
        retry_after: None,
    })
}
