//! The step `anonymise`: every name becomes "a user", and nothing says which.

use super::names::{Names, named, replaced};
use super::stand_in::{ANYBODY, StandIns};

/// A text in which nobody is named.
#[must_use]
pub fn anonymise(text: &str, names: &[&Names], stand_ins: &StandIns) -> String {
    replaced(text, &named(text, names, stand_ins), |_| ANYBODY.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{NameClass, Person};

    fn book() -> Names {
        let jane = Person {
            class: NameClass::User,
            name: "Jane Doe".to_owned(),
            aliases: vec!["Jane".to_owned(), "usr_mfrggzdfmztwq2lk".to_owned(), "jdoe".to_owned()],
        };
        let odd = |name: &str| Person { class: NameClass::User, name: name.to_owned(), aliases: Vec::new() };
        Names::of(&[jane, odd("User"), odd("Person"), odd("Redacted"), odd("X"), odd("田中")])
    }

    /// SHARE-17: names, aliases and ids of contributor and directory become "a user", without a mapping.
    #[test]
    fn names_aliases_and_ids_become_anybody() {
        let check = |text: &str, expected: &str| {
            let once = anonymise(text, &[&book()], &StandIns::default());
            assert_eq!(once, expected, "{text}");
            assert_eq!(anonymise(&once, &[&book()], &StandIns::default()), once, "{text}");
        };
        check("Jane Doe met JANE and jdoe.", "a user met a user and a user.");
        check("Jane's desk, by usr_mfrggzdfmztwq2lk", "a user's desk, by a user");
        check("Janet and janedoe stay", "Janet and janedoe stay");
        check("jane.doe@x", "a user@x");
        check("田中さん", "a userさん");
        check("User logs in as a user", "a user logs in as a user");
        check("[REDACTED:email] and Person-ABC234 by X", "[REDACTED:email] and Person-ABC234 by X");
        check("", "");
    }
}
