//! Is a model's answer what was asked for? Bytes in, what it says out, or the reason why it counts for nothing.

use serde::Deserialize;
use tabellion_engine::ports::JudgeError;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

#[derive(Deserialize)]
struct Compared {
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    n: usize,
    label: Label,
    score: f64,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Label {
    Entailment,
    Neutral,
    Contradiction,
}

#[derive(Deserialize)]
struct Verified {
    verdict: Verdict,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Supported,
    Unsupported,
    Contradicted,
}

/// What the model said, out of the envelope. The parser's own words may quote it, so they are left out.
pub(crate) fn said(bytes: &[u8]) -> Result<String, JudgeError> {
    let completion: Completion = serde_json::from_slice(bytes)
        .map_err(|_| JudgeError::Nonsense("the answer is not of OpenAI's form"))?;
    let first = completion.choices.into_iter().next();
    first.map(|choice| choice.message.content).ok_or(JudgeError::Nonsense("an answer without a choice"))
}

/// How surely each of so many known statements is contradicted; 0 for those that are not.
pub(super) fn contradictions(bytes: &[u8], known: usize) -> Result<Vec<f64>, JudgeError> {
    let compared: Compared = serde_json::from_str(&said(bytes)?)
        .map_err(|_| JudgeError::Nonsense("the comparison is not of the form asked for"))?;
    if compared.pairs.len() != known {
        return Err(JudgeError::Nonsense("not one label for each statement"));
    }
    let mut scores: Vec<Option<f64>> = vec![None; known];
    for Pair { n, label, score } in compared.pairs {
        let place = scores.get_mut(n).filter(|place| place.is_none());
        let place = place.ok_or(JudgeError::Nonsense("a number twice or beyond the statements"))?;
        if !(0.0..=1.0).contains(&score) {
            return Err(JudgeError::Nonsense("a score outside 0 to 1"));
        }
        *place = Some(if label == Label::Contradiction { score } else { 0.0 });
    }
    // As many as statements, each in a place of its own: all places are taken.
    Ok(scores.into_iter().flatten().collect())
}

/// Whether the model finds the statement borne out.
pub(super) fn is_supported(bytes: &[u8]) -> Result<bool, JudgeError> {
    let verified: Verified = serde_json::from_str(&said(bytes)?)
        .map_err(|_| JudgeError::Nonsense("the verdict is not of the form asked for"))?;
    Ok(verified.verdict == Verdict::Supported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn completion(content: &str) -> Vec<u8> {
        json!({"choices": [{"message": {"role": "assistant", "content": content}}]}).to_string().into_bytes()
    }

    fn check(content: &str, expected: Option<&[f64]>) {
        let found = contradictions(&completion(content), 2);
        match (found, expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{content}"),
            (Err(JudgeError::Nonsense(_)), None) => {}
            (found, _) => panic!("{content}: {found:?}"),
        }
    }

    /// GOV-2.7: only a contradiction counts, by its number, and only within a whole answer.
    #[test]
    fn an_answer_counts_whole_or_not_at_all() {
        let first = r#"{"n":0,"label":"contradiction","score":0.9}"#;
        let second = r#"{"n":1,"label":"neutral","score":1,"why":"more words"}"#;
        check(&format!(r#"{{"pairs":[{second},{first}]}}"#), Some(&[0.9, 0.0]));
        let wrong = [
            r#"{"n":1,"label":"Contradiction","score":0.9}"#,
            r#"{"n":0,"label":"contradiction","score":0.9}"#,
            r#"{"n":2,"label":"contradiction","score":0.9}"#,
            r#"{"n":1,"label":"contradiction","score":1.5}"#,
            r#"{"n":1,"label":"contradiction","score":-0.1}"#,
            r#"{"n":1,"label":"contradiction"}"#,
            r#"{"n":"1","label":"contradiction","score":1}"#,
        ];
        for one in wrong {
            check(&format!(r#"{{"pairs":[{first},{one}]}}"#), None);
        }
        check(&format!(r#"{{"pairs":[{first}]}}"#), None);
        check(&format!("```json\n{{\"pairs\":[{first},{second}]}}\n```"), None);
        ["", "yes", "[]", "{}", "null"].iter().for_each(|content| check(content, None));
        assert!(contradictions(b"<html>", 2).is_err() && contradictions(br#"{"choices":[]}"#, 2).is_err());
    }

    /// GOV-2.3: one word counts as a yes.
    #[test]
    fn only_supported_supports() {
        for (verdict, expected) in [("supported", true), ("unsupported", false), ("contradicted", false)] {
            assert_eq!(is_supported(&completion(&json!({ "verdict": verdict }).to_string())), Ok(expected));
        }
        for nonsense in ["supported", r#"{"verdict":"yes"}"#, r#"{"verdict":true}"#, "{}"] {
            assert!(is_supported(&completion(nonsense)).is_err(), "{nonsense}");
        }
    }
}
