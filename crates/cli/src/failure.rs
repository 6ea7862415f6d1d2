//! What went wrong, and what to do next.
//!
//! Invariant: every way of failing ends in a message that names the next step where there is one, and in exit code 1; 3 says
//! that a data directory is not whole, so that starting again does not help.

use crate::output::Output;
use serde_json::{Value, json};
use std::io;
use std::process::ExitCode;
use tabellion_engine::OpenError;
use tabellion_server::ServeError;

/// The exit code of a process that found a data directory not whole.
pub(crate) const NOT_WHOLE: u8 = 3;

/// A request that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server answered and said no.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The body as it came.
        text: String,
        /// The body as JSON.
        refusal: Value,
        /// When to try again, in seconds.
        retry_after_s: Option<u64>,
        /// Whether a credential was sent.
        with_key: bool,
    },
    /// The beginning of an id is that of several.
    Ambiguous {
        /// What was given.
        short: String,
        /// The ids that begin so.
        ids: Vec<String>,
    },
    /// No answer came.
    Unreachable {
        /// Where it was sought.
        url: String,
        /// What happened.
        cause: String,
        /// Whether nothing listens there.
        is_refused: bool,
    },
}

impl Failure {
    pub(crate) fn refused(
        status: u16,
        text: String,
        refusal: Value,
        retry_after_s: Option<u64>,
        with_key: bool,
    ) -> Self {
        Self::Refused { status, text, refusal, retry_after_s, with_key }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is the target of map_err")]
    pub(crate) fn unreachable(url: &str, cause: ureq::Error) -> Self {
        let is_refused = matches!(&cause, ureq::Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused)
            || matches!(&cause, ureq::Error::ConnectionFailed);
        Self::Unreachable { url: url.to_owned(), cause: plain_cause(&cause.to_string()), is_refused }
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused { refusal, .. } => {
                refusal.get("code").and_then(Value::as_str).unwrap_or("UNEXPECTED")
            }
            Self::Ambiguous { .. } => "AMBIGUOUS_ID",
            Self::Unreachable { .. } => "UNREACHABLE",
        }
    }

    /// The seconds to wait, if trying again may help.
    pub(crate) fn worth_waiting(&self) -> Option<u64> {
        match self {
            Self::Refused { status: 429 | 503, retry_after_s, .. } => Some(retry_after_s.unwrap_or(1)),
            Self::Refused { .. } | Self::Ambiguous { .. } | Self::Unreachable { .. } => None,
        }
    }

    /// What to do next.
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { retry_after_s: Some(seconds), .. } => {
                Some(format!("try again in {seconds} s; nothing was written"))
            }
            Self::Refused { refusal, with_key, .. } => hint_of(self.code(), *with_key, refusal),
            Self::Ambiguous { .. } => Some("give more of it; --ids shows whole ids".into()),
            Self::Unreachable { is_refused: true, .. } => Some(
                "is the server running? start it with `tabellion serve`, or name another with --url or TABELLION_URL".into(),
            ),
            Self::Unreachable { .. } => Some("`tabellion doctor` looks for the cause".into()),
        }
    }

    /// The failure as programs read it: the server's own words where it said some.
    fn as_json(&self) -> String {
        match self {
            Self::Refused { text, refusal, .. } if refusal.is_object() => text.clone(),
            Self::Refused { .. } | Self::Ambiguous { .. } | Self::Unreachable { .. } => {
                json!({"code": self.code(), "message": self.to_string(), "errors": []}).to_string()
            }
        }
    }

    fn faults(&self) -> &[Value] {
        match self {
            Self::Refused { refusal, .. } => faults_of(refusal),
            Self::Ambiguous { .. } | Self::Unreachable { .. } => &[],
        }
    }

    /// What stands in the way of a refused write.
    fn in_the_way(&self) -> Vec<String> {
        let Self::Refused { refusal, .. } = self else { return Vec::new() };
        let id = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let same = id(refusal, "existing_ref").map(|id| format!("{id} says the same"));
        let against = refusal.get("contradictions").and_then(Value::as_array).into_iter().flatten();
        let against = against.filter_map(|one| {
            let known = id(one, "id")?;
            let text = id(one, "text").map(|text| format!(" “{text}”")).unwrap_or_default();
            Some(format!("it contradicts {known}{text}"))
        });
        same.into_iter().chain(against).collect()
    }

    /// Where the server keeps a refused write.
    fn kept(&self) -> Option<String> {
        let Self::Refused { refusal, .. } = self else { return None };
        let id = refusal.get("refusal_id").and_then(Value::as_str)?;
        let kept = format!("the write is kept: `tabellion writes show {id}`");
        // What breaks a rule of its form breaks it again, however often it is tried.
        let is_misformed = refusal.get("gate").and_then(Value::as_str) == Some("schema");
        Some(if is_misformed {
            kept
        } else {
            format!("{kept}, and `tabellion writes reopen {id}` tries it again")
        })
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { status, text, refusal, .. } => match refusal
                .get("message")
                .and_then(Value::as_str)
            {
                Some(message) => f.write_str(message),
                None => {
                    write!(f, "the server answered {status}: {}", text.chars().take(200).collect::<String>())
                }
            },
            Self::Ambiguous { short, ids } => {
                write!(f, "{short} is the beginning of {} ids: {}", ids.len(), ids.join(", "))
            }
            Self::Unreachable { url, is_refused: true, .. } => write!(f, "nothing answers at {url}"),
            Self::Unreachable { url, cause, .. } => write!(f, "no answer from {url}: {cause}"),
        }
    }
}

impl std::error::Error for Failure {}

/// What the TLS library calls a certificate that is not trusted, and what a person calls it.
const CERTIFICATE: [(&str, &str); 6] = [
    (
        "UnknownIssuer",
        "nobody that is trusted here issued the server's certificate; --ca-cert FILE names who did",
    ),
    (
        "CaUsedAsEndEntity",
        "the server's certificate is that of an authority, which may not serve; issue one for the server",
    ),
    ("Expired", "the server's certificate has expired"),
    ("NotValidYet", "the server's certificate is not valid yet"),
    ("NotValidForName", "the server's certificate is for another name"),
    ("Revoked", "the server's certificate was revoked"),
];

/// A cause without the names of our libraries' types.
fn plain_cause(cause: &str) -> String {
    if !cause.contains("invalid peer certificate") {
        return cause.to_owned();
    }
    let known = CERTIFICATE.iter().find(|(name, _)| cause.contains(name));
    known.map_or("the server's certificate is not accepted", |(_, plain)| plain).to_owned()
}

/// The faults that a refusal lists.
pub(crate) fn faults_of(refusal: &Value) -> &[Value] {
    refusal.get("errors").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// One fault on one line: where, what would pass, what came.
pub(crate) fn fault_line(fault: &Value) -> String {
    let text = |name: &str| fault.get(name).and_then(Value::as_str);
    let place = text("path").filter(|path| !path.is_empty()).unwrap_or("/");
    let mut line = match text("expected") {
        Some(expected) => format!("{place}: expected {expected}"),
        None => format!("{place}: {}", text("code").unwrap_or("not accepted")),
    };
    if let Some(actual) = text("actual") {
        line.push_str(&format!(", got {actual}"));
    }
    line
}

/// What helps with each code; `{request_id}` is put in by the caller.
const HINTS: &[(&str, &str)] = &[
    ("FORBIDDEN", "this needs another role; `tabellion whoami` shows yours"),
    (
        "PAIR_REQUIRED",
        "this key names no user; exchange it and the user's token: `tabellion token`, or make a key of both: `tabellion key create --user NAME --agent NAME`",
    ),
    ("JWT_EXPIRED", "get a new token; `tabellion token` exchanges an agent's key and a user's token for one"),
    (
        "JWT_INVALID",
        "the server takes tokens of its own and of the issuer in its configuration, section [identity]",
    ),
    ("SERVICE_KEY_REQUIRED", "set TABELLION_KEY to the agent's own key: `tabellion key create --agent NAME`"),
    ("SUBJECT_TOKEN_INVALID", "give the user's own API key, or a token that names the user and no agent"),
    ("AGENT_NOT_GRANTED", "an admin lets the user act through the agent: `tabellion grant ua USER AGENT`"),
    (
        "RESOURCE_NOT_GRANTED",
        "leave out that --resource, or have an admin grant it: `tabellion grant ar AGENT RESOURCE`",
    ),
    ("NOT_CONTRIBUTOR", "another user contributed this item; write one of your own"),
    (
        "SHARING_OFF",
        "leave --tier out, or say --tier private; an admin turns sharing on: `tabellion policy set share-all --kind write_shared --share on`",
    ),
    (
        "NOT_FOUND",
        "`tabellion list` shows the items that this key can see; `tabellion history ID` also those retracted",
    ),
    ("LAST_ADMIN", "`tabellion user role NAME admin` makes another user an admin first"),
    ("USER_DISABLED", "an admin lets the user act again: `tabellion user enable NAME`"),
    ("NAME_CONFUSABLE", "choose a name that looks different; the `list` command shows those in use"),
    ("NAME_TAKEN", "choose another name; the `list` command shows those in use"),
    (
        "VERSION_CONFLICT",
        "someone wrote in between: read it again with `tabellion get ID` (or `tabellion review show ID`), then repeat",
    ),
    ("NOT_THE_HEAD", "`tabellion history ID` shows which version is active"),
    ("REQUEST_ID_REUSED", "new content needs a new --request-id"),
    ("TOKEN_INVALID", "a token opens only for the key it was given to; a time works for every key"),
    ("TOKEN_MISMATCH", "leave the idempotency token out; the server computes it"),
    ("EXCERPT_HASH_MISMATCH", "leave excerpt_hash out, or give the SHA-256 of the excerpt"),
    ("MODE_UNAVAILABLE", "use --mode hybrid or --mode lexical"),
    ("WORKING_FULL", "working items lapse by themselves; write to another --layer, or retract some"),
    ("OVERLOADED", "try again; nothing was written"),
    ("RATE_LIMITED", "try again a little slower; nothing was written"),
    (
        "STORAGE_FAILED",
        "nothing was written; on the server, `tabellion doctor --data DIR` looks for the cause",
    ),
    ("DEADLINE_EXCEEDED", "nothing was written; give it a later --deadline"),
    ("MIN_TOKEN_TIMEOUT", "the server is behind; try again"),
    ("TIMEOUT", "try again; writing the same item twice is a replay, not a second item"),
    (
        "HUMAN_REQUIRED",
        "this key acts through an agent; decide with a key of your own: `tabellion key create --user NAME`",
    ),
    (
        "SELF_APPROVAL",
        "ask another person; an admin names one: `tabellion policy set NAME --kind reviewer --reviewer WHO --user WHOSE`",
    ),
    (
        "NO_REVIEWER",
        "an admin names who may decide: `tabellion policy set NAME --kind reviewer --reviewer WHO --user WHOSE`",
    ),
    ("REVIEW_DECIDED", "`tabellion review show ID` says how; `tabellion review next` shows what still waits"),
    ("APPROVAL_REJECTED", "the message has the person's reason; mend it and write again"),
    ("APPROVAL_TIMEOUT", "ask someone to look at `tabellion review list`, then write again"),
    ("POLICY_BLOCKED", "leave out what a policy forbids, or say --tier private"),
    ("POLICY_TOO_LAX", "leave --write-policy out, or ask for a stricter one"),
    ("DEFERRALS_FULL", "`tabellion writes list` shows what waits; slow down, or use `tabellion import`"),
    ("WRITE_BUDGET_EXCEEDED", "start another session, or use `tabellion import`"),
    (
        "WRITES_SUSPENDED",
        "`tabellion whoami` with this key says why; an admin lets the agent write again: `tabellion agent resume NAME --reason …`",
    ),
    ("EVIDENCE_INSUFFICIENT", "add --evidence whose excerpt holds the words of the statement"),
    ("EVIDENCE_AUTHORITY_LOW", "cite sources that count more, or write to a lower --layer"),
    ("EVIDENCE_NOT_INDEPENDENT", "cite a document, a service or a person, not only memory and agents"),
    ("SELF_EVIDENCE", "cite a source that is not the writer's own word"),
    ("CIRCULAR_EVIDENCE", "cite a source that does not rest on the statement itself"),
    ("CONTRADICTION", "the message says which values of --on-conflict would let it through"),
    ("EXACT_DUPLICATE", "it is known already; to change it, say --update ID"),
    ("STRUCTURAL_CONFLICT", "the same statement is known with other fields; to change it, say --update ID"),
    ("SEMANTIC_CONFLICT", "the same meaning is known with other fields; to change it, say --update ID"),
    ("STRUCTURAL_DUPLICATE", "it is known already; to change it, say --update ID"),
    ("SEMANTIC_DUPLICATE", "it is known already in other words; to change it, say --update ID"),
    ("GONE", "the content was destroyed for good; `tabellion history ID` shows what stood there"),
    ("TOO_LARGE", "send less at once; `tabellion import` takes files of any length, line by line"),
    ("OUTCOME_KNOWN", "it was reported before; nothing is left to do"),
    (
        "EMBEDDER_UNAVAILABLE",
        "the server's embedding model gives no answer; try again, or use --mode lexical",
    ),
    ("RATE_EXCEEDED", "slow down; `tabellion writes list` shows what waits"),
    ("RETRY_EXHAUSTED", "the write was tried often enough; write it again later"),
    ("TESTS_FAILED", "mend the text until its --test holds; the faults above name what does not"),
    ("GATE_REJECTED", "a gate of the operator refused it; the message has its reason"),
    ("GATE_DEFERRED", "it is kept and tried again by itself: `tabellion writes list`"),
    ("GATE_UNREACHABLE", "it is kept and tried again by itself: `tabellion writes list`"),
    ("SCRIBE_UNREACHABLE", "it is kept and tried again by itself: `tabellion writes list`"),
    ("CONSENSUS_MISSING", "add --evidence whose excerpt says what the text says"),
    ("OUT_OF_BOUNDS", "`tabellion policy list` shows where this agent may write"),
    ("KNOWLEDGE_DENIES", "the operator's knowledge base has another value; correct the text"),
    ("RESOURCE_NOT_CONFIGURED", "the operator names its address in the configuration, under [[resources]]"),
    ("RESOURCE_UNAVAILABLE", "try again later; the server's log has the cause"),
    ("RESOURCE_FAILED", "change what was asked of it; the message has its own words"),
    ("ORCHESTRATOR_OFF", "the operator switches it on in the configuration, under [orchestrator]"),
    ("INTERNAL", "a fault of the server; its log has the details under the request id {request_id}"),
];

/// What helps to find what is no item, by what the message calls it.
const NOT_FOUND: &[(&str, &str)] = &[
    ("review", "`tabellion review list --state all` shows those that this key can see"),
    ("write", "`tabellion writes list` shows those that are kept for this key"),
    ("edge", "an admin or auditor sees the edges that stand: `tabellion edge list`"),
    (
        "resource",
        "an admin sees the resources of this tenant (`tabellion resource list`) and who may use them (`tabellion edge list`)",
    ),
    ("agent", "an admin sees the agents of this tenant: `tabellion agent list`"),
    ("user", "an admin sees the users of this tenant: `tabellion user list`"),
    ("role", "an admin or auditor sees the roles of this tenant: `tabellion role list`"),
    ("key", "an admin sees the keys of this tenant: `tabellion key list`"),
    ("policy", "`tabellion policy list` shows the policies that this key can see"),
];

/// What helps where a thing does not stand as it would have to, by what the message calls it; else it is about a version.
const NOT_THE_HEAD: &[(&str, &str)] = &[
    (
        "edge",
        "`tabellion role unassign ROLE MEMBER` takes the role away; `tabellion role list` shows what it brings",
    ),
    (
        "role",
        "`tabellion role list` shows which role includes it; set that one without it first: `tabellion role set`",
    ),
    (
        "quarantine",
        "a moderator sees what is in quarantine: `tabellion list --quarantined --moderate REASON`",
    ),
];

fn hint_of(code: &str, with_key: bool, refusal: &Value) -> Option<String> {
    if code == "UNAUTHENTICATED" {
        return Some(if with_key {
            "the key was not accepted: it may be revoked, expired or of another server (an admin makes a new one: `tabellion key create`), or its \
             user is disabled (an admin enables the user: `tabellion user enable NAME`)"
                .into()
        } else {
            "set TABELLION_KEY to a key; the first start of a server prints the admin's, and `tabellion key create` makes more"
                .into()
        });
    }
    if code == "CONTRADICTION"
        && let Some(hint) = conflict_hint(refusal)
    {
        return Some(hint);
    }
    let message = refusal.get("message").and_then(Value::as_str).unwrap_or_default();
    let by_message = match code {
        "NOT_FOUND" => NOT_FOUND,
        "NOT_THE_HEAD" => NOT_THE_HEAD,
        _ => &[],
    };
    if let Some((_, hint)) = by_message.iter().find(|(what, _)| message.contains(what)) {
        return Some((*hint).to_owned());
    }
    let is_cursor = |fault: &Value| field_of(fault, "path").ends_with("/cursor");
    if code == "TOKEN_INVALID" && faults_of(refusal).iter().any(is_cursor) {
        return Some(
            "leave --cursor out to begin with the first page; a cursor holds for its own listing and key"
                .to_owned(),
        );
    }
    let request_id = refusal.get("request_id").and_then(Value::as_str).unwrap_or("unknown");
    HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| hint.replace("{request_id}", request_id))
}

fn field_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The values of --on-conflict that would help here, as the server names them; nothing if it names none.
fn conflict_hint(refusal: &Value) -> Option<String> {
    let of_field = |fault: &&Value| fault.get("path").and_then(Value::as_str) == Some("/on_conflict");
    let expected = faults_of(refusal).iter().find(of_field)?.get("expected")?.as_str()?;
    let helps =
        |value: &&(&str, &str)| expected.split(", ").any(|part| part.split(' ').next() == Some(value.0));
    let words = [
        ("supersede", "supersede to replace what it contradicts"),
        ("keep_both", "keep_both to keep both"),
        ("review", "review to have a person decide"),
    ];
    let offered: Vec<&str> = words.iter().filter(helps).map(|(_, hint)| *hint).collect();
    if offered.is_empty() {
        Some(expected.to_owned())
    } else {
        Some(format!("say --on-conflict {}", offered.join(", or ")))
    }
}

/// Prints an error and tells the exit code. A reader that went away is no error.
pub(crate) fn report(error: &anyhow::Error, output: &Output) -> ExitCode {
    let not_whole = is_not_whole(error);
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let failure = error.downcast_ref::<Failure>();
    if output.is_json() {
        let code = if not_whole { "NOT_WHOLE" } else { "FAILED" };
        let plain = || json!({"code": code, "message": format!("{error:#}"), "errors": []}).to_string();
        // A reader that went away gets nothing; the exit code still tells.
        let _gone = output.raw_json(&failure.map_or_else(plain, Failure::as_json));
    }
    for line in lines(error) {
        output.complain(&line);
    }
    if not_whole { NOT_WHOLE.into() } else { ExitCode::FAILURE }
}

/// Whether a data directory was refused because it lost something, or is not what was witnessed.
fn is_not_whole(error: &anyhow::Error) -> bool {
    let opened = error.downcast_ref::<OpenError>().or_else(|| match error.downcast_ref::<ServeError>() {
        Some(ServeError::Open(error)) => Some(error),
        _ => None,
    });
    opened.is_some_and(OpenError::is_not_whole)
}

/// One line of a complaint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// What went wrong.
    Error(String),
    /// Where.
    Fault(String),
    /// What to do next.
    Hint(String),
}

fn lines(error: &anyhow::Error) -> Vec<Line> {
    let Some(failure) = error.downcast_ref::<Failure>() else {
        // A data directory may have several faults, one a line.
        return format!("{error:#}").lines().map(|line| Line::Error(line.to_owned())).collect();
    };
    let headline = match failure {
        Failure::Refused { .. } => format!("{}: {failure}", failure.code()),
        Failure::Ambiguous { .. } | Failure::Unreachable { .. } => failure.to_string(),
    };
    let (inner, outer) = (failure.to_string(), error.to_string());
    let around = (inner != outer).then_some(Line::Fault(outer));
    let faults = failure.faults().iter().map(|fault| Line::Fault(fault_line(fault)));
    let in_the_way = failure.in_the_way().into_iter().map(Line::Fault);
    let hint = failure.hint().map(Line::Hint);
    let kept = failure.kept().map(Line::Hint);
    let rest = faults.chain(in_the_way).chain(around).chain(hint).chain(kept);
    std::iter::once(Line::Error(headline)).chain(rest).collect()
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::error::Code;

    fn rendered(status: u16, refusal: Value, with_key: bool) -> String {
        let failure = Failure::refused(status, refusal.to_string(), refusal, None, with_key);
        let rendered = lines(&failure.into()).into_iter().map(|line| match line {
            Line::Error(text) => format!("error: {text}"),
            Line::Fault(text) => format!("  {text}"),
            Line::Hint(text) => format!("hint: {text}"),
        });
        rendered.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_fault_has_its_line() {
        let refusal = json!({"code": "SCHEMA_INVALID", "message": "2 faults", "gate": "schema", "errors": [
            {"path": "/confidence", "code": "CONSTRAINT_VIOLATION", "expected": "a number from 0 to 1", "actual": "7"},
            {"path": "/text", "code": "MISSING_REQUIRED_FIELD"}]});
        assert_eq!(
            rendered(422, refusal, true),
            "error: SCHEMA_INVALID: 2 faults\n  /confidence: expected a number from 0 to 1, got 7\n  /text: MISSING_REQUIRED_FIELD"
        );
    }

    #[test]
    fn a_hint_fits_what_was_done() {
        let refusal = json!({"code": "UNAUTHENTICATED", "message": "no credential", "errors": []});
        assert!(rendered(401, refusal.clone(), false).contains("hint: set TABELLION_KEY to a key"));
        assert!(rendered(401, refusal, true).contains("hint: the key was not accepted"));
        let refusal = json!({"code": "INTERNAL", "message": "a fault of ours", "request_id": "r-7"});
        assert!(rendered(500, refusal, true).ends_with("under the request id r-7"));
    }

    #[test]
    fn an_answer_of_something_else_is_shown_as_it_is() {
        let failure = Failure::refused(502, "<html>Bad Gateway".into(), Value::Null, None, true);
        assert_eq!(failure.to_string(), "the server answered 502: <html>Bad Gateway");
        assert_eq!(failure.code(), "UNEXPECTED");
        let json: Value = serde_json::from_str(&failure.as_json()).unwrap();
        assert_eq!(json["code"], "UNEXPECTED");
    }

    #[test]
    fn hints_are_for_codes_that_exist() {
        for (code, _) in HINTS {
            assert!(Code::ALL.iter().any(|known| known.as_str() == *code), "{code}");
        }
    }

    #[test]
    fn refusals_that_pass_are_waited_for() {
        let failure = |status, seconds| Failure::refused(status, String::new(), Value::Null, seconds, true);
        assert_eq!(failure(503, Some(3)).worth_waiting(), Some(3));
        assert_eq!(failure(429, None).worth_waiting(), Some(1));
        assert_eq!(failure(409, None).worth_waiting(), None);
    }
}
