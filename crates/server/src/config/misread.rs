//! What is wrong with a setting, in words of people who write configurations.

use figment::error::{Actual, Kind};
use tabellion_core::error::in_json;

/// Says which setting does not fit, where it was set, and what would fit.
pub(super) fn message(error: &figment::Error) -> String {
    let came = |found: &Actual| {
        if matches!(found, Actual::Seq) {
            "a list".to_owned()
        } else if matches!(found, Actual::Map) {
            "a table".to_owned()
        } else {
            found.to_string()
        }
    };
    let expected = match &error.kind {
        Kind::InvalidType(found, expected) | Kind::InvalidValue(found, expected) => {
            format!("expected {}, found {}", in_json(expected), came(found))
        }
        Kind::InvalidLength(length, expected) => {
            format!("expected {}, found {length} values", in_json(expected))
        }
        Kind::ISizeOutOfRange(_) | Kind::USizeOutOfRange(_) => "the number is out of range".to_owned(),
        Kind::Message(_)
        | Kind::UnknownVariant(..)
        | Kind::UnknownField(..)
        | Kind::MissingField(_)
        | Kind::DuplicateField(_)
        | Kind::Unsupported(_)
        | Kind::UnsupportedKey(..) => return error.to_string(),
    };
    let source = error.metadata.as_ref().map(|source| format!(" in {}", source.name)).unwrap_or_default();
    format!("{}{source}: {expected}", error.path.join("."))
}
