//! The schema gate: shape, types and ranges. It reports every fault, not only the first.

use super::read::pointer;
use super::request::{EvidenceDraft, Replaces, WriteDraft, WriteRequest};
use super::runner::{REPORTS_MAX, ReportDraft, TestReport};
use super::{GateName, OnConflict, Strictness};
use crate::access::{NAME_RULE, is_name};
use crate::canonical::{nfc, unhex32};
use crate::error::{Code, Fault, Refusal};
use crate::item::{Classification, Content, Layer, Secrecy, TierWish, Triple};
use crate::provenance::{Evidence, SourceType};
use crate::text::{LEGIBLE, is_legible};
use crate::time::{Lifetime, Timestamp};
use serde_json::{Map, Value};
use std::str::FromStr;

/// The longest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 65_536;
/// The longest key, in characters.
pub const KEY_CHARS_MAX: usize = 256;
const WORD_CHARS_MAX: usize = 64;
const TRIPLE_CHARS_MAX: usize = 1_024;
const FIELDS_MAX: usize = 64;
const FIELD_DEPTH_MAX: usize = 16;
const FIELDS_BYTES_MAX: usize = 65_536;
const TAGS_MAX: usize = 32;
const DOMAINS_MAX: usize = 16;
const LIST_MAX: usize = 32;
const NOTE_CHARS_MAX: usize = 1_024;
const ID_CHARS_MAX: usize = 128;
const URI_CHARS_MAX: usize = 2_048;
const EXCERPT_BYTES_MAX: usize = 16_384;

pub(super) fn not_canonical() -> Refusal {
    let fault = Fault::new("/fields", Code::ConstraintViolation, "numbers that JSON can carry");
    Refusal::new(Code::SchemaInvalid, "the content has no canonical form")
        .at(GateName::Schema)
        .with(vec![fault])
}

impl WriteDraft {
    /// Proves every field, or says all that is wrong.
    ///
    /// # Errors
    /// With every fault found, those of reading included; or `NotFound` when the path names no item.
    pub fn check(self) -> Result<WriteRequest, Refusal> {
        super::relation::settled(self).proven()
    }

    fn proven(self) -> Result<WriteRequest, Refusal> {
        // A path that names no item is missing like any other; it must not become an insert.
        if self.item.as_ref().is_some_and(|item| item.parse::<crate::id::ItemId>().is_err()) {
            return Err(Refusal::not_found());
        }
        let mut rules = Rules { faults: self.faults };
        let rules_ref = &mut rules;
        let replaces = rules_ref.replaces(self.item.as_deref(), self.supersedes.as_deref());
        let request = WriteRequest {
            content: Content {
                kind: rules_ref.word("/kind", self.kind, "note"),
                key: rules_ref.short("/key", self.key, KEY_CHARS_MAX).map(nfc),
                text: nfc(rules_ref.statement(self.text)),
                triple: self.triple.map(|triple| Triple {
                    subject: rules_ref.required("/triple/subject", triple.subject, TRIPLE_CHARS_MAX),
                    predicate: rules_ref.required("/triple/predicate", triple.predicate, TRIPLE_CHARS_MAX),
                    object: rules_ref.required("/triple/object", triple.object, TRIPLE_CHARS_MAX),
                }),
                fields: rules_ref.fields(with_tests(self.fields, self.tests)),
                tags: rules_ref.list("/tags", self.tags, TAGS_MAX, WORD_CHARS_MAX),
                secrecy: Secrecy {
                    classification: rules_ref.choice(
                        "/classification",
                        self.classification,
                        Classification::default(),
                        Classification::from_word,
                        Classification::words,
                    ),
                    domains: rules_ref
                        .list("/domains", self.domains, DOMAINS_MAX, WORD_CHARS_MAX)
                        .into_iter()
                        .collect(),
                },
            },
            layer: rules_ref.choice("/layer", self.layer, Layer::Episodic, Layer::from_word, Layer::words),
            tier: rules_ref.choice("/tier", self.tier, TierWish::Auto, TierWish::from_word, TierWish::words),
            namespace: rules_ref.namespace(self.namespace),
            write_policy: self.write_policy.map(|policy| {
                rules_ref.choice(
                    "/write_policy",
                    Some(policy),
                    Strictness::Strict,
                    Strictness::from_word,
                    Strictness::words,
                )
            }),
            confidence: rules_ref.share("/confidence", self.confidence, 0.5),
            test_reports: rules_ref.reports(self.test_reports),
            evidence: rules_ref.evidence(self.evidence),
            resources: self
                .resources
                .map(|names| rules_ref.list("/resources", names, LIST_MAX, ID_CHARS_MAX)),
            derived_from: rules_ref.list("/derived_from", self.derived_from, LIST_MAX, ID_CHARS_MAX),
            justification: rules_ref.short("/justification", self.justification, NOTE_CHARS_MAX),
            session_id: rules_ref.short("/session_id", self.session_id, ID_CHARS_MAX),
            task_id: rules_ref.short("/task_id", self.task_id, ID_CHARS_MAX),
            trace_id: rules_ref.short("/trace_id", self.trace_id, ID_CHARS_MAX),
            agent_version: rules_ref.parsed(
                "/agent_version",
                self.agent_version,
                semver,
                "a version such as 1.2.3",
            ),
            ttl: rules_ref.parsed(
                "/ttl",
                self.ttl,
                |text| Lifetime::from_str(text).ok(),
                "an ISO 8601 duration of at most 1,000 years, such as PT15M, P90D or P1Y",
            ),
            request_id: rules_ref.parsed("/request_id", self.request_id, uuid, "a UUID"),
            idempotency_token: rules_ref.parsed(
                "/idempotency_token",
                self.idempotency_token,
                unhex32,
                "64 hex digits",
            ),
            deadline: rules_ref.time("/deadline", self.deadline),
            replaces,
            expected_version: rules_ref.parsed(
                "/expected_version",
                self.expected_version,
                |text| text.parse().ok(),
                "a version id",
            ),
            on_conflict: self.on_conflict.map(|word| {
                let word = Some(word);
                rules_ref.choice(
                    "/on_conflict",
                    word,
                    OnConflict::Reject,
                    OnConflict::from_word,
                    OnConflict::words,
                )
            }),
        };
        if rules.faults.is_empty() { Ok(request) } else { Err(refuse(rules.faults)) }
    }
}

/// Named values with the tests of a procedure among them.
fn with_tests(mut fields: Map<String, Value>, tests: Vec<Value>) -> Map<String, Value> {
    if !tests.is_empty() {
        fields.insert(super::procedure::FIELD.to_owned(), Value::Array(tests));
    }
    fields
}

pub(super) fn refuse(faults: Vec<Fault>) -> Refusal {
    let places: Vec<&str> = faults.iter().take(5).map(|fault| fault.path.as_str()).collect();
    let more = if faults.len() > places.len() { ", …" } else { "" };
    let message = format!("{} field(s) break a rule: {}{more}", faults.len(), places.join(", "));
    Refusal::new(Code::SchemaInvalid, message).at(GateName::Schema).with(faults)
}

/// Applies rules to fields and collects what breaks them.
struct Rules {
    faults: Vec<Fault>,
}

impl Rules {
    fn fault(&mut self, path: &str, expected: impl Into<String>) {
        self.faults.push(Fault::new(path, Code::ConstraintViolation, expected));
    }

    fn missing(&mut self, path: &str, expected: &str) {
        let known = self.faults.iter().any(|fault| fault.path == path);
        if !known {
            self.faults.push(Fault::new(path, Code::MissingRequiredField, expected));
        }
    }

    fn statement(&mut self, text: Option<String>) -> String {
        let rule = format!("1 to {TEXT_BYTES_MAX} bytes {LEGIBLE}");
        match text {
            None => self.missing("/text", &rule),
            Some(text) if !is_legible(&text) || text.len() > TEXT_BYTES_MAX => self.fault("/text", rule),
            Some(text) => return text,
        }
        String::new()
    }

    fn short(&mut self, path: &str, text: Option<String>, max: usize) -> Option<String> {
        let text = text?;
        if !is_legible(&text) || text.chars().count() > max {
            self.fault(path, format!("1 to {max} characters {LEGIBLE}"));
        }
        Some(text)
    }

    fn required(&mut self, path: &str, text: Option<String>, max: usize) -> String {
        if text.is_none() {
            self.missing(path, &format!("1 to {max} characters"));
        }
        self.short(path, text, max).unwrap_or_default()
    }

    fn word(&mut self, path: &str, text: Option<String>, default: &str) -> String {
        let Some(text) = text else { return default.to_owned() };
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
        if text.is_empty() || text.len() > WORD_CHARS_MAX || !text.bytes().all(fits) {
            self.fault(path, "1 to 64 of a-z 0-9 _ . -");
        }
        text
    }

    /// A namespace is named as users, agents and resources are (AM-14).
    fn namespace(&mut self, text: Option<String>) -> String {
        let Some(text) = text else { return "default".to_owned() };
        if !is_name(&text) {
            self.fault("/namespace", NAME_RULE);
        }
        text
    }

    fn choice<T>(
        &mut self,
        path: &str,
        text: Option<String>,
        default: T,
        of: fn(&str) -> Option<T>,
        words: fn() -> String,
    ) -> T {
        let Some(text) = text else { return default };
        match of(&text) {
            Some(value) => value,
            None => {
                self.fault(path, format!("one of {}", words()));
                default
            }
        }
    }

    fn share(&mut self, path: &str, number: Option<f64>, default: f64) -> f64 {
        let number = number.unwrap_or(default);
        if !(0.0..=1.0).contains(&number) {
            self.faults.push(
                Fault::new(path, Code::ConstraintViolation, "a number from 0 to 1").found(number.to_string()),
            );
        }
        number
    }

    fn parsed<T>(
        &mut self,
        path: &str,
        text: Option<String>,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Option<T> {
        let text = text?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.fault(path, expected);
        }
        parsed
    }

    fn time(&mut self, path: &str, text: Option<String>) -> Option<Timestamp> {
        self.parsed(path, text, |text| text.parse().ok(), "an RFC 3339 time such as 2026-11-15T00:00:00Z")
    }

    fn list(&mut self, path: &str, texts: Vec<String>, count: usize, max: usize) -> Vec<String> {
        if texts.len() > count {
            self.fault(path, format!("at most {count} entries"));
        }
        for (place, text) in texts.iter().enumerate().take(count) {
            if !is_legible(text) || text.chars().count() > max {
                self.fault(&format!("{path}/{place}"), format!("1 to {max} characters {LEGIBLE}"));
            }
        }
        texts
    }

    fn fields(&mut self, fields: Map<String, Value>) -> Map<String, Value> {
        if fields.len() > FIELDS_MAX {
            self.fault("/fields", format!("at most {FIELDS_MAX} fields"));
        }
        let bytes: usize = fields.iter().map(|(name, value)| name.len() + size_of_json(value)).sum();
        if bytes > FIELDS_BYTES_MAX {
            self.fault("/fields", format!("at most {FIELDS_BYTES_MAX} bytes together"));
        }
        for (name, value) in &fields {
            if depth(value) > FIELD_DEPTH_MAX {
                self.fault(
                    &format!("/fields/{}", pointer(name)),
                    format!("nested at most {FIELD_DEPTH_MAX} deep"),
                );
                continue;
            }
            if let Some(path) = illegible(name, value, "/fields") {
                self.fault(&path, format!("names and texts {LEGIBLE}"));
            }
        }
        fields
    }

    fn evidence(&mut self, drafts: Vec<EvidenceDraft>) -> Vec<Evidence> {
        if drafts.len() > LIST_MAX {
            self.fault("/evidence", format!("at most {LIST_MAX} entries"));
        }
        drafts
            .into_iter()
            .take(LIST_MAX)
            .enumerate()
            .map(|(place, draft)| self.one_evidence(place, draft))
            .collect()
    }

    fn one_evidence(&mut self, place: usize, draft: EvidenceDraft) -> Evidence {
        let at = |name: &str| format!("/evidence/{place}/{name}");
        if draft.source_type.is_none() {
            self.missing(&at("source_type"), SourceType::WORDS);
        }
        let words = || SourceType::WORDS.to_owned();
        let source_type = self.choice(
            &at("source_type"),
            draft.source_type,
            SourceType::AgentReasoning,
            SourceType::from_word,
            words,
        );
        if draft.accessed_at.is_none() {
            self.missing(&at("accessed_at"), "an RFC 3339 time");
        }
        let accessed_at = self.time(&at("accessed_at"), draft.accessed_at).unwrap_or_default();
        // Whether a document is official, and how far an item can be relied on, is found out later.
        let authority = self.share(&at("authority"), draft.authority, 1.0);
        let quotes = |excerpt: &String| is_empty_or_legible(excerpt) && excerpt.len() <= EXCERPT_BYTES_MAX;
        if draft.excerpt.as_ref().is_some_and(|excerpt| !quotes(excerpt)) {
            self.fault(&at("excerpt"), format!("at most {EXCERPT_BYTES_MAX} bytes {LEGIBLE}"));
        }
        if draft.excerpt_hash.as_ref().is_some_and(|hash| unhex32(hash).is_none()) {
            self.fault(&at("excerpt_hash"), "64 hex digits");
        }
        Evidence {
            source_type,
            source_uri: self.required(&at("source_uri"), draft.source_uri, URI_CHARS_MAX),
            source_version: self.short(&at("source_version"), draft.source_version, ID_CHARS_MAX),
            accessed_at: accessed_at.to_string(),
            authority: authority.min(source_type.authority_official()),
            excerpt: draft.excerpt,
            excerpt_hash: draft.excerpt_hash,
            source_item_id: self.short(&at("source_item_id"), draft.source_item_id, ID_CHARS_MAX),
        }
    }

    fn reports(&mut self, drafts: Vec<ReportDraft>) -> Vec<TestReport> {
        if drafts.len() > REPORTS_MAX {
            self.fault("/test_reports", format!("at most {REPORTS_MAX} entries"));
        }
        let drafts = drafts.into_iter().take(REPORTS_MAX).enumerate();
        drafts.filter_map(|(place, draft)| self.one_report(place, draft)).collect()
    }

    /// A report is what was signed: its texts stay as they are.
    fn one_report(&mut self, place: usize, draft: ReportDraft) -> Option<TestReport> {
        let at = |name: &str| format!("/test_reports/{place}/{name}");
        let mut given = |name: &str, text: Option<String>, fits: fn(&str) -> bool, rule: &str| {
            match &text {
                None => self.missing(&at(name), rule),
                Some(text) if !fits(text) => self.fault(&at(name), rule),
                Some(_) => {}
            }
            text
        };
        let word = |text: &str| (1..=WORD_CHARS_MAX).contains(&text.len());
        let runner = given("runner", draft.runner, word, "the name of a runner");
        let hash = |text: &str| unhex32(text).is_some();
        let content_hash = given("content_hash", draft.content_hash, hash, "64 hex digits");
        let time = |text: &str| text.parse::<Timestamp>().is_ok();
        let ran_at = given("ran_at", draft.ran_at, time, "an RFC 3339 time");
        let signature = given("signature", draft.signature, |text| unhex64(text).is_some(), "128 hex digits");
        if draft.passed.is_none() {
            self.missing(&at("passed"), "true or false");
        }
        Some(TestReport {
            runner: runner?,
            content_hash: content_hash?,
            passed: draft.passed?,
            ran_at: ran_at?,
            signature: unhex64(&signature?)?,
        })
    }

    fn replaces(&mut self, item: Option<&str>, supersedes: Option<&str>) -> Option<Replaces> {
        if let Some(item) = item {
            if supersedes.is_some() {
                self.fault("/supersedes", "absent: the path names the item already");
            }
            return item.parse().ok().map(Replaces::Item);
        }
        let text = supersedes?;
        let item = text.parse().ok().map(Replaces::Superseded);
        let version = || text.parse().ok().map(Replaces::SupersededVersion);
        let replaces = item.or_else(version);
        if replaces.is_none() {
            self.fault("/supersedes", "an item id or a version id");
        }
        replaces
    }
}

/// Whether a text is empty or can be read.
fn is_empty_or_legible(text: &str) -> bool {
    text.is_empty() || is_legible(text)
}

/// Where in a named value a name or a text cannot be read, if anywhere. A text may be empty; a name may not.
fn illegible(name: &str, value: &Value, at: &str) -> Option<String> {
    let path = format!("{at}/{}", pointer(name));
    if !is_legible(name) {
        return Some(path);
    }
    match value {
        Value::String(text) => (!is_empty_or_legible(text)).then_some(path),
        Value::Array(values) => {
            values.iter().enumerate().find_map(|(place, value)| illegible(&place.to_string(), value, &path))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| illegible(name, value, &path)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn depth(value: &Value) -> usize {
    let inner = |deepest: Option<usize>| 1 + deepest.unwrap_or(0);
    match value {
        Value::Array(values) => inner(values.iter().map(depth).max()),
        Value::Object(fields) => inner(fields.values().map(depth).max()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn size_of_json(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(size_of_json).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + 3 + size_of_json(value)).sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn unhex64(text: &str) -> Option<[u8; 64]> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    data_encoding::HEXLOWER_PERMISSIVE.decode(groups.concat().as_bytes()).ok()?.try_into().ok()
}

fn semver(text: &str) -> Option<String> {
    let core = text.split(['-', '+']).next()?;
    let numbers: Vec<&str> = core.split('.').collect();
    let numeric = numbers
        .iter()
        .all(|part| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit()));
    (numbers.len() == 3 && numeric && text.len() <= WORD_CHARS_MAX && text.is_ascii())
        .then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{IDENTITY_FIELDS, read_write};
    use serde_json::json;

    fn faults(body: Value) -> Vec<(String, Code)> {
        match read_write(body).and_then(WriteDraft::check) {
            Ok(_) => Vec::new(),
            Err(refusal) => refusal.errors.into_iter().map(|fault| (fault.path, fault.code)).collect(),
        }
    }

    fn check(body: Value, expected: &[(&str, Code)]) {
        let expected: Vec<_> = expected.iter().map(|(path, code)| ((*path).to_owned(), *code)).collect();
        assert_eq!(faults(body), expected);
    }

    #[test]
    fn defaults_fill_what_is_left_out() {
        let request = read_write(json!({"text": "Port 8080 serves the API"})).unwrap().check().unwrap();
        assert_eq!(request.layer, Layer::Episodic);
        assert_eq!((request.namespace.as_str(), request.content.kind.as_str()), ("default", "note"));
        assert_eq!(request.confidence, 0.5);
    }

    #[test]
    fn every_fault_is_named_at_once() {
        check(
            json!({"text": 5, "confidence": 1.2, "layer": "deep", "colour": "red", "triple": {"subject": "a", "x": 1}}),
            &[
                ("/text", Code::TypeMismatch),
                ("/triple/x", Code::UnknownField),
                ("/colour", Code::UnknownField),
                ("/triple/predicate", Code::MissingRequiredField),
                ("/triple/object", Code::MissingRequiredField),
                ("/layer", Code::ConstraintViolation),
                ("/confidence", Code::ConstraintViolation),
            ],
        );
        check(json!({}), &[("/text", Code::MissingRequiredField)]);
        check(json!({"text": " "}), &[("/text", Code::ConstraintViolation)]);
        check(
            json!({"text": "\u{200b}\u{feff}", "key": "a\0b", "tags": ["\u{2060}"], "fields": {"a": {"b\0": 1}, "\u{ad}": 2, "c": ""}}),
            &["/key", "/text", "/fields/a/b\0", "/fields/\u{ad}", "/tags/0"]
                .map(|path| (path, Code::ConstraintViolation)),
        );
        check(json!({"text": "a", "tags": ["x", 3]}), &[("/tags/1", Code::TypeMismatch)]);
        check(
            json!({"text": "a", "evidence": [{"source_type": "rumour", "source_uri": "x", "accessed_at": "now"}]}),
            &[
                ("/evidence/0/source_type", Code::ConstraintViolation),
                ("/evidence/0/accessed_at", Code::ConstraintViolation),
            ],
        );
        check(
            json!({"text": "a", "deadline": "soon", "ttl": "1h", "request_id": "1", "idempotency_token": "zz"}),
            &[
                ("/ttl", Code::ConstraintViolation),
                ("/request_id", Code::ConstraintViolation),
                ("/idempotency_token", Code::ConstraintViolation),
                ("/deadline", Code::ConstraintViolation),
            ],
        );
    }

    /// SHARE-28: who acts is what the credential says.
    #[test]
    fn identity_in_the_body_is_refused() {
        for name in IDENTITY_FIELDS {
            let refusal = read_write(json!({"text": "a", name: "x"})).unwrap_err();
            assert_eq!(refusal.code, Code::IdentityInBody, "{name}");
        }
        assert_eq!(read_write(json!([])).unwrap_err().code, Code::Malformed);
    }
}
