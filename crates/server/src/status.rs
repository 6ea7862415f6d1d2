//! How does each transport say what a refusal is?
//!
//! Invariant: the one mapping. REST, gRPC and MCP all ask here; `docs/api.md` has the same table.

use axum::http::StatusCode;
use tabellion_core::error::{Code, Kind};

/// The HTTP status of a refusal.
///
/// By kind, with one exception: HTTP has a status of its own for a method that a path does not have.
#[must_use]
pub const fn http(code: Code) -> StatusCode {
    if matches!(code, Code::MethodNotAllowed) {
        return StatusCode::METHOD_NOT_ALLOWED;
    }
    match code.kind() {
        Kind::Malformed => StatusCode::BAD_REQUEST,
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Gone => StatusCode::GONE,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Deadline => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// The number of the gRPC status.
#[must_use]
pub const fn grpc(kind: Kind) -> i32 {
    match kind {
        Kind::Malformed | Kind::Invalid => 3,
        Kind::Deadline => 4,
        Kind::NotFound | Kind::Gone => 5,
        Kind::Forbidden => 7,
        Kind::TooLarge | Kind::RateLimited => 8,
        Kind::Conflict => 10,
        Kind::Internal => 13,
        Kind::Unavailable => 14,
        Kind::Unauthenticated => 16,
    }
}

/// The code of the JSON-RPC error.
#[must_use]
pub const fn json_rpc(kind: Kind) -> i32 {
    match kind {
        Kind::Malformed | Kind::Invalid => -32602,
        Kind::Unauthenticated => -32001,
        Kind::Forbidden => -32003,
        Kind::NotFound => -32004,
        Kind::Conflict => -32009,
        Kind::Gone => -32010,
        Kind::TooLarge => -32013,
        Kind::RateLimited => -32029,
        Kind::Internal => -32603,
        Kind::Unavailable => -32053,
        Kind::Deadline => -32054,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(&str, Kind); 12] = [
        ("malformed", Kind::Malformed),
        ("unauthenticated", Kind::Unauthenticated),
        ("forbidden", Kind::Forbidden),
        ("not found", Kind::NotFound),
        ("conflict", Kind::Conflict),
        ("gone", Kind::Gone),
        ("too large", Kind::TooLarge),
        ("invalid", Kind::Invalid),
        ("rate limited", Kind::RateLimited),
        ("internal", Kind::Internal),
        ("unavailable", Kind::Unavailable),
        ("deadline", Kind::Deadline),
    ];

    const GRPC_NAMES: [(i32, &str); 9] = [
        (3, "INVALID_ARGUMENT"),
        (4, "DEADLINE_EXCEEDED"),
        (5, "NOT_FOUND"),
        (7, "PERMISSION_DENIED"),
        (8, "RESOURCE_EXHAUSTED"),
        (10, "ABORTED"),
        (13, "INTERNAL"),
        (14, "UNAVAILABLE"),
        (16, "UNAUTHENTICATED"),
    ];

    #[test]
    fn the_table_of_the_manual_is_this_one() {
        let manual = include_str!("../../../docs/api.md");
        for (name, kind) in KINDS {
            let code = *Code::ALL
                .iter()
                .find(|code| code.kind() == kind && **code != Code::MethodNotAllowed)
                .unwrap();
            let grpc_name = GRPC_NAMES.iter().find(|(number, _)| *number == grpc(kind)).unwrap().1;
            let cells = format!("| {} | {grpc_name} | {} |", http(code).as_u16(), json_rpc(kind));
            let row =
                manual.lines().find(|line| line.starts_with(&format!("| {name}")) && line.contains("| -32"));
            assert!(
                row.is_some_and(|row| row.ends_with(&cells)),
                "{name}: {row:?} does not end with {cells}"
            );
        }
    }

    #[test]
    fn a_method_that_is_not_there_has_its_own_status() {
        assert_eq!(http(Code::MethodNotAllowed), StatusCode::METHOD_NOT_ALLOWED);
    }
}
