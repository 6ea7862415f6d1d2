//! What may a coordinator and an agent say? One JSON object, of a form that is told to them, or nothing that counts.

use super::{ANSWER_CHARS_MAX, QUERY_CHARS_MAX};
use serde::Deserialize;
use serde_json::{Map, Value};

/// An output that is longer is not read.
const OUTPUT_BYTES_MAX: usize = 65_536;
/// The characters of a name: an id has fewer.
const NAME_CHARS_MAX: usize = 64;
/// The one output that is no JSON.
const COMPLETE: &str = "COMPLETE";

/// What a coordinator wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// That an agent is asked.
    Ask {
        /// Which, as the coordinator calls it.
        agent: String,
        /// What it is asked.
        subquery: String,
    },
    /// Nothing more.
    Stop,
}

/// What an agent wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// That a resource is called.
    Call {
        /// Which, as the agent calls it.
        resource: String,
        /// With what.
        args: Map<String, Value>,
    },
    /// To answer; empty if it cannot.
    Answer(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    agent: String,
    subquery: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    stop: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    call: Call,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    resource: String,
    args: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    answer: String,
}

/// Reads what a coordinator said: `{"agent", "subquery"}`, `{"stop": true}` or `COMPLETE`. None if it is anything else.
#[must_use]
pub fn read_move(output: &str) -> Option<Move> {
    let output = measured(output)?;
    if output == COMPLETE {
        return Some(Move::Stop);
    }
    if let Ok(Ended { stop }) = serde_json::from_str(output) {
        return stop.then_some(Move::Stop);
    }
    let Asked { agent, subquery } = serde_json::from_str(output).ok()?;
    let agent = within(&agent, NAME_CHARS_MAX)?;
    Some(Move::Ask { agent, subquery: within(&subquery, QUERY_CHARS_MAX)? })
}

/// Reads what an agent said: `{"call": {"resource", "args"}}` or `{"answer"}`. None if it is anything else.
#[must_use]
pub fn read_step(output: &str) -> Option<Step> {
    let output = measured(output)?;
    if let Ok(Answered { answer }) = serde_json::from_str(output) {
        let answer = answer.trim();
        return (answer.chars().count() <= ANSWER_CHARS_MAX).then(|| Step::Answer(answer.to_owned()));
    }
    let Called { call: Call { resource, args } } = serde_json::from_str(output).ok()?;
    Some(Step::Call { resource: within(&resource, NAME_CHARS_MAX)?, args })
}

fn measured(output: &str) -> Option<&str> {
    Some(output.trim()).filter(|output| output.len() <= OUTPUT_BYTES_MAX)
}

/// A text that says something and is not too long.
fn within(text: &str, chars_max: usize) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.chars().count() <= chars_max).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn asks(agent: &str, subquery: &str) -> Option<Move> {
        Some(Move::Ask { agent: agent.to_owned(), subquery: subquery.to_owned() })
    }

    /// SHARE-23: one form to ask, two to stop, and nothing else counts.
    #[test]
    fn a_coordinator_asks_or_stops() {
        assert_eq!(
            read_move(r#"{"agent":"agt_a","subquery":" price of steel "}"#),
            asks("agt_a", "price of steel")
        );
        for stop in ["COMPLETE", " COMPLETE\n", r#"{"stop":true}"#] {
            assert_eq!(read_move(stop), Some(Move::Stop), "{stop}");
        }
        let long = json!({"agent": "a", "subquery": "x".repeat(QUERY_CHARS_MAX + 1)}).to_string();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let wrong = [
            "",
            "complete",
            "COMPLETE.",
            "{}",
            "[]",
            "null",
            r#"{"stop":false}"#,
            r#"{"stop":"true"}"#,
            r#"{"agent":"a"}"#,
            r#"{"agent":"a","subquery":" "}"#,
            r#"{"agent":"","subquery":"x"}"#,
            r#"{"agent":1,"subquery":"x"}"#,
            r#"{"agent":"a","subquery":"x","also":"b"}"#,
            r#"{"stop":true,"agent":"a"}"#,
            "```json\n{\"stop\":true}\n```",
            &long,
            &deep,
        ];
        wrong.iter().for_each(|output| assert_eq!(read_move(output), None, "{output}"));
    }

    /// SHARE-24, 26: an agent calls or answers; an empty answer says that it cannot.
    #[test]
    fn an_agent_calls_or_answers() {
        let call = read_step(r#"{"call":{"resource":"kb","args":{"query":"x"}}}"#);
        let args = json!({"query": "x"}).as_object().unwrap().clone();
        assert_eq!(call, Some(Step::Call { resource: "kb".to_owned(), args }));
        assert_eq!(read_step(r#"{"answer":" 5 "}"#), Some(Step::Answer("5".to_owned())));
        assert_eq!(read_step(r#"{"answer":""}"#), Some(Step::Answer(String::new())));
        let wrong = [
            "5",
            r#"{"call":{"resource":"kb"}}"#,
            r#"{"call":{"resource":"kb","args":[]}}"#,
            r#"{"answer":null}"#,
        ];
        wrong.iter().for_each(|output| assert_eq!(read_step(output), None, "{output}"));
    }

    proptest! {
        /// SHARE-23: whatever a model says, reading it ends, and what is read is within its limits.
        #[test]
        fn any_output_is_read_or_not(output in ".{0,400}") {
            if let Some(Move::Ask { agent, subquery }) = read_move(&output) {
                prop_assert!(agent.chars().count() <= NAME_CHARS_MAX && subquery.chars().count() <= QUERY_CHARS_MAX);
            }
            let _any = read_step(&output);
        }

        /// SHARE-23: what is said in the form is read as it was meant.
        #[test]
        fn what_is_well_formed_is_read(agent in "[a-z_]{1,64}", subquery in "[^ \u{0}-\u{1f}][^\u{0}]{0,98}[^\\s\u{0}]") {
            let output = json!({"agent": agent, "subquery": subquery}).to_string();
            prop_assert_eq!(read_move(&output), asks(&agent, subquery.trim()));
        }
    }
}
