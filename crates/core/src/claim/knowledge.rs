//! A knowledge base: facts that somebody outside answers for, against which triples are held (GOV-2.3).
//!
//! Knows nothing of files; whoever reads one hands in its bytes. What it does not know it says nothing about.

use super::triple::{Said, fingerprint};
use crate::canonical::{Hash, hex, sha256};
use crate::item::Triple;
use std::collections::HashMap;

/// Facts of one knowledge base.
const FACTS_MAX: usize = 100_000;
/// Bytes of one line.
const LINE_BYTES_MAX: usize = 8_192;

/// Facts by what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct Knowledge {
    name: String,
    edition: String,
    facts: Vec<(Triple, Said)>,
    /// By all three parts.
    whole: HashMap<Hash, usize>,
    /// By subject and property, where the property has one value.
    slots: HashMap<u64, Vec<usize>>,
}

/// What a knowledge base says of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Testimony<'a> {
    /// It says the same.
    Confirms(&'a Triple),
    /// It knows another value of a property that has one.
    Denies(&'a Triple),
    /// It does not know.
    Nothing,
}

/// Why bytes are no knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct NotKnowledge {
    /// The line, from one on.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Knowledge {
    /// Reads one fact a line, each a JSON object of `subject`, `predicate` and `object`; blank lines are skipped.
    ///
    /// # Errors
    /// When a line is something else, or there are too many.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, NotKnowledge> {
        let mut base = Self {
            name: name.to_owned(),
            edition: hex(&sha256(bytes)),
            facts: Vec::new(),
            whole: HashMap::new(),
            slots: HashMap::new(),
        };
        for (place, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let fact = fact(line).and_then(|fact| base.take(fact));
            fact.map_err(|why| NotKnowledge { line: place + 1, why })?;
        }
        Ok(base)
    }

    fn take(&mut self, fact: Triple) -> Result<(), String> {
        let place = self.facts.len();
        if place >= FACTS_MAX {
            return Err(format!("more than {FACTS_MAX} facts"));
        }
        let said = Said::of(&fact);
        self.whole.entry(fingerprint(&fact)).or_insert(place);
        if let Some(slot) = said.slot() {
            self.slots.entry(slot).or_default().push(place);
        }
        self.facts.push((fact, said));
        Ok(())
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the bytes that it was read from, hex.
    #[must_use]
    pub fn edition(&self) -> &str {
        &self.edition
    }

    /// How many facts it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// What it says of a statement.
    #[must_use]
    pub fn says(&self, triple: &Triple) -> Testimony<'_> {
        let same = self.whole.get(&fingerprint(triple)).and_then(|place| self.facts.get(*place));
        if let Some((fact, _)) = same {
            return Testimony::Confirms(fact);
        }
        let said = Said::of(triple);
        let places =
            said.slot().and_then(|slot| self.slots.get(&slot)).map_or(&[] as &[usize], Vec::as_slice);
        let mut known = places.iter().filter_map(|place| self.facts.get(*place));
        // Where any of what it knows leaves room for the statement, it does not deny it.
        match known.clone().next() {
            Some((fact, _)) if known.all(|(_, one)| one.contradicts(&said)) => Testimony::Denies(fact),
            Some(_) | None => Testimony::Nothing,
        }
    }
}

fn fact(line: &[u8]) -> Result<Triple, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("longer than {LINE_BYTES_MAX} bytes"));
    }
    let expected = "give {\"subject\": \"…\", \"predicate\": \"…\", \"object\": \"…\"}";
    let fact: Triple = serde_json::from_slice(line).map_err(|_| expected.to_owned())?;
    let parts = [&fact.subject, &fact.predicate, &fact.object];
    if parts.iter().any(|part| part.trim().is_empty()) { Err(expected.to_owned()) } else { Ok(fact) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn triple(subject: &str, predicate: &str, object: &str) -> Triple {
        Triple { subject: subject.into(), predicate: predicate.into(), object: object.into() }
    }

    fn base() -> Knowledge {
        let lines = r#"{"subject": "billing api", "predicate": "port", "object": "8080"}

            {"subject": "ana", "predicate": "likes", "object": "tea"}"#;
        Knowledge::read("services", lines.as_bytes()).unwrap()
    }

    /// GOV-2.3: it confirms what it knows however it is spelt, denies another value of a property that has one, and says
    /// nothing of the rest.
    #[test]
    fn it_confirms_denies_or_says_nothing() {
        let base = base();
        let known = triple("billing api", "port", "8080");
        assert_eq!(base.says(&triple("Billing  API", "has_port", "8,080")), Testimony::Confirms(&known));
        assert_eq!(base.says(&triple("billing api", "port", "9090")), Testimony::Denies(&known));
        assert_eq!(base.says(&triple("ana", "likes", "coffee")), Testimony::Nothing);
        assert_eq!(base.says(&triple("mail api", "port", "9090")), Testimony::Nothing);
        assert_eq!((base.len(), base.name(), base.edition().len()), (2, "services", 64));
    }

    /// GOV-2.3: of two values that it knows itself, it confirms both and denies others.
    #[test]
    fn two_values_of_its_own_are_both_right() {
        let lines = "{\"subject\":\"a\",\"predicate\":\"port\",\"object\":\"1\"}\n{\"subject\":\"a\",\"predicate\":\"port\",\"object\":\"2\"}";
        let base = Knowledge::read("k", lines.as_bytes()).unwrap();
        assert!(matches!(base.says(&triple("a", "port", "2")), Testimony::Confirms(_)));
        assert!(matches!(base.says(&triple("a", "port", "3")), Testimony::Denies(_)));
    }

    #[test]
    fn what_is_no_fact_is_named_by_its_line() {
        let check = |lines: &str, line: usize| {
            assert_eq!(Knowledge::read("k", lines.as_bytes()).unwrap_err().line, line, "{lines}");
        };
        check("nonsense", 1);
        check("\n{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\" \"}", 2);
        check(
            &format!(
                "{{\"subject\":\"{}\",\"predicate\":\"b\",\"object\":\"c\"}}",
                "x".repeat(LINE_BYTES_MAX)
            ),
            1,
        );
    }

    proptest! {
        /// GOV-2.3: what it was told it never denies.
        #[test]
        fn it_never_denies_its_own(facts in prop::collection::vec(("[a-c]{1,2}", "port|likes|capital of", "[0-9a-z]{1,3}"), 1..20)) {
            let lines: Vec<String> = facts
                .iter()
                .map(|(subject, predicate, object)| {
                    serde_json::json!({"subject": subject, "predicate": predicate, "object": object}).to_string()
                })
                .collect();
            let base = Knowledge::read("k", lines.join("\n").as_bytes()).unwrap();
            for (subject, predicate, object) in &facts {
                prop_assert!(matches!(base.says(&triple(subject, predicate, object)), Testimony::Confirms(_)));
            }
        }
    }
}
