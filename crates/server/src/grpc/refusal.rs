//! How does a refusal look on the wire?
//!
//! As a status whose detail is a `tabellion.v1.Refusal` inside a `google.rpc.Status`: the standard place, which clients
//! in every language read. Another message there would be taken for a status with code 0 by some of them.

use super::proto;
use crate::status;
use prost::Message;
use tabellion_core::error::{Code as Reason, Fault, Refusal};
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::{Code, Status};

/// What the faults in a status may take: proxies and clients allow some 8 KiB of trailers, here in base64.
const FAULT_BYTES_MAX: usize = 4 << 10;

/// The contradictions in a status, of some hundred bytes each.
const CONTRADICTIONS_MAX: usize = 16;

/// What their texts may take together.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// The metadata that holds the code.
pub(super) const CODE: &str = "tabellion-code";

const REFUSAL_TYPE: &str = "type.googleapis.com/tabellion.v1.Refusal";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The status of a call that was refused.
pub(crate) fn status(refusal: Refusal, request_id: Option<String>) -> Status {
    let code = Code::from_i32(status::grpc(refusal.code.kind()));
    let mut metadata = MetadataMap::new();
    metadata.insert(CODE, AsciiMetadataValue::from_static(refusal.code.as_str()));
    let refused = fitting(message(refusal, request_id));
    if let Some(pushback) = refused.retry_after_ms.and_then(|ms| ms.to_string().parse().ok()) {
        metadata.insert("grpc-retry-pushback-ms", pushback);
    }
    let text = refused.message.clone();
    let detail = prost_types::Any { type_url: REFUSAL_TYPE.to_owned(), value: refused.encode_to_vec() };
    let details = RpcStatus { code: code.into(), message: text.clone(), details: vec![detail] };
    Status::with_details_and_metadata(code, text, details.encode_to_vec().into(), metadata)
}

/// What tonic found wrong with a message before any handler saw it, in our words.
pub(super) fn unreadable(code: Code) -> Option<Refusal> {
    let (reason, message) = if code == Code::OutOfRange {
        (Reason::TooLarge, "the message is larger than the server takes")
    } else if code == Code::Internal {
        (Reason::Malformed, "the message cannot be read as what the call takes")
    } else {
        return None;
    };
    Some(Refusal::new(reason, message))
}

/// The refusal as a message, complete.
pub(super) fn message(refusal: Refusal, request_id: Option<String>) -> proto::Refusal {
    let in_the_way = refusal.in_the_way.map(|in_the_way| *in_the_way).unwrap_or_default();
    proto::Refusal {
        code: refusal.code.as_str().to_owned(),
        message: refusal.message,
        gate: refusal.gate.map(|gate| gate.as_str().to_owned()),
        errors: refusal.errors.into_iter().map(fault).collect(),
        errors_omitted: 0,
        request_id,
        retry_after_ms: refusal.retry_after.map(|period| period.as_micros().div_ceil(1_000)),
        existing_ref: in_the_way.existing.map(|item| item.to_string()),
        contradictions: in_the_way.against.into_iter().map(Into::into).collect(),
        refusal_id: refusal.kept.map(|id| id.to_string()),
    }
}

fn fault(fault: Fault) -> proto::Fault {
    proto::Fault {
        path: fault.path,
        code: fault.code.as_str().to_owned(),
        expected: fault.expected,
        actual: fault.actual,
    }
}

/// The same refusal with no more than trailers hold.
fn fitting(mut refused: proto::Refusal) -> proto::Refusal {
    refused.contradictions.truncate(CONTRADICTIONS_MAX);
    let mut left = TEXT_BYTES_MAX;
    for text in refused.contradictions.iter_mut().filter_map(|one| one.text.as_mut()) {
        text.truncate(text.floor_char_boundary(left));
        left -= text.len().min(left);
    }
    let taken: usize = refused.contradictions.iter().map(Message::encoded_len).sum();
    let mut room = FAULT_BYTES_MAX.saturating_sub(taken);
    let fits = |fault: &&proto::Fault| {
        let left = room.checked_sub(fault.encoded_len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept = refused.errors.iter().take_while(fits).count();
    refused.errors_omitted = u32::try_from(refused.errors.len() - kept).unwrap_or(u32::MAX);
    refused.errors.truncate(kept);
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::gate::GateName;
    use tabellion_core::time::Period;

    fn read(status: &Status) -> proto::Refusal {
        let details = RpcStatus::decode(status.details()).unwrap();
        assert_eq!((details.code, details.message.as_str()), (i32::from(status.code()), status.message()));
        assert_eq!(details.details[0].type_url, REFUSAL_TYPE);
        proto::Refusal::decode(details.details[0].value.as_slice()).unwrap()
    }

    #[test]
    fn every_part_of_a_refusal_arrives() {
        let fault =
            Fault::new("/confidence", Reason::ConstraintViolation, "a number from 0 to 1").found("1.2");
        let refusal = Refusal::new(Reason::SchemaInvalid, "1 field(s) break a rule")
            .at(GateName::Schema)
            .with(vec![fault])
            .retry_after(Period::from_secs(2));
        let status = status(refusal, Some("r-1".into()));
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.metadata().get("tabellion-code").unwrap(), "SCHEMA_INVALID");
        assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "2000");
        let refused = read(&status);
        assert_eq!(refused.code, "SCHEMA_INVALID");
        assert_eq!(refused.gate.as_deref(), Some("schema"));
        assert_eq!(refused.request_id.as_deref(), Some("r-1"));
        assert_eq!(refused.retry_after_ms, Some(2_000));
        assert_eq!(refused.errors[0].actual.as_deref(), Some("1.2"));
    }

    #[test]
    fn many_faults_still_fit_into_trailers() {
        let fault = Fault::new("/tags/1", Reason::ConstraintViolation, "1 to 64 characters, not blank");
        let refusal = Refusal::new(Reason::SchemaInvalid, "many").with(vec![fault; 1_000]);
        let status = status(refusal, None);
        assert!(status.details().len() < FAULT_BYTES_MAX + 1_024);
        let refused = read(&status);
        assert!(!refused.errors.is_empty());
        assert_eq!(refused.errors.len() + refused.errors_omitted as usize, 1_000);
    }
}
