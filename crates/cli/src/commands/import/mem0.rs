//! Memories as Mem0 gives them, turned into the lines of an import.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use std::io::Read;

/// The largest file that is turned into lines: it is held in memory.
const BYTES_MAX: u64 = 1 << 30;
/// The names that a list of memories has in an answer or an export.
const LISTS: [&str; 3] = ["results", "memories", "data"];
/// The names that the text of a memory has.
const TEXTS: [&str; 3] = ["memory", "text", "data"];

/// The lines of an import, one a memory, of what `get_all`, an export or one JSON object a line says.
///
/// # Errors
/// When the input is too large, or is none of these.
pub(super) fn lines(input: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes).context("cannot read on")?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("the file is larger than 1 GiB; cut it into several");
    }
    let values: Vec<Value> = serde_json::Deserializer::from_slice(&bytes)
        .into_iter::<Value>()
        .collect::<Result<_, _>>()
        .context("this is not JSON as Mem0 writes it")?;
    let mut lines = Vec::new();
    for memory in values.iter().flat_map(memories) {
        serde_json::to_writer(&mut lines, &item(memory))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The memories of a value: a list, an object that holds one, or a memory itself.
fn memories(value: &Value) -> Vec<&Value> {
    let listed = LISTS.iter().find_map(|name| value.get(name)?.as_array());
    match value.as_array().or(listed) {
        Some(list) => list.iter().collect(),
        None => vec![value],
    }
}

/// A memory as a write. What is no memory becomes an empty write, which the server refuses under its number.
fn item(memory: &Value) -> Value {
    let text = |name: &str| memory.get(name).and_then(Value::as_str);
    let said = TEXTS.iter().find_map(|name| text(name)).unwrap_or_default();
    let mut fields: Map<String, Value> =
        memory.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            fields.entry(name).or_insert_with(|| Value::from(value));
        }
    };
    add("time", text("updated_at").or_else(|| text("created_at")));
    add("mem0_id", text("id"));
    let mut item = json!({"text": said});
    super::super::set(&mut item, "fields", (!fields.is_empty()).then_some(fields));
    super::super::set(&mut item, "tags", memory.get("categories").filter(|tags| tags.is_array()).cloned());
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Value> {
        let lines = lines(text.as_bytes()).unwrap();
        lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn every_form_gives_the_same_lines() {
        let memory = r#"{"id":"m","memory":"Prefers tea","categories":["drinks"],"created_at":"2026-03-01T10:00:00Z","updated_at":null}"#;
        let expected = json!({"text": "Prefers tea", "tags": ["drinks"],
                              "fields": {"time": "2026-03-01T10:00:00Z", "mem0_id": "m"}});
        for text in [
            format!("[{memory}]"),
            format!("{{\"results\":[{memory}]}}"),
            format!("{memory}\n"),
            format!("{{\"memories\":[{memory}]}}"),
        ] {
            assert_eq!(read(&text), [expected.clone()], "{text}");
        }
        assert_eq!(read("[7, {}]"), [json!({"text": ""}), json!({"text": ""})]);
        assert!(lines("no JSON".as_bytes()).is_err());
    }
}
