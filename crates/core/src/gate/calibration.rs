//! The calibration gate: what does not fit what is known is kept apart until more is (CAL-30, 31).
//!
//! It overrules no other gate and is overruled by a person alone. The writer is told that the write waits, never the numbers:
//! they would tell how to write the next one.

use super::{Cause, Finding, GateFacts, GateName};
use crate::error::Code;

pub(super) fn check(facts: &GateFacts) -> Finding {
    match &facts.weighing {
        Some(weighing) if !weighing.admitted && !weighing.of_copy => Finding::Holds(Cause::new(
            GateName::Calibration,
            Code::CalibrationStaged,
            "it does not fit what is known yet; it is kept apart until others bear it out or a person lets it in",
        )),
        _ => Finding::Nothing,
    }
}
