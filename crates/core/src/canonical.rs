//! The one byte form of a content, and what is computed from it.
//!
//! `canonical()` is RFC 8785 JSON over NFC strings. Parts that are hashed together are framed by their length, because a
//! bare concatenation of two texts is ambiguous.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// A SHA-256 value.
pub type Hash = [u8; 32];

/// A value that has no canonical form: a number outside what JSON can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the content has no canonical form")]
pub struct NotCanonical;

/// RFC 8785 bytes of a value whose strings and names are brought to NFC first.
///
/// # Errors
/// When a number cannot be written.
pub fn canonical(value: &impl serde::Serialize) -> Result<Vec<u8>, NotCanonical> {
    let bytes = serde_json_canonicalizer::to_vec(value).map_err(|_| NotCanonical)?;
    // ASCII is NFC already: most content needs no second pass.
    if bytes.is_ascii() {
        return Ok(bytes);
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| NotCanonical)?;
    serde_json_canonicalizer::to_vec(&nfc_value(value)).map_err(|_| NotCanonical)
}

/// NFC of one text; free when it already is.
#[must_use]
pub fn nfc(text: String) -> String {
    if is_nfc(&text) { text } else { text.nfc().collect() }
}

fn nfc_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(nfc(text)),
        Value::Array(values) => Value::Array(values.into_iter().map(nfc_value).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (nfc(name), nfc_value(value))).collect::<Map<_, _>>(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// SHA-256 of one text.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// SHA-256 over parts, each behind its length as 4 big-endian bytes.
#[must_use]
pub fn framed_sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(frame(part));
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// HMAC-SHA-256 over parts framed in the same way: a fingerprint that only the holder of the key can test.
#[must_use]
pub fn framed_hmac(key: &Hash, parts: &[&[u8]]) -> Hash {
    #[expect(clippy::expect_used, reason = "INVARIANT (HMAC takes keys of any length)")]
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(&frame(part));
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn frame(part: &[u8]) -> [u8; 4] {
    u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// The idempotency token of GOV-1.8: what is said, by which agent, for which layer.
#[must_use]
pub fn idempotency_token(content: &[u8], agent: &crate::id::AgentId, layer: crate::item::Layer) -> Hash {
    framed_sha256(&[content, agent.as_bytes(), layer.as_str().as_bytes()])
}

/// Lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// 32 bytes from 64 hex digits of either case.
#[must_use]
pub fn unhex32(text: &str) -> Option<Hash> {
    unhex(text)?.try_into().ok()
}

/// Bytes from hex digits of either case.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;
    use crate::item::Layer;
    use proptest::prelude::*;
    use serde_json::json;

    /// GOV-1.8, D4: member order, spacing and Unicode form do not matter; content does.
    #[test]
    fn canonical_form_is_rfc_8785_over_nfc() {
        let composed = canonical(&json!({"b": 1.0, "a": "caf\u{e9}", "n": 1e21})).unwrap();
        let decomposed = canonical(&json!({"n": 1e21, "a": "cafe\u{301}", "b": 1})).unwrap();
        assert_eq!(composed, decomposed);
        assert_eq!(String::from_utf8(composed).unwrap(), "{\"a\":\"caf\u{e9}\",\"b\":1,\"n\":1e+21}");
    }

    /// GOV-1.8: the token is fixed by content, agent and layer, and by nothing else. Golden value: it must never change.
    #[test]
    fn token_depends_on_content_agent_and_layer() {
        let agent = AgentId::from_bytes([1; 16]);
        let token = idempotency_token(b"{\"text\":\"a\"}", &agent, Layer::Episodic);
        assert_eq!(hex(&token), "83d16f081da5f497345c9afa468298e63f71006a751c4317b2fbece97185e4a7");
        assert_ne!(token, idempotency_token(b"{\"text\":\"b\"}", &agent, Layer::Episodic));
        assert_ne!(token, idempotency_token(b"{\"text\":\"a\"}", &agent, Layer::Semantic));
        assert_ne!(
            token,
            idempotency_token(b"{\"text\":\"a\"}", &AgentId::from_bytes([2; 16]), Layer::Episodic)
        );
    }

    proptest! {
        /// D4: length framing leaves no two splits of one text with the same hash.
        #[test]
        fn framing_is_unambiguous(a in ".{0,8}", b in ".{0,8}", c in ".{0,8}") {
            let left = framed_sha256(&[a.as_bytes(), format!("{b}{c}").as_bytes()]);
            let right = framed_sha256(&[format!("{a}{b}").as_bytes(), c.as_bytes()]);
            prop_assert_eq!(left == right, b.is_empty());
        }
    }
}
