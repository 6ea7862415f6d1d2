//! What does a person have to see before deciding on a held write?
//!
//! Takes a review as REST gives it and the items that it touches; gives plain data that a terminal and a page lay out alike.
//! INVARIANT (all is visible): every text in a dossier has been through `visible`, so nothing in it hides or steers. It is
//! not escaped for any format: that is the job of whoever lays it out.

mod diff;
mod visible;

pub use diff::{Piece, compare};
pub use visible::{visible, visible_line};

use serde_json::Value;
use tabellion_core::error::Code;
use tabellion_core::provenance::SourceType;
use tabellion_core::time::{Period, Timestamp};

/// Items that a review is compared with at most.
const COMPARED_MAX: usize = 8;

/// A held write, with all that speaks for and against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Dossier {
    /// The review.
    pub id: String,
    /// How it stands.
    pub state: String,
    /// R, from 0 to 1.
    pub risk: f64,
    /// Whether the writer waits for the decision.
    pub writer_waits: bool,
    /// Whether it is kept apart because it does not fit what is known yet: then others can bear it out too.
    pub kept_apart: bool,
    /// Whether the time for a decision has passed.
    pub overdue: bool,
    /// What the write says, as it was written.
    pub text: String,
    /// What else the write says of itself, by name.
    pub about: Vec<(&'static str, String)>,
    /// How the review stands, by name.
    pub facts: Vec<(&'static str, String)>,
    /// Why it waits.
    pub causes: Vec<Cause>,
    /// What makes it risky.
    pub factors: Vec<Factor>,
    /// What it rests on.
    pub evidence: Vec<Source>,
    /// The items that it would replace or speaks against.
    pub compared: Vec<Comparison>,
    /// The versions that it was derived from.
    pub derived_from: Vec<String>,
    /// What a decision binds to.
    pub content_hash: String,
    /// Whether it speaks against something known.
    pub contradicts: bool,
}

/// Why a write waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The gate that held it.
    pub gate: String,
    /// The reason for programs.
    pub code: String,
    /// The reason for people.
    pub message: String,
}

/// A part of the risk.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// What it is.
    pub name: String,
    /// How much it can add.
    pub weight: f64,
    /// How much of that it does, 0 to 1.
    pub value: f64,
}

/// A cited source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What sort, and where.
    pub cited: String,
    /// How much it can count.
    pub authority: String,
    /// When it was read, and how long ago.
    pub read: String,
    /// The words that are to support the statement.
    pub excerpt: String,
}

/// An item that the write touches, and what would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The item.
    pub id: String,
    /// What the write has to do with it.
    pub why: String,
    /// The item's words against those of the write; none if the reader may not see the item.
    pub pieces: Option<Vec<Piece>>,
}

impl Dossier {
    /// The items that the dossier of a review compares it with: to be read before `of` is called.
    #[must_use]
    pub fn touched(review: &Value) -> Vec<String> {
        let replaced = text_of(review, "replaces");
        let against = rows(review, "contradictions").iter().filter_map(|one| text_of(one, "id"));
        let proposed = rows(review.get("proposal").unwrap_or(&Value::Null), "items").iter();
        let proposed = proposed.filter_map(Value::as_str);
        let mut ids: Vec<String> = Vec::new();
        for id in replaced.into_iter().chain(against).chain(proposed) {
            if ids.len() < COMPARED_MAX && !ids.iter().any(|known| known == id) {
                ids.push(id.to_owned());
            }
        }
        ids
    }

    /// The dossier of a review. `items` are those that were touched, by id, as far as the reader may see them.
    #[must_use]
    pub fn of(review: &Value, items: &[(String, Value)], now: Timestamp) -> Self {
        let write = review.get("item").unwrap_or(&Value::Null);
        Self {
            id: line(review, "id"),
            state: line(review, "state"),
            risk: number(review, "risk"),
            writer_waits: text_of(review, "hold") == Some("sync"),
            kept_apart: is_kept_apart(review),
            overdue: review.get("overdue").and_then(Value::as_bool).unwrap_or(false),
            text: visible(text_of(write, "text").unwrap_or_default()),
            about: about(write),
            facts: facts(review),
            causes: rows(review, "causes").iter().map(cause).collect(),
            factors: rows(review, "factors").iter().map(factor).collect(),
            evidence: rows(write, "evidence").iter().map(|one| source(one, now)).collect(),
            compared: Self::touched(review).iter().map(|id| comparison(id, review, write, items)).collect(),
            derived_from: rows(write, "derived_from").iter().map(plain_line).collect(),
            content_hash: line(review, "content_hash"),
            contradicts: !rows(review, "contradictions").is_empty(),
        }
    }
}

/// Whether a review keeps a write apart because it does not fit what is known yet (CAL-31).
#[must_use]
pub fn is_kept_apart(review: &Value) -> bool {
    rows(review, "causes")
        .iter()
        .any(|cause| text_of(cause, "code") == Some(Code::CalibrationStaged.as_str()))
}

fn rows<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

fn line(value: &Value, name: &str) -> String {
    value.get(name).map(plain_line).unwrap_or_default()
}

fn plain_line(value: &Value) -> String {
    visible_line(&plain(value))
}

/// A value as people read it: texts bare, lists with commas, nothing for nothing.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Names with their values, without those that have none.
fn named<const N: usize>(value: &Value, names: [&'static str; N]) -> Vec<(&'static str, String)> {
    names.map(|name| (name, line(value, name))).into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn about(write: &Value) -> Vec<(&'static str, String)> {
    let mut about = named(write, ["key", "kind", "namespace", "confidence", "tags", "fields"]);
    if let Some(triple) = write.get("triple").filter(|triple| triple.is_object()) {
        about.push(("triple", ["subject", "predicate", "object"].map(|part| line(triple, part)).join(" → ")));
    }
    let more = ["justification", "resources", "supersedes", "session_id", "task_id", "agent_version", "ttl"];
    about.extend(named(write, more));
    about
}

fn facts(review: &Value) -> Vec<(&'static str, String)> {
    let mut facts = named(review, ["layer", "tier"]);
    let seen = |is_for_others| if is_for_others { "yes, when it is approved" } else { "no" };
    let is_for_others = review.get("for_others").and_then(Value::as_bool);
    facts.extend(is_for_others.map(|is_for_others| ("for others", seen(is_for_others).to_owned())));
    facts.extend(named(review, ["trust", "owner", "agent", "created_at", "deadline"]));
    let share = |name| review.get(name).and_then(Value::as_f64).map(|share| format!("{share:.3}"));
    for name in ["adjusted_confidence", "fact_score", "validation_score"] {
        facts.extend(share(name).map(|share| (name, share)));
    }
    let needed = review.get("approvals_min").and_then(Value::as_u64).unwrap_or(1);
    if needed > 1 {
        let given = rows(review, "approvals").iter().map(plain_line).collect::<Vec<_>>();
        facts.push((
            "approvals",
            format!("{} of {needed} {}", given.len(), given.join(", ")).trim_end().to_owned(),
        ));
    }
    facts.extend(named(review, ["decision", "reason", "decided_by", "decided_at", "version"]));
    facts
}

fn cause(value: &Value) -> Cause {
    Cause { gate: line(value, "gate"), code: line(value, "code"), message: line(value, "message") }
}

fn factor(value: &Value) -> Factor {
    Factor { name: line(value, "factor"), weight: number(value, "weight"), value: number(value, "value") }
}

fn source(value: &Value, now: Timestamp) -> Source {
    let parts =
        ["source_type", "source_uri", "source_version", "source_item_id"].map(|part| line(value, part));
    let cited: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Source {
        cited: cited.join(" "),
        authority: authority(value),
        read: read(text_of(value, "accessed_at").unwrap_or_default(), now),
        excerpt: visible(text_of(value, "excerpt").unwrap_or_default()),
    }
}

/// What the source counts by its type, unless its writer asked for less. Only the server knows which sources are official.
fn authority(value: &Value) -> String {
    let most = text_of(value, "source_type").and_then(SourceType::from_word).map(SourceType::authority_max);
    match (value.get("authority").and_then(Value::as_f64), most) {
        (Some(claimed), Some(most)) if claimed > most => format!("{most} unless official (claims {claimed})"),
        (Some(claimed), _) => format!("{claimed}"),
        (None, Some(most)) => format!("{most}"),
        (None, None) => "unknown".to_owned(),
    }
}

fn read(accessed_at: &str, now: Timestamp) -> String {
    match accessed_at.parse::<Timestamp>() {
        Ok(at) if at > now => format!("{} (in the future)", to_the_second(at)),
        Ok(at) => format!("{} ({} ago)", to_the_second(at), roughly(now.since(at))),
        Err(_) => visible_line(accessed_at),
    }
}

fn to_the_second(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.trim_end_matches('Z').replacen('T', " ", 1))
}

/// A length of time as people say it.
#[must_use]
pub fn roughly(period: Period) -> String {
    const UNITS: [(u64, &str); 4] =
        [(86_400 * 365, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")];
    let seconds = period.as_micros() / 1_000_000;
    let (count, unit) = UNITS
        .iter()
        .map(|(length, unit)| (seconds / length, *unit))
        .find(|(count, _)| *count > 0)
        .unwrap_or((seconds, "second"));
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn comparison(id: &str, review: &Value, write: &Value, items: &[(String, Value)]) -> Comparison {
    let item = items.iter().find(|(known, _)| known == id).and_then(|(_, item)| text_of(item, "text"));
    // The review itself says what a contradicted item says, where the reader may know.
    let against = rows(review, "contradictions").iter().find(|one| text_of(one, "id") == Some(id));
    let text = item.or_else(|| against.and_then(|one| text_of(one, "text")));
    let pieces =
        text.map(|text| compare(&visible(text), &visible(text_of(write, "text").unwrap_or_default())));
    Comparison { id: visible_line(id), why: why(id, review), pieces }
}

fn why(id: &str, review: &Value) -> String {
    let mut reasons = Vec::new();
    if text_of(review, "replaces") == Some(id) {
        reasons.push("it is to be replaced".to_owned());
    }
    for one in rows(review, "contradictions").iter().filter(|one| text_of(one, "id") == Some(id)) {
        let (score, similarity) = (number(one, "score"), number(one, "similarity"));
        reasons.push(format!(
            "contradicted ({}, score {score:.2}, similarity {similarity:.2})",
            line(one, "method")
        ));
    }
    let proposal = review.get("proposal").unwrap_or(&Value::Null);
    if reasons.is_empty() || rows(proposal, "items").iter().any(|item| item.as_str() == Some(id)) {
        reasons.push(match text_of(proposal, "operation") {
            Some("supersede") => "a yes supersedes it".to_owned(),
            _ => "touched".to_owned(),
        });
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn review() -> Value {
        json!({
            "id": "rev_a", "state": "pending", "hold": "async", "risk": 0.359, "overdue": false,
            "factors": [{"factor": "layer", "weight": 0.25, "value": 0.3}],
            "causes": [{"gate": "contradiction", "code": "CONTRADICTION", "message": "it speaks against 1 item"}],
            "item": {
                "text": "Port 9090\u{202e} serves", "key": "API\nport", "derived_from": ["ver_x"],
                "triple": {"subject": "api", "predicate": "port", "object": "9090"},
                "evidence": [
                    {"source_type": "document", "source_uri": "doc://a", "accessed_at": "2026-11-14T00:00:00Z", "authority": 0.99,
                     "excerpt": "port 9090"},
                    {"source_type": "human_input", "source_uri": "chat://b", "accessed_at": "2026-11-15T00:00:00Z", "authority": 0.4},
                ],
            },
            "contradictions": [{"id": "itm_b", "version": "ver_b", "method": "triple", "score": 0.9, "similarity": 0.8}],
            "proposal": {"operation": "supersede", "items": ["itm_b"]},
            "replaces": "itm_a", "content_hash": "00ff", "approvals": ["usr_1"], "approvals_min": 2,
        })
    }

    fn dossier() -> Dossier {
        let items = [("itm_b".to_owned(), json!({"text": "Port 8080 serves"}))];
        Dossier::of(&review(), &items, "2026-11-15T00:00:00Z".parse().unwrap())
    }

    /// GOV-6.4: what a reviewer needs is there: risk, contradictions, evidence, lineage.
    #[test]
    fn everything_that_matters_is_in_it() {
        let dossier = dossier();
        assert_eq!(Dossier::touched(&review()), ["itm_a", "itm_b"]);
        assert_eq!(dossier.text, "Port 9090<U+202E> serves");
        assert_eq!(
            dossier.about,
            [("key", "API<U+000A>port".to_owned()), ("triple", "api → port → 9090".to_owned())]
        );
        assert!(dossier.facts.contains(&("approvals", "1 of 2 usr_1".to_owned())), "{:?}", dossier.facts);
        assert_eq!(dossier.derived_from, ["ver_x"]);
        assert_eq!(dossier.causes.len() + dossier.factors.len() + dossier.evidence.len(), 4);
    }

    /// CAL-31, CAL-41: a write that is kept apart is known as one, and its trust is a band.
    #[test]
    fn what_is_kept_apart_is_told_from_what_waits() {
        assert!(!dossier().kept_apart);
        let mut review = review();
        review["trust"] = json!("low");
        review["causes"] =
            json!([{"gate": "calibration", "code": "CALIBRATION_STAGED", "message": "it does not fit"}]);
        let dossier = Dossier::of(&review, &[], Timestamp::default());
        assert!(
            dossier.kept_apart && dossier.facts.contains(&("trust", "low".to_owned())),
            "{:?}",
            dossier.facts
        );
    }

    #[test]
    fn what_the_reader_may_not_see_is_named_and_not_shown() {
        let compared = dossier().compared;
        let [replaced, contradicted] = compared.as_slice() else { panic!("two: {compared:?}") };
        assert!(replaced.pieces.is_none() && replaced.why.contains("replaced"));
        assert!(contradicted.why.contains("score 0.90") && contradicted.why.contains("supersedes"));
        assert!(contradicted.pieces.as_ref().unwrap().contains(&Piece::Gone("8080".to_owned())));
    }

    #[test]
    fn sources_tell_what_they_count_and_how_old_they_are() {
        let evidence = dossier().evidence;
        let [first, second] = evidence.as_slice() else { panic!("two: {evidence:?}") };
        assert_eq!(first.authority, "0.85 unless official (claims 0.99)");
        assert_eq!(first.read, "2026-11-14 00:00:00Z (1 day ago)");
        assert_eq!(second.authority, "0.4");
        assert_eq!(second.read, "2026-11-15 00:00:00Z (0 seconds ago)");
    }

    #[test]
    fn a_review_that_says_nothing_is_no_fault() {
        let dossier = Dossier::of(&json!({}), &[], Timestamp::default());
        assert!(dossier.text.is_empty() && dossier.compared.is_empty() && dossier.facts.is_empty());
    }
}
