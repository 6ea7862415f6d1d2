//! What a write that is put off waits for.

use crate::reply::Deferral;
use serde_json::Value;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::id::DeferralId;
use tabellion_core::item::Layer;
use tabellion_core::time::{Period, Timestamp};

/// Between two tries of a write whose author may not write at present.
const WAIT_FOR_AUTHOR_SECS: u64 = 60;

/// What a write that is put off waits for, and until when at least.
pub(crate) struct Wait {
    pub(super) gate: GateName,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) until: Timestamp,
}

impl Wait {
    /// For room within a rate.
    pub(crate) fn for_room(free_at: Timestamp, layer: Layer, rate: u32) -> Self {
        let message = format!(
            "this agent writes faster than its rate of {rate} a minute in the {} layer; the write is kept and committed by itself",
            layer.as_str()
        );
        Self { gate: GateName::Preflight, code: Code::RateExceeded, message, until: free_at }
    }

    /// For what others are given of it to be kept apart by itself, so that what its user keeps need not wait (CAL-31).
    pub(super) fn for_others(now: Timestamp) -> Self {
        let message = "what others would see of it does not fit what is known yet; it is kept apart for them";
        Self {
            gate: GateName::Calibration,
            code: Code::CalibrationStaged,
            message: message.to_owned(),
            until: now,
        }
    }

    /// For a gate outside this process; none if the refusal is a real one.
    pub(crate) fn for_gate(refusal: &Refusal, now: Timestamp) -> Option<Self> {
        let waits =
            matches!(refusal.code, Code::GateDeferred | Code::GateUnreachable | Code::ScribeUnreachable);
        waits.then(|| Self {
            gate: refusal.gate.unwrap_or(GateName::Policy),
            code: refusal.code,
            message: refusal.message.clone(),
            until: refusal.retry_after.map_or(now, |period| now.plus(period)),
        })
    }

    /// For its author, who may not write at present; none if the refusal is for good.
    pub(crate) fn for_author(refusal: &Refusal, now: Timestamp) -> Option<Self> {
        let until = now.plus(Period::from_secs(WAIT_FOR_AUTHOR_SECS));
        let gate = refusal.gate.unwrap_or(GateName::Preflight);
        let (code, message) = (refusal.code, refusal.message.clone());
        Self::is_for_author(code).then_some(Self { gate, code, message, until })
    }

    /// Whether this is what a write waits with whose author may not write at present.
    pub(crate) const fn is_for_author(code: Code) -> bool {
        matches!(code, Code::UserDisabled | Code::WritesSuspended | Code::AgentNotGranted)
    }

    /// Whether it is known when to try again, for room or for the author: such a try counts for nothing.
    pub(super) fn has_its_time(&self) -> bool {
        self.code == Code::RateExceeded || Self::is_for_author(self.code)
    }

    /// Whether it ends after so many tries. What is only to be shared is not lost, however long a model is away.
    pub(super) fn ends_after_tries(&self) -> bool {
        !self.has_its_time() && self.code != Code::ScribeUnreachable
    }

    /// What a kept write waits for, as its row has it.
    pub(super) fn of(body: &Value, until: Timestamp) -> Self {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let code = Code::ALL.iter().copied().find(|code| Some(code.as_str()) == text("code"));
        let gate = GateName::ALL.iter().copied().find(|gate| Some(gate.as_str()) == text("gate"));
        Self {
            gate: gate.unwrap_or(GateName::Preflight),
            code: code.unwrap_or(Code::RateExceeded),
            message: text("message").unwrap_or("this agent writes faster than its rate").to_owned(),
            until,
        }
    }

    pub(super) fn deferral(self, id: DeferralId, now: Timestamp) -> Deferral {
        Deferral {
            pending_id: id.to_string(),
            gate: self.gate,
            code: self.code,
            message: self.message,
            retry_after: Some(self.until.since(now)),
        }
    }

    /// Why there is no more waiting.
    pub(super) fn exhausted(&self) -> Refusal {
        let message = if self.code == Code::RateExceeded {
            "it found no room however often it was tried; write it again, or import it".to_owned()
        } else {
            format!("however often it was tried, {}; write it again later", self.message)
        };
        Refusal::new(Code::RetryExhausted, message).at(self.gate)
    }
}
