//! How secret a statement is, and to which fields of knowledge it belongs (GOV-8.7, D14).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;

words! {
    /// How secret something is; later is more so.
    Classification {
        /// Anybody may know.
        0 Public = "public",
        /// Whoever works here may know; what nobody classified.
        1 Internal = "internal",
        /// Only those cleared for it.
        2 Confidential = "confidential",
        /// Only the few cleared for that.
        3 Restricted = "restricted",
    }
}

#[expect(clippy::derivable_impls, reason = "the list of words has no place for a default")]
impl Default for Classification {
    fn default() -> Self {
        Self::Internal
    }
}

impl Serialize for Classification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Classification {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::from_word(&word).ok_or_else(|| serde::de::Error::custom(Self::words()))
    }
}

/// How secret a statement is, and its domains. What is made from it is at least as secret, and of its domains too.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[cbor(array)]
pub struct Secrecy {
    /// How secret.
    #[n(0)]
    pub classification: Classification,
    /// Fields of knowledge, such as `medical`.
    #[n(1)]
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub domains: BTreeSet<String>,
}

impl Secrecy {
    /// Whether nothing was said about it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// As secret as the more secret of both, of the domains of both.
    pub fn join(&mut self, other: &Self) {
        self.classification = self.classification.max(other.classification);
        self.domains.extend(other.domains.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrecy(word: &str, domains: &[&str]) -> Secrecy {
        let domains = domains.iter().map(|&domain| domain.to_owned()).collect();
        Secrecy { classification: Classification::from_word(word).unwrap(), domains }
    }

    /// GOV-8.7, D14: the order is public, internal, confidential, restricted, and joining never lowers.
    #[test]
    fn what_is_joined_is_as_secret_as_either() {
        let words: Vec<&str> = Classification::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(words, ["public", "internal", "confidential", "restricted"]);
        assert!(Classification::ALL.is_sorted());
        let mut joined = secrecy("public", &["medical"]);
        joined.join(&secrecy("confidential", &["legal"]));
        assert_eq!(joined, secrecy("confidential", &["legal", "medical"]));
        joined.join(&secrecy("internal", &[]));
        assert_eq!(joined, secrecy("confidential", &["legal", "medical"]));
    }

    /// GOV-8.7: the kept form reads back, and another word is refused.
    #[test]
    fn its_kept_form_reads_back() {
        for one in [secrecy("public", &[]), secrecy("restricted", &["a", "b"])] {
            let kept = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<Secrecy>(&kept).unwrap(), one, "{kept}");
        }
        assert!(serde_json::from_str::<Secrecy>(r#"{"classification":"secret"}"#).is_err());
        assert!(Secrecy::default().is_plain() && !secrecy("public", &[]).is_plain());
    }
}
