//! Gates outside this process: the same contract as those inside, `accept | reject | defer` (GOV-1.3, 1.5, D2).
//!
//! What they answered is a fact like any other; this module says what follows from it. A no anywhere wins over a wait
//! anywhere. What comes from outside is cut to size before it is shown.

use super::facts::GateFacts;
use super::{GateName, Refusal};
use crate::error::{Code, Fault};
use crate::time::Period;

/// Longest time that a gate may put a write off in one go.
pub const DEFERRAL_MAX: Period = Period::from_secs(300);
/// When a write is tried again whose gate could not be asked.
const UNREACHABLE_AFTER: Period = Period::from_secs(1);

const CODE_CHARS_MAX: usize = 64;
const WORDS_CHARS_MAX: usize = 512;
const FAULTS_MAX: usize = 16;
const FAULT_CHARS_MAX: usize = 256;

/// What a gate outside this process made of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFinding {
    /// What the operator calls it.
    pub name: String,
    /// The gate of this process that it stands beside.
    pub at: GateName,
    /// Its answer.
    pub answer: RemoteAnswer,
}

/// The answer of a gate outside this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteAnswer {
    /// Go on.
    Accepts,
    /// No, and why.
    Rejects {
        /// Its own word for it.
        code: String,
        /// For people.
        message: String,
        /// Where in the write.
        faults: Vec<RemoteFault>,
    },
    /// Not yet.
    Defers {
        /// When to ask again.
        after: Period,
        /// For people.
        message: String,
    },
    /// None: it is down, too slow, or answers nonsense.
    Unreachable,
}

/// One thing that a gate outside this process finds wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFault {
    /// JSON pointer into the write.
    pub path: String,
    /// What would pass.
    pub expected: String,
    /// What came.
    pub actual: String,
}

/// Passes unless a gate that stands beside this one says no.
pub(super) fn check(facts: &GateFacts, at: GateName) -> Result<(), Refusal> {
    for finding in facts.remote.iter().filter(|finding| finding.at == at) {
        if let RemoteAnswer::Rejects { code, message, faults } = &finding.answer {
            return Err(rejection(&finding.name, at, [code, message], faults));
        }
    }
    Ok(())
}

/// Passes unless a gate wants to be asked again, or could not be asked; then the write waits for the last of them.
pub(super) fn settled(facts: &GateFacts) -> Result<(), Refusal> {
    let waits = facts.remote.iter().filter_map(|finding| Some((wait(finding)?, finding)));
    match waits.max_by_key(|(wait, _)| *wait) {
        None => Ok(()),
        Some((wait, finding)) => Err(deferral(finding, wait)),
    }
}

fn wait(finding: &RemoteFinding) -> Option<Period> {
    match &finding.answer {
        RemoteAnswer::Accepts | RemoteAnswer::Rejects { .. } => None,
        RemoteAnswer::Defers { after, .. } => Some((*after).min(DEFERRAL_MAX)),
        RemoteAnswer::Unreachable => Some(UNREACHABLE_AFTER),
    }
}

fn deferral(finding: &RemoteFinding, wait: Period) -> Refusal {
    let name = &finding.name;
    let (code, message) = match &finding.answer {
        RemoteAnswer::Defers { message, .. } => {
            (Code::GateDeferred, format!("the gate `{name}` wants to be asked again: {}", said(message)))
        }
        RemoteAnswer::Unreachable | RemoteAnswer::Accepts | RemoteAnswer::Rejects { .. } => {
            (Code::GateUnreachable, format!("the gate `{name}` gives no answer; it is asked again"))
        }
    };
    Refusal::new(code, message).at(finding.at).retry_after(wait)
}

fn rejection(name: &str, at: GateName, [code, message]: [&str; 2], faults: &[RemoteFault]) -> Refusal {
    let code = bounded(code, CODE_CHARS_MAX);
    let code = if code.is_empty() { String::new() } else { format!(" ({code})") };
    let message = format!("the gate `{name}` says no{code}: {}", said(message));
    let faults = faults.iter().take(FAULTS_MAX).map(fault).collect();
    Refusal::new(Code::GateRejected, message).at(at).with(faults)
}

fn said(message: &str) -> String {
    let words = bounded(message, WORDS_CHARS_MAX);
    if words.is_empty() { "it gives no reason".to_owned() } else { words }
}

fn fault(fault: &RemoteFault) -> Fault {
    let path = bounded(&fault.path, FAULT_CHARS_MAX);
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    let expected = bounded(&fault.expected, FAULT_CHARS_MAX);
    let expected = if expected.is_empty() { "what the gate takes".to_owned() } else { expected };
    let found = Fault::new(path, Code::GateRejected, expected);
    let actual = bounded(&fault.actual, FAULT_CHARS_MAX);
    if actual.is_empty() { found } else { found.found(actual) }
}

/// The beginning of a text on one line, without signs that steer a terminal.
fn bounded(text: &str, chars_max: usize) -> String {
    let plain = text.trim().chars().map(|one| if one.is_control() { ' ' } else { one });
    plain.take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(name: &str, at: GateName, answer: RemoteAnswer) -> RemoteFinding {
        RemoteFinding { name: name.to_owned(), at, answer }
    }

    fn facts(remote: Vec<RemoteFinding>) -> GateFacts {
        GateFacts { remote, ..GateFacts::default() }
    }

    fn no(message: &str) -> RemoteAnswer {
        let fault = RemoteFault { path: "text".into(), expected: String::new(), actual: "4111…".into() };
        RemoteAnswer::Rejects { code: "CARD".into(), message: message.into(), faults: vec![fault; 40] }
    }

    /// GOV-1.3, GOV-1.5: a no is a refusal of the gate it stands beside, in its own words, cut to size.
    #[test]
    fn a_no_is_a_refusal_in_its_own_words() {
        let told =
            facts(vec![finding("pii", GateName::Policy, no(&format!("a\u{1b}[31m{}", "b".repeat(9_000))))]);
        assert!(check(&told, GateName::Schema).is_ok());
        let refusal = check(&told, GateName::Policy).unwrap_err();
        assert_eq!((refusal.code, refusal.gate), (Code::GateRejected, Some(GateName::Policy)));
        assert!(
            refusal.message.starts_with("the gate `pii` says no (CARD): a [31mbbb"),
            "{}",
            refusal.message
        );
        assert!(refusal.message.chars().count() < 600 && refusal.errors.len() == FAULTS_MAX);
        assert_eq!(refusal.errors[0].path, "/text");
        assert!(refusal.errors[0].expected.as_ref().is_some_and(|words| !words.is_empty()));
    }

    /// GOV-1.6, D2: who wants to be asked again, or cannot be asked, puts the write off, for a bounded time.
    #[test]
    fn the_longest_wait_counts_within_bounds() {
        let day = RemoteAnswer::Defers { after: Period::from_days(1), message: "busy".into() };
        let told = facts(vec![
            finding("a", GateName::Schema, RemoteAnswer::Unreachable),
            finding("b", GateName::Policy, day),
            finding("c", GateName::Dedup, RemoteAnswer::Accepts),
        ]);
        let refusal = settled(&told).unwrap_err();
        assert_eq!((refusal.code, refusal.gate), (Code::GateDeferred, Some(GateName::Policy)));
        assert_eq!(refusal.retry_after, Some(DEFERRAL_MAX));
        let down =
            settled(&facts(vec![finding("a", GateName::Schema, RemoteAnswer::Unreachable)])).unwrap_err();
        assert_eq!((down.code, down.retry_after), (Code::GateUnreachable, Some(UNREACHABLE_AFTER)));
        assert!(settled(&facts(vec![finding("c", GateName::Dedup, RemoteAnswer::Accepts)])).is_ok());
    }
}
