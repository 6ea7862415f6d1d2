//! Is an endpoint's answer what was asked for? Bytes in, vectors of unit length out, or the reason why not.

use crate::vector;
use serde::Deserialize;
use tabellion_engine::ports::EmbedError;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

/// A vector for each of so many texts, in their order.
pub(super) fn vectors(bytes: &[u8], texts: usize, dimensions: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    // The parser's own words may quote the answer.
    let answer: Answer = serde_json::from_slice(bytes).map_err(|cause| {
        nonsense(&format!(
            "the answer is not of OpenAI's form at line {}, column {}",
            cause.line(),
            cause.column()
        ))
    })?;
    if answer.data.len() != texts {
        return Err(nonsense(&format!("{} vectors for {texts} texts", answer.data.len())));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for Embedding { index, embedding } in answer.data {
        let place = vectors.get_mut(index).filter(|place| place.is_none());
        let place = place.ok_or_else(|| nonsense("an index twice or beyond the texts"))?;
        *place = Some(checked(embedding, dimensions)?);
    }
    // As many as texts, each in a place of its own: all places are taken.
    Ok(vectors.into_iter().flatten().collect())
}

fn checked(mut embedding: Vec<f32>, dimensions: usize) -> Result<Vec<f32>, EmbedError> {
    if embedding.len() != dimensions {
        return Err(nonsense(&format!("a vector of {} dimensions instead of {dimensions}", embedding.len())));
    }
    if !vector::to_unit_length(&mut embedding) {
        return Err(nonsense("a vector without direction"));
    }
    Ok(embedding)
}

fn nonsense(words: &str) -> EmbedError {
    EmbedError::Nonsense(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: Option<&[[f32; 2]]>) {
        let found = vectors(answer.as_bytes(), 2, 2);
        match (found, expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{answer}"),
            (Err(EmbedError::Nonsense(_)), None) => {}
            (found, _) => panic!("{answer}: {found:?}"),
        }
    }

    #[test]
    fn vectors_come_in_the_order_of_their_index_at_unit_length() {
        let unit: &[[f32; 2]] = &[[0.6, 0.8], [0.0, -1.0]];
        let first = r#"{"index":0,"embedding":[3,4],"object":"embedding"}"#;
        let second = r#"{"embedding":[0,-2e-3],"index":1}"#;
        check(&format!(r#"{{"data":[{first},{second}],"model":"m"}}"#), Some(unit));
        check(&format!(r#"{{"data":[{second},{first}]}}"#), Some(unit));
    }

    #[test]
    fn everything_else_is_nonsense() {
        let rows = [
            r#"{"index":0,"embedding":[3,4]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":0,"embedding":[3,4]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":2,"embedding":[3,4]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":-1,"embedding":[3,4]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":[3]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":[0,0]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":[1,1e39]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":[1,NaN]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":[1,null]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":["1","2"]}"#,
            r#"{"index":0,"embedding":[3,4]},{"index":1,"embedding":"AAAA"}"#,
            r#"{"index":0,"embedding":[3,4]},{"embedding":[3,4]}"#,
        ];
        for row in rows {
            check(&format!(r#"{{"data":[{row}]}}"#), None);
        }
        ["", "null", "[]", "{}", "<html>", r#"{"data":{}}"#].iter().for_each(|answer| check(answer, None));
    }
}
