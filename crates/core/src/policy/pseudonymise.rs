//! The step `pseudonymise`: one person keeps one pseudonym within a tenant, and only the tenant's key makes it.

use super::names::{Known, Names, named, replaced};
use super::stand_in::{PERSON, PERSON_DIGITS, StandIns};
use crate::seal::Secret;
use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A text in which everybody has a pseudonym.
#[must_use]
pub fn pseudonymise(text: &str, names: &[&Names], stand_ins: &StandIns, key: &Secret) -> String {
    replaced(text, &named(text, names, stand_ins), |known| pseudonym(known, key))
}

/// `Person-` and base32 digits of HMAC-SHA-256 over class and name. No class begins another, so no frame is needed.
fn pseudonym(known: &Known, key: &Secret) -> String {
    #[expect(clippy::expect_used, reason = "INVARIANT (HMAC takes keys of any length)")]
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(known.class.as_str().as_bytes());
    mac.update(known.name.as_bytes());
    let digits = BASE32_NOPAD.encode(&mac.finalize().into_bytes());
    format!("{PERSON}{}", digits.get(..PERSON_DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{NameClass, Person};

    fn person(class: NameClass, name: &str, aliases: &[&str]) -> Person {
        Person {
            class,
            name: name.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        }
    }

    /// SHARE-17: aliases share the pseudonym, tenants and classes do not; the digits are those of HMAC-SHA-256.
    #[test]
    fn a_person_has_one_pseudonym_a_tenant() {
        let names = Names::of(&[
            person(NameClass::User, "Jane Doe", &["jane", "sam"]),
            person(NameClass::Agent, "Scout", &[]),
            person(NameClass::User, "Sam Lee", &["sam"]),
        ]);
        let with = |text: &str, key: u8| {
            pseudonymise(text, &[&names], &StandIns::default(), &Secret::from_bytes([key; 32]))
        };
        assert_eq!(with("Jane Doe is Jane", 7), "Person-4I2V4S is Person-4I2V4S");
        assert_ne!(with("Jane", 7), with("Jane", 8));
        assert_ne!(with("Jane", 7), with("Sam", 7));
        assert_ne!(with("Sam Lee", 7), with("Sam", 7));
        let once = with("Scout asked Jane.", 7);
        assert_eq!(with(&once, 7), once);
    }
}
